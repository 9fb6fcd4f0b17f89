"""Reductions over axes, and the places of extremes.

No axes, no reduction, except where ReduceMean's ``noop_with_empty_axes`` is false. Half precision
accumulates in float32; integers keep their dtype and wrap around, but a mean of integers is summed in
int64 and truncated. Over no elements a sum is 0, a product 1, a maximum the least value of the dtype,
a mean NaN (0 for integers).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np

from aacl.backends.cpu.kernels._halves import widen
from aacl.backends.cpu.kernels._precision import FLOATS, HALVES, INTEGERS, compute_dtype
from aacl.backends.cpu.kernels._quiet import quiet
from aacl.backends.cpu.kernels._registry import elements, given, kernel, prepared, refuse_dtype, with_integers
from aacl.backends.cpu.kernels._split import ranges
from aacl.backends.cpu.kernels._sums import sum_over, summed
from aacl.dtypes import DataType
from aacl.errors import InvalidArgument

if TYPE_CHECKING:
    from aacl.abc import Array, Kernel, KernelRequest
    from aacl.backends.cpu.kernels._registry import Body

__all__ = ()

Axes: TypeAlias = "tuple[int, ...]"
Partial: TypeAlias = "Callable[[Array, Axes, bool, Array], object]"


class _Reduction(NamedTuple):
    """How something is reduced: into an accumulator, which is the output itself where there is no ``finish``."""

    partial: Partial
    """Reduces an array over axes, keeping them or not, into an accumulator."""
    join: np.ufunc | None
    """Makes one accumulator of several; None where the parts of a sum do not make the whole."""
    finish: Callable[[Array, int, Array], object] | None = None
    """Writes the output from the accumulator and the number of elements that went into each of its own."""
    operations: int = 1


def _accumulate(ufunc: np.ufunc) -> Partial:
    def reduce(x: Array, axes: Axes, keep: bool, out: Array) -> None:
        ufunc.reduce(x, axis=axes, dtype=out.dtype, keepdims=keep, out=out)

    return reduce


def _extreme(ufunc: np.ufunc, *, is_maximum: bool) -> Partial:
    def reduce(x: Array, axes: Axes, keep: bool, out: Array) -> None:
        if x.size:
            ufunc.reduce(x, axis=axes, keepdims=keep, out=out)
        else:
            out[...] = _limit(out.dtype, is_least=is_maximum)

    return reduce


def _mean(total: Array, count: int, out: Array) -> None:
    if out.dtype.kind in "iu":
        np.copyto(out, (total - np.fmod(total, count)) // count if count else 0, casting="unsafe")
    else:
        np.copyto(out, np.divide(total, count, dtype=total.dtype), casting="same_kind")


def _log_sum_exp(x: Array, axes: Axes, keep: bool, out: Array) -> None:
    wide = x.astype(out.dtype, copy=False)
    if not wide.size:
        np.copyto(out, -np.inf, casting="unsafe")
        return
    top = wide.max(axes, keepdims=True)
    top = np.where(np.isfinite(top), top, 0).astype(wide.dtype, copy=False)
    total = np.log(summed(np.exp(wide - top), axes, keepdims=True)) + top
    np.copyto(out, total if keep else total.reshape(out.shape), casting="same_kind")


_SUM = _Reduction(sum_over, np.add)
_REDUCTIONS: dict[str, _Reduction] = {
    "ReduceSum": _SUM,
    "ReduceProd": _Reduction(_accumulate(np.multiply), np.multiply),
    "ReduceMean": _SUM._replace(finish=_mean),
    "ReduceMax": _Reduction(_extreme(np.maximum, is_maximum=True), np.maximum),
    "ReduceMin": _Reduction(_extreme(np.minimum, is_maximum=False), np.minimum),
    "ReduceAll": _Reduction(_accumulate(np.logical_and), np.logical_and),
    "ReduceAny": _Reduction(_accumulate(np.logical_or), np.logical_or),
    "ReduceLogSumExp": _Reduction(_log_sum_exp, None, operations=15),
}


@kernel(*_REDUCTIONS, *(f"{name}D" for name in _REDUCTIONS if name != "ReduceLogSumExp"))
def _reduce(request: KernelRequest) -> Kernel:
    reduction = _REDUCTIONS[request.op_type.removesuffix("D")]
    info = given(request, 0)
    if info.dtype != request.outputs[0].dtype:
        raise refuse_dtype(request, "an output of the input's dtype")
    if reduction.join is None and info.dtype not in FLOATS:
        raise refuse_dtype(request, "float dtypes")
    if "axes" in request.attributes:
        body = _over(request, reduction, request.attributes["axes"])
    else:
        body = with_integers(request, (1,), lambda axes: _behind(_over(request, reduction, axes)))
    return prepared(request, quiet(body, len(request.inputs) + 1), reduction.operations * elements(info))


def _behind(inner: Body) -> Body:
    """Return a body that skips the second array, which is the axes."""

    def body(x: Array, _: Array, out: Array) -> None:
        inner(x, out)

    return body


def _over(request: KernelRequest, reduction: _Reduction, axes: Axes) -> Body:
    shape, keep = given(request, 0).shape, request.attributes["keep_dims"]
    rank = len(shape)
    if any(not -rank <= axis < rank for axis in axes):
        raise InvalidArgument(f"operator {request.op_type}: axes {axes} do not fit shape {shape}")
    places = tuple(sorted({axis % rank for axis in axes}))
    if not axes:
        if request.attributes.get("noop_with_empty_axes", True):
            return _copy
        places = tuple(range(rank))
    into = _in_parts(request, reduction, places)
    accumulator = _accumulator(given(request, 0).dtype, reduction)
    if accumulator == request.outputs[0].dtype.numpy_dtype and not reduction.finish:
        return lambda x, out: into(x, places, keep, out)
    finish, count = reduction.finish or _rounded, math.prod(shape[axis] for axis in places)

    def body(x: Array, out: Array) -> None:
        total = np.empty(out.shape, accumulator)
        into(x, places, keep, total)
        finish(total, count, out)

    return body


def _rounded(total: Array, _count: int, out: Array) -> None:
    np.copyto(out, total, casting="same_kind")


def _accumulator(dtype: DataType, reduction: _Reduction) -> np.dtype[Any]:
    """Return the dtype to accumulate in: float32 for half precision, int64 for a mean of integers."""
    if dtype in INTEGERS and reduction.finish:
        return np.dtype(np.int64)
    return compute_dtype(dtype)


def _in_parts(request: KernelRequest, reduction: _Reduction, axes: Axes) -> Partial:
    """Return a reduction that takes a large input in parts, on several cores.

    They are cut along an axis that stays, or else along one that goes, where what the parts give is joined.
    """
    info = given(request, 0)
    shape, is_half, join = info.shape, info.dtype in HALVES, reduction.join
    whole = _widening(reduction.partial) if is_half else reduction.partial
    axis = _axis_to_cut(shape, axes, first=is_half)
    if axis is None or (axis in axes and join is None):
        return whole
    parts = ranges(shape[axis], elements(info) * info.dtype.itemsize, (4 if is_half else 1) * elements(info))
    if len(parts) < 2:
        return whole
    cuts = [(slice(None),) * axis + (part,) for part in parts]
    run = request.parallel

    def joined(x: Array, axes: Axes, keep: bool, out: Array) -> None:
        found = np.empty((len(cuts), *out.shape), out.dtype)
        run(lambda number: whole(x[cuts[number]], axes, keep, found[number, ...]), len(cuts))
        assert join is not None
        join.reduce(found, axis=0, dtype=out.dtype, out=out)

    def apart(x: Array, axes: Axes, keep: bool, out: Array) -> None:
        behind = axis if keep else axis - sum(each < axis for each in axes)
        run(
            lambda number: whole(x[cuts[number]], axes, keep, out[(slice(None),) * behind + (parts[number],)]),
            len(cuts),
        )

    return joined if axis in axes else apart


_ENOUGH = 16
"""Places of an axis that make parts of about equal size."""


def _axis_to_cut(shape: Axes, axes: Axes, *, first: bool) -> int | None:
    """Return an axis that stays, or the first one that is no single place; the latter at once on demand.

    Parts along an early axis lie together, which all are quicker with and the conversion of half precision needs.
    """
    stay = [axis for axis in range(len(shape)) if axis not in axes and shape[axis] > 1]
    if stay and not first:
        return next((axis for axis in stay if shape[axis] >= _ENOUGH), max(stay, key=lambda axis: shape[axis]))
    return next((axis for axis, size in enumerate(shape) if size > 1), None)


def _widening(partial: Partial) -> Partial:
    """Return a reduction of half precision from one of float32."""
    return lambda x, axes, keep, out: partial(widen(x), axes, keep, out)


def _copy(x: Array, out: Array) -> None:
    if x.shape != out.shape:
        raise ValueError(f"a reduction over no axes gives shape {x.shape}; the output has {out.shape}")
    np.copyto(out, x)


def _limit(dtype: np.dtype[Any], *, is_least: bool) -> Any:
    if dtype.kind in "iu":
        return np.iinfo(dtype).min if is_least else np.iinfo(dtype).max
    return -np.inf if is_least else np.inf


@kernel("ArgMax", "ArgMaxV2", "ArgMin")
def _arg_extreme(request: KernelRequest) -> Kernel:
    """The first extreme along an axis; NaN counts as one."""
    find = np.argmin if request.op_type == "ArgMin" else np.argmax
    body = with_integers(request, (1,), lambda axis: _behind(_place(request, find, axis)))
    return prepared(request, body, elements(given(request, 0)))


@kernel("ArgMaxD", "ArgMinD")
def _arg_extreme_attribute(request: KernelRequest) -> Kernel:
    find = np.argmin if request.op_type == "ArgMinD" else np.argmax
    body = _place(request, find, (request.attributes["dimension"],))
    return prepared(request, body, elements(given(request, 0)))


def _place(request: KernelRequest, find: Callable[..., Any], axes: Axes) -> Body:
    info = given(request, 0)
    if info.dtype not in FLOATS | INTEGERS | {DataType.BOOL}:
        raise refuse_dtype(request, "real dtypes")
    (axis,) = axes
    shape = info.shape
    if not -len(shape) <= axis < len(shape):
        raise InvalidArgument(f"operator {request.op_type}: dimension {axis} does not fit shape {shape}")
    if not shape[axis]:
        raise InvalidArgument(f"operator {request.op_type}: dimension {axis} of shape {shape} is empty")
    is_wide, places = info.dtype in HALVES, axis % len(shape)
    sizes = math.prod(shape[:places]), shape[places], math.prod(shape[places + 1 :])
    best = np.minimum if find is np.argmin else np.maximum

    def body(x: Array, out: Array) -> None:
        rows = widen(x) if is_wide else x
        if sizes[2] < _ENOUGH or sizes[1] < _ENOUGH:
            out[...] = find(rows, axis)
        else:
            out[...] = _first_places(rows.reshape(sizes), best, find).reshape(out.shape)

    return body


def _first_places(x: Array, best: np.ufunc, find: Callable[..., Any]) -> Array:
    """Return the first places of the extremes along the middle one of three axes.

    NumPy finds places along the last axis only and copies there what lies otherwise; extremes it finds along any, and
    few elements are equal to them.
    """
    top = best.reduce(x, 1, keepdims=True)
    hits = np.flatnonzero(x == top)
    before, length, behind = x.shape
    if hits.size > x.size // 16 or hits.size < before * behind or (top != top).any():  # plateaus, NaN
        return np.asarray(find(x, 1))
    found = np.empty((before, behind), np.int64)
    hits = hits[::-1]  # of several hits in one place the last one written stays
    found[hits // (length * behind), hits % behind] = hits // behind % length
    return found
