"""Comparison, logic and selection."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from aacl.backends.cpu.kernels._blocks import stepwise
from aacl.backends.cpu.kernels._masks import select
from aacl.backends.cpu.kernels._precision import HALVES
from aacl.backends.cpu.kernels._quiet import quiet
from aacl.backends.cpu.kernels._registry import elements, given, kernel, prepared, refuse_dtype
from aacl.backends.cpu.kernels._split import spread
from aacl.backends.cpu.kernels._ufunc import comparing
from aacl.dtypes import DataType
from aacl.errors import InvalidArgument

if TYPE_CHECKING:
    from aacl.abc import Array, Kernel, KernelRequest
    from aacl.backends.cpu.kernels._registry import Body

__all__ = ()

_COMPARISONS: dict[str, np.ufunc] = {
    "Equal": np.equal,
    "NotEqual": np.not_equal,
    "Greater": np.greater,
    "GreaterEqual": np.greater_equal,
    "Less": np.less,
    "LessEqual": np.less_equal,
}
_LOGIC: dict[str, np.ufunc] = {
    "LogicalAnd": np.logical_and,
    "LogicalOr": np.logical_or,
    "LogicalNot": np.logical_not,
}
_TESTS: dict[str, np.ufunc] = {"IsNan": np.isnan, "IsInf": np.isinf, "IsFinite": np.isfinite}


@kernel(*_COMPARISONS)
def _compare(request: KernelRequest) -> Kernel:
    """NumPy compares NaN without a warning, so the body is its ufunc; ml_dtypes warns."""
    ufunc = _COMPARISONS[request.op_type]
    left, right = given(request, 0).dtype, given(request, 1).dtype
    if left != right or request.outputs[0].dtype is not DataType.BOOL:
        raise refuse_dtype(request, "two equal dtypes, giving BOOL")
    try:
        ufunc.resolve_dtypes((left.numpy_dtype, right.numpy_dtype, np.dtype(np.bool_)))
    except TypeError:
        raise refuse_dtype(request, "two equal numeric dtypes, giving BOOL") from None
    return comparing(request, ufunc)


@kernel(*_LOGIC)
def _logic(request: KernelRequest) -> Kernel:
    _require_bool(request)
    return prepared(request, _LOGIC[request.op_type], in_place=True)


@kernel(*_TESTS)
def _test(request: KernelRequest) -> Kernel:
    return prepared(request, _TESTS[request.op_type])


@kernel("IsPosInf", "IsNegInf")
def _signed_infinity(request: KernelRequest) -> Kernel:
    infinity = given(request, 0).dtype.numpy_dtype.type(np.inf if request.op_type == "IsPosInf" else -np.inf)

    def body(x: Array, out: Array) -> None:
        np.equal(x, infinity, out)

    return prepared(request, quiet(body, 2))


@kernel("IsClose")
def _is_close(request: KernelRequest) -> Kernel:
    """``|x1 - x2| <= atol + rtol * |x2|``, or equal (torch.isclose); integers compare in float64.

    Raises:
        InvalidArgument: rtol or atol is negative.
    """
    relative, absolute, equal_nan = (request.attributes[name] for name in ("rtol", "atol", "equal_nan"))
    if not (relative >= 0 and absolute >= 0):
        raise InvalidArgument(f"operator IsClose: rtol is {relative} and atol {absolute}; they are 0 or more")

    def body(x1: Array, x2: Array, out: Array) -> None:
        wide = [x.astype(np.float64) if x.dtype.kind in "iub" else x for x in (x1, x2)]
        distance = np.abs(np.subtract(*wide))
        near = np.isfinite(distance) & (distance <= absolute + relative * np.abs(wide[1]))
        close = near | np.equal(x1, x2)
        np.copyto(out, close | (np.isnan(wide[0]) & np.isnan(wide[1])) if equal_nan else close)

    return stepwise(request, _in_single(request, body), 6)


def _in_single(request: KernelRequest, body: Body) -> Body:
    """Return a body that gets half precision as float32: the output is bool, so that `stepwise` does not widen it."""
    if given(request, 0).dtype not in HALVES:
        return body

    def run(x1: Array, x2: Array, out: Array) -> None:
        body(x1.astype(np.float32), x2.astype(np.float32), out)

    return run


@kernel("TensorEqual")
def _tensor_equal(request: KernelRequest) -> Kernel:
    """Whether shapes and all elements are equal; NaN equals nothing. One element."""
    same_shape = given(request, 0).shape == given(request, 1).shape

    def body(x: Array, y: Array, out: Array) -> None:
        out[...] = same_shape and bool(np.equal(x, y).all())

    return prepared(request, quiet(body, 3))


@kernel("Select")
def _select(request: KernelRequest) -> Kernel:
    """A condition with one element a row selects whole rows."""
    rank = len(given(request, 1).shape)
    is_rows = len(given(request, 0).shape) == 1 and rank > 1

    def body(condition: Array, x1: Array, x2: Array, out: Array) -> None:
        select(condition.reshape((-1,) + (1,) * (rank - 1)), x1, x2, out)

    run = body if is_rows else spread(request, select)
    return prepared(request, run, elements(request.outputs[0]))


@kernel("SelectV2")
def _select_broadcast(request: KernelRequest) -> Kernel:
    return prepared(request, spread(request, select), elements(request.outputs[0]))


@kernel("ApproximateEqual")
def _approximate(request: KernelRequest) -> Kernel:
    """``|x1 - x2| < tolerance``, strict."""
    tolerance = request.attributes["tolerance"]

    def body(x1: Array, x2: Array, out: Array) -> None:
        np.less(np.abs(np.subtract(x1, x2)), tolerance, out)

    return stepwise(request, body, 2)


def _require_bool(request: KernelRequest) -> None:
    if any(info is not None and info.dtype is not DataType.BOOL for info in (*request.inputs, *request.outputs)):
        raise refuse_dtype(request, "BOOL")
