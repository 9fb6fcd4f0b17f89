"""What a device's memory remembers stays bounded, and what it forgets can be used on."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator

import numpy as np
import pytest

import aacl
from aacl import ops
from aacl.memory import MALLOC, _space
from aacl.memory._space import DeviceMemory
from aacl.tensors._tensor import Maker


@pytest.fixture
def memory() -> Iterator[DeviceMemory]:
    """The memory of an open device."""
    with aacl.blocking.Device(0) as device:
        yield device._shared.memory


def test_plans_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """A program whose attributes never repeat keeps two generations of plans, and right results."""
    monkeypatch.setattr(_space, "PLANS_KEPT", 10)
    with aacl.blocking.Device(0) as device, aacl.blocking.Stream() as stream:
        memory = device._shared.memory
        a = stream.to_device(np.ones(4, np.float32))
        for value in range(100):
            assert stream.to_host(stream.execute(ops.Muls(a, value=value))).tolist() == [value] * 4
            assert len(memory.plans) <= 10
            assert len(memory._older_plans) <= 10


def test_a_plan_that_is_used_survives_many_others(memory: DeviceMemory, monkeypatch: pytest.MonkeyPatch) -> None:
    """Found in the older generation it moves to the newer one; unused for two generations it is made anew."""
    monkeypatch.setattr(_space, "PLANS_KEPT", 4)
    made: list[object] = []

    def find(key: str) -> object:
        return memory.plans.get(key) or memory.plan(key, lambda: made.append(key) or f"plan {key}")  # type: ignore[func-returns-value]

    for number in range(30):
        find(f"other {number}")
        assert find("mine") == "plan mine"
    assert made.count("mine") == 1
    for number in range(30, 60):
        find(f"other {number}")
    find("mine")
    assert made.count("mine") == 2


def test_stale_plans_are_dropped_from_both_generations(memory: DeviceMemory, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only those that are stale go; what is bound to plans learns of it by the epoch."""
    monkeypatch.setattr(_space, "PLANS_KEPT", 4)
    for number in range(6):
        memory.plan(number, lambda: "plan")
    assert memory._older_plans
    epoch = memory.epoch
    memory.drop_plans(lambda key: key in (1, 5))

    assert sorted([*memory.plans, *memory._older_plans]) == [0, 2, 3, 4]  # type: ignore[type-var]
    assert memory.epoch is not epoch


def test_a_plan_made_while_plans_are_dropped_is_not_kept(memory: DeviceMemory) -> None:
    """It may be made of what is stale; whoever made it uses it once."""

    def make() -> str:
        memory.drop_plans(lambda _: True)
        return "late"

    assert memory.plan("key", make) == "late"
    assert "key" not in memory.plans
    assert memory.plan("key", lambda: "new") == "new"
    assert memory.plans["key"] == "new"


def test_bins_are_bounded(memory: DeviceMemory) -> None:
    """Sizes that never come back leave nothing behind."""
    for number in range(1, 3000):
        memory.bin(number * 64, MALLOC).lease()

    assert len(memory._bins) < 300
    assert memory.info().used == 0
    assert memory._bins == {}


def test_a_bin_that_was_let_go_is_used_on(memory: DeviceMemory) -> None:
    """A maker keeps its bin; a sweep lets the empty bin go; later blocks of both bins are apart and come back."""
    make = Maker(memory, aacl.TensorDesc.of(np.float32, (16,)))
    make()
    memory.info()  # sweeps
    assert memory._bins == {}
    other = Maker(memory, aacl.TensorDesc.of(np.float32, (16,)))
    assert other._bin is not make._bin

    tensors = [maker() for _ in range(3) for maker in (other, make)]
    assert len({tensor.address for tensor in tensors}) == 6
    assert memory.info().allocations == 6
    tensors[0].view()[...] = 1
    fresh = make().address
    assert fresh not in {0, *(tensor.address for tensor in tensors)}
    del tensors
    assert memory.info().used == 0
    assert (make().address, other().address) != (0, 0)
    assert memory.info().used == 0


def test_threads_never_share_a_block_while_bins_are_let_go(memory: DeviceMemory) -> None:
    """Makers of one size in several threads, and sweeps between: no two live tensors at one address."""
    wrong: list[str] = []
    desc = aacl.TensorDesc.of(np.int64, (8,))
    interval = sys.getswitchinterval()

    def work(number: int) -> None:
        make = Maker(memory, desc)
        for _ in range(800):
            kept = [make(), make()]
            for tensor in kept:
                tensor._array[...] = number
            if number == 0:
                memory.info()
            if not all(tensor.address and (tensor._array == number).all() for tensor in kept):
                wrong.append(f"thread {number}: its tensor is somebody else's")

    sys.setswitchinterval(1e-5)
    try:
        threads = [threading.Thread(target=work, args=(number,)) for number in range(5)]
        for each in threads:
            each.start()
        for each in threads:
            each.join()
    finally:
        sys.setswitchinterval(interval)

    assert wrong == []
    assert memory.info().used == 0


def test_a_block_outlives_a_bin_that_was_let_go_before_it_was_asked(memory: DeviceMemory) -> None:
    """Another thread's sweep may come between finding a bin and asking it: the block is listed all the same."""
    found = memory.bin(64, MALLOC)
    memory.info()
    assert memory._bins == {}
    lease = found.lease()
    del found

    assert memory.info().allocations == 1
    assert memory.bin(64, MALLOC).lease().address != lease.address != 0
