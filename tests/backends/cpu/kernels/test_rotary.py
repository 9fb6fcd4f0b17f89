"""Rotary position embedding, element by element."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from aacl.abc import Array
from aacl.errors import InvalidArgument, NotSupported

Run = Callable[..., list[Array]]
Close = Callable[..., None]
BF16 = np.dtype(ml_dtypes.bfloat16)
DTYPES = [np.dtype(np.float32), np.dtype(np.float16), BF16]

# For each way to rotate eight elements, where the partner of each lies and its sign.
PARTNERS = {
    0: [(4, -1), (5, -1), (6, -1), (7, -1), (0, 1), (1, 1), (2, 1), (3, 1)],
    1: [(1, -1), (0, 1), (3, -1), (2, 1), (5, -1), (4, 1), (7, -1), (6, 1)],
    2: [(2, -1), (3, -1), (0, 1), (1, 1), (6, -1), (7, -1), (4, 1), (5, 1)],
}


def _inputs(dtype: np.dtype[Any], factor: tuple[int, ...] = (2, 3, 1, 8)) -> tuple[Array, Array, Array]:
    random = np.random.default_rng(4)
    x, cos, sin = (random.uniform(-1, 1, shape).astype(dtype) for shape in ((2, 3, 4, 8), factor, factor))
    return x, cos, sin


def _exact(x: Array, cos: Array, sin: Array, mode: int) -> Array:
    wide = [np.broadcast_to(item.astype(np.float64), x.shape) for item in (x, cos, sin)]
    found = np.empty(x.shape)
    for place in np.ndindex(x.shape):
        partner, sign = PARTNERS[mode][place[-1]]
        found[place] = wide[0][place] * wide[1][place] + sign * wide[0][(*place[:-1], partner)] * wide[2][place]
    return found


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("mode", [0, 1, 2])
def test_rotation(run: Run, close: Close, dtype: np.dtype[Any], mode: int) -> None:
    """Each element turns with its partner, by factors that broadcast."""
    inputs = _inputs(dtype)
    exact = _exact(*inputs, mode)

    close(run("RotaryPositionEmbedding", inputs, {"mode": mode})[0], exact, units=2, floor=1)
    if mode == 0:
        close(run("RotaryMul", inputs)[0], exact, units=2, floor=1)
        query, key = run("ApplyRotaryPosEmb", [inputs[0], inputs[0][:, :, :1], *inputs[1:]])
        close(query, exact, units=2, floor=1)
        close(key, exact[:, :, :1], units=2, floor=1)


@pytest.mark.parametrize("factor", [(2, 3, 1, 8), (1, 1, 4, 8), (8,)], ids=str)
@pytest.mark.parametrize("mode", [0, 1, 2])
def test_gradients(run: Run, mode: int, factor: tuple[int, ...]) -> None:
    """The operator is linear in each input: its gradient is what products with unit changes give."""
    inputs = _inputs(np.dtype(np.float32), factor)
    dy = np.random.default_rng(9).uniform(-1, 1, inputs[0].shape).astype(np.float32)
    found = run("RotaryPositionEmbeddingGrad", [dy, *inputs[1:], inputs[0]], {"mode": mode})

    for number, slopes in enumerate(found):
        random = np.random.default_rng(number)
        for place in random.integers(0, slopes.size, 6).tolist():
            unit = [item if index != number else np.zeros_like(item) for index, item in enumerate(inputs)]
            unit[number].reshape(-1)[place] = 1
            changed = _exact(unit[0], unit[1], unit[2], mode)
            if number:  # only the part with this factor
                other = [np.zeros_like(item) if index == 3 - number else item for index, item in enumerate(unit)]
                changed = _exact(other[0], other[1], other[2], mode)
            np.testing.assert_allclose(slopes.reshape(-1)[place], (changed * dy).sum(), rtol=1e-4, atol=1e-5)
    if mode == 0:
        older = run("RotaryMulGrad", [*inputs, dy])
        assert [item.tobytes() for item in older] == [item.tobytes() for item in found]
        assert not any(item.any() for item in run("RotaryMulGrad", [*inputs, dy], {"need_backward": False})[1:])
        assert not any(item.any() for item in run("RotaryPositionEmbeddingGrad", [dy, *inputs[1:]])[1:])


def test_bad_input(run: Run) -> None:
    """Odd axes and unknown modes are named."""
    x, cos, sin = _inputs(DTYPES[0])
    with pytest.raises(InvalidArgument, match="a multiple of 2"):
        run("RotaryMul", [x[..., :7], cos[..., :7], sin[..., :7]])
    with pytest.raises(NotSupported, match="mode is 3"):
        run("RotaryPositionEmbedding", [x, cos, sin], {"mode": 3})
    with pytest.raises(InvalidArgument, match="must broadcast"):
        run("RotaryMul", [x, cos[..., :4], sin])
    with pytest.raises(InvalidArgument, match="layout is 2"):
        run("ApplyRotaryPosEmb", [x, x, cos, sin], {"layout": 2})
