"""Models with gears: the hidden input, choosing a gear, and what descriptions say."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import acl
from tests.compat._models import batch, picture, ranged, two_free
from tests.compat._programs import INT32, ND, Dataset, MakeGate, add1, good, ok, put, untyped

HIDDEN = "ascend_mbatch_shape_data"
X = np.arange(16, dtype=np.float32).reshape(4, 4)


def _desc(model: int) -> int:
    desc: int = acl.mdl.create_desc()
    ok(acl.mdl.get_desc(desc, model))
    return desc


def _dims(*dims: int) -> dict[str, object]:
    return {"name": "", "dimCount": len(dims), "dims": [*dims]}


@pytest.fixture
def model(device: int, tmp_path: Path) -> int:
    """Y = x + 1, float32 [n, 4], with batch gears 1, 2 and 4."""
    handle: int = good(acl.mdl.load_from_file(batch(tmp_path)))
    return handle


def inputs_of(x: np.ndarray[tuple[int, ...], np.dtype[np.float32]] = X) -> Dataset:
    """Return the inputs of a run, with room for every gear, and the hidden one."""
    return Dataset(x, np.zeros(1, np.int32))


def test_the_hidden_input(model: int) -> None:
    """C090: there is one more input, the last, found by name, with a size; a program that allocates all runs."""
    desc = _desc(model)
    assert acl.mdl.get_num_inputs(desc) == 2
    assert acl.mdl.get_input_index_by_name(desc, HIDDEN) == (1, 0)
    assert acl.mdl.get_input_name_by_index(desc, 1) == HIDDEN
    assert acl.mdl.get_input_size_by_index(desc, 1) == 4
    assert acl.mdl.get_input_data_type(desc, 1) == INT32
    assert acl.mdl.get_input_format(desc, 1) == ND
    assert acl.mdl.get_input_dims(desc, 1) == ({"name": HIDDEN, "dimCount": 1, "dims": [1]}, 0)

    sizes = [acl.mdl.get_input_size_by_index(desc, i) for i in range(acl.mdl.get_num_inputs(desc))]
    given, wanted = Dataset(*[np.zeros(size, np.uint8) for size in sizes]), Dataset(np.zeros_like(X))
    ok(acl.rt.memcpy(given.pointers[0], X.nbytes, X.ctypes.data, X.nbytes, 1))
    ok(acl.mdl.set_dynamic_batch_size(model, given.handle, 1, 4))
    ok(acl.mdl.execute(model, given.handle, wanted.handle))
    np.testing.assert_array_equal(wanted.read(), X + 1)


def test_what_a_geared_model_says(model: int) -> None:
    """Input dims are -1 where the gear decides, output dims and sizes the largest gear's; others' getters are empty."""
    desc = _desc(model)

    assert acl.mdl.get_input_dims(desc, 0) == ({"name": "x", "dimCount": 2, "dims": [-1, 4]}, 0)
    assert acl.mdl.get_output_dims(desc, 0)[0]["dims"] == [4, 4]
    assert acl.mdl.get_input_size_by_index(desc, 0) == acl.mdl.get_output_size_by_index(desc, 0) == 64
    assert acl.mdl.get_dynamic_batch(desc) == ({"batchCount": 3, "batch": [1, 2, 4]}, 0)
    assert acl.mdl.get_dynamic_hw(desc, -1) == ({"hwCount": 0, "hw": []}, 0)
    assert acl.mdl.get_input_dynamic_gear_count(desc, -1) == (0, 0)
    assert acl.mdl.get_input_dynamic_dims(desc, -1, 0) == ([], 0)
    assert acl.mdl.get_input_dims_range(desc, 0) == ({"rangeCount": 0, "range": []}, 0)


@pytest.mark.parametrize("gear", [1, 2, 4])
def test_every_gear(model: int, gear: int) -> None:
    """A run takes and writes as many rows as the gear has, in buffers for the largest; the gear is in the hidden one."""
    given, wanted = inputs_of(), Dataset(np.full_like(X, -7))
    ok(acl.mdl.set_dynamic_batch_size(model, given.handle, 1, gear))
    ok(acl.mdl.execute(model, given.handle, wanted.handle))

    np.testing.assert_array_equal(wanted.read()[:gear], X[:gear] + 1)
    assert (wanted.read()[gear:] == -7).all()
    assert given.read(1).tolist() == [gear]


def test_a_smaller_gear_needs_smaller_buffers(model: int) -> None:
    """Buffers have to be as large as the gear in force; below that the text has both sizes."""
    given, wanted = inputs_of(X[:2]), Dataset(np.zeros_like(X[:2]))
    assert acl.mdl.execute(model, given.handle, wanted.handle) == 100017
    text = acl.get_recent_err_msg() or ""
    assert "64" in text
    assert "32" in text

    ok(acl.mdl.set_dynamic_batch_size(model, given.handle, 1, 2))
    ok(acl.mdl.execute(model, given.handle, wanted.handle))
    np.testing.assert_array_equal(wanted.read(), X[:2] + 1)


def test_the_largest_gear_is_in_force_until_one_is_chosen(model: int) -> None:
    """A dataset without a choice runs in the largest gear, with one warning at the program's own line; others keep theirs."""
    first, second, wanted = inputs_of(), inputs_of(X * 2), Dataset(np.zeros_like(X))
    ok(acl.mdl.set_dynamic_batch_size(model, first.handle, 1, 1))
    with pytest.warns(RuntimeWarning, match="no gear was chosen for this run of model 'batch'") as told:
        ok(acl.mdl.execute(model, second.handle, wanted.handle))
    assert [each.filename for each in told] == [__file__]
    np.testing.assert_array_equal(wanted.read(), X * 2 + 1)

    for _ in range(2):
        ok(acl.mdl.execute(model, first.handle, wanted.handle))
        np.testing.assert_array_equal(wanted.read(), np.concatenate([X[:1] + 1, X[1:] * 2 + 1]))
    ok(acl.mdl.execute(model, second.handle, wanted.handle))
    np.testing.assert_array_equal(wanted.read(), X * 2 + 1)


def test_strictly_a_run_needs_a_gear(device: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Semantics section 12: with AACL_STRICT=1 a run before a choice is 145013, on a run that is prepared already too."""
    monkeypatch.setenv("AACL_STRICT", "1")
    model = good(acl.mdl.load_from_file(batch(tmp_path)))
    given, wanted = inputs_of(), Dataset(np.zeros_like(X))
    for _ in range(2):
        assert acl.mdl.execute(model, given.handle, wanted.handle) == 145013
        assert "acl.mdl.set_dynamic_batch_size" in (acl.get_recent_err_msg() or "")
    assert not wanted.read().any()

    ok(acl.mdl.set_dynamic_batch_size(model, given.handle, 1, 4))
    ok(acl.mdl.execute(model, given.handle, wanted.handle))
    np.testing.assert_array_equal(wanted.read(), X + 1)
    again = acl.mdl.create_dataset()
    for position in range(2):
        assert acl.mdl.add_dataset_buffer(again, acl.mdl.get_dataset_buffer(given.handle, position)) == (again, 0)
    assert acl.mdl.execute(model, again, wanted.handle) == 145013


def test_gears_that_are_refused(model: int) -> None:
    """C092: 0 is 100000, no gear 145013, a short hidden buffer 145012, a null one 145011; the gear before stays."""
    given, wanted = inputs_of(), Dataset(np.zeros_like(X))
    ok(acl.mdl.set_dynamic_batch_size(model, given.handle, 1, 2))

    assert acl.mdl.set_dynamic_batch_size(model, given.handle, 1, 0) == 100000
    assert acl.mdl.set_dynamic_batch_size(model, given.handle, 1, -1) == 100000
    assert acl.mdl.set_dynamic_batch_size(model, given.handle, 1, 3) == 145013
    text = acl.get_recent_err_msg() or ""
    assert all(each in text for each in ("[3]", "[1], [2], [4]", "'batch'"))
    assert acl.mdl.set_dynamic_batch_size(model, given.handle, 0, 4) == 100000
    assert acl.mdl.set_dynamic_batch_size(model, given.handle, 2, 4) == 100000
    assert acl.mdl.set_dynamic_batch_size(model, Dataset(X).handle, 1, 4) == 100000
    assert acl.mdl.set_dynamic_batch_size(99, given.handle, 1, 4) == 145003
    assert acl.mdl.set_dynamic_batch_size(model, 99, 1, 4) == 100000
    assert acl.mdl.set_dynamic_hw_size(model, given.handle, 1, 4, 4) == 100019
    assert "set_dynamic_batch_size" in (acl.get_recent_err_msg() or "")
    assert acl.mdl.set_input_dynamic_dims(model, given.handle, 1, _dims(4, 4)) == 100019
    for address, size, code in ((given.pointers[1], 3, 145012), (0, 0, 145011), (8, 4, 107000)):
        ok(acl.update_data_buffer(given.buffers[1], address, size))
        assert acl.mdl.set_dynamic_batch_size(model, given.handle, 1, 4) == code
    ok(acl.update_data_buffer(given.buffers[1], given.pointers[1], 4))
    ok(acl.mdl.execute(model, given.handle, wanted.handle))
    assert given.read(1).tolist() == [2]
    np.testing.assert_array_equal(wanted.read(), np.concatenate([X[:2] + 1, np.zeros((2, 4), np.float32)]))
    with pytest.raises(TypeError):
        untyped.mdl.set_dynamic_batch_size(model, given.handle, 1, "4")


def test_three_rows_in_a_gear_of_four(model: int) -> None:
    """C092: gear 4 runs with three rows that mean something, and these come out right."""
    given, wanted = inputs_of(np.concatenate([X[:3], np.full((1, 4), np.nan, np.float32)])), Dataset(np.zeros_like(X))
    ok(acl.mdl.set_dynamic_batch_size(model, given.handle, 1, 4))
    ok(acl.mdl.execute(model, given.handle, wanted.handle))

    np.testing.assert_array_equal(wanted.read()[:3], X[:3] + 1)


def test_datasets_without_the_hidden_buffer(model: int) -> None:
    """C079: the hidden input's buffer is asked for as the others': 100000 without one or for a null one."""
    wanted, lone = Dataset(np.zeros_like(X)), Dataset(X)
    assert acl.mdl.execute(model, lone.handle, wanted.handle) == 100000
    assert HIDDEN in (acl.get_recent_err_msg() or "")
    assert acl.mdl.add_dataset_buffer(lone.handle, acl.create_data_buffer(0, 0))[1] == 0
    assert acl.mdl.execute(model, lone.handle, wanted.handle) == 100000


@pytest.mark.parametrize("kind", ["fixed", "range"])
def test_models_without_gears(device: int, tmp_path: Path, kind: str) -> None:
    """C089: there is no hidden input, choosing a gear is 100019 and says what was missing, and the model still runs."""
    model = good(acl.mdl.load_from_file(add1(tmp_path) if kind == "fixed" else ranged(tmp_path)))
    desc, given, wanted = _desc(model), Dataset(X[:1]), Dataset(np.zeros_like(X[:1]))
    assert acl.mdl.get_input_index_by_name(desc, HIDDEN) == (0, 100000)
    assert acl.mdl.get_dynamic_batch(desc) == ({"batchCount": 0, "batch": []}, 0)
    assert acl.mdl.set_dynamic_batch_size(model, given.handle, 0, 1) == 100019
    assert "dynamic_batch_size" in (acl.get_recent_err_msg() or "")

    shape = acl.create_tensor_desc(0, [1, 4], ND)
    assert acl.mdl.set_dataset_tensor_desc(given.handle, shape, 0) == (given.handle, 0)
    ok(acl.mdl.execute(model, given.handle, wanted.handle))
    np.testing.assert_array_equal(wanted.read(), X[:1] + 1)


def test_current_output_dims(device: int, tmp_path: Path) -> None:
    """C095: fixed dims; the largest gear's, then the chosen one's, also after unload; 200001 for free dims."""
    models = [good(acl.mdl.load_from_file(make(tmp_path))) for make in (add1, ranged, batch)]
    fixed, free, geared = map(_desc, models)
    assert acl.mdl.get_cur_output_dims(fixed, 0)[0]["dims"] == [1, 4]
    assert acl.mdl.get_cur_output_dims(free, 0) == ({}, 200001)
    assert acl.mdl.get_cur_output_dims(geared, 0)[0]["dims"] == [4, 4]

    given = inputs_of()
    for gear in (2, 1):
        ok(acl.mdl.set_dynamic_batch_size(models[2], given.handle, 1, gear))
        assert acl.mdl.get_cur_output_dims(geared, 0) == ({"name": "plus:0:y", "dimCount": 2, "dims": [gear, 4]}, 0)
    assert acl.mdl.get_output_dims(geared, 0)[0]["dims"] == [4, 4]
    ok(acl.mdl.unload(models[2]))
    assert acl.mdl.get_cur_output_dims(geared, 0)[0]["dims"] == [1, 4]
    assert acl.mdl.get_cur_output_dims(geared, 1) == ({}, 100000)


def test_image_size_gears(device: int, tmp_path: Path) -> None:
    """C105: height comes first; what is no gear is 145013; sizes are the largest gear's, output dims the chosen one's."""
    model = good(acl.mdl.load_from_file(picture(tmp_path)))
    desc = _desc(model)
    assert acl.mdl.get_dynamic_hw(desc, -1) == ({"hwCount": 2, "hw": [[32, 64], [64, 32]]}, 0)
    assert acl.mdl.get_dynamic_hw(desc, 0) == acl.mdl.get_dynamic_hw(desc, -1)
    assert acl.mdl.get_dynamic_batch(desc) == ({"batchCount": 0, "batch": []}, 0)
    assert acl.mdl.get_input_size_by_index(desc, 0) == 32 * 64 * 4
    assert acl.mdl.get_input_size_by_index(desc, 1) == 8
    x = np.arange(32 * 64, dtype=np.float32).reshape(1, 1, 64, 32)
    given, wanted = Dataset(x, np.zeros(2, np.int32)), Dataset(np.zeros_like(x))

    for height, width in ((32, 64), (64, 32)):
        ok(acl.mdl.set_dynamic_hw_size(model, given.handle, 1, height, width))
        assert acl.mdl.get_cur_output_dims(desc, 0)[0]["dims"] == [1, 1, height, width]
        assert given.read(1).tolist() == [height, width]
        ok(acl.mdl.execute(model, given.handle, wanted.handle))
        np.testing.assert_array_equal(wanted.read(), x * 2)
    assert acl.mdl.set_dynamic_hw_size(model, given.handle, 1, 32, 32) == 145013
    assert acl.mdl.set_dynamic_hw_size(model, given.handle, 1, 0, 32) == 100000


def test_dims_gears(device: int, tmp_path: Path) -> None:
    """C093: a gear is all dims of all inputs; fewer are 100000, others 145013; the getters list whole gears."""
    model = good(acl.mdl.load_from_file(two_free(tmp_path)))
    desc = _desc(model)
    assert acl.mdl.get_input_dynamic_gear_count(desc, -1) == (3, 0)
    gears, ret = acl.mdl.get_input_dynamic_dims(desc, -1, 3)
    ok(ret)
    assert gears == [_dims(4, 3, 2, 5), _dims(1, 3, 2, 2), _dims(2, 3, 2, 7)]
    assert acl.mdl.get_input_dynamic_dims(desc, -1, 2) == ([], 100000)
    assert [acl.mdl.get_input_size_by_index(desc, i) for i in range(3)] == [48, 56, 8]
    a, b = np.arange(12, dtype=np.float32).reshape(4, 3), np.arange(14, dtype=np.float32).reshape(2, 7)
    given, wanted = Dataset(a, b, np.zeros(2, np.int32)), Dataset(np.zeros_like(a), np.zeros_like(b))

    for gear in gears:
        rows, _, _, columns = gear["dims"]
        ok(acl.mdl.set_input_dynamic_dims(model, given.handle, 2, gear))
        assert given.read(2).tolist() == [rows, columns]
        ok(acl.mdl.execute(model, given.handle, wanted.handle))
        np.testing.assert_array_equal(wanted.read(0)[:rows], a[:rows] * 2)
        np.testing.assert_array_equal(wanted.read(1).ravel()[: 2 * columns], b.ravel()[: 2 * columns] * 3)
    padded = {"name": "x", "dimCount": 4, "dims": [4, 3, 2, 5, *[0] * 124]}
    ok(acl.mdl.set_input_dynamic_dims(model, given.handle, 2, padded))
    assert acl.mdl.set_input_dynamic_dims(model, given.handle, 2, _dims(4, 5)) == 100000
    assert "a, b" in (acl.get_recent_err_msg() or "")
    assert acl.mdl.set_input_dynamic_dims(model, given.handle, 2, _dims(4, 3, 2, 7)) == 145013
    assert acl.mdl.set_input_dynamic_dims(model, given.handle, 2, {"dims": [4, 3], "dimCount": 4}) == 100000
    assert acl.mdl.set_input_dynamic_dims(model, given.handle, 2, {"dimCount": 4}) == 100000
    with pytest.raises(TypeError):
        untyped.mdl.set_input_dynamic_dims(model, given.handle, 2, [4, 3, 2, 5])


def test_queued_runs_keep_their_gear(model: int, gate: MakeGate) -> None:
    """The gear of a run is the one that was in force when it was submitted, whatever is chosen afterwards."""
    stream, given = good(acl.rt.create_stream()), inputs_of()
    wanted = [Dataset(np.zeros_like(X)) for _ in range(3)]
    held = gate(stream)
    for gear, each in zip((4, 1, 2), wanted, strict=True):
        ok(acl.mdl.set_dynamic_batch_size(model, given.handle, 1, gear))
        ok(acl.mdl.execute_async(model, given.handle, each.handle, stream))
    held.open()
    ok(acl.rt.synchronize_stream(stream))

    rows = [int((each.read() != 0).all(axis=1).sum()) for each in wanted]
    assert rows == [4, 1, 2]


def test_shapes_said_for_a_geared_model(model: int) -> None:
    """A description of the chosen gear's shape is taken, another is 100000."""
    given, wanted = inputs_of(), Dataset(np.zeros_like(X))
    ok(acl.mdl.set_dynamic_batch_size(model, given.handle, 1, 2))
    for rows, code in ((2, 0), (4, 100000)):
        shape = acl.create_tensor_desc(0, [rows, 4], ND)
        assert acl.mdl.set_dataset_tensor_desc(given.handle, shape, 0)[1] == 0
        assert acl.mdl.execute(model, given.handle, wanted.handle) == code


def test_descriptions_of_files_with_gears(device: int, tmp_path: Path) -> None:
    """get_desc_from_file tells of gears and the hidden input too, without loading."""
    desc = acl.mdl.create_desc()
    ok(acl.mdl.get_desc_from_file(desc, batch(tmp_path)))

    assert acl.mdl.get_input_index_by_name(desc, HIDDEN) == (1, 0)
    assert acl.mdl.get_dynamic_batch(desc) == ({"batchCount": 3, "batch": [1, 2, 4]}, 0)
    assert acl.mdl.get_cur_output_dims(desc, 0)[0]["dims"] == [4, 4]


def test_hidden_buffers_on_the_host(model: int) -> None:
    """The hidden input may lie in host memory, as every buffer may."""
    hidden, wanted = np.zeros(1, np.int32), Dataset(np.zeros_like(X))
    dataset = acl.mdl.create_dataset()
    for address, size in ((put(X), X.nbytes), (hidden.ctypes.data, 4)):
        assert acl.mdl.add_dataset_buffer(dataset, acl.create_data_buffer(address, size)) == (dataset, 0)
    ok(acl.mdl.set_dynamic_batch_size(model, dataset, 1, 2))
    ok(acl.mdl.execute(model, dataset, wanted.handle))

    assert hidden.tolist() == [2]
    np.testing.assert_array_equal(wanted.read()[:2], X[:2] + 1)


_GEARS = {(4, 3, 2, 5), (1, 3, 2, 2), (2, 3, 2, 7)}
_SIZES = st.one_of(st.integers(-1, 8), st.just(2**70))


@settings(deadline=None, max_examples=80, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(dims=st.one_of(st.sampled_from(sorted(_GEARS)), st.lists(_SIZES, max_size=6)), count=st.integers(-1, 6))
def test_any_dims(free: tuple[int, Dataset, Dataset], dims: list[int], count: int) -> None:
    """Whatever dims are given: a gear is taken and runs, else there is a code and the gear before stays in force."""
    model, data, wanted = free
    before = data.read(2).tolist()
    code = acl.mdl.set_input_dynamic_dims(model, data.handle, 2, {"name": "", "dimCount": count, "dims": [*dims]})
    is_gear = 0 <= count <= len(dims) and tuple(dims[:count]) in _GEARS

    assert code == 0 if is_gear else code in (100000, 145013)
    assert data.read(2).tolist() == ([dims[0], dims[3]] if is_gear else before)
    assert acl.mdl.execute(model, data.handle, wanted.handle) == 0


@pytest.fixture
def free(device: int, tmp_path: Path) -> tuple[int, Dataset, Dataset]:
    """A model with dims gears, and datasets that have room for all of them."""
    inputs = np.ones((4, 3), np.float32), np.ones((2, 7), np.float32), np.zeros(2, np.int32)
    model, data = good(acl.mdl.load_from_file(two_free(tmp_path))), Dataset(*inputs)
    ok(acl.mdl.set_input_dynamic_dims(model, data.handle, 2, {"name": "", "dimCount": 4, "dims": [4, 3, 2, 5]}))
    return model, data, Dataset(*inputs[:2])
