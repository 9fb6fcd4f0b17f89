"""Shape inference: fixed, free and bounded dims, unknown ranks, and texts of errors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aacl.dtypes import DataType, Format
from aacl.errors import AclError, InvalidArgument, NotSupported, UnsupportedDataType
from aacl.ops._catalogue import operator_types, schema_of
from aacl.ops._infer import infer_outputs, inferable_types
from aacl.tensors._desc import UNKNOWN_RANK, TensorDesc

_FREE = -1


def _infer(op_type: str, *inputs: TensorDesc | None, **attributes: object) -> tuple[TensorDesc, ...]:
    schema = schema_of(op_type)
    return infer_outputs(schema, inputs, schema.complete(attributes))


def _f32(*shape: int, **more: Any) -> TensorDesc:
    return TensorDesc.of(DataType.FLOAT, shape, **more)


def _i64(*values: int) -> TensorDesc:
    array = np.array(values, np.int64)
    return TensorDesc.of(array.dtype, array.shape, value=array)


def _i32(value: int) -> TensorDesc:
    return TensorDesc.of(DataType.INT32, (), value=np.array(value, np.int32))


def _open(*shape: int) -> TensorDesc:
    """Return a value input whose contents are not known."""
    return TensorDesc.of(DataType.INT64, shape)


def _shapes(*args: Any, **kwargs: Any) -> list[tuple[int, ...]]:
    return [desc.shape for desc in _infer(*args, **kwargs)]


@pytest.mark.parametrize(
    ("left", "right", "expected"),
    [
        ((2, 3), (2, 3), (2, 3)),
        ((2, 3), (), (2, 3)),
        ((4, 1, 3), (2, 1), (4, 2, 3)),
        ((_FREE, 16), (_FREE, 16), (_FREE, 16)),
        ((_FREE, 16), (4, 1), (4, 16)),
        ((_FREE,), (1,), (_FREE,)),
        ((0, 3), (1, 3), (0, 3)),
        (UNKNOWN_RANK, (3,), UNKNOWN_RANK),
    ],
)
def test_broadcasting(left: tuple[int, ...], right: tuple[int, ...], expected: tuple[int, ...]) -> None:
    """NumPy's rule, for free dims and unknown ranks too, in both orders."""
    assert _shapes("Add", _f32(*left), _f32(*right)) == [expected]
    assert _shapes("Add", _f32(*right), _f32(*left)) == [expected]


@settings(deadline=None)
@given(st.lists(st.integers(0, 4), max_size=4), st.lists(st.integers(0, 4), max_size=4))
def test_broadcasting_agrees_with_numpy(left: list[int], right: list[int]) -> None:
    """The same shape, or an error that shows both shapes."""
    try:
        expected = np.broadcast_shapes(tuple(left), tuple(right))
    except ValueError:
        with pytest.raises(InvalidArgument) as caught:
            _infer("Mul", _f32(*left), _f32(*right))
        assert str(tuple(left)) in str(caught.value)
        assert str(tuple(right)) in str(caught.value)
    else:
        assert _shapes("Mul", _f32(*left), _f32(*right)) == [expected]


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
            dims.append(_FREE if is_free else size)
            low, high = draw(st.integers(0, size)), draw(st.one_of(st.just(-1), st.integers(size, 9)))
            ranges.append((low, high) if is_free else (size, size))
        shapes.append(shape)
        descs.append(_f32(*dims, ranges=ranges if draw(st.booleans()) else ()))
    return shapes, descs


@settings(deadline=None)
@given(_partly_known())
def test_what_is_inferred_holds_for_the_true_shape(case: tuple[list[tuple[int, ...]], list[TensorDesc]]) -> None:
    """A dim that is said is right, and a range holds the true dim."""
    shapes, descs = case
    true = np.broadcast_shapes(*shapes)
    (found,) = _infer("Sub", *descs)

    assert len(found.shape) == len(true)
    for axis, size in enumerate(found.shape):
        assert size in (_FREE, true[axis])
        if found.ranges:
            low, high = found.ranges[axis]
            assert low <= true[axis]
            assert high == -1 or true[axis] <= high


def test_ranges_propagate() -> None:
    """Bounds go through broadcasting, reductions, joining, products and padding."""
    x = _f32(_FREE, 4, ranges=[(2, 8), (4, 4)])

    assert _infer("Relu", x)[0].ranges == ((2, 8), (4, 4))
    assert _infer("Add", x, _f32(1, 4))[0].ranges == ((2, 8), (4, 4))
    assert _infer("ReduceSumD", x, axes=[1])[0].ranges == ((2, 8),)
    assert _infer("ConcatD", x, x, concat_dim=0)[0].ranges == ((4, 16), (4, 4))
    assert _infer("Flatten", x, axis=0)[0].ranges == ((1, 1), (8, 32))
    assert _infer("Reshape", x, _i64(-1))[0].ranges == ((8, 32),)
    assert _infer("PadD", x, paddings=[[1, 1], [0, 0]])[0].ranges == ((4, 10), (4, 4))
    assert _infer("SplitD", x, split_dim=0, num_split=2)[0].ranges == ((1, 4), (4, 4))
    assert _infer("MatMul", x, _f32(4, 5))[0].ranges == ((2, 8), (5, 5))
    assert _infer("Relu", _f32(_FREE, 4))[0].ranges == ()


def test_value_dependent_outputs_are_bounded() -> None:
    """The number of coordinates lies between none and the number of elements."""
    (found,) = _infer("NonZero", TensorDesc.of(DataType.INT32, (2, 3)))
    assert (found.dtype, found.shape, found.ranges) == (DataType.INT64, (_FREE, 2), ((0, 6), (2, 2)))
    (turned,) = _infer("NonZero", TensorDesc.of(DataType.INT32, (6,)), transpose=True, dtype="int32")
    assert (turned.dtype, turned.shape, turned.ranges) == (DataType.INT32, (1, _FREE), ((1, 1), (0, 6)))
    assert _infer("Where", _f32(_FREE, 2))[0].ranges == ()
    assert _infer("Where", _f32(_FREE, 2))[0].shape == (_FREE, 2)
    assert _infer("NonZero", _f32(*UNKNOWN_RANK))[0].shape == (_FREE, _FREE)


_CASES: list[tuple[str, list[TensorDesc | None], dict[str, object], list[tuple[int, ...]]]] = [
    ("MatMul", [_f32(2, 3), _f32(4, 3), None], {"transpose_x2": True}, [(2, 4)]),
    ("MatMul", [_f32(_FREE, 3), _f32(3, _FREE)], {}, [(_FREE, _FREE)]),
    ("MatMul", [_f32(*UNKNOWN_RANK), _f32(3, 4)], {}, [UNKNOWN_RANK]),
    ("BatchMatMul", [_f32(5, 3, 2), _f32(5, 3, 4)], {"adj_x1": True}, [(5, 2, 4)]),
    ("ReduceSum", [_f32(2, 3, 4), _i64(0, -1)], {}, [(3,)]),
    ("ReduceSum", [_f32(2, 3, 4), _i64(1)], {"keep_dims": True}, [(2, 1, 4)]),
    ("ReduceSum", [_f32(2, 3, 4), _open(2)], {}, [(_FREE,)]),
    ("ReduceSum", [_f32(2, 3, 4), _open(_FREE)], {}, [UNKNOWN_RANK]),
    ("ReduceSum", [_f32(2, 3), _open(1)], {"keep_dims": True}, [(_FREE, _FREE)]),
    ("ReduceSum", [_f32(2, 3), _i64()], {}, [(2, 3)]),
    ("ReduceMean", [_f32(2, 3), _i64()], {}, [(2, 3)]),
    ("ReduceMean", [_f32(2, 3), _i64()], {"noop_with_empty_axes": False}, [()]),
    ("ArgMaxV2", [_f32(2, 3), _i64(1)], {}, [(2,)]),
    ("ArgMaxV2", [_f32(2, 3), _open()], {}, [(_FREE,)]),
    ("Transpose", [_f32(2, 3, 4), _i64(2, 0, 1)], {}, [(4, 2, 3)]),
    ("Transpose", [_f32(2, 3), _open(2)], {}, [(_FREE, _FREE)]),
    ("Reshape", [_f32(2, 6), _i64(3, -1)], {}, [(3, 4)]),
    ("Reshape", [_f32(_FREE, 6), _i64(3, -1)], {}, [(3, _FREE)]),
    ("Reshape", [_f32(2, 6), _open(3)], {}, [(_FREE,) * 3]),
    ("Reshape", [_f32(2, 6), _open(_FREE)], {}, [UNKNOWN_RANK]),
    ("Reshape", [_f32(2, 3, 4), _i64(6)], {"axis": 0, "num_axes": 2}, [(6, 4)]),
    ("ExpandDims", [_f32(2, 3), _i64(-1)], {}, [(2, 3, 1)]),
    ("ExpandDims", [_f32(2, 3), _open()], {}, [(_FREE,) * 3]),
    ("Squeeze", [_f32(1, 3, 1)], {}, [(3,)]),
    ("Squeeze", [_f32(1, 3, 1)], {"axis": [-1]}, [(1, 3)]),
    ("Squeeze", [_f32(_FREE, 3)], {}, [UNKNOWN_RANK]),
    ("Unsqueeze", [_f32(2, 3)], {"axes": [0, 3]}, [(1, 2, 3, 1)]),
    ("Flatten", [_f32(2, 3, 4)], {}, [(2, 12)]),
    ("Flatten", [_f32(2, 3, 4)], {"axis": 3}, [(24, 1)]),
    ("FlattenV2", [_f32(2, 3, 4)], {"axis": 1}, [(2, 12)]),
    ("Concat", [_i64(0), _f32(2, 3), _f32(4, 3)], {"N": 2}, [(6, 3)]),
    ("ConcatV2", [_f32(2, 3), _f32(2, 1), _open()], {"N": 2}, [(_FREE, _FREE)]),
    ("ConcatD", [_f32(2, _FREE), _f32(2, 3)], {"concat_dim": -1, "N": 2}, [(2, _FREE)]),
    ("Pack", [_f32(2, 3), _f32(2, 3)], {"axis": -1, "N": 2}, [(2, 3, 2)]),
    ("Unpack", [_f32(2, 3)], {"axis": 0, "num": 2}, [(3,), (3,)]),
    ("Split", [_i32(1), _f32(2, 6)], {"num_split": 3}, [(2, 2)] * 3),
    ("Split", [TensorDesc.of("int32"), _f32(2, 6)], {"num_split": 2}, [(_FREE, _FREE)] * 2),
    ("SplitV", [_f32(2, 6), _i64(1, -1), _i64(1)], {"num_split": 2}, [(2, 1), (2, 5)]),
    ("SplitVD", [_f32(2, 6)], {"size_splits": [2, 4], "split_dim": 1, "num_split": 2}, [(2, 2), (2, 4)]),
    ("Slice", [_f32(4, 6), _i64(1, 2), _i64(2, -1)], {}, [(2, 4)]),
    ("Slice", [_f32(4, 6), _open(2), _i64(2, -1)], {}, [(2, _FREE)]),
    ("SliceD", [_f32(4, 6)], {"offsets": [0, 0], "size": [4, 1]}, [(4, 1)]),
    ("StridedSlice", [_f32(4, 6), _i64(3, 1), _i64(0, 6), _i64(-1, 2)], {}, [(3, 3)]),
    ("StridedSlice", [_f32(4, 6), _i64(0, 0), _i64(0, 2), _i64(1, 1)], {"shrink_axis_mask": 1}, [(2,)]),
    ("StridedSlice", [_f32(4, 6, 8), _i64(0, 1), _i64(0, 3), _i64(1, 1)], {"ellipsis_mask": 1}, [(4, 6, 2)]),
    ("StridedSlice", [_f32(4, 6), _i64(0, 1), _i64(0, 3), _i64(1, 1)], {"new_axis_mask": 1}, [(1, 2, 6)]),
    ("StridedSlice", [_f32(4, 6), _i64(9), _i64(9), _i64(1)], {"begin_mask": 1, "end_mask": 1}, [(4, 6)]),
    ("StridedSlice", [_f32(4, 6), _open(2), _i64(4, 6), _i64(1, 1)], {}, [(_FREE, _FREE)]),
    ("Pad", [_f32(2, 3), TensorDesc.of("int32", (2, 2), value=np.array([[1, 0], [2, 2]], np.int32))], {}, [(3, 7)]),
    ("PadV3", [_f32(2, 3), _i64(1, 2, 0, 2), None], {"paddings_contiguous": False}, [(3, 7)]),
    ("PadD", [_f32(2, 3)], {"paddings": [[0, 1], [1, 1]]}, [(3, 5)]),
    ("Gather", [_f32(5, 3), _open(2, 2)], {}, [(2, 2, 3)]),
    ("Gather", [_f32(2, 5, 3), _open(2, 4)], {"batch_dims": 1}, [(2, 4, 3)]),
    ("GatherV2", [_f32(5, 3), _open(7), _i64(1)], {}, [(5, 7)]),
    ("GatherV2", [_f32(5, 3), _open(7), _open()], {}, [(_FREE, _FREE)]),
    ("GatherV2D", [_f32(5, 3), _open()], {"axis": 0}, [(3,)]),
    ("GatherNd", [_f32(5, 3, 2), _open(4, 2)], {}, [(4, 2)]),
    ("Tile", [_f32(2, 3), _i64(2, 0)], {}, [(4, 0)]),
    ("Tile", [_f32(2, 3), _open(2)], {}, [(_FREE, _FREE)]),
    ("TileD", [_f32(2, 3)], {"multiples": [1, 3]}, [(2, 9)]),
    ("BroadcastTo", [_f32(3), _i64(2, 3)], {}, [(2, 3)]),
    ("BroadcastTo", [_f32(3), _open(2)], {}, [(_FREE, 3)]),
    ("Expand", [_f32(2, 1), _i64(1, 5)], {}, [(2, 5)]),
    ("Fill", [_i64(2, 3), _f32()], {}, [(2, 3)]),
    ("Fill", [_open(2), _f32()], {}, [(_FREE, _FREE)]),
    ("OneHot", [_open(2), _i64(5), _f32(), _f32()], {}, [(2, 5)]),
    ("OneHot", [_open(2), _open(), _f32(), _f32()], {"axis": 0}, [(_FREE, 2)]),
    ("Range", [_i64(1), _i64(8), _i64(3)], {}, [(3,)]),
    ("Range", [_i64(1), _open(), _i64(3)], {}, [(_FREE,)]),
    ("Eye", [], {"num_rows": 3}, [(3, 3)]),
    ("Shape", [_f32(2, 3)], {}, [(2,)]),
    (
        "LayerNorm",
        [_f32(2, 3), _f32(3), _f32(3)],
        {"begin_norm_axis": 1, "begin_params_axis": 1},
        [(2, 3), (2, 1), (2, 1)],
    ),
    ("RmsNorm", [_f32(2, 3), _f32(3)], {}, [(2, 3), (2, 1)]),
    ("Select", [TensorDesc.of("bool", (2,)), _f32(2, 3), _f32(2, 3)], {}, [(2, 3)]),
    ("SelectV2", [TensorDesc.of("bool", (2, 1)), _f32(3), _f32()], {}, [(2, 3)]),
    ("TopK", [_f32(2, 5), _i32(3)], {}, [(2, 3), (2, 3)]),
    ("Dot", [_f32(4), _f32(4)], {}, [(1,)]),
]


@pytest.mark.parametrize(("op_type", "inputs", "attributes", "expected"), _CASES)
def test_shapes(
    op_type: str, inputs: list[TensorDesc | None], attributes: dict[str, object], expected: list[tuple[int, ...]]
) -> None:
    """Each family with known values, unknown values and free dims."""
    assert _shapes(op_type, *inputs, **attributes) == expected


@pytest.mark.parametrize(
    ("op_type", "dtypes", "attributes", "expected"),
    [
        ("Equal", ("int32", "int32"), {}, "BOOL"),
        ("RealDiv", ("bool", "bool"), {}, "FLOAT"),
        ("RealDiv", ("int32", "int32"), {}, "INT32"),
        ("Log", ("int32",), {}, "FLOAT"),
        ("Mul", ("float16", "int32"), {}, "FLOAT16"),
        ("Mul", ("float16", "bfloat16"), {}, "FLOAT"),
        ("Mul", ("int8", "uint8"), {}, "INT16"),
        ("Mul", ("float32", "complex64"), {}, "COMPLEX64"),
        ("Mul", ("float64", "complex64"), {}, "COMPLEX128"),
        ("Pow", ("bfloat16", "float64"), {}, "DOUBLE"),
        ("Cast", ("float32",), {"dst_type": "bfloat16"}, "BF16"),
        ("IsNan", ("float16",), {}, "BOOL"),
        ("SoftmaxV2", ("float16",), {"half_to_float": True}, "FLOAT"),
        ("SoftmaxV2", ("float16",), {}, "FLOAT16"),
    ],
)
def test_data_types(op_type: str, dtypes: tuple[str, ...], attributes: dict[str, object], expected: str) -> None:
    """The output's dtype follows the inputs, the attributes and the prototype."""
    (found,) = _infer(op_type, *(TensorDesc.of(dtype, (2, 2)) for dtype in dtypes), **attributes)

    assert found.dtype.name == expected


def test_special_data_types() -> None:
    """Quantised products give int32; ArgMaxD gives int32 whatever its dtype attribute says."""
    int8 = TensorDesc.of("int8", (2, 2))
    assert _infer("MatMulV2", int8, int8)[0].dtype is DataType.INT32
    assert _infer("ArgMaxD", _f32(2, 3), dimension=0)[0].dtype is DataType.INT32
    assert _infer("ArgMaxV2", _f32(2, 3), _i64(0))[0].dtype is DataType.INT64
    assert _infer("ArgMaxV2", _f32(2, 3), _i64(0), dtype="int32")[0].dtype is DataType.INT32


def test_formats() -> None:
    """A format is kept while the rank is, also through a broadcast scalar of format ND."""
    x = _f32(1, 3, 2, 2, format=Format.NCHW)

    assert _infer("Relu", x)[0].format is Format.NCHW
    assert _infer("Add", _f32(), x)[0].format is Format.NCHW
    assert _infer("ReduceSumD", x, axes=[1], keep_dims=True)[0].format is Format.NCHW
    assert _infer("ReduceSumD", x, axes=[1])[0].format is Format.ND


@pytest.mark.parametrize(
    ("op_type", "inputs", "attributes", "text"),
    [
        (
            "Add",
            [_f32(2, 3), _f32(4, 5)],
            {},
            r"operator Add: inputs x1 of shape \(2, 3\) and x2 of shape \(4, 5\) do not",
        ),
        ("MatMul", [_f32(2, 3), _f32(4, 5)], {}, r"x1 of shape \(2, 3\) and x2 of shape \(4, 5\) do not multiply"),
        ("MatMul", [_f32(2, 3, 4), _f32(4, 5)], {}, r"input x1 of shape \(2, 3, 4\) must have 2 dims"),
        ("MatMul", [_f32(2, 3), _f32(3, 5), _f32(2)], {}, r"x2 of shape \(3, 5\) and bias of shape \(2,\) do not fit"),
        (
            "BatchMatMul",
            [_f32(2, 3, 4), _f32(5, 4, 2)],
            {},
            r"\(2, 3, 4\) and x2 of shape \(5, 4, 2\) have leading dims",
        ),
        (
            "AddN",
            [_f32(2), _f32(3)],
            {"N": 2},
            r"x\[0\] of shape \(2,\) and x\[1\] of shape \(3,\) must have one shape",
        ),
        (
            "ConcatD",
            [_f32(2, 3), _f32(2, 4)],
            {"concat_dim": 0},
            r"\(2, 3\) and x\[1\] of shape \(2, 4\) cannot be joined",
        ),
        ("ConcatD", [_f32(2), _f32(2, 4)], {"concat_dim": 0}, "their ranks differ"),
        ("Pack", [_f32(2), _f32(3)], {}, "must have one shape"),
        ("BiasAdd", [_f32(2, 3), _f32(2)], {}, r"x of shape \(2, 3\) and bias of shape \(2,\) do not fit"),
        ("Select", [TensorDesc.of("bool", (3,)), _f32(2, 3), _f32(2, 3)], {}, "one element for each row"),
        ("ReduceSum", [_f32(2, 3), _i64(2)], {}, r"axis 2 lies outside \[-2, 2\) for input x of shape \(2, 3\)"),
        ("Transpose", [_f32(2, 3), _i64(0, 0)], {}, r"perm \(0, 0\) is no order"),
        ("Reshape", [_f32(2, 3), _i64(4, -1)], {}, r"\(2, 3\) cannot be reshaped to \(4, -1\)"),
        ("Reshape", [_f32(2, 3), _i64(-1, -1)], {}, "may have one -1"),
        ("Squeeze", [_f32(2, 3)], {"axis": [0]}, "is not 1"),
        ("Split", [_i32(1), _f32(2, 5)], {"num_split": 2}, "cannot be split into 2 equal parts"),
        ("SplitV", [_f32(2, 5), _i64(2, 2), _i64(1)], {"num_split": 2}, r"size_splits \(2, 2\) do not add up"),
        ("Slice", [_f32(4), _i64(3), _i64(2)], {}, "offset 3 with size 2 lies outside dim 4"),
        ("StridedSlice", [_f32(4), _i64(0), _i64(4), _i64(0)], {}, "strides not 0"),
        ("StridedSlice", [_f32(4), _i64(5), _i64(6), _i64(1)], {"shrink_axis_mask": 1}, "index 5 lies outside"),
        ("PadD", [_f32(2)], {"paddings": [[-1, 0]]}, "must not be negative"),
        ("GatherV2", [_f32(2, 3), _open(2), _i64(2)], {}, "axis 2 lies outside"),
        ("Tile", [_f32(2, 3), _i64(2)], {}, r"multiples \(2,\) need one number"),
        ("BroadcastTo", [_f32(2), _i64(2, 3)], {}, r"\(2,\) does not broadcast to \(2, 3\)"),
        ("Fill", [_i64(2, -3), _f32()], {}, "has a negative dim"),
        ("Range", [_i64(0), _i64(3), _i64(0)], {}, "delta is 0"),
        (
            "LayerNorm",
            [_f32(2, 3), _f32(2), _f32(3)],
            {"begin_norm_axis": 1, "begin_params_axis": 1},
            "gamma needs shape",
        ),
        ("TopK", [_f32(2), _i32(3)], {}, "k is 3"),
        ("Reshape", [_f32(2), TensorDesc.of("int64", (1 << 33,))], {}, "must have at most 64 elements"),
        ("Unpack", [_f32(2, 3)], {"num": 1 << 40}, "num is 1099511627776; there are 1 to"),
        ("SplitV", [_f32(2, 3), _i64(), _i32(1)], {"num_split": -1}, "num_split is -1; there are 1 to"),
        ("SplitV", [_f32(), _open(1), _open()], {"num_split": 1 << 40}, "num_split is 1099511627776"),
        ("Split", [_i32(1), _f32(2, 4)], {"num_split": 0}, "num_split is 0"),
        ("GatherNd", [_f32(2), _open()], {}, r"input indices of shape \(\) must have one dim at least"),
        (
            "Resize",
            [_f32(1, 1, 2, 2), None, TensorDesc.of("float32", (4,), value=np.array([1, 1, np.inf, 1], np.float32))],
            {},
            "must be finite",
        ),
        (
            "UpsampleNearest1d",
            [_f32(1, 1, 2)],
            {"output_size": [], "scales": [float("inf")]},
            "are not 1 factors above 0",
        ),
    ],
)
def test_shapes_that_do_not_fit(
    op_type: str, inputs: list[TensorDesc | None], attributes: dict[str, object], text: str
) -> None:
    """The text names the operator and the inputs, and shows the shapes as tuples."""
    with pytest.raises(InvalidArgument, match=text):
        _infer(op_type, *inputs, **attributes)


def test_data_types_that_do_not_fit() -> None:
    """Dtypes outside the prototype, unequal ones, and an impossible dst_type."""
    with pytest.raises(UnsupportedDataType, match="operator Sub: input x1 has data type STRING"):
        _infer("Sub", TensorDesc.of(DataType.STRING, (2,)), TensorDesc.of(DataType.STRING, (2,)))
    with pytest.raises(UnsupportedDataType, match="input x1 is FLOAT and input x2 is INT32; they must be equal"):
        _infer("Add", _f32(2), TensorDesc.of("int32", (2,)))
    with pytest.raises(UnsupportedDataType, match=r"dst_type is STRING \(13\); it takes FLOAT"):
        _infer("Cast", _f32(2), dst_type=DataType.STRING)


def test_operators_without_a_rule() -> None:
    """Every other type of the catalogue is refused by its name, with what is missing and what to do."""
    for op_type in set(operator_types()) - set(inferable_types()):
        expected = f"^operator {op_type} is known by name only: this runtime has no rule .* compute it on the host"
        with pytest.raises(NotSupported, match=expected):
            infer_outputs(schema_of(op_type), [], {})


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
