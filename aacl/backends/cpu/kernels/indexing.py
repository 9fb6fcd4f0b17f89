"""Operators that pick elements by index.

An index outside its axis is an error that names it; nothing is written then. Where the number of
results depends on the values, the output is as large as it may get, its first elements are the
result, and the body returns the exact shapes.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

import numpy as np

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
        _check(indices, shape[axis], axis, allows_negative)
        if not out.size:
            return
        for lead in np.ndindex(shape[:batch]):
            # "wrap" reads negative indices from the end; the check has passed.
            place = (*lead, ...)
            np.take(x[place], indices[place], axis - batch, out[place], "wrap")

    return body


def _check(indices: Array, length: int, axis: int, allows_negative: bool) -> None:
    if not indices.size:
        return
    least, most = int(indices.min()), int(indices.max())
    lowest = -length if allows_negative else 0
    if least < lowest or most >= length:
        wrong = least if least < lowest else most
        raise IndexError(f"index {wrong} lies outside [{lowest}, {length}) along axis {axis}")


@kernel("NonZero")
def _non_zero(request: KernelRequest) -> Kernel:
    """Coordinates as rows, or as columns with ``transpose``, without a gap at the start of the output."""
    transpose = request.attributes["transpose"]

    def body(x: Array, out: Array) -> tuple[tuple[int, ...]]:
        rows = np.argwhere(x)
        return _leading(rows.T if transpose else rows, out)

    return prepared(request, body, 4 * elements(given(request, 0)))


@kernel("Where")
def _where(request: KernelRequest) -> Kernel:
    """Coordinates as rows, without a gap at the start of the output."""
    return prepared(request, lambda x, out: _leading(np.argwhere(x), out), 4 * elements(given(request, 0)))


def _leading(found: Array, out: Array) -> tuple[tuple[int, ...]]:
    """Write a result into the first elements of an output that is as large as it may get; return its exact shape."""
    if found.size > out.size:
        raise ValueError(f"the result has shape {found.shape}; the output {out.shape} cannot hold it")
    out.reshape(-1)[: found.size] = found.reshape(-1)
    return (found.shape,)


@kernel("GatherNd")
def _gather_nd(request: KernelRequest) -> Kernel:
    """The last dim of the indices addresses the leading dims."""
    shape = given(request, 0).shape
    depth = given(request, 1).shape[-1]

    def body(x: Array, indices: Array, out: Array) -> None:
        for axis in range(depth):
            _check(indices[..., axis], shape[axis], axis, False)
        np.copyto(out, x[tuple(np.moveaxis(indices, -1, 0))] if depth else np.broadcast_to(x, out.shape))

    return prepared(request, body)


@kernel("GatherElements")
def _gather_elements(request: KernelRequest) -> Kernel:
    """As torch.gather; negative indices are refused."""
    shape, dim = given(request, 0).shape, request.attributes["dim"]
    if not -len(shape) <= dim < len(shape):
        raise InvalidArgument(f"operator GatherElements: dim {dim} does not fit shape {shape}")
    dim %= len(shape)

    def body(x: Array, index: Array, out: Array) -> None:
        _check(index, shape[dim], dim, False)
        part = tuple(slice(None) if axis == dim else slice(size) for axis, size in enumerate(index.shape))
        np.copyto(out, np.take_along_axis(x[part], index, dim))

    return prepared(request, body)


@kernel("OneHot")
def _one_hot(request: KernelRequest) -> Kernel:
    """Indices outside the depth give all off."""
    axis = request.attributes["axis"]
    rank = len(request.outputs[0].shape)
    if not -1 <= axis < rank:
        raise InvalidArgument(f"operator OneHot: axis {axis} does not fit {rank} dims")
    axis %= rank
    classes = functools.cache(
        lambda: np.arange(request.outputs[0].shape[axis]).reshape((-1,) + (1,) * (rank - 1 - axis))
    )

    def body(x: Array, depth: Array, on_value: Array, off_value: Array, out: Array) -> None:
        if int(depth.reshape(())) != out.shape[axis]:
            raise ValueError(f"operator OneHot: depth is {int(depth.reshape(()))}; the output has {out.shape}")
        if not out.size:
            return
        hot = np.equal(np.expand_dims(x, axis), classes())  # made when the memory of the output is there
        np.copyto(out, np.where(hot, on_value.reshape(()), off_value.reshape(())))

    return prepared(request, body, 2 * elements(request.outputs[0]))
