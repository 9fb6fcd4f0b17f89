"""Norms, variances and sums of squares over axes; half precision computes in float32."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from aacl.backends.cpu.kernels._moments import mean
from aacl.backends.cpu.kernels._norms import p_norm
from aacl.backends.cpu.kernels._precision import FLOATS
from aacl.backends.cpu.kernels._registry import (
    TRANSCENDENTAL,
    elements,
    given,
    kernel,
    refuse_dtype,
    with_integers,
)
from aacl.backends.cpu.kernels._sums import summed
from aacl.backends.cpu.kernels._whole import whole
from aacl.errors import InvalidArgument

if TYPE_CHECKING:
    from aacl.abc import Array, Kernel, KernelRequest
    from aacl.backends.cpu.kernels._registry import Body

__all__ = ()

_WORK = 4 + TRANSCENDENTAL
"""Operations an element."""

Axes: TypeAlias = "tuple[int, ...]"
Statistic: TypeAlias = "Callable[[Array, Axes], Array]"
"""Gives its result with 1 on the axes; over no axes it works element by element."""


def _euclidean(x: Array, axes: Axes) -> Array:
    return p_norm(x, 2, axes)


def _log_sum(x: Array, axes: Axes) -> Array:
    total = summed(x, axes, keepdims=True)
    return np.log(total, dtype=total.dtype)


def _sum_without_nan(x: Array, axes: Axes) -> Array:
    return summed(np.where(np.isnan(x), x.dtype.type(0), x), axes, keepdims=True)


def _square_sum(x: Array, axes: Axes) -> Array:
    return summed(np.multiply(x, x), axes, keepdims=True)


@kernel("EuclideanNorm")
def _euclidean_norm(request: KernelRequest) -> Kernel:
    """``sqrt(sum(|x|^2))`` as TensorFlow's; integers compute in float64 and are truncated."""
    return _over_input(request, _euclidean)


@kernel("EuclideanNormD")
def _euclidean_norm_attribute(request: KernelRequest) -> Kernel:
    axes = _places(request, request.attributes["axes"])
    return whole(request, _reducing(request, _euclidean, axes), _WORK)


@kernel("ReduceLogSum")
def _reduce_log_sum(request: KernelRequest) -> Kernel:
    """``log(sum(x))``; integers are refused, whose logarithm of 0 is nothing they hold."""
    if given(request, 0).dtype.numpy_dtype.kind in "iu":
        raise refuse_dtype(request, "float and complex dtypes")
    return _over_input(request, _log_sum)


@kernel("ReduceNansum")
def _reduce_nansum(request: KernelRequest) -> Kernel:
    """The sum of what is not NaN."""
    return _over_input(request, _sum_without_nan)


def _over_input(request: KernelRequest, statistic: Statistic) -> Kernel:
    """Return a reduction whose second input holds the axes; no axes, no reduction."""

    def make(axes: Axes) -> Body:
        inner = _reducing(request, statistic, _places(request, axes))
        return lambda x, _, out: inner(x, out)

    return whole(request, with_integers(request, (1,), make), _WORK)


@kernel("LpNorm", "LpNormV2")
def _lp_norm(request: KernelRequest) -> Kernel:
    """The p-norm, not below ``epsilon``; over all axes where there are none.

    With p 0 it is the number of elements other than 0; an infinite p gives the largest or smallest size.
    """
    p, least = request.attributes["p"], request.attributes["epsilon"]

    def norm(x: Array, axes: Axes) -> Array:
        found = _norm(x, p, axes)
        np.maximum(found, least, out=found)
        return found

    return whole(
        request, _reducing(request, norm, _places(request, request.attributes["axes"]) or _all(request)), _WORK
    )


@kernel("LpNormReduce", "LpNormReduceV2")
def _lp_norm_reduce(request: KernelRequest) -> Kernel:
    """The first half of LpNorm: ``sum(|x|^p)``; for an infinite p the largest or smallest size."""
    p = request.attributes["p"]

    def powers(x: Array, axes: Axes) -> Array:
        if p == 0 or _is_infinite(p):
            return _norm(x, p, axes)
        return summed(np.power(np.absolute(x), p, dtype=x.dtype), axes, keepdims=True)

    return whole(
        request, _reducing(request, powers, _places(request, request.attributes["axes"]) or _all(request)), _WORK
    )


@kernel("LpNormUpdate", "LpNormUpdateV2")
def _lp_norm_update(request: KernelRequest) -> Kernel:
    """The second half of LpNorm: ``max(x^(1/p), epsilon)``; for p 0 or infinite the power is left out."""
    p, least = request.attributes["p"], request.attributes["epsilon"]

    def body(x: Array, y: Array) -> None:
        root = x if p == 0 or _is_infinite(p) else np.power(x, 1 / p, dtype=x.dtype)
        np.maximum(root, least, out=y)

    return whole(request, body, _WORK)


# What the integer attribute of LpNorm gives for an infinite p: the ends of int32, as torch's adapters pass them.
_ENDS = {2**31 - 1: math.inf, -(2**31): -math.inf}


def _is_infinite(p: float) -> bool:
    return math.isinf(_ENDS.get(p, p) if isinstance(p, int) else p)


def _norm(x: Array, p: float, axes: Axes) -> Array:
    order = _ENDS.get(p, p) if isinstance(p, int) else p
    if order == 0:
        return np.asarray(np.count_nonzero(x, axes, keepdims=True)).astype(x.dtype)
    if order == -math.inf:
        least: Array = np.minimum.reduce(np.absolute(x), axes, keepdims=True, initial=np.inf)
        return least
    return p_norm(x, order, axes)


@kernel("SquareSumV1")
def _square_sum_axes(request: KernelRequest) -> Kernel:
    """The sum of squares; over all axes where there are none."""
    axes = _places(request, request.attributes["axis"]) or _all(request)
    return whole(request, _reducing(request, _square_sum, axes), _WORK)


@kernel("SquareSumAll")
def _square_sum_all(request: KernelRequest) -> Kernel:
    """The sum of squares of each input."""

    def body(x1: Array, x2: Array, y1: Array, y2: Array) -> None:
        y1[...] = _square_sum(x1.reshape(-1), (0,)).reshape(())
        y2[...] = _square_sum(x2.reshape(-1), (0,)).reshape(())

    return whole(request, body, _WORK)


@kernel("L2Loss")
def _l2_loss(request: KernelRequest) -> Kernel:
    """``sum(x^2) / 2``."""

    def body(x: Array, y: Array) -> None:
        y[...] = _square_sum(x.reshape(-1), (0,)).reshape(()) / 2

    return whole(request, body, _WORK)


@kernel("FusedMulAddNL2loss")
def _product_and_loss(request: KernelRequest) -> Kernel:
    """``x1 * x3 + x2`` with one number ``x3``, and ``sum(x1^2) / 2``."""
    if given(request, 0).dtype not in FLOATS:
        raise refuse_dtype(request, "float dtypes")
    if elements(given(request, 2)) != 1:
        raise InvalidArgument(f"operator {request.op_type}: x3 has shape {given(request, 2).shape}; it is one element")

    def body(x1: Array, x2: Array, x3: Array, y1: Array, y2: Array) -> None:
        y2[...] = _square_sum(x1.reshape(-1), (0,)).reshape(()) / 2
        np.multiply(x1, x3.reshape(()), y1)
        np.add(y1, x2, y1)

    return whole(request, body, _WORK)


@kernel("ReduceStd")
def _standard_deviation(request: KernelRequest) -> Kernel:
    """The standard deviation, by ``n - 1`` where ``unbiased``, and the mean; over all axes where there are none."""
    axes = _places(request, request.attributes["dim"]) or _all(request)
    divisor = _divisor(request, axes, int(request.attributes["unbiased"]))

    def body(x: Array, deviation: Array, centre: Array) -> None:
        middle = mean(x, axes)
        spread = _spread(x, middle, axes, divisor)
        np.copyto(deviation, np.sqrt(spread, spread).reshape(deviation.shape))
        np.copyto(centre, middle.reshape(centre.shape))

    return whole(request, body, _WORK)


@kernel("ReduceStdWithMean")
def _deviation_from_mean(request: KernelRequest) -> Kernel:
    """The standard deviation about a mean that is given; with ``invert`` ``1 / (deviation + epsilon)``.

    The divisor is ``n`` less ``correction``, or ``n`` unless ``unbiased``.
    """
    attributes = request.attributes
    axes = _places(request, attributes["dim"]) or _all(request)
    divisor = _divisor(request, axes, attributes["correction"] if attributes["unbiased"] else 0)

    def body(x: Array, middle: Array, y: Array) -> None:
        spread = _spread(x, middle, axes, divisor)
        np.sqrt(spread, spread)
        if attributes["invert"]:
            np.divide(1, np.add(spread, attributes["epsilon"], spread), spread)
        np.copyto(y, spread.reshape(y.shape))

    return whole(request, body, _WORK)


@kernel("ReduceStdV2Update")
def _variance_from_mean(request: KernelRequest) -> Kernel:
    """The variance about a mean that is given, or its root with ``if_std``."""
    attributes = request.attributes
    axes = _places(request, attributes["dim"]) or _all(request)
    divisor = _divisor(request, axes, attributes["correction"] if attributes["unbiased"] else 0)

    def body(x: Array, middle: Array, y: Array) -> None:
        spread = _spread(x, middle, axes, divisor)
        np.copyto(y, (np.sqrt(spread) if attributes["if_std"] else spread).reshape(y.shape))

    return whole(request, body, _WORK)


@kernel("ReduceMeanVariance")
def _mean_variance(request: KernelRequest) -> Kernel:
    """The mean and the biased variance; over all axes where there are none."""
    axes = _places(request, request.attributes["axes"]) or _all(request)
    divisor = _divisor(request, axes, 0)

    def body(x: Array, centre: Array, spread: Array) -> None:
        middle = mean(x, axes)
        np.copyto(spread, _spread(x, middle, axes, divisor).reshape(spread.shape))
        np.copyto(centre, middle.reshape(centre.shape))

    return whole(request, body, _WORK)


def _spread(x: Array, middle: Array, axes: Axes, divisor: int) -> Array:
    apart = np.subtract(x, middle)
    total = summed(np.multiply(apart, apart, apart), axes, keepdims=True)
    np.divide(total, divisor, total)
    return total


def _divisor(request: KernelRequest, axes: Axes, correction: int) -> int:
    """Return what a sum of squares is divided by: 0, so that the result is no number, where nothing is left."""
    shape = given(request, 0).shape
    return max(math.prod(shape[axis] for axis in axes) - correction, 0)


def _places(request: KernelRequest, axes: Axes) -> Axes:
    rank = len(given(request, 0).shape)
    if any(not -rank <= axis < rank for axis in axes):
        raise InvalidArgument(
            f"operator {request.op_type}: axes {tuple(axes)} do not fit shape {given(request, 0).shape}"
        )
    return tuple(sorted({axis % rank for axis in axes}))


def _all(request: KernelRequest) -> Axes:
    return tuple(range(len(given(request, 0).shape)))


def _reducing(request: KernelRequest, statistic: Statistic, axes: Axes) -> Body:
    """Return a body that writes a statistic; integers compute in float64 and are truncated."""
    op_type, keep = request.op_type, next(v for k, v in request.attributes.items() if k in ("keep_dims", "keepdim"))
    shape = given(request, 0).shape
    if keep:
        wanted = tuple(1 if axis in axes else size for axis, size in enumerate(shape))
    else:
        wanted = tuple(size for axis, size in enumerate(shape) if axis not in axes)

    def body(x: Array, out: Array) -> None:
        if out.shape != wanted:
            raise ValueError(f"operator {op_type}: over axes {axes} the result has shape {wanted}, not {out.shape}")
        wide = x.astype(np.float64) if x.dtype.kind in "iu" else x
        np.copyto(out, statistic(wide, axes).reshape(wanted), casting="unsafe")

    return body
