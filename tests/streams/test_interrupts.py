"""Ctrl-C at any moment leaves streams that work, errors that are told and memory that is accounted for."""

from __future__ import annotations

import re

import pytest

from tests.helpers import run_python
from tests.helpers._acts import ACTS


@pytest.mark.parametrize("traceback", ["forgotten", "kept"])
@pytest.mark.parametrize("kind", ACTS)
def test_an_interrupt_anywhere_leaves_a_stream_that_works(kind: str, traceback: str) -> None:
    """Interrupted at each place in turn, the stream runs what comes next, in order, and loses no memory.

    That must not wait for the interrupt to be forgotten: it is alive while a block is left, and in a shell for long.
    """
    done = run_python(
        f"""
        from tests.helpers._acts import interrupt_everywhere
        interrupt_everywhere({kind!r}, keep_traceback={traceback == "kept"})
        """,
        timeout=18,
    )

    assert re.fullmatch(r"places: [1-9]\d*, bytes lost: 0", done.output), done


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
            # What is imported at first use is imported now: CPython turns an interrupt in the middle of a
            # class statement into a RuntimeError.
            stream.execute(add)
            stream.execute(ops.Add(big, big))
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
            print("enough" if count >= 1000 else count, "lost", lost)
        """,
        timeout=18,
    )

    assert (done.status, done.output) == (0, "enough lost 0"), done


def test_an_interrupt_in_a_blocks_body_ends_the_block() -> None:
    """Ctrl-C while executing leaves `with` at once: everything is closed, and the interrupt goes on."""
    done = run_python(
        """
        import random
        armed = False
        def interrupt(_, frame):
            global armed
            # One in a finalizer or a weak reference's callback is swallowed by Python: try again.
            if armed and frame.f_code.co_name not in ("__del__", "remove"):
                armed = False
                raise KeyboardInterrupt
        signal.signal(signal.SIGALRM, interrupt)
        choose, interrupted = random.Random(2), 0
        with blocking.Device(0) as device:
            a = aacl.empty((64,), np.float64)
            with blocking.Stream(device) as first:
                first.execute(ops.Add(a, a))
            for _ in range(300):
                try:
                    with blocking.Stream(device) as stream:
                        add, more = ops.Add(a, a, out=a), ops.Add(a, a)
                        armed = True
                        signal.setitimer(signal.ITIMER_REAL, choose.uniform(1e-5, 4e-4), 0.001)
                        while True:
                            stream.submit(add)
                            stream.submit(more)
                            stream.synchronize()
                except KeyboardInterrupt:
                    interrupted += 1
                assert stream.closed
            signal.setitimer(signal.ITIMER_REAL, 0)
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
