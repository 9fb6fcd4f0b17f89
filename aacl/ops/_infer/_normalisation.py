"""Outputs of normalisations."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aacl.dtypes import DataType
from aacl.ops._infer._agreement import equal_shapes, require_equal_dtypes
from aacl.ops._infer._dims import Dim, Shape
from aacl.ops._infer._rules import Call, Output, rule

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ("check_scale", "reduced_from")


@rule("LayerNorm", "LayerNormV3")
def layer_norm(call: Call) -> Sequence[Output]:
    """``y`` as ``x``; the statistics have 1 on every axis from ``begin_norm_axis``."""
    shape = call.shape(0)
    if shape is None:
        return [call.like(0, None, output) for output in range(3)]
    begin = call.axis(call.attributes["begin_norm_axis"], len(shape), "begin_norm_axis")
    scale = shape[call.axis(call.attributes["begin_params_axis"], len(shape), "begin_params_axis") :]
    for index in (1, 2):
        check_scale(call, index, scale)
    reduced = reduced_from(shape, begin)
    return [call.like(0, shape), call.like(0, reduced, 1), call.like(0, reduced, 2)]


@rule("LayerNormV4")
def layer_norm_v4(call: Call) -> Sequence[Output]:
    """``y`` as ``x``; the statistics have 1 on the trailing dims that ``normalized_shape`` lists."""
    shape, count = call.shape(0), call.length(1)
    if shape is None or count is None:
        return [call.like(0, shape), call.like(0, None, 1), call.like(0, None, 2)]
    if not 1 <= count <= len(shape):
        raise call.mismatch(0, 1, f"do not fit: {count} dims cannot be normalised")
    lead = len(shape) - count
    wanted = call.integers(1)
    if wanted is not None and any(
        not dim.least <= size <= dim.most for dim, size in zip(shape[lead:], wanted, strict=True)
    ):
        raise call.error(f"normalized_shape {wanted} is not how {call.titled(0)} ends")
    for index in (2, 3):
        if call.has(index):
            check_scale(call, index, shape[lead:])
    reduced = reduced_from(shape, lead)
    return [call.like(0, shape), call.like(0, reduced, 1), call.like(0, reduced, 2)]


@rule("RmsNorm")
def rms_norm(call: Call) -> Sequence[Output]:
    """``y`` as ``x``; ``rstd`` is float with 1 on ``gamma``'s axes."""
    shape = call.shape(0)
    return [call.like(0, shape), _statistic(call, shape, 1)]


@rule("AddRmsNorm", "InplaceAddRmsNorm")
def add_rms_norm(call: Call) -> Sequence[Output]:
    """As RmsNorm of the sum, which is an output too."""
    require_equal_dtypes(call, (0, 1))
    shape = equal_shapes(call, (0, 1))
    return [call.like(0, shape), _statistic(call, shape, 2), call.like(0, shape, 2)]


@rule("AddLayerNorm", "InplaceAddLayerNorm")
def add_layer_norm(call: Call) -> Sequence[Output]:
    """As LayerNormV3 of the sum over gamma's axes; the statistics are float."""
    require_equal_dtypes(call, (0, 1))
    shape = equal_shapes(call, (0, 1))
    statistic = _statistic(call, shape, 2)
    _statistic(call, shape, 3)
    if call.has(4):
        bias = call.shape(4)
        gamma = call.shape(2)
        if shape is not None and bias is not None and gamma is not None:
            check_scale(call, 4, shape if len(bias) == len(shape) else shape[len(shape) - len(gamma) :])
    return [call.like(0, shape), statistic, statistic, call.like(0, shape, 3)]


@rule("DeepNorm")
def deep_norm(call: Call) -> Sequence[Output]:
    """Mean and rstd, float with 1 on gamma's axes, then ``y`` as ``x``."""
    require_equal_dtypes(call, (0, 1))
    shape = equal_shapes(call, (0, 1))
    statistic = _statistic(call, shape, 3)
    _statistic(call, shape, 2)
    return [statistic, statistic, call.like(0, shape, 2)]


def _statistic(call: Call, shape: Shape, gamma: int) -> Output:
    """Return a float output with 1 on the axes of an input that must fit the end of the shape."""
    scale = call.shape(gamma)
    if shape is None or scale is None:
        return Output(DataType.FLOAT, None)
    lead = len(shape) - len(scale)
    check_scale(call, gamma, shape[lead:] if lead >= 0 else ())
    return Output(DataType.FLOAT, reduced_from(shape, lead), call.desc(0).format)


def reduced_from(shape: tuple[Dim, ...], begin: int) -> tuple[Dim, ...]:
    """Return a shape with 1 on every axis from one on."""
    return shape[:begin] + (Dim(1, 1),) * (len(shape) - begin)


def check_scale(call: Call, index: int, wanted: tuple[Dim, ...]) -> None:
    """Refuse a scale or shift whose shape is not the one wanted."""
    found: Shape = call.shape(index)
    if found is None:
        return
    if len(found) != len(wanted) or any(not a.meets(b) for a, b in zip(found, wanted, strict=True)):
        raise call.mismatch(0, index, f"do not fit: {call.names[index]} needs shape {tuple(wanted)}")
