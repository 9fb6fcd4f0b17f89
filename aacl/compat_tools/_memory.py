"""Memory, and what describes it, for the length of a block."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, final

from aacl.compat_tools._calls import check, made, release
from aacl.compat_tools._held import Held, current_context

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = ("acl_data_buffer", "acl_dataset", "acl_host_memory", "acl_memory", "acl_tensor_desc")

_HUGE_FIRST = 0


@final
class acl_memory(Held[int]):  # noqa: N801
    """Allocate device memory for a block: ``with acl_memory(1024) as pointer:`` gives its address.

    Work that uses it should be over when the block is left: leave the stream's block first, or synchronise.

    Args:
        nbytes: how much.
        policy: an ``aclrtMemMallocPolicy``; by default huge pages first.

    Raises:
        AclError: as `acl_device`; `OutOfMemory` when the device has no such span.
    """

    def __init__(self, nbytes: int, policy: int = _HUGE_FIRST) -> None:
        super().__init__()
        self._nbytes, self._policy, self._pointer = nbytes, policy, 0

    def _make(self, acl: Any) -> int:
        self._context = current_context()
        self._pointer = check(acl.rt.malloc(self._nbytes, self._policy), "acl.rt.malloc")
        return self._pointer

    def _steps(self, acl: Any) -> list[Callable[[], object]]:
        return [partial(_free, acl, self._pointer)]


@final
class acl_host_memory(Held[int]):  # noqa: N801
    """Allocate host memory for asynchronous copies: ``with acl_host_memory(1024) as pointer:`` gives its address.

    Args:
        nbytes: how much.

    Raises:
        AclError: as `acl_device`.
    """

    def __init__(self, nbytes: int) -> None:
        super().__init__()
        self._nbytes, self._pointer = nbytes, 0

    def _make(self, acl: Any) -> int:
        self._context = current_context()
        self._pointer = check(acl.rt.malloc_host(self._nbytes), "acl.rt.malloc_host")
        return self._pointer

    def _steps(self, acl: Any) -> list[Callable[[], object]]:
        if not self._pointer:
            return []
        return [lambda: release(acl.rt.free_host(self._pointer), "acl.rt.free_host")]


@final
class acl_data_buffer(Held[int]):  # noqa: N801
    """Wrap memory for a block: ``with acl_data_buffer(pointer, 1024) as buffer:``; the memory stays the program's.

    Args:
        pointer: its address; (0, 0) stands for none.
        nbytes: its length.

    Raises:
        InvalidArgument: the call gave no handle.
        AclError: as `acl_device`.
    """

    def __init__(self, pointer: int, nbytes: int) -> None:
        super().__init__()
        self._pointer, self._nbytes, self._buffer = pointer, nbytes, 0

    def _make(self, acl: Any) -> int:
        self._buffer = made(acl.create_data_buffer(self._pointer, self._nbytes), "acl.create_data_buffer")
        return self._buffer

    def _steps(self, acl: Any) -> list[Callable[[], object]]:
        return [partial(_destroy_buffer, acl, self._buffer)]


@final
class acl_tensor_desc(Held[int]):  # noqa: N801
    """Describe a tensor for a block: ``with acl_tensor_desc(0, [2, 3], 2) as desc:`` gives the handle.

    Args:
        data_type: an ``aclDataType``.
        shape: its dims.
        format: an ``aclFormat``; by default ND.

    Raises:
        InvalidArgument: the call gave no handle.
    """

    def __init__(self, data_type: int, shape: Sequence[int], format: int = 2) -> None:  # noqa: A002
        super().__init__()
        self._type, self._shape, self._format, self._desc = data_type, [*shape], format, 0

    def _make(self, acl: Any) -> int:
        self._desc = made(acl.create_tensor_desc(self._type, self._shape, self._format), "acl.create_tensor_desc")
        return self._desc

    def _steps(self, acl: Any) -> list[Callable[[], object]]:
        return [lambda: self._desc and acl.destroy_tensor_desc(self._desc)]  # gives no code


@final
class acl_dataset(Held[int]):  # noqa: N801
    """Make a dataset for a block: ``with acl_dataset([1024, (pointer, 64), 0]) as dataset:`` gives its handle.

    Leaving the block frees the memory that was allocated for it, destroys the data buffers that are in it, and the
    dataset. What a run allocated for a buffer of size 0 is freed too.

    Args:
        parts: for each buffer a number of bytes, which are allocated on the device, 0 meaning that a run will; or the
            address and length of memory, which stays the program's.

    Raises:
        AclError: as `acl_device`; nothing is left behind then.
    """

    def __init__(self, parts: Sequence[int | tuple[int, int]]) -> None:
        super().__init__()
        self._parts = [*parts]
        self._dataset = 0
        self._buffers: list[tuple[int, bool]] = []  # and whether its memory is ours

    def _make(self, acl: Any) -> int:
        self._context = current_context()
        self._dataset = made(acl.mdl.create_dataset(), "acl.mdl.create_dataset")
        for part in self._parts:
            self._add(acl, part)
        return self._dataset

    def _add(self, acl: Any, part: int | tuple[int, int]) -> None:
        ours = not isinstance(part, tuple)
        pointer, nbytes = (0, part) if not isinstance(part, tuple) else part
        if ours and nbytes:
            pointer = check(acl.rt.malloc(nbytes, _HUGE_FIRST), "acl.rt.malloc")
        buffer = acl.create_data_buffer(pointer, nbytes)
        if not buffer:
            if ours and pointer:
                acl.rt.free(pointer)
            made(buffer, "acl.create_data_buffer")
        self._buffers.append((buffer, ours))
        check(acl.mdl.add_dataset_buffer(self._dataset, buffer), "acl.mdl.add_dataset_buffer")

    def _steps(self, acl: Any) -> list[Callable[[], object]]:
        steps: list[Callable[[], object]] = []
        for buffer, ours in self._buffers:
            steps.append(partial(_free, acl, acl.get_data_buffer_addr(buffer) if ours else 0))
            steps.append(partial(_destroy_buffer, acl, buffer))
        if self._dataset:
            steps.append(lambda: release(acl.mdl.destroy_dataset(self._dataset), "acl.mdl.destroy_dataset"))
        return steps


def _free(acl: Any, pointer: int) -> None:
    if pointer:
        release(acl.rt.free(pointer), "acl.rt.free")


def _destroy_buffer(acl: Any, buffer: int) -> None:
    if buffer:
        release(acl.destroy_data_buffer(buffer), "acl.destroy_data_buffer")
