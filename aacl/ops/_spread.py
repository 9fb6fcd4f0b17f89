"""The blocks of a launch, spread over the device's cores."""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter_ns
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from aacl.streams._budget import UNKNOWN, Cost
from aacl.streams._waiting import here

if TYPE_CHECKING:
    from aacl.abc import Array, DeviceBackend

__all__ = ("LaunchCost", "RunBlocks", "address_of", "aligned", "run_blocks")

_SHORT_RUN, _LONG_RUN = 500_000, 2_000_000  # nanoseconds of all blocks together
_ALIGNMENT = 64

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


def run_blocks(backend: DeviceBackend, run: RunBlocks, blocks: int, cost: LaunchCost) -> None:
    """Run all blocks of a launch, and take note of their time.

    Raises:
        BaseException: what ``run`` raised for the failed group with the lowest number.
    """
    count = _groups(backend, blocks, cost)
    times = [0] * count

    def run_timed(group: int) -> None:
        began, was_kernel = perf_counter_ns(), here.is_kernel
        here.is_kernel = True  # a kernel that waits for a stream's work might wait for itself
        try:
            run(blocks * group // count, blocks * (group + 1) // count)
        finally:
            here.is_kernel = was_kernel
        times[group] = perf_counter_ns() - began

    if count == 1:
        run_timed(0)
    else:
        backend.parallel(run_timed, count)
    cost.busy = sum(times)


def _groups(backend: DeviceBackend, blocks: int, cost: LaunchCost) -> int:
    """Return into how many groups of blocks, which threads take, a run is split.

    To begin a group takes some 10 µs, since its end waits for the interpreter's lock, and to wake a thread
    0.1 ms. So short runs stay on one thread; but where each block can have a core it has a thread, since
    blocks may wait for each other there.
    """
    cores = backend.properties.cores
    if blocks <= cores or cost.estimate > _LONG_RUN:
        return blocks
    return 1 if cost.busy and cost.estimate <= _SHORT_RUN else cores


def aligned(data: bytes) -> Array:
    """Return bytes where a structure of any kind may lie."""
    room = np.empty(len(data) + _ALIGNMENT, np.uint8)
    placed = room[-address_of(room) % _ALIGNMENT :]  # never empty: NumPy does not tell where nothing lies
    placed[: len(data)] = np.frombuffer(data, np.uint8)
    return placed


def address_of(array: Any) -> int:
    """Return where an array's elements begin."""
    return array.__array_interface__["data"][0]  # type: ignore[no-any-return] # 0.3 µs; `ctypes.data` takes three times that
