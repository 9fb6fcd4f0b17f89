"""Cutting, against Python's slices."""

from __future__ import annotations

import math
from collections.abc import Callable

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aacl.abc import Array, KernelRequest
from aacl.backends.cpu.kernels import find
from aacl.errors import InvalidArgument
from aacl.tensors._desc import TensorDesc

Run = Callable[..., list[Array]]
Close = Callable[..., None]
BF16 = np.dtype(ml_dtypes.bfloat16)
DTYPES = [np.dtype(np.float32), np.dtype(np.float16), BF16, np.dtype(np.int64), np.dtype(np.uint8), np.dtype(np.bool_)]


def _numbered(*shape: int) -> Array:
    return np.arange(math.prod(shape), dtype=np.float32).reshape(shape)


@pytest.mark.parametrize("late", [False, True])
def test_split(run: Run, late: bool) -> None:
    """Equal parts, or given sizes with one -1 for the rest."""
    x = _numbered(2, 6)
    axis = np.array(1, np.int32)
    rows = x.tolist()

    parts = run("Split", [axis, x], {"num_split": 3}, known=(0,), late=late)
    assert [part.tolist() for part in parts] == [[row[i : i + 2] for row in rows] for i in (0, 2, 4)]
    assert [p.tolist() for p in run("SplitD", [x], {"split_dim": -2, "num_split": 2})] == [[rows[0]], [rows[1]]]
    uneven = run("SplitV", [x, np.array([1, -1, 2]), axis], {"num_split": 3}, known=(1, 2), late=late)
    assert [part.tolist() for part in uneven] == [[row[a:b] for row in rows] for a, b in ((0, 1), (1, 4), (4, 6))]
    attributes = {"size_splits": [5, 1], "split_dim": 1, "num_split": 2}
    assert [part.shape for part in run("SplitVD", [x], attributes)] == [(2, 5), (2, 1)]


@pytest.mark.parametrize("late", [False, True])
@settings(max_examples=20, deadline=None)
@given(data=st.data())
def test_slice(run: Run, late: bool, data: st.DataObject) -> None:
    """``size`` elements from each offset; -1 means to the end."""
    x = _numbered(4, 5)
    starts = [data.draw(st.integers(0, size)) for size in x.shape]
    sizes = [data.draw(st.integers(-1, size - start)) for size, start in zip(x.shape, starts, strict=True)]
    ends = [
        size if length == -1 else start + length for size, start, length in zip(x.shape, starts, sizes, strict=True)
    ]
    exact = [row[starts[1] : ends[1]] for row in x.tolist()[starts[0] : ends[0]]]

    (found,) = run("Slice", [x, np.array(starts), np.array(sizes)], known=(1, 2), late=late)
    assert found.tolist() == exact
    assert run("SliceD", [x], {"offsets": starts, "size": sizes})[0].tolist() == exact


@pytest.mark.parametrize("late", [False, True])
@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_strided_slice(run: Run, late: bool, data: st.DataObject) -> None:
    """Each entry is Python's own slice; mask bits drop its ends."""
    x = _numbered(5, 4)
    number = st.integers(-7, 7)
    begin, end = [data.draw(number) for _ in range(2)], [data.draw(number) for _ in range(2)]
    strides = [data.draw(st.sampled_from([-2, -1, 1, 2, 3])) for _ in range(2)]
    masks = [data.draw(st.integers(0, 3)) for _ in range(2)]
    first, second = (
        slice(None if masks[0] >> i & 1 else begin[i], None if masks[1] >> i & 1 else end[i], strides[i])
        for i in range(2)
    )
    exact = [row[second] for row in x.tolist()[first]]
    attributes = {"begin_mask": masks[0], "end_mask": masks[1]}
    values = [np.array(part) for part in (begin, end, strides)]

    (found,) = run("StridedSlice", [x, *values], attributes, known=(1, 2, 3), late=late)
    assert found.tolist() == exact
    parts = {"begin": begin, "end": end, "strides": strides}
    assert run("StridedSliceD", [x], attributes | parts)[0].tolist() == exact


def test_strided_slice_masks(run: Run) -> None:
    """An ellipsis, new axes and single indexes, as TensorFlow documents them."""
    x = _numbered(2, 3, 4)
    one = np.ones(2, np.int64)

    def cut(begin: list[int], end: list[int], **masks: int) -> Array:
        values = [np.array(begin), np.array(end), one[: len(begin)]]
        (found,) = run("StridedSlice", [x, *values], masks, known=(1, 2, 3))
        return found

    assert cut([0, 1], [0, 3], ellipsis_mask=1).tolist() == x[:, :, 1:3].tolist()
    assert cut([0, 1], [0, 2], new_axis_mask=1).tolist() == [x[1:2].tolist()]
    assert cut([1, 0], [0, 2], shrink_axis_mask=1).tolist() == x[1, 0:2].tolist()
    assert cut([-1, 1], [0, 0], shrink_axis_mask=3).tolist() == x[1, 1].tolist()


def test_values_that_do_not_fit() -> None:
    """Offsets, sizes and paddings that are known only at the run are checked then; nothing is written."""
    x, two = TensorDesc.of(np.float32, (2, 3)), TensorDesc.of(np.int64, (2,))
    out = np.full((1, 1), 7, np.float32)
    body = find(KernelRequest("Slice", (x, two, two), (TensorDesc.of(np.float32, (1, 1)),), {})).body
    for offsets, sizes in (([0, 3], [1, 1]), ([-1, 0], [1, 1]), ([0, 0], [3, 1])):
        with pytest.raises(InvalidArgument, match=r"operator Slice: offsets .* lie outside \(2, 3\)"):
            body(np.zeros((2, 3), np.float32), np.array(offsets), np.array(sizes), out)
    with pytest.raises(ValueError, match=r"ask for shape \(1, 2\); the output has \(1, 1\)"):
        body(np.zeros((2, 3), np.float32), np.array([0, 0]), np.array([1, 2]), out)
    assert out.tolist() == [[7]]
