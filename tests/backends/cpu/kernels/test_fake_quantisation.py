"""Operators that quantise and dequantise at once, against TensorFlow's documented examples and rules."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aacl.abc import Array
from aacl.errors import InvalidArgument

Run = Callable[..., list[Array]]
Close = Callable[..., None]


def _f(values: Any) -> Array:
    """Return an array of float32."""
    return np.array(values, np.float32)


def _nudged(low: float, high: float, bits: int, narrow: bool) -> tuple[float, float, float]:
    """Return the limits moved so that 0 is a level, and the distance of levels."""
    least, most = (1 if narrow else 0), 2**bits - 1
    step = (high - low) / (most - least)
    zero = min(max(least - low / step, least), most)
    zero = math.floor(zero + 0.5)
    return (least - zero) * step, (most - zero) * step, step


def _level(x: float, limits: tuple[float, float, float]) -> float:
    least, most, step = limits
    return math.floor((min(max(x, least), most) - least) / step + 0.5) * step + least


_RANGES = st.sampled_from([(-6.0, 6.0), (-0.25, 1.5), (0.5, 3.0), (-4.0, -1.0)])


@settings(max_examples=25, deadline=None)
@given(limits=_RANGES, bits=st.integers(2, 10), narrow=st.booleans())
def test_levels(run: Run, limits: tuple[float, float], bits: int, narrow: bool) -> None:
    """Each element goes to the nearest level, and 0 stays 0, whether limits are attributes or inputs."""
    x = _f(np.random.default_rng(bits).uniform(-8, 8, (4, 5)))
    x[0, 0] = 0
    nudged = _nudged(*limits, bits, narrow)
    exact = np.array([_level(float(item), nudged) for item in x.flat]).reshape(x.shape)
    attributes = {"num_bits": bits, "narrow_range": narrow}
    low, high = map(_f, limits)
    (found,) = run("FakeQuantWithMinMaxArgs", [x], {**attributes, "min": limits[0], "max": limits[1]})

    # An element that lies half way between levels may go either way in float32.
    near = np.abs((np.clip(x, *nudged[:2]) - nudged[0]) / nudged[2] % 1 - 0.5) < 1e-3
    np.testing.assert_allclose(found[~near], exact[~near], rtol=1e-5, atol=1e-5)
    assert found[0, 0] == 0 if nudged[0] <= 0 <= nudged[1] else True
    assert run("FakeQuantWithMinMaxVars", [x, low, high], attributes)[0].tobytes() == found.tobytes()
    each = [np.full(5, limit, np.float32) for limit in limits]
    assert run("FakeQuantWithMinMaxVarsPerChannel", [x, *each], attributes)[0].tobytes() == found.tobytes()


def test_documented_nudges(run: Run) -> None:
    """Where both limits are above 0, the lower one becomes 0; below 0, the upper one."""
    x = _f([-9, 9])

    assert run("FakeQuantWithMinMaxArgs", [x], {"min": 1.0, "max": 5.0})[0].tolist() == [0, 4]
    assert run("FakeQuantWithMinMaxArgs", [x], {"min": -5.0, "max": -1.0})[0].tolist() == [-4, 0]


def test_channels(run: Run) -> None:
    """Each element of the last axis has limits of its own; 0 and 0 give 0, as TensorFlow does."""
    x = _f([[3, 3, 3], [-9, -9, -9]])
    low, high = _f([0, -1, 0]), _f([2.55, 1.55, 0])
    (found,) = run("FakeQuantWithMinMaxVarsPerChannel", [x, low, high])

    np.testing.assert_allclose(found, _f([[2.55, 1.55, 0], [0, -1, 0]]), rtol=1e-6)


def test_gradients(run: Run) -> None:
    """The gradient passes between the limits; outside it counts for the limit that was hit."""
    grad, x = _f([[1, 2, 3], [4, 5, 6]]), _f([[-3, 0, 9], [0.5, -7, 8]])
    (found,) = run("FakeQuantWithMinMaxArgsGradient", [grad, x], {"min": -1.0, "max": 1.0})
    assert found.tolist() == [[0, 2, 0], [4, 0, 0]]
    found, below, above = run("FakeQuantWithMinMaxVarsGradient", [grad, x, _f(-1), _f(1)])
    assert found.tolist() == [[0, 2, 0], [4, 0, 0]]
    assert (below.tolist(), above.tolist()) == (6, 9)
    limits = [_f([-1, -1, 0]), _f([1, 1, 0])]
    found, below, above = run("FakeQuantWithMinMaxVarsPerChannelGradient", [grad, x, *limits])

    assert (found.tolist(), below.tolist(), above.tolist()) == ([[0, 2, 3], [4, 0, 6]], [1, 5, 0], [0, 0, 0])


@pytest.mark.parametrize("dtype", [np.float32, np.float16])
def test_affine(run: Run, dtype: Any) -> None:
    """As torch.fake_quantize_per_channel_affine, with the mask of what was not limited."""
    x = np.array([[1.25, -700, 3], [5, 0.5, -0.25]], dtype)
    scale, zero = np.array([0.5, 0.25], dtype), np.array([3, -1], np.int32)
    y, mask = run("FakeQuantAffineCachemask", [x, scale, zero], {"axis": 0, "quant_min": -8, "quant_max": 7})
    exact = np.empty(x.shape)
    for place in np.ndindex(x.shape):
        step: int = round(float(x[place]) / float(scale[place[0]])) + int(zero[place[0]])
        exact[place] = (min(max(step, -8), 7) - zero[place[0]]) * float(scale[place[0]])
        assert mask[place] == (-8 <= step <= 7)

    assert y.tolist() == exact.tolist()


def test_bad_input(run: Run) -> None:
    """Limits, bits and channels that do not fit are named."""
    x = np.zeros((2, 3), np.float32)
    with pytest.raises(InvalidArgument, match=r"min 1.0 must lie below max 1.0"):
        run("FakeQuantWithMinMaxArgs", [x], {"min": 1.0, "max": 1.0})
    with pytest.raises(InvalidArgument, match="num_bits is 17; it lies between 2 and 16"):
        run("FakeQuantWithMinMaxVars", [x, _f(0), _f(1)], {"num_bits": 17})
    with pytest.raises(InvalidArgument, match="one limit for each element of the last axis"):
        run("FakeQuantWithMinMaxVarsPerChannel", [x, x[0, :2], x[0, :2]])
    with pytest.raises(InvalidArgument, match=r"input min of shape .* must have one element"):
        run("FakeQuantWithMinMaxVars", [x, x[0], x[0]])
    with pytest.raises(InvalidArgument, match="quant_min 3 lies above quant_max 2"):
        run("FakeQuantAffineCachemask", [x, x[0], x[0]], {"axis": 1, "quant_min": 3, "quant_max": 2})
