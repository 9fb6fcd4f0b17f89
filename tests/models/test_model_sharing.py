"""Loads of a model that is loaded already."""

from __future__ import annotations

import asyncio
import gc
import os
import sys
import threading
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import aacl
from aacl.abc import DeviceBackend
from aacl.errors import ModelDataError, ModelPathError
from aacl.models import Model, _shared
from aacl.models._shared import FileIdentity, Shares, shares_of
from tests.helpers._hold import PATIENCE

Until = Callable[[Callable[[], bool]], Awaitable[None]]
X = np.arange(6, dtype=np.float32).reshape(2, 3)
OLD = 1_000_000_000  # nanoseconds: long before any test


def loaded_on(device: aacl.Device) -> Shares:
    return shares_of(device._shared.memory.backend)


def aged(path: Path, data: bytes) -> Path:
    """Write a file that seems to be old."""
    path.write_bytes(data)
    os.utime(path, ns=(OLD, OLD))
    return path


async def test_second_load_shares_the_first_ones_engine(add_one: Path, add_one_bytes: bytes) -> None:
    """A path, the same bytes and a copy of them give one engine; each model has its own statistics."""
    async with aacl.Device() as device, aacl.Stream():
        async with Model(add_one) as first, Model(add_one_bytes) as second, Model(bytearray(add_one_bytes)) as third:
            assert len(loaded_on(device)) == 1
            for model in (first, second, third):
                np.testing.assert_array_equal(await model.infer(X), X + 1)
                assert model.statistics().runs == 1
        assert len(loaded_on(device)) == 0


async def test_closing_one_leaves_the_other(add_one: Path) -> None:
    """Whichever is closed first, the other runs on; the engine goes with the last."""
    async with aacl.Device() as device, aacl.Stream():
        for order in ((0, 1), (1, 0)):
            models = [await Model(add_one).open(), await Model(add_one).open()]
            await models[order[0]].aclose()
            with pytest.raises(aacl.errors.ClosedResource):
                await models[order[0]].infer(X)
            np.testing.assert_array_equal(await models[order[1]].infer(X), X + 1)
            await models[order[1]].aclose()
            assert len(loaded_on(device)) == 0


async def test_each_device_shares_for_itself(add_one: Path) -> None:
    """Two devices have an engine each."""
    async with (
        aacl.Device(0) as first, aacl.Device(1) as second, Model(add_one, device=first), Model(add_one, device=second)
    ):  # fmt: skip
        assert len(loaded_on(first)) == len(loaded_on(second)) == 1


async def test_loads_at_once_make_one_engine(add_one: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of many loads that begin together one makes the engine, and the others wait for it."""
    made: list[int] = []
    async with aacl.Device() as device:
        backend: Any = device._shared.memory.backend
        load, gate = backend.load_model, threading.Event()

        def slowly(graph: bytes | memoryview) -> Any:
            made.append(len(graph))
            gate.wait(10)
            return load(graph)

        monkeypatch.setattr(backend, "load_model", slowly)
        opening = [asyncio.ensure_future(Model(add_one).open()) for _ in range(8)]
        while not made:  # noqa: ASYNC110 - it happens on a thread
            await asyncio.sleep(0)
        gate.set()
        models = await asyncio.gather(*opening)

        assert len(made) == 1
        for model in models:
            await model.aclose()


async def test_file_that_was_replaced_is_read_again(
    add_one_bytes: bytes, sum_and_product: Path, tmp_path: Path
) -> None:
    """Another file of the same path is another model."""
    path = aged(tmp_path / "net.om", add_one_bytes)
    async with aacl.Device(), Model(path) as first:
        other = aged(tmp_path / "other.om", sum_and_product.read_bytes())  # noqa: ASYNC240 - a small file
        other.replace(path)
        async with Model(path) as second:
            assert (first.name, second.name) == ("add_one", "sum_and_product")


async def test_file_that_was_written_over_at_once_is_read_again(add_one_bytes: bytes, tmp_path: Path) -> None:
    """Contents of the same size, written so soon that the file's times may be the same, are another model."""
    path = tmp_path / "net.om"
    path.write_bytes(add_one_bytes)
    async with aacl.Device(), Model(path) as first:
        status = path.stat()
        with path.open("r+b") as file:
            file.write(add_one_bytes.replace(b'"name":"add_one"', b'"name":"add_two"'))
        os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
        async with Model(path) as second:
            assert (first.name, second.name) == ("add_one", "add_two")


def test_file_is_settled_when_its_times_are_old() -> None:
    """Only then is it known again without being read."""
    identity = FileIdentity(1, 2, 3, OLD, 5 * OLD)
    assert not identity.is_settled(6 * OLD)
    assert identity.is_settled(8 * OLD)


async def test_settled_file_is_not_read_again(
    add_one_bytes: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second load of a file asks the system about it, and opens it no more."""
    monkeypatch.setattr("aacl.models._shared._SETTLED", -(10**18))
    path = aged(tmp_path / "net.om", add_one_bytes)
    async with aacl.Device(), aacl.Stream(), Model(path):
        opened: list[object] = []
        monkeypatch.setattr(Path, "open", lambda self, *_: opened.append(self))
        async with Model(path) as second:
            np.testing.assert_array_equal(await second.infer(X), X + 1)
        assert opened == []
        path.unlink()
        with pytest.raises(ModelPathError):
            await Model(path).open()


async def test_failed_load_leaves_nothing(add_one_bytes: bytes) -> None:
    """Bytes that are no model are not remembered, and fail again."""
    async with aacl.Device() as device:
        for _ in range(2):
            with pytest.raises(ModelDataError):
                await Model(add_one_bytes[:-40]).open()
        assert len(loaded_on(device)) == 0


async def test_bad_file_is_named(add_one_bytes: bytes, tmp_path: Path) -> None:
    """What is wrong with the bytes of a file is told with its path."""
    path = tmp_path / "short.om"
    path.write_bytes(add_one_bytes[:-40])
    async with aacl.Device():
        with pytest.raises(ModelDataError, match=r"short\.om': "):
            await Model(path).open()


async def test_forgotten_model_is_no_leak(add_one: Path) -> None:
    """The engine of a model that nobody closes goes with its device."""
    async with aacl.Device() as device:
        await Model(add_one).open()
        backend: DeviceBackend = device._shared.memory.backend
        assert len(shares_of(backend)) == 1
    gc.collect()
    assert len(shares_of(backend)) == 0


async def test_second_load_takes_little_memory(heavy: Path, until: Until) -> None:
    """Of a model with 64 MiB of weights a second load takes less than a fifth of that."""
    async with aacl.Device(), Model(heavy):
        before = resident()
        async with Model(heavy), Model(heavy.read_bytes()):  # noqa: ASYNC240 - nothing else runs
            # The thread that read the file lets go of what it read a moment behind the load.
            await until(lambda: resident() - before < 0.2 * (64 << 20))


async def test_bytes_are_let_go_after_the_load(add_one_bytes: bytes, until: Until) -> None:
    """A second load holds none of the bytes that it was given, nor does the thread that loaded them."""
    async with aacl.Device(), Model(add_one_bytes):
        copy = bytes(bytearray(add_one_bytes))
        held = sys.getrefcount(copy)
        async with Model(copy):
            await until(lambda: sys.getrefcount(copy) == held)


def resident() -> int:
    gc.collect()
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGESIZE")


def test_loads_that_look_around_at_once_make_one_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two threads that both looked at what is there, before either began to make the same model, share it."""
    made: list[bytes] = []

    def make(data: Any) -> Any:
        made.append(data)
        return ("signature", _Engine(), len(data))

    both = threading.Barrier(2)
    same = _shared._same

    def met(first: Any, second: Any) -> bool:
        if bytes(first) == b"other":
            both.wait(PATIENCE)  # each has looked at the only model there
        return same(first, second)

    shares = Shares()
    other = shares.of_bytes(b"other", None, make)
    monkeypatch.setattr(_shared, "_same", met)
    with ThreadPoolExecutor(2) as pool:
        loans = list(pool.map(lambda _: shares.of_bytes(bytes(bytearray(b"model")), None, make), range(2)))

    assert made == [b"other", b"model"]
    assert len(shares) == 2
    for loan in (other, *loans):
        loan.close()
    assert len(shares) == 0


class _Engine:
    def close(self) -> None:
        """Do nothing: it holds nothing."""
