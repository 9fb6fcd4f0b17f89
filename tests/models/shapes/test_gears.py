"""Models with gears: one of several sets of shapes, which follows from the inputs."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import aacl
from aacl.errors import ModelInputMismatch, ModelOutputMismatch
from aacl.models import Model
from tests.helpers.nets import matrix


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
