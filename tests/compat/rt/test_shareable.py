"""Physical memory that processes share."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from typing import Any

import pytest

import acl
from acl.rt._physical import physical_memory
from tests.compat._programs import good, ok, untyped

PAGE = 2 << 20

CHILD = """
import sys, acl
acl.init(); acl.rt.set_device(0)
address, _ = acl.rt.reserve_mem_address(4 << 20, 0, 0, 1)
print("ready", flush=True)
for line in sys.stdin:
    print(repr(eval(line)), flush=True)
"""


class Peer:
    """Another process, with addresses of its own, that evaluates what it is told."""

    def __init__(self) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", textwrap.dedent(CHILD)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self._read()

    @property
    def pid(self) -> int:
        """The number of the process."""
        return self.process.pid

    def _read(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline().strip()

    def tell(self, expression: str) -> Any:
        """Return what it makes of an expression."""
        assert self.process.stdin is not None
        self.process.stdin.write(expression + "\n")
        self.process.stdin.flush()
        return eval(self._read())

    def end(self) -> None:
        """End it."""
        self.process.kill()
        self.process.communicate()


@pytest.fixture
def peer() -> Iterator[Peer]:
    """Another process with an open device."""
    peer = Peer()
    yield peer
    peer.end()


class Memory:
    """A page, mapped in this process."""

    def __init__(self) -> None:
        self.address = good(acl.rt.reserve_mem_address(2 * PAGE, 0, 0, 1))
        self.handle = good(acl.rt.malloc_physical(PAGE, {}, 0))
        ok(acl.rt.map_mem(self.address, PAGE, 0, self.handle, 0))
        ok(acl.rt.memset(self.address, PAGE, 7, PAGE))


@pytest.fixture
def memory(device: int) -> Memory:
    """Mapped memory of device 0."""
    return Memory()


def test_both_processes_see_the_same_bytes(memory: Memory, peer: Peer) -> None:
    """What one writes, the other reads; the number is the same each time."""
    shared = good(acl.rt.mem_export_to_shareable_handle(memory.handle, 0, 0))
    ok(acl.rt.mem_set_pid_to_shareable_handle(shared, [os.getpid(), peer.pid]))

    handle, code = peer.tell(f"acl.rt.mem_import_from_shareable_handle({shared}, 0)")
    assert code == 0
    assert peer.tell(f"acl.rt.map_mem(address, {PAGE}, 0, {handle}, 0)") == 0
    assert peer.tell("acl.util.ptr_to_bytes(address + 5, 3)") == b"\7\7\7"
    assert peer.tell("acl.rt.memset(address, 64, 9, 64)") == 0
    assert acl.util.ptr_to_bytes(memory.address, 65) == b"\x09" * 64 + b"\7"
    assert good(acl.rt.mem_export_to_shareable_handle(memory.handle, 0, 0)) == shared


def test_processes_must_be_allowed(memory: Memory, peer: Peer) -> None:
    """Without its number a process gets 207006 and a text; later numbers add to earlier ones; flag 1 allows all."""
    shared = good(acl.rt.mem_export_to_shareable_handle(memory.handle, 0, 0))
    ask = f"acl.rt.mem_import_from_shareable_handle({shared}, 0)"

    assert peer.tell(ask) == (0, 207006)
    assert str(peer.pid) in peer.tell("acl.get_recent_err_msg()")
    ok(acl.rt.mem_set_pid_to_shareable_handle(shared, (1,)))
    assert peer.tell(ask) == (0, 207006)
    ok(acl.rt.mem_set_pid_to_shareable_handle(shared, (peer.pid,)))
    ok(acl.rt.mem_set_pid_to_shareable_handle(shared, (2,)))
    assert peer.tell(ask)[1] == 0
    other = good(acl.rt.malloc_physical(PAGE, {}, 0))
    free = good(acl.rt.mem_export_to_shareable_handle(other, 0, 1))
    assert peer.tell(f"acl.rt.mem_import_from_shareable_handle({free}, 0)")[1] == 0
    ok(acl.rt.free_physical(other))


def test_memory_outlives_its_owner(device: int, peer: Peer) -> None:
    """A process that is killed leaves nothing to import, and what was imported before stays."""
    handle = peer.tell(f"acl.rt.malloc_physical({PAGE}, {{}}, 0)")[0]
    assert peer.tell(f"acl.rt.map_mem(address, {PAGE}, 0, {handle}, 0), acl.rt.memset(address, 64, 4, 64)") == (0, 0)
    shared = peer.tell(f"acl.rt.mem_export_to_shareable_handle({handle}, 0, 1)")[0]
    ours = good(acl.rt.mem_import_from_shareable_handle(shared, 0))
    address = good(acl.rt.reserve_mem_address(PAGE, 0, 0, 1))
    ok(acl.rt.map_mem(address, PAGE, 0, ours, 0))
    os.kill(peer.pid, signal.SIGKILL)
    peer.process.wait()

    assert acl.util.ptr_to_bytes(address, 64) == b"\4" * 64
    ok(acl.rt.memset(address, PAGE, 1, PAGE))
    assert acl.rt.mem_import_from_shareable_handle(shared, 0) == (0, 100000)
    assert "has ended" in (acl.get_recent_err_msg() or "")


def test_freed_memory_cannot_be_imported(memory: Memory, peer: Peer) -> None:
    """The number is dead with the handle, also when another file has got its descriptor."""
    shared = good(acl.rt.mem_export_to_shareable_handle(memory.handle, 0, 1))
    ok(acl.rt.unmap_mem(memory.address))
    ok(acl.rt.free_physical(memory.handle))
    ask = f"acl.rt.mem_import_from_shareable_handle({shared}, 0)"
    assert peer.tell(ask) == (0, 100000)
    others = [good(acl.rt.malloc_physical(PAGE, {}, 0)) for _ in range(3)]
    numbers = {good(acl.rt.mem_export_to_shareable_handle(other, 0, 1)) for other in others}

    assert shared not in numbers
    assert peer.tell(ask) == (0, 100000)


def test_a_process_imports_its_own(memory: Memory) -> None:
    """In the process itself both handles are the same bytes; an imported one counts nothing and is not exported."""
    shared, free = good(acl.rt.mem_export_to_shareable_handle(memory.handle, 0, 0)), acl.rt.get_mem_info(1)[0]
    again = good(acl.rt.mem_import_from_shareable_handle(shared, 0))
    ok(acl.rt.map_mem(memory.address + PAGE, PAGE, 0, again, 0))
    ok(acl.rt.memset(memory.address + PAGE, PAGE, 1, 10))

    assert acl.util.ptr_to_bytes(memory.address, 11) == b"\1" * 10 + b"\7"
    assert acl.rt.get_mem_info(1)[0] == free
    assert acl.rt.mem_export_to_shareable_handle(again, 0, 0) == (0, 207000)


def test_arguments_that_are_refused(memory: Memory) -> None:
    """Dead handles, other types and flags, numbers of nothing, and lists of no processes."""
    shared = good(acl.rt.mem_export_to_shareable_handle(memory.handle, 0, 0))

    assert acl.rt.mem_export_to_shareable_handle(0, 0, 0) == (0, 100000)
    assert acl.rt.mem_export_to_shareable_handle(12345, 0, 0) == (0, 107017)
    assert acl.rt.mem_export_to_shareable_handle(memory.handle, 1, 0) == (0, 207000)
    assert acl.rt.mem_export_to_shareable_handle(memory.handle, 0, 2) == (0, 107000)
    ended = subprocess.Popen([sys.executable, "-c", ""])
    os.waitid(os.P_PID, ended.pid, os.WEXITED | os.WNOWAIT)  # its number is nobody else's until it is waited for
    other = ended.pid << 42 | shared & (1 << 42) - 1
    for number in (0, -1, 1, shared ^ 1, shared ^ 1 << 22, other, 1 << 64, 1 << 90):
        assert acl.rt.mem_import_from_shareable_handle(number, 0) == (0, 100000)
        assert acl.rt.mem_set_pid_to_shareable_handle(number, [1]) == 100000
    assert acl.rt.mem_import_from_shareable_handle(shared, 99) == (0, 107001)
    assert acl.rt.mem_import_from_shareable_handle(shared, 1) == (0, 107002)
    ended.wait()
    for numbers in ([], [0], [-1], [1 << 40], range(1, 40_000)):
        assert acl.rt.mem_set_pid_to_shareable_handle(shared, numbers) == 100000
    for strange in (3, None, "12", [None], ["12"]):
        with pytest.raises(TypeError):
            untyped.rt.mem_set_pid_to_shareable_handle(shared, strange)


def test_descriptors_of_other_things_are_not_opened(device: int) -> None:
    """A number that points at another file of this process is refused by that file's name."""
    reader, writer = os.pipe()
    for file in (0, 1, 2, reader, writer):
        number = (os.getpid() << 20 | file) << 22
        assert acl.rt.mem_import_from_shareable_handle(number, 0) == (0, 100000)
    os.close(reader)
    os.close(writer)


def test_memory_that_another_thread_frees_meanwhile(memory: Memory) -> None:
    """Whoever allows a process for one memory does not trip over another one that is gone by then."""
    other = good(acl.rt.malloc_physical(PAGE, {}, 0))
    shared = good(acl.rt.mem_export_to_shareable_handle(other, 0, 0))
    physical_memory.get(memory.handle).free()  # which the handle's end follows

    ok(acl.rt.mem_set_pid_to_shareable_handle(shared, [1]))
