"""Runs of a program's own kernels: the blocks of a launch, spread over the device's cores."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from aacl._note import add_note
from aacl.errors import KernelError, KernelOverflow
from aacl.memory._rules import AllocationRule
from aacl.ops._guard import Fenced
from aacl.ops._launch import Block
from aacl.ops._shared_object import SharedKernel
from aacl.ops._spread import LaunchCost, address_of, aligned, run_blocks
from aacl.streams._work import OwnError

if TYPE_CHECKING:
    from aacl.memory._space import DeviceMemory, Lease
    from aacl.ops._launch import Launch
    from aacl.ops._spread import RunBlocks

__all__ = ("Launcher", "PythonKernel")

PythonKernel: TypeAlias = "Callable[[Block, Sequence[Any], Sequence[Any], Sequence[Any], bytes], object]"
"""Called with a block, the arrays of the inputs (None where absent), of the outputs and of the workspaces, and the
tiling bytes."""

_WORKSPACE = AllocationRule("workspace", 64, 32, 32)
_BYTE = np.dtype(np.uint8)

Arrays: TypeAlias = "tuple[Any, ...]"


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
        self._tiling = aligned(launch.tiling) if isinstance(kernel, SharedKernel) else None
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
        run_blocks(self._memory.backend, self._bound(inputs, outputs, workspaces), self._count, self.cost)

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
        function, count, tiling = kernel.function, self._count, address_of(self._tiling)
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


def _addresses(arrays: Arrays) -> Any:
    """Return a C array of pointers, NULL for None; it has one element more than needed, as C has none without."""
    pointers = [None if array is None else address_of(array) for array in arrays]
    return (ctypes.c_void_p * (len(arrays) + 1))(*pointers)
