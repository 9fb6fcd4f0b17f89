"""Pooling whose windows follow from the output's size: adaptive, global and by regions; and its inverse by repetition.

Half precision computes in float32 and is rounded once.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from aacl.backends.cpu.kernels._pools import least_of
from aacl.backends.cpu.kernels._precision import widened
from aacl.backends.cpu.kernels._quiet import quiet
from aacl.backends.cpu.kernels._registry import TRANSCENDENTAL, elements, given, kernel, prepared
from aacl.backends.cpu.kernels._sums import summed
from aacl.errors import InvalidArgument, NotSupported

if TYPE_CHECKING:
    from collections.abc import Sequence

    from aacl.abc import Array, Kernel, KernelRequest

__all__ = ()


def _bins(length: int, count: int) -> list[slice]:
    """Return the parts of an axis, as torch's adaptive pooling has them; they may overlap, and none is empty."""
    return [slice(place * length // count, -(-(place + 1) * length // count)) for place in range(count)]


def _require_elements(request: KernelRequest, shape: Sequence[int], out: Sequence[int]) -> None:
    """Refuse to pool dims without elements.

    Raises:
        InvalidArgument: a spatial dim is 0, while the output has elements.
    """
    if math.prod(out) and not math.prod(shape):
        raise InvalidArgument(f"operator {request.op_type}: input shape {tuple(shape)} has no elements to pool")


@kernel("AdaptiveAvgPool2d", "AdaptiveAvgPool")
def _adaptive_average(request: KernelRequest) -> Kernel:
    """As torch's adaptive_avg_pool: ``output_size`` has the sizes of the last axes."""
    x, out = given(request, 0), request.outputs[0]
    count = 2 if "output_size" in request.attributes else elements(given(request, 1))
    _require_elements(request, x.shape, out.shape)
    parts = [_bins(*pair) for pair in zip(x.shape[-count:], out.shape[-count:], strict=True)]

    def body(*arrays: Array) -> None:
        found = arrays[0]
        for axis, bins in zip(range(-count, 0), parts, strict=True):
            along = np.moveaxis(found, axis, -1)
            found = np.moveaxis(np.stack([along[..., part].mean(-1) for part in bins], -1), -1, axis) if bins else found
        np.copyto(arrays[-1], found if arrays[-1].size else 0)

    wide = widened(body, x.dtype, len(request.inputs))
    return prepared(request, quiet(wide, len(request.inputs) + 1), 2 * elements(x))


@kernel("AdaptiveAvgPool2dGrad")
def _adaptive_average_gradient(request: KernelRequest) -> Kernel:
    """Each element gets an equal share of the gradient of every part that it belongs to."""
    gradient, out = given(request, 0), request.outputs[0]
    if gradient.shape[:-2] != out.shape[:-2] or (elements(gradient) and not elements(out)):
        raise InvalidArgument(
            f"operator {request.op_type}: {out.shape} is not pooled to {gradient.shape}"
        )  # fmt: skip
    rows, columns = (_bins(*pair) for pair in zip(out.shape[-2:], gradient.shape[-2:], strict=True))

    def body(shares: Array, result: Array) -> None:
        tall = np.zeros((*shares.shape[:-2], result.shape[-2], shares.shape[-1]), result.dtype)
        for place, part in enumerate(rows):
            tall[..., part, :] += shares[..., place, np.newaxis, :] / (part.stop - part.start)
        result.fill(0)
        for place, part in enumerate(columns):
            result[..., part] += tall[..., place, np.newaxis] / (part.stop - part.start)

    return prepared(request, quiet(widened(body, out.dtype, 1), 2), 2 * elements(out))


@kernel("AdaptiveMaxPool2d")
def _adaptive_maximum(request: KernelRequest) -> Kernel:
    """As torch's adaptive_max_pool2d: a place is ``y * W + x``; the first of equal elements counts, NaN is the largest."""
    x, out = given(request, 0), request.outputs[0]
    _require_elements(request, x.shape, out.shape)
    rows, columns = (_bins(*pair) for pair in zip(x.shape[-2:], out.shape[-2:], strict=True))
    width = x.shape[-1]

    def body(image: Array, result: Array, places: Array) -> None:
        for row, part in enumerate(rows):
            strip = image[..., part, :]
            within = strip.argmax(-2)
            highest = np.take_along_axis(strip, within[..., np.newaxis, :], -2)[..., 0, :]
            numbers = (within + part.start) * width + np.arange(width)
            for column, span in enumerate(columns):
                best = highest[..., span].max(-1, keepdims=True)
                is_best = (highest[..., span] == best) | ((highest[..., span] != highest[..., span]) & (best != best))
                np.copyto(result[..., row, column], best[..., 0])
                np.copyto(places[..., row, column],
                          np.where(is_best, numbers[..., span], np.iinfo(np.int64).max).min(-1), casting="same_kind")  # fmt: skip

    return prepared(request, quiet(body, 3), 4 * elements(x))


@kernel("GlobalAveragePool")
def _global_average(request: KernelRequest) -> Kernel:
    """The mean over the spatial axes."""
    x = given(request, 0)
    axes = tuple(range(2, len(x.shape)))
    _require_elements(request, x.shape, request.outputs[0].shape)

    def body(image: Array, out: Array) -> None:
        np.mean(image, axes, out=out, keepdims=True)

    return prepared(request, quiet(widened(body, x.dtype, 1), 2), elements(x))


@kernel("GlobalLpPool")
def _global_norm(request: KernelRequest) -> Kernel:
    """``sum(|x| ^ p) ^ (1 / p)`` over the spatial axes, as ONNX."""
    x, power = given(request, 0), request.attributes["p"]
    if not power > 0:
        raise InvalidArgument(f"operator GlobalLpPool: p is {power}; it is positive")
    axes = tuple(range(2, len(x.shape)))

    def body(image: Array, out: Array) -> None:
        raised = np.abs(image) if power == 1 else np.square(image) if power == 2 else np.abs(image) ** power
        total = summed(raised, axes, keepdims=True)
        np.copyto(out, np.sqrt(total) if power == 2 else total ** (1 / power), casting="same_kind")

    return prepared(request, quiet(widened(body, x.dtype, 1), 2), (TRANSCENDENTAL + 1) * elements(x))


@kernel("Upsample")
def _upsample(request: KernelRequest) -> Kernel:
    """Each element of ``(N, C, H, W)`` or ``(N, C1, H, W, C0)`` is repeated along H and W, times ``scale``."""
    x = given(request, 0)
    rows, columns, scale = (request.attributes[name] for name in ("stride_h", "stride_w", "scale"))
    head, (height, width), tail = x.shape[:2], x.shape[2:4], x.shape[4:]

    def body(image: Array, out: Array) -> None:
        source = image.reshape(*head, height, 1, width, 1, *tail)
        np.multiply(source, source.dtype.type(scale), out.reshape(*head, height, rows, width, columns, *tail))

    return prepared(request, quiet(widened(body, x.dtype, 1), 2))


@kernel("ROIPooling")
def _regions(request: KernelRequest) -> Kernel:
    """As Caffe's ROIPooling and ONNX MaxRoiPool: the largest element of each part of each region, 0 where it is empty.

    A region is ``(image, x1, y1, x2, y2)``, both corners inside, rounded after scaling; parts may overlap.

    Raises:
        IndexError: a region's image is none; nothing of that region or a later one is written then.
        ValueError: a region has a number that is not finite; likewise.
    """
    x, attributes = given(request, 0), request.attributes
    if len(request.inputs) > 2 and request.inputs[2] is not None:
        raise NotSupported("operator ROIPooling: roi_actual_num is not supported on the cpu device; leave it out")
    scales = [attributes[f"spatial_scale_{letter}"] for letter in "hw"]
    sizes = [attributes[f"pooled_{letter}"] for letter in "hw"]

    def body(image: Array, regions: Array, *others: Array) -> None:
        for region, out in zip(regions.astype(np.float64), others[-1], strict=True):
            if not 0 <= region[0] < len(image):
                raise IndexError(f"region of image {region[0]:g}; there are {len(image)}")
            if not np.isfinite(region).all():
                raise ValueError("operator ROIPooling: a region has a number that is not finite")
            starts, ends = region[2:0:-1], region[4:2:-1]  # y, x
            rows, columns = map(_parts, sizes, scales, starts, ends, image.shape[2:])
            _pool_region(image[int(region[0])], rows, columns, out)

    work = 4 * elements(request.outputs[0]) * max(x.shape[2] // sizes[0], 1) * max(x.shape[3] // sizes[1], 1)
    return prepared(request, quiet(body, len(request.inputs) + 1), work)


def _parts(count: int, scale: float, start: float, stop: float, length: int) -> list[slice]:
    """Return the parts of one axis of a region, cut off at the image's edges."""
    first, last = (math.floor(abs(place * scale) + 0.5) * (1 if place >= 0 else -1) for place in (start, stop))
    step = max(last - first + 1, 1) / count
    edges = [(math.floor(part * step) + first, math.ceil((part + 1) * step) + first) for part in range(count)]
    return [slice(min(max(low, 0), length), min(max(high, 0), length)) for low, high in edges]


def _pool_region(image: Array, rows: Sequence[slice], columns: Sequence[slice], out: Array) -> None:
    for row, part in enumerate(rows):
        strip = image[:, part].max(1, initial=least_of(image.dtype)) if part.start < part.stop else None
        for column, span in enumerate(columns):
            is_empty = strip is None or span.start >= span.stop
            out[:, row, column] = 0 if is_empty or strip is None else strip[:, span].max(1)
