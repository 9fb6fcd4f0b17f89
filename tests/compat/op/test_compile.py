"""Operators that are compiled while the program runs."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence

import numpy as np
import pytest

import acl
from tests.compat._programs import (
    BOOL,
    FLOAT,
    FLOAT16,
    INT32,
    INT64,
    ND,
    Array,
    MakeGate,
    get,
    good,
    ok,
    put,
    run_program,
    untyped,
)  # fmt: skip

A = np.arange(24, dtype=np.float32).reshape(4, 6)
B = A[::-1].copy()
NUMBERS = {np.dtype(np.float32): FLOAT, np.dtype(np.float16): FLOAT16, np.dtype(np.int32): INT32,
           np.dtype(np.int64): INT64, np.dtype(np.bool_): BOOL}  # fmt: skip


class Call:
    """Descriptions and buffers of inputs and an output, for every call that takes them."""

    def __init__(self, inputs: Sequence[Array | None], output: Array, attr: int = 0) -> None:
        self.output, self.attr = output, attr
        self.descs = [describe(array) for array in inputs]
        self.buffers = [
            acl.create_data_buffer(0, 0) if array is None else acl.create_data_buffer(put(array), array.nbytes)
            for array in inputs
        ]
        self.target = put(output)
        self.out, self.room = describe(output), acl.create_data_buffer(self.target, output.nbytes)

    def compile(self, op: str) -> int:
        """Compile it."""
        code: int = acl.op.compile(op, self.descs, [self.out], self.attr, 0, 0, None)
        return code

    def execute(self, op: str, stream: int = 0) -> int:
        """Execute it, which needs an operator model."""
        code: int = acl.op.execute_v2(op, self.descs, self.buffers, [self.out], [self.room], self.attr, stream)
        return code

    def run(self, op: str, stream: int = 0, version: str = "") -> int:
        """Compile and execute it."""
        call = getattr(acl.op, f"compile_and_execute{version}")
        code: int = call(op, self.descs, self.buffers, [self.out], [self.room], self.attr, 0, 0, "", stream)
        return code

    def result(self) -> Array:
        """Synchronise the default stream and return what the output holds."""
        ok(acl.rt.synchronize_stream(0))
        return get(self.target, self.output)


def describe(array: Array | None) -> int:
    """Return the description of an array, or of an absent input."""
    if array is None:
        return int(acl.create_tensor_desc(-1, [], -1))
    return int(acl.create_tensor_desc(NUMBERS[array.dtype], list(array.shape), ND))


def dims(desc: int) -> list[int]:
    """Return the dims that a description has now."""
    return [good(acl.get_tensor_desc_dim_v2(desc, index)) for index in range(acl.get_tensor_desc_num_dims(desc))]


@pytest.mark.parametrize("version", ["", "_v2"])
def test_no_operator_model_is_needed(device: int, version: str) -> None:
    """compile_and_execute runs what execute_v2 has no model for; after it execute_v2 has."""
    call = Call([A, B], np.zeros_like(A))
    assert call.execute("Add") == 100024
    ok(call.run("Add", version=version))
    np.testing.assert_array_equal(call.result(), A + B)
    again = Call([B, B], np.zeros_like(A))
    ok(again.execute("Add"))
    np.testing.assert_array_equal(again.result(), B + B)
    assert again.execute("Mul") == 100024
    assert "acl.op.compile" in (acl.get_recent_err_msg() or "")


def test_compiling_alone(device: int) -> None:
    """After compile, execute_v2 and create_handle find the operator; other shapes and attributes are not served."""
    call = Call([A, B], np.zeros_like(A))
    ok(call.compile("Sub"))
    ok(call.execute("Sub"))
    np.testing.assert_array_equal(call.result(), A - B)
    handle = good(acl.op.create_handle("Sub", call.descs, [call.out], 0))
    ok(acl.op.execute_with_handle(handle, call.buffers[::-1], [call.room], 0))
    np.testing.assert_array_equal(call.result(), B - A)
    other = Call([A[:2].copy(), B[:2].copy()], np.zeros_like(A[:2]))
    assert other.execute("Sub") == 100024
    assert "Sub(float[4, 6], float[4, 6]) (compiled)" in (acl.get_recent_err_msg() or "")


def test_free_dims_serve_every_size(device: int) -> None:
    """Compiled with -1 dims, an operator serves every size of them."""
    free = acl.create_tensor_desc(FLOAT, [-1, 6], ND)
    ok(acl.op.compile("Add", [free, free], [free], 0, 0, 0, ""))
    for rows in (1, 4, 2):
        call = Call([A[:rows].copy(), B[:rows].copy()], np.zeros_like(A[:rows]))
        ok(call.execute("Add"))
        np.testing.assert_array_equal(call.result(), A[:rows] + B[:rows])


def test_a_finished_runtime_has_none(device: int) -> None:
    """What was compiled ends with the runtime."""
    ok(Call([A, B], np.zeros_like(A)).compile("Add"))
    ok(acl.finalize())
    ok(acl.init())
    ok(acl.rt.set_device(0))

    assert Call([A, B], np.zeros_like(A)).execute("Add") == 100024


def test_fixed_shapes_are_asynchronous(device: int, gate: MakeGate) -> None:
    """Where the outputs' shapes are known the call returns at once, and the operator takes its place in the stream."""
    stream = good(acl.rt.create_stream())
    call = Call([A, B], np.zeros_like(A))
    held = gate(stream)
    ok(call.run("Add", stream))
    assert not get(call.target, A).any()
    held.open()
    ok(acl.rt.synchronize_stream(stream))

    np.testing.assert_array_equal(get(call.target, A), A + B)


@pytest.mark.parametrize(("version", "shape"), [("", [6, 1]), ("_v2", [3, 1])])
def test_ranged_shapes_are_synchronous(device: int, version: str, shape: list[int]) -> None:
    """Where values decide, the call waits; only the second version writes the exact shape into the description."""
    call = Call([np.array([0, 5, 0, 7, 9, 0], np.int32)], np.zeros((6, 1), np.int64))
    assert call.execute("NonZero") == 100024  # C075: execute_v2 wants an operator model
    ok(call.run("NonZero", version=version))

    assert dims(call.out) == shape
    assert get(call.target, np.zeros(3, np.int64)).tolist() == [1, 3, 4]


def test_waiting_in_a_callback_of_the_same_stream(device: int, gate: MakeGate) -> None:
    """A callback that would wait for its own stream is refused, not hung."""
    stream, codes = good(acl.rt.create_stream()), list[int]()
    call = Call([np.array([0, 5], np.int32)], np.zeros((2, 1), np.int64))
    gate(stream).open()

    def callback(_data: object) -> None:
        ok(acl.rt.set_context(context))
        codes.append(call.run("NonZero", stream))

    context = good(acl.rt.get_context())
    ok(acl.rt.launch_callback(callback, None, 1, stream))
    ok(acl.rt.synchronize_stream(stream))

    assert codes == [507004]


def test_a_failure_that_is_waited_for_is_the_calls_own(device: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A synchronous run returns its failure, and the next synchronise does not return it again."""
    call = Call([np.array([0, 5], np.int32)], np.zeros((2, 1), np.int64))
    ok(call.run("NonZero"))

    def fail(_: object) -> None:
        raise FloatingPointError("planted")

    monkeypatch.setattr(np, "argwhere", fail)  # what the kernel looks with
    assert call.run("NonZero") == 507018
    assert "NonZero" in (acl.get_recent_err_msg() or "")
    ok(acl.rt.synchronize_stream(0))


def test_the_second_version_takes_larger_descriptions(device: int) -> None:
    """An output may be described larger with it; the first version wants what the operator gives."""
    call = Call([A, B], np.full((5, 6), -1, np.float32))
    assert call.run("Add") == 100000
    text = acl.get_recent_err_msg() or ""
    assert "output 0 has shape [4, 6]; it is described as [5, 6]" in text
    ok(call.run("Add", version="_v2"))
    ok(acl.rt.synchronize_stream(0))

    assert dims(call.out) == [4, 6]
    np.testing.assert_array_equal(get(call.target, call.output)[:4], A + B)
    call.out = describe(call.output)
    assert call.run("Add") == 100000  # also after the second version took it


def test_optional_inputs(device: int) -> None:
    """C073: present; absent, with data type and format -1 and an empty buffer; left out; and absent where it may not be."""
    x, bias, out = A[:, :4].copy(), np.arange(4, dtype=np.float32), np.zeros((4, 4), np.float32)
    for inputs, expected in (([x, x, bias], x @ x + bias), ([x, x, None], x @ x), ([x, x], x @ x)):
        call = Call(inputs, out)
        ok(call.run("MatMul"))
        np.testing.assert_allclose(call.result(), expected)
    assert Call([x, None, bias], out).run("MatMul") == 100000
    assert "x2, is absent" in (acl.get_recent_err_msg() or "")
    assert Call([x], out).run("MatMul") == 100000
    assert "x1, x2" in (acl.get_recent_err_msg() or "")


def test_constant_inputs(device: int) -> None:
    """A constant has its contents in the description and an empty buffer; another constant is another operator."""
    for shape in ([6, 4], [3, 8]):
        call = Call([A, None], np.zeros(shape, np.float32))
        values = np.array(shape, np.int64)
        call.descs[1] = acl.create_tensor_desc(INT64, [2], ND)
        ok(acl.set_tensor_const(call.descs[1], acl.util.numpy_to_ptr(values), 16))
        ok(call.run("Reshape"))
        np.testing.assert_array_equal(call.result(), A.reshape(shape))


@pytest.mark.parametrize("place", [1, 2])
def test_inputs_on_the_host(device: int, gate: MakeGate, place: int) -> None:
    """Inputs placed on the host are copied by the call: the program may overwrite them at once."""
    stream = good(acl.rt.create_stream())
    small, large = np.full((2, 2), 3, np.float32), np.ones((64, 64), np.float32)
    held = gate(stream)
    calls = []
    for array in (small, large):
        call = Call([array, array], np.zeros_like(array))
        host = array.copy()
        call.buffers[1] = acl.create_data_buffer(acl.util.numpy_to_ptr(host), host.nbytes)
        ok(acl.set_tensor_place_ment(call.descs[1], place))
        ok(call.run("Add", stream))
        host[:] = -1
        calls.append((call, array))
    held.open()
    ok(acl.rt.synchronize_stream(stream))

    for call, array in calls:
        np.testing.assert_array_equal(get(call.target, array), array + array)


def test_handles_take_inputs_on_the_host(device: int) -> None:
    """execute_with_handle copies what is placed on the host too, at each call."""
    call = Call([A, B], np.zeros_like(A))
    ok(acl.set_tensor_place_ment(call.descs[1], 1))
    ok(call.compile("Add"))
    handle = good(acl.op.create_handle("Add", call.descs, [call.out], 0))
    for factor in (1, 2):
        host = B * factor
        buffer = acl.create_data_buffer(acl.util.numpy_to_ptr(host), host.nbytes)
        ok(acl.op.execute_with_handle(handle, [call.buffers[0], buffer], [call.room], 0))
        host[:] = 0
        np.testing.assert_array_equal(call.result(), A + B * factor)
    acl.op.destroy_handle(handle)


def test_values_on_the_host_that_decide_a_shape(device: int) -> None:
    """C075: the shape that Reshape goes to lies on the host, and is read at each call."""
    call = Call([A, np.array([6, 4])], np.zeros((6, 4), np.float32))
    for shape in ([6, 4], [2, 12]):
        values = np.array(shape, np.int64)
        call.buffers[1] = acl.create_data_buffer(acl.util.numpy_to_ptr(values), 16)
        ok(acl.set_tensor_place_ment(call.descs[1], 1))
        ok(call.run("Reshape", version="_v2"))
        np.testing.assert_array_equal(call.result(), A.reshape(6, 4))
        assert dims(call.out) == shape


def test_memory_of_the_host_that_is_not_there(device: int) -> None:
    """An input on the host that is not mapped, or shorter than its description, is a code."""
    call = Call([np.ones((64, 64), np.float32)] * 2, np.zeros((64, 64), np.float32))
    ok(acl.set_tensor_place_ment(call.descs[1], 1))
    call.buffers[1] = acl.create_data_buffer(4096, 1 << 14)
    assert call.run("Add") == 107000
    block = good(acl.rt.malloc_host(1 << 12))
    call.buffers[1] = acl.create_data_buffer(block, 1 << 14)
    assert call.run("Add") == 107000
    call.buffers[1] = acl.create_data_buffer(block, 1 << 12)
    assert call.run("Add") == 100000
    ok(acl.rt.free_host(block))
    libc = ctypes.CDLL(None)
    libc.mmap.restype = ctypes.c_void_p
    guarded = libc.mmap(None, ctypes.c_size_t(1 << 14), 0, 0x22, -1, ctypes.c_long(0))  # mapped, without any access
    call.buffers[1] = acl.create_data_buffer(guarded, 1 << 14)
    assert call.run("Add") == 107000
    ok(acl.set_tensor_place_ment(call.descs[1], 0))
    assert call.run("Add") == 107000
    assert "readable" in (acl.get_recent_err_msg() or "")


@pytest.mark.parametrize("version", ["", "_v2"])
def test_what_cannot_be_compiled(device: int, version: str) -> None:
    """C071, C072: unknown operators, data types, attributes and shapes are codes with the operator's name; the next works."""
    call = Call([A, B], np.zeros_like(A))
    assert call.run("NoSuchOp", version=version) == 100024
    assert "NoSuchOp" in (acl.get_recent_err_msg() or "")
    attr = acl.op.create_attr()
    ok(acl.op.set_attr_int(attr, "axis", 1))
    call.attr = attr
    assert call.run("Add", version=version) == 100000
    assert "Add has no attribute 'axis'" in (acl.get_recent_err_msg() or "")
    call.attr = 0
    assert call.run("Cast", version=version) == 100000  # dst_type is required
    assert Call([A], np.zeros_like(A)).run("Cast", version=version) == 100000
    assert "dst_type" in (acl.get_recent_err_msg() or "")
    ok(acl.op.set_attr_string(attr, "dst_type", "float16"))
    text = Call([np.zeros(4, np.bool_)] * 2, np.zeros(4, np.bool_))
    assert text.run("Sub", version=version) == 100026
    assert "Sub" in (acl.get_recent_err_msg() or "")
    assert Call([A, B[:, :5].copy()], np.zeros_like(A)).run("Add", version=version) == 100000
    assert "(4, 6)" in (acl.get_recent_err_msg() or "")
    assert Call([A, B], np.zeros(24, np.int32)).run("Add", version=version) == 100000
    assert "FLOAT; it is described as INT32" in (acl.get_recent_err_msg() or "")
    assert acl.op.compile("Split", call.descs[:1], [call.out] * 2, 0, 0, 0, None) != 0

    ok(call.run("Add", version=version))
    np.testing.assert_array_equal(call.result(), A + B)


def test_strings_are_refused(device: int) -> None:
    """C164: a data type without contents has the size 0, and an operator on it is refused by name."""
    desc = acl.create_tensor_desc(13, [4], ND)
    buffer = acl.create_data_buffer(put(np.zeros(4, np.int64)), 32)
    assert acl.data_type_size(13) == 0

    code = acl.op.compile_and_execute("Add", [desc] * 2, [buffer] * 2, [desc], [buffer], 0, 0, 0, None, 0)

    assert code == 100026
    assert "STRING" in (acl.get_recent_err_msg() or "")


def test_ways_of_compiling(device: int) -> None:
    """Engines 0 to 2 are taken; operators built from sources are not supported; wrong kinds of arguments are TypeErrors."""
    call = Call([A, B], np.zeros_like(A))

    def compiled(engine: object, flag: object, path: object) -> int:
        code: int = untyped.op.compile("Add", call.descs, [call.out], 0, engine, flag, path)
        return code

    assert [compiled(engine, 0, None) for engine in (0, 1, 2, 3, -1)] == [0, 0, 0, 100000, 100000]
    assert compiled(0, 1, "/opp/add.py") == 200006
    assert "acl.op.register_compile_func" in (acl.get_recent_err_msg() or "")
    assert [compiled(0, flag, None) for flag in (1, 2)] == [100000, 100000]
    for wrong in ((0.5, 0, None), (0, None, None), (0, 0, 7)):
        with pytest.raises(TypeError):
            compiled(*wrong)
    with pytest.raises(TypeError):
        untyped.op.compile(7, call.descs, [call.out], 0, 0, 0, None)
    assert acl.op.compile("Add", [0], [call.out], 0, 0, 0, None) == 100000


def test_without_a_context() -> None:
    """Nothing compiles before acl.init, or in a thread without a context."""
    assert acl.op.compile("Add", [], [], 0, 0, 0, None) == 100001
    ok(acl.init())
    assert acl.op.compile("Add", [], [], 0, 0, 0, None) == 107002
    assert acl.op.compile_and_execute("Add", [], [], [], [], 0, 0, 0, None, 0) == 107002


def test_attributes_are_part_of_what_is_compiled(device: int) -> None:
    """The same operator with another attribute is compiled apart."""
    x = A.copy()
    for axis, shape in ((0, (6,)), (1, (4,))):
        attr = acl.op.create_attr()
        ok(acl.op.set_attr_list_int(attr, "axes", [axis]))
        call = Call([x], np.zeros(shape, np.float32), attr)
        ok(call.run("ReduceSumD"))
        np.testing.assert_allclose(call.result(), x.sum(axis))


@pytest.mark.parametrize(("soc", "code"), [("Ascend950PR", 200001), ("IPV350", 200001), ("Ascend310P3", 0)])
def test_products_without_a_compiler(soc: str, code: int) -> None:
    """On a product that cannot compile it works with one warning; with AACL_STRICT=1 it is 200001, with the name."""
    program = """
        import sys, warnings
        import acl
        acl.init(), acl.rt.set_device(0)
        desc = acl.create_tensor_desc(0, [4], 2)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            codes = [acl.op.compile("Add", [desc] * 2, [desc], 0, 0, 0, None) for _ in range(2)]
        print(codes, len(caught), acl.op.compile_and_execute("Neg", [], [], [], [], 0, 0, 0, None, 0))
        print(acl.get_recent_err_msg())
        acl.rt.reset_device(0), acl.finalize()
    """
    gentle = run_program(program, AACL_SOC=soc).splitlines()
    strict = run_program(program, AACL_SOC=soc, AACL_STRICT="1").splitlines()

    assert gentle[0] == f"[0, 0] {int(code != 0)} 100000"
    assert strict[0] == f"[{code}, {code}] 0 {code or 100000}"
    assert (soc in strict[1]) == (code != 0)
