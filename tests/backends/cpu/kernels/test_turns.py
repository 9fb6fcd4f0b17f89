"""Transposed copies, whichever way they are made."""

from __future__ import annotations

import math
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aacl.abc import Array, KernelRequest
from aacl.backends.cpu.kernels import _split, _turns
from aacl.tensors._desc import TensorDesc

SIZES = {1: np.uint8, 2: np.float16, 4: np.float32, 8: np.int64, 16: np.complex128}


def _turn(x: Array, order: tuple[int, ...], out: Array) -> None:
    request = KernelRequest(
        "TransposeD", (TensorDesc.of(x.dtype, x.shape),), (TensorDesc.of(out.dtype, out.shape),), {}
    )
    _turns.turn(request, order)(x, out)


def _check(x: Array, order: tuple[int, ...], out: Array) -> None:
    """Compare every element of a turned array with the one at the same place by the definition."""
    _turn(x, order, out)
    for place in product(*map(range, x.shape)):
        assert out[tuple(place[axis] for axis in order)] == x[place]


def _numbered(shape: tuple[int, ...], dtype: Any) -> Array:
    return (np.arange(math.prod(shape)) % 251).reshape(shape).astype(dtype)


@pytest.mark.parametrize("parts", [1, 3])
@pytest.mark.parametrize("size", SIZES)
@given(st.data())
@settings(deadline=None, max_examples=12)
def test_any_order_of_axes(size: int, parts: int, data: st.DataObject) -> None:
    """Axes that stay together, single places, whole and in parts: every element comes to its place."""
    shape = tuple(data.draw(st.lists(st.sampled_from([1, 1, 2, 3, 5, 18]), min_size=1, max_size=4)))
    order = tuple(data.draw(st.permutations(range(len(shape)))))
    x = _numbered(shape, SIZES[size])
    out = np.empty([shape[axis] for axis in order], x.dtype)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_turns, "_MANY", 2)
        patch.setattr(_split, "_LARGE", 0 if parts > 1 else 1 << 60)
        patch.setattr(_split, "_PART", max(1, 10 * x.size // 10 // parts))
        _check(x, order, out)


@pytest.mark.parametrize("dtype", SIZES.values(), ids=str)
def test_arrays_that_are_not_dense(dtype: Any) -> None:
    """They are turned as well, and nothing between their elements is written."""
    x, target = _numbered((200, 400), dtype)[:, ::2], np.zeros((400, 200), dtype)
    _turn(x, (1, 0), target[::2])

    np.testing.assert_array_equal(target[::2].tolist(), [list(column) for column in zip(*x.tolist(), strict=True)])
    assert not target[1::2].any()


@pytest.mark.parametrize(
    ("shape", "order", "expected"),
    [
        ((2, 3), (1, 0), ((2, 3), (1, 0))),
        ((8, 5, 6, 7), (0, 2, 3, 1), ((8, 5, 42), (0, 2, 1))),
        ((8, 5, 1, 7), (2, 1, 3, 0), ((8, 35), (1, 0))),
        ((8, 1, 7), (0, 2, 1), ((56,), (0,))),
        ((4, 5, 6), (1, 0, 2), ((4, 5, 6), (1, 0, 2))),
        ((4, 5, 6, 7), (2, 3, 0, 1), ((20, 42), (1, 0))),
    ],
)
def test_axes_that_stay_together_are_one(
    shape: tuple[int, ...], order: tuple[int, ...], expected: tuple[tuple[int, ...], tuple[int, ...]]
) -> None:
    """Single places are none."""
    assert _turns._merged(shape, order) == expected
