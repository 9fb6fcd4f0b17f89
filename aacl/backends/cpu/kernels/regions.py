"""Pooling of regions of interest.

A region is cut in bins, and a bin is read at some places between the elements. Rows and columns are
independent of each other, so that a bin is a product of two matrices with the picture. Averages of
many bins are ONNX Runtime's work, after the regions were looked at.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from aacl.backends.cpu.kernels._channels import channel_axis
from aacl.backends.cpu.kernels._graphs import graph_body, node
from aacl.backends.cpu.kernels._precision import widened
from aacl.backends.cpu.kernels._quiet import quiet
from aacl.backends.cpu.kernels._registry import elements, given, kernel, prepared
from aacl.backends.cpu.kernels._weighted import weighted
from aacl.errors import InvalidArgument, NotSupported

if TYPE_CHECKING:
    from aacl.abc import Array, Kernel, KernelRequest
    from aacl.backends.cpu.kernels._registry import Body

__all__ = ()

_MANY = 1 << 16
"""Operations from which on a graph pays."""

_FEW = 4096
"""Samples of a bin up to which ONNX Runtime, which notes all of them, takes little memory."""

_MOST = 2**24
"""Weights of one region along one axis: 128 MiB."""


@kernel("ROIAlign")
def _align(request: KernelRequest) -> Kernel:
    """The average, or largest, of bilinear samples of each bin of a region (Mask R-CNN).

    ``roi_end_mode`` 0 takes the ends as they are, 1 adds 1 to the end, and both widen a region to one
    element; 2 shifts all by half an element and widens nothing. ``sample_num`` 0 takes as many samples as
    a bin has elements. Of regions of eight numbers the last three are not used, nor is ``rois_n``.
    """
    regions = _Regions(request)
    is_first = channel_axis(given(request, 0)) == 1
    pool = request.attributes["pool_mode"]
    if pool not in ("avg", "max"):
        raise InvalidArgument(f"operator ROIAlign: pool_mode is {pool!r}; it must be 'avg' or 'max'")

    def body(*arrays: Array) -> None:
        x, rois, y = arrays[0], arrays[1], arrays[-1]
        if not is_first:
            x, y = np.moveaxis(x, -1, 1), np.moveaxis(y, -1, 1)
        regions.check(rois, x.shape[0])
        for region, into in zip(rois, y, strict=True):
            picture = x[int(region[0])]
            if not picture.size:
                into[...] = 0
                continue
            rows, columns = regions.samples(region, picture.shape[1], picture.shape[2], x.dtype)
            np.copyto(into, _averaged(rows, picture, columns) if pool == "avg" else _largest(rows, picture, columns))

    arity, work = len(request.inputs) + 1, 64 * elements(request.outputs[0])
    wide = widened(body, given(request, 0).dtype, len(request.inputs))
    if pool == "avg" and is_first and work > _MANY and elements(given(request, 0)):
        wide = _quicker(request, regions, wide, work)
    return prepared(request, quiet(wide, arity), work)


def _quicker(request: KernelRequest, regions: _Regions, body: Body, work: int) -> Body:
    """Return a body that leaves to the other one only regions that ONNX Runtime would run out of memory with."""
    ends = "ends" if regions.mode == 1 else "boxes"
    nodes = [
        node("Slice", "x1 first last axis", ends),
        *([node("Add", "ends one", "boxes")] if regions.mode == 1 else []),
        node("Gather", "x1 zero", "number", axis=1),
        node("Cast", "number", "batch", to=7),
        node(
            "RoiAlign", "x0 boxes batch", "y0", output_height=regions.bins[0], output_width=regions.bins[1],
            sampling_ratio=regions.count, spatial_scale=regions.scale,
            coordinate_transformation_mode="half_pixel" if regions.mode == 2 else "output_half_pixel",
        ),
    ]  # fmt: skip
    one = {"one": np.array([0, 0, 1, 1], np.float32)} if regions.mode == 1 else {}
    places = {"first": [1], "last": [5], "axis": [1]}
    constants = {name: np.array(value, np.int64) for name, value in places.items()}
    quick = graph_body(request, nodes, work, constants={**constants, "zero": np.array(0, np.int64), **one})
    batch = given(request, 0).shape[0]

    def run(*arrays: Array) -> None:
        rois = arrays[1].astype(np.float32, copy=False)
        regions.check(rois, batch)
        (quick if regions.is_small(rois) else body)(*arrays)

    return run


def _averaged(rows: Array, picture: Array, columns: Array) -> Array:
    """Return ``[channels, bins, bins]`` from ``[bins, samples, length]`` matrices."""
    return _product(_mean(rows), picture, _mean(columns))


def _product(rows: Array, picture: Array, columns: Array) -> Array:
    """Return ``rows @ picture @ columns.T``; rows and columns are weights."""
    return weighted(weighted(picture, columns.T).swapaxes(-1, -2), rows.T).swapaxes(-1, -2)


def _mean(samples: Array) -> Array:
    total: Array = np.add.reduce(samples, 1)
    return np.divide(total, max(samples.shape[1], 1), total)


def _largest(rows: Array, picture: Array, columns: Array) -> Array:
    if not rows.shape[1] or not columns.shape[1]:
        return np.zeros((picture.shape[0], rows.shape[0], columns.shape[0]), picture.dtype)
    found = _product(rows.reshape(-1, rows.shape[2]), picture, columns.reshape(-1, columns.shape[2]))
    split = found.reshape(picture.shape[0], *rows.shape[:2], *columns.shape[:2])
    largest: Array = split.max((2, 4))
    return largest


@kernel("ROIAlignGrad")
def _align_gradient(request: KernelRequest) -> Kernel:
    """The gradient of ROIAlign's average with respect to the pictures."""
    regions = _Regions(request)

    def body(*arrays: Array) -> None:
        slope, rois, into = arrays[0], arrays[1], arrays[-1]
        regions.check(rois, into.shape[0])
        into[...] = 0
        if not into.size:
            return
        for region, each in zip(rois, slope, strict=True):
            picture = into[int(region[0])]
            rows, columns = regions.samples(region, picture.shape[1], picture.shape[2], slope.dtype)
            picture += _product(_mean(rows).T, each, _mean(columns).T)

    return prepared(request, quiet(body, len(request.inputs) + 1), 64 * elements(given(request, 0)))


class _Regions:
    """How regions are cut in bins."""

    def __init__(self, request: KernelRequest) -> None:
        attributes = request.attributes
        self.op_type, self.scale = request.op_type, attributes["spatial_scale"]
        self.bins = attributes["pooled_height"], attributes["pooled_width"]
        self.count, self.mode = attributes["sample_num"], attributes["roi_end_mode"]
        if self.mode not in (0, 1, 2):
            raise NotSupported(
                f"operator {request.op_type}: roi_end_mode {self.mode} is not done on the cpu device; use 0, 1 or 2"
            )
        if self.count < 0:
            raise InvalidArgument(f"operator {request.op_type}: sample_num is {self.count}; it must not be negative")

    def check(self, rois: Array, batch: int) -> None:
        """Refuse regions that name no picture of the batch, or no place.

        Raises:
            IndexError: the batch index of one lies outside.
            ValueError: a number is not finite.
        """
        if not rois.size:
            return
        if not np.isfinite(rois[:, :5]).all():
            raise ValueError(f"operator {self.op_type}: a region has a number that is not finite")
        least, most = int(rois[:, 0].min()), int(rois[:, 0].max())
        if least < 0 or most >= batch:
            raise IndexError(
                f"operator {self.op_type}: a region names picture {least if least < 0 else most} of a batch of {batch}"
            )

    def is_small(self, rois: Array) -> bool:
        """Whether every region has some samples, and not too many."""
        if self.count or not rois.size:
            return True
        counts = [
            np.ceil((rois[:, high] - rois[:, low] + 1) * self.scale / bins + 1)
            for low, high, bins in ((2, 4, self.bins[0]), (1, 3, self.bins[1]))
        ]
        is_straight = self.mode != 2 or bool((rois[:, 3:5] > rois[:, 1:3]).all())
        return is_straight and bool((np.maximum(counts[0], 1) * np.maximum(counts[1], 1) <= _FEW).all())

    def samples(self, region: Array, height: int, width: int, dtype: np.dtype[np.generic]) -> tuple[Array, Array]:
        """Return the weights of the elements of each row and column for each sample of each bin."""
        left, top, right, bottom = (float(number) for number in region[1:5])
        return (
            self._along(top, bottom, height, self.bins[0]).astype(dtype),
            self._along(left, right, width, self.bins[1]).astype(dtype),
        )

    def _along(self, low: float, high: float, length: int, bins: int) -> Array:
        shift = 0.5 if self.mode == 2 else 0.0
        start = low * self.scale - shift
        size = (high + (self.mode == 1)) * self.scale - shift - start
        if self.mode != 2:
            size = max(size, 1.0)
        count = self.count or max(math.ceil(size / bins), 0)
        if count * bins * length > _MOST:
            raise ValueError(
                f"operator {self.op_type}: a region of {size:g} elements has {count} samples a bin, "
                "more than this device takes; clip the regions to the picture, or set sample_num"
            )
        places = start + (np.arange(bins)[:, None] + (np.arange(count) + 0.5) / max(count, 1)) * (size / bins)
        return _weights(places, length)


def _weights(places: Array, length: int) -> Array:
    """Return ``[*places, length]`` bilinear weights; more than one element outside there are none."""
    is_near = (places >= -1) & (places <= length)
    inside = np.clip(places, 0, length - 1)
    low = np.floor(inside)
    share = inside - low
    found = np.zeros((*places.shape, length))
    rows = np.indices(places.shape)
    lower, upper = low.astype(np.intp), np.minimum(low + 1, length - 1).astype(np.intp)
    np.add.at(found, (*rows, lower), (1 - share) * is_near)
    np.add.at(found, (*rows, upper), share * is_near)
    return found
