"""Softmax and its logarithm."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from aacl.abc import Array
from aacl.errors import InvalidArgument

Run = Callable[..., list[Array]]
Close = Callable[..., None]
BF16 = np.dtype(ml_dtypes.bfloat16)
FLOATS = [np.dtype(np.float32), np.dtype(np.float64), np.dtype(np.float16), BF16]


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@settings(max_examples=10, deadline=None)
@given(data=st.data())
def test_softmax(run: Run, close: Close, dtype: np.dtype[Any], data: st.DataObject) -> None:
    """Normalised over each axis, or several jointly, in float32 at least; apart and in place."""
    shape = data.draw(hnp.array_shapes(max_dims=3, max_side=5))
    axes = data.draw(st.lists(st.integers(-len(shape), len(shape) - 1), min_size=1, max_size=2))
    x = np.random.default_rng(7).uniform(-6, 6, shape).astype(dtype)
    powers = np.exp(x.astype(np.float64))
    exact = powers / powers.sum(tuple({axis % len(shape) for axis in axes}), keepdims=True)

    (found,) = run("SoftmaxV2", [x], {"axes": axes})
    close(found, exact, units=16)
    assert found.tobytes() == run("SoftmaxV2", [x], {"axes": axes}, into=0)[0].tobytes()
    close(run("LogSoftmaxV2", [x], {"axes": axes})[0], np.log(exact), units=16, floor=1)


def test_old_names(run: Run) -> None:
    """Softmax and LogSoftmax take the attribute ``axis``."""
    x = np.random.default_rng(7).standard_normal((2, 3)).astype(np.float32)

    assert run("Softmax", [x], {"axis": [0]})[0].tobytes() == run("SoftmaxV2", [x], {"axes": [0]})[0].tobytes()
    assert run("LogSoftmax", [x])[0].tobytes() == run("LogSoftmaxV2", [x])[0].tobytes()


def test_large_numbers(run: Run, close: Close) -> None:
    """Neither overflow nor a warning."""
    close(run("SoftmaxV2", [np.array([1e4, 1e4, -1e4], np.float32)])[0], [0.5, 0.5, 0])
    close(run("LogSoftmaxV2", [np.array([1e4, -1e4], np.float32)])[0], [0, -2e4])
    assert run("SoftmaxV2", [np.zeros((2, 0), np.float32)])[0].shape == (2, 0)
    assert run("SoftmaxV2", [np.float32(3)])[0].tolist() == 1


def test_half_to_float(run: Run, close: Close) -> None:
    """float16 in, float32 out."""
    x = np.array([1, 2, 3], np.float16)
    (found,) = run("SoftmaxV2", [x], {"half_to_float": True})

    assert found.dtype == np.float32
    close(found, np.exp(x.astype(float)) / np.exp(x.astype(float)).sum(), units=4)


def test_axes_outside_the_rank(run: Run) -> None:
    """A typed error that shows axes and shape."""
    with pytest.raises(InvalidArgument, match=r"operator SoftmaxV2: axes \(2,\) do not fit input shape \(2, 3\)"):
        run("SoftmaxV2", [np.zeros((2, 3), np.float32)], {"axes": [2]})
