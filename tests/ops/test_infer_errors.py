"""Shapes that inference refuses, and the texts of its errors."""

from __future__ import annotations

import numpy as np
import pytest

from aacl.errors import InvalidArgument, NotSupported
from aacl.ops._catalogue import operator_types, schema_of
from aacl.ops._infer import infer_outputs, inferable_types
from aacl.tensors._desc import TensorDesc
from tests.helpers.descs import blank, f32, i32, i64, infer


@pytest.mark.parametrize(
    ("op_type", "inputs", "attributes", "text"),
    [
        (
            "Add",
            [f32(2, 3), f32(4, 5)],
            {},
            r"operator Add: inputs x1 of shape \(2, 3\) and x2 of shape \(4, 5\) do not",
        ),
        ("MatMul", [f32(2, 3), f32(4, 5)], {}, r"x1 of shape \(2, 3\) and x2 of shape \(4, 5\) do not multiply"),
        ("MatMul", [f32(2, 3, 4), f32(4, 5)], {}, r"input x1 of shape \(2, 3, 4\) must have 2 dims"),
        ("MatMul", [f32(2, 3), f32(3, 5), f32(2)], {}, r"x2 of shape \(3, 5\) and bias of shape \(2,\) do not fit"),
        (
            "BatchMatMul",
            [f32(2, 3, 4), f32(5, 4, 2)],
            {},
            r"\(2, 3, 4\) and x2 of shape \(5, 4, 2\) have leading dims",
        ),
        (
            "AddN",
            [f32(2), f32(3)],
            {"N": 2},
            r"x\[0\] of shape \(2,\) and x\[1\] of shape \(3,\) must have one shape",
        ),
        (
            "ConcatD",
            [f32(2, 3), f32(2, 4)],
            {"concat_dim": 0},
            r"\(2, 3\) and x\[1\] of shape \(2, 4\) cannot be joined",
        ),
        ("ConcatD", [f32(2), f32(2, 4)], {"concat_dim": 0}, "their ranks differ"),
        ("Pack", [f32(2), f32(3)], {}, "must have one shape"),
        ("BiasAdd", [f32(2, 3), f32(2)], {}, r"x of shape \(2, 3\) and bias of shape \(2,\) do not fit"),
        ("Select", [TensorDesc.of("bool", (3,)), f32(2, 3), f32(2, 3)], {}, "one element for each row"),
        ("ReduceSum", [f32(2, 3), i64(2)], {}, r"axis 2 lies outside \[-2, 2\) for input x of shape \(2, 3\)"),
        ("Transpose", [f32(2, 3), i64(0, 0)], {}, r"perm \(0, 0\) is no order"),
        ("Reshape", [f32(2, 3), i64(4, -1)], {}, r"\(2, 3\) cannot be reshaped to \(4, -1\)"),
        ("Reshape", [f32(2, 3), i64(-1, -1)], {}, "may have one -1"),
        ("Squeeze", [f32(2, 3)], {"axis": [0]}, "is not 1"),
        ("Split", [i32(1), f32(2, 5)], {"num_split": 2}, "cannot be split into 2 equal parts"),
        ("SplitV", [f32(2, 5), i64(2, 2), i64(1)], {"num_split": 2}, r"size_splits \(2, 2\) do not add up"),
        ("Slice", [f32(4), i64(3), i64(2)], {}, "offset 3 with size 2 lies outside dim 4"),
        ("StridedSlice", [f32(4), i64(0), i64(4), i64(0)], {}, "strides not 0"),
        ("StridedSlice", [f32(4), i64(5), i64(6), i64(1)], {"shrink_axis_mask": 1}, "index 5 lies outside"),
        ("PadD", [f32(2)], {"paddings": [[-1, 0]]}, "must not be negative"),
        ("GatherV2", [f32(2, 3), blank(2), i64(2)], {}, "axis 2 lies outside"),
        ("Tile", [f32(2, 3), i64(2)], {}, r"multiples \(2,\) need one number"),
        ("BroadcastTo", [f32(2), i64(2, 3)], {}, r"\(2,\) does not broadcast to \(2, 3\)"),
        ("Fill", [i64(2, -3), f32()], {}, "has a negative dim"),
        ("Range", [i64(0), i64(3), i64(0)], {}, "delta is 0"),
        (
            "LayerNorm",
            [f32(2, 3), f32(2), f32(3)],
            {"begin_norm_axis": 1, "begin_params_axis": 1},
            "gamma needs shape",
        ),
        ("TopK", [f32(2), i32(3)], {}, "k is 3"),
        ("Reshape", [f32(2), TensorDesc.of("int64", (1 << 33,))], {}, "must have at most 64 elements"),
        ("Unpack", [f32(2, 3)], {"num": 1 << 40}, "num is 1099511627776; there are 1 to"),
        ("SplitV", [f32(2, 3), i64(), i32(1)], {"num_split": -1}, "num_split is -1; there are 1 to"),
        ("SplitV", [f32(), blank(1), blank()], {"num_split": 1 << 40}, "num_split is 1099511627776"),
        ("Split", [i32(1), f32(2, 4)], {"num_split": 0}, "num_split is 0"),
        ("GatherNd", [f32(2), blank()], {}, r"input indices of shape \(\) must have one dim at least"),
        (
            "Resize",
            [f32(1, 1, 2, 2), None, TensorDesc.of("float32", (4,), value=np.array([1, 1, np.inf, 1], np.float32))],
            {},
            "must be finite",
        ),
        (
            "UpsampleNearest1d",
            [f32(1, 1, 2)],
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
        infer(op_type, *inputs, **attributes)


def test_operators_without_a_rule() -> None:
    """Every other type of the catalogue is refused by its name, with what is missing and what to do."""
    for op_type in set(operator_types()) - set(inferable_types()):
        expected = f"^operator {op_type} is known by name only: this runtime has no rule .* compute it on the host"
        with pytest.raises(NotSupported, match=expected):
            infer_outputs(schema_of(op_type), [], {})
