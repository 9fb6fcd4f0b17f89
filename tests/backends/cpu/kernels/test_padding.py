"""Paddings by the definition of each mode, and their gradients as sums over what was copied."""

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


def _padded(row: list[float], before: int, after: int, mode: str, value: float) -> list[float]:
    """Pad a list by the definition of each mode."""
    last = len(row) - 1
    pick: dict[str, Callable[[int], float]] = {
        "constant": lambda i: row[i] if 0 <= i <= last else value,
        "edge": lambda i: row[min(max(i, 0), last)],
        "reflect": lambda i: row[last - abs(last - abs(i))],
        "SYMMETRIC": lambda i: row[-1 - i if i < 0 else 2 * last + 1 - i if i > last else i],
    }
    return [pick[mode](i) for i in range(-before, last + 1 + after)]


@pytest.mark.parametrize("mode", ["constant", "edge", "reflect"])
@pytest.mark.parametrize("contiguous", [True, False])
@pytest.mark.parametrize("late", [False, True])
@settings(max_examples=10, deadline=None)
@given(sizes=st.lists(st.integers(0, 2), min_size=4, max_size=4))
def test_pad_v3(run: Run, mode: str, contiguous: bool, late: bool, sizes: list[int]) -> None:
    """Every mode along both axes, with pairs for each axis or begins before ends."""
    x = _numbered(3, 4)
    rows = [_padded(row, sizes[2], sizes[3], mode, 9.0) for row in x.tolist()]
    columns = [_padded(list(column), sizes[0], sizes[1], mode, 9.0) for column in zip(*rows, strict=True)]
    exact = [list(row) for row in zip(*columns, strict=True)]
    order = sizes if contiguous else [sizes[0], sizes[2], sizes[1], sizes[3]]
    value = np.float32(9) if mode == "constant" else None

    attributes = {"mode": mode, "paddings_contiguous": contiguous}
    (found,) = run("PadV3", [x, np.array(order), value], attributes, known=(1,), late=late)
    assert found.tolist() == exact


def test_other_pads(run: Run) -> None:
    """Zeros by default, a constant, mirrors with and without the border; no padding in place."""
    x, pairs = _numbered(2, 3), np.array([[0, 0], [1, 2]])

    assert run("Pad", [x, pairs], known=(1,))[0].tolist() == [[0, *row, 0, 0] for row in x.tolist()]
    assert run("PadD", [x], {"paddings": pairs})[0].tolist() == [[0, *row, 0, 0] for row in x.tolist()]
    (constant,) = run("PadV2", [x, pairs, np.float32(5)], known=(1,))
    assert constant.tolist() == [[5, *row, 5, 5] for row in x.tolist()]
    for mode, name in (("REFLECT", "reflect"), ("SYMMETRIC", "SYMMETRIC")):
        (found,) = run("MirrorPad", [x, pairs], {"mode": mode}, known=(1,))
        assert found.tolist() == [_padded(row, 1, 2, name, 0) for row in x.tolist()]
    assert run("PadD", [x], {"paddings": [[0, 0], [0, 0]]}, into=0)[0].tolist() == x.tolist()
    with pytest.raises(InvalidArgument, match="mode is 'wrap'"):
        run("PadV3", [x, pairs, None], {"mode": "wrap"}, known=(1,))


def test_attributes(run: Run) -> None:
    """Pairs as attributes; the constant as a tensor or a number."""
    x = _numbered(2, 2)
    exact = [[5, 5, 5, 5], [1, 2, 5, 5], [3, 4, 5, 5]]
    pairs = [[1, 0], [0, 2]]
    assert run("PadV2D", [x, np.array([5], np.float32)], {"paddings": pairs})[0].tolist() == exact
    assert run("PadV3D", [x], {"paddings": pairs, "constant_values": 5})[0].tolist() == exact
    apart = {"paddings": [[1, 0], [0, 2]], "paddings_contiguous": False, "constant_values": 5}
    # All begins, then all ends: (1, 0) before, (0, 2) after.
    assert run("PadV3D", [x], apart)[0].tolist() == exact
    assert run("PadV3D", [x], {"paddings": [[0, 0], [0, 1]], "mode": "edge"})[0].tolist() == [[1, 2, 2], [3, 4, 4]]


SOURCES: dict[str, Callable[[int, int], int]] = {
    "edge": lambda place, size: min(max(place, 0), size - 1),
    "reflect": lambda place, size: size - 1 - abs(size - 1 - abs(place)),
    "symmetric": lambda place, size: -1 - place if place < 0 else 2 * size - 1 - place if place >= size else place,
}


@pytest.mark.parametrize(("op_type", "mode"), [("PadV3Grad", "edge"), ("PadV3Grad", "reflect"),
                                               ("MirrorPadGrad", "REFLECT"), ("MirrorPadGrad", "SYMMETRIC")])  # fmt: skip
@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@settings(max_examples=10, deadline=None)
@given(data=st.data())
def test_gradients(run: Run, close: Close, op_type: str, mode: str, dtype: np.dtype[Any], data: st.DataObject) -> None:
    """Each element gets the gradients of all its copies."""
    if op_type == "MirrorPadGrad" and dtype == BF16:
        return  # not among the operator's dtypes
    inner = data.draw(hnp.array_shapes(max_dims=2, min_side=2, max_side=4))
    most = 1 if mode.lower() == "reflect" else 2
    pairs = [tuple(data.draw(st.integers(0, most)) for _ in range(2)) for _ in inner]
    shape = tuple(size + sum(pair) for size, pair in zip(inner, pairs, strict=True))
    grad = data.draw(hnp.arrays(np.int8, shape, elements=st.integers(-4, 4))).astype(dtype)
    exact = np.zeros(inner)
    source = SOURCES[mode.lower()]
    for place in np.ndindex(shape):
        where = tuple(source(at - pair[0], size) for at, pair, size in zip(place, pairs, inner, strict=True))
        exact[where] += float(grad[place])

    late = data.draw(st.booleans())
    (found,) = run(op_type, [grad, np.array(pairs)], {"mode": mode}, known=(1,), late=late)
    close(found, exact)
    if op_type == "PadV3Grad":
        turned = np.array([pair[0] for pair in pairs] + [pair[1] for pair in pairs])
        attributes = {"mode": mode, "paddings_contiguous": False}
        close(run(op_type, [grad, turned], attributes, known=(1,))[0], exact)


def test_refusals(run: Run) -> None:
    """Borders that are more than there is, or than a mirror can fill."""
    with pytest.raises(InvalidArgument, match="are more than input x"):
        run("PadV3Grad", [_numbered(3), np.array([[2, 2]])], known=(1,))
    with pytest.raises(InvalidArgument, match=r"paddings \(2, 0\) cannot be taken from shape \(4,\)"):
        run("PadV3Grad", [_numbered(4), np.array([[2, 0]])], {"mode": "reflect"}, known=(1,))
    with pytest.raises(InvalidArgument, match="it copies nothing into the border"):
        run("PadV3Grad", [_numbered(4), np.array([[1, 0]])], {"mode": "constant"}, known=(1,))
    with pytest.raises(InvalidArgument, match="mode is 'wrap'"):
        run("PadV3D", [_numbered(4)], {"mode": "wrap", "paddings": [[1, 0]]})


@pytest.mark.parametrize("late", [True, False])
@pytest.mark.parametrize(("op_type", "mode"), [("MirrorPad", "REFLECT"), ("MirrorPad", "SYMMETRIC"), ("PadV3", "edge")])
def test_nothing_to_copy(run: Run, op_type: str, mode: str, late: bool) -> None:
    """A border of an empty axis has no source; without a border there is nothing to copy."""
    x, sides = np.zeros((3, 0), np.float32), np.array([[0, 0], [1, 1]])
    with pytest.raises(InvalidArgument, match="copy from an empty axis"):
        run(op_type, [x, sides, None][: 2 + (op_type == "PadV3")], {"mode": mode}, known=(1,), late=late)

    (found,) = run(op_type, [x, sides[::-1], None][: 2 + (op_type == "PadV3")], {"mode": mode}, known=(1,), late=late)
    assert found.shape == (5, 0)
