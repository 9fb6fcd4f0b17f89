"""Outputs of operators that move, repeat, share out or assign elements."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aacl.ops._infer._agreement import require_equal_dtypes
from aacl.ops._infer._dims import FREE, Dim, Shape, fixed, product
from aacl.ops._infer._elementwise import like_first
from aacl.ops._infer._requirements import require_count, require_rank
from aacl.ops._infer._rules import Call, Output, rule

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ()

_NO_AXIS = 1000


rule("ReverseV2D", "ReverseExt2", "RollV2")(like_first)


@rule("ReverseSequence")
def reverse_sequence(call: Call) -> Sequence[Output]:
    """As the input, which has one length for each batch."""
    shape, lengths = call.shape(0), call.shape(1)
    if lengths is not None and len(lengths) != 1:
        raise call.error(f"{call.titled(1)} must have one dim")
    if shape is not None:
        batch = call.axis(call.attributes["batch_dim"], len(shape), "batch_dim")
        if lengths is not None and not shape[batch].meets(lengths[0]):
            raise call.mismatch(0, 1, f"do not fit: one length for each place along axis {batch}")
    return [call.like(0, shape)]


@rule("InvertPermutation")
def invert_permutation(call: Call) -> Sequence[Output]:
    """As the input, a vector."""
    require_rank(call, 0, 1)
    return [call.like(0, call.shape(0))]


@rule("RepeatInterleave")
def repeat(call: Call) -> Sequence[Output]:
    """The axis as long as the repeats add up to; one number is for all of it."""
    shape, axis, times = call.shape(0), call.attributes["axis"], call.integers(1)
    if axis == _NO_AXIS:
        shape, axis = None if shape is None else (product(shape),), 0
    if shape is None:
        return [Output(call.desc(0).dtype, (FREE,) if call.attributes["axis"] == _NO_AXIS else None)]
    axis = call.axis(axis, len(shape), "axis")
    length: Dim = FREE
    if times is not None:
        if any(time < 0 for time in times) or (len(times) != 1 and not shape[axis].meets(fixed(len(times))[0])):
            raise call.error(f"repeats {times} do not fit axis {axis} of {call.titled(0)}: one number, or one for each")
        length = shape[axis].times(fixed(times[0])[0]) if len(times) == 1 else fixed(sum(times))[0]
    return [Output(call.desc(0).dtype, (*shape[:axis], length, *shape[axis + 1 :]))]


@rule("RepeatInterleaveGrad")
def repeat_grad(call: Call) -> Sequence[Output]:
    """The axis as long as there are repeats; of one number, as often as it goes into the axis."""
    shape, times, count = call.shape(0), call.integers(1), call.length(1)
    if shape is None:
        return [call.like(0, None)]
    axis = call.axis(call.attributes["axis"], len(shape), "axis")
    length = FREE if count in (None, 1) else fixed(count or 0)[0]
    if count == 1 and times is not None and shape[axis].is_fixed:
        if times[0] < 1 or shape[axis].least % times[0]:
            raise call.error(f"axis {axis} of {call.titled(0)} is no multiple of {times[0]} repeats")
        length = fixed(shape[axis].least // times[0])[0]
    elif times is not None and (min(times, default=0) < 0 or not shape[axis].meets(Dim(sum(times), sum(times)))):
        raise call.error(f"repeats {times} must add up to axis {axis} of {call.titled(0)}, none of them negative")
    return [call.like(0, (*shape[:axis], length, *shape[axis + 1 :]))]


@rule("UnravelIndex")
def unravel(call: Call) -> Sequence[Output]:
    """One row a dim, a column for each index; of one index alone, a vector."""
    require_rank(call, 1, 1)
    require_equal_dtypes(call, (0, 1))
    indices, dims = call.shape(0), call.shape(1)
    if indices is None:
        return [Output(call.desc(0).dtype, None)]
    if len(indices) > 1:
        raise call.error(f"{call.titled(0)} must have at most one dim")
    return [Output(call.desc(0).dtype, (FREE if dims is None else dims[0], *indices))]


@rule("DynamicPartition")
def partition(call: Call) -> Sequence[Output]:
    """``num_partitions`` outputs of at most all rows each; the partitions' dims are the first ones of ``x``."""
    shape, ids, count = call.shape(0), call.shape(1), require_count(call, "num_partitions")
    dtype = call.desc(0).dtype
    if shape is None or ids is None:
        return [Output(dtype, None)] * count
    if len(ids) > len(shape) or not all(map(Dim.meets, ids, shape)):
        raise call.mismatch(0, 1, "do not fit: the partitions' dims are the first ones of x")
    return [Output(dtype, (Dim(0, product(ids).most), *shape[len(ids) :]))] * count


@rule("DynamicStitch", "ParallelDynamicStitch")
def stitch(call: Call) -> Sequence[Output]:
    """As many rows as the greatest index plus one."""
    half = len(call.inputs) // 2
    require_equal_dtypes(call, range(half, 2 * half))
    tail: Shape = None
    for index in range(half):
        places, part = call.shape(index), call.shape(half + index)
        if places is None or part is None:
            continue
        if len(places) > len(part) or not all(map(Dim.meets, places, part)):
            raise call.mismatch(index, half + index, "do not fit: the indices' dims are the first ones of the data")
        rest = part[len(places) :]
        if tail is not None and (len(tail) != len(rest) or not all(map(Dim.meets, tail, rest))):
            raise call.mismatch(half, half + index, "must have one shape behind their indices' dims")
        tail = rest
    values = [call.integers(index) for index in range(half)]
    count = FREE
    if None not in values:
        most = max((number for value in values for number in value or ()), default=-1)
        count = fixed(most + 1)[0]
    return [Output(call.desc(half).dtype, None if tail is None else (count, *tail))]


@rule("Assign", "AssignAdd", "AssignSub")
def assign(call: Call) -> Sequence[Output]:
    """As the variable, whose shape the value has."""
    require_equal_dtypes(call, (0, 1))
    shape, value = call.shape(0), call.shape(1)
    if shape is not None and value is not None and (len(shape) != len(value) or not all(map(Dim.meets, shape, value))):
        raise call.mismatch(0, 1, "must have one shape")
    return [call.like(0, shape)]
