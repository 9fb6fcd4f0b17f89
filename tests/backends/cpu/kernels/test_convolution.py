"""Convolutions, their transposes and gradients, against loops written from their definition."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aacl.abc import Array, KernelRequest
from aacl.backends.cpu.kernels import find
from aacl.dtypes import DataType, Format
from aacl.errors import InvalidArgument, NotSupported, UnsupportedDataType
from aacl.ops import schema_of
from aacl.ops._infer import infer_outputs
from aacl.tensors._desc import TensorDesc

Run = Callable[..., list[Array]]
Close = Callable[..., None]
BF16 = np.dtype(ml_dtypes.bfloat16)
HALF, SINGLE, DOUBLE = np.dtype(np.float16), np.dtype(np.float32), np.dtype(np.float64)


class Case(NamedTuple):
    """A convolution; arrays are in the order N, C, spatial axes."""

    x: Array
    filters: Array
    strides: tuple[int, ...]
    dilations: tuple[int, ...]
    pads: tuple[int, ...]
    groups: int

    @property
    def attributes(self) -> dict[str, Any]:
        count = len(self.strides)
        return {
            "strides": (1, 1, *self.strides),
            "dilations": (1, 1, *self.dilations),
            "pads": self.pads,
            "groups": self.groups,
            "data_format": "NCHW" if count == 2 else "NCDHW",
        }


def _windows(case: Case) -> tuple[tuple[int, ...], Callable[[tuple[int, ...]], tuple[slice, ...]]]:
    """Return how many windows there are, and where one lies in the padded input."""
    sizes, befores, afters = case.filters.shape[2:], case.pads[::2], case.pads[1::2]
    extents = [(size - 1) * rate + 1 for size, rate in zip(sizes, case.dilations, strict=True)]
    counts = tuple(
        (length + before + after - extent) // stride + 1
        for length, before, after, extent, stride in zip(
            case.x.shape[2:], befores, afters, extents, case.strides, strict=True
        )
    )

    def place(position: tuple[int, ...]) -> tuple[slice, ...]:
        return tuple(
            slice(index * stride, index * stride + extent, rate)
            for index, stride, extent, rate in zip(position, case.strides, extents, case.dilations, strict=True)
        )

    return counts, place


def _padded(case: Case) -> Array:
    around = [(0, 0), (0, 0), *zip(case.pads[::2], case.pads[1::2], strict=True)]
    return np.pad(case.x.astype(np.float64), around)


def _each(case: Case) -> Any:
    """Yield each output channel's group, filter and windows: what a convolution is made of."""
    counts, place = _windows(case)
    part, share = case.filters.shape[1], case.filters.shape[0] // case.groups
    for image, channel in np.ndindex(len(case.x), len(case.filters)):
        inputs = slice(channel // share * part, (channel // share + 1) * part)
        for position in np.ndindex(*counts):
            yield (image, channel, *position), (image, inputs, *place(position)), channel


def _forward(case: Case) -> Array:
    padded, filters = _padded(case), case.filters.astype(np.float64)
    out = np.zeros((len(case.x), len(filters), *_windows(case)[0]))
    for target, source, channel in _each(case):
        out[target] = (padded[source] * filters[channel]).sum()
    return out


def _backward(case: Case, outer: Array) -> tuple[Array, Array]:
    """Return the gradients of the input and of the filters."""
    padded, filters = _padded(case), case.filters.astype(np.float64)
    inner, gradient = np.zeros(padded.shape), np.zeros(filters.shape)
    for target, source, channel in _each(case):
        inner[source] += float(outer[target]) * filters[channel]
        gradient[channel] += float(outer[target]) * padded[source]
    crop: Any = tuple(slice(start, start + size) for start, size in zip(case.pads[::2], case.x.shape[2:], strict=True))
    return inner[(slice(None), slice(None), *crop)], gradient


@st.composite
def cases(draw: st.DrawFn, spatial: int = 2) -> Case:
    """Small convolutions in which a window fits."""
    groups, part, share = draw(st.integers(1, 2)), draw(st.integers(1, 2)), draw(st.integers(1, 2))
    sizes, strides, dilations, lengths, pads = [], [], [], [], []
    for _ in range(spatial):
        sizes.append(draw(st.integers(1, 3)))
        strides.append(draw(st.integers(1, 3)))
        dilations.append(draw(st.integers(1, 2)))
        pads += [draw(st.integers(0, 2)), draw(st.integers(0, 2))]
        lengths.append((sizes[-1] - 1) * dilations[-1] + 1 + draw(st.integers(0, 3)))
    random = np.random.default_rng(draw(st.integers(0, 99)))
    x = random.uniform(-1, 1, (draw(st.integers(1, 2)), groups * part, *lengths))
    filters = random.uniform(-1, 1, (groups * share, part, *sizes))
    return Case(x, filters, tuple(strides), tuple(dilations), tuple(pads), groups)


def _typed(case: Case, dtype: np.dtype[Any]) -> Case:
    return case._replace(x=case.x.astype(dtype), filters=case.filters.astype(dtype))


@settings(deadline=None, max_examples=40)
@given(case=cases(), dtype=st.sampled_from([SINGLE, HALF, BF16]), has_bias=st.booleans())
def test_conv2d(run: Run, close: Close, case: Case, dtype: np.dtype[Any], has_bias: bool) -> None:
    """Strides, dilations, uneven paddings, groups and bias, in each float dtype, in both layouts."""
    case = _typed(case, dtype)
    bias = np.linspace(-1, 1, len(case.filters)).astype(np.float32) if has_bias else None
    exact = _forward(case) + (0 if bias is None else bias.astype(np.float64).reshape(-1, 1, 1))

    found = run("Conv2D", [case.x, case.filters, bias], case.attributes)[0]
    close(found, exact, units=8, floor=1)
    last = {**case.attributes, "data_format": "NHWC"}
    last |= {name: (1, *getattr(case, name), 1) for name in ("strides", "dilations")}
    other = run("Conv2D", [case.x.transpose(0, 2, 3, 1), case.filters.transpose(2, 3, 1, 0), bias], last)[0]
    close(other, exact.transpose(0, 2, 3, 1), units=8, floor=1)


@settings(deadline=None, max_examples=12)
@given(case=cases(spatial=3), dtype=st.sampled_from([HALF, BF16]))
def test_conv3d(run: Run, close: Close, case: Case, dtype: np.dtype[Any]) -> None:
    """Three spatial axes, in both layouts: NDHWC with filters DHWCN, NCDHW with filters like it."""
    case = _typed(case, dtype)
    exact = _forward(case)
    close(run("Conv3D", [case.x, case.filters], case.attributes)[0], exact, units=8, floor=1)
    last = {**case.attributes, "data_format": "NDHWC"}
    last |= {name: (1, *getattr(case, name), 1) for name in ("strides", "dilations")}
    arrays = [case.x.transpose(0, 2, 3, 4, 1), case.filters.transpose(2, 3, 4, 1, 0)]
    close(run("Conv3D", arrays, last)[0], exact.transpose(0, 2, 3, 4, 1), units=8, floor=1)


@pytest.mark.parametrize("channels", [2, 300])
def test_int8_is_exact(run: Run, channels: int) -> None:
    """INT8 gives INT32, every sum exact, few channels or many, with a bias beyond what float32 holds."""
    random = np.random.default_rng(3)
    x, filters = (random.integers(-128, 128, shape).astype(np.int8)
                  for shape in ((1, channels, 4, 4), (3, channels, 2, 2)))  # fmt: skip
    x[0, :, 0, 0] = filters[0, :, 0, 0] = -128
    bias = np.array([2**30 + 1, -5, 0], np.int32)
    case = Case(x, filters, (1, 1), (1, 1), (0, 0, 0, 0), 1)
    exact = _forward(case).astype(np.int64) + bias.reshape(-1, 1, 1)
    found = run("Conv2D", [x, filters, bias], case.attributes)[0]
    assert found.dtype == np.int32
    np.testing.assert_array_equal(found, exact)


@pytest.mark.parametrize("form", ["HWCK", "KCHW", "flat"])
def test_depthwise(run: Run, close: Close, form: str) -> None:
    """Channel ``c * K + k`` is channel c under filter ``(:, :, c, k)``; a filter may come in three forms."""
    random = np.random.default_rng(4)
    x, filters = random.uniform(-1, 1, (2, 3, 5, 6)).astype(HALF), random.uniform(-1, 1, (2, 3, 3, 2)).astype(HALF)
    attributes = {"strides": (1, 1, 2, 1), "pads": (1, 0, 1, 1), "data_format": "NCHW"}
    flat = filters.transpose(2, 3, 0, 1).reshape(6, 1, 2, 3)
    exact = _forward(Case(x, flat, (2, 1), (1, 1), (1, 0, 1, 1), 3))
    if form == "HWCK":
        attributes |= {"data_format": "NHWC", "strides": (1, 2, 1, 1)}
        found = run("DepthwiseConv2D", [x.transpose(0, 2, 3, 1), filters], attributes)[0].transpose(0, 3, 1, 2)
    else:
        given_filter = flat if form == "flat" else filters.transpose(3, 2, 0, 1)
        found = run("DepthwiseConv2D", [x, given_filter], attributes)[0]
    close(found, exact, units=8, floor=1)


@settings(deadline=None, max_examples=25)
@given(case=cases(), dtype=st.sampled_from([SINGLE, DOUBLE, HALF]))
def test_gradients(run: Run, close: Close, case: Case, dtype: np.dtype[Any]) -> None:
    """Of the input and of the filters, in both layouts; what no window reaches is 0."""
    case = _typed(case, dtype)
    outer = np.random.default_rng(1).uniform(-1, 1, _forward(case).shape).astype(dtype)
    inner, filters = _backward(case, outer)
    size, kernel = (np.array(array.shape, np.int32) for array in (case.x, case.filters))
    attributes = case.attributes
    if dtype == HALF:
        found = run("Conv2DBackpropInputD", [case.filters, outer], attributes | {"input_size": case.x.shape})[0]
        close(found, inner, units=16, floor=1)
        found = run("Conv2DBackpropFilterD", [case.x, outer], attributes | {"filter_size": case.filters.shape})[0]
        assert found.dtype == np.float32
        close(found, filters, units=64, floor=4)

    found = run("Conv2DBackpropInput", [size, case.filters, outer], attributes, known=[0])[0]
    close(found, inner, units=16, floor=1)
    found = run("Conv2DBackpropFilter", [case.x, kernel, outer], attributes, known=[1])[0]
    close(found, filters, units=16, floor=4)
    last = {**attributes, "data_format": "NHWC"}
    last |= {name: (1, *getattr(case, name), 1) for name in ("strides", "dilations")}
    x, turned, behind = (case.x.transpose(0, 2, 3, 1), case.filters.transpose(2, 3, 1, 0), outer.transpose(0, 2, 3, 1))
    size, kernel = np.array(x.shape, np.int32), np.array(turned.shape, np.int32)
    found = run("Conv2DBackpropInput", [size, turned, behind], last, known=[0])[0]
    close(found, inner.transpose(0, 2, 3, 1), units=16, floor=1)
    found = run("Conv2DBackpropFilter", [x, kernel, behind], last, known=[1])[0]
    close(found, filters.transpose(2, 3, 1, 0), units=16, floor=4)


def test_gradients_of_three_axes(run: Run, close: Close) -> None:
    """Shapes come as inputs; in the D variants as attributes, and a gradient of filters is FLOAT there."""
    random = np.random.default_rng(8)
    x, filters = random.uniform(-1, 1, (2, 4, 4, 3, 5)), random.uniform(-1, 1, (4, 2, 2, 2, 3))
    case = _typed(Case(x, filters, (2, 1, 1), (1, 1, 2), (0, 1, 1, 0, 1, 1), 2), HALF)
    outer = random.uniform(-1, 1, _forward(case).shape).astype(HALF)
    inner, gradient = _backward(case, outer)
    attributes = case.attributes
    sizes = [np.array(shape, np.int32) for shape in (x.shape, filters.shape)]
    for late in (False, True):
        found = run("Conv3DBackpropInput", [sizes[0], case.filters, outer], attributes, known=[0], late=late)[0]
        close(found, inner, units=8, floor=1)
        found = run("Conv3DBackpropFilter", [case.x, sizes[1], outer], attributes, known=[1], late=late)[0]
        close(found, gradient, units=8, floor=4)
    found = run("Conv3DBackpropInputD", [case.filters, outer], attributes | {"input_size": x.shape})[0]
    close(found, inner, units=8, floor=1)
    found = run("Conv3DBackpropFilterD", [case.x, outer], attributes | {"filter_size": filters.shape})[0]
    assert found.dtype == np.float32
    close(found, gradient, units=64, floor=4)


def test_gradients_of_depthwise(run: Run, close: Close) -> None:
    """The filter's layout is ``(kh, kw, C, K)``."""
    random = np.random.default_rng(9)
    x, filters = random.uniform(-1, 1, (2, 4, 5, 3)).astype(HALF), random.uniform(-1, 1, (2, 2, 3, 2)).astype(HALF)
    flat = filters.transpose(2, 3, 0, 1).reshape(6, 1, 2, 2)
    case = Case(x.transpose(0, 3, 1, 2), flat, (1, 2), (1, 1), (0, 1, 0, 0), 3)
    outer = random.uniform(-1, 1, _forward(case).shape).astype(HALF)
    inner, gradient = _backward(case, outer)
    attributes = {"strides": (1, 1, 2, 1), "pads": case.pads, "data_format": "NHWC"}
    behind = outer.transpose(0, 2, 3, 1)
    size, kernel = (np.array(shape, np.int32) for shape in (x.shape, filters.shape))
    found = run("DepthwiseConv2DBackpropInput", [size, filters, behind], attributes, known=[0])[0]
    close(found, inner.transpose(0, 2, 3, 1), units=8, floor=1)
    found = run("DepthwiseConv2DBackpropFilter", [x, kernel, behind], attributes, known=[1])[0]
    close(found, gradient.reshape(3, 2, 2, 2).transpose(2, 3, 0, 1), units=64, floor=4)
    found = run("DepthwiseConv2DBackpropInputD", [filters, behind], attributes | {"input_size": x.shape})[0]
    close(found, inner.transpose(0, 2, 3, 1), units=8, floor=1)
    found = run("DepthwiseConv2DBackpropFilterD", [x, behind], attributes | {"filter_size": filters.shape})[0]
    close(found, gradient.reshape(3, 2, 2, 2).transpose(2, 3, 0, 1), units=64, floor=4)


@settings(deadline=None, max_examples=20)
@given(case=cases(), has_bias=st.booleans())
def test_transposed(run: Run, close: Close, case: Case, has_bias: bool) -> None:
    """A transposed convolution gives what the convolution would hand back, plus the bias."""
    case = _typed(case, HALF)
    outer = np.random.default_rng(1).uniform(-1, 1, _forward(case).shape).astype(HALF)
    bias = np.linspace(-1, 1, case.x.shape[1]).astype(HALF) if has_bias else None
    exact = _backward(case, outer)[0] + (0 if bias is None else bias.astype(np.float64).reshape(-1, 1, 1))
    size = np.array(case.x.shape, np.int64)
    found = run("Conv2DTranspose", [size, outer, case.filters, bias], case.attributes, known=[0])[0]
    close(found, exact, units=8, floor=1)
    found = run("Conv2DTransposeD", [outer, case.filters, bias], case.attributes | {"input_size": case.x.shape})[0]
    close(found, exact, units=8, floor=1)


@settings(deadline=None, max_examples=8)
@given(case=cases(spatial=3), dtype=st.sampled_from([HALF, BF16]))
def test_transposed_of_three_axes(run: Run, close: Close, case: Case, dtype: np.dtype[Any]) -> None:
    """As with two; without a bias, which the device does not take there."""
    case = _typed(case, dtype)
    outer = np.random.default_rng(1).uniform(-1, 1, _forward(case).shape).astype(dtype)
    exact = _backward(case, outer)[0]
    size = np.array(case.x.shape, np.int32)
    found = run("Conv3DTranspose", [size, outer, case.filters], case.attributes, known=[0])[0]
    close(found, exact, units=8, floor=1)
    found = run("Conv3DTransposeD", [outer, case.filters], case.attributes | {"input_size": case.x.shape})[0]
    close(found, exact, units=8, floor=1)


def test_transposed_size_follows_from_padding(run: Run, close: Close) -> None:
    """Where input_size is all zeros, the output is ``(n - 1) * stride + extent - pads + output_padding``."""
    random = np.random.default_rng(2)
    x, filters = random.uniform(-1, 1, (1, 2, 3, 4)).astype(HALF), random.uniform(-1, 1, (2, 3, 3, 2)).astype(HALF)
    attributes = {"strides": (1, 1, 2, 3), "pads": (1, 0, 0, 1), "data_format": "NCHW"}
    attributes |= {"output_padding": (0, 0, 1, 2)}
    found = run("Conv2DTranspose", [np.zeros(4, np.int32), x, filters], attributes, known=[0])[0]
    assert found.shape == (1, 3, 2 * 2 + 3 - 1 + 1, 3 * 3 + 2 - 1 + 2)
    case = Case(np.zeros(found.shape), filters, (2, 3), (1, 1), (1, 0, 0, 1), 1)
    close(found, _backward(case, x)[0], units=8, floor=1)


def test_deconvolution_int8(run: Run) -> None:
    """Exact; two strides, filters of ``(C of x, C of y, kh, kw)``."""
    random = np.random.default_rng(2)
    x, filters = (random.integers(-128, 128, shape).astype(np.int8) for shape in ((1, 2, 3, 2), (2, 3, 2, 2)))
    bias = np.array([2**31 - 1, 0, 7], np.int32)
    found = run("Deconvolution", [x, filters, bias], {"strides": (2, 1), "pads": (0, 1, 0, 0)})[0]
    case = Case(np.zeros(found.shape), filters, (2, 1), (1, 1), (0, 1, 0, 0), 1)
    exact = _backward(case, x)[0].astype(np.int64) + bias.reshape(-1, 1, 1)
    assert found.dtype == np.int32
    np.testing.assert_array_equal(found, exact.astype(np.int32))


@pytest.mark.parametrize("shape", [(0, 2, 4, 4), (1, 2, 0, 4)])
def test_no_elements(run: Run, shape: tuple[int, ...]) -> None:
    """A batch of nothing gives nothing, and windows in the padding alone give the bias."""
    attributes = {"strides": (1, 1, 1, 1), "pads": (1, 1, 1, 1), "data_format": "NCHW"}
    filters, bias = np.ones((3, 2, 2, 2), np.float32), np.array([1, 2, 3], np.float32)
    found = run("Conv2D", [np.ones(shape, np.float32), filters, bias], attributes)[0]
    assert found.shape == (shape[0], 3, shape[2] + 1, 5)
    if found.size:
        np.testing.assert_array_equal(found, np.broadcast_to(bias.reshape(1, 3, 1, 1), found.shape))


def _request(x: TensorDesc, filters: TensorDesc, **attributes: Any) -> KernelRequest:
    complete = schema_of("Conv2D").complete({"strides": (1, 1, 1, 1), "pads": (0, 0, 0, 0)} | attributes)
    outputs = infer_outputs(schema_of("Conv2D"), [x, filters], complete)
    return KernelRequest("Conv2D", (x, filters), outputs, complete)


@pytest.mark.parametrize("x_format", ["NCHW", "NHWC"])
@pytest.mark.parametrize("filter_format", ["NCHW", "HWCN", "NHWC"])
def test_formats_of_descriptions(close: Close, x_format: str, filter_format: str) -> None:
    """A description's format tells the layout, whatever data_format says; the output keeps x's."""
    random = np.random.default_rng(6)
    x, filters = random.uniform(-1, 1, (1, 2, 4, 5)).astype("f"), random.uniform(-1, 1, (3, 2, 2, 3)).astype("f")
    moved = [np.ascontiguousarray(array.transpose(["NCHW".index(letter) for letter in layout]))
             for array, layout in ((x, x_format), (filters, filter_format))]  # fmt: skip
    descs = [TensorDesc.of(array.dtype, array.shape, Format[name])
             for array, name in zip(moved, (x_format, filter_format), strict=True)]  # fmt: skip
    request = _request(*descs)
    assert request.outputs[0].format is Format[x_format]
    out = np.empty(request.outputs[0].shape, np.float32)
    find(request).body(*moved, out)
    exact = _forward(Case(x, filters, (1, 1), (1, 1), (0, 0, 0, 0), 1))
    close(out, exact.transpose(["NCHW".index(letter) for letter in x_format]), units=8, floor=1)


def test_known_filter(close: Close) -> None:
    """A filter whose contents are known beforehand is part of the graph, and gives the same."""
    random = np.random.default_rng(6)
    x, filters = random.uniform(-1, 1, (1, 8, 6, 6)).astype("f"), random.uniform(-1, 1, (16, 8, 3, 3)).astype("f")
    request = _request(
        TensorDesc.of(x.dtype, x.shape),
        TensorDesc.of(filters.dtype, filters.shape, value=filters),
        data_format="NCHW",
    )
    out = np.empty(request.outputs[0].shape, np.float32)
    find(request).body(x, filters, out)
    close(out, _forward(Case(x, filters, (1, 1), (1, 1), (0, 0, 0, 0), 1)), units=16, floor=1)


def test_free_dims() -> None:
    """Free dims stay free, ranges go through the windows' arithmetic, an unknown rank stays unknown."""
    filters = TensorDesc.of(np.float32, (8, 3, 3, 3))
    complete = schema_of("Conv2D").complete(
        {"strides": (1, 1, 2, 2), "pads": (1, 1, 1, 1), "data_format": "NCHW"}
    )  # fmt: skip
    x = TensorDesc.of(np.float32, (-1, 3, -1, 32), ranges=((1, 16), (3, 3), (8, 64), (32, 32)))
    (out,) = infer_outputs(schema_of("Conv2D"), [x, filters], complete)
    assert out.shape == (-1, 8, -1, 16)
    assert out.ranges == ((1, 16), (8, 8), (4, 32), (16, 16))
    (out,) = infer_outputs(schema_of("Conv2D"), [TensorDesc.of(np.float32, (-2,)), filters], complete)
    assert out.shape == (-2,)


GOOD: dict[str, Any] = {"strides": (1, 1, 1, 1), "pads": (0, 0, 0, 0), "data_format": "NCHW"}


@pytest.mark.parametrize(
    ("x", "filters", "attributes", "text"),
    [
        ((1, 3, 4, 4), (2, 2, 3, 3), {}, "3 channels meet 1 groups of filters of 2"),
        ((1, 4, 4, 4), (3, 2, 3, 3), {"groups": 2}, "2 groups do not share the 3 filters"),
        ((1, 2, 4, 4), (2, 2, 5, 3), {}, "a window of 5 along H does not fit"),
        ((1, 2, 4), (2, 2, 3, 3), {}, "must have 4 dims"),
        ((1, 2, 4, 4), (2, 2, 3), {}, "must have 4 dims"),
        ((1, 2, 4, 4), (2, 2, 0, 3), {}, "no elements along H"),
        ((1, 2, 4, 4), (2, 2, 3, 3), {"strides": (1, 1, 0, 1)}, "strides"),
        ((1, 2, 4, 4), (2, 2, 3, 3), {"strides": (1, 1, 1)}, "strides"),
        ((1, 2, 4, 4), (2, 2, 3, 3), {"pads": (0, -1, 0, 0)}, "pads"),
        ((1, 2, 4, 4), (2, 2, 3, 3), {"pads": (0, 1, 1)}, "pads"),
        ((1, 2, 4, 4), (2, 2, 3, 3), {"groups": 0}, "groups"),
        ((1, 2, 4, 4), (2, 2, 3, 3), {"data_format": "NCWH"}, "layout NCWH"),
    ],
)
def test_bad_arguments(
    run: Run, x: Sequence[int], filters: Sequence[int], attributes: dict[str, Any], text: str
) -> None:
    """One error that names what does not fit."""
    with pytest.raises(InvalidArgument, match=text):
        run("Conv2D", [np.ones(x, np.float32), np.ones(filters, np.float32)], GOOD | attributes)


def test_bad_bias_offsets_and_dtypes(run: Run) -> None:
    """A bias of another length, quantisation offsets and mixed dtypes are refused."""
    x, filters = np.ones((1, 2, 4, 4), np.float32), np.ones((3, 2, 2, 2), np.float32)
    with pytest.raises(InvalidArgument, match="bias"):
        run("Conv2D", [x, filters, np.ones(2, np.float32)], GOOD)
    with pytest.raises(NotSupported, match="offset_x"):
        run("Conv2D", [x, filters], GOOD | {"offset_x": 1})
    with pytest.raises(UnsupportedDataType, match="must be equal"):
        run("Conv2D", [x, filters.astype(np.float16)], GOOD)


def test_bad_sizes_of_gradients(run: Run) -> None:
    """A size that no convolution maps to the gradient given is refused before anything runs."""
    filters, outer = np.ones((3, 2, 2, 2), np.float32), np.ones((1, 3, 4, 4), np.float32)
    for size in ((1, 2, 9, 5), (1, 3, 5, 5), (2, 2, 5, 5)):
        with pytest.raises(InvalidArgument, match="convolution"):
            run("Conv2DBackpropInput", [np.array(size, np.int32), filters, outer], GOOD, known=[0])
    with pytest.raises(InvalidArgument, match="4 numbers"):
        run("Conv2DBackpropInput", [np.array([1, 2, 5], np.int32), filters, outer], GOOD, known=[0])
    half = [array.astype(np.float16) for array in (outer, filters)]
    with pytest.raises(InvalidArgument, match="input_size"):
        run("Conv2DTranspose", [np.array([1, 2, 9, 5], np.int32), *half], GOOD, known=[0])
    assert DataType.FLOAT16.numpy_dtype == half[0].dtype
