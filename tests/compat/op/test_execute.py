"""Running single operators."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import acl
from acl.op import _library
from tests.compat._programs import (
    BOOL,
    FLOAT,
    FLOAT16,
    INT32,
    INT64,
    ND,
    Array,
    MakeGate,
    binary,
    compile_operators,
    get,
    good,
    ok,
    put,
    tensor,
)  # fmt: skip

A = np.arange(128, dtype=np.int32).reshape(8, 16)
B = A[::-1].copy()


@pytest.fixture
def models(tmp_path: Path, device: int) -> str:
    """A folder with a few operator models, loaded."""
    folder = compile_operators(
        tmp_path,
        binary("Add", "int32", [8, 16]),
        binary("Add", "float", [-1, 4]),
        binary("Mul", "int32", [8, 16]),
        {
            "op": "Cast",
            "input_desc": [tensor("float", [4])],
            "output_desc": [tensor("int32", [4])],
            "attr": [{"name": "dst_type", "type": "int", "value": INT32}],
        },
        {
            "op": "ReduceSumD",
            "input_desc": [tensor("float", [2, 3])],
            "output_desc": [tensor("float", [2])],
            "attr": [
                {"name": "axes", "type": "list_int", "value": [1]},
                {"name": "keep_dims", "type": "bool", "value": False},
            ],
        },
    )
    ok(acl.op.set_model_dir(str(folder)))
    return str(folder)


class Request:
    """Descriptions and buffers of arrays on the device; the last one is the output."""

    def __init__(self, *arrays: Array, dtype: int = INT32) -> None:
        self.arrays = arrays
        self.pointers = [put(array) for array in arrays]
        self.descs = [acl.create_tensor_desc(dtype, list(array.shape), ND) for array in arrays]
        self.buffers = [acl.create_data_buffer(p, a.nbytes) for p, a in zip(self.pointers, arrays, strict=True)]

    def run(self, op: str = "Add", attr: int = 0, stream: int = 0) -> int:
        """Submit the operator."""
        code: int = acl.op.execute_v2(
            op, self.descs[:-1], self.buffers[:-1], self.descs[-1:], self.buffers[-1:], attr, stream
        )
        return code

    def result(self) -> Array:
        """Return what the output holds."""
        return get(self.pointers[-1], self.arrays[-1])


def test_default_and_explicit_stream(models: str) -> None:
    """C070: the same operator on stream 0 and on another one; each is read after its own synchronise."""
    stream = good(acl.rt.create_stream())
    for target in (0, stream):
        request = Request(A, B, np.zeros_like(A))
        ok(request.run(stream=target))
        ok(acl.rt.synchronize_stream(target))
        np.testing.assert_array_equal(request.result(), A + B)


def test_operators_take_their_place_in_the_stream(models: str, gate: MakeGate) -> None:
    """C070: an operator that is queued behind other work runs in its turn, with what is there then."""
    stream = good(acl.rt.create_stream())
    request = Request(A, B, np.zeros_like(A))
    held = gate(stream)
    ok(acl.rt.memset_async(request.pointers[0], A.nbytes, 0, A.nbytes, stream))
    ok(request.run(stream=stream))
    assert not request.result().any()
    held.open()
    ok(acl.rt.synchronize_stream(stream))

    np.testing.assert_array_equal(request.result(), B)


def test_the_older_form_does_the_same(models: str) -> None:
    """Execute takes the same arguments."""
    request = Request(A, B, np.zeros_like(A))
    ok(acl.op.execute("Mul", request.descs[:2], request.buffers[:2], request.descs[2:], request.buffers[2:], 0, 0))
    ok(acl.rt.synchronize_stream(0))

    np.testing.assert_array_equal(request.result(), A * B)


def test_free_dims_serve_any_size(models: str) -> None:
    """A model compiled with -1 serves every size of that dim, one after another."""
    for rows in (1, 5, 3):
        x = np.random.default_rng(rows).standard_normal((rows, 4)).astype(np.float32)
        request = Request(x, x, np.zeros_like(x), dtype=FLOAT)
        ok(request.run())
        ok(acl.rt.synchronize_stream(0))
        np.testing.assert_array_equal(request.result(), x + x)


def test_attributes_decide(models: str) -> None:
    """Attributes are part of the match: with other values there is no model, defaults included."""
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    request = Request(x, np.zeros(2, np.float32), dtype=FLOAT)
    attr = acl.op.create_attr()
    ok(acl.op.set_attr_list_int(attr, "axes", [1]))
    ok(request.run("ReduceSumD", attr))
    ok(acl.rt.synchronize_stream(0))
    np.testing.assert_array_equal(request.result(), x.sum(1))

    ok(acl.op.set_attr_list_int(attr, "axes", [0]))
    assert request.run("ReduceSumD", attr) == 100024
    ok(acl.op.set_attr_list_int(attr, "axes", [1]))
    ok(acl.op.set_attr_bool(attr, "keep_dims", 1))
    assert request.run("ReduceSumD", attr) == 100024


def test_unknown_operators_and_attributes(models: str) -> None:
    """C072: a code and a text that says which operator; what comes next works."""
    request = Request(A, B, np.zeros_like(A))
    assert request.run("NoSuchOp") == 100024
    assert "NoSuchOp" in (acl.get_recent_err_msg() or "")
    attr = acl.op.create_attr()
    ok(acl.op.set_attr_int(attr, "axis", 1))
    assert request.run("Add", attr) == 100000
    assert "axis" in (acl.get_recent_err_msg() or "")
    assert Request(np.zeros(4, np.float32), np.zeros(4, np.int32)).run("Cast") != 0  # dst_type is required
    with pytest.raises(TypeError):
        request.run(5)  # type: ignore[arg-type]

    ok(request.run())
    ok(acl.rt.synchronize_stream(0))
    np.testing.assert_array_equal(request.result(), A + B)


@pytest.mark.parametrize(
    ("dtype", "shape"), [(13, [8, 16]), (16, [8, 16]), (INT64, [8, 16]), (BOOL, [8, 16]), (INT32, [8, 17])]
)
def test_what_no_model_was_compiled_for(models: str, dtype: int, shape: list[int]) -> None:
    """C071: another dtype or shape is 100024 at submission, with the operator and the types in the text."""
    request = Request(A, B, np.zeros_like(A))
    desc = acl.create_tensor_desc(dtype, shape, ND)

    assert acl.op.execute_v2("Add", [desc] * 2, request.buffers[:2], [desc], request.buffers[2:], 0, 0) == 100024
    text = acl.get_recent_err_msg() or ""
    assert "Add(" in text
    assert str(shape) in text
    assert "0_Add_3_2_8_16" in text  # what there is
    assert "atc --singleop" in text


def test_lists_and_buffers_that_do_not_fit(models: str) -> None:
    """C074: lists of different length and short buffers are codes with index and sizes; outputs are untouched."""
    request = Request(A, B, np.full_like(A, 7))
    descs, buffers = request.descs, request.buffers
    small = acl.create_data_buffer(request.pointers[0], 100)

    assert acl.op.execute_v2("Add", descs[:2], buffers[:1], descs[2:], buffers[2:], 0, 0) == 100000
    assert "2 input descriptions and 1 input buffers" in (acl.get_recent_err_msg() or "")
    assert acl.op.execute_v2("Add", descs[:2], buffers[:2], descs[2:], [], 0, 0) == 100000
    assert acl.op.execute_v2("Add", descs[:2], [buffers[0], small], descs[2:], buffers[2:], 0, 0) == 100000
    text = acl.get_recent_err_msg() or ""
    assert all(part in text for part in ("input 1", "512", "100"))
    assert acl.op.execute_v2("Add", descs[:1], buffers[:1], descs[2:], buffers[2:], 0, 0) == 100024
    assert acl.op.execute_v2("Add", [descs[0], 0], buffers[:2], descs[2:], buffers[2:], 0, 0) == 100000
    assert acl.op.execute_v2("Add", descs[:2], [buffers[0], 77], descs[2:], buffers[2:], 0, 0) == 100000
    assert acl.op.execute_v2("Add", descs[:2], buffers[:2], descs[2:], buffers[2:], 77, 0) == 100000
    assert acl.op.execute_v2("Add", descs[:2], buffers[:2], descs[2:], buffers[2:], 0, 77) == 107017
    bad = acl.create_data_buffer(8, 512)
    assert acl.op.execute_v2("Add", descs[:2], [buffers[0], bad], descs[2:], buffers[2:], 0, 0) == 107000
    ok(acl.rt.synchronize_stream(0))
    np.testing.assert_array_equal(request.result(), np.full_like(A, 7))


def test_outputs_of_unknown_size(models: str) -> None:
    """C069: an output whose dims are not given is 145000, and the text names operator and output."""
    x = np.zeros((2, 4), np.float32)
    request = Request(x, x, x, dtype=FLOAT)
    unknown = acl.create_tensor_desc(FLOAT, [-1, 4], ND)

    assert (
        acl.op.execute_v2("Add", request.descs[:2], request.buffers[:2], [unknown], request.buffers[2:], 0, 0) == 145000
    )
    assert "operator Add: output 0" in (acl.get_recent_err_msg() or "")
    whole = Request(A, B, np.zeros_like(A))
    unknown = acl.create_tensor_desc(INT32, [-1, 16], ND)  # no model was compiled for this one
    assert acl.op.execute_v2("Add", whole.descs[:2], whole.buffers[:2], [unknown], whole.buffers[2:], 0, 0) == 145000


def test_memory_of_the_host_and_inside_allocations(models: str) -> None:
    """C056: NumPy memory as input and output, and addresses inside one large block, give the same result."""
    out, block = np.zeros_like(A), put(np.concatenate([A, B, np.zeros_like(A)]))
    desc = acl.create_tensor_desc(INT32, [8, 16], ND)
    for pointers in (
        (A.ctypes.data, B.ctypes.data, out.ctypes.data),
        (block, block + A.nbytes, block + 2 * A.nbytes),
        (A.ctypes.data, block + A.nbytes, block + 2 * A.nbytes),
    ):
        buffers = [acl.create_data_buffer(pointer, A.nbytes) for pointer in pointers]
        for _ in range(2):
            ok(acl.rt.memset(pointers[2], A.nbytes, 0, A.nbytes))
            ok(acl.op.execute_v2("Add", [desc] * 2, buffers[:2], [desc], buffers[2:], 0, 0))
            ok(acl.rt.synchronize_stream(0))
            np.testing.assert_array_equal(get(pointers[2], A), A + B)


def test_memory_that_was_freed_and_allocated_again(models: str) -> None:
    """A request that was run before finds new memory at the same addresses, and refuses freed memory."""
    request = Request(A, B, np.zeros_like(A))
    ok(request.run())
    ok(acl.rt.synchronize_stream(0))
    for pointer in request.pointers:
        ok(acl.rt.free(pointer))
    assert request.run() == 107000

    again = [good(acl.rt.malloc(A.nbytes, 0)) for _ in range(3)]
    assert set(again) == set(request.pointers)
    for pointer, array in zip(request.pointers, (A, A, B), strict=True):
        data = array.tobytes()
        ok(acl.rt.memcpy(pointer, A.nbytes, acl.util.bytes_to_ptr(data), A.nbytes, 1))
    ok(request.run())
    ok(acl.rt.synchronize_stream(0))
    np.testing.assert_array_equal(request.result(), A + A)


def test_requests_are_matched_once(models: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Handles that are made and destroyed for every run do not cost the match again; freeing memory does not either."""
    pointers = [put(A), put(B), put(np.zeros_like(A))]
    other = put(A)
    matches: list[str] = []
    original = _library.find

    def counted(op_type: str, *rest: object) -> object:
        matches.append(op_type)
        return original(op_type, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr("acl.op._prepared.find", counted)
    for turn in range(5):
        descs = [acl.create_tensor_desc(INT32, [8, 16], ND) for _ in pointers]
        buffers = [acl.create_data_buffer(pointer, A.nbytes) for pointer in pointers]
        attr = acl.op.create_attr()
        ok(acl.op.execute_v2("Add", descs[:2], buffers[:2], descs[2:], buffers[2:], attr, 0))
        ok(acl.rt.synchronize_stream(0))
        for desc, buffer in zip(descs, buffers, strict=True):
            acl.destroy_tensor_desc(desc)
            ok(acl.destroy_data_buffer(buffer))
        acl.op.destroy_attr(attr)
        if turn == 2:
            ok(acl.rt.free(other))

    assert matches == ["Add"]


def test_the_number_of_prepared_requests_is_bounded(models: str) -> None:
    """set_max_op_queue_num bounds what is kept; more requests than that still run right."""
    from acl.op import _prepared

    assert acl.op.set_max_op_queue_num(0) == 148048
    ok(acl.op.set_max_op_queue_num(4))
    for rows in [*range(1, 12), *range(1, 12)]:
        x = np.full((rows, 4), rows, np.float32)
        request = Request(x, x, np.zeros_like(x), dtype=FLOAT)
        ok(request.run())
        ok(acl.rt.synchronize_stream(0))
        np.testing.assert_array_equal(request.result(), x + x)

    assert len(_prepared._newer) + len(_prepared._older) <= 8


def test_a_failed_run_is_the_synchronises_code_and_poisons_nothing(
    models: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A kernel that fails is 507018 at the next synchronise, with the operator's name; the next run is well."""
    import aacl
    from acl.op import _prepared

    request = Request(A, B, np.zeros_like(A))
    ok(request.run())
    ok(acl.rt.synchronize_stream(0))
    operation = next(iter(_prepared._newer.values())).operation
    assert isinstance(operation, aacl.Operation)

    def fail() -> None:
        raise FloatingPointError("planted")

    bound = operation._run
    operation._run = fail
    assert request.run() == 0
    assert acl.rt.synchronize_stream(0) == 507018
    assert "Add" in (acl.get_recent_err_msg() or "")
    assert acl.rt.synchronize_stream(0) == 0
    operation._run = bound
    ok(request.run())
    ok(acl.rt.synchronize_stream(0))
    np.testing.assert_array_equal(request.result(), A + B)


def test_handles_save_the_match(models: str) -> None:
    """create_handle matches once; the handle runs on any buffers, whatever became of the descriptions."""
    request = Request(A, B, np.zeros_like(A))
    handle = good(acl.op.create_handle("Add", request.descs[:2], request.descs[2:], 0))
    for desc in request.descs:
        acl.destroy_tensor_desc(desc)
    for _ in range(2):
        ok(acl.rt.memset(request.pointers[2], A.nbytes, 0, A.nbytes))
        ok(acl.op.execute_with_handle(handle, request.buffers[:2], request.buffers[2:], 0))
        ok(acl.rt.synchronize_stream(0))
        np.testing.assert_array_equal(request.result(), A + B)

    assert acl.op.execute_with_handle(handle, request.buffers[:1], request.buffers[2:], 0) == 100000
    assert acl.op.destroy_handle(handle) is None
    assert acl.op.execute_with_handle(handle, request.buffers[:2], request.buffers[2:], 0) == 100000
    wrong = acl.create_tensor_desc(INT32, [9], ND)
    assert acl.op.create_handle("Add", [wrong] * 2, [wrong], 0) == (0, 100024)
    assert acl.op.create_handle("Add", [0, 0], [0], 0) == (0, 100000)


def test_casts(models: str) -> None:
    """Cast is the operator Cast to the output's data type; without a model for it there is none."""
    x, y = np.array([1.7, -2.2, 3.0, 0.4], np.float32), np.zeros(4, np.int32)
    descs = acl.create_tensor_desc(FLOAT, [4], ND), acl.create_tensor_desc(INT32, [4], ND)
    buffers = [acl.create_data_buffer(put(array), 16) for array in (x, y)]
    ok(acl.op.cast(descs[0], buffers[0], descs[1], buffers[1], 0, 0))
    ok(acl.rt.synchronize_stream(0))
    np.testing.assert_array_equal(get(acl.get_data_buffer_addr(buffers[1]), y), [1, -2, 3, 0])

    handle = good(acl.op.create_handle_for_cast(*descs, 0))
    ok(acl.op.execute_with_handle(handle, buffers[:1], buffers[1:], 0))
    ok(acl.rt.synchronize_stream(0))
    half = acl.create_tensor_desc(FLOAT16, [4], ND)
    assert acl.op.cast(descs[0], buffers[0], half, buffers[1], 0, 0) == 100024


def test_two_threads_run_operators_on_streams_of_their_own(models: str) -> None:
    """Requests of several threads, partly the same ones, give every thread its own right results."""
    import threading

    context, failures = good(acl.rt.get_context()), []

    def work(seed: int) -> None:
        ok(acl.rt.set_context(context))
        stream = good(acl.rt.create_stream())
        a = np.full((8, 16), seed, np.int32)
        request = Request(a, a, np.zeros_like(a))
        for _ in range(100):
            ok(acl.rt.memset_async(request.pointers[2], a.nbytes, 0, a.nbytes, stream))
            ok(request.run(stream=stream))
            ok(acl.rt.synchronize_stream(stream))
            if (request.result() != 2 * seed).any():
                failures.append(seed)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert failures == []
