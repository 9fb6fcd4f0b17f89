"""Reductions over axes, and the places of extremes.

No axes, no reduction, except where ReduceMean's ``noop_with_empty_axes`` is false. Half precision
accumulates in float32; integers keep their dtype and wrap around, but a mean of integers is summed in
int64 and truncated. Over no elements a sum is 0, a product 1, a maximum the least value of the dtype,
a mean NaN (0 for integers).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeAlias

import ml_dtypes
import numpy as np

from aacl.backends.cpu.kernels._precision import FLOATS, HALVES, INTEGERS
from aacl.backends.cpu.kernels._quiet import quiet
from aacl.backends.cpu.kernels._registry import elements, given, kernel, prepared, refuse_dtype, with_integers
from aacl.dtypes import DataType
from aacl.errors import InvalidArgument

if TYPE_CHECKING:
    from aacl.abc import Array, Kernel, KernelRequest
    from aacl.backends.cpu.kernels._registry import Body

__all__ = ()

Axes: TypeAlias = "tuple[int, ...]"
Reduction: TypeAlias = "Callable[[Array, Axes, bool, Array], object]"


def _accumulate(ufunc: np.ufunc) -> Reduction:
    """Return a reduction in the input's dtype, or float32 for half precision."""

    def reduce(x: Array, axes: Axes, keep: bool, out: Array) -> None:
        if out.dtype in _HALF_DTYPES:
            total = ufunc.reduce(x, axis=axes, dtype=np.float32, keepdims=keep)
            np.copyto(out, total, casting="same_kind")
        else:
            ufunc.reduce(x, axis=axes, dtype=out.dtype, keepdims=keep, out=out)

    return reduce


def _extreme(ufunc: np.ufunc, *, is_maximum: bool) -> Reduction:
    def reduce(x: Array, axes: Axes, keep: bool, out: Array) -> None:
        if x.size or not out.size:
            ufunc.reduce(x, axis=axes, keepdims=keep, out=out)
        else:
            out[...] = _limit(out.dtype, is_least=is_maximum)

    return reduce


def _mean(x: Array, axes: Axes, keep: bool, out: Array) -> None:
    count = int(np.prod([x.shape[axis] for axis in axes], dtype=np.int64))
    if out.dtype.kind in "iu":
        total = x.sum(axis=axes, dtype=np.int64, keepdims=keep)
        np.copyto(out, (total - np.fmod(total, count)) // count if count else 0, casting="unsafe")
        return
    wide = np.float32 if out.dtype in _HALF_DTYPES else out.dtype
    total = x.sum(axis=axes, dtype=wide, keepdims=keep)
    np.copyto(out, np.divide(total, count, dtype=wide), casting="same_kind")


def _log_sum_exp(x: Array, axes: Axes, keep: bool, out: Array) -> None:
    wide = x.astype(np.float32 if out.dtype in _HALF_DTYPES else out.dtype, copy=False)
    if not wide.size:
        np.copyto(out, -np.inf, casting="unsafe")
        return
    top = wide.max(axes, keepdims=True)
    top = np.where(np.isfinite(top), top, 0).astype(wide.dtype, copy=False)
    total = np.log(np.exp(wide - top).sum(axes, keepdims=True)) + top
    np.copyto(out, total if keep else total.reshape(out.shape), casting="same_kind")


_HALF_DTYPES = (np.dtype(np.float16), np.dtype(ml_dtypes.bfloat16))
_REDUCTIONS: dict[str, tuple[Reduction, int]] = {
    "ReduceSum": (_accumulate(np.add), 1),
    "ReduceProd": (_accumulate(np.multiply), 1),
    "ReduceMean": (_mean, 1),
    "ReduceMax": (_extreme(np.maximum, is_maximum=True), 1),
    "ReduceMin": (_extreme(np.minimum, is_maximum=False), 1),
    "ReduceAll": (_accumulate(np.logical_and), 1),
    "ReduceAny": (_accumulate(np.logical_or), 1),
    "ReduceLogSumExp": (_log_sum_exp, 15),
}


@kernel(*_REDUCTIONS, *(f"{name}D" for name in _REDUCTIONS if name != "ReduceLogSumExp"))
def _reduce(request: KernelRequest) -> Kernel:
    reduction, operations = _REDUCTIONS[request.op_type.removesuffix("D")]
    info = given(request, 0)
    if info.dtype != request.outputs[0].dtype:
        raise refuse_dtype(request, "an output of the input's dtype")
    if "axes" in request.attributes:
        body = _over(request, reduction, request.attributes["axes"])
    else:
        body = with_integers(request, (1,), lambda axes: _behind(_over(request, reduction, axes)))
    return prepared(request, quiet(body, len(request.inputs) + 1), operations * elements(info))


def _behind(inner: Body) -> Body:
    """Return a body that skips the second array, which is the axes."""

    def body(x: Array, _: Array, out: Array) -> None:
        inner(x, out)

    return body


def _over(request: KernelRequest, reduction: Reduction, axes: Axes) -> Body:
    rank, keep = len(given(request, 0).shape), request.attributes["keep_dims"]
    if any(not -rank <= axis < rank for axis in axes):
        raise InvalidArgument(f"operator {request.op_type}: axes {axes} do not fit shape {given(request, 0).shape}")
    places = tuple(sorted({axis % rank for axis in axes}))
    if not axes:
        if request.attributes.get("noop_with_empty_axes", True):
            return _copy
        places = tuple(range(rank))

    def body(x: Array, out: Array) -> None:
        reduction(x, places, keep, out)

    return body


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
    is_wide = info.dtype in HALVES

    def body(x: Array, out: Array) -> None:
        out[...] = find(x.astype(np.float32) if is_wide else x, axis)

    return body
