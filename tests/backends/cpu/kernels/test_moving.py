"""Moving and repeating elements, in Python."""

from __future__ import annotations

import math
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


def _numbered(*shape: int, dtype: Any = np.float32) -> Array:
    return np.arange(1, math.prod(shape) + 1).reshape(shape).astype(dtype)


@pytest.mark.parametrize("late", [True, False])
@settings(max_examples=15, deadline=None)
@given(data=st.data())
def test_reverse(run: Run, late: bool, data: st.DataObject) -> None:
    """Any axes, also none."""
    shape = data.draw(hnp.array_shapes(max_dims=3, max_side=3, min_side=0))
    axes = data.draw(st.lists(st.integers(0, len(shape) - 1), unique=True))
    x = _numbered(*shape, dtype=np.float16)
    (found,) = run("ReverseV2", [x, np.array(axes, np.int32)], known=(1,), late=late)

    for place in np.ndindex(shape):
        where = tuple(shape[axis] - 1 - at if axis in axes else at for axis, at in enumerate(place))
        assert found[place] == x[where]
    for op_type in ("ReverseV2D", "ReverseExt2"):
        assert run(op_type, [x], {"axis": axes})[0].tobytes() == found.tobytes()


def test_reverse_sequence(run: Run) -> None:
    """As much of each batch as its length says."""
    x = _numbered(2, 4, 2)
    (found,) = run("ReverseSequence", [x, np.array([3, 0])], {"seq_dim": 1})
    rows = x.tolist()
    assert found.tolist() == [rows[0][2::-1] + rows[0][3:], rows[1]]
    (found,) = run("ReverseSequence", [x, np.array([1, 2, 0, 2])], {"seq_dim": 0, "batch_dim": 1})
    assert found.tolist() == [[rows[1 if j in (1, 3) else 0][j] for j in range(4)],
                              [rows[0 if j in (1, 3) else 1][j] for j in range(4)]]  # fmt: skip
    with pytest.raises(ValueError, match=r"lengths \[5, 0\] lie outside \[0, 4\]"):
        run("ReverseSequence", [x, np.array([5, 0])], {"seq_dim": 1})
    with pytest.raises(InvalidArgument, match="seq_dim and batch_dim are both 0"):
        run("ReverseSequence", [x, np.array([1, 0])], {"seq_dim": 0})


@pytest.mark.parametrize("late", [True, False])
@settings(max_examples=20, deadline=None)
@given(data=st.data())
def test_roll(run: Run, late: bool, data: st.DataObject) -> None:
    """Each dim by its shift, or the flattened input."""
    shape = data.draw(hnp.array_shapes(max_dims=3, max_side=4))
    dims = data.draw(st.lists(st.integers(0, len(shape) - 1), unique=True, min_size=1))
    shifts = [data.draw(st.integers(-5, 5)) for _ in dims]
    x = _numbered(*shape)
    (found,) = run("Roll", [x], {"shifts": shifts, "dims": dims})

    for place in np.ndindex(shape):
        where = list(place)
        for dim, shift in zip(dims, shifts, strict=True):
            where[dim] = (where[dim] - shift) % shape[dim]
        assert found[place] == x[tuple(where)]
    (again,) = run("RollV2", [x, np.array(shifts), np.array(dims)], known=(1, 2), late=late)
    assert again.tolist() == found.tolist()
    flat = x.reshape(-1).tolist()
    cut = -shifts[0] % len(flat)
    assert run("Roll", [x], {"shifts": shifts[:1]})[0].reshape(-1).tolist() == flat[cut:] + flat[:cut]
    with pytest.raises(InvalidArgument, match="shifts do not fit dims"):
        run("Roll", [x], {"shifts": [1, 2, 3, 4], "dims": dims})


def test_invert_permutation(run: Run) -> None:
    """``y[x[i]] = i``; a number twice is refused."""
    assert run("InvertPermutation", [np.array([2, 0, 3, 1], np.int32)])[0].tolist() == [1, 3, 0, 2]
    with pytest.raises(ValueError, match="no order of 3 places"):
        run("InvertPermutation", [np.array([0, 0, 1])])
    with pytest.raises(IndexError, match="index 3"):
        run("InvertPermutation", [np.array([0, 3, 1])])


@settings(max_examples=20, deadline=None)
@given(data=st.data())
def test_repeat(run: Run, close: Close, data: st.DataObject) -> None:
    """Each element its own number of times, or all the same; the gradient sums the copies up."""
    x = _numbered(3, 2)
    axis = data.draw(st.sampled_from([0, 1, -1, 1000]))
    source = x.reshape(-1) if axis == 1000 else x
    along = 0 if axis == 1000 else axis
    count = source.shape[along]
    times = data.draw(
        st.lists(st.integers(0, 3), min_size=count, max_size=count)
        | st.lists(st.integers(0, 3), min_size=1, max_size=1)
    )
    (found,) = run("RepeatInterleave", [x, np.array(times)], {"axis": axis}, known=(1,))

    each = times * count if len(times) == 1 else times
    parts = np.moveaxis(source, along, 0).tolist()
    exact = [part for part, time in zip(parts, each, strict=True) for _ in range(time)]
    assert np.moveaxis(found, along, 0).tolist() == exact
    if axis == 1000 or (len(times) == 1 and not times[0]):
        return
    (grad,) = run("RepeatInterleaveGrad", [found, np.array(times)], {"axis": axis}, known=(1,))
    close(grad, np.moveaxis((np.moveaxis(x, axis, 0).T * np.array(each)).T, 0, axis))


def test_repeat_refuses(run: Run) -> None:
    """Repeats that are negative or too few."""
    with pytest.raises(InvalidArgument, match=r"repeats \(1, 2\) do not fit axis 0"):
        run("RepeatInterleave", [_numbered(3), np.array([1, 2])], {"axis": 0}, known=(1,))
    with pytest.raises(InvalidArgument, match=r"repeats \(-1,\) do not fit"):
        run("RepeatInterleave", [_numbered(3), np.array([-1])], {"axis": 0}, known=(1,))
    with pytest.raises(InvalidArgument, match=r"repeats \(3, 1\) must add up to axis 0"):
        run("RepeatInterleaveGrad", [_numbered(3), np.array([3, 1])], {"axis": 0}, known=(1,))


def test_unravel_index(run: Run) -> None:
    """Coordinates as rows; an index beyond the dims is refused."""
    indices, dims = np.array([5, 0, 23]), np.array([2, 3, 4])
    exact = [[i // 12 for i in (5, 0, 23)], [i // 4 % 3 for i in (5, 0, 23)], [i % 4 for i in (5, 0, 23)]]
    assert run("UnravelIndex", [indices, dims])[0].tolist() == exact
    assert run("UnravelIndex", [np.array(5), dims])[0].tolist() == [0, 1, 1]
    with pytest.raises(IndexError, match=r"index 24 lies outside \[0, 24\)"):
        run("UnravelIndex", [indices + 1, dims])


@pytest.mark.parametrize(("slopes", "expected"), [([6e4, 6e4], np.inf), ([np.inf, -np.inf], np.nan)])
def test_gradients_of_copies_beyond_the_range_of_halves(run: Run, slopes: list[float], expected: float) -> None:
    """They are infinite, or NaN, and nothing warns."""
    (found,) = run("RepeatInterleaveGrad", [np.array(slopes, np.float16), np.array([2])], {"axis": 0}, known=(1,))

    np.testing.assert_array_equal(found, [expected])
