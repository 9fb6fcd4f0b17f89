"""Operators on boxes: box by box, from the papers and documentation that define them."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aacl.abc import Array
from aacl.errors import InvalidArgument, UnsupportedDataType

Run = Callable[..., list[Array]]
Close = Callable[..., None]
Box = tuple[float, float, float, float]
DTYPES = [np.float32, np.float16]
SIDE = st.integers(0, 12)
BOX = st.tuples(SIDE, SIDE, st.integers(1, 9), st.integers(1, 9)).map(lambda b: (b[0], b[1], b[0] + b[2], b[1] + b[3]))
BOXES = st.lists(BOX, min_size=1, max_size=4)


def _shared(a: Box, b: Box, eps: float) -> float:
    sides = (min(a[2], b[2]) - max(a[0], b[0]) + eps, min(a[3], b[3]) - max(a[1], b[1]) + eps)
    return max(sides[0], 0) * max(sides[1], 0)


def _area(box: Box, eps: float = 0) -> float:
    return (box[2] - box[0] + eps) * (box[3] - box[1] + eps)


def _iou(box: Box, truth: Box, mode: str = "iou", eps: float = 0) -> float:
    shared = _shared(box, truth, eps)
    whole = _area(truth, eps) if mode == "iof" else _area(box, eps) + _area(truth, eps) - shared
    return shared / whole


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("mode", ["iou", "iof"])
@settings(max_examples=10, deadline=None)
@given(boxes=BOXES, truths=BOXES, eps=st.sampled_from([0.0, 0.5, 1.0]))
def test_iou(run: Run, close: Close, dtype: Any, mode: str, boxes: list[Box], truths: list[Box], eps: float) -> None:
    """A row for each ground truth; ``eps`` widens every box; pairs with ``aligned``."""
    arrays = [np.array(each, dtype) for each in (boxes, truths)]
    exact = [[_iou(box, truth, mode, eps) for box in boxes] for truth in truths]
    close(run("Iou", arrays, {"mode": mode, "eps": eps})[0], exact, units=4)
    close(run("PtIou", arrays, {"mode": mode})[0], [[_iou(b, t, mode) for b in boxes] for t in truths], units=4)

    pairs = min(len(boxes), len(truths))
    (found,) = run("Iou", [each[:pairs] for each in arrays], {"mode": mode, "eps": eps, "aligned": True})
    close(found, [[exact[place][place]] for place in range(pairs)], units=4)


def _penalised(op_type: str, box: Box, truth: Box) -> float:
    """Return the measure as its paper defines it."""
    iou = _iou(box, truth)
    width, height = (max(box[n + 2], truth[n + 2]) - min(box[n], truth[n]) for n in (0, 1))
    if op_type == "GIoU":
        union = _area(box) + _area(truth) - _shared(box, truth, 0)
        return iou - (width * height - union) / (width * height)
    apart = [(box[n] + box[n + 2] - truth[n] - truth[n + 2]) / 2 for n in (0, 1)]
    distance = (apart[0] ** 2 + apart[1] ** 2) / (width**2 + height**2)
    if op_type == "DIoU":
        return iou - distance
    angles = [math.atan((each[2] - each[0]) / (each[3] - each[1])) for each in (truth, box)]
    v = 4 / math.pi**2 * (angles[0] - angles[1]) ** 2
    return iou - distance - (v * v / (1 - iou + v) if v else 0)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("op_type", ["GIoU", "DIoU", "CIoU"])
@settings(max_examples=10, deadline=None)
@given(boxes=BOXES, truths=BOXES, trans=st.booleans())
def test_penalised(
    run: Run, close: Close, dtype: Any, op_type: str, boxes: list[Box], truths: list[Box], trans: bool
) -> None:
    """Boxes are columns, of corners or of centre and size; each with each, or in pairs."""
    arrays = [np.array(each, np.float64).T for each in (boxes, truths)]
    if trans:
        arrays = [np.concatenate([(each[:2] + each[2:]) / 2, each[2:] - each[:2]]) for each in arrays]
    inputs = [each.astype(dtype) for each in arrays]
    exact = [[_penalised(op_type, box, truth) for box in boxes] for truth in truths]
    close(run(op_type, inputs, {"trans": trans})[0], exact, units=8, floor=1)

    pairs = min(len(boxes), len(truths))
    found = run(op_type, [each[:, :pairs] for each in inputs], {"trans": trans, "is_cross": False})[0]
    close(found, [[exact[place][place] for place in range(pairs)]], units=8, floor=1)


def test_angles(run: Run, close: Close) -> None:
    """CIoU's second output is the angle of the truth less that of the box, where it is asked for."""
    boxes = [np.array([[0, 0, 2, 2]], np.float32).T, np.array([[0, 0, 2, 1]], np.float32).T]

    close(run("CIoU", boxes, {"atan_sub_flag": True})[1], [[math.atan(2) - math.atan(1)]])
    assert run("CIoU", boxes)[1].tolist() == [[0]]


def test_boxes_without_area(run: Run) -> None:
    """They overlap nothing, and nothing warns; what is not a number stays none."""
    point, other = np.array([[3, 3, 3, 3]], np.float32), np.array([[0, 0, 4, 4], [3, 3, 3, 3]], np.float32)
    assert run("PtIou", [point, other])[0].tolist() == [[0], [0]]
    for op_type in ("GIoU", "DIoU", "CIoU"):
        assert run(op_type, [point.T, point.T])[0].tolist() == [[0]]
    assert np.isnan(run("PtIou", [point * np.float32(np.nan), other])[0]).all()


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("clip", [0.016, 0.9])
def test_decode(run: Run, close: Close, dtype: Any, clip: float) -> None:
    """Centres move by parts of the size, sizes by exponentials within the clip; all stays in the picture."""
    rois = np.array([[2, 3, 11, 8], [0, 0, 4, 4], [10, 10, 30, 19]], dtype)
    deltas = np.array([[0.5, -0.25, 0.25, -0.5], [0.125, 0.5, 8, -8], [-1, 2, 0.5, 0.5]], dtype)
    means, deviations = (0.125, 0.0, -0.25, 0.0), (1.0, 0.5, 1.0, 2.0)
    exact = []
    for roi, delta in zip(rois.astype(float).tolist(), deltas.astype(float).tolist(), strict=True):
        d = [v * s + m for v, s, m in zip(delta, deviations, means, strict=True)]
        limit = abs(math.log(clip))
        corners = []
        for n, most in ((0, 39), (1, 19)):
            size = roi[n + 2] - roi[n] + 1
            centre = (roi[n] + roi[n + 2]) / 2 + size * d[n]
            extent = size * math.exp(min(max(d[n + 2], -limit), limit))
            ends = (centre - extent / 2 + 0.5, centre + extent / 2 - 0.5)
            corners.append([min(max(end, 0), most) for end in ends])
        exact.append([corners[0][0], corners[1][0], corners[0][1], corners[1][1]])
    attributes = {"max_shape": [20, 40], "means": means, "stds": deviations, "wh_ratio_clip": clip}

    close(run("BoundingBoxDecode", [rois, deltas], attributes)[0], exact, units=8, floor=8)


@settings(max_examples=10, deadline=None)
@given(anchors=BOXES, truths=BOXES)
def test_encode(run: Run, close: Close, anchors: list[Box], truths: list[Box]) -> None:
    """The formula, and decoding brings the boxes back."""
    count = min(len(anchors), len(truths))
    means, deviations = (0.125, 0.0, -0.25, 0.0), (1.0, 0.5, 1.0, 2.0)
    exact = []
    for anchor, truth in zip(anchors, truths, strict=False):
        size, wanted = ([box[n + 2] - box[n] + 1 for n in (0, 1)] for box in (anchor, truth))
        moved = [(truth[n] + truth[n + 2] - anchor[n] - anchor[n + 2]) / 2 / size[n] for n in (0, 1)]
        grown = [math.log(wanted[n] / size[n]) for n in (0, 1)]
        exact.append([(v - m) / s for v, m, s in zip([*moved, *grown], means, deviations, strict=True)])
    inputs = [np.array(each[:count], np.float32) for each in (anchors, truths)]
    attributes = {"means": means, "stds": deviations}

    (found,) = run("BoundingBoxEncode", inputs, attributes)
    close(found, exact, units=16, floor=1)
    (back,) = run("BoundingBoxDecode", [inputs[0], found], {**attributes, "max_shape": [99, 99]})
    close(back, inputs[1], units=64, floor=8)


@pytest.mark.parametrize("late", [False, True])
def test_clip(run: Run, late: bool) -> None:
    """Width limits the x, height the y."""
    boxes = np.array([[-1, -2, 3, 4], [9, 9, 20, 30]], np.float16)
    exact = [[0, 0, 3, 4], [9, 6, 10, 6]]

    assert run("ClipBoxes", [boxes, np.array([6, 10], np.int32)], known=(1,), late=late)[0].tolist() == exact
    assert run("ClipBoxesD", [boxes], {"img_size": [6, 10]})[0].tolist() == exact


def test_check_valid(run: Run) -> None:
    """Inside the picture, whose sizes are scaled by the ratio, or not."""
    boxes = np.array([[0, 0, 19, 9], [0, 0, 20, 9], [0, 0, 19, 10], [-1, 0, 1, 1], [0, np.nan, 1, 1]], np.float32)

    assert run("CheckValid", [boxes, np.array([5, 10, 2], np.float32)])[0].tolist() == [1, 0, 0, 0, 0]


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_relative_boxes(run: Run, close: Close, dtype: Any) -> None:
    """Divided by, or multiplied with, the height and width of their picture; boxes may be columns."""
    boxes = np.random.default_rng(3).uniform(0, 9, (2, 3, 4)).astype(dtype)
    sizes = np.array([[5, 7, 3], [2, 3, 3]], np.int32)
    exact = np.array(
        [
            [[v / sizes[n, place % 2] for place, v in enumerate(box)] for box in boxes[n].astype(float).tolist()]
            for n in (0, 1)
        ]
    )

    (found,) = run("NormalizeBBox", [boxes, sizes])
    close(found, exact)
    close(run("ToAbsoluteBBox", [found, sizes])[0], boxes, units=2)
    (columns,) = run("NormalizeBBox", [boxes.transpose(0, 2, 1), sizes], {"reversed_box": True})
    assert columns.transpose(0, 2, 1).tolist() == found.tolist()


def test_bad_input(run: Run) -> None:
    """Boxes of another width, other counts and modes are refused by name."""
    three, two = np.zeros((3, 4), np.float32), np.zeros((2, 4), np.float32)
    for op_type, inputs, attributes, text in (
        ("Iou", [three[:, :3], two], {}, r"bboxes of shape \(3, 3\) must be \[number, 4\]"),
        ("Iou", [three, two], {"aligned": True}, "must hold as many boxes"),
        ("Iou", [three, two], {"mode": "giou"}, "mode is 'giou'"),
        ("GIoU", [three, two], {}, r"\[4, number\]"),
        ("CIoU", [three.T, two.T], {"is_cross": False}, "must hold as many boxes"),
        ("BoundingBoxDecode", [three, two], {"max_shape": [2, 2]}, "must hold as many boxes"),
        ("BoundingBoxDecode", [three, three], {"max_shape": [2]}, "max_shape"),
        ("BoundingBoxEncode", [three, three], {"means": [1.0]}, "means"),
        ("ClipBoxesD", [three.astype(np.float16)], {"img_size": [1, 2, 3]}, "a height and a width"),
        ("CheckValid", [three, two[0]], {}, "a height, a width and a ratio"),
        ("NormalizeBBox", [three, np.zeros((1, 3), np.int32)], {}, "a batch of boxes"),
        ("NormalizeBBox", [three[None], np.zeros((2, 3), np.int32)], {}, "differ in the batch"),
    ):
        with pytest.raises(InvalidArgument, match=text):
            run(op_type, inputs, attributes)
    with pytest.raises(UnsupportedDataType, match="must be equal"):
        run("PtIou", [three, two.astype(np.float16)])


def test_no_boxes(run: Run) -> None:
    """None with some are no numbers."""
    none, some = np.zeros((0, 4), np.float32), np.zeros((2, 4), np.float32)
    assert run("Iou", [none, some])[0].shape == (2, 0)
    assert run("GIoU", [some.T, none.T])[0].shape == (0, 2)
    assert run("BoundingBoxEncode", [none, none])[0].shape == (0, 4)
