"""Operators that share rows out to several tensors, or gather them again, as TensorFlow's of the same names."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from aacl.backends.cpu.kernels._leading import leading
from aacl.backends.cpu.kernels._registry import elements, given, kernel, prepared, require_shape
from aacl.errors import InvalidArgument

if TYPE_CHECKING:
    from aacl.abc import Array, Kernel, KernelRequest

__all__ = ()


@kernel("DynamicPartition")
def _partition(request: KernelRequest) -> Kernel:
    """The rows of each partition, in their order; a number that is no partition is refused."""
    shape, ids = given(request, 0).shape, given(request, 1).shape
    if shape[: len(ids)] != ids:
        raise InvalidArgument(f"operator DynamicPartition: partitions {ids} are not the first dims of {shape}")
    count = request.attributes["num_partitions"]
    tail = shape[len(ids) :]

    def body(x: Array, partitions: Array, *outs: Array) -> tuple[tuple[int, ...], ...]:
        numbers = partitions.reshape(-1)
        if numbers.size and not 0 <= numbers.min() <= numbers.max() < count:
            raise IndexError(f"operator DynamicPartition: a partition lies outside [0, {count})")
        rows = x.reshape(numbers.size, *tail)
        return leading([rows[numbers == number] for number in range(count)], outs)

    return prepared(request, body, count * elements(given(request, 1)), returns_shapes=True)


@kernel("DynamicStitch", "ParallelDynamicStitch")
def _stitch(request: KernelRequest) -> Kernel:
    """Rows put where the indices say, a later list over an earlier one; rows that none names are 0."""
    half = len(request.inputs) // 2

    def body(*arrays: Array) -> None:
        lists, parts, out = arrays[:half], arrays[half:-1], arrays[-1]
        numbers = np.concatenate([each.reshape(-1) for each in lists])
        wanted = int(numbers.max()) + 1 if numbers.size else 0
        if numbers.size and numbers.min() < 0:
            raise IndexError(f"operator {request.op_type}: the index {numbers.min()} is negative")
        require_shape(request.op_type, (wanted, *out.shape[1:]), out)
        if numbers.size < wanted or len(np.unique(numbers)) < wanted:
            out.fill(0)
        for places, part in zip(lists, parts, strict=True):
            out[places.reshape(-1)] = part.reshape(places.size, *out.shape[1:])

    return prepared(request, body)
