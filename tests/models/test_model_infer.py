"""Inference from host arrays to host arrays."""

from __future__ import annotations

import asyncio
import gc
import threading
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

import aacl
from aacl.backends.cpu import models
from aacl.errors import ClosedResource, ModelInputMismatch, ModelRunError, NotCurrent, OutOfMemory
from aacl.models import Model
from tests.helpers import Hold

Build = Callable[..., Path]
Until = Callable[[Callable[[], bool]], Awaitable[None]]

X = np.arange(6, dtype=np.float32).reshape(2, 3)


async def test_takes_and_gives_host_arrays(sum_and_product: Path, add_one: Path) -> None:
    """One output comes as an array, several as a tuple; inputs go by order or by name."""
    a, b = np.array([1, 2, 3, 4], np.float32), np.array([5, 6, 7, 8], np.float32)
    async with aacl.Device(), aacl.Stream(), Model(sum_and_product) as two, Model(add_one) as one:
        for total, product in (await two.infer(a, b), await two.infer(b=b, a=a), await two.infer(a, b=b)):
            np.testing.assert_array_equal(total, a + b)
            np.testing.assert_array_equal(product, a * b)

        y = await one.infer(X)

        assert type(y) is np.ndarray
        np.testing.assert_array_equal(y, X + 1)


async def test_lists_and_strided_arrays_are_taken(add_one: Path) -> None:
    """Plain numbers get the input's dtype; arrays need not be contiguous."""
    async with aacl.Device(), aacl.Stream(), Model(add_one) as model:
        np.testing.assert_array_equal(await model.infer([[0, 1, 2], [3, 4, 5]]), X + 1)
        np.testing.assert_array_equal(await model.infer(X.T.copy().T), X + 1)
        np.testing.assert_array_equal(await model.infer(X[:, ::-1]), X[:, ::-1] + 1)


async def test_results_are_independent(add_one: Path) -> None:
    """C062: each result keeps its values, whatever runs later."""
    async with aacl.Device(), aacl.Stream(), Model(add_one) as model:
        results = [await model.infer(X * number) for number in range(4)]
        for _ in range(100):
            await model.infer(X - 7)

        for number, result in enumerate(results):
            np.testing.assert_array_equal(result, X * number + 1)


async def test_concurrent_requests_get_their_own_answers(add_one: Path) -> None:
    """C150: each of many tasks that share a model and a stream gets the answer to its own question."""
    async with aacl.Device(), aacl.Stream(), Model(add_one) as model:

        async def ask(number: int) -> bool:
            answer = await model.infer(np.full((2, 3), number, np.float32))
            await asyncio.sleep(0)
            return bool((answer == number + 1).all())

        assert all(await asyncio.gather(*[ask(number) for number in range(200)]))


async def test_runs_on_the_stream_given(add_one: Path) -> None:
    """A stream may be named; without one, and without a current one, NotCurrent is raised."""
    async with aacl.Device(), Model(add_one) as model:
        with pytest.raises(NotCurrent):
            await model.infer(X)
        stream = await aacl.Stream().open()

        np.testing.assert_array_equal(await model.infer(X, stream=stream), X + 1)

        await stream.aclose()
        with pytest.raises(ClosedResource):
            await model.infer(X, stream=stream)


async def test_arguments_that_do_not_fit_are_refused(add_one: Path) -> None:
    """Exact dtypes and shapes are asked of arrays; device tensors are sent to the other call."""
    async with aacl.Device(), aacl.Stream() as stream, Model(add_one) as model:
        tensor = await stream.to_device(X)
        table: list[tuple[tuple[Any, ...], str]] = [
            ((), "'x' missing"),
            ((X, X), "2 were given"),
            ((X.astype(np.float64),), r"FLOAT of shape \[2, 3\] \(24 bytes\).*float64.*\(48 bytes\)"),
            ((X.T,), r"\[3, 2\]"),
            ((X.astype(np.uint8),), r"uint8.*\(6 bytes\)"),
            (([[1, 2], [3]],), "no array of FLOAT"),
            (("text",), "no array of FLOAT"),
            (([1, 2],), r"\[2\]"),
            ((tensor,), "execute"),
        ]
        for arguments, words in table:
            with pytest.raises(ModelInputMismatch, match=words):
                await model.infer(*arguments)
        assert model.statistics().runs == 0


async def test_failure_reaches_the_waiter_alone(pick: Path) -> None:
    """A failed inference raises ModelRunError once; the stream has nothing left to report, and the next one works."""
    values = np.arange(4, dtype=np.float32)
    async with aacl.Device(), aacl.Stream() as stream, Model(pick) as model:
        with pytest.raises(ModelRunError, match="pick_one"):
            await model.infer(values, np.array([9]))

        await stream.synchronize()
        assert (await model.infer(values, np.array([1])))[0] == 1


async def test_the_note_names_no_line_of_the_loop(pick: Path) -> None:
    """A failure tells the line that awaits; where a task begins with the inference nobody knows it, and none is told."""
    values, wrong = np.arange(4, dtype=np.float32), np.array([9])
    async with aacl.Device(), aacl.Stream(), Model(pick) as model:
        with pytest.raises(ModelRunError) as awaited:
            await model.infer(values, wrong)
        with pytest.raises(ModelRunError) as alone:
            await asyncio.create_task(model.infer(values, wrong))

    assert __file__ in "".join(awaited.value.__notes__)
    assert not getattr(alone.value, "__notes__", [])


async def test_cancelled_wait_is_no_result(add_one: Path, until: Until) -> None:
    """C146: a cancelled inference raises CancelledError, is counted, and leaves the model as usable as before."""
    gate = threading.Event()
    async with aacl.Device(), aacl.Stream() as stream, Model(add_one) as model:
        stream.call(gate.wait)
        task = asyncio.create_task(model.infer(X))
        await until(lambda: model.statistics().queued == 1)

        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(model.infer(X), 0.001)
        gate.set()
        await stream.synchronize()

        np.testing.assert_array_equal(await model.infer(X), X + 1)
        statistics = model.statistics()
        assert (statistics.cancelled, statistics.runs, statistics.errors) == (2, 3, 0)


async def test_full_stream_is_waited_for(add_one: Path) -> None:
    """C151: on a bounded stream inferences wait for room, hold no device memory meanwhile, and all get answers."""
    async with aacl.Device() as device, aacl.Stream(limit=4) as stream, Model(add_one) as model:
        gate = threading.Event()
        stream.call(gate.wait)
        before = device.memory().used
        tasks = [asyncio.create_task(model.infer(X + number)) for number in range(100)]
        for _ in range(5):
            await asyncio.sleep(0)
        queued, used = stream.statistics().queued, device.memory().used
        tasks[50].cancel()
        gate.set()

        answers = await asyncio.gather(*tasks, return_exceptions=True)

        assert queued <= 4
        assert used - before <= 4 * 2 * 64
        assert isinstance(answers.pop(50), asyncio.CancelledError)
        for number, answer in zip([*range(50), *range(51, 100)], answers, strict=True):
            np.testing.assert_array_equal(answer, X + number + 1)


async def test_full_device_is_an_error(add_one: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An inference for whose tensors there is no room raises OutOfMemory; with room it works."""
    monkeypatch.setenv("AACL_DEVICE_MEMORY", "1M")
    async with aacl.Device() as device, aacl.Stream(), Model(add_one) as model:
        taken = device.allocate(device.memory().free - 64)
        with pytest.raises(OutOfMemory):
            await model.infer(X)

        taken.free()

        np.testing.assert_array_equal(await model.infer(X), X + 1)


async def test_loop_stays_alive(slow: Path) -> None:
    """C140: while 8 inferences of some 100 ms run, a 1 ms ticker never waits 30 ms, and a 20 ms sleep ends in 60 ms."""
    x = np.random.default_rng(0).random((1024, 1024), np.float32)
    async with aacl.Device(), aacl.Stream(), Model(slow) as model:
        await model.infer(x)

        async def attempt() -> bool:
            gaps: list[float] = []
            ticker = asyncio.create_task(_tick(gaps))
            tasks = [asyncio.create_task(model.infer(x)) for _ in range(8)]
            began = time.perf_counter()
            await asyncio.sleep(0.020)
            slept = time.perf_counter() - began
            running = [task for task in tasks if not task.done()]
            results = await asyncio.gather(*tasks)
            ticker.cancel()
            assert running
            assert all((result == x).all() for result in results)
            return max(gaps) < 0.030 and slept < 0.060

        # The machine may hold up any of them; a run on the loop's thread holds up all.
        assert await attempt() or await attempt() or await attempt()


async def _tick(gaps: list[float]) -> None:
    last = time.perf_counter()
    while True:
        await asyncio.sleep(0.001)
        now = time.perf_counter()
        gaps.append(now - last)
        last = now


async def test_interpreter_goes_on_during_a_run(slow: Path) -> None:
    """C142: a thread of pure Python makes progress all along an inference: the run holds no interpreter lock."""
    x = np.zeros((1024, 1024), np.float32)
    async with aacl.Device(), aacl.Stream(), Model(slow) as model:
        await model.infer(x)
        beats: list[float] = []
        stop = threading.Event()

        def beat() -> None:
            while not stop.wait(0.005):
                beats.append(time.perf_counter())

        thread = threading.Thread(target=beat)
        thread.start()
        began = time.perf_counter()
        await model.infer(x)
        took = time.perf_counter() - began
        stop.set()
        thread.join()

        assert len(beats) > took / 0.005 / 4


async def test_thousand_inferences_leave_nothing(add_one: Path) -> None:
    """C170: after warming up, memory of the device and of the process, and threads, stay where they are."""
    async with aacl.Device() as device, aacl.Stream() as stream, Model(add_one) as model:
        x = await stream.to_device(X)

        async def turn() -> None:
            await model.infer(X)
            await stream.execute(model(x))

        for _ in range(200):
            await turn()
        gc.collect()
        before = (device.memory().used, threading.active_count(), _resident())

        for _ in range(2000):
            await turn()
        gc.collect()

        assert device.memory().used <= before[0] + 256
        assert threading.active_count() <= before[1]
        assert _resident() - before[2] < 2_000_000


def _resident() -> int:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * 4096


@pytest.mark.parametrize("copies", [0, 1])
async def test_input_is_read_when_the_run_begins(copies: int, add_one: Path, until: Until) -> None:
    """The array is not copied beforehand: a change before the run is seen, and none after it."""
    gate = threading.Event()
    async with aacl.Device(), aacl.Stream() as stream, Model(add_one) as model:
        x = X.copy()
        stream.call(gate.wait)
        task = asyncio.create_task(model.infer(x.copy() if copies else x))
        await until(lambda: model.statistics().queued == 1)
        x += 100
        gate.set()

        np.testing.assert_array_equal(await task, X + 1 + (0 if copies else 100))


async def test_results_are_nobody_elses_memory(build: Build) -> None:
    """A result that repeats an input may be written, and so may the input: neither changes the other."""
    nodes = [helper.make_node("Identity", ["x"], ["y"]), helper.make_node("Reshape", ["x", "flat"], ["z"])]
    flat = numpy_helper.from_array(np.array([-1]), "flat")
    same = build(
        "same", nodes, [("x", TensorProto.FLOAT, [2, 3])],
        [("y", TensorProto.FLOAT, [2, 3]), ("z", TensorProto.FLOAT, [6])], [flat],
    )  # fmt: skip
    x = X.copy()
    async with aacl.Device(), aacl.Stream(), Model(same) as model:
        y, z = await model.infer(x)
        y[...], x[...] = -1, -2
        again, _ = await model.infer(X)
        z[...] = -3

        np.testing.assert_array_equal(again, X)
        assert (x == -2).all()
    np.testing.assert_array_equal(again, X)  # the model is closed, and its results are still there


async def test_dtypes_that_numpy_lacks_are_taken(build: Build) -> None:
    """A bfloat16 model takes and gives arrays of ml_dtypes' bfloat16; scalars come as arrays without dims."""
    bfloat16 = aacl.DataType.BF16.numpy_dtype
    nodes = [
        helper.make_node("Cast", ["x"], ["f"], to=TensorProto.FLOAT),
        helper.make_node("Neg", ["f"], ["g"]),
        helper.make_node("Cast", ["g"], ["y"], to=TensorProto.BFLOAT16),
    ]
    negative = build("negative", nodes, [("x", TensorProto.BFLOAT16, [])], [("y", TensorProto.BFLOAT16, [])])
    async with aacl.Device(), aacl.Stream(), Model(negative) as model:
        y = await model.infer(np.array(1.5, bfloat16))

        assert (y.dtype, y.shape, float(y)) == (bfloat16, (), -1.5)


async def test_inferences_at_once_run_beside_each_other(add_one: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those that wait together run on several cores, in a session whose runs take one each; alone, one takes all."""
    monkeypatch.setenv("AACL_CORES", "2")
    sessions: list[int] = []
    open_session = models.open_session

    def noted(graph: Any, profile: str = "", threads: int = 0) -> Any:
        sessions.append(threads)
        return open_session(graph, profile, threads)

    monkeypatch.setattr(models, "open_session", noted)
    async with aacl.Device(1), aacl.Stream() as stream, Model(add_one) as model:
        await model.infer(X)
        assert sessions == [0]
        with Hold(stream):
            tasks = [asyncio.create_task(model.infer(X * number)) for number in range(50)]
            await asyncio.sleep(0)
        results = await asyncio.gather(*tasks)

        assert sessions == [0, 1]
        assert model.statistics()[:2] == (51, 0)
    for number, result in enumerate(results):
        np.testing.assert_array_equal(result, X * number + 1)
