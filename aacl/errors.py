"""The errors of aacl: one class a situation, one AscendCL code a class.

::

    AclError                      500000  a failure of the runtime itself
    ├── InvalidArgument           100000  the request cannot mean anything
    │   ├── InvalidMemoryRange    107000  bytes outside an allocation, or not mapped
    │   ├── UnalignedAddress      107008  an address lacks the alignment asked for
    │   ├── InvalidDevice         107001  no such device
    │   ├── UnsupportedDataType   100026  this dtype is not taken here
    │   ├── InvalidFile           100003  a file cannot be used
    │   │   └── InvalidJson       100006  a file is not the JSON it should be
    │   ├── ModelPathError        145002  a model file is not there
    │   ├── ModelDataError        145006  a model file's bytes are not a model of ours
    │   ├── KernelLoadError       100025  bytes are no kernel that this machine can load
    │   ├── AlreadyRegistered     100030  the operator type is registered
    │   ├── KernelRegistered      100031  the operator type has a kernel of that name
    │   ├── ModelInputMismatch    100017  the inputs do not fit the model
    │   └── ModelOutputMismatch   100018  the outputs do not fit the model
    ├── NotSupported              200006  understood, and not possible here
    │   ├── OperatorNotFound      100024  no kernel or operator model fits
    │   └── KernelNotFound        100029  the operator type has no kernel of that name
    ├── NotInitialized            100001  the runtime is not initialised
    │   ├── AlreadyInitialized    100002  initialised before
    │   └── NotCurrent            107002  no device, context or stream is current
    ├── ClosedResource            107017  you closed it
    ├── WrongContext              107003  it belongs to another context
    ├── WrongModelContext         107004  the model was loaded in another context
    ├── EventNotRecorded          107006  the event holds no time yet
    ├── EventReversed             107007  the end lies before the start
    ├── Aborted                   107023  dropped by abort() before it started
    ├── NotPermitted              207006  another process does not allow it
    ├── OutOfMemory               207001  the device has no such span free
    ├── WouldBlock                207014  the queue is full
    ├── StreamError               507000  work of a stream failed and nobody received it
    │   ├── KernelError           507018  an operator's kernel failed
    │   │   ├── KernelOverflow    507043  it wrote where it may not
    │   │   └── KernelTimeout     507014  it ran longer than its stream allows
    │   └── ModelRunError         507011  a model's run failed
    └── WaitTimeout               507046  a wait ran out of time; the work goes on
        └── EventTimeout          507047  the same, waiting for an event

The codes are AscendCL's own (``acl/error_codes/rt_error_codes.h`` and its
siblings). Host functions and a program's own kernels fail with their own
exceptions; everything else that fails here is an `AclError`.
"""

from __future__ import annotations

from typing import ClassVar

__all__ = (
    "Aborted",
    "AclError",
    "AlreadyInitialized",
    "AlreadyRegistered",
    "ClosedResource",
    "EventNotRecorded",
    "EventReversed",
    "EventTimeout",
    "InvalidArgument",
    "InvalidDevice",
    "InvalidFile",
    "InvalidJson",
    "InvalidMemoryRange",
    "KernelError",
    "KernelLoadError",
    "KernelNotFound",
    "KernelOverflow",
    "KernelRegistered",
    "KernelTimeout",
    "ModelDataError",
    "ModelInputMismatch",
    "ModelOutputMismatch",
    "ModelPathError",
    "ModelRunError",
    "NotCurrent",
    "NotInitialized",
    "NotPermitted",
    "NotSupported",
    "OperatorNotFound",
    "OutOfMemory",
    "StreamError",
    "UnalignedAddress",
    "UnsupportedDataType",
    "WaitTimeout",
    "WouldBlock",
    "WrongContext",
    "WrongModelContext",
    "error_class",
)

_BY_CODE: dict[int, type[AclError]] = {}


class AclError(Exception):
    """A failure of the runtime, with the AscendCL code of its situation."""

    code: ClassVar[int] = 500000

    def __init_subclass__(cls, *, code: int | None = None) -> None:
        super().__init_subclass__()
        if code is None:  # a program's own subclass keeps its parent's code
            return
        if code in _BY_CODE:
            raise TypeError(f"{cls.__name__} and {_BY_CODE[code].__name__} both claim code {code}")
        cls.code = code
        _BY_CODE[code] = cls


_BY_CODE[AclError.code] = AclError


class InvalidArgument(AclError, code=100000):
    """The request cannot mean anything; nothing was changed."""


class InvalidMemoryRange(InvalidArgument, code=107000):
    """Bytes outside an allocation, or host memory that is not mapped or not writable."""


class UnalignedAddress(InvalidArgument, code=107008):
    """An address lacks the alignment that the call needs."""


class InvalidDevice(InvalidArgument, code=107001):
    """There is no device of that number."""


class UnsupportedDataType(InvalidArgument, code=100026):
    """The data type is known, and not taken by this operator or call."""


class InvalidFile(InvalidArgument, code=100003):
    """A file is missing, unreadable or not of the kind asked for."""


class InvalidJson(InvalidFile, code=100006):
    """A file is not the JSON document that it should be."""


class ModelPathError(InvalidArgument, code=145002):
    """A model's path names no file."""


class ModelDataError(InvalidArgument, code=145006):
    """A model's bytes are empty, cut short, or not a model that runs here."""


class KernelLoadError(InvalidArgument, code=100025):
    """Bytes are no shared object of this machine, or lack the kernel asked for.

    Attributes:
        is_foreign: whether they are a shared object or program of another machine, such as the device's own.
    """

    is_foreign = False


class AlreadyRegistered(InvalidArgument, code=100030):
    """The operator type is registered already; close that registration first."""


class KernelRegistered(InvalidArgument, code=100031):
    """The operator type has a kernel of that name already."""


class ModelInputMismatch(InvalidArgument, code=100017):
    """The inputs given do not fit the model: count, size, shape or dtype."""


class ModelOutputMismatch(InvalidArgument, code=100018):
    """The outputs given do not fit the model: count, size, shape or dtype."""


class NotSupported(AclError, code=200006):
    """The request is understood, and cannot be done here."""


class OperatorNotFound(NotSupported, code=100024):
    """No kernel or loaded operator model fits the request."""


class KernelNotFound(NotSupported, code=100029):
    """A launch names a kernel that its operator type has not."""


class NotInitialized(AclError, code=100001):
    """The runtime, or what the call relies on, is not set up."""


class AlreadyInitialized(NotInitialized, code=100002):
    """The runtime was initialised before."""


class NotCurrent(NotInitialized, code=107002):
    """No device, context or stream is current; enter one with ``async with``."""


class ClosedResource(AclError, code=107017):
    """The resource was closed or freed before this use."""


class WrongContext(AclError, code=107003):
    """The resource belongs to another context than the current one."""


class WrongModelContext(AclError, code=107004):
    """The model was loaded in another context than the current one."""


class EventNotRecorded(AclError, code=107006):
    """The event was never recorded, or was made without timing."""


class EventReversed(AclError, code=107007):
    """The end event lies before the start event."""


class Aborted(AclError, code=107023):
    """The command was dropped by ``abort()``, or by the end of a block, before it started."""


class NotPermitted(AclError, code=207006):
    """Something belongs to another process, which does not allow this one to use it."""


class OutOfMemory(AclError, code=207001):
    """The device has no free span of that size."""


class WouldBlock(AclError, code=207014):
    """The stream's queue is full; wait with ``await stream.ready()``."""


class StreamError(AclError, code=507000):
    """Work of a stream failed and nobody received its error; the cause is that error."""


class KernelError(StreamError, code=507018):
    """An operator's kernel failed while it ran."""


class KernelOverflow(KernelError, code=507043):
    """A program's own kernel wrote outside its outputs and workspaces; found when ``AACL_CHECK_KERNELS`` is 1."""


class KernelTimeout(KernelError, code=507014):
    """An operator's kernel took longer than its stream's ``operator_timeout``; told when it has ended."""


class ModelRunError(StreamError, code=507011):
    """A model failed while it ran."""


class WaitTimeout(AclError, TimeoutError, code=507046):
    """A wait ran out of time; the work goes on."""


class EventTimeout(WaitTimeout, code=507047):
    """A wait for an event ran out of time; the work goes on."""


def error_class(code: int) -> type[AclError]:
    """Return the class whose situation has this AscendCL code, else `AclError`."""
    return _BY_CODE.get(code, AclError)
