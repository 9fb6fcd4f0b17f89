"""The top-level calls about the runtime itself, and number conversions."""

from __future__ import annotations

import importlib
import numbers
from operator import index

import numpy as np

import aacl
from aacl.errors import AlreadyInitialized, NotSupported
from acl._devices import devices
from acl._state import state
from acl._status import Refused, code_alone, code_of, entry, fail, plain, recent_text, with_code

__all__ = (
    "app_log",
    "finalize",
    "finalize_reference",
    "float16_to_float",
    "float_to_float16",
    "get_device_capability",
    "get_recent_err_msg",
    "get_soc_name",
    "get_version",
    "init",
)

_VERSION = (1, 4, 0)  # of the interface, as in the public headers' ACL_MAJOR_VERSION and its siblings
_LEVELS = ("DEBUG", "INFO", "WARNING", "ERROR")


@code_alone
def init(config_path: str = "") -> int:
    """Initialise the runtime.

    Args:
        config_path: a JSON file; none, or an empty path, means the defaults. None is no path.

    Returns:
        0; 100002 when it was initialised before, which counts one more reference and is harmless;
        100003 for a file that cannot be read; 100006 for one that is not a JSON object or nests
        deeper than 10; 100009 and 100010 for a section ``dump`` or ``profiler`` that is wrong; 100000 when it differs from the first configuration of this process; 200006 in a process that
        was forked from an initialised one.
    """
    if not isinstance(config_path, str):
        raise TypeError(f"argument 1 must be str, not {type(config_path).__name__}")
    try:
        state.initialize(config_path)
    except AlreadyInitialized as error:
        return code_of(error)  # an answer, not a failure: it leaves no last error
    if state.config.profiles is not None:
        # By name: namespaces stand above this module, and few programs ask for it.
        importlib.import_module("acl.prof._control").control.begin_from_start()
    return 0


@code_alone
def finalize() -> int:
    """End the runtime whatever the number of initialisations; it may be initialised again.

    Returns:
        0; 100037 when it is not initialised; 507004 in a callback, and then all stays as it is; otherwise the code of
        queued work that failed and whose stream nobody had synchronised, all being released.
    """
    state.finalize()
    return 0


@entry(lambda code: (0, code))
def finalize_reference() -> tuple[int, int]:
    """Give one reference back and end the runtime with the last.

    Returns:
        (references left, code); codes as for `finalize`.
    """
    return state.finalize(1), 0


@entry(lambda code: (0, 0, 0, code))
def get_version() -> tuple[int, int, int, int]:
    """Return (major, minor, patch, 0) of the interface."""
    return (*_VERSION, 0)


@plain("")
def get_soc_name() -> str:
    """Return the name of the SoC that the devices stand for, by default ``Ascend310P3``."""
    return _properties(0).soc


@with_code(0)
def get_device_capability(device_id: int, device_info: int) -> tuple[int, int]:
    """Return (number, 0) of what a device has: 0 and 1 ask for its cores.

    Returns:
        100000 in the place of 0 for a device that there is not (107001) or an item that is not known; 200006
        for the size of a level-2 cache (2), which a software device has not.
    """
    device_id, device_info = index(device_id), index(device_info)
    if device_info not in (0, 1, 2):
        raise Refused(100000, f"device information {device_info} is not known; 0 and 1 are the numbers of cores")
    cores = _properties(device_id).cores
    if device_info == 2:
        raise NotSupported("the software device has no level-2 cache of its own")
    return cores, 0


def _properties(number: int) -> aacl.abc.DeviceProperties:
    """Return what a device says of itself, open or not."""
    device = devices.get(number)
    if device is not None:
        return device.device.properties
    native = aacl.blocking.open_resource(aacl.Device(number))
    try:
        return native.properties
    finally:
        aacl.blocking.close(native)


@plain(None)
def get_recent_err_msg() -> str | None:
    """Return what went wrong last in this thread, or None; reading clears it.

    With ``err_msg_mode`` "1" in the configuration it is what went wrong last in any thread.
    """
    return recent_text()


@plain(None)
def app_log(log_level: int, message: str) -> None:
    """Write a line to the log: the logger ``acl``, at DEBUG (0), INFO (1), WARNING (2) or ERROR (3)."""
    log_level = index(log_level)
    if not isinstance(message, str):
        raise TypeError(f"argument 2 must be str, not {type(message).__name__}")
    if not 0 <= log_level < len(_LEVELS):
        fail("acl.app_log", Refused(100000, f"log level {log_level} is not 0, 1, 2 or 3"))
        return
    import logging

    logging.getLogger("acl").log(getattr(logging, _LEVELS[log_level]), "%s", message)


@plain(0.0)
def float16_to_float(value: int) -> float:
    """Return the value of 16 bits that are a half-precision number."""
    return float(np.uint16(index(value) & 0xFFFF).view(np.float16))


@plain(0)
def float_to_float16(value: float) -> int:
    """Return the 16 bits of a number in half precision, rounded to nearest even; infinity beyond 65504."""
    if not isinstance(value, (numbers.Real, np.generic)):
        raise TypeError(f"argument 1 must be float, not {type(value).__name__}")
    with np.errstate(over="ignore"):
        return int(np.float16(np.float32(value)).view(np.uint16))
