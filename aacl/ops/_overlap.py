"""Where an operation writes, and what it reads there: outputs, and inputs that it updates."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from aacl.errors import InvalidArgument
from aacl.ops._catalogue import schema_of
from aacl.tensors._tensor import Tensor

if TYPE_CHECKING:
    from aacl.ops._operand import Operand
    from aacl.ops._plan import Plan

__all__ = ("run_apart", "updated", "updating")


def updating(op_type: str, plan: Plan, inputs: Sequence[Operand], written: Sequence[int] = ()) -> Callable[..., object]:
    """Return the kernel of a plan that updates inputs, which gets copies of others that lie where it writes.

    Args:
        op_type: the operator, for the texts.
        plan: of the operation.
        inputs: its inputs.
        written: positions of the inputs that are the memory of outputs.

    Raises:
        InvalidArgument: an input that is updated lies where an output does, or another input lies on a part of it.
    """
    for place in plan.updates:
        if place in written:
            raise InvalidArgument(
                f"operator {op_type} would write an output over its input {inputs[place]!r}, which it updates; "
                "use memory that is apart"
            )
    return run_apart(plan, (*written, *_shared(op_type, inputs, plan.updates)))


def run_apart(plan: Plan, shared: Sequence[int]) -> Callable[..., object]:
    """Return the kernel of a plan, which gets copies of inputs that lie where it writes, unless it does without."""
    return plan.body if plan.in_place or not shared else partial(_apart, plan.body, tuple(shared))


def _apart(body: Callable[..., object], shared: tuple[int, ...], *arrays: Any) -> object:
    """Run a kernel with copies of the inputs that lie where it writes: it may write before it has read."""
    apart = list(arrays)
    for place in shared:
        apart[place] = arrays[place].copy()
    return body(*apart)


def updated(op_type: str, inputs: Sequence[Operand], places: Sequence[int]) -> tuple[Tensor, ...]:
    """Return the inputs that an operator updates.

    Raises:
        InvalidArgument: one is a host value.
        InvalidMemoryRange: one lies in host memory that is read-only.
    """
    found = []
    for place in places:
        tensor = inputs[place]
        if not isinstance(tensor, Tensor):
            raise InvalidArgument(
                f"operator {op_type} updates its input {schema_of(op_type).assign(len(inputs))[place].name}; pass a "
                f"tensor, such as stream.to_device(...), instead of the host value {tensor!r}"
            )
        tensor.check_writable()
        found.append(tensor)
    return tuple(found)


def _shared(op_type: str, inputs: Sequence[Operand], updates: Sequence[int]) -> Iterator[int]:
    """Yield the inputs that are only read and are the memory of one that is updated.

    Several that are updated may be the same memory: the kernel's order decides.
    """
    written = frozenset(updates)
    for group in _groups(inputs):
        changed = [place for place in group if place in written]
        if not changed or len(group) == 1:
            continue
        tensors = [each for each in (inputs[place] for place in group) if isinstance(each, Tensor)]
        if len({(each.address, each.nbytes) for each in tensors}) > 1:
            raise InvalidArgument(
                f"operator {op_type} would update {inputs[changed[0]]!r}, and other inputs lie on a part of it: "
                f"{tensors}; use memory that is apart, or the same"
            )
        yield from (place for place in group if place not in written)


def _groups(inputs: Sequence[Operand]) -> list[list[int]]:
    """Return the positions of inputs by the stretches of memory that they make up together.

    If the members of a stretch are not all the same memory, each one overlaps another one in part.
    """
    spans = sorted(
        (each.address, each.nbytes, place)
        for place, each in enumerate(inputs)
        if isinstance(each, Tensor) and each.nbytes
    )
    groups: list[list[int]] = []
    end = 0
    for address, nbytes, place in spans:
        if address < end:
            groups[-1].append(place)
        else:
            groups.append([place])
        end = max(end, address + nbytes)
    return groups
