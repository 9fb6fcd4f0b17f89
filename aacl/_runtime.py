"""The backend in use, and the devices that are open in it."""

from __future__ import annotations

import importlib
import os
import threading
from typing import TYPE_CHECKING, cast

from aacl._number import whole
from aacl.errors import InvalidArgument, InvalidDevice

if TYPE_CHECKING:
    from aacl.abc import Backend

__all__ = ("backend", "check_index", "checks_kernels", "device_count")

_lock = threading.Lock()
_backend: Backend | None = None


def backend() -> Backend:
    """Return the backend that ``AACL_BACKEND`` names, by default the software device.

    Raises:
        InvalidArgument: there is no backend of that name.
    """
    global _backend
    if _backend is None:
        with _lock:
            if _backend is None:
                _backend = _load(os.environ.get("AACL_BACKEND", "").strip() or "cpu")
    return _backend


def device_count() -> int:
    """Return how many devices can be opened."""
    return backend().device_count()


def checks_kernels() -> bool:
    """Return whether ``AACL_CHECK_KERNELS`` is 1: a program's own kernels then run between guard bytes.

    Raises:
        InvalidArgument: it is neither 0 nor 1.
    """
    text = os.environ.get("AACL_CHECK_KERNELS", "").strip() or "0"
    if text not in ("0", "1"):
        raise InvalidArgument(f"AACL_CHECK_KERNELS is {text!r}; set it to 0 or 1")
    return text == "1"


def check_index(index: int) -> int:
    """Return a device number that is good.

    Raises:
        InvalidDevice: there is no such device.
    """
    index, count = whole(index, "the number of a device"), device_count()
    if not 0 <= index < count:
        raise InvalidDevice(f"there is no device {index}; this machine has devices 0 to {count - 1} (AACL_DEVICES)")
    return index


def _load(name: str) -> Backend:
    if not name.isidentifier():
        raise InvalidArgument(f"AACL_BACKEND is {name!r}; set it to the name of a backend, such as cpu")
    try:
        module = importlib.import_module(f"aacl.backends.{name}")
    except ModuleNotFoundError as error:
        if error.name != f"aacl.backends.{name}":
            raise
        raise InvalidArgument(f"there is no backend {name!r}; AACL_BACKEND may name cpu") from None
    return cast("Backend", module.backend)
