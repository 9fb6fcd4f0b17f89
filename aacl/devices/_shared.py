"""What all `Device` objects of one number share while any of them is open: the memory and its threads."""

from __future__ import annotations

import os
import threading
from typing import TYPE_CHECKING

from aacl import _runtime
from aacl.memory._space import DeviceMemory, spaces

if TYPE_CHECKING:
    from aacl.abc import DeviceBackend

__all__ = ("SharedDevice", "acquire", "release")

_lock = threading.Lock()
_open: dict[int, SharedDevice] = {}


class SharedDevice:
    """An open device and how many objects stand for it."""

    __slots__ = ("backend", "index", "memory", "users")

    def __init__(self, index: int) -> None:
        self.index, self.users = index, 0
        self.backend: DeviceBackend = _runtime.backend().open(index)
        self.memory = DeviceMemory(self.backend, index)


def acquire(index: int) -> SharedDevice:
    """Open a device, or share it with those that have it open.

    Raises:
        InvalidDevice: there is no such device.
    """
    _runtime.check_index(index)
    with _lock:
        shared = _open.get(index)
        if shared is None:
            shared = _open[index] = SharedDevice(index)
        shared.users += 1
        return shared


def _forget() -> None:
    """After a fork: devices are opened anew in the child."""
    global _lock
    _lock = threading.Lock()
    _open.clear()
    spaces.clear()


os.register_at_fork(after_in_child=_forget)


def release(shared: SharedDevice) -> None:
    """Close a device with its last user."""
    with _lock:
        shared.users -= 1
        if shared.users:
            return
        _open.pop(shared.index, None)
    shared.memory.close()
    shared.backend.close()
