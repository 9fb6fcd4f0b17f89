"""Operators that pick elements by index.

An index outside its axis is an error that names it; nothing is written then. Where the number of
results depends on the values, the output is as large as it may get, its first elements are the
result, and the body returns the exact shapes.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

import numpy as np

from aacl.backends.cpu.kernels._leading import leading
from aacl.backends.cpu.kernels._places import axis_of, check_indices
from aacl.backends.cpu.kernels._registry import elements, given, kernel, prepared, with_integers
from aacl.errors import InvalidArgument

if TYPE_CHECKING:
    from aacl.abc import Array, Kernel, KernelRequest
    from aacl.backends.cpu.kernels._registry import Body

__all__ = ()


@kernel("Gather")
def _gather(request: KernelRequest) -> Kernel:
    """Along axis 0, or along ``batch_dims`` within each batch."""
    return prepared(request, _gathered(request, request.attributes["batch_dims"]))


@kernel("GatherV2")
def _gather_v2(request: KernelRequest) -> Kernel:
    def make(axis: tuple[int, ...]) -> Body:
        inner = _gathered(request, axis[0])
        return lambda x, indices, _, out: inner(x, indices, out)

    return prepared(request, with_integers(request, (2,), make))


@kernel("GatherV2D")
def _gather_attribute(request: KernelRequest) -> Kernel:
    return prepared(request, _gathered(request, request.attributes["axis"]))


def _gathered(request: KernelRequest, axis: int) -> Body:
    shape, places = given(request, 0).shape, given(request, 1).shape
    if not -len(shape) <= axis < len(shape):
        raise InvalidArgument(f"operator {request.op_type}: axis {axis} does not fit shape {shape}")
    axis %= len(shape)
    batch = request.attributes.get("batch_dims", 0)
    batch += len(places) if batch < 0 else 0
    if not 0 <= batch <= axis or shape[:batch] != places[:batch]:
        raise InvalidArgument(f"operator {request.op_type}: {batch} batch dims do not fit {shape} and {places}")
    allows_negative = request.attributes.get("negative_index_support", False)

    def body(x: Array, indices: Array, out: Array) -> None:
        check_indices(indices, shape[axis], axis, allows_negative)
        if not out.size:
            return
        for lead in np.ndindex(shape[:batch]):
            # "wrap" reads negative indices from the end; the check has passed.
            place = (*lead, ...)
            np.take(x[place], indices[place], axis - batch, out[place], "wrap")

    return body


@kernel("NonZero")
def _non_zero(request: KernelRequest) -> Kernel:
    """Coordinates as rows, or as columns with ``transpose``, without a gap at the start of the output."""
    transpose = request.attributes["transpose"]

    def body(x: Array, out: Array) -> tuple[tuple[int, ...], ...]:
        rows = np.argwhere(x)
        return leading([rows.T if transpose else rows], [out])

    return prepared(request, body, 4 * elements(given(request, 0)), returns_shapes=True)


@kernel("Where")
def _where(request: KernelRequest) -> Kernel:
    """Coordinates as rows, without a gap at the start of the output."""
    count = elements(given(request, 0))
    return prepared(request, lambda x, out: leading([np.argwhere(x)], [out]), 4 * count, returns_shapes=True)


@kernel("GatherNd")
def _gather_nd(request: KernelRequest) -> Kernel:
    """The last dim of the indices addresses the leading dims."""
    shape = given(request, 0).shape
    depth = given(request, 1).shape[-1]
    allows_negative = request.attributes.get("negative_index_support", False)

    def body(x: Array, indices: Array, out: Array) -> None:
        for axis in range(depth):
            check_indices(indices[..., axis], shape[axis], axis, allows_negative)
        np.copyto(out, x[tuple(np.moveaxis(indices, -1, 0))] if depth else np.broadcast_to(x, out.shape))

    return prepared(request, body)


@kernel("GatherElements")
def _gather_elements(request: KernelRequest) -> Kernel:
    """As torch.gather; negative indices are refused."""
    return prepared(request, _elements_along(request, request.attributes["dim"], 1, False))


@kernel("GatherD")
def _gather_dim(request: KernelRequest) -> Kernel:
    """As GatherElements, the dim an input; negative indices count from the end, as in MindSpore's operator."""

    def make(dim: tuple[int, ...]) -> Body:
        inner = _elements_along(request, dim[0], 2, True)
        return lambda x, _, index, out: inner(x, index, out)

    return prepared(request, with_integers(request, (1,), make))


def _elements_along(request: KernelRequest, dim: int, place: int, allows_negative: bool) -> Body:
    shape = given(request, 0).shape
    axis = axis_of(request, dim, len(shape), "dim")
    places = given(request, place).shape
    if len(places) != len(shape) or any(size > shape[other] for other, size in enumerate(places) if other != axis):
        raise InvalidArgument(f"operator {request.op_type}: index {places} reaches beyond {shape} beside dim {axis}")
    part = tuple(slice(None) if other == axis else slice(size) for other, size in enumerate(places))

    def body(x: Array, index: Array, out: Array) -> None:
        check_indices(index, shape[axis], axis, allows_negative)
        np.copyto(out, np.take_along_axis(x[part], index, axis))

    return body


@kernel("OneHot")
def _one_hot(request: KernelRequest) -> Kernel:
    """Indices outside the depth give all off."""
    axis = _hot_axis(request)
    inner = _hot(request, axis)

    def body(x: Array, depth: Array, on_value: Array, off_value: Array, out: Array) -> None:
        if int(depth.reshape(())) != out.shape[axis]:
            raise ValueError(f"operator OneHot: depth is {int(depth.reshape(()))}; the output has {out.shape}")
        inner(x, on_value, off_value, out)

    return prepared(request, body, 2 * elements(request.outputs[0]))


@kernel("OneHotD")
def _one_hot_attribute(request: KernelRequest) -> Kernel:
    """As OneHot, the depth an attribute."""
    return prepared(request, _hot(request, _hot_axis(request)), 2 * elements(request.outputs[0]))


def _hot_axis(request: KernelRequest) -> int:
    rank = len(request.outputs[0].shape)
    return axis_of(request, request.attributes["axis"], rank)


def _hot(request: KernelRequest, axis: int) -> Body:
    behind = len(request.outputs[0].shape) - 1 - axis
    classes = functools.cache(lambda: np.arange(request.outputs[0].shape[axis]).reshape((-1,) + (1,) * behind))

    def body(x: Array, on_value: Array, off_value: Array, out: Array) -> None:
        if not out.size:
            return
        hot = np.equal(np.expand_dims(x, axis), classes())  # made when the memory of the output is there
        np.copyto(out, np.where(hot, on_value.reshape(()), off_value.reshape(())))

    return body
