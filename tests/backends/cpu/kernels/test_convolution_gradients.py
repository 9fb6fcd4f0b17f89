"""Gradients of convolutions by their inputs and filters, against loops written from the definition."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aacl.abc import Array
from aacl.dtypes import DataType
from aacl.errors import InvalidArgument
from tests.helpers.convolutions import GOOD, Case, backward, cases, forward, typed

Run = Callable[..., list[Array]]
Close = Callable[..., None]
HALF, SINGLE, DOUBLE = np.dtype(np.float16), np.dtype(np.float32), np.dtype(np.float64)


@settings(deadline=None, max_examples=25)
@given(case=cases(), dtype=st.sampled_from([SINGLE, DOUBLE, HALF]))
def test_gradients(run: Run, close: Close, case: Case, dtype: np.dtype[Any]) -> None:
    """Of the input and of the filters, in both layouts; what no window reaches is 0."""
    case = typed(case, dtype)
    outer = np.random.default_rng(1).uniform(-1, 1, forward(case).shape).astype(dtype)
    inner, filters = backward(case, outer)
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
    case = typed(Case(x, filters, (2, 1, 1), (1, 1, 2), (0, 1, 1, 0, 1, 1), 2), HALF)
    outer = random.uniform(-1, 1, forward(case).shape).astype(HALF)
    inner, gradient = backward(case, outer)
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
    outer = random.uniform(-1, 1, forward(case).shape).astype(HALF)
    inner, gradient = backward(case, outer)
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
