"""Embedding bags and the gradient of an embedding, index by index."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aacl.abc import Array
from aacl.errors import InvalidArgument

Run = Callable[..., list[Array]]
Close = Callable[..., None]
BF16 = np.dtype(ml_dtypes.bfloat16)
DTYPES = [np.dtype(np.float32), np.dtype(np.float16), BF16]


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@settings(max_examples=10, deadline=None)
@given(
    shape=st.lists(st.integers(0, 4), min_size=1, max_size=2), padding=st.sampled_from([-1, 2]), is_scaled=st.booleans()
)
def test_gradient(
    run: Run, close: Close, dtype: np.dtype[Any], shape: list[int], padding: int, is_scaled: bool
) -> None:
    """Rows of equal indices add up; the padding gets nothing; counts may divide."""
    indices = np.random.default_rng(3).integers(0, 4, shape).astype(np.int32)
    grad = np.random.default_rng(4).uniform(-2, 2, (*shape, 3)).astype(dtype)
    exact = np.zeros((5, 3))
    for place in np.ndindex(*shape):
        index = int(indices[place])
        share = int((indices == index).sum()) if is_scaled else 1
        exact[index] += grad[place].astype(np.float64) / share * (index != padding)
    attributes = {"num_weights": 5, "padding_idx": padding, "scale_grad_by_freq": is_scaled}

    close(run("EmbeddingDenseGrad", [grad, indices], attributes)[0], exact, units=4, floor=1)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
@pytest.mark.parametrize("padding", [-1, 2])
@pytest.mark.parametrize("form", ["rows", "offsets", "last offset"])
def test_bags(run: Run, close: Close, dtype: np.dtype[Any], mode: str, padding: int, form: str) -> None:
    """Bags of rows, or between offsets; what is padding counts nowhere."""
    random = np.random.default_rng(3)
    weight = random.uniform(-2, 2, (4, 3)).astype(dtype)
    flat = [0, 2, 3, 1, 1, 2]
    edges = [0, 2, 4, 6] if form == "rows" else [0, 1, 1, 4, 6]
    attributes = {"mode": mode, "padding_idx": padding, "include_last_offset": form == "last offset"}
    if form == "rows":
        inputs: list[Any] = [weight, np.array(flat).reshape(3, 2)]
    else:
        inputs = [weight, np.array(flat), np.array(edges if form == "last offset" else edges[:-1])]
    y, bag, sizes, chosen = run("EmbeddingBag", inputs, attributes)

    for number, (start, end) in enumerate(itertools.pairwise(edges)):
        inside = [index for index in flat[start:end] if index != padding]
        assert (bag[start:end] == number).all()
        assert sizes[number] == len(inside)
        for column in range(3):
            values = [float(weight[index, column]) for index in inside]
            exact = (
                0.0 if not values else {"sum": sum(values), "mean": sum(values) / len(values), "max": max(values)}[mode]
            )
            close(y[number, column], np.array(exact), units=2, floor=1)
            if mode == "max":
                assert chosen[number, column] == (inside[values.index(exact)] if inside else -1)


def test_weights_of_samples(run: Run, close: Close) -> None:
    """Each index may have a weight in a sum."""
    weight = np.arange(8, dtype=np.float32).reshape(4, 2)
    inputs = [weight, np.array([[1, 3], [0, 2]]), None, np.array([[2, 0.5], [1, 1]], np.float32)]

    close(run("EmbeddingBag", inputs, {"mode": "sum"})[0], [[2 * 2 + 3, 2 * 3 + 3.5], [4, 6]])


def test_bad_input(run: Run) -> None:
    """Indices, offsets and modes that do not fit are named."""
    weight, indices = np.zeros((4, 2), np.float32), np.array([0, 4])
    with pytest.raises(IndexError, match=r"index 4 lies outside \[0, 4\) along axis 0"):
        run("EmbeddingBag", [weight, indices, np.array([0])])
    with pytest.raises(IndexError, match=r"index 4 lies outside \[0, 4\) along axis 0"):
        run("EmbeddingDenseGrad", [weight[:2], indices], {"num_weights": 4})
    with pytest.raises(ValueError, match="offsets begin with 0 and rise"):
        run("EmbeddingBag", [weight, indices * 0, np.array([0, 2, 1])])
    with pytest.raises(InvalidArgument, match="mode is 'min'"):
        run("EmbeddingBag", [weight, indices, np.array([0])], {"mode": "min"})
    with pytest.raises(InvalidArgument, match="per_sample_weights go with mode sum"):
        run("EmbeddingBag", [weight, indices, np.array([0]), weight[:2, 0]])
    with pytest.raises(InvalidArgument, match="two dims, a bag a row"):
        run("EmbeddingBag", [weight, indices])
    with pytest.raises(InvalidArgument, match="there is a row for each index"):
        run("EmbeddingDenseGrad", [weight, indices], {"num_weights": 4})
