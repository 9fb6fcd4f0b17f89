"""What a program says of an operator's inputs beside their descriptions: to which they belong, what values they may have."""

from __future__ import annotations

from operator import index
from typing import TYPE_CHECKING

import numpy as np

import aacl
from aacl.errors import InvalidArgument, OperatorNotFound
from acl._arguments import check_text
from acl._state import at_finalize
from acl._status import code_alone
from acl._tensor_descs import at_destroy, tensor_descs

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = (
    "check_dynamic_inputs",
    "dynamic_inputs",
    "set_tensor_dynamic_input",
    "set_tensor_value_range",
    "value_ranges",
)

dynamic_inputs: dict[int, str] = {}
"""By a description's handle: the name of the dynamic input that it is one of."""
value_ranges: dict[int, tuple[tuple[int, int], ...]] = {}
"""By a description's handle: (min, max) of each element, max -1 without limit."""


@code_alone
def set_tensor_dynamic_input(tensor_desc: int, dynamic_input_name: str, /) -> int:
    """Say that a tensor is one of those of a dynamic input.

    Whoever runs an operator with it, or infers its shapes, is refused if the tensor's place is not in that input.

    Args:
        tensor_desc: the description.
        dynamic_input_name: as the operator's definition names it, such as ``"x"``.

    Returns:
        0; 100000 for an empty name, or if it is no description.

    Source: aclSetTensorDynamicInput.
    """
    check_text(dynamic_input_name, 2)
    tensor_descs.get(tensor_desc)
    if not dynamic_input_name:
        raise InvalidArgument("the name of a dynamic input is empty")
    dynamic_inputs[index(tensor_desc)] = dynamic_input_name
    return 0


@code_alone
def set_tensor_value_range(tensor_desc: int, value_range: Sequence[Sequence[int]], /) -> int:
    """Bound the values of a tensor from which shapes may follow.

    ``infer_shape`` takes the bounds of an input without contents, such as the target of a reshape that is not known
    yet, and tells the range of each dim that follows.

    Args:
        tensor_desc: the description.
        value_range: a [min, max] of whole numbers for every element, in their order, max -1 without limit.

    Returns:
        0; 100000 for a list of another length than there are elements, a max below its min, or no description.

    Source: aclSetTensorValueRange.
    """
    if not isinstance(value_range, (list, tuple, np.ndarray)):
        raise TypeError(f"argument 2 must be list, not {type(value_range).__name__}")
    desc, pairs = tensor_descs.get(tensor_desc), tuple([tuple(map(index, pair)) for pair in value_range])
    found = tuple([(pair[0], pair[1]) for pair in pairs if len(pair) == 2])
    if len(found) != len(pairs) or (desc.is_static and len(found) != desc.element_count):
        raise InvalidArgument(f"the values of {desc!r} are bounded by a [min, max] each; {value_range!r} was given")
    if any(most != -1 and most < least for least, most in found):
        raise InvalidArgument(f"{value_range!r} has a range that ends before it begins; -1 is an end without limit")
    value_ranges[index(tensor_desc)] = found
    return 0


def check_dynamic_inputs(op_type: str, handles: Sequence[int]) -> None:
    """Raise `InvalidArgument` for an input that is said to belong to another one than that at its place."""
    named = {place: dynamic_inputs[handle] for place, handle in enumerate(handles) if handle in dynamic_inputs}
    if not named or not isinstance(op_type, str):
        return
    try:
        parameters = aacl.ops.schema_of(op_type).assign(len(handles))
    except OperatorNotFound:
        return  # one of the program's own has no named inputs
    for place, name in named.items():
        if not parameters[place].is_dynamic or parameters[place].name != name:
            raise InvalidArgument(
                f"operator {op_type}: input {place} is said to be one of dynamic input {name!r}; at that place lies "
                f"{parameters[place].name!r}"
            )


def _drop(handle: int) -> None:
    dynamic_inputs.pop(handle, None)
    value_ranges.pop(handle, None)


def _clear() -> None:
    dynamic_inputs.clear()
    value_ranges.clear()


at_destroy(_drop)
at_finalize(_clear)
