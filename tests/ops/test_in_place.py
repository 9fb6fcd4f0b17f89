"""Operators that write where one of their inputs lies: every kernel gives what it gives elsewhere."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import product
from typing import Any, NamedTuple

import numpy as np
import pytest

import aacl
from aacl import Operation, Tensor, TensorDesc, ops
from aacl.abc import Array
from aacl.blocking import Device, Stream
from tests.helpers.samples import samples
from tests.helpers.samples._probe import supported

# `x` fits what most operators take: a square matrix, no zeros, no symmetry.
X = (np.arange(16, dtype=np.float32).reshape(4, 4) - 6.5) / 8
N = (np.arange(16, dtype=np.int32).reshape(4, 4) * 7) % 11 + 1
B = N % 2 == 0
ROW, ONES = X[0], np.ones(4, np.float32)
BIG = np.linspace(-3, 3, 40_000, dtype=np.float32)
HALF = X.astype(np.float16)

Sample = tuple[list[Any], Mapping[str, Any]]

# Arrays become tensors, which take turns as the output's memory; lists stay host values.
SAMPLES: dict[str, list[Sample]] = {
    "AccumulateNV2": [([X, X + 1, X * 2], {"N": 3})],
    "AddN": [([X, X + 1, X * 2], {"N": 3}), ([HALF, HALF + 1], {"N": 2})],
    "Adds": [([X], {"value": 1.5}), ([N], {"value": 1.5}), ([N], {"value": 2.0})],
    "Muls": [([X], {"value": 1.5}), ([N], {"value": 1.5}), ([HALF], {"value": 1.1})],
    "ApproximateEqual": [([X, X], {})],
    **{name: [([N[0], [0]], {}), ([np.array([[5], [3]], np.int32), [1]], {})] for name in ("ArgMax", "ArgMaxV2")},
    "ArgMin": [([np.array([[5], [3]], np.int32), [1]], {})],
    **{name: [([X[:, :1]], {"dimension": 1})] for name in ("ArgMaxD", "ArgMinD")},
    "Axpy": [([X, X + 1], {"alpha": 0.5}), ([X, ROW], {"alpha": 0.5})],
    **{name: [([X, X.T], {}), ([np.stack([X, X]), np.stack([X.T, X])], {}), ([HALF, HALF], {})]
       for name in ("BatchMatMul", "BatchMatMulV2")},
    **{name: [([X, X.T], {}), ([ONES[None], np.ones((4, 4), np.float32), ROW], {}), ([HALF, HALF], {}),
              ([N, N], {}), ([N[:1], N, N[1]], {}), ([X, X], {"transpose_x1": True})]
       for name in ("MatMul", "MatMulV2")},
    "MatMulV3": [([HALF, HALF.T], {}), ([HALF[:1], HALF, HALF[1]], {})],
    "BiasAdd": [([X, ROW], {}), ([X.reshape(1, 4, 4), ROW], {"data_format": "NCHW"}),
                ([np.ones((1, 1, 1), np.float32), ONES[:1]], {"data_format": "NCHW"})],
    **{name: [([N, N + 1], {}), ([N[:1], N[1]], {})] for name in ("BitwiseAnd", "BitwiseOr", "BitwiseXor")},
    "Invert": [([N], {})],
    "BroadcastTo": [([X, [4, 4]], {}), ([ROW, [1, 4]], {})],
    "BroadcastToD": [([X], {"shape": [4, 4]}), ([ROW], {"shape": [1, 4]})],
    "Expand": [([X, [4, 4]], {}), ([ROW, [1, 4]], {})],
    "Cast": [([X * 9], {"dst_type": kind}) for kind in ("INT32", "FLOAT", "UINT32")]
    + [([N], {"dst_type": "FLOAT"}), ([B], {"dst_type": "INT8"}), ([BIG], {"dst_type": "INT32"})],
    "ClipByValue": [([X, X - 0.25, X + 0.25], {}), ([X, ROW[:1], ONES[:1]], {}), ([X, X[:1], X], {})],
    "Concat": [([[0], X, X[:0]], {"N": 2}), ([[1], X[:, 1:], X[:, :1]], {"N": 2})],
    "ConcatV2": [([X, X[:0], [0]], {"N": 2})],
    **{name: [([X, X[:0]], {"concat_dim": 0, "N": 2})] for name in ("ConcatD", "ConcatV2D")},
    "Pack": [([X], {"axis": 2, "N": 1}), ([X], {"axis": 0, "N": 1})],
    "Dot": [([ROW, ROW], {}), ([ROW[:1], ROW[1:2]], {})],
    "ExpandDims": [([X, [0]], {})],
    "Unsqueeze": [([X], {"axes": [1]})],
    "FlattenV2": [([X], {"axis": 0}), ([X], {})],
    "Squeeze": [([X[None]], {})],
    "Reshape": [([X, [2, 8]], {})],
    "Fill": [([[1], ROW[:1]], {})],
    "FillD": [([ROW[:1]], {"dims": [1]})],
    "Fills": [([X], {"value": 2.5})],
    "Gather": [([X, N[0] % 4], {}), ([N[:, 0], (N[0] + 1) % 4], {})],
    "GatherV2": [([X, N[0] % 4, [0]], {}), ([N[:, 0], (N[0] + 1) % 4, [0]], {})],
    "GatherV2D": [([X, N[0] % 4], {"axis": 1}), ([N[:, 0], (N[0] + 1) % 4], {"axis": 0})],
    "GatherElements": [([N, (N + 1) % 4], {"dim": 0}), ([N, (N + 1) % 4], {"dim": 1})],
    "GatherNd": [([N[0], (N[1] % 4)[:, None]], {}), ([X, np.array([[3], [0], [2], [1]], np.int32)], {})],
    **{name: [([X, ROW, ONES], {"begin_norm_axis": 1, "begin_params_axis": 1}), ([X, X + 1, X * 2], {}),
              ([HALF, HALF[0], HALF[1]], {"begin_norm_axis": 1, "begin_params_axis": 1}),
              ([X[:1, :1], ROW[:1], ONES[:1]], {"begin_norm_axis": 1, "begin_params_axis": 1})] for name in ("LayerNorm", "LayerNormV3")},
    "RmsNorm": [([X, ROW], {}), ([HALF, HALF[0]], {}), ([X[:, :1], ROW[:1]], {})],
    "Log": [([X + 2], {}), ([X + 2], {"scale": 2.0, "shift": 1.0}), ([N], {})],
    "Exp": [([X], {}), ([X], {"scale": 2.0, "base": 2.0})],
    **{name: [([B, ~B], {}), ([B[:1], B[1]], {})] for name in ("LogicalAnd", "LogicalOr")},
    "LogicalNot": [([B], {})],
    "Pad": [([X, [[1, 1], [0, 0]]], {}), ([X, [[0, 0], [0, 0]]], {})],
    "MirrorPad": [([X, [[0, 0], [0, 0]]], {"mode": "REFLECT"})],
    "PadD": [([X], {"paddings": [[0, 0], [0, 0]]})],
    **{name: [([X, [[0, 0], [0, 0]], ROW[:1]], {}), ([X[:0, :1], [[0, 1], [0, 0]], ROW[:1]], {})]
       for name in ("PadV2", "PadV3")},
    "OneHot": [([np.array([1], np.int32), [2], np.array([7], np.int32), np.array([3], np.int32)], {}),
               ([np.array([0], np.int32), [1], np.array([7], np.int32), np.array([3], np.int32)], {})],
    "Permute": [([X], {"order": [1, 0]})],
    "Transpose": [([X, [1, 0]], {})],
    "TransposeD": [([X], {"perm": [1, 0]})],
    "Pow": [([abs(X), X], {}), ([N % 4, N % 3 - 1], {}), ([N[:1] % 4, N[1] % 3], {})],
    "Range": [([[0], [4], [1]], {})],
    **{f"Reduce{name}": [([X, [1]], {}), ([X[:, :1], [1]], {}), ([X, []], {})]
       for name in ("Sum", "Mean", "Max", "Min", "Prod", "LogSumExp")},
    **{f"Reduce{name}D": [([X], {"axes": [1]}), ([X[:, :1]], {"axes": [1]}), ([X], {"axes": []})]
       for name in ("Sum", "Mean", "Max", "Min", "Prod")},
    **{f"Reduce{name}": [([B[:, :1], [1]], {})] for name in ("All", "Any")},
    **{f"Reduce{name}D": [([B[:, :1]], {"axes": [1]})] for name in ("All", "Any")},
    "Rank": [([N[0, :1]], {})],
    "Shape": [([N[:1, :1]], {}), ([N[0, :1]], {})],
    "Size": [([N[0, :1]], {})],
    "Round": [([X], {}), ([X], {"decimals": 1}), ([N], {"decimals": -1})],
    "Select": [([B, X, X + 1], {}), ([B[0], X, X + 1], {}), ([B, ~B, B], {})],
    "SelectV2": [([B, X, X + 1], {}), ([B, ROW, X], {})],
    "Slice": [([X, [0, 0], [4, 4]], {})],
    "SliceD": [([X], {"offsets": [0, 0], "size": [4, 4]})],
    "StridedSlice": [([X, [3, 0], [-9, 4], [-1, 1]], {}), ([X, [0, 0], [4, 4], [1, 1]], {})],
    "StridedSliceD": [([X], {"begin": [3, 0], "end": [-9, 4], "strides": [-1, 1]})],
    "Split": [([[0], X], {"num_split": 1})],
    "SplitD": [([X], {"split_dim": 1, "num_split": 1})],
    "SplitV": [([X, [4], [0]], {"num_split": 1})],
    "SplitVD": [([X], {"size_splits": [4, 0], "split_dim": 0, "num_split": 2})],
    "Unpack": [([X[None]], {"num": 1, "axis": 0}), ([X[:, None]], {"num": 1, "axis": 1})],
    "Tile": [([X, [1, 1]], {})],
    "TileD": [([X], {"multiples": [1, 1]})],
    **{name: [([X], {"axes": [0, 1]}), ([X], {}), ([HALF], {})] for name in ("SoftmaxV2", "LogSoftmaxV2")},
    **{name: [([X, X + 0.5], {}), ([B.astype(np.int8), np.ones((4, 4), np.int8)], {}), ([N[:1], N[1]], {})]
       for name in ("Equal", "NotEqual", "Greater", "GreaterEqual", "Less", "LessEqual")},
    **{name: [([HALF[:1]], {}), ([X], {})] for name in ("IsFinite", "IsInf", "IsNan")},
    **{name: [([X, X + 2], {}), ([N, N % 3], {}), ([X[:1], X[1]], {}), ([X[:, :1], ROW], {}), ([N[:1], N[1]], {})]
       for name in ("FloorMod", "FloorDiv", "TruncateDiv", "DivNoNan", "Div", "RealDiv")},
}  # fmt: skip

_UNARY = {"Abs", "Neg", "Sign", "Floor", "Ceil", "Trunc", "Rint", "Square", "Sqrt", "Expm1", "Log1p", "Sin", "Cos", "Tan",
          "Asin", "Acos", "Atan", "Sinh", "Cosh", "Asinh", "Acosh", "Atanh", "Tanh", "Relu", "Relu6", "Sigmoid",
          "Softplus", "Softsign", "LogSigmoid", "Mish", "LeakyRelu", "Elu", "Gelu", "GeluV2", "FastGelu", "Swish",
          "HardSwish", "HardSigmoid", "Erf", "Reciprocal", "Rsqrt", "Softmax", "LogSoftmax", "Identity", "ZerosLike",
          "OnesLike", "Flatten"}  # fmt: skip

_BINARY = ("Add", "AddV2", "Sub", "Mul", "MulNoNan", "SquaredDifference", "Maximum", "Minimum", "Mod", "TruncateMod",
           "Atan2")  # fmt: skip
for _name in _BINARY:
    SAMPLES[_name] = [([X, X + 1.25], {}), ([X[:1], X[1]], {}), ([X, ROW], {}), ([HALF, HALF + 1], {}),
                      ([BIG, BIG[::-1].copy()], {})]  # fmt: skip


@pytest.fixture
def stream() -> Iterator[Stream]:
    """A stream of an open device."""
    with Device(0), Stream() as opened:
        yield opened


def _samples(op_type: str) -> list[Sample]:
    """Return the table's samples; of operators that are not in it the one that every type has."""
    if op_type in SAMPLES:
        return SAMPLES[op_type]
    shift = 5.0 if op_type == "Acosh" else 0.0
    if op_type in _UNARY:
        return [([X + shift], {}), ([HALF + shift], {}), ([BIG + shift], {})]
    sample = samples()[op_type][1]
    dtype = next(supported(op_type, sample)).numpy_dtype
    known = sample.known()
    arrays = sample.arrays(dtype)
    return [([_host(each) if index in known else each for index, each in enumerate(arrays)], sample.attributes)]


class _Host(NamedTuple):
    """A value that stays on the host."""

    array: Array


def _host(array: Array | None) -> _Host | None:
    return None if array is None else _Host(array)


def _inputs(stream: Stream, given: list[Any]) -> list[Any]:
    return [
        each.array if isinstance(each, _Host) else stream.to_device(each) if isinstance(each, np.ndarray) else each
        for each in given
    ]


def _outputs(operation: Operation) -> list[Tensor]:
    return [aacl.empty([most for _, most in desc.ranges] or desc.shape, desc.dtype) for desc in operation.infer()]


def _values(stream: Stream, operation: Operation) -> list[Array]:
    made = stream.execute(operation)
    return [stream.to_host(each) for each in (made if isinstance(made, tuple) else (made,))]


@pytest.mark.parametrize("op_type", [name for name, (_, sample) in sorted(samples().items()) if not sample.is_random])
def test_every_kernel_gives_the_same_where_an_output_is_the_memory_of_an_input(stream: Stream, op_type: str) -> None:
    """Whatever the shapes and dtypes of the two are, on the first run and on the second."""
    for given, attributes in _samples(op_type):
        expected = _values(stream, Operation(op_type, _inputs(stream, given), attributes))
        for place, result in product(range(len(given)), range(len(expected))):
            inputs = _inputs(stream, given)
            changed = Operation(op_type, inputs, attributes).updates(aacl.current_device())
            read, outs = inputs[place], _outputs(Operation(op_type, inputs, attributes))
            if not isinstance(read, Tensor) or read.nbytes != outs[result].nbytes or not read.nbytes:
                continue
            if place in changed:  # refused
                continue
            outs[result] = Tensor(outs[result].desc, read.buffer)
            operation = Operation(op_type, inputs, attributes, out=outs)
            for _ in range(2):
                for found, wanted in zip(_values(stream, operation), expected, strict=True):
                    np.testing.assert_array_equal(found, wanted, f"{given}, {attributes}: input {place} is written")
                for each in {place, *changed}:
                    inputs[each].view()[...] = given[each]


@pytest.mark.parametrize("shape", [(6,), (1, 6)])
def test_a_bias_may_be_what_a_product_is_written_over(stream: Stream, shape: tuple[int, ...]) -> None:
    """The bias has one dim, the product two; both are the same bytes."""
    bias = stream.to_device(np.arange(6, dtype=np.float32))
    ones, many = (stream.to_device(np.ones(each, np.float32)) for each in ((1, 4), (4, 6)))
    out = Tensor(TensorDesc.of(np.float32, (1, 6)), bias.buffer)
    given = Tensor(TensorDesc.of(np.float32, shape), bias.buffer)

    assert stream.to_host(stream.execute(ops.MatMul(ones, many, given, out=out))).tolist() == [[4, 5, 6, 7, 8, 9]]
