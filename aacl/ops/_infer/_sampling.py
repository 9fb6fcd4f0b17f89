"""Outputs of operators that read pictures at any place."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aacl.ops._infer._agreement import require_equal_dtypes
from aacl.ops._infer._asked import asked_dtype
from aacl.ops._infer._channels import channel_axis
from aacl.ops._infer._dims import FREE, Dim, Shape, fixed
from aacl.ops._infer._rules import Call, Output, rule

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ()


@rule("CropAndResize")
def crop_and_resize(call: Call) -> Sequence[Output]:
    """A picture of ``crop_size`` for each box."""
    return [call.like(0, _cropped(call, call.integers(3)))]


@rule("CropAndResizeV2")
def crop_and_resize_as(call: Call) -> Sequence[Output]:
    """As CropAndResize, in the dtype of the attribute."""
    return [Output(asked_dtype(call, "dtype"), _cropped(call, call.integers(3)), call.desc(0).format)]


@rule("CropAndResizeD")
def crop_and_resize_attribute(call: Call) -> Sequence[Output]:
    """As CropAndResize, with ``crop_size`` an attribute."""
    return [call.like(0, _cropped(call, tuple(call.attributes["crop_size"])))]


@rule("GridSampler2D", "GridSampler3D", "GridSample")
def grid_sample(call: Call) -> Sequence[Output]:
    """Batch and channels of ``x``, the places of the grid."""
    return [call.like(0, _sampled(call, 0, 1))]


@rule("GridSampler2DGrad", "GridSampler3DGrad")
def grid_sample_gradient(call: Call) -> Sequence[Output]:
    """The gradients of ``x`` and of the grid."""
    sampled, slope = _sampled(call, 1, 2), call.shape(0)
    if slope is None or sampled is None:
        return [call.like(1, call.shape(1)), call.like(2, call.shape(2), 1)]
    if len(slope) != len(sampled) or any(not a.meets(b) for a, b in zip(slope, sampled, strict=True)):
        raise call.mismatch(0, 1, f"do not fit: the grid makes shape {sampled}")
    return [call.like(1, call.shape(1)), call.like(2, call.shape(2), 1)]


@rule("AffineGrid")
def affine_grid(call: Call) -> Sequence[Output]:
    """``[N, *spatial, count]`` for an ``output_size`` of ``[N, C, *spatial]``."""
    theta, size, count = call.shape(0), call.integers(1), call.length(1)
    if theta is not None:
        is_flat = len(theta) == 3 and all(a.meets(b) for a, b in zip(theta[1:], fixed(2, 3), strict=True))
        is_deep = len(theta) == 3 and all(a.meets(b) for a, b in zip(theta[1:], fixed(3, 4), strict=True))
        if not is_flat and not is_deep:
            raise call.error(f"{call.titled(0)} must be [N, 2, 3] or [N, 3, 4]")
    if size is None:
        return [call.like(0, None if count is None else (*(FREE,) * (count - 1), Dim(count - 2, count - 2)))]
    if len(size) not in (4, 5) or min(size) < 0:
        raise call.error(f"output_size {size} must be [N, C, H, W] or [N, C, D, H, W]")
    rows, batch = Dim(len(size) - 2, len(size) - 2), Dim(size[0], size[0])
    if theta is not None and not (theta[0].meets(batch) and theta[1].meets(rows)):
        raise call.error(f"{call.titled(0)} does not fit output_size {size}")
    return [call.like(0, fixed(size[0], *size[2:], len(size) - 2))]


@rule("ROIAlign")
def roi_align(call: Call) -> Sequence[Output]:
    """``[rois, C, pooled_height, pooled_width]``."""
    shape, rois = call.shape(0), _rois(call, 1)
    if shape is not None and len(shape) != 4:
        raise call.error(f"{call.titled(0)} must have four dims")
    height, width = _pooled(call)
    channels = FREE if shape is None else shape[channel_axis(call, 4)]
    if channel_axis(call, 4) == 1:
        return [call.like(0, (rois, channels, *fixed(height, width)))]
    return [call.like(0, (rois, *fixed(height, width), channels))]


@rule("ROIAlignGrad")
def roi_align_gradient(call: Call) -> Sequence[Output]:
    """``xdiff_shape``."""
    sizes, shape, rois = tuple(call.attributes["xdiff_shape"]), call.shape(0), _rois(call, 1)
    if len(sizes) != 4 or min(sizes) < 0:
        raise call.error(f"xdiff_shape {sizes} must be four sizes")
    if shape is not None:
        wanted = (rois, Dim(sizes[1], sizes[1]), *fixed(*_pooled(call)))
        if len(shape) != 4 or any(not a.meets(b) for a, b in zip(shape, wanted, strict=True)):
            raise call.error(f"{call.titled(0)} must be {wanted}")
    return [call.like(0, fixed(*sizes))]


def _pooled(call: Call) -> tuple[int, int]:
    height, width = call.attributes["pooled_height"], call.attributes["pooled_width"]
    if height < 1 or width < 1:
        raise call.error(f"pooled_height is {height} and pooled_width {width}; both must be at least 1")
    return height, width


def _rois(call: Call, index: int) -> Dim:
    """Return the number of regions."""
    shape = call.shape(index)
    if shape is None:
        return FREE
    if len(shape) != 2 or not any(shape[1].meets(Dim(size, size)) for size in (5, 8)):
        raise call.error(f"{call.titled(index)} must be [number, 5] or [number, 8]")
    return shape[0]


def _cropped(call: Call, size: tuple[int, ...] | None) -> Shape:
    shape, boxes, places = call.shape(0), call.shape(1), call.shape(2)
    if shape is not None and len(shape) != 4:
        raise call.error(f"{call.titled(0)} must have four dims")
    if shape is not None and not all(dim.most for axis, dim in enumerate(shape) if axis != channel_axis(call, 4, -1)):
        raise call.error(f"{call.titled(0)} has no pixels to crop")
    if size is not None and (len(size) != 2 or min(size) < 1):
        raise call.error(f"crop_size {size} must be a height and a width of at least 1")
    if boxes is not None and (len(boxes) != 2 or not boxes[1].meets(Dim(4, 4))):
        raise call.error(f"{call.titled(1)} must be [number, 4]")
    if places is not None and len(places) != 1:
        raise call.error(f"{call.titled(2)} must have one dim")
    count = FREE if boxes is None else boxes[0]
    both = count if places is None else count.meets(places[0])
    if both is None:
        raise call.mismatch(1, 2, "differ: each box has one picture")
    space = (FREE, FREE) if size is None else fixed(*size)
    channel = channel_axis(call, 4, -1)
    channels = FREE if shape is None else shape[channel]
    return (both, channels, *space) if channel == 1 else (both, *space, channels)


def _sampled(call: Call, x: int, grid: int) -> Shape:
    require_equal_dtypes(call, (x, grid))
    shape, places = call.shape(x), call.shape(grid)
    count = 3 if "3D" in call.schema.op_type else 2
    for index, each in ((x, shape), (grid, places)):
        if each is not None and len(each) != count + 2:
            raise call.error(f"{call.titled(index)} must have {count + 2} dims")
    if places is not None and not places[-1].meets(Dim(count, count)):
        raise call.error(f"{call.titled(grid)} must have {count} numbers a place")
    layout = call.attributes.get("data_format", "NCDHW")
    is_last = call.attributes.get("channel_last", False) or layout.endswith("C")
    batch = FREE if shape is None else shape[0]
    both = batch if places is None else batch.meets(places[0])
    if both is None:
        raise call.mismatch(x, grid, "differ in the batch")
    channels = FREE if shape is None else shape[-1 if is_last else 1]
    space = (FREE,) * count if places is None else places[1:-1]
    return (both, *space, channels) if is_last else (both, channels, *space)
