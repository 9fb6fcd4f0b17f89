"""Running sums, products and extremes along an axis.

Half precision accumulates in float32 and every element is rounded once; integers keep their dtype and wrap
around. ``exclusive`` leaves each element out of its own result, ``reverse`` runs from the end.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from aacl.backends.cpu.kernels._places import axis_of
from aacl.backends.cpu.kernels._precision import HALVES, REALS, compute_dtype
from aacl.backends.cpu.kernels._quiet import quiet
from aacl.backends.cpu.kernels._registry import (
    TRANSCENDENTAL,
    elements,
    given,
    kernel,
    prepared,
    refuse_dtype,
    with_integers,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from aacl.abc import Array, Kernel, KernelRequest
    from aacl.backends.cpu.kernels._registry import Body

__all__ = ()


@kernel("Cumsum", "Cumprod")
def _cumulate(request: KernelRequest) -> Kernel:
    def make(axis: Sequence[int]) -> Body:
        inner = _running(request, axis[0])
        return lambda x, _, out: inner(x, out)

    return prepared(request, quiet(with_integers(request, (1,), make), 3), elements(given(request, 0)))


@kernel("CumsumD", "CumprodD")
def _cumulate_attribute(request: KernelRequest) -> Kernel:
    return prepared(request, quiet(_running(request, request.attributes["axis"]), 2), elements(given(request, 0)))


def _running(request: KernelRequest, axis: int) -> Body:
    info = given(request, 0)
    ufunc, identity = (np.add, 0) if request.op_type.startswith("Cumsum") else (np.multiply, 1)
    return _accumulated(request, axis, ufunc, identity, compute_dtype(info.dtype))


@kernel("CumulativeLogsumexp")
def _log_sum_exp(request: KernelRequest) -> Kernel:
    def make(axis: Sequence[int]) -> Body:
        inner = _running_log_sum_exp(request, axis[0])
        return lambda x, _, out: inner(x, out)

    work = 2 * TRANSCENDENTAL * elements(given(request, 0))
    return prepared(request, quiet(with_integers(request, (1,), make), 3), work)


@kernel("CumulativeLogsumexpD")
def _log_sum_exp_attribute(request: KernelRequest) -> Kernel:
    body = _running_log_sum_exp(request, request.attributes["axis"])
    return prepared(request, quiet(body, 2), 2 * TRANSCENDENTAL * elements(given(request, 0)))


def _running_log_sum_exp(request: KernelRequest, axis: int) -> Body:
    """In float64, whatever the dtype; ``exclusive`` starts at the dtype's lowest value, as TensorFlow documents."""
    import ml_dtypes

    lowest = float(ml_dtypes.finfo(given(request, 0).dtype.numpy_dtype).min)  # type: ignore[no-untyped-call]
    return _accumulated(request, axis, np.logaddexp, lowest, np.dtype(np.float64))


def _accumulated(request: KernelRequest, axis: int, ufunc: np.ufunc, identity: float, wide: np.dtype[Any]) -> Body:
    """Return a body that accumulates in a wider dtype, or straight in the output where that is its own."""
    axis = axis_of(request, axis, len(given(request, 0).shape))
    exclusive, reverse = request.attributes["exclusive"], request.attributes["reverse"]
    before = (slice(None),) * axis
    first, rest, short = (*before, slice(None, 1)), (*before, slice(1, None)), (*before, slice(None, -1))

    def body(x: Array, out: Array) -> None:
        source, target = (np.flip(x, axis), np.flip(out, axis)) if reverse else (x, out)
        if exclusive:
            target[first] = identity
            source, target = source[short], target[rest]
        if target.dtype == wide:
            ufunc.accumulate(source, axis, wide, target)
        else:
            np.copyto(target, ufunc.accumulate(source.astype(wide), axis), casting="same_kind")

    return body


@kernel("Cummax", "Cummin")
def _running_extreme(request: KernelRequest) -> Kernel:
    """The extreme so far and the place of its last occurrence, as torch's; NaN counts as one and stays."""
    info = given(request, 0)
    if info.dtype not in REALS:
        raise refuse_dtype(request, "real dtypes")
    is_maximum = request.op_type == "Cummax"
    name = "dim" if is_maximum else "axis"
    axis = axis_of(request, request.attributes[name], len(info.shape), name)
    ufunc, is_half = np.maximum if is_maximum else np.minimum, info.dtype in HALVES
    steps = np.arange(info.shape[axis]).reshape((-1,) + (1,) * (len(info.shape) - 1 - axis))

    def body(x: Array, out: Array, places: Array) -> None:
        wide = x.astype(np.float32) if is_half else x
        best = ufunc.accumulate(wide, axis)
        renewed = (wide == best) | (wide != wide)
        np.copyto(places, np.maximum.accumulate(np.where(renewed, steps, 0), axis), casting="unsafe")
        np.copyto(out, best, casting="same_kind")

    return prepared(request, quiet(body, 3), 5 * elements(info))
