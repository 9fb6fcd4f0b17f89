"""Running models: the memory of their inputs and outputs."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import acl
from tests.compat._programs import H2D, Dataset, add1, get, good, ok, put, run_program, untyped

X = np.arange(4, dtype=np.float32).reshape(1, 4)


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
    assert "1 of the 2 buffers that it needs, one for each input of model" in (acl.get_recent_err_msg() or "")
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


@pytest.mark.parametrize("offset", [0, 8])
@pytest.mark.parametrize("which", ["input", "output"])
def test_buffers_that_leave_malloc_host_memory(model: int, which: str, offset: int) -> None:
    """A buffer that begins in a malloc_host block and ends outside is 107000."""
    host, other = good(acl.rt.malloc_host(offset + 8)), Dataset(X)
    beyond = _dataset((host + offset, 16))
    pair = (beyond, other.handle) if which == "input" else (other.handle, beyond)

    assert acl.mdl.execute(model, *pair) == 107000
    assert "reach beyond" in (acl.get_recent_err_msg() or "")


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
