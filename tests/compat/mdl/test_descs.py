"""Descriptions of models, datasets, and gears of models that have none."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest

import acl
from tests.compat._programs import FLOAT, ND, Dataset, add1, good, ok, two_in, untyped


@pytest.fixture
def desc(device: int, tmp_path: Path) -> int:
    """The description of a model with two inputs and two outputs."""
    handle: int = acl.mdl.create_desc()
    ok(acl.mdl.get_desc(handle, good(acl.mdl.load_from_file(two_in(tmp_path)))))
    return handle


def test_what_a_description_says(desc: int) -> None:
    """Counts, names, dims, sizes, types and formats of inputs and outputs; dims are real dictionaries and lists."""
    assert (acl.mdl.get_num_inputs(desc), acl.mdl.get_num_outputs(desc)) == (2, 2)
    assert [acl.mdl.get_input_name_by_index(desc, i) for i in range(2)] == ["a", "b"]
    assert [acl.mdl.get_output_name_by_index(desc, i).split(":")[-1] for i in range(2)] == ["p", "q"]
    assert acl.mdl.get_input_dims(desc, 1) == ({"name": "b", "dimCount": 2, "dims": [2, 4]}, 0)
    assert acl.mdl.get_input_dims_v2(desc, 1) == acl.mdl.get_input_dims(desc, 1)
    assert acl.mdl.get_output_dims(desc, 0)[0]["dims"] == [2, 3]
    assert acl.mdl.get_cur_output_dims(desc, 0) == acl.mdl.get_output_dims(desc, 0)
    assert [acl.mdl.get_input_size_by_index(desc, i) for i in range(2)] == [24, 32]
    assert [acl.mdl.get_output_size_by_index(desc, i) for i in range(2)] == [24, 32]
    assert acl.mdl.get_input_data_type(desc, 0) == acl.mdl.get_output_data_type(desc, 1) == FLOAT
    assert acl.mdl.get_input_format(desc, 0) == acl.mdl.get_output_format(desc, 1) == ND


def test_names_and_positions(desc: int) -> None:
    """What name_by_index gives, index_by_name takes; other names are 100000, and what is no text a TypeError."""
    for by_name, by_index in (
        (acl.mdl.get_input_index_by_name, acl.mdl.get_input_name_by_index),
        (acl.mdl.get_output_index_by_name, acl.mdl.get_output_name_by_index),
    ):
        assert [by_name(desc, by_index(desc, i)) for i in range(2)] == [(0, 0), (1, 0)]
        for name in ("", "nobody", "ascend_mbatch_shape_data"):
            assert by_name(desc, name) == (0, 100000)
        with pytest.raises(TypeError):
            by_name(desc, cast(Any, None))


def test_positions_that_are_not_there(desc: int) -> None:
    """C085: a bad index gives 0, -1, "" or ({}, 100000); an empty description has nothing; none is a code."""
    empty = acl.mdl.create_desc()
    for handle, index in ((desc, 2), (desc, -1), (empty, 0), (0, 0), (31337, 0)):
        assert acl.mdl.get_input_size_by_index(handle, index) == 0
        assert acl.mdl.get_output_size_by_index(handle, index) == 0
        assert acl.mdl.get_input_dims(handle, index) == acl.mdl.get_output_dims(handle, index) == ({}, 100000)
        assert acl.mdl.get_cur_output_dims(handle, index) == ({}, 100000)
        assert acl.mdl.get_input_name_by_index(handle, index) == ""
        assert acl.mdl.get_input_data_type(handle, index) == acl.mdl.get_output_format(handle, index) == -1
    assert acl.mdl.get_num_inputs(empty) == acl.mdl.get_num_outputs(0) == 0
    assert acl.mdl.get_desc(0, 1) == 100000


def test_filling_a_description_again(desc: int, tmp_path: Path) -> None:
    """C085: get_desc on a filled description replaces what it said; files and memory fill one too."""
    path = add1(tmp_path)
    data = Path(path).read_bytes()
    ok(acl.mdl.get_desc(desc, good(acl.mdl.load_from_file(path))))
    assert (acl.mdl.get_num_inputs(desc), acl.mdl.get_input_name_by_index(desc, 0)) == (1, "x")

    other = acl.mdl.create_desc()
    ok(acl.mdl.get_desc_from_file(other, path))
    assert acl.mdl.get_input_dims(other, 0) == acl.mdl.get_input_dims(desc, 0)
    ok(acl.mdl.get_desc_from_mem(other, acl.util.bytes_to_ptr(data), len(data)))
    assert acl.mdl.get_input_dims(other, 0) == acl.mdl.get_input_dims(desc, 0)
    assert acl.mdl.get_desc_from_file(other, "missing.om") == 145002
    assert acl.mdl.get_desc_from_mem(other, 0, 5) == 100000
    assert (acl.mdl.destroy_desc(other), acl.mdl.destroy_desc(other)) == (0, 100000)


@pytest.mark.parametrize("name", ["a", "b:0", "long_" * 40])
def test_output_names(device: int, tmp_path: Path, name: str) -> None:
    """C081: node:index:name; more than 127 characters are replaced, and get_tensor_real_name gives them back."""
    desc = acl.mdl.create_desc()
    ok(acl.mdl.get_desc(desc, good(acl.mdl.load_from_file(add1(tmp_path, output=name)))))
    given = acl.mdl.get_output_name_by_index(desc, 0)
    real = acl.mdl.get_tensor_real_name(desc, given)

    assert len(given) <= 127
    assert real == f"plus:0:{name}"
    assert given == real or given.startswith("acl_modelId_")
    assert acl.mdl.get_output_index_by_name(desc, given) == (0, 0)
    assert acl.mdl.get_output_index_by_name(desc, real) == (0, 0)
    assert acl.mdl.get_output_dims(desc, 0)[0]["name"] == given
    assert acl.mdl.get_tensor_real_name(desc, "nobody") == ""
    with pytest.raises(TypeError, match="argument 2 must be str"):
        acl.mdl.get_tensor_real_name(desc, cast(Any, np.array([1, 2])))


def test_there_are_no_gears(desc: int, device: int, tmp_path: Path) -> None:
    """C089, C095: a model of fixed shapes has empty lists of gears; choosing one is 100019, and the model still runs."""
    assert acl.mdl.get_dynamic_batch(desc) == ({"batchCount": 0, "batch": []}, 0)
    assert acl.mdl.get_dynamic_hw(desc, -1) == ({"hwCount": 0, "hw": []}, 0)
    assert acl.mdl.get_input_dynamic_gear_count(desc, -1) == (0, 0)
    assert acl.mdl.get_input_dynamic_dims(desc, -1, 0) == ([], 0)
    assert acl.mdl.get_input_dims_range(desc, 0) == ({"rangeCount": 0, "range": []}, 0)
    assert acl.mdl.get_dynamic_batch(0) == acl.mdl.get_dynamic_hw(0, -1) == ({}, 100000)

    x = np.ones((1, 4), np.float32)
    model, given, wanted = good(acl.mdl.load_from_file(add1(tmp_path))), Dataset(x), Dataset(np.zeros_like(x))
    assert acl.mdl.set_dynamic_batch_size(model, given.handle, 0, 2) == 100019
    assert "dynamic_batch_size" in (acl.get_recent_err_msg() or "")
    assert acl.mdl.set_dynamic_batch_size(model, given.handle, 0, 0) == 100000
    assert acl.mdl.set_dynamic_hw_size(model, given.handle, 0, 32, 64) == 100019
    assert acl.mdl.set_input_dynamic_dims(model, given.handle, 0, {"name": "", "dimCount": 1, "dims": [1]}) == 100019
    assert acl.mdl.set_dynamic_batch_size(99, given.handle, 0, 2) == 145003
    assert acl.mdl.set_dynamic_batch_size(model, 99, 0, 2) == 100000
    with pytest.raises(TypeError):
        untyped.mdl.set_input_dynamic_dims(model, given.handle, 0, [1])
    ok(acl.mdl.execute(model, given.handle, wanted.handle))
    np.testing.assert_array_equal(wanted.read(), x + 1)


def test_datasets_keep_buffers_in_order(device: int) -> None:
    """Buffers come back by position; positions and buffers that are not there are 0 and 100000."""
    dataset = acl.mdl.create_dataset()
    buffers = [acl.create_data_buffer(64 * i, 64) for i in range(3)]
    for buffer in buffers:
        assert acl.mdl.add_dataset_buffer(dataset, buffer) == (dataset, 0)

    assert acl.mdl.get_dataset_num_buffers(dataset) == 3
    assert [acl.mdl.get_dataset_buffer(dataset, i) for i in range(-1, 4)] == [0, *buffers, 0]
    assert acl.mdl.add_dataset_buffer(dataset, 0) == (dataset, 100000)
    assert acl.mdl.add_dataset_buffer(dataset, dataset) == (dataset, 100000)
    assert acl.mdl.add_dataset_buffer(77, buffers[0]) == (77, 100000)
    assert acl.mdl.get_dataset_num_buffers(77) == acl.mdl.get_dataset_buffer(77, 0) == 0
    assert (acl.mdl.destroy_dataset(dataset), acl.mdl.destroy_dataset(dataset)) == (0, 100000)


def test_descriptions_in_datasets(device: int, tmp_path: Path) -> None:
    """C099: a description is copied and may be destroyed at once; null clears; overwriting leaks nothing."""
    x = np.ones((1, 4), np.float32)
    model, given, wanted = good(acl.mdl.load_from_file(add1(tmp_path))), Dataset(x), Dataset(np.zeros_like(x))
    held = acl.mdl.get_dataset_tensor_desc(given.handle, 0)
    assert held == 0
    for _ in range(100):
        desc = acl.create_tensor_desc(9, [1, 4], ND)  # the type does not matter
        assert acl.mdl.set_dataset_tensor_desc(given.handle, desc, 0) == (given.handle, 0)
        acl.destroy_tensor_desc(desc)
        held = acl.mdl.get_dataset_tensor_desc(given.handle, 0)
        assert acl.get_tensor_desc_dim_v2(held, 1) == (4, 0)
    ok(acl.mdl.execute(model, given.handle, wanted.handle))
    np.testing.assert_array_equal(wanted.read(), x + 1)

    wrong = acl.create_tensor_desc(FLOAT, [2, 4], ND)
    assert acl.mdl.set_dataset_tensor_desc(given.handle, wrong, 1) == (given.handle, 100000)
    assert acl.mdl.set_dataset_tensor_desc(given.handle, wrong, 0) == (given.handle, 0)
    assert acl.get_tensor_desc_dim_v2(held, 0) == (2, 0)
    assert acl.mdl.execute(model, given.handle, wanted.handle) == 100000
    assert "[2, 4]" in (acl.get_recent_err_msg() or "")
    assert acl.mdl.set_dataset_tensor_desc(given.handle, 0, 0) == (given.handle, 0)
    assert acl.mdl.get_dataset_tensor_desc(given.handle, 0) == 0
    assert acl.get_tensor_desc_type(held) == -1
    ok(acl.mdl.execute(model, given.handle, wanted.handle))


def test_attributes_of_operators(device: int, tmp_path: Path) -> None:
    """get_op_attr tells which operators of the original model one stands for; all else is an empty text."""
    origins = "_datadump_original_op_names"
    model, desc = good(acl.mdl.load_from_file(add1(tmp_path))), acl.mdl.create_desc()
    assert acl.mdl.get_op_attr(desc, "plus", origins) == ""
    ok(acl.mdl.get_desc(desc, model))

    assert acl.mdl.get_op_attr(desc, "plus", origins) == "[4]plus"
    assert acl.mdl.get_op_attr(desc, "nobody", origins) == ""
    assert acl.mdl.get_op_attr(desc, "plus", "other") == ""
    assert origins in (acl.get_recent_err_msg() or "")
    assert acl.mdl.get_op_attr(0, "plus", origins) == ""
    with pytest.raises(TypeError):
        untyped.mdl.get_op_attr(desc, None, origins)
    ok(acl.mdl.unload(model))
    assert acl.mdl.get_op_attr(desc, "plus", origins) == ""
