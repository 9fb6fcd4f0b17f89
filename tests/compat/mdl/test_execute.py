"""Running models."""

from __future__ import annotations

import threading
import time
from pathlib import Path

import numpy as np
import pytest

import acl
from tests.compat._programs import (
    D2H,
    H2D,
    Array,
    Dataset,
    MakeGate,
    Reporter,
    add1,
    gather,
    get,
    good,
    ok,
    put,
    run_program,
    slow,
    two_in,
    untyped,
)  # fmt: skip

X = np.arange(4, dtype=np.float32).reshape(1, 4)


@pytest.fixture
def model(device: int, tmp_path: Path) -> int:
    """Y = x + 1, float32 [1, 4]."""
    handle: int = good(acl.mdl.load_from_file(add1(tmp_path)))
    return handle


@pytest.fixture
def pair(device: int, tmp_path: Path) -> int:
    """A [2, 3] and b [2, 4] → a · 2 and b · 3."""
    handle: int = good(acl.mdl.load_from_file(two_in(tmp_path)))
    return handle


def _dataset(*spans: tuple[int, int]) -> int:
    dataset: int = acl.mdl.create_dataset()
    for address, size in spans:
        assert acl.mdl.add_dataset_buffer(dataset, acl.create_data_buffer(address, size)) == (dataset, 0)
    return dataset


def test_buffers_that_do_not_fit(pair: int) -> None:
    """C079: too few and null buffers are 100000, short ones errors with both sizes; more and larger ones are taken."""
    a, b = np.ones((2, 3), np.float32), np.ones((2, 4), np.float32)
    pa, pb, po, pq = put(a), put(b), put(np.zeros(64, np.float32)), put(np.zeros(64, np.float32))
    inputs, outputs = _dataset((pa, 24), (pb, 32)), _dataset((po, 24), (pq, 32))
    ok(acl.mdl.execute(pair, inputs, outputs))

    assert acl.mdl.execute(pair, _dataset((pa, 24)), outputs) == 100000
    assert acl.mdl.execute(pair, inputs, _dataset((po, 24))) == 100000
    assert acl.mdl.execute(pair, _dataset(), outputs) == 100000
    assert acl.mdl.execute(pair, _dataset((pa, 24), (0, 0)), outputs) == 100000
    assert acl.mdl.execute(pair, _dataset((pa, 24), (0, 32)), outputs) == 100000
    assert acl.mdl.execute(pair, _dataset((pa, 24), (pb, 31)), outputs) == 100017
    text = acl.get_recent_err_msg() or ""
    assert all(word in text for word in ("place 1", "32", "31", "(b)"))
    assert acl.mdl.execute(pair, inputs, _dataset((po, 24), (pq, 8))) == 100018
    assert acl.mdl.execute(pair, _dataset((pa, 24), (8, 32)), outputs) == 107000
    assert acl.mdl.execute(pair, 0, outputs) == acl.mdl.execute(pair, inputs, 12345) == 100000
    assert acl.mdl.execute(pair, _dataset((pa, 24), (pb, 32), (pa, 24)), outputs) == 0
    assert acl.mdl.execute(pair, inputs, _dataset((po, 256), (pq, 256))) == 0
    np.testing.assert_array_equal(get(pq, b), b * 3)
    for wrong in ("1", None):
        with pytest.raises(TypeError):
            untyped.mdl.execute(wrong, inputs, outputs)


def test_half_the_bytes_of_an_input(model: int) -> None:
    """C080: a float16 array for a float32 input is 100017, with the index and both sizes in the text; more is taken."""
    wanted = Dataset(np.zeros_like(X))
    assert acl.mdl.execute(model, Dataset(X.astype(np.float16)).handle, wanted.handle) == 100017
    text = acl.get_recent_err_msg() or ""
    assert all(number in text for number in ("16", "8"))

    assert acl.mdl.execute(model, Dataset(np.tile(X, 4)).handle, wanted.handle) == 0
    np.testing.assert_array_equal(wanted.read(), X + 1)


def test_a_failing_run_poisons_nothing(device: int, tmp_path: Path) -> None:
    """C077: an index out of range makes the run fail with 507011 and the node in the text; the next run is well."""
    model = good(acl.mdl.load_from_file(gather(tmp_path)))
    x, wanted = np.arange(4, dtype=np.float32), Dataset(np.zeros(1, np.float32))
    bad, fine = Dataset(x, np.array([9])), Dataset(x, np.array([2]))

    assert acl.mdl.execute(model, bad.handle, wanted.handle) == 507011
    assert "picks" in (acl.get_recent_err_msg() or "")
    assert acl.mdl.execute(model, fine.handle, wanted.handle) == 0
    assert wanted.read().tolist() == [2]


def test_asynchronous_failures_belong_to_their_stream(device: int, tmp_path: Path) -> None:
    """C044: the submission is 0; the failing stream's synchronise is 507011 and names the model; the other is 0."""
    model = good(acl.mdl.load_from_file(gather(tmp_path)))
    x, one, two = np.arange(4, dtype=np.float32), good(acl.rt.create_stream()), good(acl.rt.create_stream())
    bad, fine = Dataset(x, np.array([9])), Dataset(x, np.array([3]))
    lost, wanted = Dataset(np.zeros(1, np.float32)), Dataset(np.zeros(1, np.float32))
    assert acl.mdl.execute_async(model, bad.handle, lost.handle, one) == 0
    assert acl.mdl.execute_async(model, fine.handle, wanted.handle, two) == 0

    assert acl.rt.synchronize_stream(two) == 0
    assert wanted.read().tolist() == [3]
    assert acl.rt.synchronize_stream(one) == 507011
    assert "'gather'" in (acl.get_recent_err_msg() or "")
    assert acl.rt.synchronize_stream(one) == 0
    ok(acl.mdl.execute_async(model, fine.handle, lost.handle, one))
    ok(acl.rt.synchronize_stream(one))
    assert lost.read().tolist() == [3]


def test_the_exception_callback_sees_a_failing_run(device: int, tmp_path: Path) -> None:
    """set_exception_info_callback is told of a model's failure, with its code."""
    codes: list[int] = []
    ok(acl.rt.set_exception_info_callback(lambda info: codes.append(acl.rt.get_error_code_from_exception_info(info))))
    model = good(acl.mdl.load_from_file(gather(tmp_path)))
    bad = Dataset(np.arange(4, dtype=np.float32), np.array([9]))
    ok(acl.mdl.execute_async(model, bad.handle, Dataset(np.zeros(1, np.float32)).handle, 0))

    assert acl.rt.synchronize_stream(0) == 507011
    assert codes == [507011]


def test_what_is_told_of_a_failing_run(device: int, tmp_path: Path) -> None:
    """The exception callback learns the operator, and the run's inputs and outputs with their addresses."""
    told: list[tuple[str, int, int, int, int, int]] = []

    def failed(info: int) -> None:
        numbers = (
            acl.rt.get_device_id_from_exception_info(info),
            acl.rt.get_stream_id_from_exception_info(info),
            acl.rt.get_task_id_from_exception_info(info),
        )
        told.append(acl.mdl.create_and_get_op_desc(*numbers, 256))
        told.append(acl.mdl.create_and_get_op_desc(*numbers, 5))

    ok(acl.rt.set_exception_info_callback(failed))
    model, stream = good(acl.mdl.load_from_file(gather(tmp_path))), good(acl.rt.create_stream())
    bad, wanted = Dataset(np.arange(4, dtype=np.float32), np.array([9])), Dataset(np.zeros(1, np.float32))
    ok(acl.mdl.execute_async(model, bad.handle, wanted.handle, stream))
    assert acl.rt.synchronize_stream(stream) == 507011

    name, inputs, number_of_inputs, outputs, number_of_outputs, ret = told[0]
    assert (name, number_of_inputs, number_of_outputs, ret) == ("picks", 2, 1, 0)
    assert told[1] == ("", 0, 0, 0, 0, 100000)
    each = [acl.get_tensor_desc_by_index(inputs, i) for i in range(2)]
    assert each[0] == inputs
    assert [acl.get_tensor_desc_type(desc) for desc in each] == [0, 9]
    assert [acl.get_tensor_desc_address(desc) for desc in each] == bad.pointers
    assert acl.get_tensor_desc_address(outputs) == wanted.pointers[0]
    assert [acl.get_tensor_desc_by_index(inputs, i) for i in (-1, 2)] == [0, 0]
    own = acl.create_tensor_desc(0, [1], 2)
    assert (acl.get_tensor_desc_by_index(own, 0), acl.get_tensor_desc_address(own)) == (own, 0)
    assert acl.get_tensor_desc_by_index(0, 0) == acl.get_tensor_desc_address(31337) == 0
    assert acl.mdl.create_and_get_op_desc(0, 0, 0, 256) == ("", 0, 0, 0, 0, 100000)
    acl.destroy_tensor_desc(inputs)
    acl.destroy_tensor_desc(outputs)


def test_unloading_in_a_callback_that_a_run_comes_after(model: int, gate: MakeGate, reporter: Reporter) -> None:
    """Unload in a blocking callback is 507004 while a run is queued behind it; the model stays, and the run succeeds."""
    stream, context = good(acl.rt.create_stream()), good(acl.rt.get_context())
    given, wanted = Dataset(X), Dataset(np.zeros_like(X))
    codes: list[int] = []
    held = gate(stream)

    def unload(_data: object) -> None:
        ok(acl.rt.set_context(context))
        codes.append(acl.mdl.unload(model))

    ok(acl.rt.launch_callback(unload, None, 1, stream))
    ok(acl.mdl.execute_async(model, given.handle, wanted.handle, stream))
    held.open()
    ok(acl.rt.synchronize_stream(stream))

    assert codes == [507004]
    np.testing.assert_array_equal(wanted.read(), X + 1)
    ok(acl.mdl.unload(model))


@pytest.mark.parametrize("offset", [0, 8])
@pytest.mark.parametrize("which", ["input", "output"])
def test_buffers_that_leave_malloc_host_memory(model: int, which: str, offset: int) -> None:
    """A buffer that begins in a malloc_host block and ends outside is 107000."""
    host, other = good(acl.rt.malloc_host(offset + 8)), Dataset(X)
    beyond = _dataset((host + offset, 16))
    pair = (beyond, other.handle) if which == "input" else (other.handle, beyond)

    assert acl.mdl.execute(model, *pair) == 107000
    assert "reach beyond" in (acl.get_recent_err_msg() or "")


def test_runs_take_their_place_in_the_stream(model: int, gate: MakeGate) -> None:
    """execute_async runs behind what is queued, with what is in the memory then."""
    stream, given, wanted = good(acl.rt.create_stream()), Dataset(X), Dataset(np.zeros_like(X))
    held = gate(stream)
    later = (X * 10).tobytes()
    ok(acl.rt.memcpy_async(given.pointers[0], 16, acl.util.bytes_to_ptr(later), 16, H2D, stream))
    ok(acl.mdl.execute_async(model, given.handle, wanted.handle, stream))
    assert not wanted.read().any()
    held.open()
    ok(acl.rt.synchronize_stream(stream))

    np.testing.assert_array_equal(wanted.read(), X * 10 + 1)


def test_a_run_waits_for_nothing_else(model: int, gate: MakeGate) -> None:
    """The blocking execute runs at once, though another stream, and the default one, are held up."""
    stream, given, wanted = good(acl.rt.create_stream()), Dataset(X), Dataset(np.zeros_like(X))
    for each in (stream, 0):
        gate(each)

    assert acl.mdl.execute(model, given.handle, wanted.handle) == 0
    np.testing.assert_array_equal(wanted.read(), X + 1)


def test_host_memory_and_batches_at_offsets(model: int) -> None:
    """C056: NumPy memory and addresses inside a block serve as inputs and outputs."""
    out, block = np.zeros_like(X), put(np.concatenate([X, X + 5, np.zeros_like(X)]))
    for given, wanted in ((X.ctypes.data, out.ctypes.data), (block + 16, block + 32), (X.ctypes.data, block + 32)):
        expected = get(given, X) + 1
        for _ in range(2):
            ok(acl.rt.memset(wanted, 16, 0, 16))
            ok(acl.mdl.execute(model, _dataset((given, 16)), _dataset((wanted, 16))))
            np.testing.assert_array_equal(get(wanted, X), expected)


def test_swapping_memory_of_a_dataset(model: int) -> None:
    """update_data_buffer changes what the next run reads; memory freed and allocated again is bound anew."""
    given, wanted = Dataset(X), Dataset(np.zeros_like(X))
    other = put(X + 7)
    ok(acl.mdl.execute(model, given.handle, wanted.handle))
    ok(acl.update_data_buffer(given.buffers[0], other, 16))
    ok(acl.mdl.execute(model, given.handle, wanted.handle))
    np.testing.assert_array_equal(wanted.read(), X + 8)

    ok(acl.rt.free(other))
    assert acl.mdl.execute(model, given.handle, wanted.handle) == 107000
    again = put(X + 2)
    assert again == other
    ok(acl.mdl.execute(model, given.handle, wanted.handle))
    np.testing.assert_array_equal(wanted.read(), X + 3)


def test_results_of_runs_are_read_or_overwritten(model: int) -> None:
    """C062: ptr_to_bytes results of three runs are distinct and stay; the memory holds the last."""
    given, wanted = Dataset(X), Dataset(np.zeros_like(X))
    results = []
    for value in (1, 2, 3):
        data = np.full((1, 4), value, np.float32).tobytes()
        ok(acl.rt.memcpy(given.pointers[0], 16, acl.util.bytes_to_ptr(data), 16, H2D))
        ok(acl.mdl.execute(model, given.handle, wanted.handle))
        results.append(acl.util.ptr_to_bytes(wanted.pointers[0], 16))

    assert [np.frombuffer(result, np.float32)[0] for result in results] == [2, 3, 4]


@pytest.fixture
def long(device: int, tmp_path: Path) -> tuple[int, Dataset, Dataset, Array]:
    """A model that runs for some hundred milliseconds, with datasets."""
    x = np.random.default_rng(3).standard_normal((512, 512)).astype(np.float32)
    return good(acl.mdl.load_from_file(slow(tmp_path))), Dataset(x), Dataset(np.zeros_like(x)), x


def test_a_time_limit_does_not_end_the_run(long: tuple[int, Dataset, Dataset, Array]) -> None:
    """C039: 507046 after 1 ms of a long run; the run goes on, a plain synchronise gives 0 and the outputs are right."""
    model, given, wanted, x = long
    stream = good(acl.rt.create_stream())
    ok(acl.mdl.execute_async(model, given.handle, wanted.handle, stream))

    assert acl.rt.synchronize_stream_with_timeout(stream, 1) == 507046
    assert "model" not in (acl.get_recent_err_msg() or "")
    ok(acl.rt.synchronize_stream(stream))
    np.testing.assert_allclose(wanted.read(), x, rtol=1e-4)


def test_other_threads_run_during_a_model(long: tuple[int, Dataset, Dataset, Array]) -> None:
    """C030: a blocking execute releases the GIL: another thread counts on meanwhile."""
    model, given, wanted, _ = long
    ticks, stop = 0, threading.Event()

    def tick() -> None:
        nonlocal ticks
        while not stop.wait(0.002):
            ticks += 1

    thread = threading.Thread(target=tick)
    thread.start()
    try:
        began, before = time.perf_counter(), ticks
        ok(acl.mdl.execute(model, given.handle, wanted.handle))
        elapsed, counted = time.perf_counter() - began, ticks - before
    finally:
        stop.set()
        thread.join()

    assert counted >= elapsed / 0.002 / 10


def test_unloading_waits_for_queued_runs(long: tuple[int, Dataset, Dataset, Array]) -> None:
    """Unload right after execute_async waits for the run, whose result is complete."""
    model, given, wanted, x = long
    ok(acl.mdl.execute_async(model, given.handle, wanted.handle, 0))

    assert acl.mdl.unload(model) == 0
    ok(acl.rt.synchronize_stream(0))
    np.testing.assert_allclose(wanted.read(), x, rtol=1e-4)


def test_resetting_with_a_run_under_way(long: tuple[int, Dataset, Dataset, Array]) -> None:
    """C174: a reset in another thread while a run is under way ends within seconds, and so does the waiting thread."""
    model, given, wanted, _ = long
    ok(acl.mdl.execute_async(model, given.handle, wanted.handle, 0))
    codes: list[int] = []
    resetter = threading.Thread(target=lambda: codes.append(acl.rt.reset_device_force(0)))
    resetter.start()
    code = acl.rt.synchronize_stream(0)
    resetter.join(5)

    assert not resetter.is_alive()
    assert codes == [0]
    assert code in (0, 107002, 107017)
    assert acl.mdl.execute(model, given.handle, wanted.handle) in (107002, 145003)


def test_callbacks_after_runs(model: int, reporter: Reporter) -> None:
    """A callback that was launched behind a run sees its result; five of them come in order."""
    stream = good(acl.rt.create_stream())
    given, wanted = Dataset(X), Dataset(np.zeros_like(X))
    host = good(acl.rt.malloc_host(16))
    seen: list[tuple[int, float]] = []
    ok(acl.rt.subscribe_report(reporter.thread, stream))
    for number in range(5):
        data = (X + number).tobytes()
        ok(acl.rt.memcpy_async(given.pointers[0], 16, acl.util.bytes_to_ptr(data), 16, H2D, stream))
        ok(acl.mdl.execute_async(model, given.handle, wanted.handle, stream))
        ok(acl.rt.memcpy_async(host, 16, wanted.pointers[0], 16, D2H, stream))
        ok(
            acl.rt.launch_callback(
                lambda user: seen.append((user[0], float(acl.util.ptr_to_numpy(host, (4,), 11)[0]))),
                [number],
                1,
                stream,
            )
        )
    ok(acl.rt.synchronize_stream(stream))

    assert seen == [(number, number + 1.0) for number in range(5)]


def test_one_model_on_several_threads(model: int) -> None:
    """Four threads that run one model on memory of their own all get their own results."""
    context, failures = good(acl.rt.get_context()), []

    def work(seed: int) -> None:
        ok(acl.rt.set_context(context))
        given, wanted = Dataset(X * seed), Dataset(np.zeros_like(X))
        for _ in range(50):
            ok(acl.rt.memset(wanted.pointers[0], 16, 0, 16))
            ok(acl.mdl.execute(model, given.handle, wanted.handle))
            if (wanted.read() != X * seed + 1).any():
                failures.append(seed)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert failures == []


def test_two_thousand_runs_leave_memory_flat(tmp_path: Path) -> None:
    """C170: 2,000 runs, waited for and submitted, with copies and buffers made anew: no growth after run 400."""
    add1(tmp_path)

    out = run_program(
        """
        import acl, threading, os, numpy as np
        def rss():
            return int(open("/proc/self/statm").read().split()[1]) * 4096
        x = np.arange(4, dtype=np.float32)
        acl.init(); acl.rt.set_device(0)
        model, _ = acl.mdl.load_from_file("add1.om")
        stream, _ = acl.rt.create_stream()
        wrong = 0
        def run(turn):
            sets, pointers = [], []
            for _ in range(2):
                pointer, _ = acl.rt.malloc(16, 0)
                sets.append(acl.mdl.create_dataset()); pointers.append(pointer)
                acl.mdl.add_dataset_buffer(sets[-1], acl.create_data_buffer(pointer, 16))
            acl.rt.memcpy(pointers[0], 16, acl.util.bytes_to_ptr((x * turn).tobytes()), 16, 1)
            if turn % 2:
                code = acl.mdl.execute(model, *sets)
            else:
                code = acl.mdl.execute_async(model, *sets, stream) or acl.rt.synchronize_stream(stream)
            right = acl.util.ptr_to_bytes(pointers[1], 16) == (x * turn + 1).tobytes()
            for one, pointer in zip(sets, pointers):
                acl.destroy_data_buffer(acl.mdl.get_dataset_buffer(one, 0)); acl.mdl.destroy_dataset(one)
                acl.rt.free(pointer)
            return code or not right
        bad = sum(run(turn) for turn in range(400))
        before, threads, files = rss(), threading.active_count(), len(os.listdir("/proc/self/fd"))
        bad += sum(run(turn) for turn in range(1600))
        growth = rss() - before
        print(bad, growth < 2 << 20, threading.active_count() <= threads, len(os.listdir("/proc/self/fd")) <= files)
        acl.finalize()
        """,
        folder=tmp_path,
    )

    assert out == "0 True True True\n"
