"""Rearranging, joining and repeating, element by element in Python."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from aacl.abc import Array, KernelRequest
from aacl.backends.cpu.kernels import find
from aacl.errors import InvalidArgument
from aacl.ops._catalogue import schema_of
from aacl.tensors._desc import TensorDesc

Run = Callable[..., list[Array]]
Close = Callable[..., None]
BF16 = np.dtype(ml_dtypes.bfloat16)
DTYPES = [np.dtype(np.float32), np.dtype(np.float16), BF16, np.dtype(np.int64), np.dtype(np.uint8), np.dtype(np.bool_)]


def _numbered(shape: tuple[int, ...], dtype: Any = np.int64) -> Array:
    return np.arange(math.prod(shape)).reshape(shape).astype(dtype)


@pytest.mark.parametrize("late", [False, True])
@settings(max_examples=15, deadline=None)
@given(data=st.data())
def test_transpose(run: Run, late: bool, data: st.DataObject) -> None:
    """Output element at reordered coordinates; perm as input or attribute, negative axes too."""
    x = _numbered(data.draw(hnp.array_shapes(max_dims=4, max_side=3)))
    perm = data.draw(st.permutations(range(x.ndim)))
    (found,) = run("Transpose", [x, np.array(perm)], known=(1,), late=late)
    for place in np.ndindex(*x.shape):
        assert found[tuple(place[axis] for axis in perm)] == x[place]
    assert run("TransposeD", [x], {"perm": [axis - x.ndim for axis in perm]})[0].tolist() == found.tolist()
    for dtype in (np.float32, np.float16):
        assert run("Permute", [x.astype(dtype)], {"order": perm})[0].tolist() == found.tolist()


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_reshaping(run: Run, dtype: np.dtype[Any]) -> None:
    """All of the family keep the order of the elements, for any dtype, in place too."""
    x = _numbered((1, 2, 3), dtype)
    shapes: list[tuple[str, list[Array], dict[str, Any], tuple[int, ...]]] = [
        ("Reshape", [np.array([3, -1])], {}, (3, 2)),
        ("ExpandDims", [np.array(1)], {}, (1, 1, 2, 3)),
        ("Squeeze", [], {}, (2, 3)),
        ("Unsqueeze", [], {"axes": [0]}, (1, 1, 2, 3)),
        ("FlattenV2", [], {"axis": 0}, (6,)),
        ("Identity", [], {}, (1, 2, 3)),
    ]
    for op_type, values, attributes, shape in shapes:
        (found,) = run(op_type, [x, *values], attributes, known=tuple(range(1, 1 + len(values))))
        assert (found.shape, found.dtype) == (shape, dtype)
        assert found.reshape(-1).tobytes() == x.tobytes()
    if dtype != np.bool_:
        assert run("Flatten", [x])[0].shape == (1, 6)


@pytest.mark.parametrize("late", [False, True])
@pytest.mark.parametrize("dtype", [np.dtype(np.float32), BF16], ids=str)
@settings(max_examples=10, deadline=None)
@given(data=st.data())
def test_concat(run: Run, dtype: np.dtype[Any], late: bool, data: st.DataObject) -> None:
    """Parts lie one after another along the axis, in all four forms."""
    shape = data.draw(hnp.array_shapes(max_dims=3, max_side=3))
    axis = data.draw(st.integers(-len(shape), len(shape) - 1))
    lengths = data.draw(st.lists(st.integers(0, 3), min_size=1, max_size=4))
    parts = []
    for seed, length in enumerate(lengths):
        own = list(shape)
        own[axis] = length
        parts.append((_numbered(tuple(own)) + 100 * seed).astype(dtype))
    place, count = np.array(axis, np.int32), {"N": len(parts)}
    (found,) = run("Concat", [place, *parts], count, known=(0,), late=late)
    for part, end in zip(parts, itertools.accumulate(lengths), strict=True):
        taken = np.take(found, range(end - part.shape[axis], end), axis)
        assert taken.tobytes() == part.tobytes()
    (second,) = run("ConcatV2", [*parts, place], count, known=(len(parts),), late=late)
    (third,) = run("ConcatD", parts, {"concat_dim": axis} | count)
    (fourth,) = run("ConcatV2D", parts, {"concat_dim": axis} | count)
    assert found.tobytes() == second.tobytes() == third.tobytes() == fourth.tobytes()


@given(st.integers(-3, 2))
@settings(max_examples=6, deadline=None)
def test_pack(run: Run, axis: int) -> None:
    """Equal shapes stacked along a new axis; Unpack undoes it."""
    parts = [_numbered((2, 3), np.float32) + 10 * index for index in range(4)]
    (found,) = run("Pack", parts, {"axis": axis, "N": 4})
    assert found.shape[axis] == 4
    for index, part in enumerate(parts):
        assert np.take(found, index, axis).tolist() == part.tolist()
    back = run("Unpack", [found], {"axis": axis, "num": 4})
    assert [part.tolist() for part in back] == [part.tolist() for part in parts]


@pytest.mark.parametrize("late", [False, True])
@settings(max_examples=15, deadline=None)
@given(data=st.data())
def test_tile(run: Run, late: bool, data: st.DataObject) -> None:
    """Coordinates repeat modulo the input's dims; zero multiples give nothing."""
    x = _numbered(data.draw(hnp.array_shapes(max_dims=3, max_side=3)))
    multiples = data.draw(st.lists(st.integers(0, 3), min_size=x.ndim, max_size=x.ndim))
    (found,) = run("Tile", [x, np.array(multiples)], known=(1,), late=late)
    for place in np.ndindex(*found.shape):
        assert found[place] == x[tuple(index % size for index, size in zip(place, x.shape, strict=True))]
    (same,) = run("TileD", [x.astype(np.int32)], {"multiples": multiples})
    assert same.tolist() == found.tolist()


def test_broadcasting(run: Run) -> None:
    """One way for BroadcastTo, both ways for Expand."""
    x = np.array([[1], [2]], np.float32)

    assert run("BroadcastTo", [x, np.array([2, 2, 3])], known=(1,))[0].tolist() == [[[1] * 3, [2] * 3]] * 2
    assert run("BroadcastToD", [x], {"shape": [2, 2]})[0].tolist() == [[1, 1], [2, 2]]
    assert run("Expand", [x, np.array([1, 3])], known=(1,), late=True)[0].tolist() == [[1] * 3, [2] * 3]


def test_values_that_do_not_fit_the_output() -> None:
    """A value input that asks for another shape than the output has is an error, and nothing is written."""
    x, values = TensorDesc.of(np.float32, (2, 3)), TensorDesc.of(np.int64, (2,))
    out = np.full((2, 3), 7, np.float32)
    for op_type, wrong in (("Transpose", [1, 0]), ("Tile", [2, 1]), ("BroadcastTo", [3, 3])):
        body = find(KernelRequest(op_type, (x, values), (x,), schema_of(op_type).complete({}))).body
        with pytest.raises(ValueError, match=rf"operator {op_type}: .* the output has \(2, 3\)"):
            body(np.zeros((2, 3), np.float32), np.array(wrong), out)
    assert (out == 7).all()


def test_copies(run: Run) -> None:
    """As many as asked; those of one copy are Identity under other names."""
    x = np.arange(6, dtype=np.int16).reshape(2, 3)

    assert [out.tolist() for out in run("Copy", [x], {"N": 3})] == [x.tolist()] * 3
    for op_type in ("StopGradient", "TensorMove", "TensorRedirect"):
        assert run(op_type, [x])[0].tobytes() == x.tobytes()
    with pytest.raises(InvalidArgument, match="N is 0"):
        run("Copy", [x], {"N": 0})
