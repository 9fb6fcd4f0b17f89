"""Operators that cut their input."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from aacl.backends.cpu.kernels._registry import given, kernel, prepared, require_shape, with_integers
from aacl.backends.cpu.kernels._strides import strided_index
from aacl.errors import InvalidArgument

if TYPE_CHECKING:
    from aacl.abc import Array, Kernel, KernelRequest
    from aacl.backends.cpu.kernels._registry import Body

__all__ = ()


@kernel("Split")
def _split(request: KernelRequest) -> Kernel:
    def make(axis: tuple[int, ...]) -> Body:
        inner = _parted(request, 1, axis[0])
        return lambda _, x, *outs: inner(x, *outs)

    return prepared(request, with_integers(request, (0,), make))


@kernel("SplitD", "SplitVD")
def _split_attribute(request: KernelRequest) -> Kernel:
    return prepared(request, _parted(request, 0, request.attributes["split_dim"]))


@kernel("SplitV")
def _split_sizes(request: KernelRequest) -> Kernel:
    def make(axis: tuple[int, ...]) -> Body:
        inner = _parted(request, 0, axis[0])
        return lambda x, _sizes, _axis, *outs: inner(x, *outs)

    return prepared(request, with_integers(request, (2,), make))


def _parted(request: KernelRequest, index: int, axis: int) -> Body:
    """Return a body that cuts at the outputs' own sizes."""
    shape = given(request, index).shape
    if not -len(shape) <= axis < len(shape):
        raise InvalidArgument(f"operator {request.op_type}: split_dim {axis} does not fit shape {shape}")
    axis %= len(shape)
    ends = tuple(itertools.accumulate(info.shape[axis] for info in request.outputs))
    if ends[-1] != shape[axis]:
        raise InvalidArgument(
            f"operator {request.op_type}: the parts add up to {ends[-1]}, dim {axis} is {shape[axis]}"
        )
    before = (slice(None),) * axis
    cuts = [(*before, slice(start, end)) for start, end in zip((0, *ends), ends, strict=False)]

    def body(x: Array, *outs: Array) -> None:
        for cut, out in zip(cuts, outs, strict=True):
            _copy_exactly(request, x[cut], out)

    return body


@kernel("Unpack")
def _unpack(request: KernelRequest) -> Kernel:
    rank, axis = len(given(request, 0).shape), request.attributes["axis"]
    if not -rank <= axis < rank:
        raise InvalidArgument(f"operator Unpack: axis {axis} does not fit shape {given(request, 0).shape}")
    before = (slice(None),) * (axis % rank)

    def body(x: Array, *outs: Array) -> None:
        for index, out in enumerate(outs):
            _copy_exactly(request, x[(*before, index)], out)

    return prepared(request, body)


@kernel("Slice")
def _slice(request: KernelRequest) -> Kernel:
    def make(offsets: tuple[int, ...], sizes: tuple[int, ...]) -> Body:
        inner = _sliced(request, offsets, sizes)
        return lambda x, _offsets, _sizes, out: inner(x, out)

    return prepared(request, with_integers(request, (1, 2), make))


@kernel("SliceD")
def _slice_attribute(request: KernelRequest) -> Kernel:
    return prepared(request, _sliced(request, request.attributes["offsets"], request.attributes["size"]))


def _sliced(request: KernelRequest, offsets: tuple[int, ...], sizes: tuple[int, ...]) -> Body:
    shape = given(request, 0).shape
    fits = len(offsets) == len(sizes) == len(shape) and all(
        0 <= start <= dim and -1 <= size <= dim - start for start, size, dim in zip(offsets, sizes, shape, strict=True)
    )
    if not fits:
        raise InvalidArgument(f"operator {request.op_type}: offsets {offsets} with size {sizes} lie outside {shape}")
    return _picked(
        request,
        [slice(start, None if size == -1 else start + size) for start, size in zip(offsets, sizes, strict=True)],
    )


@kernel("StridedSlice")
def _strided_slice(request: KernelRequest) -> Kernel:
    def make(begin: tuple[int, ...], end: tuple[int, ...], strides: tuple[int, ...]) -> Body:
        inner = _picked(request, strided_index(request, given(request, 0).shape, begin, end, strides))
        return lambda x, _begin, _end, _strides, out: inner(x, out)

    return prepared(request, with_integers(request, (1, 2, 3), make))


@kernel("StridedSliceD")
def _strided_slice_attribute(request: KernelRequest) -> Kernel:
    parts = (request.attributes[name] for name in ("begin", "end", "strides"))
    return prepared(request, _picked(request, strided_index(request, given(request, 0).shape, *parts)))


def _picked(request: KernelRequest, index: Sequence[Any]) -> Body:
    place = tuple(index)

    def body(x: Array, out: Array) -> None:
        _copy_exactly(request, x[place], out)

    return body


def _copy_exactly(request: KernelRequest, part: Array, out: Array) -> None:
    require_shape(request.op_type, np.shape(part), out)
    np.copyto(out, part)
