"""Activations that compare with a threshold, against their definitions one element at a time."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aacl.abc import Array, KernelRequest
from aacl.backends.cpu.kernels import find
from aacl.dtypes import DataType, Format
from aacl.errors import InvalidArgument, UnsupportedDataType
from aacl.ops._catalogue import schema_of
from aacl.ops._infer import infer_outputs
from aacl.tensors._desc import TensorDesc

Run = Callable[..., list[Array]]
Close = Callable[..., None]
BF16 = np.dtype(ml_dtypes.bfloat16)
HALVES = [np.dtype(np.float32), np.dtype(np.float16), BF16]


def _hard(x: float, limit: float) -> float:
    return 0.0 if -limit <= x <= limit else x


def _shrink(x: float, limit: float, bias: float) -> float:
    return x + bias if x < -limit else x - bias if x > limit else x if math.isnan(x) else 0.0


Definition = Callable[[float], float]
_CASES: list[tuple[str, dict[str, float], Definition]] = [
    ("Threshold", {"threshold": 0.5}, lambda x: float(x > 0.5)),
    ("ThresholdV2D", {"threshold": 0.5, "value": -7.0}, lambda x: x if x > 0.5 else -7.0),
    ("ThresholdedRelu", {"alpha": 1.5}, lambda x: x if x > 1.5 else 0.0),
    ("HardShrink", {"lambd": 1.0}, lambda x: _hard(x, 1.0)),
    ("SoftShrink", {"lambd": 0.5}, lambda x: _shrink(x, 0.5, 0.5)),
    ("Shrink", {"lambd": 1.5, "bias": 0.25}, lambda x: _shrink(x, 1.5, 0.25)),
    ("Relu6D", {"scale": 0.5}, lambda x: min(max(x, 0.0), 3.0)),
]


@pytest.mark.parametrize("dtype", HALVES, ids=str)
@pytest.mark.parametrize(("op_type", "attributes", "definition"), _CASES, ids=[case[0] for case in _CASES])
def test_values(run: Run, close: Close, op_type: str, attributes: Any, definition: Definition, dtype: Any) -> None:
    """On both sides of the threshold and on it, apart and in place."""
    if dtype == BF16 and op_type in ("ThresholdedRelu", "Shrink"):
        with pytest.raises(UnsupportedDataType):
            run(op_type, [np.ones(1, BF16)], attributes)
        return
    x = np.concatenate([np.linspace(-4, 4, 33), [-0.0, np.inf, -np.inf]]).astype(dtype)
    (found,) = run(op_type, [x], attributes)

    close(found, [definition(float(value)) for value in x], units=1)
    assert run(op_type, [x], attributes, into=0)[0].tobytes() == found.tobytes()


@given(st.lists(st.integers(-128, 127), max_size=9), st.integers(-100, 100), st.integers(-100, 100))
@settings(max_examples=30, deadline=None)
def test_thresholds_of_integers(run: Run, values: list[int], threshold: int, value: int) -> None:
    """As an attribute and as a tensor, exactly."""
    x = np.array(values, np.int32)
    expected = [item if item > threshold else value for item in values]
    attributes = {"threshold": float(threshold), "value": float(value)}

    assert run("ThresholdV2D", [x], attributes)[0].tolist() == expected
    tensors = [np.array([number], np.int32) for number in (threshold, value)]
    assert run("ThresholdV2", [x, *tensors])[0].tolist() == expected
    assert run("ThresholdV2", [x, tensors[0], None])[0].tolist() == [i if i > threshold else 0 for i in values]


def test_large_integers_stay_exact(run: Run) -> None:
    """What float64 does not hold is kept."""
    big = np.array([2**60 + 1, -5], np.int64)

    assert run("ThresholdV2D", [big], {"threshold": 0.0, "value": 3.0})[0].tolist() == [2**60 + 1, 3]
    assert run("Relu6D", [np.array([2**60 + 1, -5, 4], np.int64)])[0].tolist() == [6, 0, 4]


def test_relu_with_mask(run: Run) -> None:
    """The mask has a bit an element, the first in the lowest bit, the last byte filled up with 0."""
    x = np.array([[1, -1, 2, 0, 3, -4, -5, 6, 7, -8], [-1] * 9 + [5]], np.float32)
    out, mask = run("ReluV2", [x])

    assert out.tolist() == np.where(x > 0, x, 0).tolist()
    expected = [[sum(int(v > 0) << bit for bit, v in enumerate(row[at : at + 8])) for at in (0, 8)] for row in x]
    assert (mask.dtype, mask.tolist()) == (np.dtype(np.uint8), expected)
    (back,) = run("ReluGradV2", [np.full_like(x, 9), mask])
    assert back.tolist() == np.where(x > 0, 9, 0).tolist()
    with pytest.raises(InvalidArgument, match="x is a scalar"):
        run("ReluV2", [np.float32(1)])
    with pytest.raises(InvalidArgument, match="eight to a byte"):
        run("ReluGradV2", [x, mask[:, :1]])


def _prelu(x: Array, weights: Array, axis: int) -> Array:
    out = x.astype(np.float64)
    for place in np.ndindex(*x.shape):
        if out[place] <= 0:
            out[place] *= float(weights[place[axis] if weights.size > 1 else 0])
    return out


@pytest.mark.parametrize("dtype", HALVES, ids=str)
@pytest.mark.parametrize("shape", [(3,), (2, 3), (2, 3, 4), (2, 3, 0), (2, 3, 2, 2)])
def test_prelu(run: Run, close: Close, shape: tuple[int, ...], dtype: Any) -> None:
    """A weight for all, or one a channel."""
    x = np.random.default_rng(1).normal(size=shape).astype(dtype)
    weights = np.array([0.5, -2, 0.25], dtype)
    axis = min(1, len(shape) - 1)

    close(run("PRelu", [x, weights])[0], _prelu(x, weights, axis), units=1)
    close(run("PRelu", [x, weights[:1]])[0], _prelu(x, weights[:1], axis), units=1)


def test_prelu_of_other_layouts(run: Run, close: Close) -> None:
    """A weight of x's rank broadcasts; NHWC has its channels last; what does not fit is refused."""
    x = np.random.default_rng(2).normal(size=(2, 3, 4)).astype(np.float32)
    spread = np.array([[[0.5, 1, 2, 3]]], np.float32)
    close(run("PRelu", [x, spread])[0], np.where(x > 0, x, x * spread), units=1)
    with pytest.raises(InvalidArgument, match="one value a channel, along axis 1"):
        run("PRelu", [x, spread.ravel()])
    with pytest.raises(InvalidArgument, match="broadcasts to x"):
        run("PRelu", [x[:1], x])
    schema = schema_of("PRelu")
    nhwc = TensorDesc.of(np.float32, (1, 2, 2, 4), Format.NHWC)
    assert infer_outputs(schema, [nhwc, TensorDesc.of(np.float32, (4,))], {})[0].shape == nhwc.shape
    assert infer_outputs(schema, [nhwc, TensorDesc.of(np.float32, (-2,))], {})[0].format is Format.NHWC
    weights, last = np.array([1, 2, 3, 4], np.float32), np.full((1, 2, 2, 4), -1, np.float32)
    request = KernelRequest("PRelu", (nhwc, TensorDesc.of(np.float32, (4,))), (nhwc,), {})
    out = np.empty_like(last)
    find(request).body(last, weights, out)
    assert out.tolist() == [[[[-1, -2, -3, -4]] * 2] * 2]


@given(st.integers(1, 3).flatmap(lambda rank: st.tuples(*[st.integers(1, 4)] * rank)), st.integers(-3, 2))
@settings(max_examples=30, deadline=None)
def test_hard_max(run: Run, shape: tuple[int, ...], axis: int) -> None:
    """1 at the first maximum of each row, else 0."""
    x = np.random.default_rng(3).integers(0, 3, shape).astype(np.float16)
    if not -len(shape) <= axis < len(shape):
        with pytest.raises(InvalidArgument, match=f"axis {axis} lies outside"):
            run("HardMax", [x], {"axis": axis})
        return
    (found,) = run("HardMax", [x], {"axis": axis})

    for row, marks in zip(np.moveaxis(x, axis, -1).reshape(-1, shape[axis]),
                          np.moveaxis(found, axis, -1).reshape(-1, shape[axis]), strict=True):  # fmt: skip
        assert marks.tolist() == [float(place == row.tolist().index(max(row))) for place in range(len(row))]


def test_bad_input(run: Run) -> None:
    """A negative limit, a value of another dtype, and a threshold of several elements."""
    x = np.ones(3, np.float32)
    with pytest.raises(InvalidArgument, match="lambd is -1"):
        run("HardShrink", [x], {"lambd": -1.0})
    with pytest.raises(InvalidArgument, match="scale is no number"):
        run("Relu6D", [np.ones(3, np.int64)], {"scale": float("nan")})
    with pytest.raises(UnsupportedDataType, match="must be equal"):
        run("ThresholdV2", [x, np.ones(1, np.float16), None])
    with pytest.raises(InvalidArgument, match="must hold one element"):
        run("ThresholdV2", [x, x, None])
    with pytest.raises(InvalidArgument, match="HardMax: x is a scalar"):
        run("HardMax", [np.float32(1)])


def test_masks_of_unknown_shapes() -> None:
    """Dims that are free stay free; the mask's last one follows its range."""
    schema = schema_of("ReluV2")
    ranged = TensorDesc.of(np.float32, (2, -1), ranges=((2, 2), (9, 17)))
    out, mask = infer_outputs(schema, [ranged], {})

    assert (out.shape, mask.dtype, mask.shape, mask.ranges) == ((2, -1), DataType.UINT8, (2, -1), ((2, 2), (2, 3)))
    assert infer_outputs(schema, [TensorDesc.of(np.float32, (-2,))], {})[1].shape == (-2,)
