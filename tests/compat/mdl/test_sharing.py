"""One model, or one dataset, used at several places at once."""

from __future__ import annotations

import threading
from pathlib import Path

import numpy as np
import pytest

import acl
from tests.compat._models import batch
from tests.compat._programs import Array, Dataset, MakeGate, add1, good, in_thread, ok, put, slow

X = np.arange(4, dtype=np.float32).reshape(1, 4)


@pytest.fixture
def model(device: int, tmp_path: Path) -> int:
    """Y = x + 1, float32 [1, 4]."""
    handle: int = good(acl.mdl.load_from_file(add1(tmp_path)))
    return handle


@pytest.fixture
def strict(device: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> int:
    """The same, loaded in strict mode."""
    monkeypatch.setenv("AACL_STRICT", "1")
    handle: int = good(acl.mdl.load_from_file(add1(tmp_path)))
    return handle


def test_one_model_on_two_streams(device: int, tmp_path: Path) -> None:
    """Runs of one model id on two streams and in the caller all succeed: they take turns."""
    x: Array = np.random.default_rng(1).standard_normal((256, 256)).astype(np.float32)
    model = good(acl.mdl.load_from_file(slow(tmp_path, size=256)))
    streams = [good(acl.rt.create_stream()) for _ in range(2)]
    sets = [(Dataset(x * k), Dataset(np.zeros_like(x))) for k in (1, 2, 3)]
    for stream, (given, wanted) in zip(streams, sets, strict=False):
        ok(acl.mdl.execute_async(model, given.handle, wanted.handle, stream))
    ok(acl.mdl.execute(model, sets[2][0].handle, sets[2][1].handle))
    for stream in streams:
        ok(acl.rt.synchronize_stream(stream))

    for k, (_, wanted) in zip((1, 2, 3), sets, strict=True):
        np.testing.assert_allclose(wanted.read(), x * k, rtol=1e-4)


def test_one_model_on_two_streams_in_strict_mode(strict: int, gate: MakeGate) -> None:
    """In strict mode a run elsewhere while one is queued is 107005; on the same stream, and afterwards, it is well."""
    one, two = good(acl.rt.create_stream()), good(acl.rt.create_stream())
    given, wanted = Dataset(X), Dataset(np.zeros_like(X))
    held = gate(one)
    ok(acl.mdl.execute_async(strict, given.handle, wanted.handle, one))
    ok(acl.mdl.execute_async(strict, given.handle, wanted.handle, one))

    assert acl.mdl.execute_async(strict, given.handle, wanted.handle, two) == 107005
    assert f"stream {one}" in (acl.get_recent_err_msg() or "")
    assert acl.mdl.execute(strict, given.handle, wanted.handle) == 107005
    ok(acl.rt.synchronize_stream(two))
    held.open()
    ok(acl.rt.synchronize_stream(one))
    ok(acl.mdl.execute_async(strict, given.handle, wanted.handle, two))
    ok(acl.rt.synchronize_stream(two))
    ok(acl.mdl.execute(strict, given.handle, wanted.handle))
    np.testing.assert_array_equal(wanted.read(), X + 1)


def test_two_loads_in_strict_mode(strict: int, tmp_path: Path, gate: MakeGate) -> None:
    """The rule is for one model id: another load of the same file runs elsewhere at the same time."""
    other, stream = good(acl.mdl.load_from_file(str(tmp_path / "add1.om"))), good(acl.rt.create_stream())
    given, lost, wanted = Dataset(X), Dataset(np.zeros_like(X)), Dataset(np.zeros_like(X))
    held = gate(stream)
    ok(acl.mdl.execute_async(strict, given.handle, lost.handle, stream))

    ok(acl.mdl.execute(other, given.handle, wanted.handle))
    np.testing.assert_array_equal(wanted.read(), X + 1)
    held.open()
    ok(acl.rt.synchronize_stream(stream))


def test_threads_in_strict_mode(device: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In strict mode a blocking run while another thread's goes on is 107005."""
    monkeypatch.setenv("AACL_STRICT", "1")
    x: Array = np.eye(512, dtype=np.float32)
    model, context = good(acl.mdl.load_from_file(slow(tmp_path))), good(acl.rt.get_context())
    given, wanted = Dataset(x), Dataset(np.zeros_like(x))

    def run() -> list[int]:
        ok(acl.rt.set_context(context))
        return [acl.mdl.execute(model, given.handle, wanted.handle) for _ in range(2)]

    ok(acl.mdl.execute_async(model, given.handle, wanted.handle, 0))
    assert in_thread(run) == [107005, 107005]
    ok(acl.rt.synchronize_stream(0))
    assert in_thread(run) == [0, 0]


def test_two_threads_in_strict_mode(device: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of two blocking runs of one model id at the same time, in two threads, one is 107005 and the other well."""
    monkeypatch.setenv("AACL_STRICT", "1")
    x: Array = np.eye(512, dtype=np.float32)
    model, context = good(acl.mdl.load_from_file(slow(tmp_path))), good(acl.rt.get_context())
    ready = threading.Barrier(2, timeout=10)
    codes: list[int] = []

    def run() -> None:
        ok(acl.rt.set_context(context))
        given, wanted = Dataset(x), Dataset(np.zeros_like(x))
        ready.wait()
        codes.append(acl.mdl.execute(model, given.handle, wanted.handle))

    threads = [threading.Thread(target=run) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert sorted(codes) == [0, 107005]


def test_a_dataset_of_two_queued_runs(model: int, gate: MakeGate) -> None:
    """A dataset that two queued runs use on two streams serves both; destroying it meanwhile harms neither."""
    streams = [good(acl.rt.create_stream()) for _ in range(2)]
    given, wanted = Dataset(X), Dataset(np.zeros_like(X))
    gates = [gate(stream) for stream in streams]
    for stream in streams:
        ok(acl.mdl.execute_async(model, given.handle, wanted.handle, stream))
    ok(acl.mdl.destroy_dataset(given.handle))
    ok(acl.destroy_data_buffer(given.buffers[0]))
    for held in gates:
        held.open()
    for stream in streams:
        ok(acl.rt.synchronize_stream(stream))

    np.testing.assert_array_equal(wanted.read(), X + 1)
    assert acl.mdl.execute(model, given.handle, wanted.handle) == 100000


def test_one_dataset_for_two_models(model: int, tmp_path: Path) -> None:
    """A dataset keeps the gear of each model that it was chosen for, and serves others as it is."""
    x: Array = np.arange(16, dtype=np.float32).reshape(4, 4)
    geared = [good(acl.mdl.load_from_file(batch(tmp_path))) for _ in range(2)]
    given, wanted = Dataset(x, np.zeros(1, np.int32)), Dataset(np.zeros_like(x))
    ok(acl.mdl.set_dynamic_batch_size(geared[0], given.handle, 1, 1))
    ok(acl.mdl.set_dynamic_batch_size(geared[1], given.handle, 1, 2))
    filled = []
    for each in (geared[0], geared[1], model):
        ok(acl.rt.memset(wanted.pointers[0], 64, 0, 64))
        ok(acl.mdl.execute(each, given.handle, wanted.handle))
        filled.append(int((wanted.read() != 0).all(axis=1).sum()))

    assert filled == [1, 2, 1]


def test_an_output_that_is_an_input_of_the_run(model: int) -> None:
    """A run that would write over its own input is 100018, and nothing is written."""
    pointer = put(X)
    dataset = acl.mdl.create_dataset()
    assert acl.mdl.add_dataset_buffer(dataset, acl.create_data_buffer(pointer, 16)) == (dataset, 0)

    assert acl.mdl.execute(model, dataset, dataset) == 100018
    assert acl.util.ptr_to_bytes(pointer, 16) == X.tobytes()


def test_a_chain_of_models_on_one_stream(model: int, gate: MakeGate) -> None:
    """A dataset that is one run's output is the next one's input: three queued runs, no copy, no wait in between."""
    stream = good(acl.rt.create_stream())
    first, others = Dataset(X), [Dataset(np.zeros_like(X)) for _ in range(3)]
    held = gate(stream)
    for given, wanted in zip([first, *others], others, strict=False):
        ok(acl.mdl.execute_async(model, given.handle, wanted.handle, stream))
    held.open()
    ok(acl.rt.synchronize_stream(stream))

    np.testing.assert_array_equal(others[-1].read(), X + 3)


def test_unloading_with_runs_queued_on_several_streams(model: int, gate: MakeGate) -> None:
    """Unload waits for the runs of all streams; their results are there."""
    streams = [good(acl.rt.create_stream()) for _ in range(3)]
    given, wanted = Dataset(X), [Dataset(np.zeros_like(X)) for _ in streams]
    context, gates = good(acl.rt.get_context()), [gate(stream) for stream in streams]
    for stream, each in zip(streams, wanted, strict=True):
        ok(acl.mdl.execute_async(model, given.handle, each.handle, stream))

    def open_all() -> None:
        ok(acl.rt.set_context(context))
        for held in gates:
            held.open()

    in_thread(open_all)
    ok(acl.mdl.unload(model))
    for each in wanted:
        np.testing.assert_array_equal(each.read(), X + 1)
