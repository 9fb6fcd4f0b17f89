"""Ctrl-C at any moment leaves streams that work, errors that are told and memory that is accounted for."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import pytest

import aacl
from aacl import Device, Stream, ops
from tests.helpers import PythonWork, interrupted_everywhere, run_python


@pytest.fixture
def device() -> Iterator[Device]:
    """A device, opened without a loop."""
    with aacl.blocking.Device(0) as opened:
        yield opened


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
    return lambda: stream.to_host(stream.to_device(np.ones(8))).result()


def _events(device: Device, stream: Stream) -> Callable[[], object]:
    return lambda: stream.wait_event(stream.record_event())


def _synchronise(device: Device, stream: Stream) -> Callable[[], object]:
    def act() -> None:
        stream.call(int)
        aacl.blocking.synchronize(stream, 10)

    return act


ACTS = [_prepared, _fresh, _failing, _worker, _host_call, _round_trip, _events, _synchronise]


@pytest.mark.parametrize("kind", ACTS, ids=lambda kind: kind.__name__.strip("_"))
def test_an_interrupt_anywhere_leaves_a_stream_that_works(
    device: Device, kind: Callable[[Device, Stream], Callable[[], object]]
) -> None:
    """Interrupted at each place in turn, the stream runs what comes next, in order, and loses no memory."""
    wrong: dict[str, str] = {}
    opened: list[Stream] = []

    def prepare() -> tuple[Stream, Callable[[], object]]:
        stream = aacl.blocking.open_resource(Stream(device))
        opened.append(stream)
        return stream, kind(device, stream)

    for (stream, _), place in interrupted_everywhere(prepare, lambda prepared: prepared[1]()):
        trouble = _trouble(stream)
        if trouble:
            wrong[place] = trouble
        else:
            aacl.blocking.close(stream)
        del stream, _
    working = [stream for stream in opened if not stream.closed]
    opened.clear()
    del prepare, working

    assert wrong == {}
    assert device.memory().used == 0


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
    return "" if stream.execute(PythonWork(int, estimate=0)).done() else "it is not idle"


def test_thousands_of_interrupts() -> None:
    """Signals at random moments of executing, synchronising and allocating: the stream works on, no byte is lost."""
    done = run_python(
        """
        import random, time
        class Interrupt(KeyboardInterrupt):
            pass
        count = 0
        def interrupt(*_):
            global count
            count += 1
            raise Interrupt
        signal.signal(signal.SIGALRM, interrupt)
        sys.unraisablehook = lambda _: None  # one that strikes in a finalizer is swallowed by Python
        with blocking.Device(0) as device, blocking.Stream(device) as stream:
            a = stream.to_device(np.ones(64))
            out = aacl.empty((64,), np.float64)
            add = ops.Add(a, a, out=out)
            big = stream.to_device(np.ones(200_000))
            used = device.memory().used
            choose = random.Random(1)
            acts = [
                lambda: [stream.submit(add) for _ in range(50)],
                lambda: [stream.submit(ops.Add(a, a)) for _ in range(50)],
                lambda: stream.execute(ops.Add(big, big)),
                lambda: stream.stream.call(int),
                lambda: stream.synchronize(),
                lambda: [device.allocate(n * 100) for n in range(1, 30)],
                lambda: stream.to_host(stream.to_device(np.ones(100))),
                lambda: stream.abort(),
            ]
            end = time.monotonic() + 8
            while count < 3000 and time.monotonic() < end:
                try:
                    try:  # again after a while, should one be swallowed
                        signal.setitimer(signal.ITIMER_REAL, choose.uniform(2e-5, 1e-3), 0.02)
                        while True:
                            choose.choice(acts)()
                    finally:
                        signal.setitimer(signal.ITIMER_REAL, 0)
                except (Interrupt, aacl.StreamError):
                    pass
            signal.setitimer(signal.ITIMER_REAL, 0)
            try:
                stream.synchronize(5)
            except aacl.StreamError as error:
                assert isinstance(error.__cause__, aacl.Aborted), error.__cause__
            seen = []
            for step in range(100):
                stream.stream.call(seen.append, step)
            stream.synchronize(5)
            assert seen == list(range(100)), seen
            assert (stream.to_host(stream.execute(ops.Add(a, a))) == 2).all()
            import gc
            gc.collect()
            lost = device.memory().used - used
            print("enough" if count >= 1000 else count, "lost", lost, "idle", stream.stream.idle)
        """,
        timeout=18,
    )

    assert (done.status, done.output) == (0, "enough lost 0 idle True"), done


def test_an_interrupt_in_a_blocks_body_ends_the_block() -> None:
    """Ctrl-C while executing leaves `with` at once: everything is closed, and the interrupt goes on."""
    done = run_python(
        """
        import random
        armed = False
        def interrupt(*_):
            global armed
            if armed:
                armed = False
                raise KeyboardInterrupt
        signal.signal(signal.SIGALRM, interrupt)
        choose, interrupted = random.Random(2), 0
        with blocking.Device(0) as device:
            a = aacl.empty((64,), np.float64)
            for _ in range(300):
                try:
                    with blocking.Stream(device) as stream:
                        add, more = ops.Add(a, a, out=a), ops.Add(a, a)
                        armed = True
                        signal.setitimer(signal.ITIMER_REAL, choose.uniform(1e-5, 4e-4))
                        while True:
                            stream.submit(add)
                            stream.submit(more)
                            stream.synchronize()
                except KeyboardInterrupt:
                    interrupted += 1
                assert stream.closed
        print(interrupted, aacl.open_resources())
        """,
        timeout=18,
    )

    assert (done.status, done.output) == (0, "300 {}"), done


@pytest.mark.parametrize("wait", ["stream.synchronize()", "stream.stream.barrier().wait()", "stream.execute(work)"])
def test_ctrl_c_gets_through_a_blocking_wait(wait: str) -> None:
    """Waiting for a long command does not hold up the interrupt; the block then waits for what runs."""
    done = run_python(
        f"""
        from tests.helpers import PythonWork
        gate = threading.Event()
        begun = threading.Event()
        def run():
            begun.set()
            gate.wait(10)
        work = PythonWork(run)
        def interrupt():
            begun.wait(10)
            os.kill(os.getpid(), signal.SIGINT)
        try:
            with blocking.Device(0) as device, blocking.Stream(device) as stream:
                if "work" not in {wait!r}:
                    stream.submit(work)
                try:
                    threading.Thread(target=interrupt).start()
                    {wait}
                except KeyboardInterrupt:
                    print("through")
                    gate.set()
                    raise
        except KeyboardInterrupt:
            print(stream.closed)
        """
    )

    assert (done.status, done.output) == (0, "through\nTrue"), done


def test_ctrl_c_while_a_block_closes() -> None:
    """The close drops what is queued, waits for what runs, closes everything and then gives the interrupt on."""
    done = run_python(
        """
        gate, begun, ran = threading.Event(), threading.Event(), []
        def run():
            begun.set()
            gate.wait(10)
        def interrupt():
            begun.wait(10)
            for _ in range(3):
                signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)
                told.wait(0.05)
            gate.set()
        told = threading.Event()
        try:
            with blocking.Device(0) as device, blocking.Stream(device) as stream:
                stream.stream.call(run)
                stream.stream.call(ran.append, 1)
                threading.Thread(target=interrupt).start()
        except KeyboardInterrupt:
            print(stream.closed, device.closed, ran, aacl.open_resources())
        """
    )

    assert (done.status, done.output) == (0, "True True [] {}"), done
