"""Activations that cut an axis in halves, against their definitions one element at a time."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from aacl.abc import Array
from aacl.errors import InvalidArgument
from aacl.ops._catalogue import schema_of
from aacl.ops._infer import infer_outputs
from aacl.tensors._desc import TensorDesc

Run = Callable[..., list[Array]]
Close = Callable[..., None]
HALVES = [np.dtype(np.float32), np.dtype(np.float16), np.dtype(ml_dtypes.bfloat16)]


def _sigmoid(x: float) -> float:
    return 1 / (1 + math.exp(-x))


def _gelu(x: float) -> float:
    return x * 0.5 * math.erfc(-x / math.sqrt(2))


def _gelu_tanh(x: float) -> float:
    return 0.5 * x * (1 + math.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))


def _pairs(x: Array, axis: int, function: Callable[[float, float], float]) -> Array:
    first, second = np.split(x.astype(np.float64), 2, axis)
    return np.array([function(*pair) for pair in zip(first.flat, second.flat, strict=True)]).reshape(first.shape)


@pytest.mark.parametrize("dtype", HALVES, ids=str)
@pytest.mark.parametrize(("shape", "axis"), [((2, 6), -1), ((4, 3, 2), 0), ((2, 4, 5), 1), ((2, 0), 1), ((0, 4), 1)])
def test_values(run: Run, close: Close, shape: tuple[int, ...], axis: int, dtype: Any) -> None:
    """Along any axis, in float32 at least."""
    x = np.random.default_rng(1).uniform(-4, 4, shape).astype(dtype)
    if dtype != HALVES[2]:
        close(run("GLU", [x], {"dim": axis})[0], _pairs(x, axis, lambda a, b: a * _sigmoid(b)), units=4)
    close(run("SwiGlu", [x], {"dim": axis})[0], _pairs(x, axis, lambda a, b: a * _sigmoid(a) * b), units=4)
    for approximate, gelu in ((0, _gelu), (1, _gelu_tanh)):
        activated = np.array([gelu(value) for value in x.astype(np.float64).ravel().tolist()]).reshape(shape)
        for left in (False, True):
            attributes = {"dim": axis, "approximate": approximate, "activate_left": left}
            out, gate = run("GeGluV2", [x], attributes)
            halves = np.split(x.astype(np.float64), 2, axis)
            wanted = np.split(activated, 2, axis)[0 if left else 1]
            close(gate, wanted, units=8, floor=2)
            close(out, wanted * halves[1 if left else 0], units=8, floor=4)


def test_bad_input(run: Run) -> None:
    """An odd axis, one that there is not, a form that there is not, a gradient of another shape."""
    x = np.ones((2, 3), np.float32)
    with pytest.raises(InvalidArgument, match=r"axis 1 of input x of shape \(2, 3\) is cut in halves"):
        run("GLU", [x])
    with pytest.raises(InvalidArgument, match="dim 2 lies outside"):
        run("SwiGlu", [x], {"dim": 2})
    with pytest.raises(InvalidArgument, match="approximate is 2"):
        run("GeGluV2", [x], {"dim": 0, "approximate": 2})
    with pytest.raises(InvalidArgument, match="the shape of half the second one"):
        run("GLUGrad", [x, x], {"dim": 0})


def test_shapes_that_are_not_known() -> None:
    """Half of a range, rounded so that an odd size is not counted."""
    schema = schema_of("SwiGlu")
    ranged = TensorDesc.of(np.float32, (3, -1), ranges=((3, 3), (3, 9)))

    assert infer_outputs(schema, [ranged], {"dim": -1})[0].ranges == ((3, 3), (2, 4))
    assert infer_outputs(schema, [TensorDesc.of(np.float32, (-1, 4))], {"dim": 0})[0].shape == (-1, 4)
    assert infer_outputs(schema, [TensorDesc.of(np.float32, (-2,))], {"dim": 0})[0].shape == (-2,)
