"""Shapes of outputs before a run."""

from __future__ import annotations

import numpy as np
import pytest

import acl
from tests.compat._programs import FLOAT, INT64, ND, ok


@pytest.fixture
def out() -> int:
    """A description of an output that is not known yet."""
    desc: int = acl.create_tensor_desc(INT64, [-1], ND)
    return desc


def _dims(desc: int) -> list[int]:
    return [acl.get_tensor_desc_dim_v2(desc, index)[0] for index in range(acl.get_tensor_desc_num_dims(desc))]


def test_fixed_shapes(device: int, out: int) -> None:
    """Broadcasting decides the dims, which are -1 before; the data type is rewritten too."""
    a, b = acl.create_tensor_desc(FLOAT, [4, 1], ND), acl.create_tensor_desc(FLOAT, [3], ND)
    empty = acl.create_data_buffer(0, 0)
    ok(acl.op.infer_shape("Add", [a, b], [empty, empty], 1, [out], 0))

    assert _dims(out) == [4, 3]
    assert acl.get_tensor_desc_type(out) == FLOAT


def test_values_that_a_shape_follows_from_are_read(device: int, out: int) -> None:
    """C075: the target shape of a Reshape is read from host memory."""
    x, shape = acl.create_tensor_desc(FLOAT, [2, 6], ND), acl.create_tensor_desc(INT64, [2], ND)
    values = np.array([3, -1])
    buffers = [acl.create_data_buffer(0, 0), acl.create_data_buffer(acl.util.numpy_to_ptr(values), 16)]
    ok(acl.op.infer_shape("Reshape", [x, shape], buffers, 1, [out], 0))

    assert _dims(out) == [3, 4]


def test_where_values_decide_there_is_a_range(device: int, out: int) -> None:
    """C075: the rows of NonZero are -1, with a range that ends at the number of elements."""
    x = acl.create_tensor_desc(FLOAT, [3, 4], ND)
    ok(acl.op.infer_shape("NonZero", [x], [acl.create_data_buffer(0, 0)], 1, [out], 0))

    assert sorted(_dims(out)) == [-1, 2]
    free = _dims(out).index(-1)
    assert acl.get_tensor_desc_dim_range(out, free, 2) == ([0, 12], 0)


def test_what_cannot_be_inferred(device: int, out: int) -> None:
    """Unknown operators, wrong counts and wrong inputs are codes; the description stays what it was."""
    x = acl.create_tensor_desc(FLOAT, [3, 4], ND)
    other = acl.create_tensor_desc(FLOAT, [5], ND)
    empty = acl.create_data_buffer(0, 0)

    assert acl.op.infer_shape("NoSuchOp", [x], [empty], 1, [out], 0) == 100024
    assert acl.op.infer_shape("Add", [x, other], [empty, empty], 1, [out], 0) == 100000
    assert acl.op.infer_shape("Add", [x, x], [empty], 1, [out], 0) == 100000
    assert acl.op.infer_shape("Add", [x, x], [empty, empty], 2, [out], 0) == 100000
    assert acl.op.infer_shape("Add", [x, x], [empty, empty], 2, [out, out], 0) == 100000
    assert acl.op.infer_shape("Add", [x, 0], [empty, empty], 1, [out], 0) == 100000
    assert _dims(out) == [-1]
