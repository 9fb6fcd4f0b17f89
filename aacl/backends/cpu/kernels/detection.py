"""Operators on boxes: how much they overlap, how they are coded, clipped and scaled.

Half precision computes in float32.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from aacl.backends.cpu.kernels._precision import widened
from aacl.backends.cpu.kernels._quiet import quiet
from aacl.backends.cpu.kernels._registry import TRANSCENDENTAL, elements, given, kernel, prepared, with_integers
from aacl.errors import InvalidArgument

if TYPE_CHECKING:
    from aacl.abc import Array, Kernel, KernelRequest
    from aacl.backends.cpu.kernels._registry import Body

__all__ = ()


@kernel("Iou")
def _overlap(request: KernelRequest) -> Kernel:
    """Intersection over union, or over the area of the ground truth with mode ``iof``.

    Boxes are ``x0, y0, x1, y1``; ``eps`` is added to every width and height, so that its default 1 counts
    the end elements in.
    """
    aligned, eps = request.attributes["aligned"], np.float32(request.attributes["eps"])
    is_foreground = _mode(request)

    def body(boxes: Array, truths: Array, out: Array) -> None:
        first, second = (boxes.T, truths.T) if aligned else (boxes.T, truths.T[:, :, None])
        ratio = _ratio(first, second, eps, is_foreground)
        np.copyto(out, ratio[:, None] if aligned else ratio)

    return _kernel(request, body)


@kernel("PtIou")
def _overlap_of_all(request: KernelRequest) -> Kernel:
    """As torchvision's box_iou; mode ``iof`` divides by the area of the ground truth."""
    is_foreground = _mode(request)

    def body(boxes: Array, truths: Array, out: Array) -> None:
        np.copyto(out, _ratio(boxes.T, truths.T[:, :, None], np.float32(0), is_foreground))

    return _kernel(request, body)


@kernel("GIoU", "DIoU", "CIoU")
def _penalised(request: KernelRequest) -> Kernel:
    """Generalised, distance and complete intersection over union (Rezatofighi 2019, Zheng 2020).

    The boxes are columns: ``x0, y0, x1, y1``, with ``trans`` centre, width and height. CIoU's second
    output is the difference of the angles, 0 unless ``atan_sub_flag``.
    """
    attributes, is_foreground = request.attributes, _mode(request)
    penalty = {"GIoU": _gap, "DIoU": _distance, "CIoU": _distance}[request.op_type]

    def body(boxes: Array, truths: Array, out: Array, *angles: Array) -> None:
        first, second = (_cornered(each) if attributes["trans"] else each for each in (boxes, truths))
        if attributes["is_cross"]:
            second = second[:, :, None]
        found = _ratio(first, second, np.float32(0), is_foreground)
        lost = penalty(first, second)
        for angle in angles:
            apart = _angle(second) - _angle(first)
            shape = np.float32(4 / math.pi**2) * apart * apart
            lost = lost + np.where(shape > 0, shape * shape / (1 - found + shape), 0)
            np.copyto(angle, apart.reshape(angle.shape) if attributes["atan_sub_flag"] else 0)
        np.copyto(out, (found - lost).reshape(out.shape))

    return _kernel(request, body, TRANSCENDENTAL)


def _mode(request: KernelRequest) -> bool:
    mode = request.attributes["mode"]
    if mode not in ("iou", "iof"):
        raise InvalidArgument(f"operator {request.op_type}: mode is {mode!r}; it must be 'iou' or 'iof'")
    return bool(mode == "iof")


def _ratio(boxes: Array, truths: Array, eps: np.float32, is_foreground: bool) -> Array:
    """Return the overlaps of boxes whose four numbers lie along axis 0 and whose other axes broadcast; 0 of nothing."""
    width = np.minimum(boxes[2], truths[2]) - np.maximum(boxes[0], truths[0]) + eps
    height = np.minimum(boxes[3], truths[3]) - np.maximum(boxes[1], truths[1]) + eps
    shared = np.maximum(width, 0) * np.maximum(height, 0)
    area = (truths[2] - truths[0] + eps) * (truths[3] - truths[1] + eps)
    whole = np.broadcast_to(area, shared.shape) if is_foreground else _area(boxes, eps) + area - shared
    # A union that is no number stays one.
    return np.where(whole == 0, 0, shared / whole).astype(shared.dtype, copy=False)


def _area(boxes: Array, eps: np.float32) -> Array:
    area: Array = (boxes[2] - boxes[0] + eps) * (boxes[3] - boxes[1] + eps)
    return area


def _cornered(boxes: Array) -> Array:
    half = boxes[2:] / 2
    return np.concatenate([boxes[:2] - half, boxes[:2] + half])


def _around(boxes: Array, truths: Array) -> tuple[Array, Array]:
    """Return width and height of the smallest box around two."""
    return (
        np.maximum(boxes[2], truths[2]) - np.minimum(boxes[0], truths[0]),
        np.maximum(boxes[3], truths[3]) - np.minimum(boxes[1], truths[1]),
    )


def _gap(boxes: Array, truths: Array) -> Array:
    """Return which part of the box around both neither covers."""
    width, height = _around(boxes, truths)
    whole = width * height
    shared = np.maximum(np.minimum(boxes[2], truths[2]) - np.maximum(boxes[0], truths[0]), 0) * np.maximum(
        np.minimum(boxes[3], truths[3]) - np.maximum(boxes[1], truths[1]), 0
    )
    union = _area(boxes, np.float32(0)) + _area(truths, np.float32(0)) - shared
    return np.where(whole == 0, 0, (whole - union) / whole)


def _distance(boxes: Array, truths: Array) -> Array:
    """Return the squared distance of the centres over the squared diagonal of the box around both."""
    width, height = _around(boxes, truths)
    across = (boxes[0] + boxes[2] - truths[0] - truths[2]) / 2
    down = (boxes[1] + boxes[3] - truths[1] - truths[3]) / 2
    diagonal = width * width + height * height
    ratio: Array = np.where(diagonal == 0, 0, (across * across + down * down) / diagonal)
    return ratio


def _angle(boxes: Array) -> Array:
    angle: Array = np.arctan2(boxes[2] - boxes[0], boxes[3] - boxes[1])
    return angle


@kernel("BoundingBoxDecode")
def _decode(request: KernelRequest) -> Kernel:
    """As MMDetection's delta2bbox of version 1, whose boxes count their end elements in.

    ``max_shape`` is height and width; sizes change by at most ``wh_ratio_clip`` and its inverse.
    """
    means, deviations = _numbers(request, "means"), _numbers(request, "stds")
    clip = abs(math.log(request.attributes["wh_ratio_clip"])) if request.attributes["wh_ratio_clip"] > 0 else math.inf
    height, width = request.attributes["max_shape"]

    def body(rois: Array, deltas: Array, out: Array) -> None:
        centre, size = _centred(rois)
        moved = deltas * deviations + means
        extent = size * np.exp(np.clip(moved[:, 2:], -clip, clip))
        middle = centre + size * moved[:, :2]
        limits = np.array([width - 1, height - 1], np.float32)
        out[:, :2] = np.clip(middle - extent * 0.5 + 0.5, 0, limits)
        out[:, 2:] = np.clip(middle + extent * 0.5 - 0.5, 0, limits)

    return _kernel(request, body, TRANSCENDENTAL)


@kernel("BoundingBoxEncode")
def _encode(request: KernelRequest) -> Kernel:
    """As MMDetection's bbox2delta of version 1: the inverse of BoundingBoxDecode."""
    means, deviations = _numbers(request, "means"), _numbers(request, "stds")

    def body(anchors: Array, truths: Array, out: Array) -> None:
        centre, size = _centred(anchors)
        wanted, extent = _centred(truths)
        out[:, :2] = (wanted - centre) / size
        out[:, 2:] = np.log(extent / size)
        np.subtract(out, means, out)
        np.divide(out, deviations, out)

    return _kernel(request, body, TRANSCENDENTAL)


def _numbers(request: KernelRequest, name: str) -> Array:
    found = np.array(request.attributes[name], np.float32)
    if found.shape != (4,):
        raise InvalidArgument(f"operator {request.op_type}: {name} {found.tolist()} must be four numbers")
    return found


def _centred(boxes: Array) -> tuple[Array, Array]:
    """Return the centres and the sizes, which count the end elements in."""
    return (boxes[:, :2] + boxes[:, 2:]) * np.float32(0.5), boxes[:, 2:] - boxes[:, :2] + np.float32(1)


@kernel("ClipBoxes")
def _clip(request: KernelRequest) -> Kernel:
    """Boxes ``x0, y0, x1, y1`` within 0 and the width and height of ``img_size``, height first."""

    def make(size: tuple[int, ...]) -> Body:
        inner = _clipping(size)
        return lambda boxes, _, out: inner(boxes, out)

    return _kernel(request, with_integers(request, (1,), make))


@kernel("ClipBoxesD")
def _clip_attribute(request: KernelRequest) -> Kernel:
    return _kernel(request, _clipping(tuple(request.attributes["img_size"])))


def _clipping(size: tuple[int, ...]) -> Body:
    height, width = size
    limits = np.array([width, height, width, height], np.float32)

    def body(boxes: Array, out: Array) -> None:
        np.copyto(out, np.maximum(np.minimum(boxes, limits), 0))

    return body


@kernel("CheckValid")
def _check_valid(request: KernelRequest) -> Kernel:
    """1 where a box lies within a picture of ``height * ratio`` and ``width * ratio`` elements, as MindSpore's.

    ``img_metas`` is height, width and ratio; the first element is 0, the last one less than the size.
    """

    def body(boxes: Array, metas: Array, out: Array) -> None:
        height, width, ratio = metas.astype(np.float32).reshape(-1).tolist()
        wide = boxes.astype(np.float32, copy=False)
        is_inside = (wide[:, :2] >= 0).all(1)
        is_inside &= (wide[:, 2] <= width * ratio - 1) & (wide[:, 3] <= height * ratio - 1)
        np.copyto(out, is_inside, casting="unsafe")

    return prepared(request, quiet(body, 3), 4 * elements(given(request, 0)))


@kernel("NormalizeBBox", "ToAbsoluteBBox")
def _scale(request: KernelRequest) -> Kernel:
    """``y0, x0, y1, x1`` of each picture over, or times, its height and width."""
    is_reversed = request.attributes["reversed_box"]
    scale = np.divide if request.op_type == "NormalizeBBox" else np.multiply

    def body(boxes: Array, sizes: Array, out: Array) -> None:
        factors = sizes[:, [0, 1, 0, 1]].astype(boxes.dtype)
        scale(boxes, factors[:, :, None] if is_reversed else factors[:, None], out)

    return _kernel(request, body)


def _kernel(request: KernelRequest, body: Body, operations: int = 0) -> Kernel:
    info, count = given(request, 0), len(request.inputs)
    wide = widened(body, info.dtype, count)
    return prepared(
        request, quiet(wide, count + len(request.outputs)), (16 + operations) * elements(request.outputs[0])
    )
