"""Slices by axes, with Python's slices of lists."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aacl.abc import Array
from aacl.errors import InvalidArgument
from aacl.ops._catalogue import schema_of
from aacl.ops._infer import infer_outputs
from aacl.tensors._desc import TensorDesc

Run = Callable[..., list[Array]]
Close = Callable[..., None]
BF16 = np.dtype(ml_dtypes.bfloat16)
FLOATS = [np.dtype(np.float32), np.dtype(np.float64), np.dtype(np.float16), BF16]


def _numbered(*shape: int, dtype: Any = np.float32) -> Array:
    return np.arange(1, math.prod(shape) + 1).reshape(shape).astype(dtype)


@pytest.mark.parametrize("late", [True, False])
@pytest.mark.parametrize("op_type", ["StridedSliceV2", "StridedSliceV3"])
@settings(max_examples=30, deadline=None)
@given(data=st.data())
def test_by_axes(run: Run, op_type: str, late: bool, data: st.DataObject) -> None:
    """ONNX's Slice: ends beyond the dims are cut, negative ones count from the end."""
    x = _numbered(4, 5)
    axes = data.draw(st.sampled_from([[0, 1], [1, 0], [-1], [0], [-2, -1]]))
    ends = st.integers(-8, 8) | st.sampled_from([-(2**62), 2**62])
    begin, end = ([data.draw(ends) for _ in axes] for _ in range(2))
    strides = [data.draw(st.sampled_from([-3, -2, -1, 1, 2, 3])) for _ in axes]
    parts = [slice(None), slice(None)]
    for axis, first, last, step in zip(axes, begin, end, strides, strict=True):
        parts[axis] = slice(first, last, step)
    exact = [row[parts[1]] for row in x.tolist()[parts[0]]]

    values = [np.array(each) for each in (begin, end, axes, strides)]
    (found,) = run(op_type, [x, *values], known=(1, 2, 3, 4), late=late)
    assert found.tolist() == exact


def test_without_axes_or_strides(run: Run) -> None:
    """The first axes, and steps of one."""
    x = _numbered(3, 4)
    assert run("StridedSliceV3", [x, np.array([1]), np.array([3])], known=(1, 2))[0].tolist() == x.tolist()[1:]
    values = [np.array([0, 1]), np.array([1, -1])]
    (found,) = run("StridedSliceV2", [x, *values, None, np.array([1, 2])], known=(1, 2, 4))
    assert found.tolist() == [x.tolist()[0][1:-1:2]]
    with pytest.raises(InvalidArgument, match="axis 0 is sliced twice"):
        run("StridedSliceV3", [x, *values, np.array([0, -2])], known=(1, 2, 3))
    with pytest.raises(InvalidArgument, match="need one number each, not 0"):
        run("StridedSliceV3", [x, *values, np.array([0, 1]), np.array([1, 0])], known=(1, 2, 3, 4))


def test_bounds_without_values() -> None:
    """A slice is at most as long as its input."""
    descs = [TensorDesc.of(np.float32, (3, -1)), *(TensorDesc.of(np.int64, (1,)) for _ in range(2))]
    (found,) = infer_outputs(schema_of("StridedSliceV3"), descs, {})
    assert (found.shape, found.ranges) == ((-1, -1), ((0, 3), (0, -1)))


@pytest.mark.parametrize("late", [True, False])
def test_sizes(run: Run, late: bool) -> None:
    """``size`` elements from ``offsets``; -1 means to the end."""
    x = _numbered(3, 5)
    rows = x.tolist()
    (found,) = run("SliceWithAxes", [x, np.array([1, 1]), np.array([3, -1])], {"axes": [1, 0]}, known=(1, 2), late=late)
    assert found.tolist() == [row[1:4] for row in rows[1:]]
    (found,) = run("SliceDV2", [x, np.array([1, 0])], {"size": [-1, 2]}, known=(1,), late=late)
    assert found.tolist() == [row[:2] for row in rows[1:]]
    assert run("SliceLastDim", [x], {"start": -4, "end": 9, "stride": 2})[0].tolist() == [row[-4::2] for row in rows]
    with pytest.raises(InvalidArgument, match=r"offset 4 with size 2 lies outside dim 1 of .*\(3, 5\)"):
        run("SliceWithAxes", [x, np.array([4]), np.array([2])], {"axes": [1]}, known=(1, 2), late=late)


@pytest.mark.parametrize("late", [True, False])
@pytest.mark.parametrize("into", [None, 0])
def test_assign(run: Run, late: bool, into: int | None) -> None:
    """The value in the slice, everything else as it was."""
    x, value = _numbered(3, 4), -_numbered(2, 2)
    exact = x.tolist()
    for row, new in zip((2, 1), value.tolist(), strict=True):
        exact[row][0], exact[row][2] = new
    begin, end, strides = np.array([2, 0]), np.array([0, 4]), np.array([-1, 2])

    (found,) = run("StridedSliceAssign", [x, begin, end, strides, value], known=(1, 2, 3), late=late, into=into)
    assert found.tolist() == exact
    attributes = {"begin": begin, "end": end, "strides": strides}
    assert run("StridedSliceAssignD", [x, value], attributes, into=into)[0].tolist() == exact
    inputs = [x, value, begin, end, strides, np.array([0, 1])]
    assert run("StridedSliceAssignV2", inputs, known=(2, 3, 4, 5), late=late, into=into)[0].tolist() == exact
    (written,) = run("SliceWrite", [x, np.array([1, 2]), value], known=(1,), late=late, into=into)
    assert written[1:, 2:].tolist() == value.tolist()
    assert written[0].tolist() == x[0].tolist()
    with pytest.raises(InvalidArgument, match=r"a value \(2, 2\) at \(2, 2\) lies outside \(3, 4\)"):
        run("SliceWrite", [x, np.array([2, 2]), value], known=(1,), late=late)
    with pytest.raises(InvalidArgument, match=r"a value of shape \(2, 3\) does not fit the slice \(2, 2\)"):
        run("StridedSliceAssignD", [x, _numbered(2, 3)], attributes)


@pytest.mark.parametrize("late", [True, False])
def test_gradient(run: Run, late: bool) -> None:
    """The gradient in the slice, zeros elsewhere; the masks as in StridedSlice."""
    grad = _numbered(2)
    values = [np.array([1, 0]), np.array([2, 4]), np.array([1, 2])]
    exact = [[0, 0, 0, 0], [1, 0, 2, 0], [0, 0, 0, 0]]
    masks = {"shrink_axis_mask": 1}
    (found,) = run("StridedSliceGrad", [np.array([3, 4]), *values, grad], masks, known=(0, 1, 2, 3), late=late)
    assert found.tolist() == exact
    attributes = {"shape": [3, 4], "begin": values[0], "end": values[1], "strides": values[2], **masks}
    assert run("StridedSliceGradD", [grad], attributes)[0].tolist() == exact
    with pytest.raises(InvalidArgument, match=r"dy \(3,\) is not the slice \(2,\)"):
        run("StridedSliceGradD", [_numbered(3)], attributes)


@pytest.mark.parametrize("late", [True, False])
def test_slices_that_do_not_fit(run: Run, late: bool) -> None:
    """Two ellipses, more entries than dims and a place beyond a dim are refused; so is a value of another shape."""
    var, two, one = np.zeros((2, 3), np.float32), np.array([0, 0]), np.array([1, 1])
    with pytest.raises(
        InvalidArgument, match=r"StridedSliceAssign: .* do not slice shape \(2, 3\): .* single ellipsis"
    ):
        run("StridedSliceAssign", [var, two, one, one, np.float32(1)], {"ellipsis_mask": 3}, known=(1, 2, 3), late=late)
    with pytest.raises(InvalidArgument, match=r"a value of shape \(4,\) does not fit the slice \(1, 1\)"):
        run("StridedSliceAssign", [var, two, one, one, np.ones(4, np.float32)], known=(1, 2, 3), late=late)
    parts = {"shape": [2, 3], "begin": [0, 0, 0], "end": [1, 1, 1], "strides": [1, 1, 1]}
    with pytest.raises(InvalidArgument, match=r"StridedSliceGradD: .* too many indices"):
        run("StridedSliceGradD", [var], parts)
    beyond = {**{name: [5] for name in ("begin", "end")}, "strides": [1], "shrink_axis_mask": 1}
    with pytest.raises(InvalidArgument, match="out of bounds"):
        run("StridedSliceAssignD", [var, np.ones(3, np.float32)], beyond)
