"""Cells between space, channels and batch: element by element, from the operators' documentation."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

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
DTYPES: list[np.dtype[Any]] = [np.dtype(np.float32), np.dtype(np.float16), np.dtype(np.int8), np.dtype(np.int64)]


def _numbered(shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
    return np.arange(int(np.prod(shape))).reshape(shape).astype(dtype)


@pytest.mark.parametrize("mode", ["DCR", "CRD"])
@pytest.mark.parametrize("layout", ["NHWC", "NCHW"])
@settings(max_examples=10, deadline=None)
@given(data=st.data())
def test_depth_to_space(run: Run, mode: str, layout: str, data: st.DataObject) -> None:
    """The channel at (row, column, depth) of a block goes to that row and column."""
    batch, rows, columns, depth = data.draw(st.tuples(st.integers(0, 3), *[st.integers(1, 3)] * 3))
    block, dtype = data.draw(st.integers(2, 3)), data.draw(st.sampled_from(DTYPES))
    x = _numbered((batch, rows, columns, depth * block * block), dtype)
    expected = np.empty((batch, rows * block, columns * block, depth), dtype)
    for n, h, w, c in np.ndindex(expected.shape):
        place = (h % block) * block + w % block
        channel = place * depth + c if mode == "DCR" else c * block * block + place
        expected[n, h, w, c] = x[n, h // block, w // block, channel]

    given_x = x.transpose(0, 3, 1, 2) if layout == "NCHW" else x
    attributes = {"block_size": block, "mode": mode, "data_format": layout}
    (found,) = run("DepthToSpace", [given_x], attributes)
    assert (found.transpose(0, 2, 3, 1) if layout == "NCHW" else found).tolist() == expected.tolist()
    if mode == "DCR":
        back = run("SpaceToDepth", [found], {"block_size": block, "data_format": layout})[0]
        assert back.tolist() == given_x.tolist()


@pytest.mark.parametrize("late", [False, True])
@settings(max_examples=15, deadline=None)
@given(data=st.data())
def test_space_to_batch(run: Run, late: bool, data: st.DataObject) -> None:
    """Cell by cell: the place within its block decides the batch, and BatchToSpaceND brings it back."""
    dims = data.draw(st.integers(1, 3))
    blocks = [data.draw(st.integers(1, 3)) for _ in range(dims)]
    cells = [data.draw(st.integers(1, 2)) for _ in range(dims)]
    low = [data.draw(st.integers(0, block - 1)) for block in blocks]
    sizes = [cell * block - edge for cell, block, edge in zip(cells, blocks, low, strict=True)]
    batch, dtype = data.draw(st.integers(1, 2)), data.draw(st.sampled_from(DTYPES))
    x = _numbered((batch, *sizes, 2), dtype)
    expected = np.zeros((int(np.prod(blocks)) * batch, *cells, 2), dtype)
    for place, offset in enumerate(itertools.product(*map(range, blocks))):
        for cell in itertools.product(*map(range, cells)):
            source = [c * b + o - e for c, b, o, e in zip(cell, blocks, offset, low, strict=True)]
            if min(source) >= 0:
                for n in range(batch):
                    expected[(place * batch + n, *cell)] = x[(n, *source)]

    edges = np.array([[edge, 0] for edge in low])
    (found,) = run("SpaceToBatchND", [x, np.array(blocks), edges], known=(1, 2), late=late)
    assert found.tolist() == expected.tolist()
    (back,) = run("BatchToSpaceND", [found, np.array(blocks), edges], known=(1, 2), late=late)
    assert back.tolist() == x.tolist()


def test_square_and_attribute_forms(run: Run) -> None:
    """``block_size`` is a block for height and width; the D forms take attributes."""
    x = _numbered((2, 4, 6, 3), np.dtype(np.float32))
    edges = np.array([[1, 1], [0, 2]])
    flat = edges.reshape(-1).tolist()
    (found,) = run("SpaceToBatchND", [x, np.array([2, 2]), edges], known=(1, 2))

    assert run("SpaceToBatch", [x, edges], {"block_size": 2}, known=(1,))[0].tolist() == found.tolist()
    assert run("SpaceToBatchD", [x], {"block_size": 2, "paddings": flat})[0].tolist() == found.tolist()
    assert run("SpaceToBatchNDD", [x], {"block_shape": [2, 2], "paddings": flat})[0].tolist() == found.tolist()
    assert run("BatchToSpace", [found, edges], {"block_size": 2}, known=(1,))[0].tolist() == x.tolist()
    assert run("BatchToSpaceD", [found], {"block_size": 2, "crops": flat})[0].tolist() == x.tolist()
    assert run("BatchToSpaceNDD", [found], {"block_shape": [2, 2], "crops": flat})[0].tolist() == x.tolist()


def test_shuffle_channel(run: Run) -> None:
    """Channels 0 1 2 | 3 4 5 come out as 0 3 1 4 2 5."""
    x = np.repeat(np.arange(6, dtype=np.uint8), 4).reshape(1, 6, 2, 2)

    assert run("ShuffleChannel", [x], {"group": 2})[0][0, :, 0, 0].tolist() == [0, 3, 1, 4, 2, 5]
    assert run("ShuffleChannel", [x])[0].tolist() == x.tolist()


@pytest.mark.parametrize(
    ("op_type", "inputs", "attributes", "text"),
    [
        ("DepthToSpace", [np.zeros((1, 2, 2, 6))], {"block_size": 2}, "no multiple"),
        ("DepthToSpace", [np.zeros((1, 2, 2, 4))], {"block_size": 1}, "at least 2"),
        ("DepthToSpace", [np.zeros((2, 2, 4))], {"block_size": 2}, "four dims"),
        ("DepthToSpace", [np.zeros((1, 2, 2, 4))], {"block_size": 2, "mode": "CDR"}, "mode is 'CDR'"),
        ("SpaceToDepth", [np.zeros((1, 3, 2, 4))], {"block_size": 2}, "no multiple"),
        ("SpaceToDepth", [np.zeros((1, 4, 2, 4))], {"block_size": 2, "data_format": "HWCN"}, "data_format"),
        ("ShuffleChannel", [np.zeros((1, 5), np.int8)], {"group": 2}, "no multiple"),
        ("ShuffleChannel", [np.zeros((1, 5), np.int8)], {"group": 0}, "at least 1"),
        ("SpaceToBatchD", [np.zeros((1, 3, 2, 4), np.float32)], {"block_size": 2, "paddings": [0] * 4}, "no multiple"),
        ("BatchToSpaceD", [np.zeros((4, 1, 1, 4), np.float32)], {"block_size": 2, "crops": [2, 1, 0, 0]}, "crops"),
        ("BatchToSpaceD", [np.zeros((3, 1, 1, 4), np.float32)], {"block_size": 2, "crops": [0] * 4}, "no multiple"),
        ("BatchToSpaceD", [np.zeros((4, 1, 1, 4), np.float32)], {"block_size": 2, "crops": [0, 0]}, "a pair for each"),
        ("BatchToSpaceD", [np.zeros((4, 1, 1, 4), np.float32)], {"block_size": 2, "crops": [-1, 0, 0, 0]}, "negative"),
    ],
)
def test_bad_input(run: Run, op_type: str, inputs: list[Array], attributes: dict[str, Any], text: str) -> None:
    """A block that does not fit is refused before anything runs."""
    with pytest.raises(InvalidArgument, match=text):
        run(op_type, inputs, attributes)


def test_free_dims() -> None:
    """Bounds go through: 1 to 4 rows become 2 to 8; unknown blocks leave only the rank."""
    x = TensorDesc.of(np.float32, (-1, -1, 3, 8), ranges=((1, 2), (1, 4), (3, 3), (8, 8)))
    schema = schema_of("DepthToSpace")
    (y,) = infer_outputs(schema, [x], schema.complete({"block_size": 2}))
    assert (y.shape, y.ranges) == ((-1, -1, 6, 2), ((1, 2), (2, 8), (6, 6), (2, 2)))

    schema = schema_of("SpaceToBatchND")
    unknown = [TensorDesc.of(np.int32, (2,)), TensorDesc.of(np.int32, (2, 2))]
    (y,) = infer_outputs(schema, [x, *unknown], schema.complete({}))
    assert y.shape == (-1, -1, -1, -1)
    (y,) = infer_outputs(schema, [TensorDesc.of(np.float32, (-2,)), *unknown], schema.complete({}))
    assert y.shape == (-2,)
