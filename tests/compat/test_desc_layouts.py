"""Descriptions of a tensor in another layout."""

from __future__ import annotations

import pytest

import acl
from tests.compat._programs import good, ok, untyped

NCHW, NHWC, ND, NC1HWC0, FRACTAL_Z, HWCN, NZ = 0, 1, 2, 3, 4, 16, 29
FLOAT, FLOAT16, INT8 = 0, 1, 2


def dims(desc: int) -> list[int]:
    """Return the dims of a description."""
    return [good(acl.get_tensor_desc_dim_v2(desc, place)) for place in range(acl.get_tensor_desc_num_dims(desc))]


@pytest.mark.parametrize(
    ("dtype", "source", "shape", "target", "wanted"),
    [
        (FLOAT, NCHW, [2, 3, 4, 5], NHWC, [2, 4, 5, 3]),
        (FLOAT, NHWC, [2, 4, 5, 3], NCHW, [2, 3, 4, 5]),
        (FLOAT, NCHW, [2, 3, 4, 5], HWCN, [4, 5, 3, 2]),
        (FLOAT16, NCHW, [2, 17, 4, 5], NC1HWC0, [2, 2, 4, 5, 16]),
        (INT8, NHWC, [2, 4, 5, 33], NC1HWC0, [2, 2, 4, 5, 32]),
        (FLOAT16, NCHW, [33, 17, 3, 3], FRACTAL_Z, [18, 3, 16, 16]),
        (FLOAT16, ND, [20, 40], NZ, [3, 2, 16, 16]),
        (FLOAT, ND, [2, 3], ND, [2, 3]),
    ],
)
def test_dims_follow_the_layout(dtype: int, source: int, shape: list[int], target: int, wanted: list[int]) -> None:
    """The new description has the other layout and its dims; the old one stays."""
    desc = acl.create_tensor_desc(dtype, shape, source)
    acl.set_tensor_desc_name(desc, "x")
    new = good(acl.trans_tensor_desc_format(desc, target))

    assert (acl.get_tensor_desc_format(new), dims(new), acl.get_tensor_desc_type(new)) == (target, wanted, dtype)
    assert (acl.get_tensor_desc_format(desc), dims(desc)) == (source, shape)
    assert acl.get_tensor_desc_name(new) == "x"
    assert new != desc
    acl.destroy_tensor_desc(desc)
    assert dims(new) == wanted


def test_a_free_dim_keeps_its_range() -> None:
    """It goes where the layout puts it; of blocks there are as many as channels need."""
    desc = acl.create_tensor_desc(FLOAT16, [1, -1, 4, 5], NCHW)
    ok(acl.set_tensor_shape_range(desc, [[1, 1], [17, 40], [4, 4], [5, 5]]))
    plain, blocks = good(acl.trans_tensor_desc_format(desc, NHWC)), good(acl.trans_tensor_desc_format(desc, NC1HWC0))

    assert dims(plain) == [1, 4, 5, -1]
    assert acl.get_tensor_desc_dim_range(plain, 3, 2) == ([17, 40], 0)
    assert acl.get_tensor_desc_dim_range(blocks, 1, 2) == ([2, 3], 0)


def test_layouts_that_do_not_become_each_other() -> None:
    """A wrong rank, a layout that there is not, contents, and what is no description."""
    desc, flat, constant = (
        acl.create_tensor_desc(FLOAT, shape, NCHW) for shape in ([1, 2, 3, 4], [2, 3], [1, 1, 1, 1])
    )
    ok(acl.set_tensor_const(constant, acl.util.bytes_to_ptr(bytes(4)), 4))

    assert acl.trans_tensor_desc_format(flat, NHWC) == (0, 100000)
    assert acl.trans_tensor_desc_format(desc, 99) == (0, 100000)
    assert acl.trans_tensor_desc_format(constant, NHWC) == (0, 100000)
    assert acl.trans_tensor_desc_format(0, NHWC) == (0, 100000)
    with pytest.raises(TypeError):
        untyped.trans_tensor_desc_format(desc, "NHWC")
