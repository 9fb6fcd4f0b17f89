"""Numbers in steps, and shapes as numbers."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis.extra import numpy as hnp

from aacl.abc import Array
from aacl.errors import InvalidArgument, UnsupportedDataType

Run = Callable[..., list[Array]]
Close = Callable[..., None]
BF16 = np.dtype(ml_dtypes.bfloat16)
FLOATS = [np.dtype(np.float32), np.dtype(np.float64), np.dtype(np.float16), BF16]


def _numbered(*shape: int, dtype: Any = np.float32) -> Array:
    return np.arange(1, math.prod(shape) + 1).reshape(shape).astype(dtype)


@pytest.mark.parametrize("late", [True, False])
@pytest.mark.parametrize("count", [1, 2, 7])
def test_lin_space(run: Run, close: Close, late: bool, count: int) -> None:
    """Both ends included; one number alone is the start."""
    start, stop = np.float32(-1.5), np.float32(4)
    exact = [-1.5 + 5.5 * i / max(count - 1, 1) for i in range(count)]
    close(run("LinSpace", [start, stop, np.int32(count)], known=(2,), late=late)[0], exact, floor=1)
    helper = np.zeros(count, np.float32)
    close(run("LinSpaceD", [helper, start, stop, np.int32(count)], known=(3,), late=late)[0], exact, floor=1)
    with pytest.raises(InvalidArgument, match="num is 0; it must be at least 1"):
        run("LinSpace", [start, stop, np.int32(0)], known=(2,))


def test_log_space(run: Run, close: Close) -> None:
    """Powers of the base, of the dtype asked for, float16 by default."""
    attributes = {"start": 0.0, "end": 3.0, "steps": 4}
    close(run("LogSpaceD", [_numbered(4)], attributes)[0], [1, 10, 100, 1000])
    (found,) = run("LogSpaceD", [_numbered(4)], attributes | {"base": 2.0, "dtype": 0})
    close(found, [1, 2, 4, 8])
    assert found.dtype == np.float32
    with pytest.raises(UnsupportedDataType, match=r"dtype is INT32 \(3\)"):
        run("LogSpaceD", [_numbered(4)], attributes | {"dtype": 3})


@pytest.mark.parametrize("dtype", [np.float32, np.int32])
def test_range(run: Run, dtype: Any) -> None:
    """The limit is excluded."""
    attributes = {"start": 5.0, "limit": -4.0, "delta": -3.0}
    assert run("RangeD", [_numbered(3, dtype=dtype)], attributes)[0].tolist() == [5, 2, -1]


@pytest.mark.parametrize("late", [True, False])
def test_fill(run: Run, late: bool) -> None:
    """A float constant of the shape asked for."""
    assert run("FillV2", [np.array([2, 3])], {"value": 1.5}, known=(0,))[0].tolist() == [[1.5] * 3] * 2
    assert run("FillV2D", [], {"dims": [3], "value": -2.0})[0].tolist() == [-2] * 3
    assert run("FillV2D", [], {"dims": []})[0].tolist() == 0
    with pytest.raises(InvalidArgument, match="has a negative dim"):
        run("FillV2D", [], {"dims": [-1]})


def test_shapes(run: Run) -> None:
    """One vector for each input."""
    found = run("ShapeN", [_numbered(2, 3), np.float32(1)], {"dtype": 9})
    assert [each.tolist() for each in found] == [[2, 3], []]
    assert {each.dtype for each in found} == {np.dtype(np.int64)}


@settings(max_examples=20, deadline=None)
@given(shapes=hnp.mutually_broadcastable_shapes(num_shapes=2, max_dims=3, max_side=3))
def test_broadcast_args(run: Run, shapes: Any) -> None:
    """The common shape; the gradient's axes give each input's shape back when summed over."""
    first, second = shapes.input_shapes
    inputs = [np.array(each, np.int32) for each in (first, second)]
    assert run("BroadcastArgs", inputs)[0].tolist() == list(shapes.result_shape)

    axes = run("BroadcastGradientArgs", inputs)
    for own, found in zip((first, second), axes, strict=True):
        total = np.ones(shapes.result_shape).sum(tuple(found.tolist()), keepdims=True)
        assert total.size == math.prod(own)
        assert total.reshape(own).shape == own


def test_shapes_that_do_not_broadcast(run: Run) -> None:
    """They are named."""
    with pytest.raises(InvalidArgument, match=r"shapes \(2,\) and \(3,\) do not broadcast"):
        run("BroadcastArgs", [np.array([2], np.int32), np.array([3], np.int32)])


def test_concat_offsets(run: Run) -> None:
    """Where each part begins along the dim."""
    shapes = [np.array([2, size, 7], np.int32) for size in (3, 4, 5)]
    exact = [[0, 0, 0], [0, 3, 0], [0, 7, 0]]
    for found in (run("ConcatOffset", [np.int32(-2), *shapes], {"N": 3}),
                  run("ConcatOffsetD", shapes, {"concat_dim": 1, "N": 3})):  # fmt: skip
        assert [each.tolist() for each in found] == exact
    with pytest.raises(ValueError, match="differ beside dim 2"):
        run("ConcatOffsetD", shapes, {"concat_dim": 2, "N": 3})
    with pytest.raises(InvalidArgument, match=r"concat_dim 3 lies outside \[-3, 3\)"):
        run("ConcatOffsetD", shapes, {"concat_dim": 3, "N": 3})
