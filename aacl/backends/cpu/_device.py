"""One software device: an address range, threads, kernels and models."""

from __future__ import annotations

import contextlib
import ctypes
import mmap
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from aacl.abc import (
    Array,
    DeviceBackend,
    DeviceProperties,
    Kernel,
    KernelRequest,
    ModelEngine,
    NodeValue,
    ObservedModel,
    Pages,
)
from aacl.backends.cpu._settings import core_count, memory_bytes, soc_name
from aacl.backends.cpu._workers import Workers
from aacl.errors import OutOfMemory

if TYPE_CHECKING:
    from typing import TypeAlias

__all__ = ("CpuDevice",)

_NORESERVE = getattr(mmap, "MAP_NORESERVE", 0x4000)  # the module names it from Python 3.13 on
_SMALL = 16 << 20
"""Bytes at the beginning that come in small pages: memory is given out from there on, and little should stay little."""
_ndarray = np.ndarray
Shape: TypeAlias = "tuple[int, ...]"


class CpuDevice(DeviceBackend):
    """Memory is one private mapping, committed page by page on first touch; beyond the first megabytes pages are large.

    It is never unmapped by hand: every array on it holds the mapping, so a
    stale view reads old bytes and cannot crash the process.
    """

    def __init__(self, index: int) -> None:
        nbytes = memory_bytes()
        self._memory = _reserve(nbytes)
        self.base = ctypes.addressof(ctypes.c_char.from_buffer(self._memory))
        self.properties = DeviceProperties(f"software device {index}", soc_name(), core_count(), nbytes)
        self._workers = Workers(index, self.properties.cores)
        self._pages: Any = None  # the module, from the first reservation on
        self._reserved: dict[int, Any] = {}  # arrays of bytes on whole ranges of addresses, by the first one

    def view(self, address: int, shape: Shape, dtype: np.dtype[Any]) -> Array:
        """Return an array on the mapping, or on reserved addresses."""
        try:
            return _ndarray(shape, dtype, self._memory, address - self.base)
        except (TypeError, ValueError):
            for first, memory in [*self._reserved.items()]:
                if first <= address < first + len(memory):
                    return _ndarray(shape, dtype, memory, address - first)
            raise

    def allocate_pages(self, nbytes: int) -> Pages:
        """Return a new file in memory."""
        from aacl.backends.cpu._pages import MemoryFile

        return MemoryFile.of(nbytes)

    def import_pages(self, handle: int) -> Pages:
        """Return the file in memory of another process."""
        from aacl.backends.cpu._pages import MemoryFile

        return MemoryFile.imported(handle)

    def reserve(self, nbytes: int, alignment: int, wanted: int) -> int:
        """Reserve addresses of this process."""
        from aacl.backends.cpu import _pages

        self._pages = _pages  # nothing is imported any more when finalizers unmap at the end of the process
        address = _pages.reserve(nbytes, alignment, wanted)
        self._reserved[address] = (ctypes.c_char * nbytes).from_address(address)
        return address

    def hide(self, address: int, nbytes: int) -> None:
        """Unmap what is at reserved addresses."""
        self._pages.hide(address, nbytes)

    def release(self, address: int, nbytes: int) -> None:
        """Unmap reserved addresses."""
        self._reserved.pop(address, None)
        self._pages.release(address, nbytes)

    def copy(self, target: int, source: int, nbytes: int) -> None:
        """Copy as memmove does; ctypes lets go of the GIL."""
        ctypes.memmove(target, source, nbytes)

    def fill(self, address: int, value: int, nbytes: int) -> None:
        """Set bytes as memset does."""
        ctypes.memset(address, value, nbytes)

    def kernel(self, request: KernelRequest) -> Kernel:
        """Choose a NumPy kernel."""
        from aacl.backends.cpu.kernels import find

        return find(request)

    def load_model(self, graph: bytes | memoryview) -> ModelEngine:
        """Load a graph into ONNX Runtime."""
        from aacl.backends.cpu.models import load_model

        return load_model(graph)

    def observe_model(
        self,
        graph: bytes | memoryview,
        *,
        times: bool,
        wants: Callable[[str, str], bool] | None = None,
        tell: Callable[[Sequence[NodeValue]], object] | None = None,
    ) -> ObservedModel:
        """Load a graph into ONNX Runtime sessions that are looked into."""
        from aacl.backends.cpu.observed_models import observe_model

        return observe_model(graph, times=times, wants=wants, tell=tell)

    def start(self, task: Callable[[], None]) -> None:
        """Run a task on one of the device's threads."""
        self._workers.start(task)

    def parallel(self, run: Callable[[int], object], count: int) -> None:
        """Spread calls over the threads that have nothing to do."""
        self._workers.parallel(run, count)

    def close(self) -> None:
        """End the threads; the mapping goes with the last array on it."""
        self._workers.close()


def _reserve(nbytes: int) -> mmap.mmap:
    try:
        memory = mmap.mmap(-1, nbytes, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | _NORESERVE)
        with contextlib.suppress(OSError):  # a kernel without large pages refuses
            if nbytes > _SMALL:
                memory.madvise(mmap.MADV_HUGEPAGE, _SMALL)
        return memory
    except (OSError, ValueError, OverflowError) as error:
        raise OutOfMemory(
            f"cannot reserve {nbytes} bytes of addresses for a device: {error}; set AACL_DEVICE_MEMORY lower"
        ) from error
