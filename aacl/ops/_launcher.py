"""Runs of a program's own kernels: the blocks of a launch, spread over the device's cores."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from time import perf_counter_ns
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from aacl._note import add_note
from aacl.errors import KernelError, KernelOverflow
from aacl.memory._rules import AllocationRule
from aacl.ops._guard import Fenced
from aacl.ops._launch import Block
from aacl.ops._shared_object import SharedKernel
from aacl.streams._budget import UNKNOWN, Cost
from aacl.streams._waiting import here
from aacl.streams._work import OwnError

if TYPE_CHECKING:
    from aacl.abc import Array
    from aacl.memory._space import DeviceMemory, Lease
    from aacl.ops._launch import Launch

__all__ = ("Launcher", "PythonKernel")

PythonKernel: TypeAlias = "Callable[[Block, Sequence[Any], Sequence[Any], Sequence[Any], bytes], object]"
"""Called with a block, the arrays of the inputs (None where absent), of the outputs and of the workspaces, and the
tiling bytes."""

_WORKSPACE = AllocationRule("workspace", 64, 32, 32)
_BYTE = np.dtype(np.uint8)
_TILING_ALIGNMENT = 64
_SHORT_RUN, _LONG_RUN = 500_000, 2_000_000  # nanoseconds of all blocks together

Arrays: TypeAlias = "tuple[Any, ...]"
RunBlocks: TypeAlias = "Callable[[int, int], object]"
"""Called with the first block and the one behind the last."""


class LaunchCost(Cost):
    """What a launch costs: the time of all its blocks together, since on a submitter's thread they run one by one.

    Attributes:
        busy: nanoseconds that the blocks of the latest run took together.
    """

    __slots__ = ("busy",)

    def __init__(self) -> None:
        super().__init__(UNKNOWN)
        self.busy = 0

    def learn(self, elapsed: int) -> None:
        super().learn(max(elapsed, self.busy))


class Launcher:
    """The body of a plan: one call is one run of a launch.

    Attributes:
        cost: of a run.
    """

    __slots__ = ("_count", "_is_checked", "_kernel", "_label", "_launch", "_memory", "_reads", "_tiling", "cost")

    def __init__(
        self,
        label: str,
        launch: Launch,
        kernel: SharedKernel | PythonKernel,
        memory: DeviceMemory,
        reads: int,
        is_checked: bool,
    ) -> None:
        """Prepare a launch.

        Args:
            label: what errors call the operator.
            launch: what the selector chose.
            kernel: the kernel that it names.
            memory: the device's.
            reads: how many of the arrays are inputs.
            is_checked: whether to look for what the kernel writes outside its outputs and workspaces.
        """
        self._label, self._launch, self._kernel, self._memory = label, launch, kernel, memory
        self._reads, self._is_checked, self._count = reads, is_checked, launch.blocks
        self._tiling = _aligned(launch.tiling) if isinstance(kernel, SharedKernel) else None
        self.cost = LaunchCost()

    def __call__(self, *arrays: Any) -> None:
        """Run all blocks.

        Raises:
            KernelError: a block of a shared object's kernel failed; the text has its index and status.
            OwnError: a block of a Python kernel raised.
            OutOfMemory: the device has no room for the workspaces.
            KernelOverflow: the launch is checked, and wrote outside its outputs and workspaces.
        """
        inputs, outputs = arrays[: self._reads], arrays[self._reads :]
        if self._is_checked:
            self._run_checked(inputs, outputs)
            return
        leases = [self._memory.bin(nbytes or 1, _WORKSPACE).lease() for nbytes in self._launch.workspaces]
        self._run(inputs, outputs, self._views(leases))

    def _views(self, leases: Sequence[Lease]) -> Arrays:
        """Return the workspaces as arrays of bytes."""
        view = self._memory.backend.view
        pairs = zip(leases, self._launch.workspaces, strict=True)
        return tuple([view(lease.address, (nbytes,), _BYTE) for lease, nbytes in pairs])

    def _run(self, inputs: Arrays, outputs: Arrays, workspaces: Arrays) -> None:
        run, count = self._bound(inputs, outputs, workspaces), self._groups()
        times = [0] * count

        def run_timed(group: int) -> None:
            began, was_kernel = perf_counter_ns(), here.is_kernel
            here.is_kernel = True  # a kernel that waits for a stream's work might wait for itself
            try:
                run(self._count * group // count, self._count * (group + 1) // count)
            finally:
                here.is_kernel = was_kernel
            times[group] = perf_counter_ns() - began

        if count == 1:
            run_timed(0)
        else:
            self._memory.backend.parallel(run_timed, count)
        self.cost.busy = sum(times)

    def _groups(self) -> int:
        """Return into how many groups of blocks, which threads take, a run is split.

        To begin a group takes some 10 µs, since its end waits for the interpreter's lock, and to wake a thread
        0.1 ms. So short runs stay on one thread; but where each block can have a core it has a thread, since
        blocks may wait for each other there.
        """
        count, cost = self._count, self.cost
        cores = self._memory.backend.properties.cores
        if count <= cores or cost.estimate > _LONG_RUN:
            return count
        return 1 if cost.busy and cost.estimate <= _SHORT_RUN else cores

    def _bound(self, inputs: Arrays, outputs: Arrays, workspaces: Arrays) -> RunBlocks:
        """Return a call that runs some blocks on these arrays."""
        kernel = self._kernel
        if isinstance(kernel, SharedKernel):
            return self._bound_shared(kernel, inputs, outputs, workspaces)
        count, tiling = self._count, self._launch.tiling
        reads, writes = tuple(map(_read_only, inputs)), tuple([each.view() for each in outputs])

        def run(first: int, end: int) -> None:
            for index in range(first, end):
                try:
                    kernel(Block(index, count), reads, writes, workspaces, tiling)
                except BaseException as error:
                    add_note(error, f"in {self._where(index)}")
                    if isinstance(error, Exception):
                        raise OwnError(error) from None
                    raise

        return run

    def _bound_shared(self, kernel: SharedKernel, inputs: Arrays, outputs: Arrays, workspaces: Arrays) -> RunBlocks:
        function, count, tiling = kernel.function, self._count, _address(self._tiling)
        reads, writes, spaces = _addresses(inputs), _addresses(outputs), _addresses(workspaces)

        def run(first: int, end: int) -> None:
            failed = ctypes.c_long()
            status = function(reads, writes, spaces, tiling, first, end, count, ctypes.addressof(failed))
            if status:
                raise KernelError(f"{self._where(failed.value)} failed with status {status}")

        return run

    def _where(self, index: int) -> str:
        return f"block {index} of {self._count} of kernel {self._launch.kernel!r}, operator {self._label}"

    def _run_checked(self, inputs: Arrays, outputs: Arrays) -> None:
        memory = self._memory
        reads = [
            None if array is None else Fenced.copy_of(memory, array, f"input {place}")
            for place, array in enumerate(inputs)
        ]
        writes = [Fenced.copy_of(memory, array, f"output {place}") for place, array in enumerate(outputs)]
        spaces = [
            Fenced(memory, (nbytes,), _BYTE, f"workspace {place}")
            for place, nbytes in enumerate(self._launch.workspaces)
        ]
        self._run(*[tuple([each and each.array for each in group]) for group in (reads, writes, spaces)])
        self._check(inputs, reads, [*writes, *spaces])
        for array, fenced in zip(outputs, writes, strict=True):
            np.copyto(array, fenced.array)

    def _check(self, inputs: Arrays, reads: Sequence[Fenced | None], writes: Sequence[Fenced]) -> None:
        """Raise `KernelOverflow` for what was written where it may not be."""
        pairs = [(read, array) for read, array in zip(reads, inputs, strict=True) if read is not None]
        outside = [each.breach() for each in (*[read for read, _ in pairs], *writes)]
        inside = [read.change(array) for read, array in pairs]
        found = [text for text in (*outside, *inside) if text]
        if found:
            raise KernelOverflow(
                f"kernel {self._launch.kernel!r} of operator {self._label} wrote where it may not: {'; '.join(found)}"
            )


def _read_only(array: Any) -> Any:
    if array is None:
        return None
    view = array.view()
    view.flags.writeable = False
    return view


def _aligned(tiling: bytes) -> Array:
    """Return the bytes of a tiling where a structure of any kind may lie."""
    room = np.empty(len(tiling) + _TILING_ALIGNMENT, np.uint8)
    placed = room[-_address(room) % _TILING_ALIGNMENT :]  # never empty: NumPy does not tell where nothing lies
    placed[: len(tiling)] = np.frombuffer(tiling, np.uint8)
    return placed


def _address(array: Any) -> int:
    return array.__array_interface__["data"][0]  # type: ignore[no-any-return] # 0.3 µs; `ctypes.data` takes three times that


def _addresses(arrays: Arrays) -> Any:
    """Return a C array of pointers, NULL for None; it has one element more than needed, as C has none without."""
    pointers = [None if array is None else _address(array) for array in arrays]
    return (ctypes.c_void_p * (len(arrays) + 1))(*pointers)
