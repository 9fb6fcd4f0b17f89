"""What a stream is asked for while it is interrupted, in a process of its own: a stream that is broken cannot be closed."""

from __future__ import annotations

import gc
import os
from collections.abc import Callable

import numpy as np

import aacl
from aacl import Device, Stream, ops
from tests.helpers._hold import wait_until_idle
from tests.helpers._interrupts import interrupted_everywhere
from tests.helpers._work import PythonWork


def _prepared(device: Device, stream: Stream) -> Callable[[], object]:
    a = stream.to_device(np.ones(8)).result()
    add = ops.Add(a, a, out=aacl.empty((8,), np.float64, device=device))
    return lambda: stream.execute(add)


def _fresh(device: Device, stream: Stream) -> Callable[[], object]:
    a = stream.to_device(np.ones(8)).result()
    return lambda: stream.execute(ops.Add(a, a))


def _failing(device: Device, stream: Stream) -> Callable[[], object]:
    def act() -> None:
        stream.execute(PythonWork(lambda: 1 / 0, estimate=0)).exception()

    return act


def _worker(device: Device, stream: Stream) -> Callable[[], object]:
    return lambda: stream.execute(PythonWork(int)).wait(10)


def _host_call(device: Device, stream: Stream) -> Callable[[], object]:
    return lambda: stream.call(int).wait(10)


def _round_trip(device: Device, stream: Stream) -> Callable[[], object]:
    return lambda: aacl.blocking.wait(stream.to_host(stream.to_device(np.ones(8))))


def _events(device: Device, stream: Stream) -> Callable[[], object]:
    return lambda: stream.wait_event(stream.record_event())


def _synchronise(device: Device, stream: Stream) -> Callable[[], object]:
    def act() -> None:
        stream.call(int)
        aacl.blocking.synchronize(stream, 10)

    return act


def _halt(device: Device, stream: Stream) -> Callable[[], object]:
    def act() -> None:
        stream.halt(ValueError("halted"))
        stream.barrier().wait(10)
        stream.recover()

    return act


def _stop(device: Device, stream: Stream) -> Callable[[], object]:
    def act() -> None:
        stream.stop_at_failure = True
        failing = stream.call(lambda: 1 / 0)
        if failing.wait(10):
            failing.exception()
        stream.recover()
        stream.stop_at_failure = False
        stream.call(int).wait(10)

    return act


_STOPPING = (_halt, _stop)
ACTS = {
    act.__name__.strip("_"): act
    for act in (_prepared, _fresh, _failing, _worker, _host_call, _round_trip, _events, _synchronise, *_STOPPING)
}


def interrupt_everywhere(kind: str, keep_traceback: bool) -> None:
    """Do one thing once for each place in which it can be interrupted, and print what was wrong afterwards."""
    device = aacl.blocking.open_resource(Device(0))
    act = ACTS[kind]
    places = 0

    def prepare() -> tuple[Stream, Callable[[], object]]:
        stream = aacl.blocking.open_resource(Stream(device))
        return stream, act(device, stream)

    for (stream, _), place in interrupted_everywhere(
        prepare, lambda prepared: prepared[1](), keep_traceback=keep_traceback
    ):
        places += 1
        trouble = (_trouble_stopped(stream) if act in _STOPPING else "") or _trouble(stream)
        if trouble:
            print(f"{place}: {trouble}", flush=True)
            os._exit(1)
        aacl.blocking.close(stream)
        del stream, _
    gc.collect()
    for left in list(device.default_context._children.values()):  # those of the runs that were not interrupted
        assert isinstance(left, Stream)
        aacl.blocking.close(left)
    print(f"places: {places}, bytes lost: {device.memory().used}", flush=True)
    os._exit(0)


def _trouble_stopped(stream: Stream) -> str:
    """Say what is wrong with a stream that stopped, or was about to; let it go on."""
    if not stream.barrier().wait(2):
        return "what waits for it is never over"
    stream.stop_at_failure = False
    stream.recover()
    return ""


def _trouble(stream: Stream) -> str:
    """Say what is wrong with a stream, if anything is."""
    seen: list[int] = []
    completions = [stream.execute(PythonWork(lambda step=step: seen.append(step))) for step in range(3)]  # type: ignore[misc]
    if not all(completion.wait(2) for completion in completions):
        return "it does not run what comes next"
    if seen != [0, 1, 2]:
        return f"it ran {seen}"
    try:
        aacl.blocking.synchronize(stream, 2)
    except aacl.WaitTimeout:
        return "it does not become idle"
    except aacl.StreamError:
        pass  # work failed whose submitter was interrupted before it could look
    wait_until_idle(stream)
    return "" if stream.execute(PythonWork(int, estimate=0)).done() else "it does not run short work at once"
