"""Outputs of the gradients of pooling: shapes of what was pooled."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aacl.ops._infer._agreement import require_equal_dtypes
from aacl.ops._infer._dims import FREE, Shape, fixed
from aacl.ops._infer._pooling import planar, pool_windows, pooled
from aacl.ops._infer._rules import Call, Output, rule
from aacl.ops._infer._windows import layout_of, rank_of

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ()


@rule("MaxPoolGrad", "MaxPoolV3Grad", "MaxPool3DGrad")
def maximum(call: Call) -> Sequence[Output]:
    """The inputs are what was pooled, what it was pooled to, and the gradient of that."""
    require_equal_dtypes(call, (0, 1, 2))
    shape = pooled(call)
    for index in (1, 2):
        _check(call, index, shape)
    return [call.like(0, call.shape(0))]


@rule("MaxPoolGradGrad", "MaxPool3DGradGrad")
def maximum_twice(call: Call) -> Sequence[Output]:
    """The inputs are what was pooled, what it was pooled to, and what is like the former; the output is like the latter."""
    require_equal_dtypes(call, (0, 1, 2))
    shape = pooled(call)
    _check(call, 1, shape)
    _check(call, 2, call.shape(0))
    return [call.like(0, shape)]


@rule("MaxPoolGradGradWithArgmax")
def maximum_twice_by_places(call: Call) -> Sequence[Output]:
    """The inputs are what was pooled, what is like it, and the places of the maxima."""
    require_equal_dtypes(call, (0, 1))
    shape = pooled(call)
    _check(call, 1, call.shape(0))
    _check(call, 2, shape)
    return [call.like(0, shape)]


@rule("MaxPoolGradWithArgmax")
def maximum_by_places(call: Call) -> Sequence[Output]:
    """The inputs are what was pooled, the gradient, and the places of the maxima."""
    require_equal_dtypes(call, (0, 1))
    shape = pooled(call)
    for index in (1, 2):
        _check(call, index, shape)
    return [call.like(0, call.shape(0))]


@rule("MaxPoolGradWithArgmaxV1", "MaxPoolGradWithArgmaxV2")
def maximum_by_planar_places(call: Call) -> Sequence[Output]:
    """As MaxPoolGradWithArgmax, for what MaxPoolWithArgmaxV1 gives."""
    require_equal_dtypes(call, (0, 1))
    shape = planar(call, 0)
    for index in (1, 2):
        _check(call, index, shape)
    return [call.like(0, call.shape(0))]


@rule("AvgPoolGrad", "AvgPoolV2Grad", "AvgPool3DGrad")
def average(call: Call) -> Sequence[Output]:
    """``orig_input_shape`` holds the output's shape."""
    return [_average(call, 1, call.integers(0), call.length(0))]


@rule("AvgPoolGradD", "AvgPoolV2GradD", "AvgPool3DGradD")
def average_by_attribute(call: Call) -> Sequence[Output]:
    """``orig_input_shape`` is the output's shape; the matrices of the card's own are not read."""
    return [_average(call, 0, call.attributes["orig_input_shape"], None)]


def _average(call: Call, index: int, size: Sequence[int] | None, count: int | None) -> Output:
    """Return what was pooled, whose layout is that of the gradient, the input at an index."""
    rank = rank_of(call)
    layout = layout_of(call, index, rank, "NHWC")
    if not call.attributes.get("global_pooling", False):
        pool_windows(call, layout)
    if (size is not None and (len(size) != rank or min(size) < 0)) or count not in (None, rank):
        raise call.error(f"orig_input_shape must be {rank} numbers, none negative")
    return call.like(index, (FREE,) * rank if size is None else fixed(*size))


def _check(call: Call, index: int, wanted: Shape) -> None:
    shape = call.shape(index)
    if shape is None or wanted is None:
        return
    if len(shape) != len(wanted) or any(not dim.meets(other) for dim, other in zip(shape, wanted, strict=True)):
        raise call.mismatch(0, index, f"do not fit: {call.names[index]} must have shape {wanted}")
