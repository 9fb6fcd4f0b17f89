"""Whether operators have overflowed on a device."""

from __future__ import annotations

from functools import partial
from operator import index
from typing import TYPE_CHECKING

import numpy as np

from acl._devices import stream_at
from acl._log import warn_once
from acl._status import PARAM_INVALID, Refused, code_alone

if TYPE_CHECKING:
    from acl._devices import OpenDevice

__all__ = ("get_overflow_status", "reset_overflow_status")

_WORD, _MOST = 8, 4096


@code_alone
def get_overflow_status(output_addr: int, output_size: int, stream: int, /) -> int:
    """Write, in its turn, whether an operator has overflowed on a stream of the device that detects it.

    An operator overflows if it makes infinities or NaN of inputs that had none. A stream detects it, for the operators
    that ``acl.op`` and ``acl.blas`` submit to it from then on, after ``acl.rt.set_stream_overflow_switch(stream, 1)``.
    Models and what ``acl.rt.launch_kernel`` starts are not looked at.

    Args:
        output_addr: memory of the device.
        output_size: its bytes, 8 to 4096. All are written: the first 8 as an integer, 0 for no overflow since the
            last `reset_overflow_status` and 1 for any; the others as 0.
        stream: whose turn; 0 stands for the default one.

    Returns:
        0, which means submitted; 107000 for another size, or memory that is not there; codes as ``synchronize_stream``
        for what is no stream of this thread's context.

    Source: aclrtGetOverflowStatus.
    """
    address, nbytes, target = index(output_addr), index(output_size), stream_at(stream)
    if not _WORD <= nbytes <= _MOST:
        raise Refused(PARAM_INVALID, f"the status takes {_WORD} to {_MOST} bytes; {nbytes} were given")
    device = target.context.device
    if not any(each.detects_overflow for context in [*device.contexts] for each in context.all_streams()):
        warn_once(
            f"no stream of device {device.index} detects overflows, so that its status says that there were none; "
            "call acl.rt.set_stream_overflow_switch(stream, 1) before the operators"
        )
    status = np.zeros(nbytes, np.uint8)
    target.stream.call(_read, device, status)
    copied = target.stream.copy_memory(address, status.ctypes.data, nbytes)
    copied.add_done_callback(partial(_keep, status))  # the copy does not
    return 0


def _read(device: OpenDevice, status: np.ndarray[tuple[int], np.dtype[np.uint8]]) -> None:
    status[0] = device.overflowed


def _keep(status: object, _copied: object) -> None:
    """Let what is copied from live until it is."""


@code_alone
def reset_overflow_status(stream: int, /) -> int:
    """Forget, in its turn, that operators have overflowed on the device.

    Args:
        stream: whose turn; 0 stands for the default one.

    Returns:
        0, which means submitted; codes as ``synchronize_stream`` for what is no stream of this thread's context.

    Source: aclrtResetOverflowStatus.
    """
    target = stream_at(stream)
    target.stream.call(_forget, target.context.device)
    return 0


def _forget(device: OpenDevice) -> None:
    device.overflowed = False
