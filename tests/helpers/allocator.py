"""An allocator that counts, and models that draw on one."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextvars import ContextVar
from typing import Any

import numpy as np
from onnx import TensorProto, helper

import aacl
from aacl.dtypes import DataType
from aacl.models import Gears, TensorSpec
from tests.helpers.nets import value

Pack = Callable[..., bytes]
FLOAT = TensorProto.FLOAT
X = np.array([[1, 0, -2], [0, 5, 6]], np.float32)
place: ContextVar[str] = ContextVar("place", default="nowhere")


class Unwanted:
    """A block that its allocator fails to take back."""

    def __init__(self, buffer: aacl.Buffer) -> None:
        self.address = buffer.address
        self._buffer = buffer


class Pool(aacl.Allocator[aacl.Buffer]):
    """Buffers of a device, counted; what stands in `fails` happens once in the place of an allocation."""

    def __init__(self, device: aacl.Device) -> None:
        self.device = device
        self.asked: list[int] = []
        self.advised: list[int] = []
        self.live: set[int] = set()
        self.fails: list[Callable[[int], Any]] = []
        self.seen: list[tuple[str, bool]] = []

    def allocate(self, nbytes: int) -> aacl.Buffer:
        self.seen.append((place.get(), threading.current_thread() is threading.main_thread()))
        self.asked.append(nbytes)
        buffer: aacl.Buffer = self.fails.pop()(nbytes) if self.fails else self.device.allocate(nbytes)
        if isinstance(buffer, aacl.Buffer):
            self.live.add(buffer.address)
        return buffer

    def allocate_near(self, nbytes: int, address: int) -> aacl.Buffer:
        self.advised.append(address)
        return self.allocate(nbytes)

    def free(self, block: aacl.Buffer) -> None:
        if isinstance(block, Unwanted):
            raise ValueError("not mine")
        if isinstance(block, aacl.Buffer):
            self.live.remove(block.address)
            block.free()


def twice(pack: Pack, gears: Gears | None = None) -> bytes:
    """Y = x + x for x of [any, 3]."""
    gives = (4, 3) if gears else (-1, 3)
    return pack(
        [helper.make_node("Add", ["x", "x"], ["y"])],
        [value("x", FLOAT, ["n", 3])],
        [value("y", FLOAT, ["n", 3])],
        [TensorSpec("x", DataType.FLOAT, (-1, 3), ranges=((0, 64), (3, 3)))],
        [TensorSpec("add:0:y", DataType.FLOAT, gives, ranges=() if gears else ((0, 64), (3, 3)))],
        gears=gears,
    )


async def run(stream: aacl.Stream, model: aacl.Model, x: np.ndarray[Any, Any]) -> list[np.ndarray[Any, Any]]:
    """Run a model of one input and return its outputs on the host."""
    made = await stream.execute(model(await stream.to_device(x)))
    return [await stream.to_host(each) for each in (made if isinstance(made, tuple) else (made,))]
