"""A stream with an allocator bound to it, and a model that draws on that."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable

import pytest
from onnx import TensorProto, helper

import aacl
from aacl.dtypes import DataType
from aacl.models import TensorSpec
from tests.helpers.allocator import Pool
from tests.helpers.nets import value

Pack = Callable[..., bytes]
FLOAT = TensorProto.FLOAT


@pytest.fixture(scope="session")
def nonzero(pack: Pack) -> bytes:
    """Where x of [any, any] is not zero, and x with the negative ones as 0."""
    free = ((0, -1), (0, -1))
    return pack(
        [helper.make_node("Relu", ["x"], ["positive"]), helper.make_node("NonZero", ["positive"], ["where"])],
        [value("x", FLOAT, ["rows", "columns"])],
        [value("where", TensorProto.INT64, [2, "found"]), value("positive", FLOAT, ["rows", "columns"])],
        [TensorSpec("x", DataType.FLOAT, (-1, -1), ranges=free)],
        [
            TensorSpec("nonzero:0:where", DataType.INT64, (2, -1), ranges=((2, 2), (0, -1))),
            TensorSpec("relu:0:positive", DataType.FLOAT, (-1, -1), ranges=free),
        ],
        name="nonzero",
    )


@pytest.fixture
async def device() -> AsyncIterator[aacl.Device]:
    """A device."""
    async with aacl.Device(0) as opened:
        yield opened


@pytest.fixture
async def stream(device: aacl.Device) -> AsyncIterator[aacl.Stream]:
    """A stream of that device."""
    async with aacl.Stream(device) as opened:
        yield opened


@pytest.fixture
def pool(device: aacl.Device, stream: aacl.Stream) -> Pool:
    """An allocator, bound to the stream."""
    pool = Pool(device)
    stream.use_allocator(pool)
    return pool
