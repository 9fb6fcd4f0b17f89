"""What all `Device` objects of one number share while any of them is open: the memory and its threads."""

from __future__ import annotations

import os
import threading
import warnings
from typing import TYPE_CHECKING

from aacl import _runtime
from aacl.memory._space import DeviceMemory, spaces
from aacl.products import product_of

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
        try:
            _check_soc(self.backend.properties.soc)
        except BaseException:  # a program may make errors of warnings
            self.backend.close()
            raise
        self.memory = DeviceMemory(self.backend, index)


def _check_soc(soc: str) -> None:
    """Warn of a SoC name that the table of products has not: it may be misspelt, or newer than the table."""
    if product_of(soc) is None:
        warnings.warn(
            f"the device says it is a {soc!r}, which is no SoC that aacl.products knows, such as Ascend310P3; every "
            "call is taken to be supported there (AACL_SOC sets the name of a software device)",
            RuntimeWarning,
            stacklevel=2,
        )


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
