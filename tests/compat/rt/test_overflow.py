"""Whether operators have overflowed."""

from __future__ import annotations

from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

import acl
from acl import _log
from tests.compat._programs import (
    FLOAT,
    FLOAT16,
    INT32,
    ND,
    Array,
    MakeGate,
    binary,
    compile_operators,
    get,
    good,
    ok,
    put,
)

BFLOAT16 = 27
HUGE = np.array([3e38, 1, 2, 4], np.float32)
SMALL = np.ones(4, np.float32)


@pytest.fixture
def models(tmp_path: Path, stream: int) -> None:
    """A few operators of four elements."""
    add = [binary("Add", dtype, [4]) for dtype in ("float", "float16", "bfloat16", "int32")]
    ok(acl.op.set_model_dir(str(compile_operators(tmp_path, *add, binary("RealDiv", "float", [4])))))


@pytest.fixture
def watched(models: None, stream: int) -> int:
    """A stream that detects overflows."""
    ok(acl.rt.set_stream_overflow_switch(stream, 1))
    return stream


def _run(stream: int, first: Array, second: Array, dtype: int = FLOAT, op: str = "Add", into: int = 0) -> Array:
    """Submit an operator, into new memory or into that given, and return its result."""
    pointers = [put(first), put(second), into or put(np.zeros_like(first))]
    descs = [acl.create_tensor_desc(dtype, [4], ND) for _ in pointers]
    buffers = [acl.create_data_buffer(pointer, first.nbytes) for pointer in pointers]
    ok(acl.op.execute_v2(op, descs[:2], buffers[:2], descs[2:], buffers[2:], 0, stream))
    ok(acl.rt.synchronize_stream(stream))
    return get(pointers[2], first)


def _status(stream: int, nbytes: int = 64) -> int:
    """Return the status that a stream's turn finds; what follows the number is 0."""
    pointer = good(acl.rt.malloc(nbytes + 8, 0))
    ok(acl.rt.memset(pointer, nbytes + 8, 0xFF, nbytes + 8))
    ok(acl.rt.get_overflow_status(pointer, nbytes, stream))
    ok(acl.rt.synchronize_stream(stream))
    data = acl.util.ptr_to_bytes(pointer, nbytes + 8)
    assert (data[8:nbytes], data[nbytes:]) == (bytes(nbytes - 8), b"\xff" * 8)
    return int.from_bytes(data[:8], "little")


@pytest.mark.parametrize(
    ("dtype", "number", "large"),
    [(FLOAT, np.float32, 3e38), (FLOAT16, np.float16, 6e4), (BFLOAT16, ml_dtypes.bfloat16, 3e38)],
)
def test_an_overflow_is_noted_until_it_is_reset(watched: int, dtype: int, number: type, large: float) -> None:
    """A sum beyond the type's largest number is noted and stays so; after a reset a sum within it is not."""
    big: Array = np.array([large, 1, 2, 3], number)
    assert _status(watched) == 0
    assert np.isinf(_run(watched, big, big, dtype)[0])
    assert _status(watched) == _status(watched, 8) == _status(0, 512) == 1

    ok(acl.rt.reset_overflow_status(watched))
    _run(watched, np.ones(4, number), np.ones(4, number), dtype)
    assert _status(watched) == 0


def test_dividing_by_zero_is_noted_too(watched: int) -> None:
    """An operator overflows when it makes an infinity, or NaN, of numbers."""
    assert np.isinf(_run(watched, SMALL, np.zeros_like(SMALL), op="RealDiv")).all()
    assert _status(watched) == 1
    ok(acl.rt.reset_overflow_status(watched))
    assert np.isnan(_run(watched, np.zeros_like(SMALL), np.zeros_like(SMALL), op="RealDiv")).all()
    assert _status(watched) == 1


@pytest.mark.parametrize("bad", [np.inf, -np.inf, np.nan])
def test_what_goes_in_is_no_overflow(watched: int, bad: float) -> None:
    """An operator whose inputs have infinities or NaN already passes them on, and overflows nothing."""
    result = _run(watched, np.array([bad, 1, 2, 3], np.float32), SMALL)

    assert not np.isfinite(result[0])
    assert _status(watched) == 0


def test_whole_numbers_wrap_and_overflow_nothing(watched: int) -> None:
    """Whole numbers have no infinities."""
    largest = np.full(4, 2**31 - 1, np.int32)
    _run(watched, largest, largest, INT32)

    assert _status(watched) == 0


def test_an_operator_that_overwrites_its_input(watched: int) -> None:
    """The inputs that count are those before the run, where the result lies in the place of one."""
    pointer = put(HUGE)
    descs = [acl.create_tensor_desc(FLOAT, [4], ND) for _ in range(3)]
    buffers = [acl.create_data_buffer(pointer, 16) for _ in range(3)]
    for expected in (1, 0):
        ok(acl.op.execute_v2("Add", descs[:2], buffers[:2], descs[2:], buffers[2:], 0, watched))
        assert _status(watched) == expected
        assert np.isinf(get(pointer, HUGE)[0])
        ok(acl.rt.reset_overflow_status(watched))


def test_only_streams_that_detect_it(watched: int) -> None:
    """A stream that does not detect overflows notes none; one that did until it was switched off neither."""
    _run(0, HUGE, HUGE)
    ok(acl.rt.set_stream_overflow_switch(watched, 0))
    _run(watched, HUGE, HUGE)

    assert _status(watched) == 0


def test_all_streams_of_a_device_and_no_other_device(watched: int) -> None:
    """The status is the device's: another stream and another context read it, another device has its own."""
    _run(watched, HUGE, HUGE)
    good(acl.rt.create_context(0))
    assert _status(0) == 1
    ok(acl.rt.set_device(1))
    assert _status(0) == 0


def test_the_status_is_read_and_reset_in_turn(watched: int, gate: MakeGate) -> None:
    """Nothing is written before the stream comes to it, and what is submitted behind is not in it."""
    _run(watched, HUGE, HUGE)
    pointers = [put(np.zeros(8, np.uint64)) for _ in range(2)]
    held = gate(watched)
    ok(acl.rt.get_overflow_status(pointers[0], 64, watched))
    ok(acl.rt.reset_overflow_status(watched))
    ok(acl.rt.get_overflow_status(pointers[1], 64, watched))
    assert not get(pointers[0], np.zeros(8, np.uint64)).any()
    held.open()
    ok(acl.rt.synchronize_stream(watched))

    assert [int(get(pointer, np.zeros(8, np.uint64))[0]) for pointer in pointers] == [1, 0]


def test_a_program_that_forgot_the_switch_is_told(
    models: None, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where no stream of the device detects overflows, the log says so, once."""
    monkeypatch.setattr(_log, "_warned", set())

    assert _status(0) == _status(0) == 0
    assert [record.levelname for record in caplog.records] == ["WARNING"]
    assert "set_stream_overflow_switch" in caplog.text


def test_what_is_refused(watched: int) -> None:
    """Too little memory, memory that is not there, and what is no stream; nothing is written."""
    pointer = put(np.full(8, 7, np.uint64))
    block = good(acl.rt.malloc(64, 0))
    ok(acl.rt.free(block))

    for nbytes in (0, 7, -1, 4097, 2**40, 2**200):
        assert acl.rt.get_overflow_status(pointer, nbytes, watched) == 107000
    assert acl.rt.get_overflow_status(block, 64, watched) == 107000
    assert acl.rt.get_overflow_status(0, 64, watched) == 107000
    assert acl.rt.get_overflow_status(pointer, 64, 12345) == acl.rt.reset_overflow_status(12345) == 107017
    ok(acl.rt.synchronize_stream(watched))
    assert (get(pointer, np.zeros(8, np.uint64)) == 7).all()
