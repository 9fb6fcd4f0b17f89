"""Subscriptions: a thread reads the operators of a model from a pipe while it runs."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import acl
from acl.prof import _subscriptions
from acl.prof._backlog import Backlog
from acl.prof._records import RECORD_NBYTES
from tests.compat._programs import Dataset, add1, gather, good, ok, run_program, slow

X = np.arange(4, dtype=np.float32).reshape(1, 4)
OPERATOR = tuple[int, str, str, int, int, int]


class Reader:
    """A program's reading thread, and what it decoded: model, type, name, start, end, duration."""

    def __init__(self) -> None:
        self.out, self.into = os.pipe()
        self.operators: list[OPERATOR] = []
        self.arrived = threading.Event()
        self._thread = threading.Thread(target=self._read)
        self._thread.start()

    def _read(self) -> None:
        size = good(acl.prof.get_op_desc_size())
        while data := os.read(self.out, size * 10):
            pointer, length = acl.util.bytes_to_ptr(data), len(data)
            for index in range(good(acl.prof.get_op_num(pointer, length))):
                assert good(acl.prof.get_op_type_v2(pointer, length, index)) == good(
                    acl.prof.get_op_type(pointer, length, index, 65)
                )
                self.operators.append(
                    (
                        acl.prof.get_model_id(pointer, length, index),
                        good(acl.prof.get_op_type(pointer, length, index, 65)),
                        good(acl.prof.get_op_name(pointer, length, index, 275)),
                        acl.prof.get_op_start(pointer, length, index),
                        acl.prof.get_op_end(pointer, length, index),
                        acl.prof.get_op_duration(pointer, length, index),
                    )
                )
                self.arrived.set()

    def finish(self) -> list[OPERATOR]:
        """Close the end that is written to, and return everything."""
        os.close(self.into)
        self._thread.join()
        os.close(self.out)
        return self.operators


@pytest.fixture
def reader() -> Iterator[Reader]:
    """A reading thread; the test ends it."""
    reader = Reader()
    yield reader
    if reader._thread.is_alive():
        reader.finish()


@pytest.fixture
def model(device: int, tmp_path: Path) -> int:
    """Y = x + 1, float32 [1, 4]."""
    handle: int = good(acl.mdl.load_from_file(add1(tmp_path)))
    return handle


def _run(model: int, times: int = 1) -> None:
    given, wanted = Dataset(X), Dataset(np.zeros_like(X))
    for _ in range(times):
        ok(acl.mdl.execute(model, given.handle, wanted.handle))
    np.testing.assert_array_equal(wanted.read(), X + 1)


def test_each_operator_of_each_run(model: int, reader: Reader) -> None:
    """The records have the model's id, the operators and their times; runs before and behind send nothing."""
    config = acl.prof.create_subscribe_config(1, 255, reader.into)
    _run(model)
    began = time.time_ns()
    ok(acl.prof.model_subscribe(model, config))
    _run(model, 3)
    ended = time.time_ns()
    ok(acl.prof.model_un_subscribe(model))
    ok(acl.prof.destroy_subscribe_config(config))
    _run(model)
    operators = reader.finish()

    assert [(number, kind) for number, kind, *_ in operators] == [(model, "Add")] * 3
    assert all("plus" in name for _, _, name, *_ in operators)
    assert all(began - 10**6 <= start <= end <= ended + 10**6 for *_, start, end, _ in operators)
    assert all(duration == end - start for *_, start, end, duration in operators)


def test_records_come_while_the_model_runs(model: int, reader: Reader) -> None:
    """A record arrives although nobody unsubscribes."""
    ok(acl.prof.model_subscribe(model, acl.prof.create_subscribe_config(1, 1, reader.into)))
    _run(model)

    assert reader.arrived.wait(10)
    ok(acl.prof.model_un_subscribe(model))
    assert len(reader.finish()) == 1


def test_more_records_than_a_pipe_holds(model: int, reader: Reader) -> None:
    """All of them arrive whole, in order."""
    ok(acl.prof.model_subscribe(model, acl.prof.create_subscribe_config(1, 1, reader.into)))
    _run(model, 500)
    ok(acl.prof.model_un_subscribe(model))
    operators = reader.finish()

    assert len(operators) == 500
    assert [start for *_, start, _, _ in operators] == sorted(start for *_, start, _, _ in operators)


def test_runs_on_a_stream_are_sent_too(model: int, stream: int, reader: Reader) -> None:
    """Asynchronous runs are recorded, with their results as ever."""
    ok(acl.prof.model_subscribe(model, acl.prof.create_subscribe_config(1, 1, reader.into)))
    given, wanted = Dataset(X), Dataset(np.zeros_like(X))
    for _ in range(4):
        ok(acl.mdl.execute_async(model, given.handle, wanted.handle, stream))
    ok(acl.rt.synchronize_stream(stream))
    ok(acl.prof.model_un_subscribe(model))

    assert len(reader.finish()) == 4
    np.testing.assert_array_equal(wanted.read(), X + 1)


def test_two_models_through_one_pipe(device: int, tmp_path: Path, reader: Reader) -> None:
    """Two loads of one file are told apart by their ids."""
    path = add1(tmp_path)
    one, other, silent = (good(acl.mdl.load_from_file(path)) for _ in range(3))
    config = acl.prof.create_subscribe_config(1, 1, reader.into)
    ok(acl.prof.model_subscribe(one, config))
    ok(acl.prof.model_subscribe(other, config))
    for model, times in ((one, 2), (other, 3), (silent, 4)):
        _run(model, times)
    ok(acl.prof.model_un_subscribe(one))
    ok(acl.prof.model_un_subscribe(other))

    assert sorted(number for number, *_ in reader.finish()) == [one] * 2 + [other] * 3


def test_without_times_nothing_is_sent(model: int, reader: Reader) -> None:
    """The switch 0 is taken, and sends no record."""
    ok(acl.prof.model_subscribe(model, acl.prof.create_subscribe_config(0, 255, reader.into)))
    _run(model)
    ok(acl.prof.model_un_subscribe(model))

    assert reader.finish() == []


def test_unloading_ends_a_subscription(model: int, reader: Reader) -> None:
    """What was recorded is sent before the model goes; afterwards there is nothing to unsubscribe."""
    ok(acl.prof.model_subscribe(model, acl.prof.create_subscribe_config(1, 1, reader.into)))
    _run(model, 2)
    ok(acl.mdl.unload(model))

    assert len(reader.finish()) == 2
    assert acl.prof.model_un_subscribe(model) == 100043


def test_the_runtime_ends_under_a_subscription(model: int, reader: Reader) -> None:
    """What was recorded is sent by `finalize`, and a later subscription of another model is good."""
    ok(acl.prof.model_subscribe(model, acl.prof.create_subscribe_config(1, 1, reader.into)))
    _run(model, 2)
    ok(acl.finalize())

    assert len(reader.finish()) == 2


def test_the_program_closes_the_pipe_early(model: int) -> None:
    """A pipe that nobody reads any more is 500005 when it ends; the runs are good."""
    out, into = os.pipe()
    ok(acl.prof.model_subscribe(model, acl.prof.create_subscribe_config(1, 1, into)))
    os.close(out)
    os.close(into)
    _run(model)

    assert acl.prof.model_un_subscribe(model) == 500005
    assert "pipe" in (acl.get_recent_err_msg() or "")
    _run(model)


def test_what_is_refused(model: int) -> None:
    """Wrong numbers make no configuration; unknown models and configurations, and a second subscription, are codes."""
    out, into = os.pipe()
    assert acl.prof.create_subscribe_config(2, 1, into) == 0
    assert acl.prof.create_subscribe_config(1, 9, into) == 0
    assert acl.prof.create_subscribe_config(1, 1, -1) == 0
    config, closed = acl.prof.create_subscribe_config(1, 1, into), acl.prof.create_subscribe_config(1, 1, 10**6)
    reading = acl.prof.create_subscribe_config(1, 1, out)
    assert acl.prof.model_subscribe(model + 1000, config) == 145003
    assert acl.prof.model_subscribe(model, 0) == 100000
    assert acl.prof.model_subscribe(model, closed) == 100000
    assert acl.prof.model_subscribe(model, reading) == 100000
    assert acl.prof.model_un_subscribe(model) == 100043
    ok(acl.prof.model_subscribe(model, config))
    assert acl.prof.model_subscribe(model, config) == 148046
    ok(acl.prof.model_un_subscribe(model))
    assert acl.prof.destroy_subscribe_config(config) == 0
    assert acl.prof.destroy_subscribe_config(config) == 100000
    os.close(out)
    os.close(into)


def test_a_program_that_never_reads(tmp_path: Path) -> None:
    """Runs do not wait for the reader, and the end of the process does not either."""
    path = add1(tmp_path)
    source = f"""
        import os
        import numpy as np
        import acl
        from tests.compat._programs import Dataset, good, ok
        ok(acl.init())
        ok(acl.rt.set_device(0))
        model = good(acl.mdl.load_from_file({path!r}))
        out, into = os.pipe()
        ok(acl.prof.model_subscribe(model, acl.prof.create_subscribe_config(1, 1, into)))
        given, wanted = Dataset(np.ones((1, 4), np.float32)), Dataset(np.zeros((1, 4), np.float32))
        for _ in range(400):
            ok(acl.mdl.execute(model, given.handle, wanted.handle))
        print(wanted.read().tolist())
    """

    assert "[[2.0, 2.0, 2.0, 2.0]]" in run_program(source)


def test_a_reader_who_is_too_slow(model: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """What waits is bounded: the oldest records are dropped, the newest arrive, and the end says how many are missing."""
    came = threading.Event()

    class Watched(Backlog):
        """Records that wait; it tells when the first were dropped."""

        def add(self, records: bytes) -> None:
            super().add(records)
            if self.dropped:
                came.set()

    monkeypatch.setattr(_subscriptions, "Backlog", Watched)
    monkeypatch.setattr(_subscriptions, "_MOST_WAITING", 50)
    out, into = os.pipe()
    ok(acl.prof.model_subscribe(model, acl.prof.create_subscribe_config(1, 1, into)))
    runs = 0
    while not came.wait(0.05):
        _run(model, 100)
        runs += 100
    late: list[bytes] = []
    reading = threading.Thread(target=lambda: late.extend(iter(lambda: os.read(out, 1 << 16), b"")))
    reading.start()
    code = acl.prof.model_un_subscribe(model)
    text = acl.get_recent_err_msg() or ""
    os.close(into)
    reading.join()
    os.close(out)

    records = b"".join(late)
    arrived, rest = divmod(len(records), RECORD_NBYTES)
    assert (code, rest) == (500005, 0)
    assert f"{runs - arrived} records were dropped" in text
    assert 50 <= arrived < runs


def test_failing_and_long_runs(device: int, tmp_path: Path, reader: Reader) -> None:
    """A run that fails is 507011 as ever, both are recorded; a long operator's duration is of that order."""
    picking, long = good(acl.mdl.load_from_file(gather(tmp_path))), good(acl.mdl.load_from_file(slow(tmp_path)))
    config = acl.prof.create_subscribe_config(1, 1, reader.into)
    ok(acl.prof.model_subscribe(picking, config))
    ok(acl.prof.model_subscribe(long, config))
    x = np.arange(4, dtype=np.float32)
    for place, code in ((9, 507011), (2, 0)):
        given, wanted = Dataset(x, np.array([place])), Dataset(np.zeros(1, np.float32))
        assert acl.mdl.execute(picking, given.handle, wanted.handle) == code
    desc = acl.mdl.create_desc()
    ok(acl.mdl.get_desc(desc, long))
    nbytes = acl.mdl.get_input_size_by_index(desc, 0), acl.mdl.get_output_size_by_index(desc, 0)
    given, wanted = (Dataset(np.zeros(size // 4, np.float32)) for size in nbytes)
    began = time.perf_counter_ns()
    ok(acl.mdl.execute(long, given.handle, wanted.handle))
    elapsed = time.perf_counter_ns() - began
    ok(acl.prof.model_un_subscribe(picking))
    ok(acl.prof.model_un_subscribe(long))
    operators = reader.finish()

    assert [kind for number, kind, *_ in operators if number == picking] == ["Gather"] * 2  # it ran until it failed
    assert 0.3 * elapsed < sum(duration for number, *_, duration in operators if number == long) <= elapsed
