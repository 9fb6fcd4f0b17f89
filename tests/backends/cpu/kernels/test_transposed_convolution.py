"""Transposed convolutions and deconvolutions, against loops written from the definition."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from aacl.abc import Array
from tests.helpers.convolutions import Case, backward, cases, forward, typed

Run = Callable[..., list[Array]]
Close = Callable[..., None]
BF16 = np.dtype(ml_dtypes.bfloat16)
HALF = np.dtype(np.float16)


@settings(deadline=None, max_examples=20)
@given(case=cases(), has_bias=st.booleans())
def test_transposed(run: Run, close: Close, case: Case, has_bias: bool) -> None:
    """A transposed convolution gives what the convolution would hand back, plus the bias."""
    case = typed(case, HALF)
    outer = np.random.default_rng(1).uniform(-1, 1, forward(case).shape).astype(HALF)
    bias = np.linspace(-1, 1, case.x.shape[1]).astype(HALF) if has_bias else None
    exact = backward(case, outer)[0] + (0 if bias is None else bias.astype(np.float64).reshape(-1, 1, 1))
    size = np.array(case.x.shape, np.int64)
    found = run("Conv2DTranspose", [size, outer, case.filters, bias], case.attributes, known=[0])[0]
    close(found, exact, units=8, floor=1)
    found = run("Conv2DTransposeD", [outer, case.filters, bias], case.attributes | {"input_size": case.x.shape})[0]
    close(found, exact, units=8, floor=1)


@settings(deadline=None, max_examples=8)
@given(case=cases(spatial=3), dtype=st.sampled_from([HALF, BF16]))
def test_transposed_of_three_axes(run: Run, close: Close, case: Case, dtype: np.dtype[Any]) -> None:
    """As with two; without a bias, which the device does not take there."""
    case = typed(case, dtype)
    outer = np.random.default_rng(1).uniform(-1, 1, forward(case).shape).astype(dtype)
    exact = backward(case, outer)[0]
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
    close(found, backward(case, x)[0], units=8, floor=1)


def test_deconvolution_int8(run: Run) -> None:
    """Exact; two strides, filters of ``(C of x, C of y, kh, kw)``."""
    random = np.random.default_rng(2)
    x, filters = (random.integers(-128, 128, shape).astype(np.int8) for shape in ((1, 2, 3, 2), (2, 3, 2, 2)))
    bias = np.array([2**31 - 1, 0, 7], np.int32)
    found = run("Deconvolution", [x, filters, bias], {"strides": (2, 1), "pads": (0, 1, 0, 0)})[0]
    case = Case(np.zeros(found.shape), filters, (2, 1), (1, 1), (0, 1, 0, 0), 1)
    exact = backward(case, x)[0].astype(np.int64) + bias.reshape(-1, 1, 1)
    assert found.dtype == np.int32
    np.testing.assert_array_equal(found, exact.astype(np.int32))
