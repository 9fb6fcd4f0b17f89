"""Dropout and its masks."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aacl.abc import Array
from aacl.dtypes import DataType
from aacl.errors import InvalidArgument, NotSupported, UnsupportedDataType

Run = Callable[..., list[Array]]
Close = Callable[..., None]
BF16 = np.dtype(ml_dtypes.bfloat16)


def _is_near(found: int, size: int, chance: float) -> bool:
    return abs(found - size * chance) <= 5 * math.sqrt(size * chance * (1 - chance))


def _bits(mask: Array) -> list[int]:
    """Return the bits of a mask, the lowest of each byte first."""
    return [byte >> place & 1 for byte in mask.tolist() for place in range(8)]


@settings(max_examples=20, deadline=None)
@given(shape=st.lists(st.integers(0, 40), max_size=2), chance=st.sampled_from([0.0, 0.5, 1.0]))
def test_bits(run: Run, shape: list[int], chance: float) -> None:
    """16 bytes for every 128 elements begun; no bit behind the last element."""
    size = math.prod(shape)
    sizes = np.array(shape, np.int32)
    for op_type, seeds, attributes in (
        ("DropOutGenMask", [], {"seed": 3}),
        ("StatelessDropOutGenMask", [np.array(3), np.array(4), np.array([1, 2])], {}),
    ):
        (mask,) = run(op_type, [sizes, np.float32(chance), *seeds], attributes, known=[0])
        bits = _bits(mask)
        assert len(bits) == math.ceil(size / 128) * 128
        assert not any(bits[size:])
        if chance != 0.5:
            assert bits[:size] == [int(chance)] * size


def test_chances(run: Run) -> None:
    """As many elements are kept as asked for, other ones each run without a seed."""
    size, keep = [100, 200], np.float32(0.8)
    (mask,) = run("DropOutGenMask", [size, keep], {"seed": 3}, known=[0])
    assert _is_near(sum(_bits(mask)), 20_000, 0.8)
    assert mask.tobytes() == run("DropOutGenMask", [size, keep], {"seed": 3}, known=[0])[0].tobytes()
    assert mask.tobytes() != run("DropOutGenMask", [size, keep], {"seed": 4}, known=[0])[0].tobytes()
    first, second = (run("DropOutGenMask", [size, keep], {}, known=[0])[0].tobytes() for _ in range(2))
    assert first != second
    for op_type, dtype in (("DropOutGenMaskV3", np.uint8), ("DropOutGenMaskV4", np.bool_)):
        (mask,) = run(op_type, [size, keep], {"seed": 3}, known=[0])
        assert (mask.shape, mask.dtype) == ((100, 200), np.dtype(dtype))
        assert set(np.unique(mask.astype(int)).tolist()) == {0, 1}
        assert _is_near(int(mask.sum()), 20_000, 0.8)


@pytest.mark.parametrize("dtype", [np.dtype(np.float32), np.dtype(np.float16), BF16], ids=str)
@pytest.mark.parametrize("shape", [(), (0,), (3, 5), (7, 6_001)], ids=str)
def test_apply_bits(run: Run, close: Close, dtype: np.dtype[Any], shape: tuple[int, ...]) -> None:
    """``x / keep_prob`` where the element's bit is 1, in the order of memory."""
    size = math.prod(shape)
    x = np.random.default_rng(3).uniform(-3, 3, shape).astype(dtype)
    mask = np.random.default_rng(4).integers(0, 256, math.ceil(size / 128) * 16, np.uint8)
    keep = np.array(0.75, dtype)
    (found,) = run("DropOutDoMask", [x, mask, keep])
    kept = np.array(_bits(mask)[:size], float).reshape(shape)

    close(found, x.astype(np.float64) * kept / 0.75)


def test_no_garbage_through(run: Run) -> None:
    """What is dropped is 0, even an infinity or NaN."""
    x, mask = np.array([np.inf, np.nan, 1, np.nan], np.float32), np.array([0, 0, 1, 1], np.uint8)
    (found,) = run("DropOutDoMaskV3", [x, mask, np.float32(0.5)])

    assert found[:3].tolist() == [0, 0, 2]
    assert math.isnan(found[3])


@pytest.mark.parametrize("dtype", [np.float32, np.float16])
@pytest.mark.parametrize("kind", [np.uint8, np.bool_])
def test_apply_bytes(run: Run, close: Close, dtype: Any, kind: Any) -> None:
    """A byte or a bool an element, ``keep_prob`` an input or an attribute."""
    x = np.random.default_rng(3).uniform(-3, 3, (4, 6)).astype(dtype)
    mask = (np.arange(24).reshape(4, 6) % 3 > 0).astype(kind)
    exact = x.astype(np.float64) * mask / 0.75

    close(run("DropOutDoMaskV3", [x, mask, np.array(0.75, dtype)])[0], exact)
    close(run("DropOutDoMaskV3D", [x, mask], {"keep_prob": 0.75})[0], exact)


def test_inference(run: Run, close: Close) -> None:
    """A copy where training scaled, else scaled down."""
    x = np.array([1, -2], np.float32)

    assert run("Dropout", [x])[0].tolist() == [1, -2]
    close(run("Dropout", [x], {"scale_train": False, "dropout_ratio": 0.25})[0], x * 0.75)
    with pytest.raises(NotSupported, match="alpha and beta"):
        run("Dropout", [x], {"alpha": 2.0})


@pytest.mark.parametrize("dtype", [np.float32, np.float16])
def test_dropout(run: Run, close: Close, dtype: Any) -> None:
    """Equal seeds, equal masks; the seeds given back lead to another one."""
    x = np.random.default_rng(3).uniform(1, 3, (100, 200)).astype(dtype)
    seed = np.array([5, 6], np.float32)
    y, mask, following = run("DropoutV2", [x, seed], {"p": 0.2})

    assert _is_near(int(mask.sum()), 20_000, 0.8)
    close(y, x.astype(np.float64) * mask / 0.8)
    assert mask.tobytes() == run("DropoutV2", [x, seed], {"p": 0.2})[1].tobytes()
    other = run("DropoutV2", [x, following], {"p": 0.2})[1]
    both = int((mask * other).sum())
    assert _is_near(both, 20_000, 0.64)


def test_bad_input(run: Run) -> None:
    """Chances outside [0, 1] and masks that are too small are named."""
    x = np.ones(200, np.float32)
    with pytest.raises(InvalidArgument, match="the mask must hold 32 bytes"):
        run("DropOutDoMask", [x, np.zeros(16, np.uint8), np.float32(1)])
    with pytest.raises(ValueError, match=r"keep_prob is 1.5, not within \[0, 1\]"):
        run("DropOutDoMask", [x, np.zeros(32, np.uint8), np.float32(1.5)])
    with pytest.raises(ValueError, match="the chance to keep an element is -1"):
        run("DropOutGenMask", [[3], np.float32(-1)], {}, known=[0])
    with pytest.raises(UnsupportedDataType, match="UINT1 are not supported"):
        run("DropOutGenMaskV4", [[3], np.float32(1)], {"dtype": DataType.UINT1}, known=[0])
    with pytest.raises(InvalidArgument, match=r"p is 1\.0"):
        run("DropoutV2", [x, np.zeros(1, np.float32)], {"p": 1.0})
    with pytest.raises(InvalidArgument, match="must have one shape"):
        run("DropOutDoMaskV3D", [x, np.zeros(3, np.uint8)], {"keep_prob": 1.0})
