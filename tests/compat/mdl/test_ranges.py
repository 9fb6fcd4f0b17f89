"""Models with free dims: shapes said before a run, shapes told after it, memory that the runtime gives."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest

import acl
from acl._handles import open_handles
from tests.compat._models import found, nonzero, ranged
from tests.compat._programs import FLOAT, INT64, ND, Array, Dataset, MakeGate, good, ok, put, run_program, untyped

GUARD = 0xAB


def say(dataset: int, *shapes: tuple[int, ...]) -> None:
    """Say the shapes of a dataset's buffers, and destroy the descriptions at once."""
    for position, shape in enumerate(shapes):
        desc = acl.create_tensor_desc(FLOAT, [*shape], ND)
        assert acl.mdl.set_dataset_tensor_desc(dataset, desc, position) == (dataset, 0)
        acl.destroy_tensor_desc(desc)


def told(dataset: int, position: int = 0) -> tuple[int, ...]:
    """Return the shape that a dataset says of a buffer."""
    desc = acl.mdl.get_dataset_tensor_desc(dataset, position)
    assert desc
    return tuple([good(acl.get_tensor_desc_dim_v2(desc, i)) for i in range(acl.get_tensor_desc_num_dims(desc))])


def nulls(count: int) -> tuple[int, list[int]]:
    """Return a dataset of (0, 0) buffers, and these."""
    dataset = acl.mdl.create_dataset()
    buffers = [acl.create_data_buffer(0, 0) for _ in range(count)]
    for buffer in buffers:
        assert acl.mdl.add_dataset_buffer(dataset, buffer) == (dataset, 0)
    return dataset, buffers


def contents(buffer: int, dtype: type, shape: tuple[int, ...]) -> Array:
    """Return what a data buffer holds."""
    data = acl.util.ptr_to_bytes(acl.get_data_buffer_addr(buffer), acl.get_data_buffer_size_v2(buffer))
    return np.frombuffer(data, dtype).reshape(shape)


def rows(count: int, start: float = 0) -> Array:
    """Return float32 [count, 4]."""
    return np.arange(start, start + count * 4, dtype=np.float32).reshape(count, 4)


@pytest.fixture
def model(device: int, tmp_path: Path) -> int:
    """Y = x + 1, float32 [n, 4], n being 1 to 1000."""
    handle: int = good(acl.mdl.load_from_file(ranged(tmp_path, "x:1~1000,4")))
    return handle


@pytest.fixture
def values(device: int, tmp_path: Path) -> int:
    """Y = x + 1 and where = NonZero(x), int64 [2, k]."""
    handle: int = good(acl.mdl.load_from_file(nonzero(tmp_path)))
    return handle


def test_what_a_model_with_ranges_says(model: int) -> None:
    """C096: sizes are 0 and free dims -1, ranges are told, and an allocation of such a size is 100000."""
    desc = acl.mdl.create_desc()
    ok(acl.mdl.get_desc(desc, model))

    assert acl.mdl.get_num_inputs(desc) == 1
    assert acl.mdl.get_input_size_by_index(desc, 0) == acl.mdl.get_output_size_by_index(desc, 0) == 0
    assert acl.mdl.get_input_dims(desc, 0)[0]["dims"] == acl.mdl.get_output_dims(desc, 0)[0]["dims"] == [-1, 4]
    assert acl.mdl.get_input_dims_range(desc, 0) == ({"rangeCount": 2, "range": [[1, 1000], [4, 4]]}, 0)
    assert acl.mdl.get_input_dims_range(desc, 1) == ({}, 100000)
    assert acl.mdl.get_cur_output_dims(desc, 0) == ({}, 200001)
    assert acl.rt.malloc(acl.mdl.get_output_size_by_index(desc, 0), 0) == (0, 100000)


def test_shapes_before_and_after(model: int) -> None:
    """A run takes the shape said before, and the output dataset has shape, type and size after it."""
    given, wanted = Dataset(rows(10)), Dataset(np.zeros((10, 4), np.float32))
    for count in (3, 10, 1):
        say(given.handle, (count, 4))
        ok(acl.mdl.execute(model, given.handle, wanted.handle))
        desc = acl.mdl.get_dataset_tensor_desc(wanted.handle, 0)

        assert told(wanted.handle) == (count, 4)
        assert acl.get_tensor_desc_size(desc) == count * 16
        assert acl.get_tensor_desc_type(desc) == FLOAT
        np.testing.assert_array_equal(wanted.read()[:count], rows(count) + 1)


def test_only_the_dims_of_a_description_matter(model: int) -> None:
    """C099: type and format of what is said make no difference; null takes it back, and a run without it is an error."""
    given, wanted = Dataset(rows(2)), Dataset(np.zeros((2, 4), np.float32))
    assert acl.mdl.execute(model, given.handle, wanted.handle) == 100000
    text = acl.get_recent_err_msg() or ""
    assert "set_dataset_tensor_desc" in text
    assert "'x'" in text

    desc = acl.create_tensor_desc(INT64, [2, 4], 0)
    assert acl.mdl.set_dataset_tensor_desc(given.handle, desc, 0) == (given.handle, 0)
    acl.destroy_tensor_desc(desc)
    ok(acl.mdl.execute(model, given.handle, wanted.handle))
    np.testing.assert_array_equal(wanted.read(), rows(2) + 1)
    before = open_handles()
    for _ in range(1000):
        say(given.handle, (2, 4))
    assert open_handles() == before
    for none in (0.0, None, np.array([1, 2])):
        with pytest.raises(TypeError):
            acl.mdl.set_dataset_tensor_desc(given.handle, cast(Any, none), 0)
    ok(acl.mdl.execute(model, given.handle, wanted.handle))
    assert acl.mdl.set_dataset_tensor_desc(given.handle, 0, 0) == (given.handle, 0)
    assert acl.mdl.execute(model, given.handle, wanted.handle) == 100000


@pytest.mark.parametrize("shape", [(0, 4), (1001, 4), (2, 5), (2, 4, 1), (2,), (-1, 4)])
def test_shapes_outside_the_range(model: int, shape: tuple[int, ...]) -> None:
    """A shape that the model does not take is refused by both calls, with input, shape and range in the text."""
    given, wanted = Dataset(rows(2)), Dataset(np.full((2, 4), -7, np.float32))
    say(given.handle, shape)
    for extra in ((), (0,)):
        run = untyped.mdl.execute_async if extra else untyped.mdl.execute
        assert run(model, given.handle, wanted.handle, *extra) == 100017
        text = acl.get_recent_err_msg() or ""
        assert all(each in text for each in ("'x'", str([*shape])))
        assert "1 to 1000" in text or shape == (-1, 4)
    assert (wanted.read() == -7).all()

    say(given.handle, (2, 4))
    ok(acl.mdl.execute(model, given.handle, wanted.handle))


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


def test_outputs_whose_shape_values_decide(values: int) -> None:
    """A run tells the shape that values decided; dims of the other output are those that follow from the input."""
    given, wanted = Dataset(rows(5)), Dataset(np.zeros((5, 4), np.float32), np.zeros(80, np.int64))
    for x in (rows(5), np.zeros((5, 4), np.float32), np.eye(2, 4, dtype=np.float32)):
        ok(acl.rt.memcpy(given.pointers[0], x.nbytes, x.ctypes.data, x.nbytes, 1))
        say(given.handle, x.shape)
        ok(acl.mdl.execute(values, given.handle, wanted.handle))
        expected = np.array(np.nonzero(x))

        assert (told(wanted.handle, 0), told(wanted.handle, 1)) == (x.shape, expected.shape)
        np.testing.assert_array_equal(wanted.read(1)[: expected.size].reshape(expected.shape), expected)


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


@pytest.mark.parametrize("null", [True, False])
def test_no_rows(device: int, tmp_path: Path, null: bool) -> None:
    """C103: a result without elements is a success: dims (0, 4) and size 0, in a null buffer as in a given one."""
    model = good(acl.mdl.load_from_file(found(tmp_path)))
    given = Dataset(rows(3), np.zeros(3, np.float32))
    other = Dataset(np.full((3, 4), -7, np.float32))
    wanted, buffers = nulls(1) if null else (other.handle, other.buffers)
    say(given.handle, (3, 4), (3,))
    ok(acl.mdl.execute(model, given.handle, wanted))
    desc = acl.mdl.get_dataset_tensor_desc(wanted, 0)

    assert told(wanted) == (0, 4)
    assert acl.get_tensor_desc_size(desc) == acl.get_tensor_desc_element_count(desc) == 0
    assert acl.get_data_buffer_size_v2(buffers[0]) == (0 if null else 48)
    assert (other.read() == -7).all()
    say(given.handle, (0, 4), (0,))
    if null:
        ok(acl.rt.free(acl.get_data_buffer_addr(buffers[0])))
        ok(acl.update_data_buffer(buffers[0], 0, 0))
    ok(acl.mdl.execute(model, given.handle, wanted))
    assert told(wanted) == (0, 4)


def test_queued_runs_keep_their_shapes(values: int, gate: MakeGate) -> None:
    """Each of several queued runs has the shapes that were said when it was submitted; each dataset is told its own."""
    stream, x = good(acl.rt.create_stream()), rows(4, 1)
    given = Dataset(x)
    wanted = [Dataset(np.zeros_like(x), np.zeros(40, np.int64)) for _ in range(3)]
    held = gate(stream)
    for count, each in zip((4, 1, 3), wanted, strict=True):
        say(given.handle, (count, 4))
        ok(acl.mdl.execute_async(values, given.handle, each.handle, stream))
    held.open()
    ok(acl.rt.synchronize_stream(stream))

    assert [told(each.handle, 0) for each in wanted] == [(4, 4), (1, 4), (3, 4)]
    assert [told(each.handle, 1) for each in wanted] == [(2, 16), (2, 4), (2, 12)]


def test_shapes_are_told_when_the_stream_is_synchronised(values: int, gate: MakeGate) -> None:
    """While the run is queued the output says nothing of what values decide; after the synchronise it does."""
    stream, given = good(acl.rt.create_stream()), Dataset(rows(2, 1))
    wanted = Dataset(np.zeros((2, 4), np.float32), np.zeros(40, np.int64))
    say(given.handle, (2, 4))
    held = gate(stream)
    ok(acl.mdl.execute_async(values, given.handle, wanted.handle, stream))
    assert acl.mdl.get_dataset_tensor_desc(wanted.handle, 1) == 0
    held.open()
    ok(acl.rt.synchronize_stream(stream))

    assert told(wanted.handle, 1) == (2, 8)


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


def test_products_without_ranges(tmp_path: Path) -> None:
    """A product that cannot run such models is warned of at the load; in strict mode the load is 200001."""
    ranged(tmp_path)
    source = """
        import acl, warnings
        warnings.simplefilter("always")
        acl.init(); acl.rt.set_device(0)
        with warnings.catch_warnings(record=True) as caught:
            model, ret = acl.mdl.load_from_file("range.om")
        text = acl.get_recent_err_msg() or "".join(str(each.message) for each in caught)
        print(ret, bool(model), len(caught), "Ascend310B1" in text)
        acl.finalize()
        """

    assert run_program(source, folder=tmp_path, AACL_SOC="Ascend310B1") == "0 True 1 True\n"
    out = run_program(source, folder=tmp_path, AACL_SOC="Ascend310B1", AACL_STRICT="1")
    assert out == "200001 False 0 True\n"


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
