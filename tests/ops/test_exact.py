"""Operations whose output shape depends on values."""

from __future__ import annotations

from collections.abc import AsyncIterator

import numpy as np
import pytest

import aacl
from aacl import DataType, Operation, TensorDesc
from aacl.errors import InvalidArgument
from tests.helpers import Hold


@pytest.fixture
async def stream() -> AsyncIterator[aacl.Stream]:
    async with aacl.Device(0), aacl.Stream() as opened:
        yield opened


X = np.array([[0, 5, 0], [7, 0, 9]], np.int32)
ROWS = [[0, 1], [1, 0], [1, 2]]


async def test_the_result_has_the_exact_shape(stream: aacl.Stream) -> None:
    """The tensor that awaiting gives holds what was found and no more; the bounds are known beforehand."""
    operation = Operation("NonZero", [await stream.to_device(X)])
    (bounds,) = operation.infer()
    found = await stream.execute(operation)

    assert (bounds.shape, bounds.ranges) == ((-1, 2), ((0, 6), (2, 2)))
    assert found.desc is TensorDesc.of(DataType.INT64, (3, 2))
    assert found.nbytes == 48
    assert (await stream.to_host(found)).tolist() == ROWS
    assert np.asarray(found).tolist() == ROWS


async def test_each_execution_has_its_own_shape(stream: aacl.Stream) -> None:
    """The same operation on changed contents gives another shape, and the first result keeps its own."""
    x = await stream.to_device(X)
    operation = Operation("NonZero", [x])
    first = await stream.execute(operation)
    await stream.fill(x, 0)
    second = await stream.execute(operation)

    assert (first.shape, second.shape) == ((3, 2), (0, 2))


async def test_a_queued_result_is_read_without_waiting_for_it(stream: aacl.Stream) -> None:
    """A completion serves to_host whether its command ran at once or is still queued."""
    x = await stream.to_device(X)
    with Hold(stream):
        queued = stream.execute(Operation("NonZero", [x]))
        copy = stream.to_host(queued)

        assert queued.output.shape == (-1, 2)
        with pytest.raises(InvalidArgument, match="known only when the command that makes it is over"):
            stream.to_host(queued, out=np.empty((3, 2), np.int64))
        with pytest.raises(InvalidArgument, match="known only when the command that makes it is over"):
            len(queued.output)

    assert (await copy).tolist() == ROWS
    assert (await queued).shape == (3, 2)


async def test_a_queued_result_is_an_input(stream: aacl.Stream) -> None:
    """An operator on a bounded input has a bounded output, whose exact shape comes with the run."""
    x = await stream.to_device(X)
    with Hold(stream):
        rows = stream.execute(Operation("NonZero", [x]))
        doubled = stream.execute(Operation("Add", [rows, rows]))
        total = stream.execute(Operation("ReduceSum", [doubled, [0]]))

        assert doubled.output.desc.ranges == ((0, 6), (2, 2))

    assert (await stream.to_host(doubled)).tolist() == [[0, 2], [2, 0], [2, 4]]
    assert (await stream.to_host(total)).tolist() == [4, 6]


async def test_an_input_whose_maker_fails(stream: aacl.Stream) -> None:
    """What should have read a bounded result fails with the cause, and the stream goes on."""
    x = await stream.to_device(X)
    with Hold(stream):
        bad = stream.execute(Operation("GatherV2", [x, await_free(np.array([9]), stream), 0]))
        rows = stream.execute(Operation("NonZero", [bad]))
        copy = stream.to_host(rows)

    for completion in (bad, rows, copy):
        with pytest.raises(aacl.AclError, match="index 9"):
            await completion
    assert (await stream.execute(Operation("NonZero", [x]))).shape == (3, 2)


def await_free(values: np.ndarray[tuple[int, ...], np.dtype[np.int64]], stream: aacl.Stream) -> aacl.Tensor:
    return stream.to_device(values).output


async def test_out_takes_the_exact_shape(stream: aacl.Stream) -> None:
    """A tensor that is large enough may be brought; it has the exact shape after each run, and room for the next."""
    x = await stream.to_device(X)
    out = aacl.empty((8, 2), np.int64)
    operation = Operation("NonZero", [x], out=out)

    assert await stream.execute(operation) is out
    assert (await stream.to_host(out)).tolist() == ROWS
    await stream.copy(x, await stream.to_device(np.ones_like(X)))
    assert (await stream.execute(operation)).shape == (6, 2)


async def test_out_that_is_too_small(stream: aacl.Stream) -> None:
    """It is refused with both sizes, before anything runs."""
    x = await stream.to_device(X)
    out = aacl.empty((5, 2), np.int64)
    with pytest.raises(InvalidArgument, match=r"takes up to 96 bytes .*\(6, 2\).*has 80, of shape \(5, 2\)"):
        stream.execute(Operation("NonZero", [x], out=out))

    assert out.shape == (5, 2)


async def test_out_decides_what_values_on_the_device_would(stream: aacl.Stream) -> None:
    """Axes in device memory tell no shape before the run; ``out`` does, and the run checks it."""
    x = await stream.to_device(np.ones((2, 3), np.float32))
    axes = await stream.to_device(np.array([1], np.int64))
    out = aacl.empty((2,), np.float32)
    await stream.execute(Operation("ReduceSum", [x, axes], out=out))

    assert np.asarray(out).tolist() == [3, 3]
    with pytest.raises(InvalidArgument, match="pass them as host values"):
        stream.execute(Operation("ReduceSum", [x, axes]))
    with pytest.raises(aacl.AclError):
        await stream.execute(Operation("ReduceSum", [x, axes], out=aacl.empty((3,), np.float32)))


async def test_a_result_of_another_stream(stream: aacl.Stream) -> None:
    """Another stream waits for the maker, and then knows the shape."""
    x = await stream.to_device(X)
    async with aacl.Stream() as other:
        with Hold(stream):
            rows = stream.execute(Operation("NonZero", [x]))
            shifted = other.execute(Operation("Add", [rows, rows]))
        assert (await shifted).shape == (3, 2)


async def test_out_that_is_queued_is_an_input(stream: aacl.Stream) -> None:
    """What is submitted behind the run works on the exact shape, not on that from before."""
    x, out = await stream.to_device(X), aacl.empty((8, 2), np.int64)
    with Hold(stream):
        stream.execute(Operation("NonZero", [x], out=out))
        assert out.desc.ranges == ((0, 6), (2, 2))
        doubled, copy = stream.execute(Operation("Add", [out, out])), stream.to_host(out)

    assert (await stream.to_host(doubled)).tolist() == [[0, 2], [2, 0], [2, 4]]
    assert (await copy).tolist() == ROWS


async def test_out_keeps_its_room(stream: aacl.Stream) -> None:
    """A tensor that got fewer elements takes more again, also from another operation, and after a run that was dropped."""
    x, ones, out = await stream.to_device(X), await stream.to_device(np.ones_like(X)), aacl.empty((6, 2), np.int64)
    for source, rows in ((x, 3), (ones, 6), (x, 3)):
        assert (await stream.execute(Operation("NonZero", [source], out=out))).shape == (rows, 2)
    with Hold(stream):
        stream.execute(Operation("NonZero", [ones], out=out))
        await stream.abort()
    assert (await stream.execute(Operation("NonZero", [ones], out=out))).shape == (6, 2)


async def test_what_was_prepared_sees_the_new_shape(stream: aacl.Stream) -> None:
    """An operation that is tied to the shape from before is refused or prepared again, never run on it."""
    x, out = await stream.to_device(np.ones_like(X)), aacl.empty((6, 2), np.int64)
    find = Operation("NonZero", [x], out=out)
    await stream.execute(find)
    add = Operation("Add", [out, out], out=aacl.empty((6, 2), np.int64))
    await stream.execute(add)
    await stream.copy(x, await stream.to_device(X))
    await stream.execute(find)

    with pytest.raises(InvalidArgument, match=r"gives INT64 of shape \(3, 2\)"):
        stream.execute(add)
