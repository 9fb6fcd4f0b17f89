"""Operators that work where a mask is set, as torch's of similar names."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from aacl.backends.cpu.kernels._blocks import stepwise
from aacl.backends.cpu.kernels._leading import leading
from aacl.backends.cpu.kernels._places import axis_of
from aacl.backends.cpu.kernels._registry import elements, given, kernel, prepared
from aacl.backends.cpu.kernels._rows import started
from aacl.errors import InvalidArgument

if TYPE_CHECKING:
    from aacl.abc import Array, Kernel, KernelRequest

__all__ = ()


@kernel("MaskedFill")
def _fill(request: KernelRequest) -> Kernel:
    """The one value where the mask is set; ``x`` and mask broadcast."""
    if elements(given(request, 2)) != 1:
        raise InvalidArgument(f"operator MaskedFill: value {given(request, 2).shape} must hold one element")

    def body(x: Array, mask: Array, value: Array, out: Array) -> None:
        mask, value = started(out, x, mask, value)
        np.copyto(out, value.reshape(()), where=mask)

    return prepared(request, body, in_place=given(request, 0).shape == request.outputs[0].shape)


@kernel("MaskedSelect", "MaskedSelectV2")
def _select(request: KernelRequest) -> Kernel:
    """The elements where the mask is set, in one dim; ``x`` and mask broadcast."""

    def body(x: Array, mask: Array, out: Array) -> tuple[tuple[int, ...], ...]:
        if x.shape != mask.shape:
            x, mask = np.broadcast_arrays(x, mask)
        return leading([x[mask]], [out])

    return prepared(request, body, 2 * elements(request.outputs[0]), returns_shapes=True)


@kernel("MaskedScatter")
def _scatter(request: KernelRequest) -> Kernel:
    """The updates in their order, one for each element where the mask is set."""

    def body(x: Array, mask: Array, updates: Array, out: Array) -> None:
        mask, updates = started(out, x, mask, updates)
        places = np.broadcast_to(mask, out.shape)
        count = np.count_nonzero(places)
        if count > updates.size:
            raise ValueError(
                f"operator MaskedScatter: the mask is set at {count} places; there are {updates.size} updates"
            )
        out[places] = updates.reshape(-1)[:count]

    return prepared(request, body, 2 * elements(given(request, 0)), in_place=True)


@kernel("MaskedFillRange")
def _fill_ranges(request: KernelRequest) -> Kernel:
    """For each loop and batch, the loop's value from its start to before its end along ``axis``.

    ``start`` and ``end`` are ``(loops, batch)``, ``value`` is ``(loops,)``; a 1-D input is one batch.
    """
    shape = given(request, 0).shape
    axis = axis_of(request, request.attributes["axis"], len(shape))
    if len(shape) > 1 and axis == 0:
        raise InvalidArgument("operator MaskedFillRange: axis 0 holds the batches; ranges go along another one")
    batches = 1 if len(shape) == 1 else shape[0]
    loops = given(request, 1).shape[0]
    if given(request, 1).shape[1] != batches:
        raise InvalidArgument(f"operator MaskedFillRange: start {given(request, 1).shape} has not {batches} batches")
    places = np.arange(shape[axis]).reshape((-1,) + (1,) * (len(shape) - 1 - axis))

    def body(x: Array, start: Array, end: Array, value: Array, out: Array) -> None:
        np.copyto(out, x)
        rows = out if out.ndim > 1 else out[None]
        for loop in range(loops):
            for batch in range(batches):
                inside = (places >= start[loop, batch]) & (places < end[loop, batch])
                np.copyto(rows[batch], value[loop], where=inside)

    return prepared(request, body, loops * elements(given(request, 0)))


@kernel("MaskedScale")
def _scale(request: KernelRequest) -> Kernel:
    """``x * mask * value``."""
    value = request.attributes["value"]

    def body(x: Array, mask: Array, out: Array) -> None:
        np.multiply(x, mask.astype(out.dtype, copy=False), out)
        np.multiply(out, out.dtype.type(value), out)

    return stepwise(request, body, 1)
