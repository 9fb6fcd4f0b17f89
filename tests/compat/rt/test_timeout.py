"""How long operators, and a stream's waits for events, may take."""

from __future__ import annotations

import threading
from pathlib import Path

import numpy as np
import pytest

import acl
from tests.compat._programs import FLOAT, ND, Dataset, MakeGate, binary, compile_operators, good, ok, put, slow, untyped

SIZE = 1536  # 7 billion operations: more than a millisecond on any CPU


@pytest.fixture
def product(device: int, tmp_path: Path) -> tuple[list[int], list[int]]:
    """Descriptions and buffers of a matrix product that takes milliseconds."""
    models = compile_operators(tmp_path, binary("MatMul", "float", [SIZE, SIZE]))
    ok(acl.op.set_model_dir(str(models)))
    array = np.ones((SIZE, SIZE), np.float32)
    descs = [acl.create_tensor_desc(FLOAT, [SIZE, SIZE], ND) for _ in range(3)]
    return descs, [acl.create_data_buffer(put(array), array.nbytes) for _ in range(3)]


def submit(product: tuple[list[int], list[int]], stream: int) -> None:
    """Submit the matrix product."""
    descs, buffers = product
    ok(acl.op.execute_v2("MatMul", descs[:2], buffers[:2], descs[2:], buffers[2:], 0, stream))


def test_a_wait_for_an_event_that_takes_too_long_fails(stream: int, gate: MakeGate) -> None:
    """The stream's next synchronise is 507047, its text says how long; the stream goes on with what follows."""
    other = good(acl.rt.create_stream())
    event = good(acl.rt.create_event())
    held = gate(other)
    ok(acl.rt.record_event(event, other))
    ok(acl.rt.set_op_wait_timeout(1))
    ok(acl.rt.stream_wait_event(stream, event))
    target = good(acl.rt.malloc(64, 0))
    ok(acl.rt.memset_async(target, 64, 5, 64, stream))
    assert acl.rt.query_event_wait_status(event) == (1, 0)

    assert acl.rt.synchronize_stream(stream) == 507047
    assert "waited 1 s" in (acl.get_recent_err_msg() or "")
    assert acl.rt.synchronize_stream(stream) == 0
    assert acl.util.ptr_to_bytes(target, 64) == b"\5" * 64
    assert acl.rt.query_event_wait_status(event) == (0, 0)
    held.open()
    assert acl.rt.synchronize_stream(other) == 0


def test_the_exception_callback_is_told_of_a_wait(stream: int, gate: MakeGate) -> None:
    """A failed wait is a failed task, with its number, and stops a stream in failure mode 1."""
    other = good(acl.rt.create_stream())
    event = good(acl.rt.create_event())
    held = gate(other)
    ok(acl.rt.record_event(event, other))
    seen: list[tuple[int, int]] = []
    ok(
        acl.rt.set_exception_info_callback(
            lambda info: seen.append(
                (acl.rt.get_task_id_from_exception_info(info), acl.rt.get_error_code_from_exception_info(info))
            )
        )
    )
    ok(acl.rt.set_op_wait_timeout(1))
    ok(acl.rt.set_stream_failure_mode(stream, 1))
    ok(acl.rt.stream_wait_event(stream, event))
    task = good(acl.rt.get_thread_last_task_id())

    assert acl.rt.synchronize_stream(stream) == 507047
    assert seen == [(task, 507047)]
    assert acl.rt.memset_async(0, 0, 0, 0, stream) == 0  # nothing to do is no task
    assert acl.rt.record_event(event, stream) == 507047
    held.open()


def test_a_limit_counts_for_waits_from_then_on(stream: int, gate: MakeGate) -> None:
    """0 is no limit again; a wait that is reached in time is no failure."""
    other = good(acl.rt.create_stream())
    event = good(acl.rt.create_event())
    ok(acl.rt.set_op_wait_timeout(3))
    for limit in (3, 0):
        ok(acl.rt.set_op_wait_timeout(limit))
        held = gate(other)
        ok(acl.rt.record_event(event, other))
        ok(acl.rt.stream_wait_event(stream, event))
        threading.Timer(0.02, held.open).start()

        assert acl.rt.synchronize_stream(stream) == 0


def test_an_operator_that_takes_too_long_fails(
    stream: int, product: tuple[list[int], list[int]], gate: MakeGate
) -> None:
    """507014 at the next synchronise, with what it took; without a limit the same operator is no failure."""
    held = gate(stream)
    assert acl.rt.set_op_execute_timeout_v2(1) == (1000, 0)
    submit(product, stream)
    assert acl.rt.set_op_execute_timeout_v2(0) == (0, 0)
    submit(product, stream)
    held.open()

    assert acl.rt.synchronize_stream(stream) == 507014
    assert "MatMul ran for" in (acl.get_recent_err_msg() or "")
    submit(product, stream)
    assert acl.rt.synchronize_stream(stream) == 0


def test_streams_made_later_have_the_limit_too(product: tuple[list[int], list[int]], gate: MakeGate) -> None:
    """The limit is the process's."""
    ok(acl.rt.set_op_execute_timeout_v2(1)[1])
    stream = good(acl.rt.create_stream())
    held = gate(stream)
    submit(product, stream)
    held.open()

    assert acl.rt.synchronize_stream(stream) == 507014


def test_models_are_not_bounded(stream: int, tmp_path: Path) -> None:
    """A run consists of many operators: that it takes longer than one may is no failure."""
    model = good(acl.mdl.load_from_file(slow(tmp_path, steps=8)))
    array = np.ones((512, 512), np.float32)
    given, wanted = Dataset(array), Dataset(array)
    assert acl.rt.set_op_execute_timeout_v2(1000) == (1000, 0)

    ok(acl.mdl.execute_async(model, given.handle, wanted.handle, stream))
    assert acl.rt.synchronize_stream(stream) == 0


def test_what_was_set_can_be_asked(device: int) -> None:
    """Microseconds are rounded up to the interval, milliseconds come back; 0 is no limit; finalize forgets it."""
    interval = good(acl.rt.get_op_timeout_interval())
    assert interval == 1000
    assert acl.rt.get_op_execute_timeout() == (0, 0)
    for given, actual in ((1, interval), (1000, 1000), (1001, 2000), (2_500_000, 2_500_000)):
        assert acl.rt.set_op_execute_timeout_v2(given) == (actual, 0)
        assert acl.rt.get_op_execute_timeout() == (actual // 1000, 0)
    ok(acl.rt.set_op_execute_time_out(7))
    assert acl.rt.get_op_execute_timeout() == (7000, 0)
    ok(acl.rt.set_op_execute_time_out((1 << 32) - 1))
    assert acl.rt.get_op_execute_timeout() == (((1 << 32) - 1) * 1000, 0)
    ok(acl.finalize())
    assert acl.rt.get_op_execute_timeout() == (0, 100001)
    ok(acl.init())

    assert acl.rt.get_op_execute_timeout() == (0, 0)


def test_times_that_mean_nothing(device: int) -> None:
    """Negative and too large ones are 107000, wrong types a TypeError, and before init all are 100001."""
    for call in (acl.rt.set_op_wait_timeout, acl.rt.set_op_execute_time_out):
        assert call(-1) == call(1 << 32) == 107000
        with pytest.raises(TypeError):
            untyped.rt.set_op_wait_timeout(1.5)
    assert acl.rt.set_op_execute_timeout_v2(-1) == acl.rt.set_op_execute_timeout_v2(1 << 70) == (0, 107000)
    assert acl.rt.get_op_execute_timeout() == (0, 0)
    ok(acl.finalize())

    assert acl.rt.set_op_wait_timeout(1) == acl.rt.set_op_execute_time_out(1) == 100001
    assert acl.rt.set_op_execute_timeout_v2(1) == acl.rt.get_op_timeout_interval() == (0, 100001)
