"""Models with ranges: any shape within them runs, others are refused."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import aacl
from aacl.errors import ModelInputMismatch
from aacl.models import Model
from tests.helpers.nets import matrix


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
