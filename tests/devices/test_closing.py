"""Leaving blocks: streams, then contexts, then devices, whatever happened inside."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable

import anyio
import pytest

import aacl
from aacl import Aborted, ClosedResource, Context, Device, MemoryPool, Stream, StreamError
from tests.helpers import Boom, Hold, PythonWork, fail, run_python

ORDER = ["stream", "context", "device"]


def _watch(order: list[str], *resources: Device | Context | Stream | MemoryPool) -> None:
    for resource in resources:
        resource.on_close(lambda resource=resource: order.append(resource.kind))  # type: ignore[misc]


async def test_normal_exit() -> None:
    """Stream, context, device; each is closed when its callback runs."""
    order: list[str] = []
    async with Device(0) as device, Context() as context, Stream() as stream:
        _watch(order, device, context, stream)
        stream.on_close(lambda: order.append(f"stream is closed: {stream.closed}"))

    assert order == ["stream is closed: True", *ORDER]
    assert device.closed
    assert context.closed


@pytest.mark.parametrize(
    "error", [Boom(), SystemExit(3), KeyboardInterrupt(), GeneratorExit()], ids=lambda e: type(e).__name__
)
async def test_exit_by_an_exception(error: BaseException) -> None:
    """The order is the same, and the exception is the one that leaves."""
    order: list[str] = []

    async def body() -> None:
        async with Device(0) as device, Context() as context, Stream() as stream:
            _watch(order, device, context, stream)
            stream.call(int)
            raise error

    with pytest.raises(type(error)) as caught:
        await body()
    assert caught.value is error
    assert order == ORDER


async def test_leaving_waits_for_what_is_queued() -> None:
    """Every command submitted in the block has run when the block is over."""
    ran: list[int] = []
    async with Device(0) as device, Stream(device) as stream:
        hold = Hold(stream)
        for step in range(10):
            stream.execute(PythonWork(lambda step=step: ran.append(step)))  # type: ignore[misc]
        asyncio.get_running_loop().call_soon(hold.release)

    assert ran == list(range(10))


async def test_an_exception_drops_what_is_queued_and_waits_for_what_runs() -> None:
    """Commands that have not started fail with Aborted; the running one is over before the block is."""
    async with Device(0) as device:
        with pytest.raises(Boom):  # noqa: PT012 - the block itself raises
            async with Stream(device) as stream:
                hold = Hold(stream)
                queued = stream.call(int)
                asyncio.get_running_loop().call_soon(hold.release)
                raise Boom
        assert hold.completion.done()
        assert isinstance(queued.exception(), Aborted)
        assert "end of its block" in str(queued.exception())


async def test_forgotten_resources_are_closed_youngest_first() -> None:
    """Whatever was opened in a device and not closed is closed before it, in the right order."""
    order: list[str] = []
    async with Device(0) as device:
        context = await Context(device).open()
        stream = await Stream(context).open()
        second = await Stream(device).open()
        pool = await MemoryPool(1000, device=device).open()
        for name, resource in {"pool": pool, "second": second, "stream": stream, "context": context}.items():
            resource.on_close(lambda name=name: order.append(name))  # type: ignore[misc]
        device.on_close(lambda: order.append("device"))
        stream.call(order.append, "work")

    assert order.index("work") < order.index("stream") < order.index("context") < order.index("device")
    assert order[-1] == "device"
    assert sorted(order) == sorted(["work", "pool", "second", "stream", "context", "device"])
    assert aacl.open_resources() == {}


async def test_a_context_takes_only_its_own_streams() -> None:
    """Streams of another context of the device live on."""
    async with Device(0) as device:
        outside = await Stream(device).open()
        async with Context(device) as context:
            inside = await Stream(context).open()
            assert "1 streams" in repr(context)
        assert inside.closed
        assert not outside.closed
        assert await outside.call(int) == 0


async def test_closing_is_idempotent() -> None:
    """A second aclose(), in or after the block, does nothing; a new resource is closed by it for good."""
    async with Device(0) as device, Stream(device) as stream:
        await stream.aclose()
        await stream.aclose()
        assert stream.closed
        never = Stream(device)
        await never.aclose()
        with pytest.raises(ClosedResource):
            await never.open()
    await device.aclose()


async def test_callbacks_run_last_registered_first_and_all_of_them() -> None:
    """One that raises does not keep the others from running; its error leaves the block when all is closed."""
    order: list[int] = []
    with pytest.raises(Boom, match="second") as caught:  # noqa: PT012 - the block itself raises
        async with Device(0) as device:
            device.on_close(lambda: order.append(1))
            device.on_close(lambda: fail("first"))
            device.on_close(lambda: fail("second"))
            device.on_close(lambda: order.append(4))
    assert order == [4, 1]
    assert "first" in "".join(caught.value.__notes__)
    assert device.closed
    with pytest.raises(ClosedResource):
        device.on_close(lambda: None)


async def test_errors_of_several_streams_are_all_told() -> None:
    """The first is raised from its cause, the others are notes."""
    with pytest.raises(StreamError) as caught:  # noqa: PT012 - the block itself raises
        async with Device(0) as device:
            for text in ("one", "two"):
                stream = await Stream(device).open()
                stream.call(fail, text)
    told = f"{caught.value} {caught.value.__notes__}"

    assert isinstance(caught.value.__cause__, Boom)
    assert "one" in told
    assert "two" in told
    assert device.closed


# -- cancellation ---------------------------------------------------------------------------------


async def _cancelled(
    body: Callable[[], Awaitable[None]], meanwhile: Callable[[asyncio.Future[None]], Awaitable[None]]
) -> None:
    task = asyncio.ensure_future(body())
    await meanwhile(task)
    done, _ = await asyncio.wait({task}, timeout=10)
    assert done, "the block hangs"
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_a_body_that_is_cancelled() -> None:
    """What is queued is dropped, what runs is waited for, everything is closed, and then the task is cancelled."""
    order: list[str] = []
    entered = asyncio.Event()
    holds: list[Hold] = []

    async def body() -> None:
        async with Device(0) as device, Context() as context, Stream() as stream:
            _watch(order, device, context, stream)
            holds.append(Hold(stream))
            stream.call(order.append, "queued")
            entered.set()
            await asyncio.Event().wait()

    async def meanwhile(task: asyncio.Future[None]) -> None:
        await entered.wait()
        task.cancel()
        await asyncio.sleep(0)
        assert order == []
        holds[0].release()

    await _cancelled(body, meanwhile)
    assert order == ORDER


@pytest.mark.parametrize("times", [1, 2, 5])
def test_a_block_that_is_cancelled_while_it_closes(times: int) -> None:
    """Any number of cancellations only turn the waiting into dropping; the block ends, in order, and then cancels."""
    done = run_python(
        f"""
        order, ran = [], []
        gate, started = threading.Event(), threading.Event()
        def hold():
            started.set()
            gate.wait(10)
        async def body():
            async with aacl.Device(0) as device, aacl.Context() as context, aacl.Stream() as stream:
                for each in (device, context, stream):
                    each.on_close(lambda kind=each.kind: order.append(kind))
                stream.call(hold)
                stream.call(ran.append, 1)
        async def main():
            task = asyncio.create_task(body())
            await asyncio.to_thread(started.wait)
            for _ in range(3):
                await asyncio.sleep(0)
            for _ in range({times}):
                task.cancel()
                for _ in range(3):
                    await asyncio.sleep(0)
            assert not order
            gate.set()
            try:
                await task
            except asyncio.CancelledError:
                print(order, ran, aacl.open_resources())
        asyncio.run(main())
        """
    )

    assert (done.status, done.output) == (0, f"{ORDER} [] {{}}"), done


def test_timeouts_around_blocks() -> None:
    """asyncio.timeout and anyio's scopes that end while a block closes: it ends once, without spinning, in order."""
    done = run_python(
        """
        import anyio, time
        async def body(order, gate):
            async with aacl.Device(0) as device, aacl.Context() as context, aacl.Stream() as stream:
                for each in (device, context, stream):
                    each.on_close(lambda kind=each.kind: order.append(kind))
                stream.call(gate.wait, 10)
        async def main():
            for scope in (asyncio.timeout, anyio.fail_after):
                order, gate, turns = [], threading.Event(), 0
                loop = asyncio.get_running_loop()
                loop.call_later(0.1, gate.set)
                began = time.process_time()
                try:
                    async with asyncio.timeout(0.02):
                        await body(order, gate)
                except TimeoutError:
                    pass
                busy = time.process_time() - began
                print(order, "idle" if busy < 0.08 else f"spinning: {busy}")
                order, gate = [], threading.Event()
                loop.call_later(0.1, gate.set)
                began = time.process_time()
                with anyio.move_on_after(0.02) as moved:
                    await body(order, gate)
                busy = time.process_time() - began
                print(order, moved.cancelled_caught, "idle" if busy < 0.08 else f"spinning: {busy}")
        asyncio.run(main())
        """
    )

    assert done.status == 0, done
    assert done.output.splitlines() == [f"{ORDER} idle", f"{ORDER} True idle"] * 2, done


async def test_a_task_group_that_fails_closes_the_blocks_of_its_tasks() -> None:
    """Each task leaves its own block in order, anyio and asyncio alike."""
    for group_type in (asyncio.TaskGroup, anyio.create_task_group):
        order: list[str] = []
        entered = asyncio.Event()

        async def work(order: list[str] = order, entered: asyncio.Event = entered) -> None:
            async with Device(0) as device, Context() as context, Stream() as stream:
                _watch(order, device, context, stream)
                stream.call(int)
                entered.set()
                await asyncio.Event().wait()

        async def breaks(entered: asyncio.Event = entered) -> None:
            await entered.wait()
            raise Boom

        with pytest.raises(ExceptionGroup) as caught:  # noqa: PT012 - the block itself raises
            async with group_type() as group:
                for function in (work, breaks):
                    group.create_task(function()) if isinstance(group, asyncio.TaskGroup) else group.start_soon(
                        function
                    )
        assert isinstance(caught.value.exceptions[0], Boom)
        assert order == ORDER
    assert aacl.open_resources() == {}


async def test_work_submitted_while_the_stream_closes_is_refused() -> None:
    """From the moment the block ends nothing more is taken, though what is queued still runs."""
    async with Device(0) as device:
        stream = await Stream(device).open()
        with Hold(stream) as hold:
            queued = stream.call(lambda: "ran")
            closing = asyncio.create_task(stream.aclose())
            await asyncio.sleep(0)
            for submit in (lambda: stream.call(int), lambda: stream.execute(PythonWork(int)), stream.record_event):
                with pytest.raises(ClosedResource, match="closing"):
                    submit()
            with pytest.raises(ClosedResource):
                await stream.synchronize()
            hold.release()
            await closing
        assert await queued == "ran"


async def test_nothing_opens_in_a_device_that_closes() -> None:
    """A context or stream made while its device closes is refused."""
    device = await Device(0).open()
    stream = await Stream(device).open()
    with Hold(stream) as hold:
        closing = asyncio.create_task(device.aclose())
        await asyncio.sleep(0)
        for late in (Stream(device), Context(device), MemoryPool(100, device=device)):
            with pytest.raises(ClosedResource):
                await late.open()
        hold.release()
        await closing
    assert aacl.open_resources() == {}


def test_closing_from_another_thread_and_loop() -> None:
    """A stream opened by one loop is closed by another, or by a thread without any."""
    device = aacl.blocking.open_resource(Device(0))

    async def make() -> Stream:
        stream = await Stream(device).open()
        stream.call(int)
        return stream

    first, second = asyncio.run(make()), asyncio.run(make())
    asyncio.run(first.aclose())
    thread = threading.Thread(target=aacl.blocking.close, args=(second,))
    thread.start()
    thread.join()
    aacl.blocking.close(device)

    assert first.closed
    assert second.closed
