"""Outputs of numbers in steps, constants, shapes as numbers, and views."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aacl.dtypes import DataType
from aacl.errors import NotSupported
from aacl.ops._infer._agreement import equal_shapes
from aacl.ops._infer._asked import asked_dtype, asked_shape, asked_sizes
from aacl.ops._infer._dims import FREE, Dim, Shape, fixed, product
from aacl.ops._infer._elementwise import like_first
from aacl.ops._infer._requirements import require_ones, require_rank
from aacl.ops._infer._rules import Call, Output, rule

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ()


@rule("LinSpace", "LinSpaceD")
def lin_space(call: Call) -> Sequence[Output]:
    """``num`` numbers."""
    require_ones(call, "start", "stop")
    place = len(call.inputs) - 1
    count = call.integer(place)
    if count is not None and count < 1:
        raise call.error(f"num is {count}; it must be at least 1")
    return [Output(call.desc(place - 1).dtype, (FREE,) if count is None else fixed(count))]


@rule("LogSpaceD")
def log_space(call: Call) -> Sequence[Output]:
    """``steps`` numbers of the dtype asked for."""
    return [Output(asked_dtype(call, "dtype"), asked_sizes(call, (call.attributes["steps"],)))]


@rule("FillV2")
def fill(call: Call) -> Sequence[Output]:
    """The shape that ``dims`` holds, float."""
    return [Output(DataType.FLOAT, asked_shape(call, 0))]


@rule("FillV2D")
def fill_attribute(call: Call) -> Sequence[Output]:
    """The shape of the attribute, float."""
    return [Output(DataType.FLOAT, asked_sizes(call, call.attributes["dims"]))]


@rule("ShapeN")
def shapes(call: Call) -> Sequence[Output]:
    """One number a dim, for every input."""
    dtype = asked_dtype(call, "dtype")
    ranks = [call.shape(index) for index in range(len(call.inputs))]
    return [Output(dtype, (FREE,) if dims is None else fixed(len(dims))) for dims in ranks]


@rule("ConcatOffset", "ConcatOffsetD")
def concat_offset(call: Call) -> Sequence[Output]:
    """As the shapes, which are vectors of one length."""
    require_ones(call, "concat_dim")
    first = int(call.schema.op_type == "ConcatOffset")
    count = len(call.inputs) - first
    if call.attributes["N"] != count:
        raise call.error(f"N is {call.attributes['N']}, and there are {count} shapes")
    require_rank(call, first, 1)
    return [call.like(first, equal_shapes(call, range(first, len(call.inputs))))] * count


@rule("BroadcastArgs")
def broadcast_args(call: Call) -> Sequence[Output]:
    """As long as the longer one."""
    lengths = [call.length(index) for index in (0, 1)]
    known = [length for length in lengths if length is not None]
    return [Output(call.desc(0).dtype, fixed(max(known)) if len(known) == 2 else (FREE,))]


@rule("BroadcastGradientArgs")
def broadcast_gradient_args(call: Call) -> Sequence[Output]:
    """At most as many axes as the longer shape has."""
    lengths = [call.length(index) for index in (0, 1)]
    known = [length for length in lengths if length is not None]
    most = Dim(0, max(known)) if len(known) == 2 else FREE
    return [Output(call.desc(0).dtype, (most,))] * 2


rule("GuaranteeConst", "PlaceholderWithDefault", "PreventGradient")(like_first)


@rule("IdentityN")
def same_each(call: Call) -> Sequence[Output]:
    """As the inputs."""
    return [call.like(index, call.shape(index)) for index in range(len(call.inputs))]


@rule("EnsureShape")
def ensure_shape(call: Call) -> Sequence[Output]:
    """As the input, which has the shape asked for; -1 stands for any size."""
    shape, wanted = call.shape(0), call.attributes["shape"]
    dims = tuple(FREE if size < 0 else Dim(size, size) for size in wanted)
    if shape is None:
        return [call.like(0, dims)]
    met = [a.meets(b) for a, b in zip(shape, dims, strict=False)]
    if len(shape) != len(dims) or None in met:
        raise call.error(f"{call.titled(0)} is not the shape {tuple(wanted)} that is ensured")
    return [call.like(0, tuple(dim for dim in met if dim is not None))]


@rule("TransShape")
def trans_shape(call: Call) -> Sequence[Output]:
    """``outShape``, of as many elements."""
    shape, wanted = call.shape(0), asked_sizes(call, call.attributes["outShape"])
    if shape is not None and not product(shape).meets(product(wanted)):
        raise call.error(f"{call.titled(0)} cannot become {wanted}: the numbers of elements differ")
    return [Output(call.desc(0).dtype, wanted)]


@rule("Bitcast")
def bitcast(call: Call) -> Sequence[Output]:
    """The last dim vanishes where elements join, a new one holds the parts where they split."""
    dtype, source, shape = asked_dtype(call, "type"), call.desc(0).dtype, call.shape(0)
    if min(source.bits, dtype.bits) < 8:
        raise NotSupported(
            f"operator Bitcast: {source.name} to {dtype.name}: 4-bit elements have no bytes of their own"
        )
    return [Output(dtype, _recast(call, shape, source.bits, dtype.bits))]


def _recast(call: Call, shape: Shape, old: int, new: int) -> Shape:
    if shape is None or old == new:
        return shape
    if old > new:
        return (*shape, *fixed(old // new))
    parts = new // old
    if not shape or not shape[-1].meets(Dim(parts, parts)):
        raise call.error(f"the last dim of {call.titled(0)} must be {parts}, the parts of an element")
    return shape[:-1]
