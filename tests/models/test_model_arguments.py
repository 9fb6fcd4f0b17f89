"""What a model refuses to be called with."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import aacl
from aacl.errors import ClosedResource, ModelInputMismatch, ModelOutputMismatch, WrongModelContext
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
