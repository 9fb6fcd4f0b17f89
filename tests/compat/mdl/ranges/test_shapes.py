"""Models with free dims: shapes said before a run and told after it."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest

import acl
from acl._handles import open_handles
from tests.compat._models import found, ranged
from tests.compat._programs import FLOAT, INT64, Dataset, MakeGate, good, ok, run_program, untyped
from tests.compat._shapes import nulls, rows, say, told


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
