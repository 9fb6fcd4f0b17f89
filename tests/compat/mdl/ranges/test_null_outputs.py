"""Models with free dims: outputs whose memory the runtime gives."""

from __future__ import annotations

import numpy as np
import pytest

import acl
from acl._handles import open_handles
from tests.compat._programs import Dataset, MakeGate, good, ok, put
from tests.compat._shapes import contents, nulls, rows, say, told


def test_null_outputs_get_memory(values: int) -> None:
    """(0, 0) buffers have the exact size after the run, on memory of the program's own that acl.rt.free takes."""
    x = rows(3)
    given = Dataset(x)
    wanted, buffers = nulls(2)
    say(given.handle, (3, 4))
    for asynchronous in (False, True):
        blocks = open_handles()["device block"]
        if asynchronous:
            ok(acl.mdl.execute_async(values, given.handle, wanted, 0))
            ok(acl.rt.synchronize_stream(0))
        else:
            ok(acl.mdl.execute(values, given.handle, wanted))
        where = np.array(np.nonzero(x))

        assert (told(wanted, 0), told(wanted, 1)) == (x.shape, where.shape)
        np.testing.assert_array_equal(contents(buffers[0], np.float32, x.shape), x + 1)
        np.testing.assert_array_equal(contents(buffers[1], np.int64, where.shape), where)
        assert open_handles()["device block"] == blocks + 2
        for buffer in buffers:
            ok(acl.rt.free(acl.get_data_buffer_addr(buffer)))
            ok(acl.update_data_buffer(buffer, 0, 0))
        assert open_handles()["device block"] == blocks


def test_memory_that_was_given_serves_further_runs(model: int) -> None:
    """A buffer that got memory is a buffer like others: the next run writes there, and too large a result is 100018."""
    given = Dataset(rows(4))
    wanted, (buffer,) = nulls(1)
    say(given.handle, (3, 4))
    ok(acl.mdl.execute(model, given.handle, wanted))
    address = acl.get_data_buffer_addr(buffer)
    say(given.handle, (2, 4))
    ok(acl.mdl.execute(model, given.handle, wanted))

    assert acl.get_data_buffer_addr(buffer) == address
    assert told(wanted) == (2, 4)
    say(given.handle, (4, 4))
    assert acl.mdl.execute(model, given.handle, wanted) == 100018
    ok(acl.rt.free(address))
    assert acl.mdl.execute(model, given.handle, wanted) in (100018, 107000)


def test_null_outputs_of_queued_runs(model: int, gate: MakeGate) -> None:
    """Of two queued runs with one (0, 0) buffer it has the later one's result, and the memory of one."""
    stream, given = good(acl.rt.create_stream()), Dataset(rows(4))
    wanted, (buffer,) = nulls(1)
    blocks = open_handles()["device block"]
    held = gate(stream)
    for count in (4, 2):
        say(given.handle, (count, 4))
        ok(acl.mdl.execute_async(model, given.handle, wanted, stream))
    assert acl.get_data_buffer_addr(buffer) == 0
    held.open()
    ok(acl.rt.synchronize_stream(stream))

    assert told(wanted) == (2, 4)
    np.testing.assert_array_equal(contents(buffer, np.float32, (2, 4)), rows(2) + 1)
    assert open_handles()["device block"] == blocks + 1
    ok(acl.rt.free(acl.get_data_buffer_addr(buffer)))


@pytest.mark.parametrize("end", ["buffer", "dataset"])
def test_null_outputs_destroyed_under_a_queued_run(model: int, gate: MakeGate, end: str) -> None:
    """A buffer or dataset that the program destroys while the run is queued gets nothing, and nothing is left."""
    stream, given = good(acl.rt.create_stream()), Dataset(rows(2))
    wanted, (buffer,) = nulls(1)
    blocks = open_handles()["device block"]
    say(given.handle, (2, 4))
    held = gate(stream)
    ok(acl.mdl.execute_async(model, given.handle, wanted, stream))
    ok(acl.mdl.destroy_dataset(wanted))
    if end == "buffer":
        ok(acl.destroy_data_buffer(buffer))
    held.open()
    ok(acl.rt.synchronize_stream(stream))

    left = open_handles()["device block"] - blocks
    assert left == (0 if end == "buffer" else 1)
    if end == "dataset":
        ok(acl.rt.free(acl.get_data_buffer_addr(buffer)))


def test_null_buffers_elsewhere(model: int, values: int) -> None:
    """A null output of a size that is not 0, and a null input, are 100000."""
    given, wanted = Dataset(rows(2)), Dataset(np.zeros((2, 4), np.float32))
    say(given.handle, (2, 4))
    ok(acl.update_data_buffer(wanted.buffers[0], 0, 32))
    assert acl.mdl.execute(model, given.handle, wanted.handle) == 100000
    ok(acl.update_data_buffer(wanted.buffers[0], wanted.pointers[0], 32))
    ok(acl.update_data_buffer(given.buffers[0], 0, 0))
    assert acl.mdl.execute(model, given.handle, wanted.handle) == 100000


def test_null_outputs_that_the_program_filled_meanwhile(model: int, gate: MakeGate) -> None:
    """A buffer that the program gives other memory while the run is queued keeps that."""
    stream, given, own = good(acl.rt.create_stream()), Dataset(rows(2)), put(rows(2) - 9)
    wanted, (buffer,) = nulls(1)
    blocks = open_handles()["device block"]
    say(given.handle, (2, 4))
    held = gate(stream)
    ok(acl.mdl.execute_async(model, given.handle, wanted, stream))
    ok(acl.update_data_buffer(buffer, own, 32))
    held.open()
    ok(acl.rt.synchronize_stream(stream))

    assert (acl.get_data_buffer_addr(buffer), acl.get_data_buffer_size_v2(buffer)) == (own, 32)
    np.testing.assert_array_equal(contents(buffer, np.float32, (2, 4)), rows(2) - 9)
    assert open_handles()["device block"] == blocks


def test_null_outputs_and_an_allocator(values: int) -> None:
    """What the runtime allocates for the program is its own, whatever allocator the stream has, and outlives that."""
    stream, x = good(acl.rt.create_stream()), rows(3, 1)
    live: dict[int, int] = {}

    def allocate(pool: dict[int, int], size: int) -> int:
        pool[len(pool) + 1] = good(acl.rt.malloc(size, 0))
        return len(pool)

    desc = acl.rt.allocator_create_desc()
    ok(acl.rt.allocator_set_obj_to_desc(desc, live))
    ok(acl.rt.allocator_set_alloc_func_to_desc(desc, allocate))
    ok(acl.rt.allocator_set_alloc_advise_func_to_desc(desc, lambda pool, size, _address: allocate(pool, size)))
    ok(acl.rt.allocator_set_free_func_to_desc(desc, lambda pool, block: acl.rt.free(pool.pop(block))))
    ok(acl.rt.allocator_set_get_addr_from_block_func_to_desc(desc, live.__getitem__))
    ok(acl.rt.allocator_register(stream, desc))
    given, (wanted, buffers) = Dataset(x), nulls(2)
    say(given.handle, (3, 4))
    ok(acl.mdl.execute_async(values, given.handle, wanted, stream))
    ok(acl.rt.synchronize_stream(stream))
    ok(acl.rt.allocator_unregister(stream))
    ok(acl.rt.allocator_destroy_desc(desc))

    assert live == {}
    np.testing.assert_array_equal(contents(buffers[0], np.float32, (3, 4)), x + 1)
    np.testing.assert_array_equal(contents(buffers[1], np.int64, (2, 12)), np.array(np.nonzero(x)))
    for buffer in buffers:
        ok(acl.rt.free(acl.get_data_buffer_addr(buffer)))
