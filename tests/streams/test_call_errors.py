"""Host calls that raise: who is told, what goes on, and how a stream ends with some of them pending."""

from __future__ import annotations

import time

import pytest

from aacl import Device, Stream, StreamError
from tests.helpers import Boom, Hold, run_python


async def test_one_of_ten_calls_raises(stream: Stream) -> None:
    """C149: the third of ten raises: its waiter gets the error, once, the wait covers all ten, the others are done."""
    ran: list[int] = []

    def call(number: int) -> int:
        ran.append(number)
        if number == 3:
            raise Boom
        return number

    calls = [stream.call(call, number) for number in range(1, 11)]
    await stream.barrier()

    assert ran == [*range(1, 11)]
    with pytest.raises(Boom):
        await calls[2]
    assert [await each for each in calls[:2] + calls[3:]] == [1, 2, *range(4, 11)]
    await stream.synchronize()  # the waiter has had it


async def test_an_error_that_nobody_waits_for_surfaces_once(stream: Stream) -> None:
    """C149: of calls that nobody awaits the next synchronise tells the failure, and the one after that nothing."""
    ran: list[int] = []

    def call(number: int) -> None:
        ran.append(number)
        if number == 3:
            raise Boom

    for number in range(1, 11):
        stream.call(call, number)
    with pytest.raises(StreamError) as told:
        await stream.synchronize()
    await stream.synchronize()

    assert isinstance(told.value.__cause__, Boom)
    assert ran == [*range(1, 11)]


async def test_a_block_ends_with_calls_pending(device: Device) -> None:
    """C149: leaving the block of a stream with ten calls pending runs them, and ends within two seconds."""
    ran: list[int] = []
    async with Stream(device) as stream:
        with Hold(stream):
            for number in range(10):
                stream.call(ran.append, number)
            assert ran == []
        begin = time.monotonic()

    assert time.monotonic() - begin < 2
    assert ran == [*range(10)]


def test_dropping_a_stream_with_calls_pending_ends_the_program() -> None:
    """C149: a program that deletes a stream without closing it, calls pending, ends at once with its own status."""
    ended = run_python(
        """
        async def main():
            device = await aacl.Device().open()
            stream = await aacl.Stream(device).open()
            for number in range(10):
                stream.call(str, number)
            del stream
        asyncio.run(main())
        sys.exit(7)
        """,
        warnings="ignore",
    )

    assert ended.status == 7, ended.errors
