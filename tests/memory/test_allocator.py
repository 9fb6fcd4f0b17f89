"""Blocks of external allocators: checked, held while they are used, given back once."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import aacl
from aacl.errors import AclError, InvalidArgument, InvalidMemoryRange, OutOfMemory, StreamError, UnalignedAddress
from aacl.memory._allocator import Loan, checked

MANY = 1 << 20


class Pool(aacl.Allocator[Any]):
    """Gives what it is told to give, and writes down what is asked of it."""

    def __init__(self, give: Callable[[int], Any], address_of: Callable[[Any], Any] | None = None) -> None:
        self.give, self.tell = give, address_of
        self.asked: list[int] = []
        self.freed: list[Any] = []

    def allocate(self, nbytes: int) -> Any:
        self.asked.append(nbytes)
        return self.give(nbytes)

    def free(self, block: Any) -> None:
        self.freed.append(block)

    def address_of(self, block: Any) -> int:
        address: int = super().address_of(block) if self.tell is None else self.tell(block)
        return address


@pytest.fixture(scope="module")
def device() -> Iterator[aacl.Device]:
    """A device."""
    opened = aacl.blocking.open_resource(aacl.Device(0))
    yield opened
    aacl.blocking.close(opened)


def _exhausted(_nbytes: int) -> object:
    raise KeyError("pool")


def loan(device: aacl.Device, pool: aacl.Allocator[Any], nbytes: int = 100) -> Loan:
    return Loan(pool, device._shared.memory, nbytes, None)


def test_block_is_lent_and_given_back(device: aacl.Device) -> None:
    """A buffer is a block as it is: its address is the loan's, and it goes back to the allocator that gave it."""
    pool = Pool(device.allocate)

    lent = loan(device, pool)
    block = device._shared.memory.find(lent.address)

    assert block is not None
    assert (pool.asked, pool.freed, lent.nbytes) == ([100], [], 100)
    lent.give_back()
    assert [buffer.address for buffer in pool.freed] == [lent.address]


def test_a_block_that_the_program_frees_stays_while_it_is_lent(device: aacl.Device) -> None:
    """The bytes are not handed out again before the loan is over, whatever the allocator does with its block."""
    buffer = device.allocate(MANY)
    pool = Pool(lambda _: buffer)
    lent = loan(device, pool, MANY)

    buffer.free()
    others = [device.allocate(MANY) for _ in range(3)]
    lent.give_back()

    assert all(other.address != lent.address for other in others)


@pytest.mark.parametrize("nothing", [None, 0])
def test_no_block(device: aacl.Device, nothing: object) -> None:
    """None and 0 are no blocks; nothing is given back then."""
    pool = Pool(lambda _: nothing)

    with pytest.raises(OutOfMemory, match="gave no block, asked for 100 bytes on device 0"):
        loan(device, pool)

    assert pool.freed == []


def test_allocator_that_raises(device: aacl.Device) -> None:
    """The program's exception is the cause, and its text is told; an error of aacl's own goes through as it is."""
    pool = Pool(_exhausted)

    with pytest.raises(OutOfMemory, match="KeyError: 'pool'") as caught:
        loan(device, pool)
    with pytest.raises(InvalidArgument, match="at least 1"):
        loan(device, Pool(lambda _: device.allocate(0)))

    assert isinstance(caught.value.__cause__, KeyError)
    assert pool.freed == []


@pytest.mark.parametrize(
    ("shift", "size", "error", "text"),
    [
        (0, 16, InvalidMemoryRange, "only 64 bytes are left"),
        (8, 1024, UnalignedAddress, "multiple of 32"),
        (1024, 1024, InvalidMemoryRange, "only 32 bytes are left"),
        (1 << 50, 16, InvalidMemoryRange, "no allocation there"),
        (-(1 << 62), 16, InvalidMemoryRange, "no allocation there"),
    ],
)
def test_block_that_is_none(device: aacl.Device, shift: int, size: int, error: type[AclError], text: str) -> None:
    """A block that is too small, not aligned or not the device's is refused, and given back."""
    buffer = device.allocate(size)
    pool = Pool(lambda _: "block", lambda _: buffer.address + shift)

    with pytest.raises(error, match=text):
        loan(device, pool)

    assert pool.freed == ["block"]


def test_buffer_of_a_pool_that_is_too_small(device: aacl.Device) -> None:
    """A short buffer cut from a larger one is refused, although more of the device's memory follows it."""
    cut = aacl.blocking.open_resource(aacl.MemoryPool(MANY, device=device))
    pool = Pool(lambda _: cut.allocate(32))

    with pytest.raises(InvalidMemoryRange, match="4096 bytes are needed"):
        loan(device, pool, 4096)
    good = Pool(cut.allocate)
    loan(device, good, 4096).give_back()

    assert (len(pool.freed), len(good.freed)) == (1, 1)
    aacl.blocking.close(cut)


@pytest.mark.parametrize("address", [None, "here", 1.5, b""])
def test_address_that_is_none(device: aacl.Device, address: object) -> None:
    """What is no whole number is no address; the block goes back."""
    pool = Pool(lambda _: "block", lambda _: address)

    with pytest.raises(StreamError, match="did not say where a block is"):
        loan(device, pool)

    assert pool.freed == ["block"]


def test_block_that_cannot_be_taken_back(device: aacl.Device) -> None:
    """An allocator that fails to take its block back is an error; behind another failure it is a note on that one."""

    class Refusing(Pool):
        def free(self, block: Any) -> None:
            super().free(block)
            raise ValueError("not mine")

    good, bad = Refusing(device.allocate), Refusing(lambda _: "block", lambda _: 0)
    lent = loan(device, good)

    with pytest.raises(StreamError, match="ValueError: not mine"):
        lent.give_back()
    with pytest.raises(InvalidMemoryRange, match="no allocation there") as caught:
        loan(device, bad)

    assert "not mine" in caught.value.__notes__[0]
    assert (len(good.freed), len(bad.freed)) == (1, 1)


def test_what_is_no_allocator() -> None:
    """Only a subclass of `Allocator` can be bound."""
    with pytest.raises(InvalidArgument, match=r"expected an aacl.Allocator, not dict"):
        checked({})
    with pytest.raises(TypeError, match="abstract"):
        aacl.Allocator()  # type: ignore[abstract]


@given(st.integers(1, 5000), st.integers(1, 5000), st.integers(-64, 5000))
@settings(deadline=None, max_examples=60)
def test_only_memory_within_the_block_is_lent(device: aacl.Device, size: int, nbytes: int, shift: int) -> None:
    """A loan is aligned and wholly inside the allocation, or it is refused and its block given back."""
    buffer = device.allocate(size)
    pool = Pool(lambda _: "block", lambda _: buffer.address + shift)
    room = buffer.reserved_nbytes
    fits = 0 <= shift < room and shift + nbytes <= room and shift % 32 == 0

    try:
        lent = loan(device, pool, nbytes)
    except (InvalidMemoryRange, UnalignedAddress):
        lent = None

    if shift >= 0:
        assert (lent is not None) == fits
    if lent is not None:
        lent.give_back()
    assert pool.freed == ["block"]
