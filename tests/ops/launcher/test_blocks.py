"""Blocks of a launch: each runs once, beside the others, on its share."""

from __future__ import annotations

import struct
import threading
from pathlib import Path
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from aacl import Block, SharedKernel, Stream, blocking
from tests.helpers.own_operators import Own


async def test_every_block_runs_once(stream: Stream) -> None:
    """Each call has its own index and the same count; all see the same tiling."""
    seen: list[tuple[Block, bytes]] = []

    def note(block: Block, _inputs: Any, _outputs: Any, _workspaces: Any, tiling: bytes) -> None:
        seen.append((block, tiling))

    for blocks in (1, 2, 7):
        seen.clear()
        with Own(note, blocks=blocks, tiling=b"tile") as own:
            await stream.execute(own())
        assert sorted(block.index for block, _ in seen) == [*range(blocks)]
        assert {(block.count, tiling) for block, tiling in seen} == {(blocks, b"tile")}


async def test_python_blocks_run_at_the_same_time(stream: Stream) -> None:
    """Two blocks that wait for each other both get through, off the loop's thread."""
    meeting, threads = threading.Barrier(2), set()

    def meet(*_: Any) -> None:
        meeting.wait(10)
        threads.add(threading.get_ident())

    with Own(meet, blocks=2) as own:
        await stream.execute(own())
    assert len(threads) == 2
    assert threading.get_ident() not in threads


async def test_shared_blocks_run_at_the_same_time(stream: Stream, library: Path) -> None:
    """Kernels of a shared object run without the interpreter's lock."""
    with Own(SharedKernel(library, "meet"), [((2,), np.int64)], blocks=2) as own:
        assert (await stream.to_host(await stream.execute(own()))).tolist() == [2, 2]


@settings(deadline=None, max_examples=25)
@given(
    st.lists(st.integers(0, 7), max_size=3).map(tuple),
    st.integers(1, 9),
    st.floats(-4, 4),
    st.booleans(),
    st.integers(0, 2**32 - 1),
)
def test_python_and_shared_kernels_agree_with_numpy(
    library: Path, shape: tuple[int, ...], blocks: int, k: float, has_second: bool, seed: int
) -> None:
    """Whatever the shape, the number of blocks and the absent input: both faces give the same, to the bit."""
    random = np.random.default_rng(seed)
    x, y = random.standard_normal(shape), random.standard_normal(shape)
    count = x.size
    expected = [k * a + (b if has_second else 0.0) for a, b in zip(x.ravel().tolist(), y.ravel().tolist(), strict=True)]

    def axpy(block: Block, inputs: Any, outputs: Any, _workspaces: Any, tiling: bytes) -> None:
        number, factor = struct.unpack("<qd", tiling)
        share = -(-number // block.count)
        part = slice(block.index * share, (block.index + 1) * share)
        added = 0.0 if inputs[1] is None else inputs[1].reshape(-1)[part]
        np.add(factor * inputs[0].reshape(-1)[part], added, out=outputs[0].reshape(-1)[part])

    for kernel in (axpy, SharedKernel(library, "axpy")):
        with (
            Own(kernel, [(shape, np.float64)], blocks=blocks, tiling=struct.pack("<qd", count, k)) as own,
            blocking.Device(0),
            blocking.Stream() as stream,
        ):
            a, b = stream.to_device(x), stream.to_device(y)
            result = stream.to_host(stream.execute(own(a, b if has_second else None)))
            assert result.shape == shape
            np.testing.assert_allclose(result.ravel().tolist(), expected, rtol=1e-15, atol=1e-15)
