"""The runtime without an event loop."""

from __future__ import annotations

import threading

import numpy as np
import pytest

import aacl
from aacl import Aborted, ClosedResource, KernelError, StreamError, WaitTimeout, WouldBlock, blocking, ops
from tests.helpers import Boom, Hold, PythonWork, fail, run_python, wait_until_idle


def test_blocks_open_make_current_and_close() -> None:
    """`with` does what `async with` does, in the same order."""
    order: list[str] = []
    with blocking.Device(1) as device, blocking.Context() as context, blocking.Stream() as stream:
        assert (aacl.current_device(), aacl.current_context(), aacl.current_stream()) == (
            device,
            context,
            stream.stream,
        )
        for each in (device, context, stream.stream):
            each.on_close(lambda kind=each.kind: order.append(kind))  # type: ignore[misc]
    assert order == ["stream", "context", "device"]
    assert stream.closed
    with pytest.raises(aacl.NotCurrent):
        aacl.current_device()


def test_calls_wait_and_give_results() -> None:
    """Each call returns what awaiting the asynchronous one gives."""
    with blocking.Device(0) as device, blocking.Stream() as stream:
        a = stream.to_device([1.0, 2.0])
        total = stream.execute(ops.Add(a, a))
        buffer = device.allocate(16)
        assert stream.copy(buffer, total) is buffer
        assert np.frombuffer(bytes(buffer)).tolist() == [2, 4]
        assert stream.fill(buffer, 0) is buffer
        out = np.zeros(2)
        assert stream.to_host(total, out) is out
        assert out.tolist() == [2, 4]
        assert stream.call(int, "7") == 7
        assert "blocking" in repr(stream)


def test_calls_raise_what_failed() -> None:
    """The error of the command is the error of the call, and is received by it."""
    with blocking.Device(0), blocking.Stream() as stream:
        with pytest.raises(Boom):
            stream.call(fail)
        with pytest.raises(KernelError):
            stream.execute(PythonWork(fail))
        stream.synchronize()


def test_submit_does_not_wait() -> None:
    """Its completion is waited for, dropped or synchronised."""
    with blocking.Device(0), blocking.Stream() as stream:
        with Hold(stream.stream) as hold:
            first, second = stream.submit(PythonWork(int, result=1)), stream.submit(PythonWork(int, result=2))
            assert not first.done()
            with pytest.raises(WaitTimeout, match="goes on"):
                stream.synchronize(0.001)
            with pytest.raises(WaitTimeout):
                blocking.wait(second, 0.001)
            hold.release()
            assert blocking.wait(second) == 2
            assert first.result() == 1
        with Hold(stream.stream):
            dropped = stream.submit(PythonWork(int))
            assert stream.abort() == 1
        with pytest.raises(Aborted):
            blocking.wait(dropped)


def test_synchronize_reports_failures() -> None:
    """As the asynchronous one does: once."""
    with blocking.Device(0), blocking.Stream() as stream:
        stream.submit(PythonWork(fail))
        with pytest.raises(StreamError) as caught:
            stream.synchronize()
        assert isinstance(caught.value.__cause__, KernelError)
        stream.synchronize()


def test_a_block_reports_failures_at_its_end() -> None:
    """Unreceived failures leave the block; a body's own exception carries them as notes."""
    with pytest.raises(StreamError), blocking.Device(0), blocking.Stream() as stream:
        stream.submit(PythonWork(fail))
    with pytest.raises(LookupError) as caught, blocking.Device(0), blocking.Stream() as stream:  # noqa: PT012 - the block itself raises
        stream.submit(PythonWork(fail)).wait()
        raise LookupError
    assert "boom" in "".join(caught.value.__notes__)


def test_a_body_that_raises_drops_what_is_queued() -> None:
    """The block waits for what runs only."""
    with blocking.Device(0):
        with pytest.raises(Boom), blocking.Stream() as stream:  # noqa: PT012 - the block itself raises
            hold = Hold(stream.stream)
            queued = stream.submit(PythonWork(int))
            queued.add_done_callback(lambda _: hold.release())
            raise Boom
        assert isinstance(queued.exception(), Aborted)
        assert hold.completion.done()


def test_opening_and_closing_by_calls() -> None:
    """open_resource() makes nothing current; close() closes all below, twice does no harm; drop= drops."""
    device = blocking.open_resource(aacl.Device(0))
    stream = blocking.open_resource(aacl.Stream(device))
    with pytest.raises(aacl.NotCurrent):
        aacl.current_device()
    with Hold(stream) as hold:
        queued = stream.call(int)
        queued.add_done_callback(lambda _: hold.release())
        blocking.close(stream, drop=True)
    assert isinstance(queued.exception(), Aborted)
    blocking.close(stream)
    blocking.close(device, drop=True)
    blocking.close(device)
    assert (stream.closed, device.closed) == (True, True)
    for new in (aacl.Stream(), aacl.Device(0), aacl.Context(), aacl.MemoryPool(10)):
        blocking.close(new, drop=True)
        assert new.closed
    with pytest.raises(ClosedResource):
        blocking.open_resource(stream)


def test_close_waits_for_what_is_queued() -> None:
    """Without drop= everything runs first."""
    ran: list[int] = []
    with blocking.Device(0) as device:
        stream = blocking.open_resource(aacl.Stream(device))
        for step in range(5):
            stream.call(ran.append, step)
        blocking.close(stream)

    assert ran == list(range(5))


async def test_a_running_loop_is_not_blocked() -> None:
    """Calls that would wait are refused on its thread; those that are done at once are not."""
    async with aacl.Device(0) as device:
        stream = blocking.Stream(device)
        with stream:
            with Hold(stream.stream) as hold:
                for act in (
                    lambda: stream.execute(PythonWork(int)),
                    lambda: stream.call(int),
                    stream.synchronize,
                    lambda: blocking.wait(hold.completion),
                    lambda: blocking.wait_event(stream.record_event()),
                ):
                    with pytest.raises(WouldBlock):
                        act()
            await stream.stream.synchronize()
            wait_until_idle(stream.stream)
            assert stream.execute(PythonWork(int, result=5, estimate=0)) == 5
            stream.synchronize()


def test_waits_let_other_threads_run() -> None:
    """The GIL is free while a call waits."""
    with blocking.Device(0), blocking.Stream() as stream:
        gate = threading.Event()
        thread = threading.Thread(target=gate.set)

        def work() -> bool:
            thread.start()
            return gate.wait(10)

        assert stream.call(work)
        thread.join()


def test_events_order_streams() -> None:
    """record_event and wait_event as in the asynchronous face."""
    seen: list[str] = []
    with blocking.Device(0), blocking.Stream() as one, blocking.Stream() as two:
        with Hold(one.stream):
            one.stream.call(seen.append, "one")
            event = one.record_event()
            two.wait_event(event)
            late = two.stream.call(seen.append, "two")
            with pytest.raises(aacl.EventTimeout):
                blocking.wait_event(event, 0.001)
            assert one.record_event(event) is event
        blocking.wait_event(event, 10)
        blocking.wait(late)

    assert seen == ["one", "two"]


def test_no_event_loop_is_imported() -> None:
    """Programs without asyncio do not pay for it."""
    done = run_python(
        """
        for name in [name for name in sys.modules if name.split(".")[0] == "asyncio"]:
            del sys.modules[name]
        with blocking.Device(0), blocking.Stream() as stream:
            a = stream.to_device(np.ones(4))
            stream.to_host(stream.execute(ops.Add(a, a)))
            stream.call(int)
            stream.synchronize()
        print([name for name in sys.modules if name.split(".")[0] == "asyncio"])
        """
    )

    assert (done.status, done.output) == (0, "[]"), done
