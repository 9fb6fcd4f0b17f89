"""Slices by axes, and writing into slices.

The forms with axes follow ONNX's Slice: an end beyond a dim is cut to it, a negative one counts from the end.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from aacl.backends.cpu.kernels._places import axis_of
from aacl.backends.cpu.kernels._registry import (
    given,
    integers,
    kernel,
    prepared,
    require_shape,
    with_integers,
)
from aacl.backends.cpu.kernels._rows import started
from aacl.backends.cpu.kernels._strides import sliced_axes, sliced_shape, strided_index
from aacl.errors import InvalidArgument

if TYPE_CHECKING:
    from collections.abc import Sequence

    from aacl.abc import Array, Kernel, KernelRequest
    from aacl.backends.cpu.kernels._registry import Body

__all__ = ()

_PARTS = ("begin", "end", "strides")


@kernel("StridedSliceV2", "StridedSliceV3")
def _sliced(request: KernelRequest) -> Kernel:
    """As ONNX's Slice; the mask attributes of V2 are not read, as its header allows."""
    rank = len(given(request, 0).shape)
    present = [index for index in range(1, len(request.inputs)) if request.inputs[index] is not None]

    def make(*values: tuple[int, ...]) -> Body:
        parts = dict(zip(present, values, strict=True))
        index = sliced_axes(request, rank, parts[1], parts[2], parts.get(3), parts.get(4))
        return lambda x, *others: _copy(request, x[index], others[-1])

    return prepared(request, with_integers(request, present, make))


@kernel("SliceWithAxes", "SliceDV2")
def _sliced_sizes(request: KernelRequest) -> Kernel:
    """``size`` elements from ``offsets`` along each of ``axes``, or all; -1 means to the end."""
    shape = given(request, 0).shape
    axes = request.attributes.get("axes", range(len(shape)))

    def make(offsets: tuple[int, ...], sizes: Sequence[int]) -> Body:
        index = [slice(None)] * len(shape)
        if not len(offsets) == len(sizes) == len(axes):
            raise InvalidArgument(f"operator {request.op_type}: offsets {offsets} and size {tuple(sizes)} do not fit")
        for start, size, axis in zip(offsets, sizes, axes, strict=True):
            place = axis_of(request, axis, len(shape))
            if not (0 <= start <= shape[place] and -1 <= size <= shape[place] - start):
                raise InvalidArgument(
                    f"operator {request.op_type}: offset {start} with size {size} lies outside dim {place} of {shape}"
                )
            index[place] = slice(start, None if size == -1 else start + size)
        return lambda x, *others: _copy(request, x[tuple(index)], others[-1])

    if request.op_type == "SliceDV2":
        sizes = request.attributes["size"]
        return prepared(request, with_integers(request, (1,), lambda offsets: make(offsets, sizes)))
    return prepared(request, with_integers(request, (1, 2), make))


@kernel("SliceLastDim")
def _last_dim(request: KernelRequest) -> Kernel:
    start, end, stride = (request.attributes[name] for name in ("start", "end", "stride"))
    return prepared(request, lambda x, out: _copy(request, x[..., start:end:stride], out))


def _copy(request: KernelRequest, part: Array, out: Array) -> None:
    require_shape(request.op_type, part.shape, out)
    np.copyto(out, part)


@kernel("StridedSliceAssign")
def _assign(request: KernelRequest) -> Kernel:
    """``var`` with the slice that StridedSlice would read replaced; the value broadcasts to it."""

    def make(begin: tuple[int, ...], end: tuple[int, ...], strides: tuple[int, ...]) -> Body:
        index = _writable(request, strided_index(request, given(request, 0).shape, begin, end, strides), 4)
        return lambda var, _begin, _end, _strides, value, out: _write(index, var, value, out)

    return prepared(request, with_integers(request, (1, 2, 3), make), in_place=True)


@kernel("StridedSliceAssignD")
def _assign_attribute(request: KernelRequest) -> Kernel:
    parts = (request.attributes[name] for name in _PARTS)
    index = _writable(request, strided_index(request, given(request, 0).shape, *parts), 1)
    return prepared(request, lambda var, value, out: _write(index, var, value, out), in_place=True)


@kernel("StridedSliceAssignV2")
def _assign_axes(request: KernelRequest) -> Kernel:
    """As StridedSliceAssign, by axes."""
    rank = len(given(request, 0).shape)
    present = [index for index in range(2, len(request.inputs)) if request.inputs[index] is not None]

    def make(*values: tuple[int, ...]) -> Body:
        parts = dict(zip(present, values, strict=True))
        index = _writable(request, sliced_axes(request, rank, parts[2], parts[3], parts.get(5), parts[4]), 1)
        return lambda var, value, *others: _write(index, var, value, others[-1])

    return prepared(request, with_integers(request, present, make), in_place=True)


def _writable(request: KernelRequest, index: tuple[Any, ...], value: int) -> tuple[Any, ...]:
    """Return an index of input 0; the input at place ``value`` must broadcast to what it picks."""
    target, new = sliced_shape(given(request, 0).shape, index), given(request, value).shape
    try:
        fits = np.broadcast_shapes(target, new) == target
    except ValueError:
        fits = False
    if not fits:
        raise InvalidArgument(f"operator {request.op_type}: a value of shape {new} does not fit the slice {target}")
    return index


def _write(index: tuple[Any, ...], var: Array, value: Array, out: Array) -> None:
    (value,) = started(out, var, value)
    out[index] = value


@kernel("StridedSliceGrad")
def _grad(request: KernelRequest) -> Kernel:
    """Zeros of the shape given, with the gradient in the slice."""

    def make(begin: tuple[int, ...], end: tuple[int, ...], strides: tuple[int, ...]) -> Body:
        index = strided_index(request, request.outputs[0].shape, begin, end, strides)
        _require_slice(request, index, given(request, 4).shape)

        def body(shape: Array, _begin: Array, _end: Array, _strides: Array, grad: Array, out: Array) -> None:
            require_shape(request.op_type, integers(shape), out)
            _spread(index, grad, out)

        return body

    return prepared(request, with_integers(request, (1, 2, 3), make))


@kernel("StridedSliceGradD")
def _grad_attribute(request: KernelRequest) -> Kernel:
    shape, parts = request.outputs[0].shape, (request.attributes[name] for name in _PARTS)
    index = strided_index(request, shape, *parts)
    _require_slice(request, index, given(request, 0).shape)
    return prepared(request, lambda grad, out: _spread(index, grad, out))


def _require_slice(request: KernelRequest, index: tuple[Any, ...], shape: tuple[int, ...]) -> None:
    whole = request.outputs[0].shape
    if sliced_shape(whole, index) != shape:
        raise InvalidArgument(
            f"operator {request.op_type}: dy {shape} is not the slice {sliced_shape(whole, index)} of {whole}"
        )


def _spread(index: tuple[Any, ...], grad: Array, out: Array) -> None:
    out.fill(0)
    out[index] = grad


@kernel("SliceWrite")
def _slice_write(request: KernelRequest) -> Kernel:
    """``x`` with the value at ``begin``."""
    shape, new = given(request, 0).shape, given(request, 2).shape

    def make(begin: tuple[int, ...]) -> Body:
        fits = len(begin) == len(shape) == len(new) and all(
            0 <= start <= dim - size for start, size, dim in zip(begin, new, shape, strict=True)
        )
        if not fits:
            raise InvalidArgument(f"operator SliceWrite: a value {new} at {begin} lies outside {shape}")
        index = tuple(slice(start, start + size) for start, size in zip(begin, new, strict=True))
        return lambda x, _, value, out: _write(index, x, value, out)

    return prepared(request, with_integers(request, (1,), make), in_place=True)
