"""Shape inference: fixed, free and bounded dims, and unknown ranks."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aacl.dtypes import DataType, Format
from aacl.errors import AclError, InvalidArgument
from aacl.ops._catalogue import operator_types, schema_of
from aacl.ops._infer import infer_outputs, inferable_types
from aacl.tensors._desc import UNKNOWN_RANK, TensorDesc
from tests.helpers.descs import FREE, blank, f32, i32, i64, infer, shapes_of


@pytest.mark.parametrize(
    ("left", "right", "expected"),
    [
        ((2, 3), (2, 3), (2, 3)),
        ((2, 3), (), (2, 3)),
        ((4, 1, 3), (2, 1), (4, 2, 3)),
        ((FREE, 16), (FREE, 16), (FREE, 16)),
        ((FREE, 16), (4, 1), (4, 16)),
        ((FREE,), (1,), (FREE,)),
        ((0, 3), (1, 3), (0, 3)),
        (UNKNOWN_RANK, (3,), UNKNOWN_RANK),
    ],
)
def test_broadcasting(left: tuple[int, ...], right: tuple[int, ...], expected: tuple[int, ...]) -> None:
    """NumPy's rule, for free dims and unknown ranks too, in both orders."""
    assert shapes_of("Add", f32(*left), f32(*right)) == [expected]
    assert shapes_of("Add", f32(*right), f32(*left)) == [expected]


@settings(deadline=None)
@given(st.lists(st.integers(0, 4), max_size=4), st.lists(st.integers(0, 4), max_size=4))
def test_broadcasting_agrees_with_numpy(left: list[int], right: list[int]) -> None:
    """The same shape, or an error that shows both shapes."""
    try:
        expected = np.broadcast_shapes(tuple(left), tuple(right))
    except ValueError:
        with pytest.raises(InvalidArgument) as caught:
            infer("Mul", f32(*left), f32(*right))
        assert str(tuple(left)) in str(caught.value)
        assert str(tuple(right)) in str(caught.value)
    else:
        assert shapes_of("Mul", f32(*left), f32(*right)) == [expected]


@st.composite
def _partly_known(draw: st.DrawFn) -> tuple[list[tuple[int, ...]], list[TensorDesc]]:
    """Draw true shapes that broadcast, and descriptions that leave some of their dims open."""
    whole = draw(st.lists(st.integers(1, 4), min_size=1, max_size=3))
    shapes, descs = [], []
    for _ in range(2):
        shape = tuple(draw(st.sampled_from([1, size])) for size in whole)
        dims, ranges = [], []
        for size in shape:
            is_free = draw(st.booleans())
            dims.append(FREE if is_free else size)
            low, high = draw(st.integers(0, size)), draw(st.one_of(st.just(-1), st.integers(size, 9)))
            ranges.append((low, high) if is_free else (size, size))
        shapes.append(shape)
        descs.append(f32(*dims, ranges=ranges if draw(st.booleans()) else ()))
    return shapes, descs


@settings(deadline=None)
@given(_partly_known())
def test_what_is_inferred_holds_for_the_true_shape(case: tuple[list[tuple[int, ...]], list[TensorDesc]]) -> None:
    """A dim that is said is right, and a range holds the true dim."""
    shapes, descs = case
    true = np.broadcast_shapes(*shapes)
    (found,) = infer("Sub", *descs)

    assert len(found.shape) == len(true)
    for axis, size in enumerate(found.shape):
        assert size in (FREE, true[axis])
        if found.ranges:
            low, high = found.ranges[axis]
            assert low <= true[axis]
            assert high == -1 or true[axis] <= high


def test_ranges_propagate() -> None:
    """Bounds go through broadcasting, reductions, joining, products and padding."""
    x = f32(FREE, 4, ranges=[(2, 8), (4, 4)])

    assert infer("Relu", x)[0].ranges == ((2, 8), (4, 4))
    assert infer("Add", x, f32(1, 4))[0].ranges == ((2, 8), (4, 4))
    assert infer("ReduceSumD", x, axes=[1])[0].ranges == ((2, 8),)
    assert infer("ConcatD", x, x, concat_dim=0)[0].ranges == ((4, 16), (4, 4))
    assert infer("Flatten", x, axis=0)[0].ranges == ((1, 1), (8, 32))
    assert infer("Reshape", x, i64(-1))[0].ranges == ((8, 32),)
    assert infer("PadD", x, paddings=[[1, 1], [0, 0]])[0].ranges == ((4, 10), (4, 4))
    assert infer("SplitD", x, split_dim=0, num_split=2)[0].ranges == ((1, 4), (4, 4))
    assert infer("MatMul", x, f32(4, 5))[0].ranges == ((2, 8), (5, 5))
    assert infer("Relu", f32(FREE, 4))[0].ranges == ()


def test_value_dependent_outputs_are_bounded() -> None:
    """The number of coordinates lies between none and the number of elements."""
    (found,) = infer("NonZero", TensorDesc.of(DataType.INT32, (2, 3)))
    assert (found.dtype, found.shape, found.ranges) == (DataType.INT64, (FREE, 2), ((0, 6), (2, 2)))
    (turned,) = infer("NonZero", TensorDesc.of(DataType.INT32, (6,)), transpose=True, dtype="int32")
    assert (turned.dtype, turned.shape, turned.ranges) == (DataType.INT32, (1, FREE), ((1, 1), (0, 6)))
    assert infer("Where", f32(FREE, 2))[0].ranges == ()
    assert infer("Where", f32(FREE, 2))[0].shape == (FREE, 2)
    assert infer("NonZero", f32(*UNKNOWN_RANK))[0].shape == (FREE, FREE)


_CASES: list[tuple[str, list[TensorDesc | None], dict[str, object], list[tuple[int, ...]]]] = [
    ("MatMul", [f32(2, 3), f32(4, 3), None], {"transpose_x2": True}, [(2, 4)]),
    ("MatMul", [f32(FREE, 3), f32(3, FREE)], {}, [(FREE, FREE)]),
    ("MatMul", [f32(*UNKNOWN_RANK), f32(3, 4)], {}, [UNKNOWN_RANK]),
    ("BatchMatMul", [f32(5, 3, 2), f32(5, 3, 4)], {"adj_x1": True}, [(5, 2, 4)]),
    ("ReduceSum", [f32(2, 3, 4), i64(0, -1)], {}, [(3,)]),
    ("ReduceSum", [f32(2, 3, 4), i64(1)], {"keep_dims": True}, [(2, 1, 4)]),
    ("ReduceSum", [f32(2, 3, 4), blank(2)], {}, [(FREE,)]),
    ("ReduceSum", [f32(2, 3, 4), blank(FREE)], {}, [UNKNOWN_RANK]),
    ("ReduceSum", [f32(2, 3), blank(1)], {"keep_dims": True}, [(FREE, FREE)]),
    ("ReduceSum", [f32(2, 3), i64()], {}, [(2, 3)]),
    ("ReduceMean", [f32(2, 3), i64()], {}, [(2, 3)]),
    ("ReduceMean", [f32(2, 3), i64()], {"noop_with_empty_axes": False}, [()]),
    ("ArgMaxV2", [f32(2, 3), i64(1)], {}, [(2,)]),
    ("ArgMaxV2", [f32(2, 3), blank()], {}, [(FREE,)]),
    ("Transpose", [f32(2, 3, 4), i64(2, 0, 1)], {}, [(4, 2, 3)]),
    ("Transpose", [f32(2, 3), blank(2)], {}, [(FREE, FREE)]),
    ("Reshape", [f32(2, 6), i64(3, -1)], {}, [(3, 4)]),
    ("Reshape", [f32(FREE, 6), i64(3, -1)], {}, [(3, FREE)]),
    ("Reshape", [f32(2, 6), blank(3)], {}, [(FREE,) * 3]),
    ("Reshape", [f32(2, 6), blank(FREE)], {}, [UNKNOWN_RANK]),
    ("Reshape", [f32(2, 3, 4), i64(6)], {"axis": 0, "num_axes": 2}, [(6, 4)]),
    ("ExpandDims", [f32(2, 3), i64(-1)], {}, [(2, 3, 1)]),
    ("ExpandDims", [f32(2, 3), blank()], {}, [(FREE,) * 3]),
    ("Squeeze", [f32(1, 3, 1)], {}, [(3,)]),
    ("Squeeze", [f32(1, 3, 1)], {"axis": [-1]}, [(1, 3)]),
    ("Squeeze", [f32(FREE, 3)], {}, [UNKNOWN_RANK]),
    ("Unsqueeze", [f32(2, 3)], {"axes": [0, 3]}, [(1, 2, 3, 1)]),
    ("Flatten", [f32(2, 3, 4)], {}, [(2, 12)]),
    ("Flatten", [f32(2, 3, 4)], {"axis": 3}, [(24, 1)]),
    ("FlattenV2", [f32(2, 3, 4)], {"axis": 1}, [(2, 12)]),
    ("Concat", [i64(0), f32(2, 3), f32(4, 3)], {"N": 2}, [(6, 3)]),
    ("ConcatV2", [f32(2, 3), f32(2, 1), blank()], {"N": 2}, [(FREE, FREE)]),
    ("ConcatD", [f32(2, FREE), f32(2, 3)], {"concat_dim": -1, "N": 2}, [(2, FREE)]),
    ("Pack", [f32(2, 3), f32(2, 3)], {"axis": -1, "N": 2}, [(2, 3, 2)]),
    ("Unpack", [f32(2, 3)], {"axis": 0, "num": 2}, [(3,), (3,)]),
    ("Split", [i32(1), f32(2, 6)], {"num_split": 3}, [(2, 2)] * 3),
    ("Split", [TensorDesc.of("int32"), f32(2, 6)], {"num_split": 2}, [(FREE, FREE)] * 2),
    ("SplitV", [f32(2, 6), i64(1, -1), i64(1)], {"num_split": 2}, [(2, 1), (2, 5)]),
    ("SplitVD", [f32(2, 6)], {"size_splits": [2, 4], "split_dim": 1, "num_split": 2}, [(2, 2), (2, 4)]),
    ("Slice", [f32(4, 6), i64(1, 2), i64(2, -1)], {}, [(2, 4)]),
    ("Slice", [f32(4, 6), blank(2), i64(2, -1)], {}, [(2, FREE)]),
    ("SliceD", [f32(4, 6)], {"offsets": [0, 0], "size": [4, 1]}, [(4, 1)]),
    ("StridedSlice", [f32(4, 6), i64(3, 1), i64(0, 6), i64(-1, 2)], {}, [(3, 3)]),
    ("StridedSlice", [f32(4, 6), i64(0, 0), i64(0, 2), i64(1, 1)], {"shrink_axis_mask": 1}, [(2,)]),
    ("StridedSlice", [f32(4, 6, 8), i64(0, 1), i64(0, 3), i64(1, 1)], {"ellipsis_mask": 1}, [(4, 6, 2)]),
    ("StridedSlice", [f32(4, 6), i64(0, 1), i64(0, 3), i64(1, 1)], {"new_axis_mask": 1}, [(1, 2, 6)]),
    ("StridedSlice", [f32(4, 6), i64(9), i64(9), i64(1)], {"begin_mask": 1, "end_mask": 1}, [(4, 6)]),
    ("StridedSlice", [f32(4, 6), blank(2), i64(4, 6), i64(1, 1)], {}, [(FREE, FREE)]),
    ("Pad", [f32(2, 3), TensorDesc.of("int32", (2, 2), value=np.array([[1, 0], [2, 2]], np.int32))], {}, [(3, 7)]),
    ("PadV3", [f32(2, 3), i64(1, 2, 0, 2), None], {"paddings_contiguous": False}, [(3, 7)]),
    ("PadD", [f32(2, 3)], {"paddings": [[0, 1], [1, 1]]}, [(3, 5)]),
    ("Gather", [f32(5, 3), blank(2, 2)], {}, [(2, 2, 3)]),
    ("Gather", [f32(2, 5, 3), blank(2, 4)], {"batch_dims": 1}, [(2, 4, 3)]),
    ("GatherV2", [f32(5, 3), blank(7), i64(1)], {}, [(5, 7)]),
    ("GatherV2", [f32(5, 3), blank(7), blank()], {}, [(FREE, FREE)]),
    ("GatherV2D", [f32(5, 3), blank()], {"axis": 0}, [(3,)]),
    ("GatherNd", [f32(5, 3, 2), blank(4, 2)], {}, [(4, 2)]),
    ("Tile", [f32(2, 3), i64(2, 0)], {}, [(4, 0)]),
    ("Tile", [f32(2, 3), blank(2)], {}, [(FREE, FREE)]),
    ("TileD", [f32(2, 3)], {"multiples": [1, 3]}, [(2, 9)]),
    ("BroadcastTo", [f32(3), i64(2, 3)], {}, [(2, 3)]),
    ("BroadcastTo", [f32(3), blank(2)], {}, [(FREE, 3)]),
    ("Expand", [f32(2, 1), i64(1, 5)], {}, [(2, 5)]),
    ("Fill", [i64(2, 3), f32()], {}, [(2, 3)]),
    ("Fill", [blank(2), f32()], {}, [(FREE, FREE)]),
    ("OneHot", [blank(2), i64(5), f32(), f32()], {}, [(2, 5)]),
    ("OneHot", [blank(2), blank(), f32(), f32()], {"axis": 0}, [(FREE, 2)]),
    ("Range", [i64(1), i64(8), i64(3)], {}, [(3,)]),
    ("Range", [i64(1), blank(), i64(3)], {}, [(FREE,)]),
    ("Eye", [], {"num_rows": 3}, [(3, 3)]),
    ("Shape", [f32(2, 3)], {}, [(2,)]),
    (
        "LayerNorm",
        [f32(2, 3), f32(3), f32(3)],
        {"begin_norm_axis": 1, "begin_params_axis": 1},
        [(2, 3), (2, 1), (2, 1)],
    ),
    ("RmsNorm", [f32(2, 3), f32(3)], {}, [(2, 3), (2, 1)]),
    ("Select", [TensorDesc.of("bool", (2,)), f32(2, 3), f32(2, 3)], {}, [(2, 3)]),
    ("SelectV2", [TensorDesc.of("bool", (2, 1)), f32(3), f32()], {}, [(2, 3)]),
    ("TopK", [f32(2, 5), i32(3)], {}, [(2, 3), (2, 3)]),
    ("Dot", [f32(4), f32(4)], {}, [(1,)]),
]


@pytest.mark.parametrize(("op_type", "inputs", "attributes", "expected"), _CASES)
def test_shapes(
    op_type: str, inputs: list[TensorDesc | None], attributes: dict[str, object], expected: list[tuple[int, ...]]
) -> None:
    """Each family with known values, unknown values and free dims."""
    assert shapes_of(op_type, *inputs, **attributes) == expected


def test_formats() -> None:
    """A format is kept while the rank is, also through a broadcast scalar of format ND."""
    x = f32(1, 3, 2, 2, format=Format.NCHW)

    assert infer("Relu", x)[0].format is Format.NCHW
    assert infer("Add", f32(), x)[0].format is Format.NCHW
    assert infer("ReduceSumD", x, axes=[1], keep_dims=True)[0].format is Format.NCHW
    assert infer("ReduceSumD", x, axes=[1])[0].format is Format.ND


def test_rules_are_for_known_operators() -> None:
    """Every rule names a type of the catalogue."""
    assert set(inferable_types()) <= set(operator_types())


@settings(deadline=None)
@given(st.sampled_from(inferable_types()), st.data())
def test_unknown_ranks_never_break_a_rule(op_type: str, data: st.DataObject) -> None:
    """With inputs of unknown rank every rule gives descriptions, or a typed error of the attributes."""
    schema = schema_of(op_type)
    given_ = {a.name: _sample(a.kind) for a in schema.attributes if a.is_required}
    inputs = [_unknown_input(data, sorted(p.dtypes)) for p in schema.inputs]
    try:
        outputs = infer_outputs(schema, inputs, schema.complete(given_))
    except AclError:
        return

    assert bool(outputs) == bool(schema.outputs)
    assert all(isinstance(desc, TensorDesc) for desc in outputs)


def _unknown_input(data: st.DataObject, dtypes: list[DataType]) -> TensorDesc:
    return TensorDesc.of(
        data.draw(st.sampled_from(dtypes)), data.draw(st.sampled_from([UNKNOWN_RANK, (-1,), (2, -1), ()]))
    )


def _sample(kind: str) -> object:
    samples: dict[str, object] = {"Int": 1, "Float": 1.0, "Bool": True, "String": "constant", "Type": "float32"}
    return samples.get(kind, [[0, 0]] if kind == "ListListInt" else [0])
