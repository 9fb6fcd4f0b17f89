"""Outputs of matrix products."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aacl.dtypes import DataType
from aacl.ops._infer._agreement import require_equal_dtypes, spreads
from aacl.ops._infer._dims import Dim, Shape, broadcast, fixed
from aacl.ops._infer._rules import Call, Output, rule

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ()

_QUANTISED = (DataType.INT8, DataType.INT4)


@rule("MatMul", "MatMulV2", "MatMulV3")
def matmul(call: Call) -> Sequence[Output]:
    """``(m, k) x (k, n) -> (m, n)``, each side transposed if asked."""
    return [_product(call, call.attributes["transpose_x1"], call.attributes["transpose_x2"], only_two=True)]


@rule("BatchMatMul", "BatchMatMulV2")
def batch_matmul(call: Call) -> Sequence[Output]:
    """``(..., m, k) x (..., k, n) -> (..., m, n)``; the leading dims broadcast."""
    return [_product(call, call.attributes["adj_x1"], call.attributes["adj_x2"], only_two=False)]


@rule("Dot")
def dot(call: Call) -> Sequence[Output]:
    """The inner product of two vectors: one element, in one dim."""
    left, right = call.shape(0), call.shape(1)
    for index, shape in enumerate((left, right)):
        if shape is not None and len(shape) != 1:
            raise call.error(f"{call.titled(index)} must have one dim")
    if left is not None and right is not None and not left[0].meets(right[0]):
        raise call.mismatch(0, 1, "must have one length")
    return [Output(call.desc(0).dtype, fixed(1))]


def _product(call: Call, turn_left: bool, turn_right: bool, *, only_two: bool) -> Output:
    require_equal_dtypes(call, (0, 1))
    source = call.desc(0).dtype
    dtype = DataType.INT32 if source in _QUANTISED else source
    shape = _product_shape(call, turn_left, turn_right, only_two)
    _check_bias(call, shape)
    return Output(dtype, shape, call.kept_format(0, shape))


def _product_shape(call: Call, turn_left: bool, turn_right: bool, only_two: bool) -> Shape:
    for index in (0, 1):
        shape = call.shape(index)
        if shape is not None and (len(shape) != 2 if only_two else len(shape) < 2):
            raise call.error(f"{call.titled(index)} must have {'' if only_two else 'at least '}2 dims")
    left, right = call.shape(0), call.shape(1)
    if left is None or right is None:
        return None
    rows, inner = (left[-1], left[-2]) if turn_left else (left[-2], left[-1])
    other, columns = (right[-1], right[-2]) if turn_right else (right[-2], right[-1])
    if not inner.meets(other):
        turned = " and ".join(name for name, turn in (("x1", turn_left), ("x2", turn_right)) if turn)
        raise call.mismatch(
            0, 1, f"do not multiply{f' with {turned} transposed' if turned else ''}: {inner} columns meet {other} rows"
        )
    return (*_leading(call, left[:-2], right[:-2]), rows, columns)


def _leading(call: Call, left: tuple[Dim, ...], right: tuple[Dim, ...]) -> tuple[Dim, ...]:
    dims = broadcast(left, right)
    if dims is None:
        raise call.mismatch(0, 1, "have leading dims that do not broadcast")
    return dims


def _check_bias(call: Call, shape: Shape) -> None:
    """The bias runs along the columns."""
    if not call.has(2) or call.names[2] != "bias":
        return
    bias = call.shape(2)
    if (
        bias is not None
        and shape is not None
        and (not bias or not bias[-1].meets(shape[-1]) or not spreads(bias, shape))
    ):
        raise call.mismatch(1, 2, f"do not fit: the bias holds one element for each of {shape[-1]} columns")
