"""Outputs of sums of products other than matrix products, and of distances."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aacl.dtypes import DataType
from aacl.ops._infer._agreement import broadcast_inputs, equal_shapes, require_equal_dtypes
from aacl.ops._infer._dims import FREE, Dim, Shape, broadcast, fixed, product
from aacl.ops._infer._requirements import require_one, require_rank
from aacl.ops._infer._rules import Call, Output, rule

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ()

_DEFAULT_DIM = -65530


@rule("Einsum")
def einsum(call: Call) -> Sequence[Output]:
    """The dims of the letters behind the arrow; without one, of the letters that come once, in order."""
    require_equal_dtypes(call, range(len(call.inputs)))
    equation = call.attributes["equation"].replace(" ", "")
    left, arrow, right = equation.partition("->")
    terms = left.split(",")
    if len(terms) != len(call.inputs):
        raise call.error(f"equation {equation!r} has {len(terms)} terms for {len(call.inputs)} inputs")
    if not arrow:
        letters = left.replace(",", "").replace("...", "")
        right = ("..." if "..." in left else "") + "".join(sorted(x for x in set(letters) if letters.count(x) == 1))
    sizes: dict[str, tuple[Dim, ...]] = {"...": ()}
    for index, term in enumerate(terms):
        if not _learn(call, index, term, sizes):
            return [Output(call.desc(0).dtype, None)]
    unknown = set(right.replace("...", "")) - set(sizes)
    if unknown or len(set(right.replace("...", ""))) != len(right.replace("...", "")):
        raise call.error(f"equation {equation!r} asks for {right!r}, which its terms do not give")
    head, dots, tail = right.partition("...")
    lead = sizes["..."] if dots else ()
    dims = (*(sizes[x][0] for x in head), *lead, *(sizes[x][0] for x in tail))
    return [Output(call.desc(0).dtype, dims)]


@rule("Ger")
def outer(call: Call) -> Sequence[Output]:
    """A matrix of two vectors."""
    require_equal_dtypes(call, (0, 1))
    for index in (0, 1):
        require_rank(call, index, 1)
    rows, columns = ((call.shape(index) or (FREE,))[0] for index in (0, 1))
    return [Output(call.desc(0).dtype, (rows, columns))]


@rule("Cross")
def cross(call: Call) -> Sequence[Output]:
    """The inputs broadcast; the dim holds 3 elements."""
    require_equal_dtypes(call, (0, 1))
    shape, dim, three = broadcast_inputs(call), call.attributes["dim"], Dim(3, 3)
    if shape is not None:
        if dim == _DEFAULT_DIM:
            fits = any(size.meets(three) for size in shape)
        else:
            fits = shape[call.axis(dim, len(shape), "dim")].meets(three) is not None
        if not fits:
            raise call.mismatch(0, 1, "have no dim of 3 elements" if dim == _DEFAULT_DIM else f"need 3 along dim {dim}")
    return [Output(call.desc(0).dtype, shape)]


@rule("AddMatMatElements")
def add_products(call: Call) -> Sequence[Output]:
    """As ``c``, whose shape ``a`` and ``b`` have; beta and alpha are one element each."""
    require_equal_dtypes(call, range(5))
    shape = equal_shapes(call, (0, 1, 2))
    for index in (3, 4):
        require_one(call, index)
    return [call.like(0, shape)]


@rule("FullyConnection", "InnerProduct")
def fully_connected(call: Call) -> Sequence[Output]:
    """The dims before ``axis``, and one column for each row of the weight, or each column if transposed."""
    require_equal_dtypes(call, (0, 1))
    source = call.desc(0).dtype
    dtype = DataType.INT32 if source in (DataType.INT8, DataType.INT4) else source
    shape, weight = call.shape(0), call.shape(1)
    if shape is None or weight is None:
        return [Output(dtype, None)]
    axis = call.axis(call.attributes["axis"], len(shape), "axis")
    if len(weight) < 2:
        raise call.error(f"{call.titled(1)} needs 2 dims at least")
    turned = call.attributes["transpose"]
    columns, inner = (weight[-1], product(weight[:-1])) if turned else (weight[0], product(weight[1:]))
    if not product(shape[axis:]).meets(inner):
        raise call.mismatch(0, 1, f"do not multiply: {product(shape[axis:])} elements from axis {axis} meet {inner}")
    if call.has(2):
        bias = call.shape(2)
        if bias is not None and not product(bias).meets(columns):
            raise call.error(f"{call.titled(2)} must hold one element for each of {columns} columns")
    return [Output(dtype, (*shape[:axis], columns))]


@rule("Cdist")
def distances(call: Call) -> Sequence[Output]:
    """``(..., p, m)`` and ``(..., r, m)`` give ``(..., p, r)``; the leading dims broadcast."""
    require_equal_dtypes(call, (0, 1))
    left, right = call.shape(0), call.shape(1)
    for index, shape in enumerate((left, right)):
        if shape is not None and len(shape) < 2:
            raise call.error(f"{call.titled(index)} needs 2 dims at least")
    if left is None or right is None:
        return [Output(call.desc(0).dtype, None)]
    lead = broadcast(left[:-2], right[:-2])
    if lead is None or not left[-1].meets(right[-1]):
        raise call.mismatch(0, 1, "do not fit: rows of one length, leading dims that broadcast")
    return [Output(call.desc(0).dtype, (*lead, left[-2], right[-2]))]


@rule("Pdist")
def pair_distances(call: Call) -> Sequence[Output]:
    """One distance for each pair of rows."""
    shape = require_rank(call, 0, 2)
    if shape is None or not shape[0].is_fixed:
        return [Output(call.desc(0).dtype, (FREE,))]
    return [Output(call.desc(0).dtype, fixed(shape[0].least * (shape[0].least - 1) // 2))]


def _learn(call: Call, index: int, term: str, sizes: dict[str, tuple[Dim, ...]]) -> bool:
    """Learn the letters' dims from an input; False where its rank is unknown."""
    shape: Shape = call.shape(index)
    if shape is None:
        return False
    head, dots, tail = term.partition("...")
    spare = len(shape) - len(head) - len(tail)
    if spare < 0 or (spare and not dots) or (not (head + tail).isalpha() and head + tail):
        raise call.error(f"the term {term!r} does not fit {call.titled(index)}")
    if dots:
        both = broadcast(sizes["..."], shape[len(head) : len(head) + spare])
        if both is None:
            raise call.error(f"the dims of '...' do not broadcast with those of {call.titled(index)}")
        sizes["..."] = both
    for letter, dim in zip(head + tail, shape[: len(head)] + shape[len(head) + spare :], strict=True):
        known = sizes.get(letter, (dim,))[0]
        met = known.meets(dim)
        if met is None:
            raise call.error(f"{letter!r} is {known} and, in {call.titled(index)}, {dim}")
        sizes[letter] = (met,)
    return True
