"""Pooling, against loops over windows written from the operators' documentation."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aacl.abc import Array
from aacl.dtypes import DataType
from aacl.errors import InvalidArgument
from aacl.ops import schema_of
from aacl.ops._infer import infer_outputs
from aacl.tensors._desc import TensorDesc
from tests.helpers.windows import (
    Cell,
    Line,
    attributes_of,
    average_over,
    channels_last,
    maximum_over,
    planes,
    same_line,
    turned_last,
)

Run = Callable[..., list[Array]]
Close = Callable[..., None]
HALF, SINGLE, DOUBLE = np.dtype(np.float16), np.dtype(np.float32), np.dtype(np.float64)


@settings(deadline=None, max_examples=40)
@given(case=planes(), dtype=st.sampled_from([SINGLE, HALF, DOUBLE, np.dtype(np.int8), np.dtype(np.int32)]))
def test_maximum(run: Run, case: tuple[Array, list[Line]], dtype: np.dtype[Any]) -> None:
    """The largest element of each window, in both layouts; padding never counts."""
    x, lines = case[0].astype(dtype) - np.asarray(5, dtype), case[1]
    exact = maximum_over(x, lines)
    attributes = attributes_of(lines)
    np.testing.assert_array_equal(run("MaxPoolV3", [x], attributes)[0], exact)
    np.testing.assert_array_equal(
        run("MaxPoolV3", [channels_last(x)], turned_last(attributes, "NHWC"))[0], channels_last(exact)
    )


@settings(deadline=None, max_examples=40)
@given(
    case=planes(), dtype=st.sampled_from([SINGLE, HALF, DOUBLE]), exclusive=st.booleans(), override=st.integers(0, 2)
)
def test_average(
    run: Run, close: Close, case: tuple[Array, list[Line]], dtype: np.dtype[Any], exclusive: bool, override: int
) -> None:
    """The sum over the elements, with the padding or without, or over ``divisor_override``."""
    x, lines = case[0].astype(dtype), case[1]

    def divide(cell: Cell) -> float:
        return override or (len(cell.places) if exclusive else cell.covered)

    exact = average_over(x, lines, divide)
    attributes = attributes_of(lines, exclusive=exclusive, divisor_override=override)
    close(run("AvgPoolV2", [x], attributes)[0], exact, units=4, floor=2)
    close(
        run("AvgPoolV2", [channels_last(x)], turned_last(attributes, "NHWC"))[0], channels_last(exact), units=4, floor=2
    )


@settings(deadline=None, max_examples=20)
@given(case=planes(ceil=False), mode=st.sampled_from(["SAME", "VALID"]))
def test_padding_by_name(run: Run, close: Close, case: tuple[Array, list[Line]], mode: str) -> None:
    """SAME and VALID as TensorFlow has them; the average leaves padding out."""
    x = case[0].astype(np.float16)
    lines = [same_line(line.length, line.size, line.stride) if mode == "SAME"
             else line._replace(before=0, after=0) for line in case[1]]  # fmt: skip
    attributes: dict[str, Any] = {"ksize": (1, lines[0].size, lines[1].size, 1), "padding": mode}
    attributes |= {"strides": (1, lines[0].stride, lines[1].stride, 1)}
    found = run("MaxPool", [channels_last(x)], attributes)[0]
    np.testing.assert_array_equal(found, channels_last(maximum_over(x, lines)))
    np.testing.assert_array_equal(
        run("MaxPoolExt2", [channels_last(x)], attributes)[0], channels_last(maximum_over(x, lines))
    )
    exact = average_over(x, lines, lambda cell: len(cell.places))
    close(run("AvgPool", [channels_last(x)], attributes)[0], channels_last(exact), units=4, floor=2)
    sizes, strides = (np.array(attributes[name], np.int32) for name in ("ksize", "strides"))
    for late in (False, True):
        again = run("MaxPoolV2", [channels_last(x), sizes, strides], {"padding": mode}, known=[1, 2], late=late)[0]
        np.testing.assert_array_equal(again, found)


@settings(deadline=None, max_examples=12)
@given(case=planes(count=3), include=st.booleans())
def test_three_axes(run: Run, close: Close, case: tuple[Array, list[Line]], include: bool) -> None:
    """MaxPool3D and AvgPool3D, by default in NDHWC."""
    x, lines = case[0].astype(np.float32), case[1]
    attributes = attributes_of(lines)
    attributes |= {"ksize": attributes["ksize"][2:], "strides": attributes["strides"][2:]}
    largest = attributes | {"padding": "CALCULATED", "ceil_mode": int(lines[0].ceil)}
    np.testing.assert_array_equal(
        run("MaxPool3D", [channels_last(x)], largest)[0], channels_last(maximum_over(x, lines))
    )
    exact = average_over(x, lines, lambda cell: cell.covered if include else len(cell.places))
    attributes |= {"count_include_pad": include}
    close(run("AvgPool3D", [channels_last(x)], attributes)[0], channels_last(exact), units=4, floor=2)
    first = attributes | {"data_format": "NCDHW"}
    close(run("AvgPool3DD", [x, None, None], first)[0], exact, units=4, floor=2)


@settings(deadline=None, max_examples=20)
@given(case=planes(), mode=st.integers(0, 1))
def test_caffe(run: Run, close: Close, case: tuple[Array, list[Line]], mode: int) -> None:
    """Pooling rounds up by default; its average counts padding."""
    x, lines = case[0].astype(np.float32), case[1]
    attributes = {
        "mode": mode,
        "window": [line.size for line in lines],
        "stride": [line.stride for line in lines],
        "pad": [pad for line in lines for pad in (line.before, line.after)],
        "ceil_mode": 0 if lines[0].ceil else 1,
    }
    exact = average_over(x, lines, lambda cell: cell.covered) if mode else maximum_over(x, lines)
    close(run("Pooling", [x], attributes)[0], exact, units=4, floor=2)


def test_dilation(run: Run) -> None:
    """MaxPool3D takes every second element."""
    x = np.random.default_rng(3).uniform(-1, 1, (1, 2, 5, 6, 7)).astype(np.float32)
    lines = [Line(length, 2, 1, 0, 0, False, 2) for length in x.shape[2:]]
    attributes = attributes_of(lines, padding="CALCULATED", dilation=(1, 1, 2, 2, 2), data_format="NCDHW", ceil_mode=0)
    np.testing.assert_array_equal(run("MaxPool3D", [x], attributes)[0], maximum_over(x, lines))


@settings(deadline=None, max_examples=20)
@given(case=planes(), count_include_pad=st.booleans(), dtype=st.sampled_from([HALF, DOUBLE, np.dtype(np.int32)]))
def test_lines(
    run: Run, close: Close, case: tuple[Array, list[Line]], count_include_pad: bool, dtype: np.dtype[Any]
) -> None:
    """AvgPool1D goes along the last axis; integers are rounded towards zero; a further matrix decides nothing."""
    x, line = (case[0] * 4).astype(dtype), case[1][1]
    attributes = {"ksize": line.size, "strides": line.stride, "pads": [line.before, line.after]}
    attributes |= {"ceil_mode": line.ceil, "count_include_pad": count_include_pad}
    rows = x.reshape(1, -1, line.length)
    exact = average_over(rows, [line], lambda cell: cell.covered if count_include_pad else len(cell.places))
    exact = exact.reshape(*x.shape[:-1], -1)
    wanted = np.trunc(exact) if dtype.kind == "i" else exact
    close(run("AvgPool1D", [x], attributes)[0], wanted, units=4, floor=2)
    close(run("AvgPool1DD", [x, np.full(exact.shape, 9, dtype)], attributes)[0], wanted, units=4, floor=2)


def test_global_pooling_and_wide_padding(run: Run, close: Close) -> None:
    """``global_pooling`` takes the whole plane, whatever the window; windows may lie in the padding alone."""
    x = np.random.default_rng(2).uniform(-1, 1, (2, 3, 4, 5)).astype(np.float32)
    attributes = {"ksize": (1, 1, 1, 1), "strides": (1, 1, 1, 1), "global_pooling": True}
    np.testing.assert_array_equal(run("MaxPoolV3", [x], attributes)[0], x.max((2, 3), keepdims=True))
    close(run("AvgPoolV2", [x], attributes)[0], x.astype(np.float64).mean((2, 3), keepdims=True), units=8, floor=1)
    outside = {"ksize": (1, 1, 1, 1), "strides": (1, 1, 1, 1), "pads": (1, 0, 0, 2)}
    found = run("MaxPoolV3", [x], outside)[0]
    assert found.shape == (2, 3, 5, 7)
    assert np.isneginf(found[:, :, 0]).all()
    assert np.isneginf(found[..., 5:]).all()
    np.testing.assert_array_equal(found[:, :, 1:, :5], x)
    assert not run("AvgPoolV2", [x], outside)[0][:, :, 0].any()


@pytest.mark.parametrize("shape", [(2, 3, 4, 5), (1, 2, 6), (0, 2, 3, 3)])
def test_whole_planes(run: Run, close: Close, shape: tuple[int, ...]) -> None:
    """The mean, and the norm, over all spatial axes."""
    x = np.random.default_rng(2).uniform(-1, 1, shape).astype(np.float16)
    mean, norm = np.zeros(shape[:2]), {1.0: np.zeros(shape[:2]), 2.0: np.zeros(shape[:2]), 3.0: np.zeros(shape[:2])}
    for lead in np.ndindex(shape[:2]):
        values = [float(value) for value in x[lead].reshape(-1)]
        mean[lead] = math.fsum(values) / len(values)
        for power, out in norm.items():
            out[lead] = math.fsum(abs(value) ** power for value in values) ** (1 / power)
    one = (1,) * (len(shape) - 2)
    close(run("GlobalAveragePool", [x])[0], mean.reshape(*shape[:2], *one), units=4, floor=0.1)
    for power, out in norm.items():
        close(run("GlobalLpPool", [x], {"p": power})[0], out.reshape(*shape[:2], *one), units=4)


@pytest.mark.parametrize("shape", [(2, 3, 2, 3), (1, 2, 2, 3, 16)])
def test_upsample(run: Run, shape: tuple[int, ...]) -> None:
    """Repeated along the third and fourth axes, times the scale."""
    x = np.random.default_rng(2).integers(-9, 9, shape).astype(np.float16)
    found = run("Upsample", [x], {"scale": 0.5, "stride_h": 2, "stride_w": 3})[0]
    assert found.shape == (*shape[:2], shape[2] * 2, shape[3] * 3, *shape[4:])
    for place in np.ndindex(found.shape):
        source = (*place[:2], place[2] // 2, place[3] // 3, *place[4:])
        assert found[place] == x[source] / 2


def test_free_dims() -> None:
    """Ranges go through the windows' arithmetic; an unknown rank stays unknown."""
    schema = schema_of("AvgPoolV2")
    complete = schema.complete({"ksize": (1, 1, 3, 3), "strides": (1, 1, 2, 2), "pads": (1, 1, 0, 0)})
    x = TensorDesc.of(DataType.FLOAT, (-1, 8, -1, 9), ranges=((1, 4), (8, 8), (3, 20), (9, 9)))
    (out,) = infer_outputs(schema, [x], complete)
    assert (out.shape, out.ranges) == ((-1, 8, -1, 4), ((1, 4), (8, 8), (2, 10), (4, 4)))
    (out,) = infer_outputs(schema, [TensorDesc.of(DataType.FLOAT, (-2,))], complete)
    assert out.shape == (-2,)


@pytest.mark.parametrize(
    ("op_type", "attributes", "text"),
    [
        ("MaxPoolV3", {"ksize": (1, 1, 5, 1)}, "a window of 5 along H does not fit"),
        ("MaxPoolV3", {"ksize": (1, 2, 2, 2)}, "must be 1 along N and C"),
        ("MaxPoolV3", {"ksize": (1, 1, 2)}, "ksize"),
        ("MaxPoolV3", {"strides": (1, 1, 0, 1)}, "strides"),
        ("MaxPoolV3", {"pads": (0, -1, 0, 0)}, "pads"),
        ("MaxPoolV3", {"padding_mode": "FULL"}, "padding 'FULL'"),
        ("AvgPoolV2", {"divisor_override": -1}, "divisor_override"),
        ("AvgPoolV2", {"data_format": "NCL"}, "layout NCL"),
        ("AdaptiveAvgPool2d", {"output_size": (1, 2, 3)}, "output_size"),
        ("GlobalLpPool", {"p": 0.0}, "p is 0"),
        ("Upsample", {"stride_h": 0}, "stride_h"),
    ],
)
def test_bad_arguments(run: Run, op_type: str, attributes: dict[str, Any], text: str) -> None:
    """One error that names what does not fit."""
    base: dict[str, Any] = {"ksize": (1, 1, 2, 2), "strides": (1, 1, 1, 1)} if "PoolV" in op_type else {}
    with pytest.raises(InvalidArgument, match=text):
        run(op_type, [np.ones((1, 2, 4, 4), np.float32)], base | attributes)
