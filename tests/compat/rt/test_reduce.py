"""Reductions of device memory into device memory."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

import acl
from tests.compat._programs import Array, MakeGate, get, good, ok, put, untyped

SUM, MOST, LEAST, EQUAL = 10, 11, 12, 13
BAD, SPAN, NO_TYPE, UNSUPPORTED = 100000, 107000, 100026, 207000
KINDS: dict[int, Any] = {SUM: np.add, MOST: np.maximum, LEAST: np.minimum}
TYPES = {0: np.float32, 1: np.float16, 27: ml_dtypes.bfloat16, 2: np.int8, 6: np.int16, 3: np.int32}


def pair(dtype: Any, count: int = 1001) -> tuple[Array, Array]:
    """Return two arrays; sums of whole numbers go beyond their range."""
    random = np.random.default_rng(5)
    if np.issubdtype(dtype, np.integer):
        info = np.iinfo(dtype)
        first, second = (random.integers(info.min, info.max, count, dtype, endpoint=True) for _ in range(2))
        return first, second
    return random.normal(size=count).astype(dtype), random.normal(size=count).astype(dtype)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("number", TYPES)
def test_every_kind_and_type(device: int, stream: int, kind: int, number: int) -> None:
    """The target is as NumPy has it, element for element; the source stays."""
    a, b = pair(TYPES[number])
    dst, src = put(a), put(b)
    ok(acl.rt.reduce_async(dst, src, a.nbytes, kind, number, stream, 0))
    ok(acl.rt.synchronize_stream(stream))

    with np.errstate(over="ignore"):
        np.testing.assert_array_equal(get(dst, a), KINDS[kind](a, b))
    np.testing.assert_array_equal(get(src, b), b)


def test_it_takes_its_place_in_the_stream(stream: int, gate: MakeGate) -> None:
    """What was submitted before has been done; the call does not wait."""
    shut = gate(stream)
    dst, src = put(np.zeros(8, np.int32)), put(np.zeros(8, np.int32))
    value = np.full(8, 21, np.int32)
    ok(acl.rt.memcpy_async(src, 32, acl.util.numpy_to_ptr(value), 32, 1, stream))
    for _ in range(2):
        ok(acl.rt.reduce_async(dst, src, 32, SUM, 3, stream, 0))
    assert get(dst, value).tolist() == [0] * 8
    shut.open()
    ok(acl.rt.synchronize_stream(stream))
    assert get(dst, value).tolist() == [42] * 8


def test_parts_of_allocations(device: int) -> None:
    """Addresses may point into an allocation, and target and source be the same."""
    array = np.arange(16, dtype=np.int32)
    pointer = put(array)
    ok(acl.rt.reduce_async(pointer + 16, pointer + 32, 16, SUM, 3, 0, 0))
    ok(acl.rt.reduce_async(pointer, pointer, 16, SUM, 3, 0, 0))
    ok(acl.rt.synchronize_stream(0))

    expected = array.copy()
    expected[4:8] += array[8:12]
    expected[:4] *= 2
    np.testing.assert_array_equal(get(pointer, array), expected)


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"kind": 9}, SPAN),
        ({"kind": EQUAL}, UNSUPPORTED),
        ({"type": 11}, UNSUPPORTED),
        ({"type": 999}, NO_TYPE),
        ({"count": 3}, SPAN),
        ({"count": -4}, SPAN),
        ({"count": 1 << 20}, SPAN),
        ({"count": 0}, 0),
        ({"dst": 0}, BAD),
        ({"src": 0}, BAD),
        ({"src": 4096}, SPAN),
        ({"reserve": 1}, SPAN),
        ({"stream": 99}, 107017),
    ],
)
def test_what_cannot_be(device: int, change: dict[str, int], code: int) -> None:
    """Each is told at once, and nothing is changed."""
    zeros = np.zeros(16, np.int32)
    given = {"dst": put(zeros), "src": put(zeros + 1), "count": 64, "kind": SUM, "type": 3, "stream": 0, "reserve": 0}
    target = given["dst"]

    assert acl.rt.reduce_async(*(given | change).values()) == code
    ok(acl.rt.synchronize_stream(0))
    np.testing.assert_array_equal(get(target, zeros), zeros)


def test_overlap_and_host_memory(device: int) -> None:
    """Spans that overlap by a part, freed memory and host memory are refused."""
    pointer, host = put(np.zeros(16, np.int32)), good(acl.rt.malloc_host(64))

    assert acl.rt.reduce_async(pointer, pointer + 4, 32, SUM, 3, 0, 0) == SPAN
    assert acl.rt.reduce_async(pointer, host, 64, SUM, 3, 0, 0) == SPAN
    assert acl.rt.reduce_async(host, pointer, 64, SUM, 3, 0, 0) == SPAN
    ok(acl.rt.free(pointer))
    assert acl.rt.reduce_async(pointer, pointer, 64, SUM, 3, 0, 0) == SPAN
    with pytest.raises(TypeError):
        untyped.rt.reduce_async(1.5, pointer, 64, SUM, 3, 0, 0)
