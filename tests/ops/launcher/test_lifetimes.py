"""What a launch keeps, and until when: workspaces, and the library of its kernel."""

from __future__ import annotations

import gc
import struct
import threading
from pathlib import Path
from typing import Any

import numpy as np

import aacl
from aacl import Block, SharedKernel, Stream, ops
from tests.helpers.own_operators import Own


async def test_workspaces_are_shared_by_blocks_and_given_back(stream: Stream) -> None:
    """One set a launch, of device memory, in use only while it runs."""
    used: list[int] = []
    spaces: list[Any] = []
    device = aacl.current_device()

    def fill(block: Block, _inputs: Any, outputs: Any, workspaces: Any, _tiling: Any) -> None:
        spaces.append(workspaces[0].ctypes.data)
        used.append(device.memory().used)
        workspaces[0][block.index] = block.index + 1

    with Own(fill, blocks=4, workspaces=[1 << 20]) as own:
        operation = own(out=await stream.to_device(np.zeros(4)))
        await stream.execute(ops.Relu(await stream.to_device(np.zeros(4))))
        before = device.memory().used
        await stream.execute(operation)
        await stream.synchronize()
        gc.collect()
        assert min(used) >= before + (1 << 20)
        assert len(set(spaces)) == 1
        assert device.memory().used <= before + 4096


async def test_a_library_lives_as_long_as_a_queued_run(stream: Stream, library: Path) -> None:
    """Nobody but a queued command knows the kernel any more, and it runs."""
    gate = threading.Event()
    with Own(SharedKernel(library, "axpy"), tiling=struct.pack("<qd", 4, 2.0)) as own:
        held = stream.call(gate.wait, 10)
        run = stream.execute(own(await stream.to_device(np.ones(4)), None))
    del own
    gc.collect()
    gate.set()
    await held
    assert (await stream.to_host(await run)).tolist() == [2] * 4
