"""What several inputs have in common."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aacl.errors import UnsupportedDataType
from aacl.ops._infer._dims import Dim, Shape, broadcast

if TYPE_CHECKING:
    from collections.abc import Sequence

    from aacl.ops._infer._rules import Call

__all__ = ("broadcast_inputs", "equal_shapes", "present", "require_equal_dtypes", "require_spread", "spreads")


def broadcast_inputs(call: Call, indexes: Sequence[int] | None = None) -> Shape:
    """Return the shape that inputs broadcast to, by NumPy's rule."""
    first, *others = range(len(call.inputs)) if indexes is None else indexes
    shape = call.shape(first)
    for index in others:
        other = call.shape(index)
        if shape is None or other is None:
            return None
        shape = broadcast(shape, other)
        if shape is None:
            raise call.mismatch(first, index, "do not broadcast")
    return shape


def equal_shapes(call: Call, indexes: Sequence[int]) -> Shape:
    """Return what is known of the shape that inputs share."""
    known: Shape = None
    for index in indexes:
        shape = call.shape(index)
        if known is None or shape is None:
            known = shape if known is None else known
            continue
        dims = [a.meets(b) for a, b in zip(known, shape, strict=False)]
        if len(known) != len(shape) or None in dims:
            raise call.mismatch(indexes[0], index, "must have one shape")
        known = tuple(dim for dim in dims if dim is not None)
    return known


def require_equal_dtypes(call: Call, indexes: Sequence[int]) -> None:
    """Refuse inputs whose dtypes differ.

    Raises:
        UnsupportedDataType: two dtypes differ.
    """
    first = indexes[0]
    for index in indexes[1:]:
        if call.desc(index).dtype != call.desc(first).dtype:
            raise UnsupportedDataType(
                f"operator {call.schema.op_type}: input {call.names[first]} is {call.desc(first).dtype.name} and "
                f"input {call.names[index]} is {call.desc(index).dtype.name}; they must be equal, use Cast"
            )


def present(call: Call) -> tuple[int, ...]:
    """Return the places of the inputs that are there."""
    return tuple(index for index in range(len(call.inputs)) if call.has(index))


def require_spread(call: Call, index: int, onto: int = 0) -> None:
    """Refuse an input that does not broadcast to the shape of another one.

    Raises:
        InvalidArgument: it does not.
    """
    if not spreads(call.shape(index), call.shape(onto)):
        raise call.mismatch(index, onto, "do not fit: the first one must broadcast to the shape of the second one")


def spreads(part: Shape, whole: Shape) -> bool:
    """Whether a shape may broadcast to another one, as far as both are known."""
    if part is None or whole is None:
        return True
    lead, one = len(whole) - len(part), Dim(1, 1)
    return lead >= 0 and all(p.meets(w) or p.meets(one) for p, w in zip(part, whole[lead:], strict=True))
