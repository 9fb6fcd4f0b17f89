"""The top-level calls about the runtime itself, and number conversions."""

from __future__ import annotations

import importlib
import numbers
from operator import index
from typing import Any

import numpy as np

import aacl
from aacl.errors import AlreadyInitialized, InvalidArgument, NotSupported
from acl._arguments import check_text
from acl._devices import properties_of
from acl._log import LEVELS, logger, warn_once
from acl._state import state
from acl._status import code_alone, entry, fail, plain, recent_text, with_code
from acl._threads import here

__all__ = (
    "app_log",
    "finalize",
    "finalize_reference",
    "float16_to_float",
    "float_to_float16",
    "get_device_capability",
    "get_recent_err_msg",
    "get_soc_name",
    "init",
)


@code_alone
def init(config_path: str = "", /) -> int:
    """Initialise the runtime.

    Args:
        config_path: a JSON file; none, or an empty path, means the defaults. None is no path.

    Returns:
        0; 100002 when it was initialised before, which counts one more reference and is harmless;
        100003 for a file that cannot be read; 100006 for one that is not a JSON object, nests
        deeper than 10, or has a key with a value of the wrong kind; 107001 for a ``defaultDevice`` that there is not;
        148048 for ``max_opqueue_num``; 100009 and 100010 for a section ``dump`` or ``profiler`` that is wrong; 100000
        when it differs from the first configuration of this process, or ``AACL_STRICT`` is neither 0 nor 1; 200006 in
        a process that was forked from an initialised one. Nothing has begun then.

    Keys that mean nothing are told once, as a warning in the log.

    Source: aclInit, the page of acl.init.
    """
    check_text(config_path, 1)
    aacl.products.is_strict()  # what it cannot be is told here, and not by some later call
    try:
        state.initialize(config_path)
    except AlreadyInitialized as error:
        return _answer(error)
    for key in state.config.unknown:
        warn_once(f"the key {key!r} of the configuration {config_path!r} means nothing to acl.init and is left alone")
    if state.config.profiles is not None:
        # By name: namespaces stand above this module, and few programs ask for it.
        importlib.import_module("acl.prof._control").control.begin_from_start()
    return 0


def _answer(error: AlreadyInitialized) -> int:
    """Return the code and leave the text, but no last error: it is an answer, not a failure."""
    before = here.error
    code = fail("acl.init", error)
    here.error = before
    return code


@code_alone
def finalize() -> int:
    """End the runtime whatever the number of initialisations; it may be initialised again.

    Returns:
        0; 100037 when it is not initialised; 507004 in a callback, and then all stays as it is; otherwise the code of
        queued work that failed and whose stream nobody had synchronised, all being released.

    Source: aclFinalize.
    """
    state.finalize()
    return 0


@entry(lambda code: (0, code))
def finalize_reference() -> tuple[int, int]:
    """Give one reference back and end the runtime with the last.

    Returns:
        (references left, code); codes as for `finalize`.

    Source: aclFinalizeReference.
    """
    return state.finalize(1), 0


@plain("")
def get_soc_name() -> str:
    """Return the name of the SoC that the devices stand for.

    Returns:
        What ``AACL_SOC`` says, by default ``Ascend310P3``.

    Source: aclrtGetSocName.
    """
    return properties_of(0).soc


@with_code(0)
def get_device_capability(device_id: int, device_info: int, /) -> tuple[int, int]:
    """Return how much a device has of something.

    Args:
        device_id: the device; it need not be in use.
        device_info: AI cores (0) or vector cores (1), both of which are the software device's cores.

    Returns:
        (number, 0); (0, 107001) if there is no such device; (0, 200006) for the size of a level-2 cache (2), which a
        software device has not; (0, 100000) for another item.

    Source: aclGetDeviceCapability.
    """
    device_id, device_info = index(device_id), index(device_info)
    if device_info not in (0, 1, 2):
        raise InvalidArgument(f"device information {device_info} is not known; 0 and 1 are the numbers of cores")
    cores = properties_of(device_id).cores
    if device_info == 2:
        raise NotSupported("the software device has no level-2 cache of its own")
    return cores, 0


@plain(None)
def get_recent_err_msg() -> str | Any:  # or None; but programs ask after a failure, and need not check
    """Return what went wrong last, in words.

    Returns:
        The text of this thread's latest failure, and with ``err_msg_mode`` "1" in the configuration that of any thread;
        None if nothing has failed since it was read, for reading clears it.

    Source: aclGetRecentErrMsg.
    """
    return recent_text()


@plain(None)
def app_log(log_level: int, message: str, /) -> None:
    """Write a line to the log: the logger ``acl`` of Python's `logging`.

    ``ASCEND_GLOBAL_LOG_LEVEL``, if it is set, says from which level on lines are written, and
    ``ASCEND_SLOG_PRINT_TO_STDOUT=1`` writes them to the standard output too; otherwise `logging` is as the program sets
    it up.

    Args:
        log_level: DEBUG (0), INFO (1), WARNING (2) or ERROR (3); another one writes nothing, and the recent error
            text says so.
        message: the line.

    Source: aclAppLog.
    """
    log_level = index(log_level)
    check_text(message, 2)
    if not 0 <= log_level < len(LEVELS):
        fail("acl.app_log", InvalidArgument(f"log level {log_level} is not 0, 1, 2 or 3"))
        return
    # The third frame is the program's.
    getattr(logger(), LEVELS[log_level].lower())("%s", message, stacklevel=3)


@plain(0.0)
def float16_to_float(value: int, /) -> float:
    """Return the value of a half-precision number.

    Args:
        value: its 16 bits; higher bits are left out.

    Returns:
        The value.

    Source: aclFloat16ToFloat.
    """
    return float(np.uint16(index(value) & 0xFFFF).view(np.float16))


@plain(0)
def float_to_float16(value: float, /) -> int:
    """Return a number in half precision.

    Args:
        value: the number.

    Returns:
        Its 16 bits, rounded to nearest even; those of infinity from 65520 on.

    Source: aclFloatToFloat16.
    """
    if not isinstance(value, (numbers.Real, np.bool_)):  # NumPy's real numbers are registered as such
        raise TypeError(f"argument 1 must be float, not {type(value).__name__}")
    with np.errstate(over="ignore"):
        return int(np.float16(np.float32(value)).view(np.uint16))
