"""Devices: real address ranges, shared by all who open one number."""

from __future__ import annotations

import pickle
import threading

import numpy as np
import pytest

import aacl
from aacl import ClosedResource, Device, InvalidArgument, InvalidDevice, Stream, ops
from aacl.memory import read_bytes
from tests.helpers import run_python


@pytest.mark.parametrize("index", [-1, 2, 1 << 40])
def test_there_is_no_such_device(index: int) -> None:
    """The error tells which ones there are."""
    with pytest.raises(InvalidDevice, match="0 to 1"):
        Device(index)


def test_the_number_of_devices_is_settable(monkeypatch: pytest.MonkeyPatch) -> None:
    """AACL_DEVICES says how many; two by default."""
    assert aacl.device_count() == 2
    monkeypatch.setenv("AACL_DEVICES", "5")

    assert aacl.device_count() == 5
    assert Device(4).index == 4


@pytest.mark.parametrize(
    ("text", "nbytes"),
    [("1048576", 1 << 20), ("512K", 512 << 10), ("3M", 3 << 20), ("2GiB", 2 << 30), ("1gb", 1 << 30)],
)
async def test_the_memory_of_a_device_is_settable(monkeypatch: pytest.MonkeyPatch, text: str, nbytes: int) -> None:
    """AACL_DEVICE_MEMORY takes bytes and units; the properties and the memory tell the same."""
    monkeypatch.setenv("AACL_DEVICE_MEMORY", text)
    async with Device(0) as device:
        assert device.properties.memory == device.memory().total == nbytes


@pytest.mark.parametrize("name", ["AACL_DEVICES", "AACL_DEVICE_MEMORY", "AACL_CORES"])
@pytest.mark.parametrize("text", ["0", "-3", "many", "1.5G", "G"])
async def test_settings_that_mean_nothing_are_named(monkeypatch: pytest.MonkeyPatch, name: str, text: str) -> None:
    """The variable, its text and a good one are in the error."""
    monkeypatch.setenv(name, text)
    with pytest.raises(InvalidArgument, match=f"{name}.*{text}"):
        async with Device(0):
            pass


def test_more_addresses_than_there_are_is_out_of_memory() -> None:
    """A device too large for the process cannot be opened, and another size can."""
    done = run_python(
        """
        os.environ["AACL_DEVICE_MEMORY"] = "100000T"
        try:
            with blocking.Device(0):
                pass
        except aacl.OutOfMemory as error:
            print("AACL_DEVICE_MEMORY" in str(error))
        os.environ["AACL_DEVICE_MEMORY"] = "1M"
        with blocking.Device(0) as device:
            print(device.memory().total)
        """
    )

    assert (done.status, done.output) == (0, "True\n1048576"), done


async def test_properties(monkeypatch: pytest.MonkeyPatch) -> None:
    """Name, SoC, cores and memory are the device's own."""
    monkeypatch.setenv("AACL_SOC", "Ascend910B")
    monkeypatch.setenv("AACL_CORES", "3")
    async with Device(1) as device:
        assert device.properties == ("software device 1", "Ascend910B", 3, 8 << 30)


async def test_a_large_device_costs_nothing_until_it_is_used() -> None:
    """Eight gibibytes are reserved, not taken: memory is committed on first touch, and zero then."""
    async with Device(0) as device:
        buffer = device.allocate(7 << 30)
        assert read_bytes(buffer.address + (6 << 30), 8) == bytes(8)


async def test_several_objects_stand_for_one_device() -> None:
    """They share the memory; the last one to close ends it."""
    async with Device(0) as first:
        buffer = first.allocate(100)
        buffer.view((100,), np.uint8)[:] = 4
        async with Device(0) as second:
            assert second.memory().used == first.memory().used
            other = second.allocate(100)
            assert other.address != buffer.address
        assert second.closed
        assert bytes(buffer) == b"\4" * 100
        assert read_bytes(buffer.address, 1) == b"\4"


async def test_a_device_opened_again_is_fresh() -> None:
    """Nothing of the one before is counted."""
    kept = []
    for _ in range(3):
        async with Device(0) as device:
            assert device.memory().used == 0
            kept.append(device.allocate(1000))
            async with Stream(device) as stream:
                a = await stream.to_device(np.ones(4))
                await stream.execute(ops.Add(a, a))


async def test_closed_devices_refuse() -> None:
    """Each method says so; a new one is not open either."""
    async with Device(0) as closed:
        pass
    for device, state in ((Device(0), "new"), (closed, "closed")):
        for use in (lambda device=device: device.allocate(1), device.memory, lambda device=device: device.properties):
            with pytest.raises(ClosedResource, match=state):
                use()
        assert state in repr(device)
        with pytest.raises(ClosedResource):
            await Stream(device).open()
    with pytest.raises(ClosedResource):
        await closed.open()


async def test_devices_cannot_be_pickled() -> None:
    """The error says to open one in the other process."""
    async with Device(0) as device:
        with pytest.raises(TypeError, match="other process"):
            pickle.dumps(device)


async def test_memory_of_another_device_is_refused_by_name() -> None:
    """An operation does not reach across; the error says how to copy."""
    async with Device(0) as here, Device(1) as there, Stream(here) as stream, Stream(there) as other:
        a, b = await stream.to_device(np.ones(4)), await other.to_device(np.ones(4))
        with pytest.raises(InvalidArgument, match=r"device 0.*stream.copy"):
            stream.execute(ops.Add(a, b))
        with pytest.raises(InvalidArgument, match=r"device 0.*stream.copy"):
            stream.execute(ops.Add(a, a, out=b))


def test_opening_and_closing_on_many_threads() -> None:
    """Threads that come and go on one device never see a closed one."""
    failures: list[BaseException] = []

    def come_and_go() -> None:
        try:
            for _ in range(25):
                with aacl.blocking.Device(0) as device, aacl.blocking.Stream(device) as stream:
                    a = stream.to_device(np.arange(4))
                    assert stream.to_host(stream.execute(ops.Add(a, a))).tolist() == [0, 2, 4, 6]
                    assert stream.call(int) == 0
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=come_and_go) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert failures == []


def test_one_core_is_enough() -> None:
    """Queued work, host calls, events and parallel streams need one worker."""
    done = run_python(
        """
        async def main():
            async with aacl.Device(0) as device, aacl.Stream() as one, aacl.Stream() as two:
                a = await one.to_device(np.ones(100_000))
                two.wait_event(one.record_event())
                results = [s.execute(ops.Add(a, a)) for s in (one, two) for _ in range(20)]
                await asyncio.gather(one.call(int), two.call(int), *results)
                print(device.properties.cores)
        asyncio.run(main())
        """,
        AACL_CORES="1",
    )

    assert (done.status, done.output) == (0, "1"), done
