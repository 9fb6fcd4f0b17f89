"""Convolutions, against loops written from their definition."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aacl.abc import Array, KernelRequest
from aacl.backends.cpu.kernels import find
from aacl.dtypes import Format
from aacl.errors import InvalidArgument, NotSupported, UnsupportedDataType
from aacl.ops import schema_of
from aacl.ops._infer import infer_outputs
from aacl.tensors._desc import TensorDesc
from tests.helpers.convolutions import GOOD, Case, cases, forward, typed

Run = Callable[..., list[Array]]
Close = Callable[..., None]
BF16 = np.dtype(ml_dtypes.bfloat16)
HALF, SINGLE = np.dtype(np.float16), np.dtype(np.float32)


@settings(deadline=None, max_examples=40)
@given(case=cases(), dtype=st.sampled_from([SINGLE, HALF, BF16]), has_bias=st.booleans())
def test_conv2d(run: Run, close: Close, case: Case, dtype: np.dtype[Any], has_bias: bool) -> None:
    """Strides, dilations, uneven paddings, groups and bias, in each float dtype, in both layouts."""
    case = typed(case, dtype)
    bias = np.linspace(-1, 1, len(case.filters)).astype(np.float32) if has_bias else None
    exact = forward(case) + (0 if bias is None else bias.astype(np.float64).reshape(-1, 1, 1))

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
    case = typed(case, dtype)
    exact = forward(case)
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
    exact = forward(case).astype(np.int64) + bias.reshape(-1, 1, 1)
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
    exact = forward(Case(x, flat, (2, 1), (1, 1), (1, 0, 1, 1), 3))
    if form == "HWCK":
        attributes |= {"data_format": "NHWC", "strides": (1, 2, 1, 1)}
        found = run("DepthwiseConv2D", [x.transpose(0, 2, 3, 1), filters], attributes)[0].transpose(0, 3, 1, 2)
    else:
        given_filter = flat if form == "flat" else filters.transpose(3, 2, 0, 1)
        found = run("DepthwiseConv2D", [x, given_filter], attributes)[0]
    close(found, exact, units=8, floor=1)


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
    exact = forward(Case(x, filters, (1, 1), (1, 1), (0, 0, 0, 0), 1))
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
    close(out, forward(Case(x, filters, (1, 1), (1, 1), (0, 0, 0, 0), 1)), units=16, floor=1)


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
