"""The output of the product that BLAS knows as gemm."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aacl.errors import UnsupportedDataType
from aacl.ops._infer._agreement import require_equal_dtypes
from aacl.ops._infer._requirements import require_rank
from aacl.ops._infer._rules import Call, Output, rule

if TYPE_CHECKING:
    from collections.abc import Sequence

    from aacl.ops._infer._dims import Dim, Shape

__all__ = ()

_A, _B, _C, _ALPHA, _BETA = range(5)


@rule("GEMM")
def gemm(call: Call) -> Sequence[Output]:
    """``alpha * a b + beta * c``: as c is; a ``(m, k)`` and b ``(k, n)`` transposed if asked."""
    require_equal_dtypes(call, (_A, _B))
    require_equal_dtypes(call, (_C, _ALPHA, _BETA))
    if call.desc(_C).dtype not in call.schema.outputs[0].dtypes:
        raise UnsupportedDataType(f"operator GEMM gives no {call.desc(_C).dtype.name}")
    for index in (_ALPHA, _BETA):
        if call.length(index) not in (1, None):
            raise call.error(f"{call.titled(index)} must hold one element")
    return [Output(call.desc(_C).dtype, _shape(call), call.kept_format(_C, call.shape(_C)))]


def _shape(call: Call) -> Shape:
    for index in (_A, _B, _C):
        require_rank(call, index, 2)
    rows, inner = _sides(call, _A, call.attributes["transpose_a"])
    other, columns = _sides(call, _B, call.attributes["transpose_b"])
    if inner is not None and other is not None and not inner.meets(other):
        raise call.mismatch(_A, _B, f"do not multiply: {inner} columns meet {other} rows")
    found = call.shape(_C)
    if found is None:
        return None if rows is None or columns is None else (rows, columns)
    both = [dim if side is None else dim.meets(side) for dim, side in zip(found, (rows, columns), strict=True)]
    if None in both:
        raise call.error(f"{call.titled(_C)} is not the shape ({rows}, {columns}) of the product")
    return tuple(dim for dim in both if dim is not None)


def _sides(call: Call, index: int, is_turned: bool) -> Sequence[Dim | None]:
    """Return rows and columns of a matrix as it is multiplied; None where its rank is unknown."""
    shape = call.shape(index)
    if shape is None:
        return None, None
    return shape[::-1] if is_turned else shape
