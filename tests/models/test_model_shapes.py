"""Models of several shapes: gears, ranges, and outputs whose shape only the run tells."""

from __future__ import annotations

import gc
import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from onnx import TensorProto, helper, numpy_helper

import aacl
from aacl.dtypes import DataType
from aacl.errors import InvalidArgument, ModelInputMismatch, ModelOutputMismatch, OutOfMemory
from aacl.models import GearKind, Gears, Model, TensorSpec

Pack = Callable[..., bytes]
FLOAT = TensorProto.FLOAT


def value(name: str, element: int, dims: list[int | str] | None) -> object:
    return helper.make_tensor_value_info(name, element, dims)


@pytest.fixture(scope="module")
def gears(pack: Pack) -> bytes:
    """Y = 2 a + b row by row for batches of 1, 4 and 8; b has one element a row."""
    three = Gears(
        GearKind.BATCH,
        ((1,), (4,), (8,)),
        tuple((((n, 3), (n, 1))) for n in (1, 4, 8)),
        tuple(((n, 3),) for n in (1, 4, 8)),
    )
    return pack(
        [helper.make_node("Add", ["a", "a"], ["twice"]), helper.make_node("Add", ["twice", "b"], ["y"])],
        [value("a", FLOAT, ["n", 3]), value("b", FLOAT, ["n", 1])],
        [value("y", FLOAT, ["n", 3])],
        [
            TensorSpec("a", DataType.FLOAT, (-1, 3), ranges=((1, 8), (3, 3))),
            TensorSpec("b", DataType.FLOAT, (-1, 1), ranges=((1, 8), (1, 1))),
        ],
        [TensorSpec("plus:0:y", DataType.FLOAT, (8, 3))],
        gears=three,
    )


@pytest.fixture(scope="module")
def doubled(pack: Pack) -> bytes:
    """Y = x + x for x of [2..6, any]."""
    ranges = ((2, 6), (0, -1))
    return pack(
        [helper.make_node("Add", ["x", "x"], ["y"])],
        [value("x", FLOAT, ["rows", "columns"])],
        [value("y", FLOAT, ["rows", "columns"])],
        [TensorSpec("x", DataType.FLOAT, (-1, -1), ranges=ranges)],
        [TensorSpec("add:0:y", DataType.FLOAT, (-1, -1), ranges=ranges)],
        name="doubled",
    )


@pytest.fixture(scope="module")
def nonzero(pack: Pack) -> bytes:
    """Where x of [any, any] is not zero, and x with the negative ones as 0; the first shape only the run tells."""
    free = ((0, -1), (0, -1))
    return pack(
        [helper.make_node("Relu", ["x"], ["positive"]), helper.make_node("NonZero", ["positive"], ["where"])],
        [value("x", FLOAT, ["rows", "columns"])],
        [value("where", TensorProto.INT64, [2, "found"]), value("positive", FLOAT, ["rows", "columns"])],
        [TensorSpec("x", DataType.FLOAT, (-1, -1), ranges=free)],
        [
            TensorSpec("nonzero:0:where", DataType.INT64, (2, -1), ranges=((2, 2), (0, -1))),
            TensorSpec("relu:0:positive", DataType.FLOAT, (-1, -1), ranges=free),
        ],
        name="nonzero",
    )


@pytest.fixture(scope="module")
def compress(pack: Pack) -> bytes:
    """The positive elements of a fixed x of [6]."""
    zero = numpy_helper.from_array(np.zeros((), np.float32), "zero")
    return pack(
        [helper.make_node("Greater", ["x", "zero"], ["c"]), helper.make_node("Compress", ["x", "c"], ["y"], axis=0)],
        [value("x", FLOAT, [6])],
        [value("y", FLOAT, ["n"])],
        [TensorSpec("x", DataType.FLOAT, (6,))],
        [TensorSpec("compress:0:y", DataType.FLOAT, (-1,), ranges=((0, 6),))],
        constants=[zero],
        name="compress",
    )


@pytest.fixture(scope="module")
def squared(pack: Pack) -> bytes:
    """Y = x * x for x of one dim, up to 100 elements."""
    return pack(
        [helper.make_node("Mul", ["x", "x"], ["y"])],
        [value("x", FLOAT, ["n"])],
        [value("y", FLOAT, ["n"])],
        [TensorSpec("x", DataType.FLOAT, (-1,), ranges=((0, 100),))],
        [TensorSpec("mul:0:y", DataType.FLOAT, (-1,), ranges=((0, 100),))],
        name="squared",
    )


def matrix(rows: int, columns: int, seed: int = 0) -> np.ndarray[tuple[int, ...], np.dtype[np.float32]]:
    return np.random.default_rng(seed).standard_normal((rows, columns)).astype(np.float32)


async def test_gear_follows_from_the_shapes_of_all_inputs(gears: bytes) -> None:
    """Every gear gives outputs of its own exact shape, one after the other and back."""
    async with aacl.Device(), aacl.Stream() as stream, Model(gears) as model:
        for rows in (4, 1, 8, 4, 1):
            a, b = matrix(rows, 3, rows), matrix(rows, 1, rows + 1)
            y = await stream.execute(model(await stream.to_device(a), await stream.to_device(b)))

            assert y.shape == (rows, 3)
            np.testing.assert_array_equal(np.asarray(y), a + a + b)
            np.testing.assert_array_equal(await model.infer(a, b), a + a + b)


async def test_model_says_its_gears(gears: bytes, doubled: bytes, add_one: Path) -> None:
    """`Model.gears` has the values; a model of fixed or free dims has none."""
    async with aacl.Device(), Model(gears) as model, Model(doubled) as ranged, Model(add_one) as fixed:
        assert model.gears is not None
        assert model.gears.values == ((1,), (4,), (8,))
        assert ranged.gears is None
        assert fixed.gears is None


async def test_shape_that_is_no_gear_is_refused(gears: bytes) -> None:
    """The error names the input, the shape and the gears; shapes of two gears at once are refused together."""
    async with aacl.Device(), aacl.Stream() as stream, Model(gears) as model:
        with pytest.raises(ModelInputMismatch, match=r"'a'.*gears are 1, 4, 8.*\[3, 3\]"):
            model(await stream.to_device(matrix(3, 3)), await stream.to_device(matrix(3, 1)))
        with pytest.raises(ModelInputMismatch, match=r"no gear together.*'a' \[4, 3\], 'b' \[8, 1\]"):
            model(await stream.to_device(matrix(4, 3)), await stream.to_device(matrix(8, 1)))
        with pytest.raises(ModelInputMismatch, match="gears are 1, 4, 8"):
            await model.infer(matrix(2, 3), matrix(2, 1))


async def test_prepared_run_of_a_gear_is_tied_once(gears: bytes) -> None:
    """A run with outputs of the gear's shape is prepared once, as that of a fixed model is."""
    async with aacl.Device(), aacl.Stream() as stream, Model(gears) as model:
        a, b = await stream.to_device(matrix(4, 3)), await stream.to_device(matrix(4, 1))
        out = aacl.empty((4, 3), np.float32)
        run = model(a, b, out=out)
        await stream.execute(run)
        bound = run._run

        assert await stream.execute(run) is out
        assert run._run is bound


async def test_outputs_of_a_gear_may_be_larger(gears: bytes) -> None:
    """One tensor for the largest gear takes the outputs of all, and has the exact shape of the latest."""
    async with aacl.Device(), aacl.Stream() as stream, Model(gears) as model:
        out = aacl.empty((8, 3), np.float32)
        for rows in (4, 8, 1, 8):
            a, b = matrix(rows, 3, rows), matrix(rows, 1)
            run = model(await stream.to_device(a), await stream.to_device(b), out=out)
            done = stream.execute(run)

            assert done.output.shape == (rows, 3)
            assert (await done) is out
            np.testing.assert_array_equal(np.asarray(out), a + a + b)
        small = aacl.empty((3, 3), np.float32)
        with pytest.raises(ModelOutputMismatch, match=r"\[8, 3\] \(96 bytes\)"):
            model(await stream.to_device(matrix(8, 3)), await stream.to_device(matrix(8, 1)), out=small)


@settings(max_examples=15, deadline=None)
@given(st.lists(st.tuples(st.integers(2, 6), st.integers(0, 40)), min_size=1, max_size=6))
async def test_any_shape_within_the_ranges_runs(doubled: bytes, shapes: list[tuple[int, int]]) -> None:
    """Tensors and arrays of any shape within the ranges give results of exactly that shape."""
    async with aacl.Device(), aacl.Stream() as stream, Model(doubled) as model:
        for rows, columns in shapes:
            x = matrix(rows, columns)
            completion = stream.execute(model(await stream.to_device(x)))

            assert completion.output.shape == x.shape  # from the names of the dims, before the run is over
            np.testing.assert_array_equal(np.asarray(await completion), x + x)
            np.testing.assert_array_equal(await model.infer(x), x + x)


@pytest.mark.parametrize("shape", [(1, 3), (7, 3)])
async def test_shape_out_of_range_is_refused(doubled: bytes, shape: tuple[int, int]) -> None:
    """The error names the input, the shape and the range."""
    async with aacl.Device(), aacl.Stream() as stream, Model(doubled) as model:
        with pytest.raises(ModelInputMismatch, match=rf"'x'.*dim 0 from 2 to 6.*\[{shape[0]}, 3\]"):
            model(await stream.to_device(matrix(*shape)))
        with pytest.raises(ModelInputMismatch, match=r"'x'.*from 2 to 6"):
            await model.infer(matrix(*shape))
        with pytest.raises(ModelInputMismatch, match="'x'"):
            await model.infer(np.zeros((2, 3, 4), np.float32))


async def test_run_tells_what_only_it_knows(nonzero: bytes) -> None:
    """An output that values decide has -1 dims until the run is over, then its exact shape."""
    async with aacl.Device(), aacl.Stream() as stream, Model(nonzero) as model:
        for rows, columns in ((3, 5), (1, 1), (40, 7), (0, 4), (3, 5)):
            x = matrix(rows, columns, rows)
            completion = stream.execute(model(await stream.to_device(x)))
            assert completion.outputs[1].shape == x.shape
            where, positive = await completion

            assert where.shape == (2, int((x > 0).sum()))
            np.testing.assert_array_equal(np.asarray(where), np.nonzero(x > 0))
            np.testing.assert_array_equal(np.asarray(positive), np.maximum(x, 0))
            found = await model.infer(x)
            np.testing.assert_array_equal(found[0], np.nonzero(x > 0))
            np.testing.assert_array_equal(found[1], np.maximum(x, 0))


async def test_shape_is_open_while_the_run_is_queued(compress: bytes) -> None:
    """Until the run is over the output has free dims and no elements; `to_host` gets the exact ones."""
    x = np.array([1, -1, 2, -2, 3, -3], np.float32)
    async with aacl.Device(), aacl.Stream() as stream, Model(compress) as model:
        device = await stream.to_device(x)
        gate = stream.call(lambda: None)
        completion = stream.execute(model(device))
        host = stream.to_host(completion)
        await gate
        with pytest.raises(TypeError):
            iter(completion.output)

        np.testing.assert_array_equal(await host, [1, 2, 3])
        assert (await completion).shape == (3,)
        assert completion.output.capacity == 12


async def test_completion_serves_before_its_shape_is_known(compress: bytes, squared: bytes) -> None:
    """A chain of models needs no wait where the first one's values decide the shape for the second."""
    async with aacl.Device(), aacl.Stream() as stream, Model(compress) as first, Model(squared) as second:
        for count in (0, 3, 6):
            x = np.array([1] * count + [-1] * (6 - count), np.float32) * np.arange(1, 7, dtype=np.float32)
            given = await stream.to_device(x)
            stream.call(lambda: None)  # so that what follows is queued
            middle = stream.execute(first(given))
            last = stream.execute(second(middle))
            assert last.output.shape == (-1,)

            y = await last
            np.testing.assert_array_equal(np.asarray(y), x[:count] ** 2)
            assert y.shape == middle.output.shape == (count,)


async def test_late_shape_that_does_not_fit_fails_its_run(compress: bytes, add_one: Path, doubled: bytes) -> None:
    """A shape that only the command before tells is checked when the run's turn comes; other runs go on."""
    async with aacl.Device(), aacl.Stream() as stream, Model(compress) as first, Model(doubled) as second:
        given = await stream.to_device(np.ones(6, np.float32))
        stream.call(lambda: None)
        with pytest.raises(ModelInputMismatch, match="'x'"):
            second(stream.execute(first(given)))  # of one dim, which is known beforehand
        fixed = await Model(add_one).open()
        with pytest.raises(ModelInputMismatch):
            fixed(stream.execute(first(given)))
        await stream.synchronize()
        np.testing.assert_array_equal(np.asarray(await stream.execute(first(given))), np.ones(6))


async def test_late_size_out_of_range_fails_its_run(compress: bytes, pack: Pack) -> None:
    """The run fails with the input's name, the shape and the range; what reads its output fails with it."""
    narrow = pack(
        [helper.make_node("Mul", ["x", "x"], ["y"])],
        [value("x", FLOAT, ["n"])],
        [value("y", FLOAT, ["n"])],
        [TensorSpec("x", DataType.FLOAT, (-1,), ranges=((1, 2),))],
        [TensorSpec("mul:0:y", DataType.FLOAT, (-1,), ranges=((1, 2),))],
    )
    async with aacl.Device(), aacl.Stream() as stream, Model(compress) as first, Model(narrow) as second:
        given = await stream.to_device(np.ones(6, np.float32))
        stream.call(lambda: None)
        last = stream.execute(second(stream.execute(first(given))))
        host = stream.to_host(last)

        with pytest.raises(ModelInputMismatch, match=r"'x'.*from 1 to 2.*\[6\]"):
            await last
        with pytest.raises(ModelInputMismatch, match=r"'x'"):
            await host


async def test_given_outputs_get_the_exact_shape(nonzero: bytes) -> None:
    """Tensors that are large enough take what the run finds, again and again."""
    async with aacl.Device(), aacl.Stream() as stream, Model(nonzero) as model:
        where, positive = aacl.empty((2, 500), np.int64), aacl.empty((1000,), np.float32)
        for rows, columns in ((3, 5), (20, 20), (1, 2), (20, 20)):
            x = matrix(rows, columns, rows)
            found = await stream.execute(model(await stream.to_device(x), out=(where, positive)))

            assert found == (where, positive)
            np.testing.assert_array_equal(np.asarray(where), np.nonzero(x > 0))
            np.testing.assert_array_equal(np.asarray(positive), np.maximum(x, 0))
            assert (where.capacity, positive.capacity) == (8000, 4000)


async def test_output_that_is_too_small_is_not_written(nonzero: bytes) -> None:
    """The error has the needed bytes; the tensor keeps its bytes, and serves again."""
    async with aacl.Device(), aacl.Stream() as stream, Model(nonzero) as model:
        where, positive = aacl.empty((2, 2), np.int64), aacl.empty((6,), np.float32)
        await stream.fill(where, 7)
        x = await stream.to_device(np.ones((2, 3), np.float32))

        with pytest.raises(ModelOutputMismatch, match=r"'nonzero:0:where'.* takes 96 bytes .*has 32"):
            await stream.execute(model(x, out=(where, positive)))

        assert set(where.buffer.view((32,), np.uint8)) == {7}
        few = await stream.to_device(np.eye(2, dtype=np.float32))
        await stream.execute(model(few, out=(where, positive)))
        np.testing.assert_array_equal(np.asarray(where), [[0, 1], [0, 1]])
        large = await stream.to_device(np.ones((3, 3), np.float32))
        with pytest.raises(ModelOutputMismatch, match=r"'relu:0:positive'.*36 bytes"):
            model(large, out=(where, positive))


async def test_some_outputs_may_be_left_to_the_run(nonzero: bytes) -> None:
    """None in the place of an output stands for a new tensor each time."""
    x = matrix(4, 4)
    async with aacl.Device(), aacl.Stream() as stream, Model(nonzero) as model:
        positive = aacl.empty((4, 4), np.float32)
        run = model(await stream.to_device(x), out=(None, positive))

        first, second = await stream.execute(run), await stream.execute(run)

        assert first[1] is second[1] is positive
        assert first[0] is not second[0]
        for where in (first[0], second[0]):
            np.testing.assert_array_equal(np.asarray(where), np.nonzero(x > 0))


async def test_reused_output_of_queued_runs_is_what_each_wrote(compress: bytes, squared: bytes) -> None:
    """Pairs of runs over the same two tensors, queued without a wait, hand over each its own shape."""
    values = [np.where(np.arange(6) < count, 2, -2).astype(np.float32) for count in (3, 6, 0, 1, 5)]
    async with aacl.Device(), aacl.Stream() as stream, Model(compress) as first, Model(squared) as second:
        middle, last = aacl.empty((6,), np.float32), aacl.empty((6,), np.float32)
        given = [await stream.to_device(each) for each in values]
        for _ in range(20):
            hosts = []
            for each in given:
                stream.execute(first(each, out=middle))
                hosts.append(stream.to_host(stream.execute(second(middle, out=last))))

            for count, host in zip((3, 6, 0, 1, 5), hosts, strict=True):
                np.testing.assert_array_equal(await host, np.full(count, 4, np.float32))


async def test_freed_result_stays_freed(compress: bytes) -> None:
    """A result that the program frees before its run is over holds no elements for the program afterwards."""
    async with aacl.Device() as device, aacl.Stream() as stream, Model(compress) as model:
        given = await stream.to_device(np.ones(6, np.float32))
        gate = stream.call(lambda: None)
        completion = stream.execute(model(given))
        completion.output.free()
        await gate
        await completion

        with pytest.raises(aacl.errors.ClosedResource):
            completion.output.view()
        del completion
        gc.collect()
        used = device.memory().used
        await stream.execute(model(given))
        assert device.memory().used <= used + 128


async def test_full_device_fails_the_run_that_tells_late(compress: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    """No room for an output that only the run tells is that run's error, and leaves the model usable."""
    monkeypatch.setenv("AACL_DEVICE_MEMORY", str(1 << 20))
    async with aacl.Device(1) as device, aacl.Stream() as stream, Model(compress) as model:
        given = await stream.to_device(np.ones(6, np.float32))
        pending = model(given)
        free = device.memory().free
        filler = device.allocate(free - 64 - 32)
        with pytest.raises(OutOfMemory):
            await stream.execute(pending)
        filler.free()

        assert (await stream.execute(model(given))).shape == (6,)


async def test_operator_on_an_open_shape_says_to_wait(compress: bytes) -> None:
    """An operator cannot be prepared for an output without a bound; awaited, it serves."""
    async with aacl.Device(), aacl.Stream() as stream, Model(compress) as model:
        given = await stream.to_device(np.ones(6, np.float32))
        stream.call(lambda: None)
        completion = stream.execute(model(given))
        with pytest.raises(InvalidArgument):
            await stream.copy(completion.output, given)
        tensor = await completion
        np.testing.assert_array_equal(np.asarray(await stream.execute(aacl.ops.Add(tensor, tensor))), np.full(6, 2))


@pytest.mark.parametrize("name", ["gears", "doubled", "nonzero", "compress"])
async def test_runs_of_many_shapes_keep_memory_flat(name: str, request: pytest.FixtureRequest) -> None:
    """After the first ones, runs of ever other shapes take no more memory: at most 2 MiB, and no device memory."""
    source, random = request.getfixturevalue(name), np.random.default_rng(7)

    def arrays() -> list[np.ndarray[tuple[int, ...], np.dtype[np.float32]]]:
        if name == "gears":
            rows = int(random.choice([1, 4, 8]))
            return [np.ones((rows, 3), np.float32), np.ones((rows, 1), np.float32)]
        if name == "compress":
            return [random.standard_normal(6).astype(np.float32)]
        return [random.standard_normal((int(random.integers(2, 7)), int(random.integers(0, 500)))).astype(np.float32)]

    before = 0
    async with aacl.Device() as device, aacl.Stream() as stream, Model(source) as model:
        for number in range(1200):
            given = arrays()
            await model.infer(*given)
            await stream.execute(model(*[await stream.to_device(each) for each in given]))
            if number == 200:
                before = resident()
        assert resident() - before < 2 << 20
        assert device.memory().used < 1 << 20
        assert len(model._bindings) <= 256


def resident() -> int:
    gc.collect()
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGESIZE")
