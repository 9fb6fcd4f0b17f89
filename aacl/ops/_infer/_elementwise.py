"""Outputs of operators that work element by element, with or without broadcasting."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aacl.dtypes import DataType, Format
from aacl.ops._infer._agreement import broadcast_inputs, equal_shapes, require_equal_dtypes
from aacl.ops._infer._asked import asked_dtype
from aacl.ops._infer._rules import Call, Output, rule

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ("broadcast_format", "like_first")


@rule(
    *("Abs", "Acos", "Acosh", "Adds", "Asin", "Asinh", "Atan", "Atanh", "Ceil", "Celu", "Cos", "Cosh", "Digamma"),
    *("Elu", "Erf", "Erfc", "Exp", "Expm1", "FastGelu", "Fills", "Floor", "Gelu", "GeluV2", "HardMax"),
    *("HardShrink", "HardSigmoid", "HardSwish", "Identity", "Invert", "IsFinite", "IsInf", "IsNan", "LeakyRelu"),
    *("Lgamma", "Log", "Log1p", "LogicalNot", "LogSigmoid", "LogSoftmax", "LogSoftmaxV2", "Mish", "Muls", "Neg"),
    *("OnesLike", "Power", "Reciprocal", "Relu", "Relu6", "ReverseV2", "Rint", "Round", "Rsqrt", "Selu"),
    *("Sigmoid", "Sign", "Sin", "Sinh", "Softmax", "Softplus", "Softsign", "SoftShrink", "Sqrt", "Square", "Swish"),
    *("Tan", "Tanh", "Threshold", "ThresholdV2D", "Tril", "Triu", "Trunc", "ZerosLike", "CumsumD", "CumprodD"),
    *("CumulativeLogsumexpD", "Roll"),
)
def like_first(call: Call) -> Sequence[Output]:
    """The output has the first input's shape."""
    return [call.like(0, call.shape(0))]


@rule("SoftmaxV2")
def softmax(call: Call) -> Sequence[Output]:
    """As the input, but float with ``half_to_float``."""
    source = call.desc(0)
    dtype = DataType.FLOAT if call.attributes["half_to_float"] else source.dtype
    return [Output(dtype, call.shape(0), source.format)]


@rule("Cast")
def cast(call: Call) -> Sequence[Output]:
    """As the input, of dtype ``dst_type``."""
    return [Output(asked_dtype(call, "dst_type"), call.shape(0), call.desc(0).format)]


@rule(
    *("Add", "AddV2", "ApproximateEqual", "Atan2", "Axpy", "BitwiseAnd", "BitwiseOr", "BitwiseXor", "Div"),
    *("DivNoNan", "Equal", "FloorDiv", "FloorMod", "Greater", "GreaterEqual", "IsClose", "LeftShift", "Less"),
    *("LessEqual", "LogicalAnd", "LogicalOr", "Maximum", "Minimum", "Mod", "MulNoNan", "NotEqual", "RealDiv"),
    *("RightShift", "SquaredDifference", "Sub", "TruncateDiv", "TruncateMod", "Xdivy", "Xlogy", "Lerp"),
)
def broadcast(call: Call) -> Sequence[Output]:
    """All inputs broadcast; their dtypes are equal."""
    require_equal_dtypes(call, range(len(call.inputs)))
    return [Output(call.result(call.desc(0).dtype), broadcast_inputs(call), broadcast_format(call))]


@rule("Mul", "Pow")
def promote(call: Call) -> Sequence[Output]:
    """All inputs broadcast to their common dtype."""
    dtype = promoted(call.desc(0).dtype, call.desc(1).dtype)
    return [Output(dtype, broadcast_inputs(call), broadcast_format(call))]


@rule("Addcdiv", "Addcmul")
def broadcast_three(call: Call) -> Sequence[Output]:
    """The first three inputs broadcast; the fourth is one element."""
    return [Output(call.desc(0).dtype, broadcast_inputs(call, range(3)), broadcast_format(call))]


@rule("AddN", "AccumulateNV2")
def same_shapes(call: Call) -> Sequence[Output]:
    """All inputs have one dtype and one shape."""
    require_equal_dtypes(call, range(len(call.inputs)))
    return [call.like(0, equal_shapes(call, range(len(call.inputs))))]


@rule("Select")
def select(call: Call) -> Sequence[Output]:
    """``x1`` and ``x2`` have one shape; the condition has it too, or one element for each row."""
    require_equal_dtypes(call, (1, 2))
    shape, condition = equal_shapes(call, (1, 2)), call.shape(0)
    if shape is not None and condition:
        is_other_rank = len(condition) not in (1, len(shape))
        if is_other_rank or any(not c.meets(s) for c, s in zip(condition, shape, strict=False)):
            raise call.mismatch(0, 1, "do not fit: the condition has the same shape, or one element for each row")
    return [call.like(1, shape)]


@rule("SelectV2")
def select_broadcast(call: Call) -> Sequence[Output]:
    """All three inputs broadcast."""
    require_equal_dtypes(call, (1, 2))
    return [Output(call.desc(1).dtype, broadcast_inputs(call), broadcast_format(call))]


@rule("BiasAdd")
def bias_add(call: Call) -> Sequence[Output]:
    """As ``x``; the bias is 1-D and as long as the channel axis."""
    require_equal_dtypes(call, (0, 1))
    x, bias = call.shape(0), call.shape(1)
    if bias is not None and len(bias) != 1:
        raise call.error(f"{call.titled(1)} must have one dim")
    if x is not None and bias is not None:
        axis = 1 if call.attributes["data_format"].startswith("NC") else len(x) - 1
        if len(x) < 2 or not x[axis].meets(bias[0]):
            raise call.mismatch(0, 1, f"do not fit: the bias runs along axis {axis}")
    return [call.like(0, x)]


def broadcast_format(call: Call) -> Format:
    """Return the first format of the inputs that says more than ND."""
    return next((desc.format for desc in call.inputs if desc and desc.format is not Format.ND), Format.ND)


def promoted(left: DataType, right: DataType) -> DataType:
    """Return the common dtype: the wider kind decides (bool, integer, float, complex), then the wider type."""
    if left == right:
        return left
    ranks = _KINDS[left], _KINDS[right]
    if ranks[0] != ranks[1]:
        return _complex_of(left, right) if max(ranks) == 3 else (left if ranks[0] > ranks[1] else right)
    if {left, right} == {DataType.FLOAT16, DataType.BF16}:
        return DataType.FLOAT
    if ranks[0] != 1:
        return max(left, right, key=lambda dtype: dtype.bits)
    return _integer_of(left, right)


_COMPLEX = {DataType.COMPLEX32, DataType.COMPLEX64, DataType.COMPLEX128}
_FLOATS = {DataType.FLOAT16, DataType.BF16, DataType.FLOAT, DataType.DOUBLE}
_SIGNED = (DataType.INT8, DataType.INT16, DataType.INT32, DataType.INT64)
_KINDS = {
    dtype: 0 if dtype is DataType.BOOL else 3 if dtype in _COMPLEX else 2 if dtype in _FLOATS else 1
    for dtype in DataType
}


def _complex_of(left: DataType, right: DataType) -> DataType:
    return DataType.COMPLEX128 if {left, right} & {DataType.DOUBLE, DataType.COMPLEX128} else DataType.COMPLEX64


def _integer_of(left: DataType, right: DataType) -> DataType:
    if (left in _SIGNED) == (right in _SIGNED):
        return max(left, right, key=lambda dtype: dtype.bits)
    signed, unsigned = (left, right) if left in _SIGNED else (right, left)
    return next((d for d in _SIGNED if d.bits >= signed.bits and d.bits > unsigned.bits), DataType.INT64)
