"""Arrays of tensor descriptions, which calls of the C interface return by the first one."""

from __future__ import annotations

from operator import index as whole
from typing import TYPE_CHECKING

from aacl.errors import InvalidArgument
from acl._state import at_finalize
from acl._status import plain
from acl._tensor_descs import at_destroy, forget, tensor_descs

if TYPE_CHECKING:
    from collections.abc import Sequence

    import aacl

__all__ = ("add_array", "get_tensor_desc_address", "get_tensor_desc_by_index")

_arrays: dict[int, tuple[int, ...]] = {}
"""The handles of each array, by the first one; the others end with that."""
_addresses: dict[int, int] = {}
"""Where the tensors lie, by handle."""


def add_array(descs: Sequence[tuple[aacl.TensorDesc, int]]) -> int:
    """Return the handle of the first of several descriptions, each with its tensor's address; 0 for none of them.

    Destroying the first one destroys the array.
    """
    if not descs:
        return 0
    handles = tuple([tensor_descs.add(desc) for desc, _ in descs])
    _arrays[handles[0]] = handles
    _addresses.update(zip(handles, [address for _, address in descs], strict=True))
    return handles[0]


@plain(0)
def get_tensor_desc_by_index(tensor_desc: int, index: int, /) -> int:
    """Return a description by its position in an array of them.

    Args:
        tensor_desc: the first one, which ``create_and_get_op_desc`` returns.
        index: the position; 0 is the first one itself.

    Returns:
        The description's handle; 0 if there is no such array or position.

    Source: aclGetTensorDescByIndex.
    """
    tensor_descs.get(tensor_desc)
    handles, place = _arrays.get(tensor_desc, (tensor_desc,)), whole(index)
    if not 0 <= place < len(handles):
        raise InvalidArgument(f"there is no description {place}; the array has {len(handles)}")
    return handles[place]


@plain(0)
def get_tensor_desc_address(tensor_desc: int, /) -> int:
    """Return where a described tensor lies.

    Args:
        tensor_desc: one of ``acl.mdl.create_and_get_op_desc``.

    Returns:
        The address; 0 where the runtime did not say so, or if it is no description.

    Source: aclGetTensorDescAddress.
    """
    tensor_descs.get(tensor_desc)
    return _addresses.get(tensor_desc, 0)


def _drop(handle: int) -> None:
    """Forget a description that was destroyed, and the array that it was the first one of."""
    _addresses.pop(handle, None)
    for other in _arrays.pop(handle, ()):
        forget(other)


def _clear() -> None:
    _arrays.clear()
    _addresses.clear()


at_destroy(_drop)
at_finalize(_clear)
