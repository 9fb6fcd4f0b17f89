"""Outputs of operators that write updates at indices: they have the shape of what is updated."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aacl.ops._infer._agreement import require_equal_dtypes, spreads
from aacl.ops._infer._asked import asked_shape, asked_sizes
from aacl.ops._infer._dims import FREE, Dim, Shape, fixed, shown
from aacl.ops._infer._indexing import indexed
from aacl.ops._infer._requirements import require_ones, require_rank
from aacl.ops._infer._rules import Call, Output, rule

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ()


@rule(
    *("ScatterUpdate", "ScatterAdd", "ScatterSub", "ScatterMul", "ScatterDiv", "ScatterMax", "ScatterMin"),
)
def scatter(call: Call) -> Sequence[Output]:
    """Updates of shape ``indices.shape + var.shape[1:]``, or one number."""
    require_equal_dtypes(call, (0, 2))
    shape, indices, updates = (call.shape(index) for index in range(3))
    if shape is not None and not shape:
        raise call.error(f"{call.titled(0)} needs one dim at least")
    if updates != () and shape is not None and indices is not None:
        _require_updates(call, 2, updates, (*indices, *shape[1:]))
    return [call.like(0, shape)]


@rule(
    *("ScatterNdUpdate", "ScatterNdAdd", "ScatterNdSub", "ScatterNdMax", "ScatterNdMin", "ScatterNonAliasingAdd"),
    *("TensorScatterUpdate", "TensorScatterAdd", "TensorScatterSub", "TensorScatterMax", "TensorScatterMin"),
)
def scatter_nd(call: Call) -> Sequence[Output]:
    """The last dim of the indices addresses the leading dims of ``var``; the updates hold the others."""
    require_equal_dtypes(call, (0, 2))
    _require_tuples(call, 1, 2, call.shape(0))
    return [call.like(0, call.shape(0))]


@rule("ScatterNd")
def scatter_new(call: Call) -> Sequence[Output]:
    """The shape that the third input holds."""
    shape = asked_shape(call, 2)
    _require_tuples(call, 0, 1, shape)
    return [Output(call.desc(1).dtype, shape)]


@rule("ScatterNdD")
def scatter_new_attribute(call: Call) -> Sequence[Output]:
    """The shape that the attribute holds."""
    shape = asked_sizes(call, call.attributes["shape"])
    _require_tuples(call, 0, 1, shape)
    return [Output(call.desc(1).dtype, shape)]


@rule("ScatterElements", "ScatterElementsV2", "ScatterAddWithAxis")
def scatter_elements(call: Call) -> Sequence[Output]:
    """Indices and updates have one shape, of the rank of the data."""
    require_equal_dtypes(call, (0, 2))
    shape, indices, updates = (call.shape(index) for index in range(3))
    if indices is not None:
        _require_updates(call, 2, updates, indices)
    if shape is not None:
        axis = call.axis(call.attributes["axis"], len(shape), "axis")
        if indices is not None and (len(indices) != len(shape) or _reaches_beyond(indices, shape, axis)):
            raise call.mismatch(0, 1, f"do not fit: the indices lie within all dims but axis {axis}")
    return [call.like(0, shape)]


@rule("Scatter")
def scatter_slots(call: Call) -> Sequence[Output]:
    """One offset, or a batch and an offset, for each batch of updates, which fits into ``var`` otherwise."""
    require_equal_dtypes(call, (0, 2))
    shape, indices, updates = (call.shape(index) for index in range(3))
    if shape is None:
        return [call.like(0, None)]
    axis = call.axis(call.attributes["axis"], len(shape), "axis")
    if updates is not None and (len(updates) != len(shape) or _reaches_beyond(updates[1:], shape[1:], -1)):
        raise call.mismatch(0, 2, f"do not fit: the updates go into var along axis {axis}")
    if indices is not None and updates is not None:
        is_pairs = len(indices) == 2 and indices[1].meets(Dim(2, 2))
        if not (len(indices) == 1 or is_pairs) or not indices[0].meets(updates[0]):
            raise call.mismatch(1, 2, "do not fit: one offset, or two numbers, for each batch of updates")
    return [call.like(0, shape)]


@rule("InplaceUpdate", "InplaceAdd", "InplaceSub")
def rows(call: Call) -> Sequence[Output]:
    """One row of ``v`` for each index."""
    require_equal_dtypes(call, (0, 2))
    indices = require_rank(call, 1, 1)
    return [_rows(call, 2, None if indices is None else indices[0])]


@rule("InplaceUpdateD", "InplaceAddD", "InplaceSubD")
def rows_attribute(call: Call) -> Sequence[Output]:
    """As InplaceUpdate, with an attribute."""
    require_equal_dtypes(call, (0, 1))
    return [_rows(call, 1, fixed(len(call.attributes["indices"]))[0])]


@rule("IndexAdd", "InplaceIndexAdd")
def index_add(call: Call) -> Sequence[Output]:
    """Updates as ``var``, but as many along ``axis`` as there are indices."""
    require_ones(call, "alpha")
    require_equal_dtypes(call, (0, 2))
    shape, indices, updates = (call.shape(index) for index in range(3))
    if indices is not None and len(indices) != 1:
        raise call.error(f"{call.titled(1)} must have one dim")
    if shape is not None:
        axis = call.axis(call.attributes["axis"], len(shape), "axis")
        if indices is not None:
            _require_updates(call, 2, updates, (*shape[:axis], indices[0], *shape[axis + 1 :]))
    return [call.like(0, shape)]


@rule("ArgMaxGrad", "ArgMaxGradD")
def arg_max_grad(call: Call) -> Sequence[Output]:
    """Indices and updates lack ``dimension``."""
    require_equal_dtypes(call, (0, 2))
    shape = call.shape(0)
    if shape is not None:
        axis = call.axis(call.attributes["dimension"], len(shape), "dimension")
        for index in (1, 2):
            _require_updates(call, index, call.shape(index), (*shape[:axis], *shape[axis + 1 :]))
    return [call.like(0, shape)]


@rule("IndexFillD")
def index_fill(call: Call) -> Sequence[Output]:
    """As ``x``; both helpers have its shape."""
    require_equal_dtypes(call, range(3))
    shape = call.shape(0)
    if shape is not None:
        for index in (1, 2):
            _require_updates(call, index, call.shape(index), shape)
    return [call.like(0, shape)]


@rule("IndexPutV2")
def index_put(call: Call) -> Sequence[Output]:
    """As ``x``; the value broadcasts to what the indices pick."""
    require_equal_dtypes(call, (0, 1))
    picked = indexed(call, call.integers(2), 4).shape
    if not spreads(call.shape(1), picked):
        raise call.error(f"{call.titled(1)} does not fit what is indexed, {shown(picked)}")
    return [call.like(0, call.shape(0))]


def _rows(call: Call, updates: int, count: Dim | None) -> Output:
    shape = call.shape(0)
    if shape is not None and not shape:
        raise call.error(f"{call.titled(0)} needs one dim at least")
    if shape is not None:
        _require_updates(call, updates, call.shape(updates), (count or FREE, *shape[1:]))
    return call.like(0, shape)


def _require_tuples(call: Call, indices: int, updates: int, shape: Shape) -> None:
    """Check that index tuples address the leading dims of a shape, and that the updates hold the others."""
    places = call.shape(indices)
    if places is None:
        return
    if not places:
        raise call.error(f"{call.titled(indices)} needs one dim at least")
    if shape is None or not places[-1].is_fixed:
        return
    depth = places[-1].least
    if depth > len(shape):
        raise call.error(f"{call.titled(indices)} addresses {depth} dims; there are {len(shape)}")
    _require_updates(call, updates, call.shape(updates), (*places[:-1], *shape[depth:]))


def _require_updates(call: Call, index: int, updates: Shape, wanted: tuple[Dim, ...]) -> None:
    if updates is None:
        return
    if len(updates) != len(wanted) or any(not a.meets(b) for a, b in zip(updates, wanted, strict=True)):
        raise call.error(f"{call.titled(index)} must have shape {wanted}")


def _reaches_beyond(inner: tuple[Dim, ...], outer: tuple[Dim, ...], axis: int) -> bool:
    return any(a.least > b.most for place, (a, b) in enumerate(zip(inner, outer, strict=True)) if place != axis)
