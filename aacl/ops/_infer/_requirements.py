"""What a rule requires of one input."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aacl.ops._infer._dims import FREE, Dim, product

if TYPE_CHECKING:
    from aacl.ops._infer._dims import Shape
    from aacl.ops._infer._rules import Call

__all__ = ("require_count", "require_elements", "require_matrices", "require_one", "require_ones", "require_rank")

_OUTPUTS_MOST = 1 << 16


def require_one(call: Call, index: int) -> None:
    """Refuse an input that does not hold exactly one element, of whatever rank.

    Raises:
        InvalidArgument: it holds another number.
    """
    shape = call.shape(index)
    if shape is not None and not all(dim.meets(Dim(1, 1)) for dim in shape):
        raise call.error(f"{call.titled(index)} must hold one element")


def require_ones(call: Call, *names: str) -> None:
    """Refuse those of the named inputs that are there and do not hold exactly one element; see `require_one`.

    Names that the operator does not have are passed over, so that the versions of an operator share a rule.
    """
    for index, name in enumerate(call.names):
        if name in names and call.has(index):
            require_one(call, index)


def require_elements(call: Call, name: str, least: int, most: float) -> None:
    """Refuse a named input, if the operator has it, that holds fewer or more elements.

    Raises:
        InvalidArgument: it does.
    """
    for index, other in enumerate(call.names):
        shape = call.shape(index) if other == name and call.has(index) else None
        if shape is not None and not product(shape).meets(Dim(least, most)):
            count = f"{least}" if least == most else f"{least} or more" if most == FREE.most else f"{least} to {most}"
            raise call.error(f"{call.titled(index)} must hold {count} element{'' if most == 1 else 's'}")


def require_rank(call: Call, index: int, rank: int, names: str = "") -> Shape:
    """Return the dims of an input of a fixed rank; None where its rank is unknown.

    Args:
        call: the request.
        index: of the input.
        rank: how many dims it has.
        names: what the dims are, for the text.

    Raises:
        InvalidArgument: it has another rank.
    """
    shape = call.shape(index)
    if shape is not None and len(shape) != rank:
        count = "one dim" if rank == 1 else f"{rank} dims"
        raise call.error(f"{call.titled(index)} must have {count}{f', {names}' if names else ''}")
    return shape


def require_matrices(call: Call, index: int) -> Shape:
    """Return the dims of an input that holds matrices in its last two; None where its rank is unknown.

    Raises:
        InvalidArgument: it has fewer than two dims.
    """
    shape = call.shape(index)
    if shape is not None and len(shape) < 2:
        raise call.error(f"{call.titled(index)} needs 2 dims at least")
    return shape


def require_count(call: Call, name: str) -> int:
    """Return how many outputs an attribute asks for.

    Raises:
        InvalidArgument: none, or more than anybody could list.
    """
    count: int = call.attributes[name]
    if not 1 <= count <= _OUTPUTS_MOST:
        raise call.error(f"{name} is {count}; there are 1 to {_OUTPUTS_MOST} outputs")
    return count
