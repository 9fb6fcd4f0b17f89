"""What is said of inputs beside their descriptions: dynamic inputs, and the values that they may have."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import acl
from acl import _desc_hints
from tests.compat._programs import FLOAT, INT32, INT64, ND, compile_operators, get, good, ok, put, tensor, untyped

BAD = 100000


def described(dtype: int, *shape: int) -> int:
    """Return a description."""
    return acl.create_tensor_desc(dtype, list(shape), ND)


def inferred(op_type: str, descs: list[int]) -> list[list[int]]:
    """Return the range of each dim of the one output, with no contents known."""
    buffers = [acl.create_data_buffer(0, 0) for _ in descs]
    out = described(FLOAT, -2)
    ok(acl.op.infer_shape(op_type, descs, buffers, 1, [out], 0))
    rank = acl.get_tensor_desc_num_dims(out)
    return [good(acl.get_tensor_desc_dim_range(out, place, 2)) for place in range(rank)] if rank < 100 else [[-2, -2]]


def bounded(dtype: int, *pairs: list[int]) -> int:
    """Return a list of numbers whose values are bounded."""
    desc = described(dtype, len(pairs))
    ok(acl.set_tensor_value_range(desc, list(pairs)))
    return desc


@pytest.mark.parametrize("dtype", [INT32, INT64])
def test_shapes_follow_from_bounds(device: int, dtype: int) -> None:
    """A dim has the range that the values give it, and is fixed where they leave no choice."""
    assert inferred("BroadcastTo", [described(FLOAT, 1, 3), bounded(dtype, [2, 8], [3, 3])]) == [[2, 8], [3, 3]]
    assert inferred("Tile", [described(FLOAT, 5), bounded(dtype, [1, 3])]) == [[5, 15]]


def test_dims_that_fall_while_others_rise(device: int) -> None:
    """Each corner of the bounds counts: the longest range begins at the least and ends at the largest number."""
    start, limit, delta = (described(INT32) for _ in range(3))
    for desc, pair in ((start, [0, 5]), (limit, [10, 20]), (delta, [1, 2])):
        ok(acl.set_tensor_value_range(desc, [pair]))
    assert inferred("Range", [start, limit, delta]) == [[3, 20]]


@pytest.mark.parametrize("pairs", [[[2, -1], [3, 3]], [[2, 8], [4, 4]]])
def test_bounds_that_tell_nothing(device: int, pairs: list[list[int]]) -> None:
    """No end, or values that the operator does not take: the shape is as unknown as without them."""
    x = described(FLOAT, 1, 3)
    assert inferred("BroadcastTo", [x, bounded(INT32, *pairs)]) == inferred("BroadcastTo", [x, described(INT32, 2)])


def test_contents_count_before_bounds(device: int) -> None:
    """A constant is what it is; after an end of the description nothing is left of its bounds."""
    target = bounded(INT32, [2, 8], [3, 3])
    ok(acl.set_tensor_const(target, acl.util.bytes_to_ptr(np.array([7, 3], np.int32).tobytes()), 8))

    assert inferred("BroadcastTo", [described(FLOAT, 1, 3), target]) == [[7, 7], [3, 3]]
    acl.destroy_tensor_desc(target)
    assert target not in _desc_hints.value_ranges
    kept = bounded(INT32, [1, 2])
    acl.finalize()
    assert kept not in _desc_hints.value_ranges


@pytest.mark.parametrize(
    "pairs", [[], [[1, 2]], [[1, 2], [3, 4], [5, 6]], [[2, 1], [3, 3]], [[1], [2]], [[1, 2, 3], [1, 2, 3]]]
)
def test_bounds_that_do_not_fit(pairs: Any) -> None:
    """Another number than there are elements, or an end before the beginning."""
    assert acl.set_tensor_value_range(described(INT32, 2), pairs) == BAD


def test_bounds_of_other_types() -> None:
    """They are lists of whole numbers, for descriptions only; beyond the data type they are a code."""
    desc = described(INT32, 1)
    assert acl.set_tensor_value_range(0, [[1, 2]]) == BAD
    for pairs in (None, 5, [5], [["a", "b"]], [[1.5, 2]]):
        with pytest.raises(TypeError):
            untyped.set_tensor_value_range(desc, pairs)


def test_ranges_of_values_are_lists_of_any_kind(device: int) -> None:
    """Lists, tuples and NumPy arrays of pairs are the same ranges, as for set_tensor_shape_range."""
    desc, wanted = described(INT32, 2), ((0, 5), (1, -1))
    for pairs in (
        [[0, 5], [1, -1]],
        ((0, 5), (1, -1)),
        np.array(wanted),
        np.array(wanted, np.int32),
        [*np.array(wanted)],
    ):
        _desc_hints.value_ranges.clear()
        ok(untyped.set_tensor_value_range(desc, pairs))
        assert _desc_hints.value_ranges[desc] == wanted
    for wrong in (np.array([[0.5, 1.0], [0, 1]]), np.array([1, 2])):
        with pytest.raises(TypeError):
            untyped.set_tensor_value_range(desc, wrong)


def test_bounds_beyond_the_data_type(device: int) -> None:
    """They are told where they would be used."""
    target = bounded(INT32, [1, 1 << 40])
    out = described(FLOAT, -2)
    buffers = [acl.create_data_buffer(0, 0) for _ in range(2)]
    assert acl.op.infer_shape("BroadcastTo", [described(FLOAT, 1), target], buffers, 1, [out], 0) == BAD


def test_a_dynamic_input_is_checked(device: int, tmp_path: Path) -> None:
    """An input that is said to be one of another dynamic input than that at its place is refused, and told."""
    one = tensor("float32", [2])
    operator: dict[str, object] = {
        "op": "AddN",
        "input_desc": [one, one],
        "output_desc": [one],
        "attr": [{"name": "N", "type": "int", "value": 2}],
    }
    ok(acl.op.set_model_dir(str(compile_operators(tmp_path, operator))))
    attr = acl.op.create_attr()
    ok(acl.op.set_attr_int(attr, "N", 2))
    x = np.arange(2, dtype=np.float32)
    pointers = [put(x), put(x), put(x)]
    descs, buffers = [described(FLOAT, 2) for _ in range(3)], [acl.create_data_buffer(each, 8) for each in pointers]
    for desc in descs[:2]:
        ok(acl.set_tensor_dynamic_input(desc, "x"))
    ok(acl.op.execute_v2("AddN", descs[:2], buffers[:2], descs[2:], buffers[2:], attr, 0))
    ok(acl.rt.synchronize_stream(0))
    np.testing.assert_array_equal(get(pointers[2], x), 2 * x)

    ok(acl.set_tensor_dynamic_input(descs[1], "y"))
    assert acl.op.execute_v2("AddN", descs[:2], buffers[:2], descs[2:], buffers[2:], attr, 0) == BAD
    assert "input 1 is said to be one of dynamic input 'y'; at that place lies 'x'" in (acl.get_recent_err_msg() or "")
    assert acl.op.infer_shape("AddN", descs[:2], buffers[:2], 1, descs[2:], attr) == BAD
    acl.destroy_tensor_desc(descs[1])
    assert descs[1] not in _desc_hints.dynamic_inputs


def test_an_input_that_is_not_dynamic(device: int) -> None:
    """Naming it so is refused as well; operators that the catalogue has not name nothing."""
    descs, out = [described(FLOAT, 2), described(FLOAT, 2)], described(FLOAT, -2)
    buffers = [acl.create_data_buffer(0, 0) for _ in descs]
    ok(acl.set_tensor_dynamic_input(descs[0], "x1"))

    assert acl.op.infer_shape("Add", descs, buffers, 1, [out], 0) == BAD
    assert acl.op.infer_shape("NoSuchOperator", descs, buffers, 1, [out], 0) == 100024


def test_names_of_dynamic_inputs() -> None:
    """They are not empty, and those of descriptions."""
    desc = described(FLOAT, 2)
    assert acl.set_tensor_dynamic_input(desc, "") == BAD
    assert acl.set_tensor_dynamic_input(0, "x") == BAD
    with pytest.raises(TypeError, match="argument 2 must be str"):
        untyped.set_tensor_dynamic_input(desc, 5)


def test_a_datasets_descriptions_leave_nothing(device: int) -> None:
    """What is said of a description that a dataset holds is forgotten when it ends with the dataset, or is taken back."""
    dataset, own = acl.mdl.create_dataset(), described(INT32, 1)
    ok(acl.mdl.add_dataset_buffer(dataset, acl.create_data_buffer(0, 0))[1])
    ends: list[Callable[[], int]] = [
        lambda: int(acl.mdl.set_dataset_tensor_desc(dataset, 0, 0)[1]),
        lambda: acl.mdl.destroy_dataset(dataset),
    ]
    for end in ends:
        ok(acl.mdl.set_dataset_tensor_desc(dataset, own, 0)[1])
        held = acl.mdl.get_dataset_tensor_desc(dataset, 0)
        ok(acl.set_tensor_value_range(held, [[1, 2]]))
        ok(acl.set_tensor_dynamic_input(held, "x"))
        ok(end())

        assert held not in _desc_hints.value_ranges
        assert held not in _desc_hints.dynamic_inputs
