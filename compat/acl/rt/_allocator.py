"""External allocators: functions of the program that give the runs on a stream their memory."""

from __future__ import annotations

import sys
from operator import index
from typing import TYPE_CHECKING, Any

import aacl
from aacl.errors import InvalidArgument
from acl._arguments import check_callable
from acl._handles import Handles
from acl._status import code_alone, plain, with_code
from acl._streams import drain, refuse_in_callback
from acl._threads import here
from acl.rt._stream import own_stream

if TYPE_CHECKING:
    from collections.abc import Callable

    from acl._streams import Stream

__all__ = (
    "allocator_create_desc",
    "allocator_destroy_desc",
    "allocator_get_by_stream",
    "allocator_register",
    "allocator_set_alloc_advise_func_to_desc",
    "allocator_set_alloc_func_to_desc",
    "allocator_set_free_func_to_desc",
    "allocator_set_get_addr_from_block_func_to_desc",
    "allocator_set_obj_to_desc",
    "allocator_unregister",
)

_NEEDED = {"object": "allocator_set_obj_to_desc", "alloc": "allocator_set_alloc_func_to_desc",
           "free": "allocator_set_free_func_to_desc",
           "address_of": "allocator_set_get_addr_from_block_func_to_desc"}  # fmt: skip


class _Description(dict[str, Any]):
    """What a program has said of an allocator: its object, and its functions."""


class _Registered(aacl.Allocator[Any]):
    """An allocator of a program, for one stream; what the description said when it was registered.

    Attributes:
        handle: of the description, which may be destroyed.
        parts: what it said.
    """

    def __init__(self, stream: Stream, handle: int, described: _Description) -> None:
        self._stream, self.handle, self.parts = stream, handle, dict(described)

    def allocate(self, nbytes: int) -> object:
        return self._call("alloc", self.parts["object"], nbytes)

    def allocate_near(self, nbytes: int, address: int) -> object:
        if "advise" not in self.parts:
            return self.allocate(nbytes)
        return self._call("advise", self.parts["object"], nbytes, address)

    def free(self, block: object) -> None:
        self._call("free", self.parts["object"], block)

    def address_of(self, block: object) -> int:
        address: int = self._call("address_of", block)
        return address

    def _call(self, part: str, *arguments: object) -> Any:
        """Call a function of the program's as a callback of the stream, which waits for it, in the stream's context."""
        context, callbacks = here.context, here.callbacks
        here.context, here.callbacks = self._stream.context, (*callbacks, (self._stream, True))
        try:
            return self.parts[part](*arguments)
        except Exception:
            # The run fails with it too, at the next synchronise; but codes are easily overlooked.
            import traceback

            traceback.print_exc(file=sys.stderr)
            raise
        finally:
            here.context, here.callbacks = context, callbacks


_descriptions: Handles[_Description] = Handles("allocator description")


@plain(0)
def allocator_create_desc() -> int:
    """Make a description of an allocator, to be filled and registered.

    Returns:
        Its handle; 0 if that fails.

    Source: aclrtAllocatorCreateDesc.
    """
    return _descriptions.add(_Description())


@code_alone
def allocator_destroy_desc(allocator_desc: int, /) -> int:
    """End a description; what was registered with it stays.

    Args:
        allocator_desc: of `allocator_create_desc`.

    Returns:
        0; 100000 for 0, 107017 if it is none.

    Source: aclrtAllocatorDestroyDesc.
    """
    _descriptions.take(allocator_desc)
    return 0


@code_alone
def allocator_set_obj_to_desc(allocator_desc: int, allocator: object, /) -> int:
    """Say what the functions are called with.

    Args:
        allocator_desc: a description.
        allocator: any object but None and 0; kept alive as long as the description, and what is registered with it.

    Returns:
        0; 100000 for None and 0, and for a null description; 107017 if it is none.

    Source: aclrtAllocatorSetObjToDesc.
    """
    described = _descriptions.get(allocator_desc)
    if allocator is None or (type(allocator) is int and not allocator):
        raise InvalidArgument(f"an allocator's object is any but None and 0, not {allocator!r}")
    described["object"] = allocator
    return 0


@code_alone
def allocator_set_alloc_func_to_desc(allocator_desc: int, func: Callable[[Any, int], object], /) -> int:
    """Say what allocates.

    Args:
        allocator_desc: a description.
        func: called with the object and a number of bytes; returns a block, which is any object but None and 0, of
            so many bytes or more of the stream's device, at a multiple of 32; None or 0 if there is none.

    Returns:
        0; 100000 for a null description, 107017 if it is none.

    Source: aclrtAllocatorSetAllocFuncToDesc.
    """
    return _set(allocator_desc, "alloc", func)


@code_alone
def allocator_set_free_func_to_desc(allocator_desc: int, func: Callable[[Any, Any], object], /) -> int:
    """Say what takes a block back.

    Args:
        allocator_desc: of `allocator_create_desc`.
        func: ``func(object, block)``.

    Returns:
        0; codes as `allocator_set_alloc_func_to_desc`.

    Source: aclrtAllocatorSetFreeFuncToDesc.
    """
    return _set(allocator_desc, "free", func)


@code_alone
def allocator_set_alloc_advise_func_to_desc(allocator_desc: int, func: Callable[[Any, int, int], object], /) -> int:
    """Say what allocates where an address is advised; it need not be said.

    Args:
        allocator_desc: a description.
        func: called with the object, a number of bytes, and the address of a block of this size that was given back
            last; returns a block, there or elsewhere.

    Returns:
        As `allocator_set_alloc_func_to_desc`.

    Source: aclrtAllocatorSetAllocAdviseFuncToDesc.
    """
    return _set(allocator_desc, "advise", func)


@code_alone
def allocator_set_get_addr_from_block_func_to_desc(allocator_desc: int, func: Callable[[Any], int], /) -> int:
    """Say what tells where a block is.

    Args:
        allocator_desc: of `allocator_create_desc`.
        func: ``func(block)``, which returns the address.

    Returns:
        0; codes as `allocator_set_alloc_func_to_desc`.

    Source: aclrtAllocatorSetGetAddrFromBlockFuncToDesc.
    """
    return _set(allocator_desc, "address_of", func)


def _set(handle: int, part: str, function: object) -> int:
    check_callable(function)
    _descriptions.get(handle)[part] = function
    return 0


@code_alone
def allocator_register(stream: int, allocator_desc: int, /) -> int:
    """Let runs of models with free dims that are submitted to a stream from now on get memory from an allocator.

    Each such run asks for one block, of at least the bytes of the outputs whose size the model does not say, and
    gives it back when it is over. The functions are called on threads of the runtime, in the stream's context, and
    may call the runtime; they must not wait for the stream. A run whose allocator raises, or gives no block, one that
    is too small, not aligned or no memory of the device, fails, and nothing else does: 207001, 107000 or 107008 at
    the next synchronise; 500001 if a block cannot be taken back, or its address not be told.

    Args:
        stream: of ``create_stream``. One registered before is replaced.
        allocator_desc: a description, which may be destroyed or changed at once; it counts as it is now.

    Returns:
        0; 100000 for stream 0, which cannot have one, for a null description, and for one without object, or without
        a function to allocate, free or tell addresses; 107017 if it is none; 107002, 107003 and 107017 as
        ``synchronize_stream``.

    Source: aclrtAllocatorRegister.
    """
    target, handle = own_stream(stream, "has no allocator"), index(allocator_desc)
    described = _descriptions.get(handle)
    missing = [setter for part, setter in _NEEDED.items() if part not in described]
    if missing:
        raise InvalidArgument(f"the allocator is not complete; call acl.rt.{', acl.rt.'.join(missing)}")
    target.stream.use_allocator(_Registered(target, handle, described))
    return 0


@code_alone
def allocator_unregister(stream: int, /) -> int:
    """Let a stream have no allocator any more; wait for its runs, so that all blocks are given back.

    Args:
        stream: the stream.

    Returns:
        0; 100000 if none is registered, and for stream 0; 507004 in a callback of the stream, or of the allocator,
        which it would wait for; other codes as `allocator_register`. What runs failed with is left for a synchronise.

    Source: aclrtAllocatorUnregister.
    """
    target = own_stream(stream, "has no allocator")
    _registered(target)
    refuse_in_callback("wait for the runs of its own stream", lambda other, _: other is target)
    target.stream.use_allocator(None)
    drain(target)
    return 0


@with_code(0, 0, 0, 0, 0, 0)
def allocator_get_by_stream(stream: int, /) -> tuple[int, object, object, object, object, object, int]:
    """Tell what is registered for a stream (``aclrtAllocatorGetByStream``).

    Args:
        stream: the stream.

    Returns:
        (description, object, alloc, free, alloc_advise, get_addr_from_block, 0), with 0 for a function that was not
        set; the description may be destroyed. (0, 0, 0, 0, 0, 0, code): 100000 if nothing is registered, others as
        `allocator_register`.
    """
    found = _registered(own_stream(stream, "has no allocator"))
    parts = [found.parts.get(part, 0) for part in ("object", "alloc", "free", "advise", "address_of")]
    return found.handle, parts[0], parts[1], parts[2], parts[3], parts[4], 0


def _registered(target: Stream) -> _Registered:
    found = target.stream.allocator
    if not isinstance(found, _Registered):
        raise InvalidArgument(f"stream {target.handle} has no allocator; register one with acl.rt.allocator_register")
    return found
