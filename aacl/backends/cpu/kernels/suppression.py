"""Non-maximum suppression: of boxes that overlap too much, the one with the best score stays.

Of equal scores the first box goes first. Boxes are measured in float32. An overlap with a box that has
no area is 0. What is not a number never suppresses, and a score that is none is never selected.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from aacl.backends.cpu.kernels._leading import leading
from aacl.backends.cpu.kernels._quiet import quiet
from aacl.backends.cpu.kernels._registry import elements, given, kernel, prepared

if TYPE_CHECKING:
    from collections.abc import Callable

    from aacl.abc import Array, Kernel, KernelRequest
    from aacl.backends.cpu.kernels._registry import Body

    Overlaps = Callable[[int, Array], Array]
    """Returns the overlaps of one box with others, by their indices."""

__all__ = ()


@kernel("NonMaxSuppression", "NonMaxSuppressionV2")
def _by_overlap(request: KernelRequest) -> Kernel:
    """As TensorFlow's; the boxes are two opposite corners each."""

    def body(boxes: Array, scores: Array, limit: Array, *rest: Array) -> object:
        threshold = float(rest[0].reshape(())) if len(rest) == 2 else request.attributes["iou_threshold"]
        chosen = _greedy(_measured(boxes), _order(scores), int(limit.reshape(())), threshold)
        return leading([chosen.astype(np.int32)], rest[-1:])

    return _kernel(request, body)


@kernel("NonMaxSuppressionV3")
def _by_score(request: KernelRequest) -> Kernel:
    """As TensorFlow's: scores above the threshold count; ``offset`` is added to widths and heights."""
    offset = float(request.attributes["offset"])

    def body(boxes: Array, scores: Array, limit: Array, threshold: Array, least: Array, out: Array) -> object:
        order = _order(scores, float(least.reshape(())))
        overlaps = _measured(boxes, offset)
        chosen = _greedy(overlaps, order, int(limit.reshape(())), float(threshold.reshape(())))
        return leading([chosen.astype(np.int32)], [out])

    return _kernel(request, body)


@kernel("NonMaxSuppressionV4")
def _padded(request: KernelRequest) -> Kernel:
    """As V3, with the number of those selected; zeros fill up to ``max_output_size`` if asked for."""
    pads = request.attributes["pad_to_max_output_size"]

    def body(
        boxes: Array, scores: Array, limit: Array, threshold: Array, least: Array, out: Array, valid: Array
    ) -> object:
        most, order = int(limit.reshape(())), _order(scores, float(least.reshape(())))
        chosen = _greedy(_measured(boxes), order, most, float(threshold.reshape(())))
        count = np.array(len(chosen), np.int32)
        return leading([_filled(chosen.astype(np.int32), most if pads else None), count], [out, valid])

    return _kernel(request, body)


@kernel("NonMaxSuppressionV5")
def _softened(request: KernelRequest) -> Kernel:
    """As TensorFlow's soft suppression: ``exp(-iou^2 / (2 sigma))`` scales the scores; sigma 0 is V4."""
    pads = request.attributes["pad_to_max_output_size"]

    def body(
        boxes: Array, scores: Array, limit: Array, threshold: Array, least: Array, sigma: Array,
        out: Array, kept: Array, valid: Array,
    ) -> object:  # fmt: skip
        numbers = [float(each.reshape(())) for each in (threshold, least, sigma)]
        most = int(limit.reshape(()))
        chosen, found = _soft(_measured(boxes), scores.astype(np.float32), most, *numbers)
        fill = most if pads else None
        results = [_filled(chosen, fill), _filled(found.astype(kept.dtype), fill), np.array(len(chosen), np.int32)]
        return leading(results, [out, kept, valid])

    return _kernel(request, body)


@kernel("NonMaxSuppressionWithOverlaps")
def _by_matrix(request: KernelRequest) -> Kernel:
    """As TensorFlow's: the overlaps are given."""

    def body(overlaps: Array, scores: Array, limit: Array, threshold: Array, least: Array, out: Array) -> object:
        order = _order(scores, float(least.reshape(())))
        chosen = _greedy(
            lambda one, others: overlaps[one, others], order, int(limit.reshape(())), float(threshold.reshape(()))
        )
        return leading([chosen.astype(np.int32)], [out])

    return _kernel(request, body)


@kernel("NonMaxSuppressionV6", "NonMaxSuppressionV7")
def _by_class(request: KernelRequest) -> Kernel:
    """As ONNX's NonMaxSuppression: each class of each picture by itself; V7's ``index_id`` is not needed.

    Without ``max_output_size`` the attribute ``max_boxes_size`` takes its place, 0 selecting nothing.
    """
    is_center, most = bool(request.attributes["center_point_box"]), request.attributes["max_boxes_size"]

    def body(boxes: Array, scores: Array, *rest: Array | None) -> object:
        limit, threshold, least = (*rest[:-1], None, None, None)[:3]
        count = most if limit is None else int(limit.reshape(()))
        limits = 0.0 if threshold is None else float(threshold.reshape(()))
        floor = None if least is None else float(least.reshape(()))
        rows = []
        for batch in range(scores.shape[0]):
            overlaps = _measured(_cornered(boxes[batch]) if is_center else boxes[batch])
            for label in range(scores.shape[1]):
                chosen = _greedy(overlaps, _order(scores[batch, label], floor), count, limits)
                rows.append(np.stack([np.full_like(chosen, batch), np.full_like(chosen, label), chosen], 1))
        found = np.concatenate(rows) if rows else np.zeros((0, 3), np.intp)
        out = rest[-1]
        assert out is not None
        return leading([found.astype(np.int32)], [out])

    return _kernel(request, body)


@kernel("NMSWithMask")
def _with_mask(request: KernelRequest) -> Kernel:
    """Boxes ``x0, y0, x1, y1, score`` are gone through as they lie, best first; the mask says which of them stay.

    As MindSpore documents it for this device, the boxes are not sorted here.
    """
    threshold = request.attributes["iou_threshold"]

    def body(found: Array, boxes: Array, places: Array, mask: Array) -> None:
        count = found.shape[0]
        chosen = _greedy(_measured(found[:, :4]), np.arange(count), count, threshold)
        np.copyto(boxes, found[:, :5])
        places[...] = np.arange(count)
        mask[...] = 0
        mask[chosen] = 1

    return prepared(request, quiet(body, 4), 16 * elements(given(request, 0)))


def _order(scores: Array, least: float | None = None) -> Array:
    """Return the boxes that count, best first."""
    wide = scores.astype(np.float32, copy=False)
    is_counted = ~np.isnan(wide) if least is None else wide > least
    places = np.flatnonzero(is_counted)
    return places[np.argsort(-wide[places], kind="stable")]


def _greedy(overlaps: Overlaps, order: Array, limit: int, threshold: float) -> Array:
    """Return the boxes that stay: each takes away those after it that overlap it by more than the threshold."""
    chosen: list[int] = []
    while order.size and len(chosen) < limit:
        best, order = int(order[0]), order[1:]
        chosen.append(best)
        order = order[~(overlaps(best, order) > threshold)]
    return np.array(chosen, np.intp)


def _soft(
    overlaps: Overlaps, scores: Array, limit: int, threshold: float, least: float, sigma: float
) -> tuple[Array, Array]:
    """Return the boxes that stay and their scores when they were chosen."""
    chosen: list[int] = []
    kept: list[float] = []
    left = np.flatnonzero(scores > least)
    while left.size and len(chosen) < limit:
        place = int(np.argmax(scores[left]))
        best = int(left[place])
        chosen.append(best)
        kept.append(float(scores[best]))
        left = np.delete(left, place)
        overlap = overlaps(best, left)
        if sigma > 0:
            scores[left] *= np.exp(-0.5 / sigma * overlap * overlap, dtype=np.float32)
        left = left[~(overlap > threshold) & (scores[left] > least)]
    return np.array(chosen, np.int32), np.array(kept, np.float32)


def _filled(found: Array, count: int | None) -> Array:
    return found if count is None else np.concatenate([found, np.zeros(count - len(found), found.dtype)])


def _cornered(boxes: Array) -> Array:
    """Return the corners of boxes given by centre, width and height."""
    wide = boxes.astype(np.float32, copy=False)
    half = wide[:, 2:] / 2
    return np.concatenate([wide[:, :2] - half, wide[:, :2] + half], 1)


def _measured(boxes: Array, offset: float = 0) -> Overlaps:
    """Return what gives intersections over unions; either two corners may come first."""
    wide = boxes.astype(np.float32, copy=False)
    low, high = np.minimum(wide[:, :2], wide[:, 2:]), np.maximum(wide[:, :2], wide[:, 2:])
    extent = high - low + np.float32(offset)
    areas = extent[:, 0] * extent[:, 1]

    def overlaps(one: int, others: Array) -> Array:
        sides = np.minimum(high[one], high[others]) - np.maximum(low[one], low[others]) + np.float32(offset)
        sides = np.maximum(sides, 0)
        shared = sides[:, 0] * sides[:, 1]
        union = areas[one] + areas[others] - shared
        has_area = (areas[one] > 0) & (areas[others] > 0)
        ratio: Array = np.divide(shared, union, out=np.zeros_like(shared), where=has_area)
        return ratio

    return overlaps


def _kernel(request: KernelRequest, body: Body) -> Kernel:
    return prepared(
        request,
        quiet(body, len(request.inputs) + len(request.outputs)),
        64 * elements(given(request, 1)),
        returns_shapes=True,
    )
