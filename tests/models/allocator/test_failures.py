"""Allocators that fail, and runs that fail with an allocator's block."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable

import numpy as np
import pytest
from onnx import TensorProto, helper

import aacl
from aacl.dtypes import DataType
from aacl.errors import InvalidMemoryRange, ModelRunError, OutOfMemory, StreamError
from aacl.models import TensorSpec
from tests.helpers.allocator import Pool, Unwanted, run, twice
from tests.helpers.nets import value

Pack = Callable[..., bytes]
FLOAT = TensorProto.FLOAT


def _exhausted(_nbytes: int) -> object:
    raise KeyError("pool")


def _cancelled(_nbytes: int) -> object:
    raise asyncio.CancelledError


@pytest.mark.parametrize("late", [True, False])
@pytest.mark.parametrize(
    ("fail", "error", "text"),
    [
        (_exhausted, OutOfMemory, "KeyError: 'pool'"),
        (lambda _: sys.exit(3), OutOfMemory, "SystemExit: 3"),
        (_cancelled, OutOfMemory, "CancelledError"),
        (lambda _: None, OutOfMemory, "gave no block"),
        (lambda _: 0, OutOfMemory, "gave no block"),
        (lambda _: aacl.current_device().allocate(1), InvalidMemoryRange, "are needed"),
        (lambda _: "block", StreamError, "no attribute 'address'"),
    ],
)
async def test_failure_is_of_one_run(
    stream: aacl.Stream,
    pool: Pool,
    nonzero: bytes,
    pack: Pack,
    late: bool,
    fail: Callable[[int], object],
    error: type[Exception],
    text: str,
) -> None:
    """C108: a run whose allocator fails has an error that says so; those before and behind it are right."""
    big = np.arange(3 * 64, dtype=np.float32).reshape(64, 3)
    async with aacl.Model(nonzero if late else twice(pack)) as model:
        expected = await run(stream, model, big)
        x = await stream.to_device(big)
        pool.fails.append(fail)
        bad, good = stream.execute(model(x)), stream.execute(model(x))
        with pytest.raises(error, match=text):
            await bad
        made = await good
        await stream.synchronize()

        for one, tensor in zip(expected, made if isinstance(made, tuple) else (made,), strict=True):
            np.testing.assert_array_equal(await stream.to_host(tensor), one)

    assert pool.live == set()


async def test_run_that_fails_gives_its_block_back(stream: aacl.Stream, pool: Pool, pack: Pack) -> None:
    """The error of a model that fails is its own; the block goes back, and what fails then is a note on that error."""
    model = pack(
        [helper.make_node("Gather", ["x", "i"], ["y"])],
        [value("x", FLOAT, [4]), value("i", TensorProto.INT64, ["n"])],
        [value("y", FLOAT, ["n"])],
        [TensorSpec("x", DataType.FLOAT, (4,)), TensorSpec("i", DataType.INT64, (-1,), ranges=((0, 9),))],
        [TensorSpec("gather:0:y", DataType.FLOAT, (-1,), ranges=((0, 9),))],
    )
    async with aacl.Model(model) as picks:
        inputs = [await stream.to_device(np.ones(4, np.float32)), await stream.to_device(np.array([7, 1]))]
        with pytest.raises(ModelRunError, match="bounds"):
            await stream.execute(picks(*inputs))
        assert (len(pool.asked), pool.live) == (1, set())

        pool.fails.append(lambda nbytes: Unwanted(pool.device.allocate(nbytes)))
        with pytest.raises(ModelRunError, match="bounds") as caught:
            await stream.execute(picks(*inputs))

    assert any("not mine" in note for note in caught.value.__notes__)
