"""Windows taken apart and put together, dilation, and deformable convolution, against loops from their definition."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from onnx.reference.ops.op_col2im import col2im_naive_implementation

from aacl.abc import Array
from aacl.errors import InvalidArgument
from aacl.ops import schema_of
from aacl.ops._infer import infer_outputs
from aacl.tensors._desc import TensorDesc

Run = Callable[..., list[Array]]
Close = Callable[..., None]
HALF, SINGLE = np.dtype(np.float16), np.dtype(np.float32)


class Case(NamedTuple):
    """Windows over ``(N, C, H, W)``."""

    x: Array
    sizes: tuple[int, int]
    strides: tuple[int, int]
    rates: tuple[int, int]
    pads: tuple[int, int, int, int]

    @property
    def windows(self) -> tuple[int, int]:
        """How many there are."""
        counts = [
            (length + before + after - (size - 1) * rate - 1) // stride + 1
            for length, before, after, size, rate, stride in zip(
                self.x.shape[2:], self.pads[::2], self.pads[1::2], self.sizes, self.rates, self.strides, strict=True
            )
        ]
        return counts[0], counts[1]

    def place(self, window: tuple[int, int], tap: tuple[int, int]) -> tuple[int, int]:
        """Return where an element of a window lies, perhaps outside."""
        row, column = (index * stride + offset * rate - before for index, stride, offset, rate, before in zip(
            window, self.strides, tap, self.rates, self.pads[::2], strict=True))  # fmt: skip
        return row, column

    def at(self, image: int, channel: int, place: tuple[int, int], outside: float = 0) -> float:
        """Return the element at a place; a value of one's own outside."""
        if all(0 <= index < length for index, length in zip(place, self.x.shape[2:], strict=True)):
            return float(self.x[image, channel, place[0], place[1]])
        return outside


@st.composite
def cases(draw: st.DrawFn) -> Case:
    """Windows that fit."""
    pair = st.tuples(st.integers(1, 3), st.integers(1, 3))
    sizes, strides = draw(pair), draw(pair)
    rates = draw(st.tuples(st.integers(1, 2), st.integers(1, 2)))
    pads = draw(st.tuples(*[st.integers(0, 2)] * 4))
    lengths = [(size - 1) * rate + 1 + draw(st.integers(0, 3)) for size, rate in zip(sizes, rates, strict=True)]
    x = np.random.default_rng(draw(st.integers(0, 99))).uniform(-9, 9, (2, draw(st.integers(1, 2)), *lengths))
    return Case(x, sizes, strides, rates, pads)


def _columns(case: Case) -> Array:
    """Return ``(N, C, kh, kw, oh, ow)``."""
    out = np.empty((*case.x.shape[:2], *case.sizes, *case.windows))
    for image, channel, i, j, row, column in np.ndindex(out.shape):
        out[image, channel, i, j, row, column] = case.at(image, channel, case.place((row, column), (i, j)))
    return out


@settings(deadline=None, max_examples=25)
@given(case=cases(), dtype=st.sampled_from([SINGLE, HALF, np.dtype(np.int8), np.dtype(np.uint64)]))
def test_im2col(run: Run, case: Case, dtype: np.dtype[Any]) -> None:
    """The elements of a window become channels: C, kh, kw with channels first, kh, kw, C with channels last."""
    case = case._replace(x=np.abs(case.x).astype(dtype))
    exact = _columns(case).astype(dtype)
    attributes: dict[str, Any] = {"ksizes": case.sizes, "strides": case.strides, "dilations": case.rates}
    attributes |= {"pads": case.pads}
    found = run("Im2col", [case.x], attributes)[0]
    assert found.shape == (2, case.x.shape[1] * math.prod(case.sizes), *case.windows)
    np.testing.assert_array_equal(found, exact.reshape(found.shape))


def test_im2col_by_name_of_padding(run: Run) -> None:
    """SAME puts the odd element of padding at the end; pads are not read then."""
    x = np.arange(12, dtype=np.int32).reshape(1, 1, 3, 4) + 1
    attributes = {"ksizes": (2, 2), "strides": (2, 1), "padding_mode": "SAME", "pads": (7,)}
    found = run("Im2col", [x], attributes)[0]
    case = Case(x, (2, 2), (2, 1), (1, 1), (0, 1, 0, 1))
    np.testing.assert_array_equal(found, _columns(case).reshape(1, 4, 2, 4))
    assert run("Im2col", [x], attributes | {"padding_mode": "VALID"})[0].shape == (1, 4, 1, 3)


@settings(deadline=None, max_examples=25)
@given(case=cases(), dtype=st.sampled_from([SINGLE, HALF]))
def test_col2im(run: Run, close: Close, case: Case, dtype: np.dtype[Any]) -> None:
    """As ONNX's reference has it: windows are added up where they overlap."""
    columns = np.random.default_rng(1).uniform(-1, 1, _columns(case).shape).astype(dtype)
    size, kernel = np.array(case.x.shape[2:], np.int32), np.array(case.sizes, np.int32)
    exact = np.empty(case.x.shape)
    fold: Callable[..., Array] = col2im_naive_implementation
    begins_then_ends = [*case.pads[::2], *case.pads[1::2]]
    for lead in np.ndindex(exact.shape[:2]):
        flat = columns[lead].astype(np.float64).reshape(math.prod(case.sizes), -1)
        exact[lead] = fold(flat, size, kernel, case.rates, begins_then_ends, case.strides)
    attributes = {"dilation": case.rates, "padding": case.pads, "stride": case.strides}
    wide = columns.reshape(len(columns), -1, math.prod(case.windows))
    for late in (False, True):
        found = run("Col2ImV2", [wide, size, kernel], attributes, known=[1, 2], late=late)[0]
        close(found, exact, units=4, floor=1)
    narrow = columns.reshape(*columns.shape[:2], math.prod(case.sizes), -1)
    found = run("Col2im", [narrow, size], attributes | {"kernel_size": case.sizes}, known=[1])[0]
    close(found, exact, units=4, floor=1)


@settings(deadline=None, max_examples=25)
@given(
    case=cases(), dtype=st.sampled_from([SINGLE, HALF, np.dtype(np.int16)]), layout=st.sampled_from(["NCHW", "NHWC"])
)
def test_dilation(run: Run, close: Close, case: Case, dtype: np.dtype[Any], layout: str) -> None:
    """The largest sum with the filter; padding never is it."""
    case = case._replace(x=case.x.astype(dtype), pads=(0, 0, 0, 0))
    filters = np.random.default_rng(1).uniform(-5, 5, (case.x.shape[1], *case.sizes)).astype(dtype)
    exact = np.empty((*case.x.shape[:2], *case.windows))
    for image, channel, row, column in np.ndindex(exact.shape):
        exact[image, channel, row, column] = max(
            case.at(image, channel, case.place((row, column), tap)) + float(filters[(channel, *tap)])
            for tap in np.ndindex(*case.sizes)
        )
    first = layout == "NCHW"
    attributes = {
        "strides": (1, 1, *case.strides) if first else (1, *case.strides, 1),
        "rates": (1, 1, *case.rates) if first else (1, *case.rates, 1),
        "padding_mode": "VALID",
        "data_format": layout,
    }
    arrays = [case.x, filters] if first else [np.moveaxis(case.x, 1, -1), np.moveaxis(filters, 0, -1)]
    found = run("Dilation2D", arrays, attributes)[0]
    close(found if first else np.moveaxis(found, -1, 1), exact, units=4, floor=1)


@settings(deadline=None, max_examples=20)
@given(case=cases(), dtype=st.sampled_from([SINGLE, HALF, np.dtype(np.int16)]))
def test_gradients_of_dilation(run: Run, close: Close, case: Case, dtype: np.dtype[Any]) -> None:
    """Each gradient goes to the first largest sum's elements, of x and of the filter."""
    random = np.random.default_rng(1)
    x = random.integers(-2, 3, case.x.shape).astype(dtype)
    filters = random.integers(-2, 3, (x.shape[1], *case.sizes)).astype(dtype)
    case = case._replace(x=x)
    outer = random.integers(-4, 5, (*x.shape[:2], *case.windows)).astype(dtype)
    inner, gradient = np.zeros(x.shape), np.zeros(filters.shape)
    for image, channel, row, column in np.ndindex(outer.shape):
        sums = {tap: case.at(image, channel, case.place((row, column), tap), -99) + float(filters[(channel, *tap)])
                for tap in np.ndindex(*case.sizes)}  # fmt: skip
        best = next(tap for tap, total in sums.items() if total == max(sums.values()))
        place = case.place((row, column), best)
        if max(sums.values()) > -90:
            inner[(image, channel, *place)] += float(outer[image, channel, row, column])
            gradient[(channel, *best)] += float(outer[image, channel, row, column])
    attributes: dict[str, Any] = {"strides": (1, 1, *case.strides), "rates": (1, 1, *case.rates), "pads": case.pads}
    attributes |= {"padding_mode": "CALCULATED", "data_format": "NCHW"}
    close(run("Dilation2DBackpropInput", [x, filters, outer], attributes)[0], inner)
    close(run("Dilation2DBackpropFilter", [x, filters, outer], attributes)[0], gradient)
    with pytest.raises(InvalidArgument, match="out_backprop"):
        run("Dilation2DBackpropInput", [x, filters, outer[:1]], attributes)


def test_dilation_with_padding(run: Run) -> None:
    """An element outside is the least there is, so that negative numbers win over it."""
    x, filters = np.full((1, 2, 2, 1), -7, np.int8), np.zeros((3, 3, 1), np.int8)
    attributes = {"strides": (1, 1, 1, 1), "rates": (1, 1, 1, 1)}
    np.testing.assert_array_equal(run("Dilation2D", [x, filters], attributes)[0], x)


def _bilinear(case: Case, image: int, channel: int, row: float, column: float) -> float:
    top, left = math.floor(row), math.floor(column)
    return sum(
        (1 - abs(row - i)) * (1 - abs(column - j)) * case.at(image, channel, (i, j))
        for i in (top, top + 1)
        for j in (left, left + 1)
    )


@settings(deadline=None, max_examples=15)
@given(case=cases(), modulated=st.booleans(), parts=st.integers(1, 2), layout=st.sampled_from(["NCHW", "NHWC"]))
def test_deformable(run: Run, close: Close, case: Case, modulated: bool, parts: int, layout: str) -> None:
    """Each element of each window moves by its own row and column and is weighted by its own mask."""
    random = np.random.default_rng(4)
    x = np.concatenate([case.x, -case.x], 1).astype(np.float32) / 9
    case = case._replace(x=x)
    filters, bias = (random.uniform(-1, 1, shape).astype(np.float32) for shape in ((3, x.shape[1], *case.sizes), 3))
    moves = random.uniform(-2.5, 2.5, (2, 3 if modulated else 2, parts, *case.sizes, *case.windows)).astype(np.float32)
    exact = np.empty((2, 3, *case.windows))
    for image, result, row, column in np.ndindex(exact.shape):
        total = float(bias[result])
        for channel, i, j in np.ndindex(filters.shape[1:]):
            part = channel // (x.shape[1] // parts)
            right, down, *mask = (float(value) for value in moves[image, :, part, i, j, row, column])
            place = case.place((row, column), (i, j))
            value = _bilinear(case, image, channel, place[0] + down, place[1] + right)
            total += value * (mask[0] if mask else 1) * float(filters[result, channel, i, j])
        exact[image, result, row, column] = total
    arrays: list[Array] = [x, filters, moves.reshape(2, -1, *case.windows)]
    attributes = {"strides": (1, 1, *case.strides), "dilations": (1, 1, *case.rates), "data_format": "NCHW"}
    if layout == "NHWC":
        arrays = [arrays[0].transpose(0, 2, 3, 1), filters.transpose(2, 3, 1, 0), arrays[2].transpose(0, 2, 3, 1)]
        attributes = {"strides": (1, *case.strides, 1), "dilations": (1, *case.rates, 1), "data_format": "NHWC"}
    settings_ = {"pads": case.pads, "modulated": modulated, "deformable_groups": parts}
    found = run("DeformableConv2D", [*arrays, bias], attributes | settings_)[0]
    close(found if layout == "NCHW" else np.moveaxis(found, -1, 1), exact, units=64, floor=1)


def test_no_elements(run: Run) -> None:
    """A batch of nothing gives nothing."""
    x = np.ones((0, 2, 4, 4), np.float32)
    assert run("Im2col", [x], {"ksizes": (2, 2)})[0].shape == (0, 8, 3, 3)
    filters, offsets = np.ones((3, 2, 2, 2), np.float32), np.ones((0, 12, 3, 3), np.float32)
    attributes = {"strides": (1, 1, 1, 1), "pads": (0, 0, 0, 0), "data_format": "NCHW"}
    assert run("DeformableConv2D", [x, filters, offsets], attributes)[0].shape == (0, 3, 3, 3)
    columns, size = np.ones((0, 2, 4, 9), np.float32), np.array((4, 4), np.int32)
    attributes = {"kernel_size": (2, 2), "dilation": (1, 1), "padding": (0, 0), "stride": (1, 1)}
    assert run("Col2im", [columns, size], attributes, known=[1])[0].shape == x.shape


def test_free_dims() -> None:
    """Columns of unknown number still have known channels; an unknown output size leaves H and W free."""
    schema = schema_of("Col2ImV2")
    complete = schema.complete({"dilation": (1, 1), "padding": (0, 0), "stride": (1, 1)})
    x, size = TensorDesc.of(np.float32, (-1, 8, -1)), TensorDesc.of(np.int32, (2,))
    kernel = TensorDesc.of(np.int32, (2,), value=np.array((2, 2), np.int32))
    (out,) = infer_outputs(schema, [x, size, kernel], complete)
    assert out.shape == (-1, 2, -1, -1)
    known = TensorDesc.of(np.int32, (2,), value=np.array((5, 6), np.int32))
    (out,) = infer_outputs(schema, [x, known, kernel], complete)
    assert out.shape == (-1, 2, 5, 6)


@pytest.mark.parametrize(
    ("shape", "size", "text"),
    [
        ((1, 2, 4, 8), (4, 4), "has 8 columns"),
        ((1, 2, 3, 9), (4, 4), r"2 \* 2 elements in dim 2"),
        ((1, 2, 4, 9), (4, 0), "output_size"),
        ((2, 4, 9), (4, 4), "must have 4 dims"),
    ],
)
def test_bad_columns(run: Run, shape: tuple[int, ...], size: tuple[int, int], text: str) -> None:
    """One error that names what does not fit."""
    attributes = {"kernel_size": (2, 2), "dilation": (1, 1), "padding": (0, 0), "stride": (1, 1)}
    with pytest.raises(InvalidArgument, match=text):
        run("Col2im", [np.ones(shape, np.float32), np.array(size, np.int32)], attributes, known=[1])


def test_bad_offsets(run: Run) -> None:
    """Offsets must have parts for each element of each window, and groups must share the channels equally."""
    x, filters = np.ones((1, 3, 4, 4), np.float32), np.ones((2, 3, 2, 2), np.float32)
    attributes: dict[str, Any] = {"strides": (1, 1, 1, 1), "pads": (0, 0, 0, 0), "data_format": "NCHW"}
    with pytest.raises(InvalidArgument, match=r"must have shape \(1, 12, 3, 3\)"):
        run("DeformableConv2D", [x, filters, np.ones((1, 8, 3, 3), np.float32)], attributes)
    with pytest.raises(InvalidArgument, match="2 deformable groups do not share 3 channels"):
        run("DeformableConv2D", [x, filters, np.ones((1, 24, 3, 3), np.float32)], attributes | {"deformable_groups": 2})
