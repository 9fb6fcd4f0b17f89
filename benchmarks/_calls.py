"""Calls of the compat face that do little, each beside the same work without the call's layer."""

from __future__ import annotations

import threading

import aacl
import acl
from benchmarks._harness import Samples, Side, Spread, Steps, alternate, timed
from benchmarks._result import Result, at_most

__all__ = ("above_bare", "measure")

ROUNDS = 2000
COUNT = 100
INT32, ND = 3, 2
SHAPE = [8, 16]


async def measure() -> list[Result]:
    """Measure descriptions, data buffers, contexts and events."""
    pairs = [_descriptions(), _data_buffers(), _contexts(), _events()]
    samples = await alternate({name: side for pair in pairs for name, side in pair.items()}, ROUNDS)
    return [above_bare(samples, ours, ours, bare) for ours, bare in pairs]


def above_bare(samples: Samples, name: str, side: str, bare: str) -> Result:
    """Return how much a call costs beyond its work, which shall be 2.5 µs at most."""
    spread = samples.decile_difference(side, bare)
    detail = ", ".join(f"{each} {samples.decile(each) * 1e6:.2f} µs" for each in (side, bare))
    in_microseconds = Spread(spread.value * 1e6, spread.low * 1e6, spread.high * 1e6)
    return at_most(f"{name}, above bare", in_microseconds, 2.5, "µs", detail)


def _descriptions() -> dict[str, Side]:
    dtype, shape = aacl.DataType(INT32), tuple(SHAPE)

    @timed(COUNT)
    def ours(steps: Steps) -> None:
        for _ in steps:
            acl.destroy_tensor_desc(acl.create_tensor_desc(INT32, SHAPE, ND))

    @timed(COUNT)
    def bare(steps: Steps) -> None:
        for _ in steps:
            aacl.TensorDesc.of(dtype, shape)

    return {"create + destroy a tensor description": ours, "TensorDesc": bare}


def _data_buffers() -> dict[str, Side]:
    kept: dict[int, tuple[int, int]] = {}

    @timed(COUNT)
    def ours(steps: Steps) -> None:
        for _ in steps:
            acl.destroy_data_buffer(acl.create_data_buffer(4096, 64))

    @timed(COUNT)
    def bare(steps: Steps) -> None:
        for _ in steps:
            kept[1] = (4096, 64)
            kept.pop(1)

    return {"create + destroy a data buffer": ours, "pair in a dict": bare}


def _contexts() -> dict[str, Side]:
    context, _ret = acl.rt.get_context()
    here = threading.local()

    @timed(COUNT)
    def ours(steps: Steps) -> None:
        for _ in steps:
            acl.rt.set_context(context)

    @timed(COUNT)
    def bare(steps: Steps) -> None:
        for _ in steps:
            here.context = context

    return {"set_context": ours, "attribute of the thread": bare}


def _events() -> dict[str, Side]:
    event, _ret = acl.rt.create_event()
    stream, _ret = acl.rt.create_stream()
    device = aacl.blocking.open_resource(aacl.Device(0))
    native = aacl.blocking.open_resource(aacl.Stream(aacl.blocking.open_resource(aacl.Context(device))))
    mark = native.record_event()

    @timed(COUNT)
    def ours(steps: Steps) -> None:
        for _ in steps:
            acl.rt.record_event(event, stream)
            acl.rt.query_event_status(event)

    @timed(COUNT)
    def bare(steps: Steps) -> None:
        for _ in steps:
            native.record_event(mark)
            mark.done()

    return {"record + query an event": ours, "the native event": bare}
