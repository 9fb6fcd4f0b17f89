"""Operators that update their inputs, the way programs call them: slots of optimizers, lists of tensors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pytest

import acl
from tests.compat._programs import FLOAT, ND, Array, MakeGate, compile_operators, get, ok, put, tensor

SLOPE: Array = np.array([0.5, -1.0, 2.0, 0.0], np.float32)
RATE, MOMENTUM = np.array([0.125], np.float32), np.array([0.5], np.float32)


def _described(array: Array) -> int:
    handle: int = acl.create_tensor_desc(FLOAT, list(array.shape), ND)
    return handle


def _buffers(pointers: Sequence[int], arrays: Sequence[Array]) -> list[int]:
    return [acl.create_data_buffer(at, array.nbytes) for at, array in zip(pointers, arrays, strict=True)]


def _execute(op_type: str, descs: Sequence[int], buffers: Sequence[int], outputs: int) -> int:
    """Compile and execute an operator whose outputs are named like its first inputs."""
    code: int = acl.op.compile_and_execute(
        op_type, descs, buffers, descs[:outputs], buffers[:outputs], 0, 0, 0, None, 0
    )
    return code or acl.rt.synchronize_stream(0)


def _loop(steps: int, var: Sequence[float], accum: Sequence[float]) -> Mapping[str, list[float]]:
    """Momentum, an element at a time; all numbers are exact in float32."""
    x, total = list(var), list(accum)
    for _ in range(steps):
        for place, slope in enumerate(SLOPE.tolist()):
            total[place] = total[place] * 0.5 + slope
            x[place] -= 0.125 * total[place]
    return {"var": x, "accum": total}


def test_the_slot_is_updated_though_it_is_no_output(device: int) -> None:
    """Three steps of ApplyMomentum against a loop; variable and output are one buffer, the slot is only an input."""
    var, accum = np.array([1, 2, 3, 4], np.float32), np.zeros(4, np.float32)
    arrays = [var, accum, RATE, SLOPE, MOMENTUM]
    descs, pointers = [_described(each) for each in arrays], [put(each) for each in arrays]
    buffers = _buffers(pointers, arrays)
    for _ in range(3):
        ok(_execute("ApplyMomentum", descs, buffers, 1))

    exact = _loop(3, var.tolist(), accum.tolist())
    assert get(pointers[0], var).tolist() == exact["var"]
    assert get(pointers[1], accum).tolist() == exact["accum"]
    for at, array in zip(pointers[2:], arrays[2:], strict=True):
        assert get(at, array).tolist() == array.tolist()


def test_through_an_operator_model(tmp_path: Path, device: int) -> None:
    """The same through a model that atc made, one request four times over."""
    whole, one = tensor("float", [4]), tensor("float", [1])
    folder = compile_operators(
        tmp_path, {"op": "ApplyMomentum", "input_desc": [whole, whole, one, whole, one], "output_desc": [whole]}
    )
    ok(acl.op.set_model_dir(str(folder)))
    var, accum = np.array([1, 2, 3, 4], np.float32), np.ones(4, np.float32)
    arrays = [var, accum, RATE, SLOPE, MOMENTUM]
    descs, pointers = [_described(each) for each in arrays], [put(each) for each in arrays]
    buffers = _buffers(pointers, arrays)
    for _ in range(4):
        ok(acl.op.execute_v2("ApplyMomentum", descs, buffers, descs[:1], buffers[:1], 0, 0))
    ok(acl.rt.synchronize_stream(0))

    exact = _loop(4, var.tolist(), accum.tolist())
    assert get(pointers[0], var).tolist() == exact["var"]
    assert get(pointers[1], accum).tolist() == exact["accum"]


def test_lists_without_outputs(device: int) -> None:
    """Foreach operators named Inplace take empty lists of outputs."""
    arrays = [np.array([[1, 2]], np.float32), np.array([3, 4, 5], np.float32), np.array([2], np.float32)]
    pointers = [put(each) for each in arrays]
    ok(_execute("ForeachMulScalarInplace", [_described(each) for each in arrays], _buffers(pointers, arrays), 0))

    assert [get(*each).tolist() for each in zip(pointers, arrays, strict=True)] == [[[2, 4]], [6, 8, 10], [2]]


@pytest.mark.parametrize("count", [4, 64])
def test_an_input_on_the_host_is_updated_there(device: int, count: int) -> None:
    """However small it is: nothing is a copy that is thrown away."""
    numbers = np.arange(count, dtype=np.float32)
    desc, buffer = _described(numbers), acl.create_data_buffer(acl.util.numpy_to_ptr(numbers), numbers.nbytes)
    ok(acl.set_tensor_place_ment(desc, 1))
    for _ in range(3):
        ok(_execute("ForeachNegInplace", [desc], [buffer], 0))
        numbers += 1

    assert numbers.tolist() == [1 - value for value in range(count)]


def test_a_constant_cannot_be_updated(device: int) -> None:
    """100000, and the text names the input; the stream goes on."""
    zeros = np.zeros(4, np.float32)
    desc = _described(zeros)
    ok(acl.set_tensor_const(desc, acl.util.numpy_to_ptr(zeros), zeros.nbytes))
    assert _execute("ForeachNegInplace", [desc], [acl.create_data_buffer(0, 0)], 0) == 100000
    assert "updates its input x" in (acl.get_recent_err_msg() or "")
    ok(acl.rt.synchronize_stream(0))


def test_a_dropped_step_leaves_the_memory_as_it_is(stream: int, gate: MakeGate) -> None:
    """What abort drops is not run; the next run of the same request goes on from what the memory holds."""
    x = np.array([1, -2], np.float32)
    at = put(x)
    descs, buffers = [_described(x)], _buffers([at], [x])

    def negate() -> None:
        ok(acl.op.compile_and_execute("ForeachNegInplace", descs, buffers, [], [], 0, 0, 0, None, stream))

    negate()
    held = gate(stream)
    assert held.reached.wait(5)
    negate()
    ok(acl.rt.stream_abort(stream))
    held.open()
    ok(acl.rt.synchronize_stream(stream))
    assert get(at, x).tolist() == [-1, 2]
    negate()
    ok(acl.rt.synchronize_stream(stream))
    assert get(at, x).tolist() == [1, -2]
