"""What a model refuses to be called with."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import aacl
from aacl.errors import ClosedResource, InvalidArgument, ModelInputMismatch, ModelOutputMismatch, WrongModelContext
from aacl.models import Model

X = np.arange(6, dtype=np.float32).reshape(2, 3)


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


async def test_what_is_no_list_of_outputs_is_refused(add_one: Path) -> None:
    """``out`` is a tensor, or a list or tuple of them; anything else is named, and nothing is submitted."""
    async with aacl.Device(), aacl.Stream() as stream, Model(add_one) as model:
        x, y = await stream.to_device(X), aacl.empty((2, 3), np.float32)
        good = stream.execute(model(x))
        await good
        wrong: list[Any] = [5, "y", {}, {0: y}, iter([y]), X, good, y.desc, b"y"]
        for out in wrong:
            with pytest.raises(ModelOutputMismatch, match=f"out= .*not a {type(out).__name__}"):
                model(x, out=out)

        assert model.statistics().runs == 1


async def test_numbers_that_a_dtype_does_not_have_are_refused(pick: Path) -> None:
    """Lists are converted without a change of value: nothing wraps, is cut off, overflows or becomes NaN."""
    async with aacl.Device(), aacl.Stream(), Model(pick) as model:
        four = [1.0, 2.0, 3.0, 4.0]
        for index in ([1.5], [float("nan")], [1e30], [2**64], [None], ["1"], [1j]):
            with pytest.raises(ModelInputMismatch, match=r"input 1 \('i'\) of model .* is no array of INT64"):
                await model.infer(four, index)
        for values in ([1e300, 0, 0, 0], [None] * 4, ["1"] * 4, [1j] * 4):
            with pytest.raises(ModelInputMismatch, match=r"input 0 \('x'\) of model .* is no array of FLOAT"):
                await model.infer(values, [0])

        assert (await model.infer([0.1, 2, True, float("inf")], [0.0])).tolist() == [np.float32(0.1)]
        assert (await model.infer([0.1, 2, True, float("inf")], [3])).tolist() == [np.inf]


async def test_a_foreign_byte_order_is_named(add_one: Path) -> None:
    """An array in the other byte order is refused, and the text says what is wrong with it."""
    async with aacl.Device(), aacl.Stream(), Model(add_one) as model:
        with pytest.raises(ModelInputMismatch, match="float32 in foreign byte order of shape"):
            await model.infer(X.astype(X.dtype.newbyteorder()))


async def test_what_is_no_exact_shape_is_refused(add_one: Path) -> None:
    """Outputs are described for whole, known dims only."""
    async with aacl.Device(), Model(add_one) as model:
        whole: Any = np.array([2, 3])
        shapes: list[Any] = [5, None, "ab", [-1, 3], [2.0, 3], [[2], 3], ["2", 3]]
        for shape in shapes:
            with pytest.raises(ModelInputMismatch, match="an exact shape of an input of model"):
                model.describe_outputs(shape)

        assert model.describe_outputs(whole)[0].shape == (2, 3)


async def test_what_is_no_stream_is_refused(add_one: Path) -> None:
    """An inference or a map on something else says so."""
    async with aacl.Device(), aacl.Stream() as stream, Model(add_one) as model:
        wrong: Any = 5
        with pytest.raises(InvalidArgument, match="runs on a stream, not on a int"):
            await model.infer(X, stream=wrong)
        alone: Any = stream
        for streams in (wrong, alone):
            with pytest.raises(InvalidArgument, match="an iterable is wanted"):
                model.map([X[0]], streams=streams)
