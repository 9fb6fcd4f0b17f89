"""Outputs of arithmetic with more to it than inputs that broadcast."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aacl.dtypes import DataType, Format
from aacl.ops._infer._agreement import broadcast_inputs, equal_shapes, require_equal_dtypes
from aacl.ops._infer._dims import Dim, fixed, product
from aacl.ops._infer._dims import broadcast as broadcast_dims
from aacl.ops._infer._elementwise import broadcast_format, like_first, promoted
from aacl.ops._infer._reduction import without
from aacl.ops._infer._requirements import require_count, require_one
from aacl.ops._infer._rules import Call, Output, rule

if TYPE_CHECKING:
    from collections.abc import Sequence

    from aacl.ops._infer._dims import Shape

__all__ = ()


rule(
    *("Inv", "IsNegInf", "IsPosInf", "NanToNum", "PopulationCount", "StopGradient", "TensorMove"),
    *("TensorRedirect",),
)(like_first)


@rule(
    *("ClipByNormNoDivSum", "FusedMulAdd", "FusedMulAddAdd", "Gcd", "LogAddExp", "MaxN", "MinN", "Multiply"),
    *("NextAfter", "PtAdd", "PtMuls", "PtSub", "Xlog1py"),
)
def broadcast(call: Call) -> Sequence[Output]:
    """All inputs broadcast; their dtypes are equal."""
    require_equal_dtypes(call, range(len(call.inputs)))
    return [Output(call.desc(0).dtype, broadcast_inputs(call), broadcast_format(call))]


@rule("ClipByValue", "ClipByValueV2")
def clip(call: Call) -> Sequence[Output]:
    """As ``x``; each bound is one element, or broadcasts to ``x``."""
    require_equal_dtypes(call, range(3))
    shape = call.shape(0)
    for index in (1, 2):
        bound = call.shape(index)
        if shape is None or bound is None or product(bound).meets(Dim(1, 1)):
            continue
        stretched = broadcast_dims(shape, bound)
        fits = stretched is not None and len(stretched) == len(shape)
        if not fits or stretched is None or any(not a.meets(b) for a, b in zip(stretched, shape, strict=True)):
            raise call.mismatch(0, index, "do not fit: a bound is one element, or broadcasts to x")
    return [call.like(0, shape)]


@rule("FusedMulAddN")
def with_one_element(call: Call) -> Sequence[Output]:
    """The first two inputs broadcast; the third is one element."""
    require_equal_dtypes(call, range(3))
    require_one(call, 2)
    return [Output(call.desc(0).dtype, broadcast_inputs(call, range(2)), broadcast_format(call))]


@rule("AxpyV2", "Sxpy")
def axpy(call: Call) -> Sequence[Output]:
    """``x1`` and ``x2`` broadcast to their common dtype; alpha is one element."""
    dtype = promoted(call.desc(0).dtype, call.desc(1).dtype)
    if call.has(2):
        require_one(call, 2)
        dtype = promoted(dtype, call.desc(2).dtype)
    return [Output(dtype, broadcast_inputs(call, range(2)), broadcast_format(call))]


@rule("Eltwise")
def eltwise(call: Call) -> Sequence[Output]:
    """All inputs have one dtype and one shape; coefficients, where given, are one an input."""
    require_equal_dtypes(call, range(len(call.inputs)))
    coefficients = call.attributes["coeff"]
    if coefficients and len(coefficients) != len(call.inputs):
        raise call.error(f"coeff has {len(coefficients)} numbers for {len(call.inputs)} inputs")
    return [call.like(0, equal_shapes(call, range(len(call.inputs))))]


@rule("Bias")
def bias(call: Call) -> Sequence[Output]:
    """As ``x``; the bias lies along the axes from ``axis`` on, or is one element."""
    require_equal_dtypes(call, (0, 1))
    x, along = call.shape(0), call.shape(1)
    if x is not None and along is not None:
        axis = call.axis(call.attributes["axis"], len(x), "axis")
        span = _bias_span(call, len(x) - axis, len(along))
        is_one = span == 0 or (not call.attributes["bias_from_blob"] and along == fixed(1))
        dims = x[axis : axis + span]
        fits = len(along) == span and all(dim.meets(size) for dim, size in zip(dims, along, strict=True))
        if not (fits or (is_one and along in ((), fixed(1)))):
            raise call.mismatch(0, 1, f"do not fit: the bias lies along {span} axes from axis {axis} on")
    return [call.like(0, x)]


def _bias_span(call: Call, available: int, rank: int) -> int:
    """Return along how many axes the bias lies: ``num_axes`` says so where it comes from a blob, else its rank."""
    count = int(call.attributes["num_axes"]) if call.attributes["bias_from_blob"] else rank
    if not -1 <= count <= available:
        raise call.error(
            f"a bias along {count} axes is more than the {available} that {call.titled(0)} has from axis on"
        )
    return available if count == -1 else count


@rule("TensorEqual")
def tensor_equal(call: Call) -> Sequence[Output]:
    """One element."""
    require_equal_dtypes(call, (0, 1))
    return [Output(DataType.BOOL, fixed(1))]


@rule("CastLike")
def cast_like(call: Call) -> Sequence[Output]:
    """The first input's shape, the second one's dtype."""
    return [Output(call.desc(1).dtype, call.shape(0), call.desc(0).format)]


@rule("Copy")
def copies(call: Call) -> Sequence[Output]:
    """``N`` outputs like the input."""
    return [call.like(0, call.shape(0))] * require_count(call, "N")


@rule("StrideAdd")
def stride_add(call: Call) -> Sequence[Output]:
    """Five dims; the second one becomes ``c1_len``."""
    require_equal_dtypes(call, (0, 1))
    length = call.attributes["c1_len"]
    shapes = []
    for index, name in enumerate(("x1_c1_offset", "x2_c1_offset")):
        shape, offset = call.shape(index), call.attributes[name]
        if shape is None:
            shape = (Dim(0, float("inf")),) * 5
        if len(shape) != 5 or length < 0 or offset < 0 or shape[1].most < offset + length:
            raise call.error(f"{name} {offset} and c1_len {length} lie outside {call.titled(index)}, N, C1, H, W, C0")
        shapes.append((shape[0], *fixed(length), *shape[2:]))
    dims = [a.meets(b) for a, b in zip(*shapes, strict=True)]
    if None in dims:
        raise call.mismatch(0, 1, "must have one shape apart from the second dim")
    return [call.like(0, tuple(dim for dim in dims if dim is not None))]


@rule("SquareSumV2")
def square_sum(call: Call) -> Sequence[Output]:
    """The sum over ``axis``, and the squares."""
    return [call.like(0, _reduced(call, "axis", call.shape(0))), call.like(0, call.shape(0), 1)]


@rule("ConfusionMulGrad")
def confusion_mul(call: Call) -> Sequence[Output]:
    """The product of the first two inputs; that of the last two, summed over ``axes``."""
    require_equal_dtypes(call, range(3))
    summed = _reduced(call, "axes", broadcast_inputs(call, (1, 2)))
    return [Output(call.desc(0).dtype, broadcast_inputs(call, (0, 1)), broadcast_format(call)),
            Output(call.desc(0).dtype, summed, Format.ND)]  # fmt: skip


def _reduced(call: Call, name: str, shape: Shape) -> Shape:
    if shape is None:
        return None
    axes = call.attributes[name] or range(len(shape))
    return without(shape, {call.axis(axis, len(shape), name) for axis in axes}, call.attributes["keep_dims"])
