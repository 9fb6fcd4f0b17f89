"""Grey-scale dilation and its gradients, as TensorFlow's dilation2d; half precision computes in float32."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from aacl.backends.cpu.kernels._extremes import maximum
from aacl.backends.cpu.kernels._pools import least_of
from aacl.backends.cpu.kernels._precision import widened
from aacl.backends.cpu.kernels._quiet import quiet
from aacl.backends.cpu.kernels._registry import elements, given, kernel, prepared
from aacl.backends.cpu.kernels._windows import (
    Axis,
    axes_of,
    channels_first,
    layout_of,
    order_of,
    paddings,
    spatial,
    taps,
)

if TYPE_CHECKING:
    from aacl.abc import Array, Kernel, KernelRequest, TensorInfo
    from aacl.backends.cpu.kernels._windows import Tap

__all__ = ()


class _Dilation(NamedTuple):
    """Windows of ``(N, C, H, W)`` with a filter ``(C, kh, kw)``, both in the layout's order in memory."""

    layout: str
    axes: tuple[Axis, ...]

    def filters(self, array: Array) -> Array:
        """Return a view of a filter as ``(C, kh, kw)``."""
        return array.transpose([place - 1 for place in order_of(self.layout)[1:]])

    def sums(self, x: Array, filters: Array, tap: Tap) -> Array:
        """Return the sums of an element of every window with that of the filter."""
        found: Array = x[tap.places] + filters[tap.offsets][:, np.newaxis, np.newaxis]
        return found


def _dilation_of(request: KernelRequest, outer: TensorInfo) -> _Dilation:
    x, attributes = given(request, 0), request.attributes
    layout = layout_of(request, x)
    order = order_of(layout)
    lengths, windows = ([info.shape[place] for place in order[2:]] for info in (x, outer))
    sizes = [given(request, 1).shape[place - 1] for place in order[2:]]
    before = paddings(attributes["pads"], 2)[0] if attributes["padding_mode"] == "CALCULATED" else None
    strides, rates = spatial(attributes["strides"], layout), spatial(attributes["rates"], layout)
    return _Dilation(layout, axes_of(lengths, windows, sizes, strides, rates, before))


@kernel("Dilation2D")
def _dilation(request: KernelRequest) -> Kernel:
    """The largest sum of an element of the window and its element of the filter; padding never is it."""
    x, out = given(request, 0), request.outputs[0]
    found = _dilation_of(request, out)

    def body(image: Array, filters: Array, result: Array) -> None:
        source, target = channels_first(image, found.layout), channels_first(result, found.layout)
        target.fill(least_of(target.dtype))
        for tap in taps(found.axes):
            part = target[tap.windows]
            maximum(part, found.sums(source, found.filters(filters), tap), part)

    work = 2 * math.prod(axis.size for axis in found.axes) * elements(out)
    return prepared(request, quiet(widened(body, x.dtype, 2), 3), work)


@kernel("Dilation2DBackpropInput")
def _gradient_of_input(request: KernelRequest) -> Kernel:
    """Each gradient goes to the element of x whose sum is the first largest one of its window."""
    found = _dilation_of(request, given(request, 2))

    def body(image: Array, filters: Array, outer: Array, result: Array) -> None:
        source, gradient, target = (channels_first(array, found.layout) for array in (image, outer, result))
        first = _first_largest(found, source, found.filters(filters), gradient.shape)
        target.fill(0)
        for number, tap in enumerate(taps(found.axes)):
            target[tap.places] += np.where(first[tap.windows] == number, gradient[tap.windows], 0)

    work = 4 * math.prod(axis.size for axis in found.axes) * elements(given(request, 2))
    return prepared(request, quiet(widened(body, request.outputs[0].dtype, 3), 4), work)


@kernel("Dilation2DBackpropFilter")
def _gradient_of_filter(request: KernelRequest) -> Kernel:
    """Each gradient goes to the element of the filter whose sum is the first largest one of its window."""
    found = _dilation_of(request, given(request, 2))

    def body(image: Array, filters: Array, outer: Array, result: Array) -> None:
        source, gradient = (channels_first(array, found.layout) for array in (image, outer))
        first = _first_largest(found, source, found.filters(filters), gradient.shape)
        result.fill(0)
        target = found.filters(result)
        for number, tap in enumerate(taps(found.axes)):
            shares = np.where(first[tap.windows] == number, gradient[tap.windows], 0)
            target[tap.offsets] = shares.sum((0, 2, 3), dtype=target.dtype)

    work = 4 * math.prod(axis.size for axis in found.axes) * elements(given(request, 2))
    return prepared(request, quiet(widened(body, request.outputs[0].dtype, 3), 4), work)


def _first_largest(found: _Dilation, x: Array, filters: Array, shape: tuple[int, ...]) -> Array:
    """Return the number of the tap with the first largest sum of each window; -1 where there is padding alone."""
    best, first = np.full(shape, least_of(x.dtype), x.dtype), np.full(shape, -1, np.int64)
    for number, tap in enumerate(taps(found.axes)):
        sums, before = found.sums(x, filters, tap), best[tap.windows]
        chosen = first[tap.windows]
        is_better = (sums > before) | (chosen < 0)
        np.copyto(before, sums, where=is_better)
        np.copyto(chosen, number, where=is_better)
    return first
