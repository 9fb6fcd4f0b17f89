"""Models with free dims: the memory that a program gives their inputs and outputs."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import acl
from tests.compat._models import nonzero
from tests.compat._programs import Dataset, MakeGate, good, ok, put, run_program
from tests.compat._shapes import rows, say

GUARD = 0xAB


def test_inputs_that_are_too_small(model: int) -> None:
    """An input buffer below the size of the shape said is 100017, with both sizes in the text."""
    given, wanted = Dataset(rows(2)), Dataset(np.zeros((4, 4), np.float32))
    say(given.handle, (3, 4))

    assert acl.mdl.execute(model, given.handle, wanted.handle) == 100017
    text = acl.get_recent_err_msg() or ""
    assert "48" in text
    assert "32" in text


@pytest.mark.parametrize("known", [True, False])
def test_outputs_that_are_too_small(model: int, values: int, known: bool) -> None:
    """C098: an output that does not fit is 100018 with the size it needs, and nothing is written; a larger one is fine."""
    x = rows(3, 1)
    needed = 48 if known else 2 * 12 * 8
    given, guard = Dataset(x), np.full(needed + 64, GUARD, np.uint8)
    y, where = Dataset(guard), Dataset(np.zeros_like(x), guard)
    wanted, used = (y, model) if known else (where, values)
    handle, buffer, place = (wanted.handle, wanted.buffers[-1], len(wanted.buffers) - 1)
    say(given.handle, (3, 4))
    ok(acl.update_data_buffer(buffer, wanted.pointers[-1], needed - 1))

    assert acl.mdl.execute(used, given.handle, handle) == 100018
    assert str(needed) in (acl.get_recent_err_msg() or "")
    code = acl.mdl.execute_async(used, given.handle, handle, 0) or acl.rt.synchronize_stream(0)
    assert code == 100018
    assert (wanted.read(place) == GUARD).all()
    ok(acl.update_data_buffer(buffer, wanted.pointers[-1], needed + 64))
    ok(acl.mdl.execute(used, given.handle, handle))
    assert (wanted.read(place)[needed:] == GUARD).all()
    expected = (x + 1) if known else np.array(np.nonzero(x))
    np.testing.assert_array_equal(wanted.read(place)[:needed].view(expected.dtype).reshape(expected.shape), expected)


def test_host_memory(values: int) -> None:
    """Inputs and outputs of unknown size may lie in host memory."""
    x, y, where = rows(2, 1), np.zeros((2, 4), np.float32), np.zeros((2, 12), np.int64)
    given, wanted = acl.mdl.create_dataset(), acl.mdl.create_dataset()
    for dataset, array in ((given, x), (wanted, y), (wanted, where)):
        buffer = acl.create_data_buffer(array.ctypes.data, array.nbytes)
        assert acl.mdl.add_dataset_buffer(dataset, buffer) == (dataset, 0)
    say(given, (2, 4))
    for _ in range(2):
        ok(acl.mdl.execute(values, given, wanted))

    np.testing.assert_array_equal(y, x + 1)
    np.testing.assert_array_equal(where.ravel()[:16].reshape(2, 8), np.array(np.nonzero(x)))


def test_big_then_small_many_times(tmp_path: Path) -> None:
    """C101: 1000 and 10 rows in turn, in the program's memory and in the runtime's: right results, memory flat."""
    nonzero(tmp_path)

    out = run_program(
        """
        import acl, numpy as np
        def rss():
            return int(open("/proc/self/statm").read().split()[1]) * 4096
        acl.init(); acl.rt.set_device(0)
        model, _ = acl.mdl.load_from_file("nonzero.om")
        x = np.arange(4000, dtype=np.float32).reshape(1000, 4)
        given, own, null = (acl.mdl.create_dataset() for _ in range(3))
        acl.mdl.add_dataset_buffer(given, acl.create_data_buffer(x.ctypes.data, x.nbytes))
        for dataset, sizes in ((own, (16000, 64000)), (null, (0, 0))):
            for size in sizes:
                pointer = acl.rt.malloc(size, 0)[0] if size else 0
                acl.mdl.add_dataset_buffer(dataset, acl.create_data_buffer(pointer, size))
        wrong = set()
        def run(turn):
            count, wanted = (1000, 10)[turn % 2], (own, null)[turn // 2 % 2]
            desc = acl.create_tensor_desc(0, [count, 4], 2)
            acl.mdl.set_dataset_tensor_desc(given, desc, 0); acl.destroy_tensor_desc(desc)
            code = acl.mdl.execute(model, given, wanted)
            buffers = [acl.mdl.get_dataset_buffer(wanted, i) for i in range(2)]
            size = acl.get_tensor_desc_size(acl.mdl.get_dataset_tensor_desc(wanted, 0))
            data = acl.util.ptr_to_bytes(acl.get_data_buffer_addr(buffers[0]), size)
            if code or data != (x[:count] + 1).tobytes():
                wrong.add(turn)
            if wanted is null:
                for buffer in buffers:
                    acl.rt.free(acl.get_data_buffer_addr(buffer)); acl.update_data_buffer(buffer, 0, 0)
        for turn in range(200): run(turn)
        before = rss()
        for turn in range(1000): run(turn)
        print(wrong, rss() - before < 2 << 20)
        acl.finalize()
        """,
        folder=tmp_path,
    )

    assert out == "set() True\n"


def test_freeing_memory_under_a_queued_run(values: int, gate: MakeGate) -> None:
    """Memory freed while a run is queued is used to the end: the synchronise is 0, and further runs are 107000."""
    stream, x = good(acl.rt.create_stream()), rows(2, 1)
    pointer = put(x)
    given, wanted = acl.mdl.create_dataset(), Dataset(np.zeros_like(x), np.zeros(40, np.int64))
    assert acl.mdl.add_dataset_buffer(given, acl.create_data_buffer(pointer, x.nbytes)) == (given, 0)
    say(given, (2, 4))
    held = gate(stream)
    ok(acl.mdl.execute_async(values, given, wanted.handle, stream))
    ok(acl.rt.free(pointer))
    held.open()

    ok(acl.rt.synchronize_stream(stream))
    np.testing.assert_array_equal(wanted.read(), x + 1)
    assert acl.mdl.execute(values, given, wanted.handle) == 107000
