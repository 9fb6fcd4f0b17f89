"""Models with outputs whose shape only the run tells."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from onnx import TensorProto, helper

import aacl
from aacl.dtypes import DataType
from aacl.errors import InvalidArgument, ModelInputMismatch
from aacl.models import Model, TensorSpec
from tests.helpers.nets import matrix, value

Pack = Callable[..., bytes]
FLOAT = TensorProto.FLOAT


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
