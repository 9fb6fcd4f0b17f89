"""Host memory named by address: where the system refuses to look, and what is kept alive."""

from __future__ import annotations

import ctypes
import errno
import gc
import weakref

import numpy as np
import pytest

from aacl import InvalidMemoryRange
from aacl.memory import _host, copy, keep_alive, read_bytes
from tests.helpers import run_python


class Owner:
    """Something that owns memory."""


def _refused(*_: object) -> int:
    """Answer as a sandbox does that forbids the call."""
    ctypes.set_errno(errno.EPERM)
    return -1


@pytest.mark.parametrize("function", [None, _refused], ids=["absent", "forbidden"])
def test_without_the_kernels_help(monkeypatch: pytest.MonkeyPatch, function: object) -> None:
    """Where process_vm_readv is missing or forbidden, copies still work and unmapped memory is still an error."""
    monkeypatch.setattr(_host, "_readv", function)
    monkeypatch.setattr(_host, "_writev", function)
    source, target = np.arange(9000, dtype=np.uint16), np.zeros(9000, np.uint16)
    copy(target.ctypes.data, source.ctypes.data, source.nbytes)

    assert (target == source).all()
    assert read_bytes(source.ctypes.data + 2, 4) == source[1:3].tobytes()
    for act in (
        lambda: read_bytes(8, 4),
        lambda: copy(8, source.ctypes.data, 4),
        lambda: copy(target.ctypes.data, (1 << 47) - 4096, 4),
        lambda: read_bytes((1 << 64) - 4, 4),
    ):
        with pytest.raises(InvalidMemoryRange, match="mapped"):
            act()


def test_kept_owners_are_bounded_by_count() -> None:
    """The newest are kept, and the one that was named first is let go first."""
    owners = [Owner() for _ in range(_host._KEPT_OBJECTS + 1)]
    watched = [weakref.ref(owner) for owner in owners]
    for number, owner in enumerate(owners):
        keep_alive(1 << 40 | number, 8, owner)
    del owners, owner
    gc.collect()

    assert watched[0]() is None
    assert all(each() is not None for each in watched[1:])
    for number in range(1, len(watched)):
        keep_alive(1 << 40 | number, 0, None)
    gc.collect()
    assert all(each() is None for each in watched)


def test_kept_owners_are_bounded_by_bytes() -> None:
    """One span larger than the bound pushes out everything, itself included."""
    small, large = Owner(), Owner()
    watched = weakref.ref(small), weakref.ref(large)
    keep_alive(1 << 41, 8, small)
    keep_alive(1 << 42, _host._KEPT_BYTES + 1, large)
    del small, large
    gc.collect()

    assert (watched[0](), watched[1]()) == (None, None)


def test_keeping_an_address_again_replaces_its_owner() -> None:
    """The bytes are counted once."""
    before = _host._kept_bytes
    first = Owner()
    watched = weakref.ref(first)
    for owner, nbytes in ((first, 100), (Owner(), 300), (None, 0)):
        keep_alive(1 << 43, nbytes, owner)
    del first, owner
    gc.collect()

    assert watched() is None
    assert _host._kept_bytes <= before


def test_copies_longer_than_one_call_moves() -> None:
    """A copy that the kernel does in parts is done completely."""
    source, target = np.arange(3 << 20, dtype=np.uint32), np.zeros(3 << 20, np.uint32)
    copy(target.ctypes.data, source.ctypes.data, source.nbytes)

    assert (target == source).all()


@pytest.mark.parametrize("populates", [True, False])
def test_mapped_memory_without_access_is_no_operand(populates: bool) -> None:
    """Pages that are mapped but neither readable nor writable are refused where the kernel tells; as a target always."""
    done = run_python(
        f"""
        import ctypes
        from aacl import TensorDesc
        from aacl.memory import _host
        libc = ctypes.CDLL(None)
        libc.mmap.restype = ctypes.c_void_p
        address = libc.mmap(None, ctypes.c_size_t(4096), 0, 0x22, -1, ctypes.c_long(0))
        tells = _host._populates()
        _host._populates = lambda: tells and {populates}
        for act in (lambda: aacl.memory.host_memory(address, 64), lambda: _host.check_writable(address, 64)):
            try:
                act()
                print(True)
            except aacl.InvalidMemoryRange as error:
                print("not mapped and" in str(error))
        read_only = libc.mmap(None, ctypes.c_size_t(4096), 1, 0x22, -1, ctypes.c_long(0))
        print(aacl.memory.host_memory(read_only, 64).nbytes)
        """
    )

    assert (done.status, done.output) == (0, "True\nTrue\n64"), done


def test_read_only_host_memory_is_no_target() -> None:
    """A copy to it, a fill of it, and an operation that should write it are refused; the process lives on."""
    done = run_python(
        """
        import mmap
        from aacl import TensorDesc
        with open("/proc/self/exe", "rb") as file:
            page = mmap.mmap(file.fileno(), 4096, access=mmap.ACCESS_READ)
        address = np.frombuffer(page, np.uint8).ctypes.data
        with blocking.Device(0) as device, blocking.Stream(device) as stream:
            buffer = aacl.memory.host_memory(address, 4096)
            tensor = aacl.Tensor(TensorDesc.of(np.float32, (8,)), buffer)
            ones = stream.to_device(np.ones(8, np.float32))
            for act in (
                lambda: stream.copy(buffer, device.allocate(4096)),
                lambda: stream.fill(tensor, 1),
                lambda: stream.execute(ops.Add(ones, ones, out=tensor)),
            ):
                try:
                    act()
                except aacl.InvalidMemoryRange as error:
                    print("not mapped and writable" in str(error))
        """
    )

    assert (done.status, done.output) == (0, "True\nTrue\nTrue"), done
