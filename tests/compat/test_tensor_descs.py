"""Tensor descriptions and data buffers."""

from __future__ import annotations

import numpy as np
import pytest

import acl
from acl._tensor_descs import tensor_descs
from tests.compat._programs import good, in_thread, ok, untyped


def test_what_a_description_says() -> None:
    """Type, format, dims, sizes of a description."""
    desc = acl.create_tensor_desc(0, [2, 3, 4], 2)

    assert desc > 0
    assert (acl.get_tensor_desc_type(desc), acl.get_tensor_desc_format(desc)) == (0, 2)
    assert acl.get_tensor_desc_num_dims(desc) == 3
    assert [acl.get_tensor_desc_dim(desc, i) for i in range(3)] == [2, 3, 4]
    assert [acl.get_tensor_desc_dim_v2(desc, i) for i in range(3)] == [(2, 0), (3, 0), (4, 0)]
    assert (acl.get_tensor_desc_element_count(desc), acl.get_tensor_desc_size(desc)) == (24, 96)
    assert acl.destroy_tensor_desc(desc) is None


@pytest.mark.parametrize(
    ("data_type", "dims", "count", "size"),
    [(9, [], 1, 8), (1, [0, 3], 0, 0), (27, [5], 5, 10), (17, [2], 2, 32), (0, [-1, 3], 0, 0), (-1, [], 1, 0)],
)
def test_sizes(data_type: int, dims: list[int], count: int, size: int) -> None:
    """Scalars, empty tensors, bfloat16 and complex numbers; 0 where a dim is free."""
    desc = acl.create_tensor_desc(data_type, dims, 2)

    assert (acl.get_tensor_desc_element_count(desc), acl.get_tensor_desc_size(desc)) == (count, size)


def test_dims_come_as_any_sequence_of_integers() -> None:
    """Lists, tuples and arrays of NumPy integers describe the same."""
    descs = [
        untyped.create_tensor_desc(3, dims, 2) for dims in ([8, 16], (8, 16), np.array([8, 16]), [np.int64(8), 16])
    ]

    assert {acl.get_tensor_desc_size(desc) for desc in descs} == {512}
    assert len(set(descs)) == 4
    for wrong in ("8", None, 8, {8, 16}):
        with pytest.raises(TypeError):
            untyped.create_tensor_desc(3, wrong, 2)
    with pytest.raises(TypeError):
        untyped.create_tensor_desc(3, [8.0, 16], 2)


@pytest.mark.parametrize("arguments", [(99, [1], 2), (0, [1], 99), (0, [-3], 2), (-7, [1], 2)])
def test_what_cannot_be_described(arguments: tuple[int, list[int], int]) -> None:
    """An unknown type, format or dim gives no handle: 0, and a text."""
    assert acl.create_tensor_desc(*arguments) == 0
    assert acl.get_recent_err_msg()


def test_free_dims_and_ranges() -> None:
    """A free dim has the range that was set, or none; a fixed one is both ends; other counts than 2 are refused."""
    desc = acl.create_tensor_desc(0, [-1, 3], 2)
    assert acl.get_tensor_desc_dim_v2(desc, 0) == (-1, 0)
    assert acl.get_tensor_desc_dim_range(desc, 0, 2) == ([0, -1], 0)
    ok(acl.set_tensor_shape_range(desc, [[1, 8], [3, 3]]))

    assert acl.get_tensor_desc_dim_range(desc, 0, 2) == ([1, 8], 0)
    assert acl.get_tensor_desc_dim_range(desc, 1, 2) == ([3, 3], 0)
    assert acl.get_tensor_desc_dim_range(desc, 0, 3) == ([], 100000)
    assert acl.get_tensor_desc_dim_range(desc, 2, 2) == ([], 100000)
    for pair in ([8, 1], [-1, 8], [0, -2]):
        assert acl.set_tensor_shape_range(desc, [pair, [3, 3]]) == 100000
    assert acl.get_tensor_desc_dim_range(desc, 0, 2) == ([1, 8], 0)
    with pytest.raises(TypeError, match="argument 3 must be int"):
        untyped.get_tensor_desc_dim_range(desc, 0, [2])
    assert acl.set_tensor_shape_range(desc, [[1, 8]]) == 100000
    assert acl.set_tensor_shape_range(desc, [[1], [3]]) == 100000
    assert acl.get_tensor_desc_num_dims(acl.create_tensor_desc(0, [-2], 2)) == (1 << 64) - 2


def test_dims_that_are_not_there() -> None:
    """An index beyond the rank is -1, and 100000 in the newer form."""
    desc = acl.create_tensor_desc(0, [2], 2)
    for index in (-1, 1, 100):
        assert acl.get_tensor_desc_dim(desc, index) == -1
        assert acl.get_tensor_desc_dim_v2(desc, index) == (-1, 100000)


def test_handles_that_are_no_description() -> None:
    """Null, destroyed and foreign handles: the getters' failure values, codes from the setters."""
    gone = acl.create_tensor_desc(0, [2], 2)
    acl.destroy_tensor_desc(gone)
    buffer = acl.create_data_buffer(0, 0)

    for handle in (0, gone, buffer, 77):
        assert acl.get_tensor_desc_type(handle) == acl.get_tensor_desc_format(handle) == -1
        assert acl.get_tensor_desc_size(handle) == acl.get_tensor_desc_num_dims(handle) == 0
        assert acl.get_tensor_desc_dim_v2(handle, 0) == (-1, 100000)
        assert acl.set_tensor_place_ment(handle, 1) == 100000
        assert acl.destroy_tensor_desc(handle) is None
    assert "data buffer" in (in_text(lambda: acl.get_tensor_desc_size(buffer)))


def in_text(call: object) -> str:
    """Return the text that a call leaves."""
    call()  # type: ignore[operator]
    return acl.get_recent_err_msg() or ""


def test_names_and_places() -> None:
    """A name is kept; a placement is 0, 1 or 2."""
    desc = acl.create_tensor_desc(0, [2], 2)
    assert acl.get_tensor_desc_name(desc) == ""
    assert acl.set_tensor_desc_name(desc, "x1") is None

    assert acl.get_tensor_desc_name(desc) == "x1"
    assert [acl.set_tensor_place_ment(desc, place) for place in (0, 1, 2, 3, -1)] == [0, 0, 0, 100000, 100000]
    with pytest.raises(TypeError):
        untyped.set_tensor_desc_name(desc, 5)


def test_layouts_in_memory() -> None:
    """A tensor's own format and dims are what it was created with; where it lies in another layout is said apart."""
    for set_format, set_shape in (
        (acl.set_tensor_format, acl.set_tensor_shape),
        (acl.set_tensor_storage_format, acl.set_tensor_storage_shape),
    ):
        desc = acl.create_tensor_desc(1, [1, 17, 8, 8], 0)
        assert set_format(desc, 3) == set_shape(desc, [1, 2, 8, 8, 16]) == 0
        assert acl.get_tensor_desc_format(desc) == 0
        assert acl.get_tensor_desc_num_dims(desc) == 4
        assert acl.get_tensor_desc_dim_v2(desc, 1) == (17, 0)
        assert acl.get_tensor_desc_element_count(desc) == 17 * 64
        assert acl.get_tensor_desc_size(desc) == 2 * 2 * 64 * 16  # as it lies in memory
        assert (set_format(desc, 99), set_shape(desc, [-3]), set_format(0, 3)) == (100000, 100000, 100000)

        other = acl.create_tensor_desc(1, [1, 2, 8, 8, 16], 3)
        assert acl.set_tensor_origin_format(other, 0) == acl.set_tensor_origin_shape(other, [1, 17, 8, 8]) == 0
        assert tensor_descs.get(other) is tensor_descs.get(desc)
        assert (acl.set_tensor_origin_format(other, 99), acl.set_tensor_origin_shape(0, [1])) == (100000, 100000)


def test_a_constant_in_another_layout() -> None:
    """The contents of a constant go with its dims; dims of another number of elements are refused."""
    desc, data = acl.create_tensor_desc(3, [2, 3], 2), np.arange(6, dtype=np.int32)
    assert acl.set_tensor_const(desc, acl.util.numpy_to_ptr(data), 24) == 0
    assert acl.set_tensor_shape(desc, [3, 2]) == 0
    value = tensor_descs.get(desc).value
    assert value is not None
    assert value.tolist() == [[0, 1], [2, 3], [4, 5]]
    assert acl.set_tensor_shape(desc, [7]) == 100000


def test_constants_are_read_at_once(device: int) -> None:
    """set_tensor_const takes exactly the tensor's bytes; null, other sizes and unmapped memory are codes."""
    desc, values = acl.create_tensor_desc(9, [2], 2), np.array([4, 5])

    assert acl.set_tensor_const(desc, acl.util.numpy_to_ptr(values), 16) == 0
    assert acl.set_tensor_const(desc, acl.util.numpy_to_ptr(values), 8) == 100000
    assert acl.set_tensor_const(desc, 0, 16) == 100000
    assert acl.set_tensor_const(desc, 8, 16) == 107000
    assert acl.set_tensor_const(acl.create_tensor_desc(9, [-1], 2), acl.util.numpy_to_ptr(values), 16) == 100000


@pytest.mark.parametrize(
    ("data_type", "size"),
    [(-1, 0), (0, 4), (1, 2), (2, 1), (3, 4), (9, 8), (11, 8), (12, 1), (13, 0), (16, 8), (17, 16), (27, 2), (29, 1),
     (30, 1), (99, 0), (-5, 0)],
)  # fmt: skip
def test_data_type_sizes(data_type: int, size: int) -> None:
    """C167: bytes of an element of each type; 0 for strings and what is no type."""
    assert acl.data_type_size(data_type) == size


def test_data_buffers(device: int) -> None:
    """An address and a size are kept, odd and empty ones too; updating replaces both."""
    pointer = good(acl.rt.malloc(64, 0))
    for address, size in ((pointer, 64), (0, 0), (0, 1), (12345, 7)):
        buffer = acl.create_data_buffer(address, size)
        assert buffer > 0
        assert (acl.get_data_buffer_addr(buffer), acl.get_data_buffer_size(buffer)) == (address, size)
        ok(acl.update_data_buffer(buffer, pointer, 32))
        assert (acl.get_data_buffer_addr(buffer), acl.get_data_buffer_size_v2(buffer)) == (pointer, 32)
        assert (acl.destroy_data_buffer(buffer), acl.destroy_data_buffer(buffer)) == (0, 100000)
    assert acl.rt.free(pointer) == 0  # the memory is the program's own


def test_sizes_beyond_four_gibibytes() -> None:
    """C167: the older call gives 32 bits, the newer one all."""
    buffer = acl.create_data_buffer(4096, 2**32 + 16)

    assert acl.get_data_buffer_size(buffer) == 16
    assert acl.get_data_buffer_size_v2(buffer) == 2**32 + 16


def test_what_is_no_data_buffer() -> None:
    """Negative sizes give no handle; null, destroyed and foreign handles are 0 and codes."""
    assert acl.create_data_buffer(4096, -1) == 0
    desc = acl.create_tensor_desc(0, [1], 2)
    for handle in (0, desc, 99):
        assert acl.get_data_buffer_addr(handle) == acl.get_data_buffer_size(handle) == 0
        assert acl.update_data_buffer(handle, 0, 0) == acl.destroy_data_buffer(handle) == 100000
    with pytest.raises(TypeError):
        untyped.create_data_buffer("0", 0)


def test_handles_are_shared_by_threads() -> None:
    """A handle made in one thread is good in another."""
    desc = in_thread(lambda: acl.create_tensor_desc(0, [3], 2))

    assert acl.get_tensor_desc_size(desc) == 12
