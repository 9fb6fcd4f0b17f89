"""Operands of operators: absent, constant, on the host, and beyond the memory that they are given."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import acl
from tests.compat._programs import FLOAT, INT64, ND, binary, compile_operators, get, good, ok, put, tensor


def test_optional_inputs(tmp_path: Path, device: int) -> None:
    """C073: present, absent (type -1 and an empty buffer), and left out, which is another number of inputs."""
    two, row = tensor("float", [2, 2]), tensor("float", [2])
    absent: dict[str, object] = {"format": "RESERVED", "type": "UNDEFINED", "shape": []}
    folder = compile_operators(
        tmp_path,
        {"op": "MatMul", "input_desc": [two, two, row], "output_desc": [two]},
        {"op": "MatMul", "input_desc": [two, two, absent], "output_desc": [two]},
    )
    ok(acl.op.set_model_dir(str(folder)))
    x, bias = np.arange(4, dtype=np.float32).reshape(2, 2), np.array([10, 20], np.float32)
    desc, row_desc = acl.create_tensor_desc(FLOAT, [2, 2], ND), acl.create_tensor_desc(FLOAT, [2], ND)
    none = acl.create_tensor_desc(-1, [], -1), acl.create_data_buffer(0, 0)
    buffers = [acl.create_data_buffer(put(array), array.nbytes) for array in (x, bias, np.zeros_like(x))]

    def run(descs: list[int], given: list[int]) -> int:
        code: int = acl.op.execute_v2(
            "MatMul", [desc, desc, *descs], [buffers[0]] * 2 + given, [desc], buffers[2:], 0, 0
        )
        return code or acl.rt.synchronize_stream(0)

    ok(run([row_desc], [buffers[1]]))
    np.testing.assert_allclose(get(acl.get_data_buffer_addr(buffers[2]), x), x @ x + bias)
    ok(run([none[0]], [none[1]]))
    np.testing.assert_allclose(get(acl.get_data_buffer_addr(buffers[2]), x), x @ x)
    assert run([], []) == 100024


def test_constant_and_host_inputs(tmp_path: Path, device: int) -> None:
    """An input that decides the output's shape comes as a constant, or lies on the host and is read at submission."""
    data, result = tensor("float", [2, 3]), tensor("float", [3, 2])
    folder = compile_operators(
        tmp_path,
        {"op": "Reshape", "input_desc": [data, tensor("int64", [2])], "output_desc": [result]},
    )
    ok(acl.op.set_model_dir(str(folder)))
    x, shape = np.arange(6, dtype=np.float32).reshape(2, 3), np.array([3, 2])
    descs = [acl.create_tensor_desc(FLOAT, [2, 3], ND), acl.create_tensor_desc(INT64, [2], ND)]
    wanted, out = acl.create_tensor_desc(FLOAT, [3, 2], ND), put(np.zeros_like(x))
    buffers = [acl.create_data_buffer(put(x), 24), acl.create_data_buffer(acl.util.numpy_to_ptr(shape), 16)]
    target = acl.create_data_buffer(out, 24)

    ok(acl.set_tensor_place_ment(descs[1], 1))
    for _ in range(2):
        ok(acl.op.execute_v2("Reshape", descs, buffers, [wanted], [target], 0, 0))
        ok(acl.rt.synchronize_stream(0))
        np.testing.assert_array_equal(get(out, x).reshape(3, 2), x.reshape(3, 2))
    shape[:] = (2, 3)  # read anew each time: now it does not fit the output
    assert acl.op.execute_v2("Reshape", descs, buffers, [wanted], [target], 0, 0) == 100000

    shape[:] = (3, 2)
    constant = acl.create_tensor_desc(INT64, [2], ND)
    ok(acl.set_tensor_const(constant, acl.util.numpy_to_ptr(shape), 16))
    shape[:] = 0
    ok(acl.rt.memset(out, 24, 0, 24))
    empty = acl.create_data_buffer(0, 0)
    ok(acl.op.execute_v2("Reshape", [descs[0], constant], [buffers[0], empty], [wanted], [target], 0, 0))
    ok(acl.rt.synchronize_stream(0))
    np.testing.assert_array_equal(get(out, x).reshape(3, 2), x.reshape(3, 2))


@pytest.mark.parametrize("offset", [0, 8])
@pytest.mark.parametrize("place", [0, 2])
def test_operands_that_leave_malloc_host_memory(tmp_path: Path, device: int, place: int, offset: int) -> None:
    """An operand that begins in a malloc_host block and ends outside is 107000, and nothing behind it is written."""
    ok(acl.op.set_model_dir(str(compile_operators(tmp_path, binary("Add", "float", [8])))))
    desc, x = acl.create_tensor_desc(FLOAT, [8], ND), np.ones(8, np.float32)
    blocks = [good(acl.rt.malloc_host(24 + offset)) for _ in range(8)]  # neighbours
    for block in blocks:
        ok(acl.rt.memset(block, 24 + offset, 7, 24 + offset))
    buffers = [acl.create_data_buffer(put(x), 32) for _ in range(3)]
    buffers[place] = acl.create_data_buffer(blocks[3] + offset, 32)

    assert acl.op.execute_v2("Add", [desc] * 2, buffers[:2], [desc], buffers[2:], 0, 0) == 107000
    assert "reach beyond" in (acl.get_recent_err_msg() or "")
    ok(acl.rt.synchronize_stream(0))
    for block in blocks:
        assert acl.util.ptr_to_bytes(block, 24 + offset) == b"\7" * (24 + offset)
        ok(acl.rt.free_host(block))


@pytest.mark.parametrize("values", [(0.0, -0.0), (-0.0, 0.0)])
def test_attributes_tell_the_two_zeros_apart(tmp_path: Path, device: int, values: tuple[float, float]) -> None:
    """A product by -0.0 has its sign also after one by 0.0 on the same memory, and the other way round."""
    one = tensor("float", [4])
    models: list[dict[str, object]] = [
        {
            "op": "Muls",
            "input_desc": [one],
            "output_desc": [one],
            "attr": [{"name": "value", "type": "float", "value": v}],
        }
        for v in values
    ]
    ok(acl.op.set_model_dir(str(compile_operators(tmp_path, *models))))
    desc, x = acl.create_tensor_desc(FLOAT, [4], ND), np.ones(4, np.float32)
    given, out = acl.create_data_buffer(put(x), 16), put(x)
    wanted = acl.create_data_buffer(out, 16)

    for value in values * 2:
        attr = acl.op.create_attr()
        ok(acl.op.set_attr_float(attr, "value", value))
        ok(acl.op.execute_v2("Muls", [desc], [given], [desc], [wanted], attr, 0))
        ok(acl.rt.synchronize_stream(0))
        assert np.signbit(get(out, x)).tolist() == [bool(np.signbit(value))] * 4
