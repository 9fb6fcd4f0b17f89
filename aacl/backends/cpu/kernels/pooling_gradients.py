"""Gradients of pooling over windows; half precision computes in float32 and is rounded once."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from aacl.backends.cpu.kernels._pools import add_spread, divisors, planar_pool, pool_of, winners
from aacl.backends.cpu.kernels._precision import compute_dtype, widened
from aacl.backends.cpu.kernels._quiet import quiet
from aacl.backends.cpu.kernels._registry import elements, given, kernel, prepared

if TYPE_CHECKING:
    from aacl.abc import Array, Kernel, KernelRequest
    from aacl.backends.cpu.kernels._pools import Pool
    from aacl.backends.cpu.kernels._registry import Body

__all__ = ()


@kernel("MaxPoolGrad", "MaxPoolV3Grad", "MaxPool3DGrad")
def _maximum(request: KernelRequest) -> Kernel:
    """A window's gradient goes to the first of its largest elements, found anew; what x was pooled to is not read."""
    pool = pool_of(request, given(request, 0), given(request, 1))

    def body(x: Array, _pooled: Array, gradient: Array, out: Array) -> None:
        shares = pool.first(gradient)
        _, places = winners(pool.first(x), shares.shape[2:], pool.axes)
        _send(places, shares, pool.first(out))

    wide = widened(body, request.outputs[0].dtype, 3)
    return prepared(request, quiet(wide, 4), 4 * pool.area * elements(given(request, 1)))


def _send(places: Array, shares: Array, out: Array) -> None:
    """Add each share to the element of its plane at a place; a place of -1 has none."""
    planes = np.zeros((math.prod(out.shape[:2]), math.prod(out.shape[2:])), out.dtype)
    flat = places.reshape(len(planes), -1) if planes.size else np.zeros((0, 0), np.int64)
    rows, columns = np.nonzero(flat >= 0)
    np.add.at(planes, (rows, flat[rows, columns]), shares.reshape(flat.shape)[rows, columns])
    np.copyto(out, planes.reshape(out.shape))


@kernel("MaxPoolGradGrad", "MaxPool3DGradGrad")
def _maximum_twice(request: KernelRequest) -> Kernel:
    """The gradient of MaxPoolGrad: of the elements of ``grad``, which is like x, those where the largest of x are."""
    pool = pool_of(request, given(request, 0), given(request, 1))

    def body(x: Array, _pooled: Array, gradient: Array, out: Array) -> None:
        shape = pool.first(out).shape
        _, places = winners(pool.first(x), shape[2:], pool.axes)
        flat = pool.first(gradient).reshape(*shape[:2], math.prod(gradient.shape) // max(math.prod(shape[:2]), 1))
        picked = np.take_along_axis(flat, np.maximum(places, 0).reshape(*shape[:2], math.prod(shape[2:])), 2)
        np.copyto(pool.first(out), np.where(places < 0, 0, picked.reshape(shape)), casting="same_kind")

    return prepared(request, quiet(body, 4), 4 * pool.area * elements(given(request, 1)))


@kernel("MaxPoolGradGradWithArgmax")
def _maximum_twice_by_places(request: KernelRequest) -> Kernel:
    """As MaxPoolGradGrad, with the places that MaxPoolWithArgmax gave.

    Raises:
        IndexError: a place lies outside its image; nothing is written then.
    """
    pool_of(request, given(request, 0), given(request, 2))
    count, size = given(request, 0).shape[0], math.prod(given(request, 0).shape[1:])

    def body(_x: Array, gradient: Array, places: Array, out: Array) -> None:
        flat = _checked(places, count, size)
        if flat.size:
            np.copyto(out, np.take_along_axis(gradient.reshape(count, size), flat, 1).reshape(out.shape))

    return prepared(request, body)


@kernel("MaxPoolGradWithArgmax")
def _maximum_by_places(request: KernelRequest) -> Kernel:
    """Each gradient goes to the place that MaxPoolWithArgmax gave.

    Raises:
        IndexError: a place lies outside its image; nothing is written then.
    """
    pool = pool_of(request, given(request, 0), given(request, 1))
    return _by_places(request, pool, 1)


@kernel("MaxPoolGradWithArgmaxV1", "MaxPoolGradWithArgmaxV2")
def _maximum_by_planar_places(request: KernelRequest) -> Kernel:
    """Each gradient goes to the place in its plane that MaxPoolWithArgmaxV1 or V2 gave.

    Raises:
        IndexError: a place lies outside its plane; nothing is written then.
    """
    return _by_places(request, planar_pool(request, given(request, 0), given(request, 1)), 2)


def _by_places(request: KernelRequest, pool: Pool, lead: int) -> Kernel:
    """Return the kernel for places that count within the dims after the leading ones."""
    out = request.outputs[0]
    dtype, count, size = compute_dtype(out.dtype), math.prod(out.shape[:lead]), math.prod(out.shape[lead:])

    def body(_x: Array, gradient: Array, places: Array, result: Array) -> None:
        flat = _checked(places, count, size)
        total = np.zeros((count, size), dtype)
        np.add.at(total, (np.arange(count)[:, np.newaxis], flat), gradient.reshape(flat.shape).astype(dtype))
        np.copyto(result, total.reshape(result.shape), casting="same_kind")

    return prepared(request, quiet(body, 4), 4 * pool.area * elements(given(request, 1)))


def _checked(places: Array, count: int, size: int) -> Array:
    """Return places as ``(count, ...)``.

    Raises:
        IndexError: one of them lies outside its part.
    """
    flat = places.reshape(count, -1).astype(np.int64) if places.size else np.zeros((count, 0), np.int64)
    if flat.size and (flat.min() < 0 or flat.max() >= size):
        wrong = next(place for place in (int(flat.min()), int(flat.max())) if not 0 <= place < size)
        raise IndexError(f"place {wrong} lies outside [0, {size})")
    return flat


@kernel("AvgPoolGrad", "AvgPoolV2Grad", "AvgPool3DGrad")
def _average(request: KernelRequest) -> Kernel:
    """Each element of a window gets an equal share of the window's gradient."""
    return _spread(request, 1)


@kernel("AvgPoolGradD", "AvgPoolV2GradD", "AvgPool3DGradD")
def _average_by_attribute(request: KernelRequest) -> Kernel:
    """As AvgPoolGrad; the matrices of the card's own are not read."""
    return _spread(request, 0)


def _spread(request: KernelRequest, index: int) -> Kernel:
    pool = pool_of(request, request.outputs[0], given(request, index))
    body = widened(_sharing(pool, index, divisors(request, pool)), request.outputs[0].dtype, len(request.inputs))
    work = 2 * pool.area * elements(given(request, index))
    return prepared(request, quiet(body, len(request.inputs) + 1), work)


def _sharing(pool: Pool, index: int, divisor: Array) -> Body:
    def body(*arrays: Array) -> None:
        out = pool.first(arrays[-1])
        out.fill(0)
        add_spread(out, (pool.first(arrays[index]) / divisor).astype(out.dtype, copy=False), pool.axes)

    return body
