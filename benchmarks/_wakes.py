"""How soon a blocked thread goes on: from the moment that what it waits for is there to its next statement."""

from __future__ import annotations

import threading
from collections.abc import Callable
from time import perf_counter, sleep

import acl
from benchmarks._harness import Side, Spread, alternate
from benchmarks._result import Result, at_most, compared

__all__ = ("measure",)

ROUNDS = 400
LIMIT = 100.0
HELD = 0.001
"""Seconds after which a thread that waits is asleep."""
NBYTES = 32 << 20  # to be set: some milliseconds of a device worker
TIMED = 0x8 | 0x1


async def measure() -> list[Result]:
    """Measure waits for a stream and for an event, and the way of a callback to the thread that reports it."""
    waits = _Waits()
    sides: dict[str, Side] = {
        "synchronize_stream": waits.of(lambda: acl.rt.synchronize_stream(waits.stream)),
        "synchronize_event": waits.of(lambda: acl.rt.synchronize_event(waits.event)),
        "launch_callback": waits.report,
        "threading.Event": _bare,
    }
    samples = await alternate(sides, ROUNDS)
    waits.close()
    bare = samples.median("threading.Event") * 1e6
    detail = f"threading.Event {bare:.1f} µs"
    spreads = {name: Spread.of([seconds * 1e6 for seconds in values]) for name, values in samples.rounds.items()}
    return [
        *(
            at_most(f"wake-up from {name}", spreads[name], LIMIT, "µs", detail, ceiling=bare)
            for name in ("synchronize_stream", "synchronize_event")
        ),
        compared("launch_callback to its start in process_report", spreads["launch_callback"], "µs", detail),
    ]


class _Waits:
    """A stream that is busy for a while, and whose callbacks a thread reports."""

    def __init__(self) -> None:
        self.stream, _ret = acl.rt.create_stream()
        self.event, _ret = acl.rt.create_event_with_flag(TIMED)
        self._memory, _ret = acl.rt.malloc(NBYTES, 0)
        self._began = 0.0
        self._stopping = False
        self._thread, _ret = acl.util.start_thread(self._report, [])
        acl.rt.subscribe_report(self._thread, self.stream)

    def of(self, wait: Callable[[], int]) -> Side:
        """Return a side that waits for an event behind some work; the event knows when it was reached."""

        def measured() -> float:
            acl.rt.memset_async(self._memory, NBYTES, 0, NBYTES, self.stream)
            acl.rt.record_event(self.event, self.stream)
            ret = wait()
            woken = perf_counter()
            reached, failed = acl.rt.event_get_timestamp(self.event)
            if ret or failed:
                raise RuntimeError(f"{ret}, {failed}: {acl.get_recent_err_msg()}")
            return woken - reached / 1e6

        return measured

    def report(self) -> float:
        """Measure from a launch to the start of the callback, in the thread that waits to report it."""
        sleep(HELD)
        launched = perf_counter()
        acl.rt.launch_callback(self._begin, None, 1, self.stream)
        acl.rt.synchronize_stream(self.stream)
        return self._began - launched

    def close(self) -> None:
        """End the thread and the stream."""
        acl.rt.unsubscribe_report(self._thread, self.stream)
        self._stopping = True
        acl.util.stop_thread(self._thread)
        acl.rt.free(self._memory)
        acl.rt.destroy_event(self.event)
        acl.rt.destroy_stream(self.stream)

    def _begin(self, _data: object) -> None:
        self._began = perf_counter()

    def _report(self, _arguments: object) -> None:
        while not self._stopping:
            acl.rt.process_report(100)


def _bare() -> float:
    """Measure the same with a thread and an event of Python's own."""
    event, reached = threading.Event(), [0.0]

    def hold() -> None:
        sleep(HELD)
        reached[0] = perf_counter()
        event.set()

    thread = threading.Thread(target=hold)
    thread.start()
    event.wait()
    woken = perf_counter()
    thread.join()
    return woken - reached[0]
