"""Outputs of operators on boxes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aacl.dtypes import DataType
from aacl.ops._infer._agreement import require_equal_dtypes
from aacl.ops._infer._dims import FREE, Dim, Shape
from aacl.ops._infer._requirements import require_ones
from aacl.ops._infer._rules import Call, Output, rule

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ()

_THRESHOLDS = ("iou_threshold", "overlap_threshold", "score_threshold", "soft_nms_sigma")


@rule("Iou")
def overlap(call: Call) -> Sequence[Output]:
    """``[gtboxes, bboxes]``; ``aligned`` gives ``[boxes, 1]``."""
    require_equal_dtypes(call, (0, 1))
    first, second = _count(call, 0, 0), _count(call, 1, 0)
    if not call.attributes["aligned"]:
        return [call.like(0, (second, first))]
    return [call.like(0, (_same(call, first, second), Dim(1, 1)))]


@rule("PtIou")
def overlap_of_all(call: Call) -> Sequence[Output]:
    """``[gtboxes, bboxes]``."""
    require_equal_dtypes(call, (0, 1))
    return [call.like(0, (_count(call, 1, 0), _count(call, 0, 0)))]


@rule("GIoU", "DIoU", "CIoU")
def penalised_overlap(call: Call) -> Sequence[Output]:
    """Boxes are columns; ``[gtboxes, bboxes]``, or ``[1, boxes]`` without ``is_cross``."""
    require_equal_dtypes(call, (0, 1))
    first, second = _count(call, 0, 1), _count(call, 1, 1)
    shape = (second, first) if call.attributes["is_cross"] else (Dim(1, 1), _same(call, first, second))
    return [call.like(0, shape, output) for output in range(len(call.schema.outputs))]


@rule("BoundingBoxDecode", "BoundingBoxEncode")
def coded(call: Call) -> Sequence[Output]:
    """As both inputs, ``[number, 4]``."""
    require_equal_dtypes(call, (0, 1))
    for name, numbers in (("means", 4), ("stds", 4), ("max_shape", 2)):
        found = call.attributes.get(name, (0,) * numbers)
        if len(found) != numbers:
            raise call.error(f"{name} {tuple(found)} must be {numbers} numbers")
    count = _same(call, _count(call, 0, 0), _count(call, 1, 0))
    return [call.like(0, (count, Dim(4, 4)))]


@rule("ClipBoxes")
def clipped(call: Call) -> Sequence[Output]:
    """As the boxes, ``[number, 4]``; ``img_size`` holds height and width."""
    if call.length(1) not in (2, None):
        raise call.error(f"{call.titled(1)} must hold a height and a width")
    return [call.like(0, (_count(call, 0, 0), Dim(4, 4)))]


@rule("ClipBoxesD")
def clipped_attribute(call: Call) -> Sequence[Output]:
    """As ClipBoxes, with ``img_size`` an attribute."""
    if len(call.attributes["img_size"]) != 2:
        raise call.error(f"img_size {tuple(call.attributes['img_size'])} must be a height and a width")
    return [call.like(0, (_count(call, 0, 0), Dim(4, 4)))]


@rule("CheckValid")
def valid(call: Call) -> Sequence[Output]:
    """An int8 number for each box."""
    if call.length(1) not in (3, None):
        raise call.error(f"{call.titled(1)} must hold a height, a width and a ratio")
    return [Output(DataType.INT8, (_count(call, 0, 0),))]


@rule("NormalizeBBox", "ToAbsoluteBBox")
def scaled(call: Call) -> Sequence[Output]:
    """As the boxes, ``[batch, number, 4]``, reversed ``[batch, 4, number]``; the sizes are ``[batch, 2 or more]``."""
    shape, sizes = call.shape(0), call.shape(1)
    axis = 1 if call.attributes["reversed_box"] else 2
    if shape is not None and (len(shape) != 3 or not shape[axis].meets(Dim(4, 4))):
        raise call.error(f"{call.titled(0)} must be a batch of boxes of four numbers along axis {axis}")
    if sizes is not None and (len(sizes) != 2 or sizes[1].most < 2):
        raise call.error(f"{call.titled(1)} must be [batch, 3]: height and width first")
    if shape is not None and sizes is not None and not shape[0].meets(sizes[0]):
        raise call.mismatch(0, 1, "differ in the batch")
    return [call.like(0, shape)]


@rule("NMSWithMask")
def suppressed_mask(call: Call) -> Sequence[Output]:
    """``[number, 5]``, an index and a mask for each."""
    shape = call.shape(0)
    if shape is not None and (len(shape) != 2 or not any(shape[1].meets(Dim(size, size)) for size in (5, 8))):
        raise call.error(f"{call.titled(0)} must be [number, 8] or [number, 5]")
    count = FREE if shape is None else shape[0]
    return [
        call.like(0, (count, Dim(5, 5))),
        Output(DataType.INT32, (count,)),
        Output(DataType.UINT8, (count,)),
    ]


@rule("NonMaxSuppression", "NonMaxSuppressionV2", "NonMaxSuppressionV3")
def selected(call: Call) -> Sequence[Output]:
    """At most ``max_output_size`` indices."""
    return [Output(DataType.INT32, (_selected(call),))]


@rule("NonMaxSuppressionWithOverlaps")
def selected_by_overlaps(call: Call) -> Sequence[Output]:
    """As NonMaxSuppression, from a square matrix of overlaps."""
    shape = call.shape(0)
    if shape is not None and (len(shape) != 2 or not shape[0].meets(shape[1])):
        raise call.error(f"{call.titled(0)} must be square")
    return [Output(DataType.INT32, (_selected(call, width=None),))]


@rule("NonMaxSuppressionV4")
def selected_and_counted(call: Call) -> Sequence[Output]:
    """The indices, padded if asked for, and how many count."""
    return [Output(DataType.INT32, (_padded(call),)), Output(DataType.INT32, ())]


@rule("NonMaxSuppressionV5")
def selected_softly(call: Call) -> Sequence[Output]:
    """The indices and their scores, padded if asked for, and how many count."""
    count = _padded(call)
    return [Output(DataType.INT32, (count,)), Output(call.desc(1).dtype, (count,)), Output(DataType.INT32, ())]


@rule("NonMaxSuppressionV6", "NonMaxSuppressionV7")
def selected_by_class(call: Call) -> Sequence[Output]:
    """``[selected, 3]``: batch, class and box; at most ``max_output_size`` a class."""
    require_ones(call, *_THRESHOLDS)
    boxes, scores = call.shape(0), call.shape(1)
    for index, shape in enumerate((boxes, scores)):
        if shape is not None and len(shape) != 3:
            raise call.error(f"{call.titled(index)} must have three dims")
    if boxes is not None and not boxes[2].meets(Dim(4, 4)):
        raise call.error(f"{call.titled(0)} must hold four numbers a box")
    if boxes is not None and scores is not None and not (boxes[0].meets(scores[0]) and boxes[1].meets(scores[2])):
        raise call.mismatch(0, 1, "do not fit: they are [batch, boxes, 4] and [batch, classes, boxes]")
    limit = call.integer(2) if call.has(2) else call.attributes["max_boxes_size"]
    if scores is None:
        return [Output(DataType.INT32, (FREE, Dim(3, 3)))]
    most = scores[2].most if limit is None else min(max(limit, 0), scores[2].most)
    total = scores[0].times(scores[1]).times(Dim(0, most))
    return [Output(DataType.INT32, (total, Dim(3, 3)))]


def _selected(call: Call, width: int | None = 4) -> Dim:
    require_ones(call, *_THRESHOLDS)
    boxes, scores = call.shape(0), call.shape(1)
    if width is not None and boxes is not None and (len(boxes) != 2 or not boxes[1].meets(Dim(width, width))):
        raise call.error(f"{call.titled(0)} must be [number, 4]")
    if scores is not None and len(scores) != 1:
        raise call.error(f"{call.titled(1)} must have one dim")
    if boxes is not None and scores is not None and not boxes[0].meets(scores[0]):
        raise call.mismatch(0, 1, "differ: each box has one score")
    limit = call.integer(2)
    if limit is not None and limit < 0:
        raise call.error(f"max_output_size is {limit}; it must not be negative")
    known = [shape[0].most for shape in (boxes, scores) if shape is not None]
    return Dim(0, min([*known, *([] if limit is None else [limit])], default=FREE.most))


def _padded(call: Call) -> Dim:
    count = _selected(call)
    if not call.attributes["pad_to_max_output_size"]:
        return count
    limit = call.integer(2)
    return FREE if limit is None else Dim(limit, limit)


def _count(call: Call, index: int, axis: int) -> Dim:
    """Return the number of boxes, which lie along an axis; the other one holds their four numbers."""
    shape: Shape = call.shape(index)
    if shape is None:
        return FREE
    if len(shape) != 2 or not shape[1 - axis].meets(Dim(4, 4)):
        raise call.error(f"{call.titled(index)} must be {'[4, number]' if axis else '[number, 4]'}")
    return shape[axis]


def _same(call: Call, first: Dim, second: Dim) -> Dim:
    both = first.meets(second)
    if both is None:
        raise call.mismatch(0, 1, "must hold as many boxes")
    return both
