"""Windows that slide along spatial axes, and loops over the elements of a window.

NumPy kernels work on views whose channels come first, ``(N, C, *spatial)``, whatever the layout in
memory. For each element of the window (each *tap*) the part of the input that it meets and the part
of the output that is affected are slices, so that a loop over the taps is all that pooling,
convolution and their gradients need; what lies in the padding is never touched.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from aacl.dtypes import Format

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from aacl.abc import Array, KernelRequest, TensorInfo

__all__ = (
    "Axis",
    "Tap",
    "axes_of",
    "channels_first",
    "inverse",
    "layout_of",
    "order_of",
    "paddings",
    "spatial",
    "taps",
)


class Axis(NamedTuple):
    """A window along one axis: lengths of input and output, and how one maps to the other."""

    length: int
    windows: int
    """How many windows there are."""
    size: int
    stride: int
    dilation: int
    before: int
    """The padding at the start, so that window ``i`` starts at ``i * stride - before``."""

    @property
    def extent(self) -> int:
        """Elements from the first to the last one of a window."""
        return (self.size - 1) * self.dilation + 1

    @property
    def after(self) -> int:
        """The padding at the end that the windows reach into."""
        return max((self.windows - 1) * self.stride + self.extent - self.length - self.before, 0)

    def met(self, offset: int) -> tuple[slice, slice]:
        """Return the windows whose element at an offset lies in the axis, and those elements' places."""
        start = offset * self.dilation - self.before
        first = max(-(start // self.stride), 0) if start < 0 else 0
        last = min((self.length - 1 - start) // self.stride, self.windows - 1)
        if last < first:
            return slice(0, 0), slice(0, 0)
        place = first * self.stride + start
        return slice(first, last + 1), slice(place, place + (last - first) * self.stride + 1, self.stride)

    def offsets(self) -> range:
        """Return the offsets at which windows meet the axis somewhere: few, however large a window is."""
        first = -(((self.windows - 1) * self.stride - self.before) // self.dilation)
        past = (self.before + self.length - 1) // self.dilation + 1
        return range(min(max(first, 0), self.size), min(max(past, 0), self.size))

    def elements(self, window: int) -> slice:
        """Return the places of a window's elements that lie in the axis."""
        start = window * self.stride - self.before
        first = start + max(-(start // self.dilation), 0) * self.dilation
        last = min(start + self.extent, self.length)
        return slice(first, last, self.dilation) if first < last else slice(0, 0)


class Tap(NamedTuple):
    """One element of the window; indexes for arrays whose last axes are the spatial ones."""

    offsets: Any
    """Its place in the window, as in a filter."""
    windows: Any
    """The windows in which it is no padding, as slices of the output."""
    places: Any
    """Where it lies in those, as slices of the input."""


def taps(axes: Sequence[Axis]) -> Iterator[Tap]:
    """Yield the elements of a window, the last axis fastest; those that meet padding alone are left out."""
    along = [[(offset, *axis.met(offset)) for offset in axis.offsets()] for axis in axes]
    for combination in itertools.product(*along):
        offsets, windows, places = zip(*combination, strict=True)
        if all(part.stop for part in windows):
            yield Tap((..., *offsets), (..., *windows), (..., *places))


def axes_of(
    lengths: Sequence[int],
    counts: Sequence[int],
    sizes: Sequence[int],
    strides: Sequence[int],
    dilations: Sequence[int] | None = None,
    before: Sequence[int] | None = None,
) -> tuple[Axis, ...]:
    """Return an axis for each spatial axis.

    Where ``before`` is None, the padding is as small as the number of windows allows, and the odd one
    of it comes at the end, as TensorFlow's SAME has it (and VALID, which needs none).
    """
    rates = dilations or (1,) * len(sizes)
    found = []
    for place, each in enumerate(zip(lengths, counts, sizes, strides, rates, strict=True)):
        axis = Axis(*each, 0)
        found.append(axis._replace(before=axis.after // 2 if before is None else before[place]))
    return tuple(found)


def layout_of(request: KernelRequest, info: TensorInfo, default: str = "NCHW") -> str:
    """Return the axes of a tensor as letters: its format, else the attribute ``data_format``, else a default."""
    return str(request.attributes.get("data_format", default) if info.format is Format.ND else info.format.name)


def order_of(layout: str, first: str = "NC") -> tuple[int, ...]:
    """Return the permutation that brings a layout's axes into the order N, C, spatial ones."""
    return (*map(layout.index, first), *(place for place, letter in enumerate(layout) if letter not in first))


def channels_first(array: Array, layout: str) -> Array:
    """Return a view in the order N, C, spatial axes."""
    return array.transpose(order_of(layout))


def inverse(order: Sequence[int]) -> tuple[int, ...]:
    """Return the permutation that undoes another one."""
    return tuple(np.argsort(order).tolist())


def spatial(values: Sequence[int], layout: str) -> tuple[int, ...]:
    """Return the numbers for the spatial axes: one for all, one each, or one for every axis of the layout."""
    places = [place for place, letter in enumerate(layout) if letter not in "NC"]
    if len(values) == len(layout):
        return tuple(values[place] for place in places)
    return tuple(values) * len(places) if len(values) == 1 else tuple(values)


def paddings(values: Sequence[int], count: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the paddings before and after some axes; there are two an axis, one an axis, or one for all."""
    if len(values) == 2 * count:
        return tuple(values[::2]), tuple(values[1::2])
    each = tuple(values) * count if len(values) == 1 else tuple(values)
    return each, each
