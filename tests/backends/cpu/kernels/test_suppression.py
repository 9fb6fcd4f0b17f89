"""Non-maximum suppression: by the definition, all pairs, and ONNX's reference."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aacl.abc import Array, KernelRequest
from aacl.backends.cpu.kernels import find
from aacl.dtypes import DataType
from aacl.errors import InvalidArgument
from aacl.ops._catalogue import schema_of
from aacl.ops._infer import infer_outputs
from aacl.tensors._desc import TensorDesc
from tests.helpers.onnx_reference import onnx_reference
from tests.helpers.samples._record import note

Run = Callable[..., list[Array]]
Box = tuple[float, float, float, float]
SIDE = st.integers(0, 9)
BOX = st.tuples(SIDE, SIDE, SIDE, SIDE)
SCORE = st.sampled_from([0.125, 0.25, 0.375, 0.5, 0.75, 1.0])


def _selected(op_type: str, inputs: Sequence[Array | None], attributes: Mapping[str, Any] | None = None,
              known: Sequence[int] = (2,)) -> list[Array]:  # fmt: skip
    """Return the results, each as long as it is; the shapes inferred must allow them."""
    note(op_type)
    schema = schema_of(op_type)
    complete = schema.complete(attributes or {})
    descs = [
        None if array is None else TensorDesc.of(array.dtype, array.shape, value=array if place in known else None)
        for place, array in enumerate(inputs)
    ]
    expected = infer_outputs(schema, descs, complete)
    largest = [TensorDesc.of(each.dtype, [most for _, most in each.ranges] or each.shape) for each in expected]
    outs = [np.full(each.shape, 85, each.dtype.numpy_dtype) for each in largest]
    kernel = find(KernelRequest(op_type, tuple(descs), tuple(largest), complete))
    assert kernel.returns_shapes
    shapes: Any = kernel.body(*inputs, *outs)
    for shape, desc in zip(shapes, expected, strict=True):
        ranges = desc.ranges or [(size, size) for size in desc.shape]
        assert all(low <= size <= high for size, (low, high) in zip(shape, ranges, strict=True))
    return [out.reshape(-1)[: math.prod(shape)].reshape(shape) for out, shape in zip(outs, shapes, strict=True)]


def _iou(a: Box, b: Box, offset: float = 0) -> float:
    """Return the overlap of two boxes given by any two opposite corners."""
    sides, areas = [], [1.0, 1.0]
    for n in (0, 1):
        ends = [sorted((box[n], box[n + 2])) for box in (a, b)]
        sides.append(max(min(ends[0][1], ends[1][1]) - max(ends[0][0], ends[1][0]) + offset, 0))
        areas = [area * (end[1] - end[0] + offset) for area, end in zip(areas, ends, strict=True)]
    shared = sides[0] * sides[1]
    return shared / (areas[0] + areas[1] - shared) if min(areas) > 0 else 0.0


def _kept(boxes: list[Box], order: list[int], threshold: float, limit: int, offset: float = 0) -> list[int]:
    """Return those of the boxes in order that overlap none kept before them by more than the threshold."""
    kept: list[int] = []
    for place in order:
        if len(kept) < limit and all(_iou(boxes[place], boxes[other], offset) <= threshold for other in kept):
            kept.append(place)
    return kept


def _ranked(scores: list[float], least: float = -math.inf) -> list[int]:
    return sorted((place for place, score in enumerate(scores) if score > least), key=lambda place: -scores[place])


@pytest.mark.parametrize("dtype", [np.float32, np.float16], ids=str)
@settings(max_examples=25, deadline=None)
@given(
    found=st.lists(st.tuples(BOX, SCORE), max_size=8),
    limit=st.integers(0, 9),
    threshold=st.sampled_from([0.0, 0.3, 0.5, 1.0]),
    least=st.sampled_from([0.0, 0.25, 0.6]),
    is_known=st.booleans(),
)
def test_selection(
    dtype: Any, found: list[tuple[Box, float]], limit: int, threshold: float, least: float, is_known: bool
) -> None:
    """Versions 1 to 4 agree on which boxes stay; equal scores keep their order; padding is zeros."""
    boxes, scores = [box for box, _ in found], [score for _, score in found]
    arrays = [np.array(boxes, dtype).reshape(-1, 4), np.array(scores, dtype), np.array(limit, np.int32)]
    numbers = [np.array(each, dtype) for each in (threshold, least)]
    known = (2,) if is_known else ()
    exact = _kept(boxes, _ranked(scores), float(numbers[0]), limit)
    scored = _kept(boxes, _ranked(scores, float(numbers[1])), float(numbers[0]), limit)

    assert _selected("NonMaxSuppressionV2", [*arrays, numbers[0]], known=known)[0].tolist() == exact
    assert _selected("NonMaxSuppressionV3", [*arrays, *numbers], known=known)[0].tolist() == scored
    offset = _kept(boxes, _ranked(scores, float(numbers[1])), float(numbers[0]), limit, 1)
    assert _selected("NonMaxSuppressionV3", [*arrays, *numbers], {"offset": 1}, known)[0].tolist() == offset
    indices, valid = _selected("NonMaxSuppressionV4", [*arrays, *numbers], known=known)
    assert (indices.tolist(), valid.tolist()) == (scored, len(scored))
    padded, valid = _selected("NonMaxSuppressionV4", [*arrays, *numbers], {"pad_to_max_output_size": True})
    assert (padded.tolist(), valid.tolist()) == (scored + [0] * (limit - len(scored)), len(scored))
    hard = _selected("NonMaxSuppressionV5", [*arrays, *numbers, np.array(0, dtype)], {"T": DataType.FLOAT}, known)
    assert (hard[0].tolist(), hard[1].tolist()) == (scored, [scores[place] for place in scored])
    if dtype == np.float32:
        (first,) = _selected("NonMaxSuppression", arrays, {"iou_threshold": threshold}, known)
        assert first.tolist() == exact
        matrix = np.array([[_iou(a, b) for b in boxes] for a in boxes], np.float32).reshape(len(boxes), len(boxes))
        inputs = [matrix, arrays[1], arrays[2], *numbers]
        assert _selected("NonMaxSuppressionWithOverlaps", inputs, known=known)[0].tolist() == scored


@settings(max_examples=20, deadline=None)
@given(found=st.lists(st.tuples(BOX, SCORE), min_size=1, max_size=7), sigma=st.sampled_from([0.3, 0.5, 1.0]))
def test_soft_selection(found: list[tuple[Box, float]], sigma: float) -> None:
    """Each box that is chosen scales the scores of the others by ``exp(-iou^2 / (2 sigma))``."""
    boxes, scores = [box for box, _ in found], [score for _, score in found]
    left, exact = dict(enumerate(scores)), []
    while left:
        best = max(left, key=lambda place: (left[place], -place))
        exact.append((best, left.pop(best)))
        for place in list(left):
            left[place] *= math.exp(-(_iou(boxes[best], boxes[place]) ** 2) / (2 * sigma))
            if left[place] <= 0.1:
                del left[place]
    inputs = [np.array(boxes, np.float32), np.array(scores, np.float32), np.array(9, np.int32)]
    numbers = [np.array(each, np.float32) for each in (1.0, 0.1, sigma)]
    indices, kept, valid = _selected("NonMaxSuppressionV5", [*inputs, *numbers], {"T": DataType.FLOAT})

    np.testing.assert_allclose(kept, [score for _, score in exact], rtol=1e-5)
    assert valid.tolist() == len(exact)
    assert sorted(indices.tolist()) == sorted(place for place, _ in exact)


@pytest.mark.parametrize("op_type", ["NonMaxSuppressionV6", "NonMaxSuppressionV7"])
@pytest.mark.parametrize("center", [0, 1])
@settings(max_examples=15, deadline=None)
@given(data=st.data())
def test_as_onnx(op_type: str, center: int, data: st.DataObject) -> None:
    """Each class of each picture by itself, in float64 by ONNX's reference; thresholds may be absent."""
    batch, classes, count = (data.draw(st.integers(1, 3)) for _ in range(3))
    random = np.random.default_rng(data.draw(st.integers(0, 99)))
    boxes = random.uniform(0.5, 4, (batch, count, 4)).astype(np.float32)
    scores = random.permutation(batch * classes * count).reshape(batch, classes, count).astype(np.float32)
    limit = np.array([data.draw(st.integers(1, 3))])
    threshold = np.array([0.25], np.float32)
    least = np.array([1.5], np.float32) if data.draw(st.booleans()) else None
    (exact,) = onnx_reference("NonMaxSuppression", [boxes, scores, limit, threshold, least], center_point_box=center)
    inputs = [boxes, scores, limit.astype(np.int32), threshold, least]
    (found,) = _selected(op_type, inputs, {"center_point_box": center})

    assert found.tolist() == exact.tolist()


def test_limits_by_class() -> None:
    """Without a limit nothing is selected, or as many as ``max_boxes_size`` says; without a threshold none may touch."""
    boxes = np.array([[[0, 0, 2, 2], [0, 0, 2, 2], [5, 5, 6, 6], [9, 9, 10, 10]]], np.float16)
    scores = np.array([[[4, 3, 2, 1]]], np.float16)

    assert _selected("NonMaxSuppressionV6", [boxes, scores])[0].shape == (0, 3)
    (found,) = _selected("NonMaxSuppressionV6", [boxes, scores], {"max_boxes_size": 2})
    assert found.tolist() == [[0, 0, 0], [0, 0, 2]]


@pytest.mark.parametrize("dtype", [np.float32, np.float16], ids=str)
@pytest.mark.parametrize("width", [5, 8])
@settings(max_examples=15, deadline=None)
@given(boxes=st.lists(BOX, max_size=8), threshold=st.sampled_from([0.2, 0.5, 0.8]))
def test_mask(run: Run, dtype: Any, width: int, boxes: list[Box], threshold: float) -> None:
    """Boxes are taken as they are sorted; they come back with their places and the mask."""
    rows = np.zeros((len(boxes), width), dtype)
    if boxes:
        rows[:, :4] = boxes
    rows[:, 4] = np.linspace(1, 0.5, len(boxes))
    kept = _kept(boxes, list(range(len(boxes))), threshold, len(boxes))
    found, places, mask = run("NMSWithMask", [rows], {"iou_threshold": threshold})

    assert found.tolist() == rows[:, :5].tolist()
    assert places.tolist() == list(range(len(boxes)))
    assert mask.tolist() == [int(place in kept) for place in range(len(boxes))]


def test_what_is_no_number() -> None:
    """A box of no numbers suppresses nothing; a score that is none is never selected."""
    boxes = np.array([[np.nan] * 4, [0, 0, 1, 1], [0, 0, 1, 1]], np.float32)
    scores = np.array([3, 2, np.nan], np.float32)
    (found,) = _selected("NonMaxSuppression", [boxes, scores, np.array(5, np.int32)])

    assert found.tolist() == [0, 1]


def test_bad_input() -> None:
    """Counts that differ, and a negative limit, are refused by name."""
    boxes, scores, limit = np.zeros((3, 4), np.float32), np.zeros(3, np.float32), np.array(1, np.int32)
    for op_type, inputs, text in (
        ("NonMaxSuppression", [boxes, scores[:2], limit], "each box has one score"),
        ("NonMaxSuppression", [boxes[:, :3], scores, limit], r"\[number, 4\]"),
        ("NonMaxSuppression", [boxes, scores, limit - 2], "max_output_size is -1"),
        (
            "NonMaxSuppressionWithOverlaps",
            [boxes, scores, limit, limit.astype(np.float32)] * 1 + [np.float32(0)],
            "square",
        ),
        ("NonMaxSuppressionV6", [boxes, scores, limit], "three dims"),
        ("NonMaxSuppressionV6", [boxes[None], scores[None, None, :2], limit], "do not fit"),
    ):
        with pytest.raises(InvalidArgument, match=text):
            _selected(op_type, [np.asarray(each) for each in inputs])
    with pytest.raises(InvalidArgument, match=r"\[number, 8\]"):
        _selected("NMSWithMask", [boxes])
