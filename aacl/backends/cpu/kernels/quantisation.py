"""Quantisation: to integers, from them, and between them.

Numbers are computed in float32 (float64 for int32 results), rounded half to even unless ``round_mode`` says
otherwise, and limited to what the result's dtype holds; NaN becomes 0. A 64-bit scale holds a float32 in its low
32 bits and a 9-bit offset from bit 37 on, as the documentation of aclnnTransQuantParamV2 lays it out.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

import ml_dtypes
import numpy as np

from aacl.backends.cpu.kernels._quiet import quiet
from aacl.backends.cpu.kernels._registry import elements, given, kernel, prepared
from aacl.backends.cpu.kernels._terms import spans, wide
from aacl.dtypes import DataType, Format
from aacl.errors import InvalidArgument, NotSupported

if TYPE_CHECKING:
    from collections.abc import Callable

    from aacl.abc import Array, Kernel, KernelRequest

__all__ = ()

_ROUNDINGS: dict[str, np.ufunc] = {"round": np.rint, "floor": np.floor, "ceil": np.ceil, "trunc": np.trunc}


@kernel("AscendQuant")
def _quant(request: KernelRequest) -> Kernel:
    """``round(x * scale + offset)``; ``sqrt_mode`` multiplies by the scale twice."""
    scale, offset = np.float32(request.attributes["scale"]), np.float32(request.attributes["offset"])
    round_ = _rounding(request)
    scale = scale * scale if request.attributes["sqrt_mode"] else scale

    def body(*arrays: Array) -> None:
        for x, out in spans(arrays):
            found = np.asarray(wide(x) * scale)
            np.add(found, offset, out=found)
            _store(round_(found, out=found), out)

    return prepared(request, quiet(body, 2), 6 * elements(request.outputs[0]))


@kernel("AscendQuantV2")
def _quant_v2(request: KernelRequest) -> Kernel:
    """``round(x * scale + offset)`` with a scale and an offset for each element of ``axis``."""
    round_, twice = _rounding(request), request.attributes["sqrt_mode"]
    along = _along(request, request.attributes["axis"])

    def body(x: Array, scale: Array, *others: Array) -> None:
        factor = along(wide(scale))
        found = wide(x) * (factor * factor if twice else factor)
        if len(others) > 1 and others[0] is not None:
            found = found + along(wide(others[0]))
        _store(round_(found), others[-1])

    return prepared(request, quiet(body, len(request.inputs) + 1), 6 * elements(request.outputs[0]))


@kernel("AscendDequant")
def _dequant(request: KernelRequest) -> Kernel:
    """``x * deq_scale``, by channel, twice in ``sqrt_mode``; then 0 for what is negative, if asked."""
    twice, is_positive = request.attributes["sqrt_mode"], request.attributes["relu_flag"]
    along = _channels(request)

    def body(x: Array, scale: Array, out: Array) -> None:
        factor = along(_scale(scale))
        found = x.astype(np.float32) * (factor * factor if twice else factor)
        np.copyto(out, np.maximum(found, 0) if is_positive else found, casting="same_kind")

    return prepared(request, quiet(body, 3), 3 * elements(request.outputs[0]))


@kernel("AscendRequant")
def _requant(request: KernelRequest) -> Kernel:
    """``round(x * scale) + offset``, both in ``req_scale``; ``relu_flag`` drops negative products first."""
    is_positive, along = request.attributes["relu_flag"], _channels(request)

    def body(x: Array, scale: Array, out: Array) -> None:
        found = np.rint(x.astype(np.float32) * along(_scale(scale)))
        found = np.maximum(found, 0) if is_positive else found
        _store(found + along(_offset(scale)), out)

    return prepared(request, quiet(body, 3), 6 * elements(request.outputs[0]))


@kernel("AscendAntiQuant")
def _anti_quant(request: KernelRequest) -> Kernel:
    """``(x + offset) * scale``; ``sqrt_mode`` multiplies by the scale twice."""
    scale, offset = np.float32(request.attributes["scale"]), np.float32(request.attributes["offset"])
    scale = scale * scale if request.attributes["sqrt_mode"] else scale

    def body(*arrays: Array) -> None:
        for x, out in spans(arrays):
            np.copyto(out, (x.astype(np.float32) + offset) * scale, casting="same_kind")

    return prepared(request, quiet(body, 2), 2 * elements(request.outputs[0]))


@kernel("AscendAntiQuantV2")
def _anti_quant_v2(request: KernelRequest) -> Kernel:
    """``(x + offset) * scale`` by the last axis; ``sqrt_mode`` multiplies by the scale twice."""
    twice = request.attributes["sqrt_mode"]

    def body(x: Array, scale: Array, *others: Array) -> None:
        found, factor = x.astype(np.float32), wide(scale)
        if len(others) > 1 and others[0] is not None:
            found = found + wide(others[0])
        np.copyto(others[-1], found * (factor * factor if twice else factor), casting="same_kind")

    return prepared(request, quiet(body, len(request.inputs) + 1), 3 * elements(request.outputs[0]))


@kernel("TransQuantParamV2")
def _quantisation_parameters(request: KernelRequest) -> Kernel:
    """The high 19 bits of a float32 scale, bit 46 set, and an offset within [-256, 255] in bits 37 to 45."""

    def body(scale: Array, *others: Array) -> None:
        bits = (scale.view(np.uint32) & np.uint32(0xFFFFE000)).astype(np.uint64)
        found = bits | np.uint64(1 << 46)
        if len(others) > 1 and others[0] is not None:
            offset = np.clip(np.rint(others[0]), -256, 255).astype(np.int64) & 0x1FF
            found = found | (offset.astype(np.uint64) << np.uint64(37))
        np.copyto(others[-1], found)

    return prepared(request, quiet(body, len(request.inputs) + 1), 6 * elements(request.outputs[0]))


@kernel("Quantize")
def _quantize(request: KernelRequest) -> Kernel:
    """``round(x / scale) + zero_point`` by channel, as torch.quantize_per_channel."""
    along = _along(request, request.attributes["axis"])
    dtype = np.float64 if request.outputs[0].dtype is DataType.INT32 else np.float32

    def body(x: Array, scale: Array, *others: Array) -> None:
        found = np.rint(x.astype(dtype) / along(scale.astype(dtype)))
        if len(others) > 1 and others[0] is not None:
            found = found + along(others[0].astype(dtype))
        _store(found, others[-1])

    return prepared(request, quiet(body, len(request.inputs) + 1), 6 * elements(request.outputs[0]))


@kernel("DynamicQuant")
def _dynamic_quant(request: KernelRequest) -> Kernel:
    """A scale a row, the largest magnitude over 127; a row of zeros has scale 0 and stays 0."""

    def body(x: Array, *others: Array) -> None:
        out, scale = others[-2:]
        values = _smoothed(x, others, 2)
        rows = np.abs(values).max(-1, initial=0) / np.float32(127)
        np.copyto(scale, rows)
        _store(np.rint(values / rows[..., None]), out)

    return prepared(request, quiet(body, len(request.inputs) + 2), 8 * elements(request.outputs[0]))


@kernel("DynamicQuantV2")
def _dynamic_quant_v2(request: KernelRequest) -> Kernel:
    """A scale and an offset a row, so that its range fills the integers: ``round(x / scale + offset)``.

    ``scale = (max - min) / 255`` and ``offset = 127 - max / scale``; 15 and 7 for int4. A row of equal
    numbers has scale 0, and gives the limits that its offset leads to.
    """
    span, most = (15, 7) if request.outputs[0].dtype is DataType.INT4 else (255, 127)

    def body(x: Array, *others: Array) -> None:
        out, scale, offset = others[-3:]
        values = _smoothed(x, others, 3)
        highest, lowest = values.max(-1, initial=-np.inf), values.min(-1, initial=np.inf)
        rows = (highest - lowest) / np.float32(span)
        shifts = most - highest / rows
        np.copyto(scale, rows)
        np.copyto(offset, shifts)
        _store(np.rint(values / rows[..., None] + shifts[..., None]), out)

    return prepared(request, quiet(body, len(request.inputs) + 3), 10 * elements(request.outputs[0]))


def _smoothed(x: Array, others: tuple[Any, ...], outputs: int) -> Array:
    values: Array = wide(x)
    return values * wide(others[0]) if len(others) > outputs and others[0] is not None else values


def _rounding(request: KernelRequest) -> np.ufunc:
    mode = request.attributes["round_mode"]
    found = _ROUNDINGS.get(mode.lower())
    if found is None:
        names = ", ".join(_ROUNDINGS)
        raise InvalidArgument(f"operator {request.op_type}: round_mode is {mode!r}; it is one of {names}")
    return found


def _store(found: Any, out: Array) -> None:
    """Write whole numbers, limited to the dtype, in an array of its own; NaN becomes 0."""
    found = np.asarray(found)
    np.clip(found, *_limits(out.dtype), out=found)
    if np.isnan(np.add.reduce(found, None)):
        np.copyto(found, 0, where=np.isnan(found))
    np.copyto(out, found, casting="unsafe")


@functools.cache
def _limits(dtype: np.dtype[Any]) -> tuple[int, int]:
    """Return the least and the greatest number of an integer dtype, int4 among them."""
    limits = ml_dtypes.iinfo(dtype)  # type: ignore[no-untyped-call]
    return int(limits.min), int(limits.max)


def _along(request: KernelRequest, axis: int) -> Callable[[Array], Array]:
    """Return what shapes a scale so that it runs along an axis; a single element goes anywhere."""
    rank = len(given(request, 0).shape)
    behind = (1,) * (rank - 1 - axis % rank) if rank else ()

    def shaped(scale: Array) -> Array:
        return scale.reshape(()) if scale.size == 1 else scale.reshape(-1, *behind)

    return shaped


def _channels(request: KernelRequest) -> Callable[[Array], Array]:
    """Return what shapes a scale so that it runs along the channels: axis 1 of NCHW, else the last one."""
    info = given(request, 0)
    if info.format is Format.NC1HWC0 and len(info.shape) == 5:
        outer, inner = info.shape[1], info.shape[4]
        return lambda scale: scale.reshape(()) if scale.size == 1 else scale.reshape(outer, 1, 1, inner)
    if info.format not in (Format.ND, Format.NCHW, Format.NHWC) and elements(given(request, 1)) != 1:
        raise NotSupported(f"operator {request.op_type}: a scale by channel in format {info.format.name}")
    return _along(request, 1 if info.format is Format.NCHW else -1)


def _scale(scale: Array) -> Array:
    """Return a scale in float32."""
    if scale.dtype == np.uint64:
        found: Array = (scale & np.uint64(0xFFFFFFFF)).astype(np.uint32).view(np.float32)
        return found
    return scale.astype(np.float32)


def _offset(scale: Array) -> Array:
    """Return the offset that a 64-bit scale holds."""
    bits = (scale >> np.uint64(37)).astype(np.int64) & 0x1FF
    return np.where(bits > 255, bits - 512, bits).astype(np.float32)
