"""Operations: operators on tensors, prepared once and run often."""

from __future__ import annotations

import gc
import threading
from collections.abc import AsyncIterator
from typing import Any

import numpy as np
import pytest

import aacl
from aacl import (
    ClosedResource,
    Device,
    InvalidArgument,
    NotSupported,
    Operation,
    OperatorNotFound,
    Stream,
    Tensor,
    TensorDesc,
    UnsupportedDataType,
    ops,
)
from tests.helpers import Hold


@pytest.fixture
async def stream() -> AsyncIterator[Stream]:
    """A stream of an open device, which is not current."""
    async with Device(0) as device, Stream(device) as opened:
        yield opened


def _empty(stream: Stream, shape: tuple[int, ...], dtype: Any = np.float32) -> Tensor:
    return stream.to_device(np.zeros(shape, dtype)).result()


async def test_an_operation_makes_new_outputs_each_time(stream: Stream) -> None:
    """Without out= every execution has its own tensor, in the inferred shape and dtype."""
    a = await stream.to_device(np.arange(6, dtype=np.float32).reshape(2, 3))
    add = ops.Add(a, a)
    first, second = await stream.execute(add), await stream.execute(add)

    assert first is not second
    assert first.address != second.address
    assert (first.shape, first.dtype) == ((2, 3), aacl.DataType.FLOAT)
    np.testing.assert_array_equal(await stream.to_host(first), await stream.to_host(second))


async def test_several_outputs_are_a_tuple(stream: Stream) -> None:
    """In the schema's order, all of them there at once."""
    a = await stream.to_device(np.arange(8, dtype=np.float32))
    with Hold(stream):
        completion = stream.execute(Operation("SplitD", [a], {"split_dim": 0, "num_split": 2}))
        assert len(completion.outputs) == 2
        with pytest.raises(AttributeError, match=r"outputs\[index\]"):
            _ = completion.output
    low, high = await completion

    assert (await stream.to_host(low)).tolist() == [0, 1, 2, 3]
    assert (await stream.to_host(high)).tolist() == [4, 5, 6, 7]


async def test_out_is_written_again_and_again(stream: Stream) -> None:
    """A prepared operation reads its inputs' memory as it is at each run, and returns its own tensor."""
    a, out = await stream.to_device(np.ones(4, np.float32)), _empty(stream, (4,))
    double = ops.Add(a, a, out=out)
    assert await stream.execute(double) is out
    await stream.fill(a, 0)
    assert await stream.execute(double) is out

    assert not (await stream.to_host(out)).any()


async def test_in_place(stream: Stream) -> None:
    """An input may be the output, whole; a part of it may not."""
    a = await stream.to_device(np.arange(4, dtype=np.float32))
    await stream.execute(ops.Add(a, a, out=a))
    assert (await stream.to_host(a)).tolist() == [0, 2, 4, 6]
    desc = TensorDesc.of(np.float32, (3,))
    low, high = Tensor(desc, a.buffer), Tensor(desc, a.buffer, 4)
    with pytest.raises(InvalidArgument, match="over a part"):
        stream.execute(ops.Add(low, low, out=high))
    first, second = (Tensor(TensorDesc.of(np.float32, (2,)), a.buffer, offset) for offset in (0, 8))
    await stream.execute(ops.Add(first, first, out=second))
    assert (await stream.to_host(a)).tolist() == [0, 2, 0, 4]


@pytest.mark.parametrize(
    ("shape", "dtype", "text"),
    [((4,), np.float64, "DOUBLE"), ((5,), np.float32, r"\(5,\)"), ((1, 4), np.float32, r"\(1, 4\)")],
)
async def test_out_must_be_what_the_operator_gives(stream: Stream, shape: Any, dtype: Any, text: str) -> None:
    """Another shape or dtype is refused with both."""
    a = await stream.to_device(np.ones(4, np.float32))
    with pytest.raises(InvalidArgument, match=text):
        stream.execute(ops.Add(a, a, out=_empty(stream, shape, dtype)))


async def test_the_number_of_outs_must_be_right(stream: Stream) -> None:
    """Two tensors for one output are refused."""
    a, out = await stream.to_device(np.ones(4, np.float32)), _empty(stream, (4,))
    with pytest.raises(InvalidArgument, match="1 outputs; 2 were given"):
        stream.execute(ops.Add(a, a, out=[out, out]))


async def test_a_prepared_operation_sees_what_happens_to_its_tensors(stream: Stream) -> None:
    """Freed inputs and outputs are refused at the next execution."""
    for victim in ("input", "output"):
        a, out = await stream.to_device(np.ones(4, np.float32)), _empty(stream, (4,))
        add = ops.Add(a, a, out=out)
        await stream.execute(add)
        (a if victim == "input" else out).free()
        with pytest.raises(ClosedResource, match="freed"):
            stream.execute(add)


async def test_freeing_something_else_does_not_disturb_it(stream: Stream) -> None:
    """It is bound again, and gives the same."""
    a, out = await stream.to_device(np.ones(4, np.float32)), _empty(stream, (4,))
    add = ops.Add(a, a, out=out)
    for _ in range(3):
        await stream.execute(add)
        _empty(stream, (9,)).free()

    assert (await stream.to_host(out)).tolist() == [2] * 4


async def test_an_operation_runs_on_any_stream_of_its_device(stream: Stream) -> None:
    """Another stream, and another context's."""
    a = await stream.to_device(np.ones(4, np.float32))
    add = ops.Add(a, a)
    context = stream._owner
    assert isinstance(context, aacl.Context)
    async with aacl.Context(context.device) as other, Stream(other) as elsewhere:
        result = await elsewhere.execute(add)
    assert (await stream.to_host(result)).tolist() == [2] * 4


async def test_an_operation_may_be_used_after_its_device_came_back() -> None:
    """A prepared operation of a closed device is refused in the new one, not run on dead memory."""
    async with Device(0) as device, Stream(device) as stream:
        a = await stream.to_device(np.ones(4, np.float32))
        add = ops.Add(a, a, out=_empty(stream, (4,)))
        await stream.execute(add)
    async with Device(0) as device, Stream(device) as stream:
        await stream.to_device(np.ones(4, np.float32))
        with pytest.raises((InvalidArgument, ClosedResource)):
            stream.execute(add)


async def test_wrong_requests_are_named_at_once(stream: Stream) -> None:
    """Shapes, dtypes, attributes, counts and unknown operators: the error comes from execute() and tells both sides."""
    a = await stream.to_device(np.zeros((2, 3), np.float32))
    b = await stream.to_device(np.zeros((4, 5), np.float32))
    text = await stream.to_device(np.zeros((2, 3), np.complex64))
    with pytest.raises(InvalidArgument, match=r"\(2, 3\).*\(4, 5\)"):
        stream.execute(ops.Add(a, b))
    with pytest.raises(InvalidArgument):
        stream.execute(ops.Add(a))
    with pytest.raises(InvalidArgument):
        stream.execute(ops.Add(a, a, a))
    with pytest.raises(InvalidArgument, match="nonsense"):
        stream.execute(ops.Add(a, a, nonsense=1))
    with pytest.raises((InvalidArgument, UnsupportedDataType)):
        stream.execute(ops.Add(a, text))
    with pytest.raises(OperatorNotFound, match="Nonsense"):
        stream.execute(Operation("Nonsense", [a]))
    assert stream.idle


@pytest.mark.parametrize("nonsense", [object(), "text", {1: 2}])
async def test_inputs_that_are_nothing(stream: Stream, nonsense: object) -> None:
    """An input is a tensor, a completion that makes one, or host values."""
    a = await stream.to_device(np.ones(4, np.float32))
    with pytest.raises((InvalidArgument, UnsupportedDataType)):
        stream.execute(ops.Add(a, nonsense))


async def test_an_operator_without_a_kernel_is_refused(stream: Stream, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the device says of it reaches the program; once there is a kernel, the same operation runs."""
    a = await stream.to_device(np.ones((7, 5), np.float32))
    operation = ops.Neg(a)

    def refuse(_: object) -> None:
        raise OperatorNotFound("this device has no kernel for operator Neg")

    with monkeypatch.context() as patch:
        patch.setattr(stream._memory.backend, "kernel", refuse)
        with pytest.raises(NotSupported, match="no kernel for operator Neg"):
            stream.execute(operation)
        assert stream.idle
    assert (await stream.execute(operation)).shape == (7, 5)


async def test_host_values_among_the_inputs(stream: Stream) -> None:
    """Numbers take the dtype of the tensors; arrays keep theirs."""
    a = await stream.to_device(np.arange(4, dtype=np.float32))
    assert (await stream.to_host(await stream.execute(ops.Add(a, 1)))).tolist() == [1, 2, 3, 4]
    array = np.full(4, 2, np.float32)
    add = ops.Add(a, array)
    array[:] = 99  # the operation has a copy
    assert (await stream.to_host(await stream.execute(add))).tolist() == [2, 3, 4, 5]


async def test_completions_among_the_inputs(stream: Stream) -> None:
    """They stand for their outputs, before and after they are done."""
    a = await stream.to_device(np.arange(4, dtype=np.float32))
    with Hold(stream):
        early = stream.execute(ops.Add(stream.execute(ops.Neg(a)), a))
    done = stream.execute(ops.Neg(a))
    await done
    late = await stream.execute(ops.Add(done, a))

    assert not (await stream.to_host(await early)).any()
    assert not (await stream.to_host(late)).any()
    with pytest.raises(AttributeError, match="makes no tensors"):
        ops.Neg(stream.call(int))


async def test_inferring_without_running(stream: Stream) -> None:
    """infer() tells the outputs' descriptions; nothing is allocated or queued."""
    a = await stream.to_device(np.zeros((2, 3), np.float32))
    b = await stream.to_device(np.zeros((3, 5), np.float32))
    (desc,) = ops.MatMul(a, b).infer()

    assert (desc.shape, desc.dtype) == ((2, 5), aacl.DataType.FLOAT)
    with pytest.raises(InvalidArgument):
        ops.MatMul(a, a).infer()


async def test_attributes_are_those_at_construction(stream: Stream) -> None:
    """Changing the mapping afterwards changes nothing."""
    a = await stream.to_device(np.ones(4, np.float32))
    attributes = {"value": 3.0}
    operation = Operation("Muls", [a], attributes)
    attributes["value"] = 7.0

    assert (await stream.to_host(await stream.execute(operation))).tolist() == [3] * 4
    assert operation.attributes == {"value": 3.0}


async def test_attributes_that_are_equal_and_not_the_same(stream: Stream) -> None:
    """1, 1.0 and True are different attribute values: each operation is checked for itself."""
    a = await stream.to_device(np.ones(4, np.float32))
    await stream.execute(Operation("Muls", [a], {"value": 1.0}))
    with pytest.raises(InvalidArgument):
        stream.execute(Operation("Muls", [a], {"value": "1.0"}))
    listed = Operation("Transpose", [a.__class__(TensorDesc.of(np.float32, (2, 2)), a.buffer), [1, 0]])
    assert (await stream.execute(listed)).shape == (2, 2)


async def test_many_operations_leave_no_memory_behind(stream: Stream) -> None:
    """Outputs go with their last reference, inline and queued alike."""
    context = stream._owner
    assert isinstance(context, aacl.Context)
    a = await stream.to_device(np.ones(1000, np.float32))
    used = context.device.memory().used
    gc.disable()
    try:
        for step in range(300):
            completion = stream.execute(ops.Add(a, a))
            if step % 3 == 0:
                await completion
            del completion
        await stream.synchronize()
        assert context.device.memory().used == used
    finally:
        gc.enable()


def test_operations_of_many_threads() -> None:
    """Each thread prepares and runs its own on one stream; all results are right."""
    wrong: list[object] = []
    with aacl.blocking.Device(0) as device, aacl.blocking.Stream(device) as stream:

        def work(number: int) -> None:
            a = stream.to_device(np.full((number + 1, 4), number, np.float32))
            for _ in range(100):
                result = stream.to_host(stream.execute(ops.Add(a, a)))
                if result.shape != (number + 1, 4) or (result != 2 * number).any():
                    wrong.append(result)

        threads = [threading.Thread(target=work, args=(number,)) for number in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    assert wrong == []


async def test_the_repr_names_operator_and_inputs(stream: Stream) -> None:
    """As errors show it."""
    a = await stream.to_device(np.ones(4, np.float32))
    assert repr(ops.Add(a, 1)).startswith("<Operation Add of [<Tensor FLOAT [4] on device 0>, Constant(")
