"""Windows taken apart and put together, and what is computed from such columns.

As torch's unfold and fold, TensorFlow's extract_image_patches and dilation2d, and deformable
convolution in its second version. Half precision computes in float32 and is rounded once.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from aacl.backends.cpu.kernels._filters import convolution_of
from aacl.backends.cpu.kernels._precision import compute_dtype, widened
from aacl.backends.cpu.kernels._quiet import quiet
from aacl.backends.cpu.kernels._registry import elements, given, kernel, prepared, with_integers
from aacl.backends.cpu.kernels._windows import axes_of, channels_first, layout_of, order_of, paddings, spatial, taps
from aacl.errors import InvalidArgument

if TYPE_CHECKING:
    from collections.abc import Sequence

    from aacl.abc import Array, Kernel, KernelRequest
    from aacl.backends.cpu.kernels._filters import Convolution
    from aacl.backends.cpu.kernels._registry import Body
    from aacl.backends.cpu.kernels._windows import Axis

__all__ = ()


@kernel("Im2col")
def _im2col(request: KernelRequest) -> Kernel:
    """The elements of a window lie in the order C, kh, kw for NCHW, as torch has it; kh, kw, C for NHWC, as TensorFlow.

    Padding is 0.
    """
    x, out, attributes = given(request, 0), request.outputs[0], request.attributes
    layout = layout_of(request, x)
    count, channels, *lengths = (x.shape[place] for place in order_of(layout))
    windows = [out.shape[place] for place in order_of(layout)[2:]]
    sizes, strides, rates = (spatial(attributes[name], layout) for name in ("ksizes", "strides", "dilations"))
    before = paddings(attributes["pads"], 2)[0] if attributes["padding_mode"] == "CALCULATED" else None
    axes = axes_of(lengths, windows, sizes, strides, rates, before)
    whole = (
        (count, channels, *sizes, *windows) if layout == "NCHW" else (count, *windows, *sizes, channels)
    )  # fmt: skip

    def body(image: Array, result: Array) -> None:
        columns = result.reshape(whole)
        _unfold(
            channels_first(image, layout), columns if layout == "NCHW" else columns.transpose(0, 5, 3, 4, 1, 2), axes
        )

    return prepared(request, body)


def _unfold(x: Array, columns: Array, axes: Sequence[Axis]) -> None:
    """Write windows of ``(N, C, H, W)`` into ``(N, C, kh, kw, oh, ow)``."""
    columns.fill(0)
    for tap in taps(axes):
        columns[(slice(None), slice(None), *tap.offsets[1:])][tap.windows] = x[tap.places]


@kernel("Col2im")
def _col2im(request: KernelRequest) -> Kernel:
    """As torch's fold; the columns are ``(N, C, kh * kw, windows)``."""
    return prepared(request, quiet(_folding(request, request.attributes["kernel_size"]), 3))


@kernel("Col2ImV2")
def _col2im_v2(request: KernelRequest) -> Kernel:
    """As ONNX Col2Im; the columns are ``(N, C * kh * kw, windows)``."""

    def make(sizes: tuple[int, ...]) -> Body:
        folding = _folding(request, sizes)
        return lambda x, size, _, out: folding(x, size, out)

    return prepared(request, quiet(with_integers(request, (2,), make), 4))


def _folding(request: KernelRequest, sizes: Sequence[int]) -> Body:
    """Return a body that adds up columns where they overlap."""
    out, attributes = request.outputs[0], request.attributes
    strides, rates = attributes["stride"], attributes["dilation"]
    before, after = paddings(attributes["padding"], 2)
    each = zip(out.shape[2:], sizes, strides, rates, before, after, strict=True)
    windows = [
        (length + first + last - (size - 1) * rate - 1) // stride + 1
        for length, size, stride, rate, first, last in each
    ]
    axes = axes_of(out.shape[2:], windows, sizes, strides, rates, before)
    shape = (*out.shape[:2], *sizes, *windows)
    if math.prod(shape) != elements(given(request, 0)) or min(windows) < 0:
        raise InvalidArgument(
            f"operator {request.op_type}: input shape {given(request, 0).shape} holds no {windows[0]} * {windows[1]} "
            f"windows of {tuple(sizes)} for each channel of an output {out.shape}"
        )

    def body(x: Array, _size: Array, result: Array) -> None:
        columns = x.reshape(shape)
        result.fill(0)
        for tap in taps(axes):
            result[tap.places] += columns[(slice(None), slice(None), *tap.offsets[1:])][tap.windows]

    return widened(body, out.dtype, 2)


@kernel("DeformableConv2D")
def _deformable(request: KernelRequest) -> Kernel:
    """As torchvision's deform_conv2d: each element of each window is taken, bilinearly, at a place of its own.

    The channels of the offsets are all columns' shifts, then all rows', then (modulated) all masks, each
    ordered by deformable group and element of the window. What lies outside x is 0.
    """
    x, out = given(request, 0), request.outputs[0]
    found = convolution_of(request, x, given(request, 1), out)
    dtype, parts = compute_dtype(x.dtype), request.attributes["deformable_groups"]
    if found.channels % max(parts, 1):
        raise InvalidArgument(
            f"operator DeformableConv2D: {parts} deformable groups do not share {found.channels} channels equally"
        )
    has_mask = request.attributes["modulated"]

    has_bias = len(request.inputs) > 3 and request.inputs[3] is not None

    def body(image: Array, filters: Array, offsets: Array, *others: Array) -> None:
        source, moves = (channels_first(array, found.layout).astype(dtype, copy=False) for array in (image, offsets))
        columns = _sampled(np.ascontiguousarray(source), moves, found, parts, has_mask)
        weights = (
            found.ordered(filters)
            .astype(dtype, copy=False)
            .reshape(found.groups, found.results // found.groups, columns.shape[2])
        )
        total = np.matmul(weights, columns).reshape(len(source), found.results, *moves.shape[2:])
        if has_bias:
            total += others[0].reshape(-1, 1, 1)
        np.copyto(channels_first(others[-1], found.layout), total, casting="same_kind")

    work = (found.work + 20 * elements(given(request, 2))) * x.shape[found.layout.index("N")]
    return prepared(request, quiet(body, len(request.inputs) + 1), work)


def _sampled(x: Array, moves: Array, found: Convolution, parts: int, has_mask: bool) -> Array:
    """Return columns ``(N, groups, channels of a group * kh * kw, windows)``."""
    count, channels = x.shape[:2]
    area, windows = math.prod(found.filter_shape[2:]), moves.shape[2:]
    shifts = moves.reshape(count, 3 if has_mask else 2, parts, area, *windows)
    rows, columns = (
        _starts(axis)[(slice(None), np.newaxis, slice(None), np.newaxis)] for axis in found.axes
    )  # (k, 1, windows, 1)
    rows = np.broadcast_to(rows, (*_sizes(found), windows[0], windows[1])).reshape(area, *windows)
    columns = np.broadcast_to(
        columns.transpose(1, 0, 3, 2), (*_sizes(found), windows[0], windows[1])
    ).reshape(area, *windows)  # fmt: skip
    sampled = np.empty((count, parts, channels // parts, area, *windows), x.dtype)
    for image, part in np.ndindex(count, parts):
        planes = x[image].reshape(parts, channels // parts, *x.shape[2:])[part]
        picked = _bilinear(planes, rows + shifts[image, 1, part], columns + shifts[image, 0, part])
        np.multiply(picked, shifts[image, 2, part] if has_mask else 1, sampled[image, part])
    return sampled.reshape(count, found.groups, channels // found.groups * area, math.prod(windows))


def _sizes(found: Convolution) -> tuple[int, int]:
    return found.axes[0].size, found.axes[1].size


def _starts(axis: Axis) -> Array:
    """Return the place of each element of each window, ``(k, windows)``, without a shift."""
    return np.add.outer(np.arange(axis.size) * axis.dilation, np.arange(axis.windows) * axis.stride - axis.before)


def _bilinear(planes: Array, rows: Array, columns: Array) -> Array:
    """Return ``(C, ...)`` of planes ``(C, H, W)`` at places between their elements; outside they are 0."""
    height, width = planes.shape[1:]
    total = np.zeros((len(planes), *rows.shape), planes.dtype)
    if not planes.size:
        return total
    top, left = np.floor(rows), np.floor(columns)
    for row, column in ((top, left), (top, left + 1), (top + 1, left), (top + 1, left + 1)):
        weight = (1 - np.abs(rows - row)) * (1 - np.abs(columns - column))
        inside = (row >= 0) & (row < height) & (column >= 0) & (column < width)
        down, right = (np.where(inside, place, 0).astype(np.intp) for place in (row, column))
        total += planes[:, down, right] * np.where(inside, weight, 0)
    return total
