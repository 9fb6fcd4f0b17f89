"""Operators that read pictures between their elements, and detection."""

from __future__ import annotations

import numpy as np

from aacl import DataType, Tensor
from aacl.abc import Array
from tests.helpers.onnx_nodes._mapping import NotMapped, mapping
from tests.helpers.onnx_nodes._node import Node, normal
from tests.helpers.onnx_nodes.reduction import int64

__all__ = ()


@mapping("Resize")
def _resize(node: Node) -> Tensor:
    """The operator has the attributes of opset 11; what later ones add is worked out beforehand, or refused."""
    if node.attribute("antialias", 0):
        raise NotMapped("Resize has no antialias")
    x = node.tensor(0)
    roi, scales, sizes = _extents(node, x.shape)
    return node.run(
        "Resize",
        x,
        roi,
        scales,
        sizes,
        mode=node.attribute("mode", "nearest"),
        nearest_mode=node.attribute("nearest_mode", "round_prefer_floor"),
        coordinate_transformation_mode=node.attribute("coordinate_transformation_mode", "half_pixel"),
        cubic_coeff_a=node.attribute("cubic_coeff_a", -0.75),
        exclude_outside=node.attribute("exclude_outside", 0),
        extrapolation_value=node.attribute("extrapolation_value", 0.0),
    )


def _extents(node: Node, shape: tuple[int, ...]) -> tuple[Array | None, Array | None, Array | None]:
    """Return region, scales and sizes for every axis."""
    axes = [normal(axis, len(shape)) for axis in node.attribute("axes", range(len(shape)))]
    roi = None
    if node.has(1) and node.value(1).size:
        roi = np.repeat(np.array([[0], [1]], np.float32), len(shape), axis=1)
        roi[:, axes] = node.value(1).reshape(2, -1)
        roi = roi.reshape(-1)
    if node.has(2) and node.value(2).size:
        scales = np.ones(len(shape), np.float32)
        scales[axes] = node.value(2)
        return roi, scales, None
    sizes = np.array(shape, np.int64)
    sizes[axes] = _kept_aspect(node, [shape[axis] for axis in axes], node.whole(3))
    return roi, None, sizes


def _kept_aspect(node: Node, lengths: list[int], wanted: list[int]) -> list[int]:
    policy = node.attribute("keep_aspect_ratio_policy", "stretch")
    if policy == "stretch":
        return wanted
    ratios = [want / length for want, length in zip(wanted, lengths, strict=True)]
    ratio = min(ratios) if policy == "not_larger" else max(ratios)
    return [int(ratio * length + 0.5) for length in lengths]


@mapping("Upsample")
def _upsample(node: Node) -> Tensor:
    """Opset 9 numbers the source from the left edges, rounding down."""
    modes = {
        "mode": node.attribute("mode", "nearest"),
        "coordinate_transformation_mode": "asymmetric",
        "nearest_mode": "floor",
    }
    return node.run("Resize", node.tensor(0), None, node.value(1), None, **modes)


@mapping("GridSample")
def _grid_sample(node: Node) -> Tensor:
    x, mode = node.tensor(0), node.attribute("mode", "linear")
    name = {"linear": "bilinear", "cubic": "bicubic"}.get(mode, mode)
    return node.run(
        f"GridSampler{len(x.shape) - 2}D",
        x,
        node.tensor(1),
        interpolation_mode=name,
        padding_mode=node.attribute("padding_mode", "zeros"),
        align_corners=bool(node.attribute("align_corners", 0)),
    )


@mapping("AffineGrid")
def _affine_grid(node: Node) -> Tensor:
    """ONNX has an axis for every spatial one; the operator flattens them."""
    size = node.whole(1)
    is_aligned = bool(node.attribute("align_corners", 0))
    flat = node.run("AffineGrid", node.tensor(0), np.array(size, np.int32), align_corners=is_aligned)
    if len(flat.shape) == len(size):
        return flat
    return node.run("Reshape", flat, int64([size[0], *size[2:], len(size) - 2]))


@mapping("RoiAlign")
def _roi_align(node: Node) -> Tensor:
    """The number of the picture stands before the four edges of a region."""
    if node.attribute("mode", "avg") == "max":
        raise NotMapped("ONNX takes the largest of the weighted corners of its samples, ROIAlign that of the samples")
    boxes = node.tensor(1)
    numbers = node.run("Unsqueeze", node.cast(node.tensor(2), boxes.dtype), axes=[1])
    return node.run(
        "ROIAlign",
        node.tensor(0),
        node.run("ConcatD", [numbers, boxes], concat_dim=1),
        spatial_scale=node.attribute("spatial_scale", 1.0),
        pooled_height=node.attribute("output_height", 1),
        pooled_width=node.attribute("output_width", 1),
        sample_num=node.attribute("sampling_ratio", 0),
        pool_mode=node.attribute("mode", "avg"),
        roi_end_mode=_end_mode(node),
    )


def _end_mode(node: Node) -> int:
    """Two is half a pixel less at each edge; zero takes the edges as they are."""
    usual = "half_pixel" if node.opset >= 16 else "output_half_pixel"
    return 2 if node.attribute("coordinate_transformation_mode", usual) == "half_pixel" else 0


@mapping("NonMaxSuppression")
def _non_max_suppression(node: Node) -> Tensor:
    most = np.int32(node.whole(2)[0]) if node.has(2) else np.int32(0)
    limits = [np.float32(node.value(index).reshape(-1)[0]) if node.has(index) else None for index in (3, 4)]
    center = node.attribute("center_point_box", 0)
    found = node.run("NonMaxSuppressionV6", node.tensor(0), node.tensor(1), most, *limits, center_point_box=center)
    return node.cast(found, DataType.INT64)
