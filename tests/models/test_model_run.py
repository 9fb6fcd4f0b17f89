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
    ModelRunError,
    StreamError,
)
from aacl.memory import host_memory
from aacl.models import Model

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
    """The first run goes to a worker, since it may take any time; known to be short, a run is done at once."""
    async with aacl.Device(), aacl.Stream() as stream, Model(add_one) as model:
        run = model(await stream.to_device(X), out=aacl.empty((2, 3), np.float32))
        await stream.execute(run)
        assert stream.statistics().executed == 1

        at_once = False
        for _ in range(10_000):
            completion = stream.execute(run)
            at_once = completion.done()
            await completion
            if at_once:
                break

        assert at_once


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
