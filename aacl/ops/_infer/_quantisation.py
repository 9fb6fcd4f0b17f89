"""Outputs of quantisation."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aacl.dtypes import DataType, Format
from aacl.errors import NotSupported, UnsupportedDataType
from aacl.ops._infer._agreement import equal_shapes
from aacl.ops._infer._dims import Dim
from aacl.ops._infer._rules import Call, Output, rule

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ()

_QUANTISED = {"int8": DataType.INT8, "uint8": DataType.UINT8, "int32": DataType.INT32}


@rule("AscendQuant", "AscendAntiQuant")
def by_attributes(call: Call) -> Sequence[Output]:
    """As ``x``, of the dtype that an attribute names."""
    return [_like(call, "dtype" if call.schema.op_type == "AscendAntiQuant" else "dst_type")]


@rule("AscendQuantV2")
def by_scales(call: Call) -> Sequence[Output]:
    """As ``x``; scale and offset have one element, or one an element of ``axis``."""
    _check_scales(call, (1, 2), call.attributes["axis"])
    return [_like(call, "dst_type")]


@rule("AscendAntiQuantV2")
def anti_by_scales(call: Call) -> Sequence[Output]:
    """As ``x``; scale and offset have one element, or one an element of the last axis."""
    _check_scales(call, (1, 2), -1)
    return [_like(call, "dst_type")]


@rule("AscendDequant")
def dequantise(call: Call) -> Sequence[Output]:
    """As ``x``; the scale has one element, or one a channel."""
    _check_channels(call)
    return [_like(call, "dtype")]


@rule("AscendRequant")
def requantise(call: Call) -> Sequence[Output]:
    """As ``x``, int8; the scale has one element, or one a channel."""
    _check_channels(call)
    return [Output(DataType.INT8, call.shape(0), call.desc(0).format)]


@rule("TransQuantParamV2")
def quantisation_parameters(call: Call) -> Sequence[Output]:
    """One 64-bit number a scale; scale and offset have equal lengths, or one of them a single element."""
    scale, offset = call.shape(0), call.shape(1) if call.has(1) else call.shape(0)
    for index, shape in enumerate((scale, offset)):
        if shape is not None and len(shape) != 1:
            raise call.error(f"{call.titled(index)} must have one dim")
    if not scale or not offset:
        return [Output(DataType.UINT64, None)]
    one = Dim(1, 1)
    longer = offset if scale[0] == one else scale
    if one not in (scale[0], offset[0]) and not scale[0].meets(offset[0]):
        raise call.mismatch(0, 1, "must have one length, or one of them a single element")
    return [Output(DataType.UINT64, longer)]


@rule("Quantize")
def quantise(call: Call) -> Sequence[Output]:
    """As ``x``, of the dtype named, such as ``torch.qint8`` or ``int8``."""
    _check_scales(call, (1, 2), call.attributes["axis"])
    name = call.attributes["dtype"].removeprefix("torch.").removeprefix("DT_").lower().removeprefix("q")
    if name not in _QUANTISED:
        raise call.error(f"dtype is {call.attributes['dtype']!r}; it is torch.qint8, torch.quint8 or torch.qint32")
    return [Output(_QUANTISED[name], call.shape(0), call.desc(0).format)]


@rule("DynamicQuant", "DynamicQuantV2")
def dynamic(call: Call) -> Sequence[Output]:
    """As ``x``, and a scale (and an offset) a row."""
    if call.has(2):
        raise NotSupported(f"operator {call.schema.op_type}: group_index is not supported; leave it out")
    shape = call.shape(0)
    if shape is not None and len(shape) < 2:
        raise call.error(f"{call.titled(0)} must have 2 dims at least")
    _check_scales(call, (1,), -1, may_be_one=False)
    rows = Output(DataType.FLOAT, None if shape is None else shape[:-1])
    if call.schema.op_type == "DynamicQuant":
        return [Output(DataType.INT8, shape, call.desc(0).format), rows]
    return [_like(call, "dst_type"), rows, rows]


def _like(call: Call, name: str) -> Output:
    allowed = call.schema.outputs[0].dtypes
    number = call.attributes[name]
    if number not in allowed:
        names = ", ".join(f"{dtype.name} ({dtype.value})" for dtype in sorted(allowed))
        raise UnsupportedDataType(f"operator {call.schema.op_type}: {name} is {number}; it takes {names}")
    return Output(DataType(number), call.shape(0), call.desc(0).format)


def _check_scales(call: Call, indexes: Sequence[int], axis: int, *, may_be_one: bool = True) -> None:
    """Refuse scales that have neither one element nor one an element of the axis."""
    present = [index for index in indexes if call.has(index)]
    if len(present) > 1:
        equal_shapes(call, present)
    shape = call.shape(0)
    for index in present:
        scale = call.shape(index)
        if scale is None or shape is None or (may_be_one and call.desc(index).element_count == 1):
            continue
        place = call.axis(axis, len(shape), "axis")
        if len(scale) != 1 or not scale[0].meets(shape[place]):
            raise call.mismatch(0, index, f"do not fit: there is one element, or one for each of axis {place}")


def _check_channels(call: Call) -> None:
    shape, layout = call.shape(0), call.desc(0).format
    if shape is None or call.desc(1).element_count == 1:
        return
    scale = call.shape(1)
    if layout is Format.NC1HWC0 and len(shape) == 5:
        wanted = shape[1].times(shape[4])
        if scale is not None and (len(scale) != 1 or not scale[0].meets(wanted)):
            raise call.mismatch(0, 1, f"do not fit: there is one element, or one for each of {wanted} channels")
        return
    _check_scales(call, (1,), 1 if layout is Format.NCHW else -1)
