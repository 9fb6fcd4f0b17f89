"""Launches that fail: what is told, and that the stream goes on."""

from __future__ import annotations

import asyncio
import struct
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import aacl
from aacl import Block, Device, KernelError, OutOfMemory, SharedKernel, Stream, WouldBlock, ops
from tests.helpers import Boom
from tests.helpers.own_operators import Own


async def test_no_room_for_workspaces(monkeypatch: pytest.MonkeyPatch) -> None:
    """The launch fails as any allocation does, its block is not run, and the stream goes on."""
    monkeypatch.setenv("AACL_DEVICE_MEMORY", "8M")

    def never(*_: Any) -> None:
        raise AssertionError("it ran")

    async with Device(0), Stream() as stream:
        x = await stream.to_device(np.ones(4))
        with (
            Own(never, workspaces=[5 << 20, 5 << 20]) as own,
            pytest.raises(OutOfMemory, match="top owners: workspace"),
        ):
            await stream.execute(own(x))
        assert (await stream.to_host(await stream.execute(ops.Add(x, x)))).tolist() == [2] * 4


@pytest.mark.parametrize("blocks", [1, 5])
async def test_a_python_kernel_that_raises(stream: Stream, blocks: int) -> None:
    """Its exception keeps its type, with notes of block, kernel, operator and the submission's line; nothing is lost."""

    def fail(block: Block, *_: Any) -> None:
        if block.index == block.count - 1:
            raise Boom("no")

    x = await stream.to_device(np.ones(4))
    with Own(fail, blocks=blocks) as own:
        completion = stream.execute(own(x))
        with pytest.raises(Boom) as caught:
            await completion
        assert str(caught.value) == "no"
        where, submitted = caught.value.__notes__
        assert where == f"in block {blocks - 1} of {blocks} of kernel 'kernel', operator Own"
        assert f"{__file__}:" in submitted
        assert "completion = stream.execute(own(x))" in submitted
        with pytest.raises(Boom):  # its output has no contents
            await stream.execute(ops.Relu(completion))
    assert (await stream.to_host(await stream.execute(ops.Add(x, x)))).tolist() == [2] * 4


async def test_the_lowest_failing_block_is_told(stream: Stream, library: Path) -> None:
    """Of several failures that of the lowest index, whichever came first."""
    both = threading.Barrier(2)

    def fail(block: Block, *_: Any) -> None:
        both.wait(10)
        raise Boom(f"block {block.index}")

    with Own(fail, blocks=2) as own, pytest.raises(Boom, match="block 0"):
        await stream.execute(own())


@pytest.mark.parametrize(("first", "blocks"), [(0, 1), (2, 3), (1, 2)])
async def test_a_shared_kernel_that_fails(stream: Stream, library: Path, first: int, blocks: int) -> None:
    """The error names block, kernel, operator and status."""
    with Own(SharedKernel(library, "fail_from"), blocks=blocks, tiling=struct.pack("<q", first)) as own:
        text = rf"block {first} of {blocks} of kernel 'kernel', operator Own failed with status {40 + first}"
        with pytest.raises(KernelError, match=text) as caught:
            await stream.execute(own())
        assert caught.value.code == 507018


async def test_a_kernel_whose_exception_takes_no_notes(stream: Stream) -> None:
    """It is the exception that comes, without the notes."""

    @dataclass(frozen=True)
    class Frozen(Exception):
        code: int

    def fail(*_: Any) -> None:
        raise Frozen(3)

    with Own(fail, blocks=2) as own, pytest.raises(Frozen):
        await stream.execute(own())


async def test_a_kernel_waits_for_no_stream(stream: Stream) -> None:
    """It would wait for itself, or for its thread: any such wait is refused, and so is closing what it runs on."""
    x = await stream.to_device(np.ones(4))

    async def synchronize() -> None:
        await stream.synchronize()

    acts: list[Callable[[], object]] = [
        lambda: stream.execute(ops.Add(x, x)).wait(),
        lambda: np.asarray(stream.execute(ops.Add(x, x)).output),
        lambda: asyncio.run(synchronize()),
        lambda: asyncio.run(stream.aclose()),
    ]
    for act in acts:
        with Own(lambda *_, act=act: act()) as own, pytest.raises(WouldBlock, match="a kernel"):
            await stream.execute(own())
    assert (await stream.to_host(await stream.execute(ops.Add(x, x)))).tolist() == [2] * 4


async def test_an_error_of_the_runtime_inside_a_kernel(stream: Stream) -> None:
    """An AclError stays what it is; it has the note too."""

    def refuse(*_: Any) -> None:
        raise aacl.NotSupported("not here")

    with Own(refuse) as own, pytest.raises(aacl.NotSupported, match="not here") as caught:
        await stream.execute(own())
    assert caught.value.__notes__[0] == "in block 0 of 1 of kernel 'kernel', operator Own"


async def test_what_nobody_received_surfaces(stream: Stream) -> None:
    """At the next synchronise, with its cause."""

    def fail(*_: Any) -> None:
        raise Boom("no")

    with Own(fail) as own:
        stream.execute(own())
    with pytest.raises(aacl.StreamError) as caught:
        await stream.synchronize()
    assert isinstance(caught.value.__cause__, Boom)
