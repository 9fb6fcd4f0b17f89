"""Outputs of norms, variances and sums of squares."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aacl.ops._infer._agreement import equal_shapes, require_equal_dtypes
from aacl.ops._infer._dims import Dim, Shape
from aacl.ops._infer._elementwise import like_first
from aacl.ops._infer._reduction import reduce, without
from aacl.ops._infer._rules import Call, Output, rule

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ()

rule("EuclideanNorm", "EuclideanNormD", "ReduceLogSum", "ReduceNansum")(reduce)


@rule("LpNorm", "LpNormV2", "LpNormReduce", "LpNormReduceV2", "SquareSumV1")
def over_axes(call: Call) -> Sequence[Output]:
    """The axes vanish, or become 1; without any, all of them."""
    return [call.like(0, _reduced(call))]


rule("LpNormUpdate", "LpNormUpdateV2")(like_first)


@rule("ReduceMeanVariance")
def mean_variance(call: Call) -> Sequence[Output]:
    """Mean and variance, each over the axes, all of them where there are none."""
    shape = _reduced(call)
    return [call.like(0, shape), call.like(0, shape, 1)]


@rule("ReduceStdWithMean", "ReduceStdV2Update")
def with_mean(call: Call) -> Sequence[Output]:
    """One output over ``dim``; the mean broadcasts to ``x``."""
    require_equal_dtypes(call, (0, 1))
    shape, mean = call.shape(0), call.shape(1)
    if shape is not None and mean is not None:
        one = Dim(1, 1)
        fits = all(a.meets(b) or a.meets(one) for a, b in zip(mean, shape, strict=False))
        if len(mean) != len(shape) or not fits:
            raise call.mismatch(0, 1, "do not fit: the mean has x's dims, or 1")
    return [call.like(0, _reduced(call))]


@rule("L2Loss")
def one_number(call: Call) -> Sequence[Output]:
    """A scalar."""
    return [call.like(0, ())]


@rule("SquareSumAll")
def two_numbers(call: Call) -> Sequence[Output]:
    """A scalar for each input."""
    return [call.like(0, ()), call.like(1, (), 1)]


@rule("FusedMulAddNL2loss")
def product_and_loss(call: Call) -> Sequence[Output]:
    """``x1 * x3 + x2``, as ``x1``, and a scalar."""
    require_equal_dtypes(call, (0, 1, 2))
    return [call.like(0, equal_shapes(call, (0, 1))), call.like(0, (), 1)]


_AXES = ("axes", "axis", "dim")
_KEEPS = ("keep_dims", "keepdim")


def _reduced(call: Call) -> Shape:
    shape = call.shape(0)
    if shape is None:
        return None
    name = next(name for name in _AXES if name in call.attributes)
    keep = next(call.attributes[name] for name in _KEEPS if name in call.attributes)
    axes = {call.axis(axis, len(shape), name) for axis in call.attributes[name]}
    return without(shape, axes or set(range(len(shape))), keep)
