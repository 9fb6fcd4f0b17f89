"""Running models on device tensors."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt
import pytest
from onnx import TensorProto, helper, numpy_helper

import aacl
from aacl import blocking
from aacl.errors import (
    Aborted,
    ClosedResource,
    ModelInputMismatch,
    ModelOutputMismatch,
    ModelRunError,
    StreamError,
    WrongModelContext,
)
from aacl.memory import host_memory
from aacl.models import Model
from aacl.models._binding import Bindings
from aacl.models._uses import Tally, Uses

Build = Callable[..., Path]
Array = npt.NDArray[Any]

X = np.arange(6, dtype=np.float32).reshape(2, 3)


async def test_gives_new_outputs_each_time(add_one: Path) -> None:
    """Without `out`, each execution of one run makes a tensor of its own."""
    async with aacl.Device(), aacl.Stream() as stream, Model(add_one) as model:
        x = await stream.to_device(X)
        run = model(x)

        first, second = await stream.execute(run), await stream.execute(run)

        assert first.address != second.address
        np.testing.assert_array_equal(await stream.to_host(first), X + 1)
        np.testing.assert_array_equal(await stream.to_host(second), X + 1)


async def test_writes_into_the_outputs_given(add_one: Path) -> None:
    """With `out`, the same tensor is written each time, from what the input then holds."""
    async with aacl.Device(), aacl.Stream() as stream, Model(add_one) as model:
        x, y = await stream.to_device(X), aacl.empty((2, 3), np.float32)
        run = model(x, out=y)

        assert await stream.execute(run) is y
        np.testing.assert_array_equal(await stream.to_host(y), X + 1)
        await stream.copy(x, y)
        assert await stream.execute(run) is y

        np.testing.assert_array_equal(await stream.to_host(y), X + 2)


async def test_bound_run_looks_nothing_up(add_one: Path) -> None:
    """A run with `out` is tied to its memory once; it is tied again after a buffer was freed, and not before."""
    async with aacl.Device(), aacl.Stream() as stream, Model(add_one) as model:
        x, y, other = await stream.to_device(X), aacl.empty((2, 3), np.float32), aacl.empty((4,), np.float32)
        run = model(x, out=y)
        await stream.execute(run)
        epoch, bound = run._epoch, run._run
        await stream.execute(run)
        assert run._epoch is epoch

        other.free()
        await stream.execute(run)

        assert run._epoch is not epoch
        assert run._run is bound


async def test_several_outputs_come_as_a_tuple(sum_and_product: Path) -> None:
    """Two inputs by order or by name; two outputs, in the model's order."""
    a, b = np.array([1, 2, 3, 4], np.float32), np.array([5, 6, 7, 8], np.float32)
    async with aacl.Device(), aacl.Stream() as stream, Model(sum_and_product) as model:
        ta, tb = await stream.to_device(a), await stream.to_device(b)
        for run in (model(ta, tb), model(ta, b=tb), model(b=tb, a=ta)):
            total, product = await stream.execute(run)
            np.testing.assert_array_equal(await stream.to_host(total), a + b)
            np.testing.assert_array_equal(await stream.to_host(product), a * b)

        out = [aacl.empty((4,), np.float32), aacl.empty((4,), np.float32)]
        assert await stream.execute(model(ta, tb, out=out)) == tuple(out)


async def test_completions_serve_as_inputs(add_one: Path) -> None:
    """What is queued, and not done, is a good input for what comes after it in the stream."""
    gate = threading.Event()
    async with aacl.Device(), aacl.Stream() as stream, Model(add_one) as model:
        x = await stream.to_device(X)
        stream.call(gate.wait)
        first = stream.execute(model(x))
        second = stream.execute(model(x=first))
        assert not first.done()

        gate.set()

        np.testing.assert_array_equal(await stream.to_host(await second), X + 2)


async def test_host_memory_serves_as_device_memory(add_one: Path) -> None:
    """C056: tensors on host memory are read and written where they lie."""
    x, y = X.copy(), np.zeros_like(X)
    async with aacl.Device(), aacl.Stream() as stream, Model(add_one) as model:
        desc = aacl.TensorDesc.of(np.float32, (2, 3))
        tensors = [aacl.Tensor(desc, host_memory(each.ctypes.data, each.nbytes)) for each in (x, y)]

        await stream.execute(model(tensors[0], out=tensors[1]))

        np.testing.assert_array_equal(y, X + 1)


async def test_tensors_may_lie_in_larger_buffers(add_one: Path) -> None:
    """Inputs and outputs at offsets of one larger buffer are used in place, and nothing around them is written."""
    async with aacl.Device() as device, aacl.Stream() as stream, Model(add_one) as model:
        buffer = device.allocate(256)
        buffer.view((256,), np.uint8)[:] = 0xEE
        desc = aacl.TensorDesc.of(np.float32, (2, 3))
        x, y = aacl.Tensor(desc, buffer, 4), aacl.Tensor(desc, buffer, 100)
        x.view()[:] = X

        await stream.execute(model(x, out=y))

        np.testing.assert_array_equal(y.view(), X + 1)
        kept = buffer.view((256,), np.uint8)
        assert set(kept[:4]) | set(kept[28:100]) | set(kept[124:]) == {0xEE}


@pytest.mark.parametrize(
    ("values", "op", "wanted"),
    [
        (np.array([1, -2, float("nan")], ml_dtypes.bfloat16), "Identity", None),
        (np.array([1, 65504, -0.5], np.float16), "Neg", np.array([-1, -65504, 0.5], np.float16)),
        (np.array([2**40, -5]), "Neg", np.array([-(2**40), 5])),
        (np.array([True, False, True]), "Not", np.array([False, True, False])),
        (np.array([200, 7], np.uint8), "Identity", None),
        (np.array(4, np.float32), "Neg", np.array(-4, np.float32)),
        (np.array([1e300]), "Neg", np.array([-1e300])),
    ],
)
async def test_every_kind_of_element_runs(values: Array, op: str, wanted: Array | None, build: Build) -> None:
    """C161, C163, C165, C166: 16-bit floats, wide integers, bools and scalars keep their bits."""
    element = helper.np_dtype_to_tensor_dtype(values.dtype)
    value = [("x", element, values.shape)], [("y", element, values.shape)]
    path = build("kind", [helper.make_node(op, ["x"], ["y"])], *value)
    async with aacl.Device(), aacl.Stream() as stream, Model(path) as model:
        y = await stream.to_host(await stream.execute(model(await stream.to_device(values))))
        z = await model.infer(values)

        wanted = values if wanted is None else wanted
        assert (y.tobytes(), y.shape, y.dtype) == (wanted.tobytes(), wanted.shape, wanted.dtype)
        assert (z.tobytes(), z.shape, z.dtype) == (wanted.tobytes(), wanted.shape, wanted.dtype)


async def test_empty_output_is_a_result(build: Build) -> None:
    """C103, C162: an output without elements comes with its shape."""
    ends = numpy_helper.from_array(np.array([0]), "zero")
    node = helper.make_node("Slice", ["x", "zero", "zero"], ["y"])
    path = build("none", [node], [("x", TensorProto.FLOAT, [3, 4])], [("y", TensorProto.FLOAT, [0, 4])], [ends])
    x = np.ones((3, 4), np.float32)
    async with aacl.Device(), aacl.Stream() as stream, Model(path) as model:
        assert (await model.infer(x)).shape == (0, 4)
        y = await stream.execute(model(await stream.to_device(x)))
        assert (await stream.to_host(y)).shape == (0, 4)


async def test_inputs_that_do_not_fit_are_refused(sum_and_product: Path) -> None:
    """C079, C080: count, names, dtype and shape are checked at the call; the text names the input and both sides."""
    async with aacl.Device(), aacl.Stream() as stream, Model(sum_and_product) as model:
        good = await stream.to_device(np.ones(4, np.float32))
        half = await stream.to_device(np.ones(4, np.float16))
        long = await stream.to_device(np.ones(5, np.float32))
        array: Any = np.ones(4, np.float32)
        read: Any = stream.to_host(good)
        table: list[tuple[Callable[[], object], str]] = [
            (lambda: model(), "2 inputs .*; 0 were given, 'a', 'b' missing"),
            (lambda: model(good), "1 were given, 'b' missing"),
            (lambda: model(good, good, good), "3 were given"),
            (lambda: model(good, c=good), "'c' is none of them"),
            (lambda: model(good, good, b=good), "'b' was given by order too"),
            (lambda: model(good, half), r"input 1 \('b'\).*FLOAT of shape \[4\] \(16 bytes\).*FLOAT16.*\(8 bytes\)"),
            (lambda: model(a=long, b=good), r"input 0 \('a'\).*\[4\] \(16 bytes\).*\[5\] \(20 bytes\)"),
            (lambda: model(good, array), "to_device.*infer"),
            (lambda: model(good, read), "makes no tensors"),
        ]
        for call, words in table:
            with pytest.raises(ModelInputMismatch, match=words):
                call()


async def test_outputs_that_do_not_fit_are_refused(sum_and_product: Path) -> None:
    """Outputs are checked like inputs, and must share no memory with each other or with an input."""
    async with aacl.Device() as device, aacl.Stream() as stream, Model(sum_and_product) as model:
        a, b = await stream.to_device(np.ones(4, np.float32)), await stream.to_device(np.ones(4, np.float32))
        y, z, wrong = aacl.empty((4,), np.float32), aacl.empty((4,), np.float32), aacl.empty((4,), np.int32)
        buffer = device.allocate(64)
        desc = aacl.TensorDesc.of(np.float32, (4,))
        low, high = aacl.Tensor(desc, buffer), aacl.Tensor(desc, buffer, 8)
        array: Any = np.ones(4, np.float32)
        table: list[tuple[Any, str]] = [
            (y, "2 outputs .*; 1 were given"),
            ([y, z, y], "3 were given"),
            ([y, wrong], r"output 1 .*FLOAT.*INT32"),
            ([y, array], r"output 1 .*FLOAT of shape \[4\] \(16 bytes\)"),
            ([y, a], "over .*, which it uses too"),
            ([y, y], "over .*, which it uses too"),
            ([low, high], "over .*, which it uses too"),
        ]
        for out, words in table:
            with pytest.raises(ModelOutputMismatch, match=words):
                model(a, b, out=out)


async def test_another_device_is_refused(add_one: Path) -> None:
    """C024: a model runs on the device where it was loaded, on tensors that lie there."""
    async with aacl.Device(0), aacl.Stream() as here, Model(add_one) as model:
        x = await here.to_device(X)
        async with aacl.Device(1), aacl.Stream() as there:
            far = await there.to_device(X)
            with pytest.raises(WrongModelContext, match=r"loaded on device 0.*device 1"):
                there.execute(model(x))
            with pytest.raises(WrongModelContext):
                await model.infer(X, stream=there)
            with pytest.raises(ModelInputMismatch, match="is on device 1"):
                model(far)
            with pytest.raises(ModelOutputMismatch, match="is on device 1"):
                model(x, out=aacl.empty((2, 3), np.float32))

        np.testing.assert_array_equal(await here.to_host(await here.execute(model(x))), X + 1)


async def test_freed_tensors_are_refused(add_one: Path) -> None:
    """A run whose input or output was freed raises ClosedResource when it is executed, tied before or not."""
    async with aacl.Device(), aacl.Stream() as stream, Model(add_one) as model:
        x, y = await stream.to_device(X), aacl.empty((2, 3), np.float32)
        fresh, bound = model(x), model(x, out=y)
        await stream.execute(bound)

        y.free()
        with pytest.raises(ClosedResource):
            stream.execute(bound)
        x.free()
        with pytest.raises(ClosedResource):
            stream.execute(fresh)


async def test_failed_run_poisons_nothing(pick: Path) -> None:
    """C077: a run that fails raises ModelRunError with the model's and the node's name; the next one works."""
    values = np.arange(4, dtype=np.float32)
    async with aacl.Device(), aacl.Stream() as stream, Model(pick) as model:
        x = await stream.to_device(values)
        bad, good = await stream.to_device(np.array([9])), await stream.to_device(np.array([2]))

        with pytest.raises(ModelRunError, match=r"'pick'.*pick_one.*idx=9"):
            await stream.execute(model(x, bad))

        assert (await stream.to_host(await stream.execute(model(x, good))))[0] == 2
        statistics = model.statistics()
        assert (statistics.runs, statistics.errors, statistics.queued) == (1, 1, 0)


async def test_failure_surfaces_at_synchronise_of_its_stream_alone(pick: Path) -> None:
    """C044: a failure that nobody received is told by the next synchronise of that stream, once."""
    gate = threading.Event()
    async with aacl.Device(), aacl.Stream() as bad, Model(pick) as model:
        x = await bad.to_device(np.arange(4, dtype=np.float32))
        index, fine = await bad.to_device(np.array([-9])), await bad.to_device(np.array([3]))
        good = await aacl.Stream().open()
        bad.call(gate.wait)
        bad.execute(model(x, index))
        after = bad.execute(model(x, fine))
        gate.set()

        assert (await good.to_host(await good.execute(model(x, fine))))[0] == 3
        await good.synchronize()
        assert (await bad.to_host(await after))[0] == 3
        with pytest.raises(StreamError, match="pick_one"):
            await bad.synchronize()
        await bad.synchronize()


async def test_run_on_a_failed_input_fails_with_the_same_cause(pick: Path) -> None:
    """Nothing runs on garbage: a model whose input was never made fails with what its maker failed with."""
    async with aacl.Device(), aacl.Stream() as stream, Model(pick) as model:
        x = await stream.to_device(np.arange(4, dtype=np.float32))
        failed = stream.execute(model(x, await stream.to_device(np.array([9]))))
        with pytest.raises(ModelRunError) as first:
            await failed

        negated = stream.execute(aacl.ops.Neg(failed))
        with pytest.raises(ModelRunError) as second:
            await negated

        assert second.value is first.value


async def test_streams_share_a_model(add_one: Path) -> None:
    """Runs submitted to several streams at once, from several threads, each give their own answer."""
    async with aacl.Device() as device, Model(add_one) as model:
        streams = [await aacl.Stream(device).open() for _ in range(3)]

        def work(number: int) -> list[bool]:
            stream, good = streams[number], []
            for turn in range(100):
                values = np.full((2, 3), number * 1000 + turn, np.float32)
                x = blocking.wait(stream.to_device(values))
                y = blocking.wait(stream.to_host(stream.execute(model(x))))
                good.append(bool((y == values + 1).all()))
            return good

        answers = await asyncio.gather(*[asyncio.to_thread(work, number) for number in range(3)])

        assert all(map(all, answers))
        assert model.statistics().runs == 300


async def test_streams_take_turns_on_the_same_memory(slow: Path) -> None:
    """One run, with its outputs given, submitted to two streams at once is right: never two at a time."""
    values = np.random.default_rng(0).random((1024, 1024), np.float32)
    async with aacl.Device(), aacl.Stream() as stream, aacl.Stream() as other, Model(slow) as model:
        x, y = await stream.to_device(values), aacl.empty((1024, 1024), np.float32)
        run = model(x, out=y)

        await asyncio.gather(stream.execute(run), other.execute(run))

        np.testing.assert_array_equal(await stream.to_host(y), values)
        assert model.statistics().runs == 2


async def test_short_model_comes_to_run_where_it_is_submitted(add_one: Path) -> None:
    """The first run goes to a worker, since it may take any time; once known to be short, runs are done at once."""
    async with aacl.Device(), aacl.Stream() as stream, Model(add_one) as model:
        run = model(await stream.to_device(X), out=aacl.empty((2, 3), np.float32))
        first = stream.execute(run)
        assert stream.statistics().queued + stream.statistics().running + first.done() > 0
        await first

        done = 0
        for _ in range(200):
            completion = stream.execute(run)
            done += completion.done()
            await completion

        assert stream.statistics().executed < 200
        assert done > 100


async def test_long_model_never_runs_on_the_loop(slow: Path) -> None:
    """However often it has run, a long model is not done when its submission returns."""
    async with aacl.Device(), aacl.Stream() as stream, Model(slow) as model:
        run = model(await stream.to_device(np.eye(1024, dtype=np.float32)), out=aacl.empty((1024, 1024), np.float32))
        for _ in range(4):
            completion = stream.execute(run)
            assert not completion.done()
            await completion


async def test_two_models_in_a_row_need_no_wait(add_one: Path, build: Build) -> None:
    """Models, operators and copies of one stream run in order."""
    negate = build(
        "negate",
        [helper.make_node("Neg", ["x"], ["y"])],
        [("x", TensorProto.FLOAT, [2, 3])],
        [("y", TensorProto.FLOAT, [2, 3])],
    )
    async with aacl.Device(), aacl.Stream() as stream, Model(add_one) as first, Model(negate) as second:
        x = stream.to_device(X)
        y = stream.execute(first(x))
        z = stream.execute(second(stream.execute(aacl.ops.Add(y, y))))

        np.testing.assert_array_equal(await stream.to_host(z), -2 * (X + 1))


class FakeEngine:
    """Counts the bindings it makes."""

    def __init__(self) -> None:
        self.bound = 0

    def bind(self, *_arrays: object) -> Callable[[], object]:
        self.bound += 1
        return lambda: None

    def close(self) -> None:
        self.bound = -1


async def test_bindings_are_kept_by_address_and_bounded() -> None:
    """The same addresses are bound once; of many, those not used for longest are bound anew."""
    engine: Any = FakeEngine()
    bindings = Bindings(engine, Uses(), "model")
    async with aacl.Device():
        x = aacl.empty((4,), np.float32)
        outputs = [aacl.empty((4,), np.float32) for _ in range(300)]

        first = bindings.find((x,), (outputs[0],))
        assert bindings.find((x,), (outputs[0],)) is first
        for output in outputs[1:]:
            bindings.find((x,), (output,))
            bindings.find((x,), (outputs[0],))

        assert bindings.find((x,), (outputs[0],)) is first
        assert engine.bound == 300
        assert len(bindings) == 256
        bindings.find((x,), (outputs[1],))
        assert engine.bound == 301


async def test_fresh_outputs_find_their_bindings_again(add_one: Path) -> None:
    """C170: runs that make new outputs get memory back that was used before, and bind hardly anything anew."""
    async with aacl.Device() as device, aacl.Stream() as stream, Model(add_one) as model:
        x = await stream.to_device(X)
        for _ in range(50):
            await stream.execute(model(x))
        bound, used = len(model._bindings), device.memory().used

        for _ in range(500):
            await stream.execute(model(x))

        assert len(model._bindings) <= bound + 2
        assert device.memory().used <= used + 128


def test_tally_counts_steps_from_many_threads() -> None:
    """No step is lost, and looking does not count."""
    tally = Tally()

    def step() -> None:
        for _ in range(5000):
            tally.step()

    threads = [threading.Thread(target=step) for _ in range(4)]
    for thread in threads:
        thread.start()
    looked = [tally.value for _ in range(10)]
    for thread in threads:
        thread.join()

    assert looked == sorted(looked)
    assert (tally.value, tally.value) == (20000, 20000)


async def test_dropped_run_does_not_count(add_one: Path) -> None:
    """Runs that abort() drops are neither runs nor errors, and the model forgets them."""
    gate = threading.Event()
    async with aacl.Device(), aacl.Stream() as stream, Model(add_one) as model:
        x = await stream.to_device(X)
        stream.call(gate.wait)
        runs = [stream.execute(model(x)) for _ in range(3)]
        assert model.statistics().queued == 3

        await stream.abort()
        gate.set()

        assert all(isinstance(run.exception(), Aborted) for run in runs)
        assert model.statistics()[:4] == (0, 0, 0, 0)
