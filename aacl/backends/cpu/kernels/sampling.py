"""Operators that read pictures at any place: grids, crops of boxes."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from aacl.backends.cpu.kernels._channels import channel_axis
from aacl.backends.cpu.kernels._graphs import graph_body, node
from aacl.backends.cpu.kernels._grid import INTERPOLATIONS, PADDINGS, corners
from aacl.backends.cpu.kernels._precision import widened
from aacl.backends.cpu.kernels._quiet import quiet
from aacl.backends.cpu.kernels._registry import elements, given, kernel, prepared, require_shape, with_integers
from aacl.dtypes import DataType
from aacl.errors import InvalidArgument

if TYPE_CHECKING:
    from collections.abc import Callable

    from aacl.abc import Array, Kernel, KernelRequest
    from aacl.backends.cpu.kernels._registry import Body

__all__ = ()

_MANY = 1 << 18
"""Operations from which on a graph pays."""


@kernel("GridSampler2D", "GridSampler3D", "GridSample")
def _grid_sample(request: KernelRequest) -> Kernel:
    """As torch's grid_sample; three spatial dims have no bicubic."""
    interpolation, padding, aligns = _ways(request)
    is_last = _has_channels_last(request)

    def body(x: Array, grid: Array, y: Array) -> None:
        if is_last:
            x, y = np.moveaxis(x, -1, 1), np.moveaxis(y, -1, 1)
        sizes = x.shape[2:]
        for picture, places, into in zip(x, grid, y, strict=True):
            flat = picture.reshape(picture.shape[0], math.prod(sizes))
            total = np.zeros(into.shape, x.dtype)
            if flat.shape[1]:
                for corner in corners(places, sizes, interpolation, padding, aligns):
                    found = flat[:, corner.place]
                    total += np.where(corner.is_inside, found, 0) * corner.weight
            np.copyto(into, total)

    if is_last or "3D" in request.op_type or interpolation == "bicubic" or padding == "reflection":
        return _kernel(request, body, 20)
    return _on_graph(request, body, interpolation, padding, aligns)


def _on_graph(request: KernelRequest, body: Body, interpolation: str, padding: str, aligns: bool) -> Kernel:
    """Return a kernel that leaves large grids to ONNX Runtime, except those with what is no number."""
    info, work = given(request, 0), 20 * elements(request.outputs[0])
    if work < _MANY or info.dtype is DataType.DOUBLE or not elements(info):
        return _kernel(request, body, 20)
    nodes = [node("GridSample", "x0 x1", "y0", mode=interpolation, padding_mode=padding, align_corners=int(aligns))]
    quick, slow = graph_body(request, nodes, work), widened(body, info.dtype, 2)

    def run(x: Array, grid: Array, y: Array) -> None:
        (quick if np.isfinite(grid).all() else slow)(x, grid, y)

    return prepared(request, quiet(run, 3), work)


@kernel("GridSampler2DGrad", "GridSampler3DGrad")
def _grid_sample_gradient(request: KernelRequest) -> Kernel:
    """The gradients of torch's grid_sample with respect to the pictures and the grid."""
    interpolation, padding, aligns = _ways(request)

    def body(slope: Array, x: Array, grid: Array, dx: Array, dgrid: Array) -> None:
        for place in range(x.shape[0]):
            channels, *sizes = x[place].shape
            flat = x[place].reshape(channels, math.prod(sizes))
            total, moved = np.zeros(flat.shape[::-1], x.dtype), np.zeros(dgrid[place].shape, x.dtype)
            if flat.shape[1]:
                for corner in corners(grid[place], sizes, interpolation, padding, aligns, slopes=True):
                    part = np.where(corner.is_inside, slope[place], 0)
                    np.add.at(
                        total, corner.place.reshape(-1), (part * corner.weight).reshape(channels, corner.place.size).T
                    )
                    share = np.add.reduce(part * np.where(corner.is_inside, flat[:, corner.place], 0), 0)
                    for number, change in enumerate(corner.slopes):
                        moved[..., number] += share * change
            np.copyto(dx[place], total.T.reshape(dx[place].shape))
            np.copyto(dgrid[place], moved)

    return _kernel(request, body, 40)


def _ways(request: KernelRequest) -> tuple[str, str, bool]:
    attributes = request.attributes
    interpolation, padding = attributes["interpolation_mode"], attributes["padding_mode"]
    known = INTERPOLATIONS[:2] if "3D" in request.op_type else INTERPOLATIONS
    if interpolation not in known:
        raise InvalidArgument(
            f"operator {request.op_type}: interpolation_mode is {interpolation!r}; it must be one of {', '.join(known)}"
        )
    if padding not in PADDINGS:
        raise InvalidArgument(
            f"operator {request.op_type}: padding_mode is {padding!r}; it must be one of {', '.join(PADDINGS)}"
        )
    return interpolation, padding, bool(attributes["align_corners"])


def _has_channels_last(request: KernelRequest) -> bool:
    layout = request.attributes.get("data_format", "NCDHW")
    return bool(request.attributes.get("channel_last", False)) or layout.endswith("C")


@kernel("AffineGrid")
def _affine_grid(request: KernelRequest) -> Kernel:
    """As torch's affine_grid: ``[N, *spatial, count]`` places, that of the last axis first."""
    aligns = request.attributes["align_corners"]

    def make(size: tuple[int, ...]) -> Body:
        space = size[2:]
        lines = [_line(length, aligns) for length in reversed(space)]

        def body(theta: Array, _: Array, y: Array) -> None:
            require_shape("AffineGrid", (size[0], *space, len(space)), y)
            total = np.empty(y.shape, theta.dtype)
            total[...] = theta[:, :, -1].reshape(-1, *[1] * len(space), len(space))
            for column, line in enumerate(lines):
                along = line.astype(theta.dtype).reshape(-1, *[1] * (column + 1))
                total += along * theta[:, :, column].reshape(-1, *[1] * len(space), len(space))
            np.copyto(y, total)

        return body

    return _kernel(request, with_integers(request, (1,), make), 8)


def _line(length: int, aligns: bool) -> Array:
    """Return the places of an axis between -1 and 1; a single one is in the middle."""
    if length == 1:
        return np.zeros(1)
    line = np.linspace(-1, 1, length)
    return line if aligns else line * (length - 1) / length


@kernel("CropAndResize", "CropAndResizeV2")
def _crop_and_resize(request: KernelRequest) -> Kernel:
    """As TensorFlow's crop_and_resize; the channels are last unless the format is NCHW."""

    def make(size: tuple[int, ...]) -> Body:
        inner = _cropping(request, size)
        return lambda x, boxes, places, _, y: inner(x, boxes, places, y)

    return _kernel(request, with_integers(request, (3,), make), 12, is_wide=False)


@kernel("CropAndResizeD")
def _crop_and_resize_attribute(request: KernelRequest) -> Kernel:
    return _kernel(request, _cropping(request, tuple(request.attributes["crop_size"])), 12, is_wide=False)


def _cropping(request: KernelRequest, size: tuple[int, ...]) -> Body:
    method, outside = request.attributes["method"], request.attributes["extrapolation_value"]
    if method not in ("bilinear", "nearest"):
        raise InvalidArgument(f"operator {request.op_type}: method is {method!r}; it must be 'bilinear' or 'nearest'")
    if len(size) != 2 or min(size) < 1:
        raise InvalidArgument(
            f"operator {request.op_type}: crop_size {size} must be a height and a width of at least 1"
        )
    is_first = channel_axis(given(request, 0), -1) == 1
    read = _read_smoothly if method == "bilinear" else _read_nearest

    def body(x: Array, boxes: Array, places: Array, y: Array) -> None:
        if is_first:
            x, y = np.moveaxis(x, 1, -1), np.moveaxis(y, 1, -1)
        _check_places(request.op_type, places, x.shape[0])
        if not y.size:
            return
        box = boxes.astype(np.float32, copy=False)
        rows, row_inside = _box_positions(box[:, 0], box[:, 2], x.shape[1], size[0])
        columns, column_inside = _box_positions(box[:, 1], box[:, 3], x.shape[2], size[1])
        is_inside = (row_inside[:, :, None] & column_inside[:, None, :])[..., None]
        found = np.where(is_inside, read(x, places, rows, columns), np.float32(outside))
        if y.dtype.kind in "iu":
            found = np.clip(np.rint(found), 0, np.iinfo(y.dtype).max)
        np.copyto(y, found, casting="unsafe")

    return body


def _check_places(op_type: str, places: Array, batch: int) -> None:
    if places.size and not 0 <= int(places.min()) <= int(places.max()) < batch:
        wrong = int(places.min()) if int(places.min()) < 0 else int(places.max())
        raise IndexError(f"operator {op_type}: a box names picture {wrong} of a batch of {batch}")


def _box_positions(start: Array, end: Array, length: int, count: int) -> tuple[Array, Array]:
    """Return the positions in an axis that each box is read at, 0 where they lie outside, and whether they do not."""
    if count > 1:
        steps = np.arange(count, dtype=np.float32)
        scale = (end - start) * (length - 1) / (count - 1)
        positions = start[:, None] * (length - 1) + steps * scale[:, None]
    else:
        positions = (0.5 * (start + end) * (length - 1))[:, None]
    is_inside = (positions >= 0) & (positions <= length - 1)
    return np.where(is_inside, positions, 0), is_inside


def _read_smoothly(x: Array, places: Array, rows: Array, columns: Array) -> Array:
    top, left = np.floor(rows).astype(np.intp), np.floor(columns).astype(np.intp)
    down, right = rows - top, (columns - left)[:, None, :, None]
    batch = places[:, None, None]
    # Beyond the last row or column the share is 0, and the row or column itself does as well.
    below, beside = np.minimum(top + 1, x.shape[1] - 1), np.minimum(left + 1, x.shape[2] - 1)

    def row(which: Array) -> Array:
        first = x[batch, which[:, :, None], left[:, None, :]].astype(np.float32, copy=False)
        second = x[batch, which[:, :, None], beside[:, None, :]].astype(np.float32, copy=False)
        mixed: Array = first + (second - first) * right.astype(np.float32, copy=False)
        return mixed

    upper = row(top)
    found: Array = upper + (row(below) - upper) * down[:, :, None, None].astype(np.float32, copy=False)
    return found


def _read_nearest(x: Array, places: Array, rows: Array, columns: Array) -> Array:
    """Halves go away from 0."""
    top, left = (np.floor(each + 0.5).astype(np.intp) for each in (rows, columns))
    found: Array = x[places[:, None, None], top[:, :, None], left[:, None, :]]
    return found.astype(np.float32, copy=False)


def _kernel(request: KernelRequest, body: Body, operations: int, *, is_wide: bool = True) -> Kernel:
    info, count = given(request, 0), len(request.inputs)
    run: Callable[..., object] = widened(body, info.dtype, count) if is_wide else body
    total = max(elements(info), math.prod(request.outputs[0].shape))
    return prepared(request, quiet(run, count + len(request.outputs)), operations * total)
