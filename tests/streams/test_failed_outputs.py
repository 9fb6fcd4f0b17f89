"""Nothing runs on garbage: work on the output of a command that failed fails with it."""

from __future__ import annotations

import asyncio
import linecache
import sys
import threading
from types import FrameType
from typing import Any

import numpy as np
import pytest

import aacl
from aacl import Aborted, Device, KernelError, Stream, ops
from tests.helpers import Hold, PythonWork, fail, wait_until_idle


def _failing(stream: Stream, target: aacl.Tensor, text: str = "boom") -> aacl.Completion[Any]:
    return stream.execute(PythonWork(lambda: fail(text), result=target))


def _device(stream: Stream) -> Device:
    owner = stream._owner
    assert isinstance(owner, aacl.Context)
    return owner.device


@pytest.mark.parametrize("queued", [True, False])
async def test_work_on_a_failed_output_fails_with_the_same_cause(stream: Stream, queued: bool) -> None:
    """Down the whole chain, copies to the host included, the same exception comes out and no kernel runs."""
    target = aacl.empty((4,), np.float64, device=_device(stream))
    failed = _failing(stream, target)
    if not queued:
        await stream.barrier()
    total = stream.execute(ops.Add(failed, failed))
    host = stream.to_host(stream.execute(ops.Neg(total)))
    copied = stream.copy(aacl.empty((4,), np.float64, device=_device(stream)), target)
    errors = await asyncio.gather(failed, total, host, copied, return_exceptions=True)

    assert isinstance(errors[0], KernelError)
    assert all(error is errors[0] for error in errors)
    await stream.synchronize()


async def test_a_failed_tensor_cannot_be_viewed(stream: Stream) -> None:
    """Reading it on the host fails with the same cause, and its repr says failed."""
    target = aacl.empty((4,), np.float64, device=_device(stream))
    with pytest.raises(KernelError) as caught:
        await _failing(stream, target)
    with pytest.raises(KernelError) as again:
        target.view()

    assert again.value is caught.value
    assert "failed" in repr(target)


async def test_a_success_makes_a_failed_output_good_again(stream: Stream) -> None:
    """An operation that writes `out` clears the failure of the one before."""
    a = await stream.to_device(np.arange(4.0))
    target = aacl.empty((4,), np.float64, device=_device(stream))
    add = ops.Add(a, a, out=target)
    await stream.execute(add)
    with pytest.raises(KernelError):
        await _failing(stream, target)
    with pytest.raises(KernelError):
        await stream.to_host(target)
    await stream.execute(add)

    assert (await stream.to_host(target)).tolist() == [0, 2, 4, 6]


async def test_dropped_commands_leave_their_outputs_failed(stream: Stream) -> None:
    """Work on the output of a command that abort() dropped fails as dropped, also when one operation is queued twice."""
    a = await stream.to_device(np.arange(4.0))
    add = ops.Add(a, a)
    with Hold(stream):
        first, second = stream.execute(add), stream.execute(add)
        tensors = first.output, second.output
        await stream.abort()
    for completion, tensor in ((first, tensors[0]), (second, tensors[1])):
        with pytest.raises(Aborted) as caught:
            await completion
        with pytest.raises(Aborted) as again:
            await stream.to_host(tensor)
        assert again.value is caught.value
        assert completion.output is tensor


async def test_garbage_is_seen_on_the_way_from_busy_to_idle(stream: Stream) -> None:
    """Work submitted just when the command before it fails does not slip past the look at its inputs."""
    a = await stream.to_device(np.ones(4))
    target = aacl.empty((4,), np.float64, device=_device(stream))
    await stream.execute(ops.Add(a, a, out=target))
    gate = threading.Event()

    def work() -> None:
        assert gate.wait(10)
        fail()

    add = ops.Add(target, a)
    failing = stream.execute(PythonWork(work, result=target))
    seen: list[int] = []

    def meanwhile(frame: FrameType, event: str, argument: object) -> Any:
        # The command before ends when `add` was bound and looked at, just before the claim is tried.
        code = frame.f_code
        if event == "line" and "claim.pop()" in linecache.getline(code.co_filename, frame.f_lineno):
            sys.settrace(None)
            seen.append(frame.f_lineno)
            gate.set()
            assert failing.wait(10, block_loop=True)
            wait_until_idle(stream)
        return meanwhile if code.co_name == "execute" else None

    sys.settrace(meanwhile)
    try:
        completion = stream.execute(add)
    finally:
        sys.settrace(None)
    assert len(seen) == 1
    errors = await asyncio.gather(failing, completion, return_exceptions=True)

    assert isinstance(errors[0], KernelError)
    assert errors[1] is errors[0]


async def test_a_rebinding_epoch_does_not_hide_a_failure(stream: Stream) -> None:
    """A prepared operation that ran before sees that its input failed since."""
    a = await stream.to_device(np.ones(4))
    target = aacl.empty((4,), np.float64, device=_device(stream))
    result = aacl.empty((4,), np.float64, device=_device(stream))
    await stream.execute(ops.Add(a, a, out=target))
    add = ops.Add(target, a, out=result)
    await stream.execute(add)
    with pytest.raises(KernelError):
        await _failing(stream, target)
    with pytest.raises(KernelError):
        await stream.execute(add)
