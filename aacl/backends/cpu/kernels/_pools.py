"""Pooling over windows: how one is read from attributes, and the loops over the elements of a window."""

from __future__ import annotations

import functools
import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

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
from aacl.errors import InvalidArgument

if TYPE_CHECKING:
    from collections.abc import Sequence

    from aacl.abc import Array, KernelRequest, TensorInfo

__all__ = ("Pool", "add_spread", "divisors", "least_of", "maximum", "planar_pool", "pool_of", "summed", "winners")


class Pool(NamedTuple):
    """Windows over the spatial axes of ``(N, C, ...)``."""

    layout: str
    axes: tuple[Axis, ...]
    after: tuple[int, ...]
    """The padding at the end of each axis that counts as part of the input where padding counts."""

    @property
    def area(self) -> int:
        """Elements of a window."""
        return math.prod(axis.size for axis in self.axes)

    def first(self, array: Array) -> Array:
        """Return a view in the order N, C, spatial axes."""
        return channels_first(array, self.layout)

    def covered(self, includes_padding: bool) -> Array:
        """Return how many elements each window has, with its padding or without, of the shape of the output's plane.

        Windows that run out of the padding are cut off there.
        """
        along = [_covered(axis, after if includes_padding else 0, includes_padding)
                 for axis, after in zip(self.axes, self.after, strict=True)]  # fmt: skip
        return functools.reduce(np.multiply.outer, along)


def _covered(axis: Axis, after: int, includes_padding: bool) -> Array:
    starts = np.arange(axis.windows) * axis.stride - axis.before
    least, limit = -axis.before if includes_padding else 0, axis.length + after
    # Element j lies at start + j * dilation: count the j from 0 to size for which that is from least to below limit.
    first = np.maximum(-((starts - least) // axis.dilation), 0)
    behind = np.minimum(-((starts - limit) // axis.dilation), axis.size)
    return np.asarray(np.maximum(behind - first, 0))


def pool_of(
    request: KernelRequest,
    inner: TensorInfo,
    outer: TensorInfo,
    sizes: Sequence[int] | None = None,
    strides: Sequence[int] | None = None,
) -> Pool:
    """Return the windows by which ``inner`` is pooled to ``outer``.

    Args:
        request: the request to prepare; its attributes tell the windows.
        inner: what is pooled.
        outer: what it is pooled to.
        sizes: of the windows, where no attribute says so.
        strides: likewise.

    Raises:
        InvalidArgument: the shapes do not belong together.
    """
    given = request.attributes
    # An operator without data_format has TensorFlow's layout.
    layout = layout_of(request, inner, "NHWC")
    order = order_of(layout)
    around, within = ([info.shape[place] for place in order] for info in (inner, outer))
    count, mode = len(layout) - 2, given.get("padding_mode", given.get("padding", "CALCULATED"))
    if given.get("global_pooling", False):
        axes = axes_of(around[2:], [1] * count, [max(length, 1) for length in around[2:]], [1] * count)
        return Pool(layout, axes, (0,) * count)
    sizes = spatial(given.get("window", given.get("ksize")) if sizes is None else sizes, layout)
    strides = spatial(given.get("stride", given.get("strides")) if strides is None else strides, layout)
    rates = spatial(given["dilation"], layout) if "dilation" in given else None
    before, after = paddings(given.get("pads", given.get("pad", (0,))), count)
    is_given = mode == "CALCULATED"
    axes = axes_of(around[2:], within[2:], sizes, strides, rates, before if is_given else None)
    if around[:2] != within[:2] or not all(map(_fits, axes, after, [mode] * count, [_is_ceiling(request)] * count)):
        raise InvalidArgument(
            f"operator {request.op_type}: {inner.shape} is not pooled to {outer.shape}, in the order {layout}"
        )
    return Pool(layout, axes, after if is_given else tuple(axis.after for axis in axes))


def _is_ceiling(request: KernelRequest) -> bool:
    """Return whether windows that run out of the padding count; Pooling's attribute says the contrary."""
    return bool(request.attributes.get("ceil_mode", False)) != (request.op_type == "Pooling")


def _fits(axis: Axis, after: int, mode: str, is_ceiling: bool) -> bool:
    """Return whether an axis has that many windows; the shapes of gradients come from the program."""
    if mode == "SAME":
        return axis.windows == -(-axis.length // axis.stride)
    span = axis.length - axis.extent + (axis.before + after if mode == "CALCULATED" else 0)
    most = (-(-span // axis.stride) if is_ceiling else span // axis.stride) + 1
    return max(span // axis.stride + 1, 0) <= axis.windows <= max(most, 0)


def planar_pool(request: KernelRequest, inner: TensorInfo, outer: TensorInfo) -> Pool:
    """Return the windows of attributes that are ``[1, h, w, 1]`` though tensors are ``(N, C, H, W)``."""
    given = request.attributes
    sizes, strides, rates, pads = (given[name][1:3] for name in ("ksize", "strides", "dilation", "pads"))
    return Pool("NCHW", axes_of(inner.shape[2:], outer.shape[2:], sizes, strides, rates, pads), tuple(pads))


def divisors(request: KernelRequest, pool: Pool) -> Array:
    """Return what the sum over each window is divided by, of the shape of the output's plane.

    Raises:
        InvalidArgument: ``divisor_override`` is negative.
    """
    attributes = request.attributes
    override = attributes.get("divisor_override", 0)
    if override < 0:
        raise InvalidArgument(f"operator {request.op_type}: divisor_override is {override}; it is positive, or 0")
    covered = pool.covered(not attributes.get("exclusive", not attributes.get("count_include_pad", False)))
    return np.full_like(covered, override) if override else np.maximum(covered, 1)


def least_of(dtype: np.dtype[Any]) -> Any:
    """Return the least value of a dtype."""
    return np.iinfo(dtype).min if dtype.kind in "iu" else -np.inf


def maximum(x: Array, out: Array, axes: Sequence[Axis]) -> None:
    """Write the largest element of each window; the padding counts as the least value."""
    _reduced(np.maximum, least_of(out.dtype), x, out, axes)


def summed(x: Array, out: Array, axes: Sequence[Axis]) -> None:
    """Write the sum of each window."""
    _reduced(np.add, 0, x, out, axes)


def _reduced(ufunc: np.ufunc, empty: Any, x: Array, out: Array, axes: Sequence[Axis]) -> None:
    """Loop over the elements of a window, or over the windows, whichever are fewer."""
    out.fill(empty)
    if math.prod(axis.size for axis in axes) <= math.prod(axis.windows for axis in axes):
        for tap in taps(axes):
            ufunc(out[tap.windows], x[tap.places], out=out[tap.windows])
        return
    spatial_axes = tuple(range(2, x.ndim))
    for window in np.ndindex(*(axis.windows for axis in axes)):
        places = tuple(axis.elements(index) for axis, index in zip(axes, window, strict=True))
        part = x[(slice(None), slice(None), *places)]
        out[(slice(None), slice(None), *window)] = ufunc.reduce(part, spatial_axes, out.dtype, initial=empty)


def winners(x: Array, windows: tuple[int, ...], axes: Sequence[Axis]) -> tuple[Array, Array]:
    """Return the largest element of each window, and where in its plane the first such one is; NaN is the largest.

    A window that has padding alone gets the least value and place -1.
    """
    shape = x.shape[:2] + windows
    best, place = np.full(shape, least_of(x.dtype), x.dtype), np.full(shape, -1, np.int64)
    plane = np.arange(math.prod(x.shape[2:])).reshape(x.shape[2:])
    for tap in taps(axes):
        part, found = x[tap.places], best[tap.windows]
        with_place = place[tap.windows]
        is_better = (part > found) | (with_place < 0) | ((part != part) & (found == found))
        np.copyto(found, part, where=is_better)
        np.copyto(with_place, plane[tap.places], where=is_better)
    return best, place


def add_spread(total: Array, shares: Array, axes: Sequence[Axis]) -> None:
    """Add each window's share to every element of it."""
    for tap in taps(axes):
        total[tap.places] += shares[tap.windows]
