"""Tensors that a program gives for outputs whose shape only the run tells."""

from __future__ import annotations

import numpy as np
import pytest

import aacl
from aacl.errors import ModelOutputMismatch
from aacl.models import Model
from tests.helpers.nets import matrix


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
