"""What one stream makes and another one reads."""

from __future__ import annotations

import numpy as np
import pytest

import aacl
from aacl import Stream, ops
from tests.helpers import Hold


@pytest.fixture
async def other(stream: Stream) -> Stream:
    """Another stream in the context of the first."""
    owner = stream._owner
    assert isinstance(owner, aacl.Context)
    return await Stream(owner).open()


async def test_work_waits_for_what_another_stream_is_still_to_make(stream: Stream, other: Stream) -> None:
    """A completion serves as an input on every stream: its contents are there when they are read."""
    a = await stream.to_device(np.ones(4))
    with Hold(stream) as hold:
        made = stream.execute(ops.Add(a, a))
        doubled = other.execute(ops.Add(made, made))
        read = other.to_host(made)
        assert not read.done()
        hold.release()
        assert (await read).tolist() == [2.0] * 4
        assert (await other.to_host(await doubled)).tolist() == [4.0] * 4
    await other.aclose()


async def test_a_prepared_operation_waits_too(stream: Stream, other: Stream) -> None:
    """Also one that was bound before, on an idle stream."""
    a = await stream.to_device(np.ones(4))
    middle, end = aacl.empty((4,), np.float64), aacl.empty((4,), np.float64)
    double = ops.Add(middle, middle, out=end)
    await other.execute(double)
    with Hold(stream) as hold:
        stream.execute(ops.Add(a, a, out=middle))
        done = other.execute(double)
        assert not done.done()
        hold.release()
        await done
    assert (await other.to_host(end)).tolist() == [4.0] * 4
    await other.aclose()


async def test_what_another_stream_failed_to_make_fails_with_the_same_cause(stream: Stream, other: Stream) -> None:
    """The reader on the other stream gets the error of the command that should have made its input."""
    a = await stream.to_device(np.ones(4))
    with Hold(stream):
        made = stream.execute(ops.Add(a, a))
        read = other.to_host(made)
        await stream.abort()
    with pytest.raises(aacl.Aborted) as first:
        await made
    with pytest.raises(aacl.Aborted) as second:
        await read
    assert second.value is first.value
    await other.aclose()
