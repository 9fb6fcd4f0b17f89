"""An asyncio-native runtime with AscendCL's semantics.

::

    async with aacl.Device(0), aacl.Stream() as stream:
        a = await stream.to_device(array)
        y = await stream.execute(aacl.ops.Add(a, a))
        print(await stream.to_host(y))

Every name is loaded with its room when it is first used, so that importing the
package costs next to nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from aacl._lazy import lazy_names

if TYPE_CHECKING:
    from aacl import blocking as blocking
    from aacl import converter as converter
    from aacl import dtypes as dtypes
    from aacl import errors as errors
    from aacl import memory as memory
    from aacl import models as models
    from aacl import ops as ops
    from aacl import products as products
    from aacl.errors import Aborted as Aborted
    from aacl.errors import AclError as AclError
    from aacl.errors import AlreadyInitialized as AlreadyInitialized
    from aacl.errors import AlreadyRegistered as AlreadyRegistered
    from aacl.errors import ClosedResource as ClosedResource
    from aacl.errors import EventNotRecorded as EventNotRecorded
    from aacl.errors import EventReversed as EventReversed
    from aacl.errors import EventTimeout as EventTimeout
    from aacl.errors import InvalidArgument as InvalidArgument
    from aacl.errors import InvalidDevice as InvalidDevice
    from aacl.errors import InvalidFile as InvalidFile
    from aacl.errors import InvalidJson as InvalidJson
    from aacl.errors import InvalidMemoryRange as InvalidMemoryRange
    from aacl.errors import KernelError as KernelError
    from aacl.errors import KernelLoadError as KernelLoadError
    from aacl.errors import KernelNotFound as KernelNotFound
    from aacl.errors import KernelOverflow as KernelOverflow
    from aacl.errors import KernelRegistered as KernelRegistered
    from aacl.errors import KernelTimeout as KernelTimeout
    from aacl.errors import ModelDataError as ModelDataError
    from aacl.errors import ModelInputMismatch as ModelInputMismatch
    from aacl.errors import ModelOutputMismatch as ModelOutputMismatch
    from aacl.errors import ModelPathError as ModelPathError
    from aacl.errors import ModelRunError as ModelRunError
    from aacl.errors import NotCurrent as NotCurrent
    from aacl.errors import NotInitialized as NotInitialized
    from aacl.errors import NotPermitted as NotPermitted
    from aacl.errors import NotSupported as NotSupported
    from aacl.errors import OperatorNotFound as OperatorNotFound
    from aacl.errors import OutOfMemory as OutOfMemory
    from aacl.errors import StreamError as StreamError
    from aacl.errors import UnalignedAddress as UnalignedAddress
    from aacl.errors import UnsupportedDataType as UnsupportedDataType
    from aacl.errors import WaitTimeout as WaitTimeout
    from aacl.errors import WouldBlock as WouldBlock
    from aacl.errors import WrongContext as WrongContext
    from aacl.errors import WrongModelContext as WrongModelContext
    from aacl.dtypes import DataType as DataType
    from aacl.dtypes import Format as Format
    from aacl.memory import Allocator as Allocator
    from aacl.memory import Buffer as Buffer
    from aacl.memory import HostBuffer as HostBuffer
    from aacl.memory import MemoryInfo as MemoryInfo
    from aacl.tensors import UNKNOWN_RANK as UNKNOWN_RANK
    from aacl.tensors import Tensor as Tensor
    from aacl.tensors import TensorDesc as TensorDesc
    from aacl.streams import Completion as Completion
    from aacl.streams import Event as Event
    from aacl.streams import Stream as Stream
    from aacl.streams import StreamStatistics as StreamStatistics
    from aacl.streams import Work as Work
    from aacl.devices import Context as Context
    from aacl.devices import Device as Device
    from aacl.devices import MemoryPool as MemoryPool
    from aacl.devices import current_context as current_context
    from aacl.devices import current_device as current_device
    from aacl.devices import current_stream as current_stream
    from aacl.devices import device_count as device_count
    from aacl._factory import empty as empty
    from aacl._resource import open_resources as open_resources
    from aacl.ops import Block as Block
    from aacl.ops import Launch as Launch
    from aacl.ops import Operation as Operation
    from aacl.ops import Registration as Registration
    from aacl.ops import SharedKernel as SharedKernel
    from aacl.ops import kernel_include_dir as kernel_include_dir
    from aacl.ops import register_operator as register_operator
    from aacl.models import Model as Model
    from aacl.converter import convert as convert

_ROOMS = {
    # what went wrong
    "aacl.errors": (
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
    ),
    # data types
    "aacl.dtypes": (
        "DataType",
        "Format",
    ),
    # memory
    "aacl.memory": (
        "Allocator",
        "Buffer",
        "HostBuffer",
        "MemoryInfo",
    ),
    # tensors
    "aacl.tensors": (
        "UNKNOWN_RANK",
        "Tensor",
        "TensorDesc",
    ),
    # streams
    "aacl.streams": (
        "Completion",
        "Event",
        "Stream",
        "StreamStatistics",
        "Work",
    ),
    # devices
    "aacl.devices": (
        "Context",
        "Device",
        "MemoryPool",
        "current_context",
        "current_device",
        "current_stream",
        "device_count",
    ),
    # new tensors
    "aacl._factory": ("empty",),
    # what is open
    "aacl._resource": ("open_resources",),
    # operators
    "aacl.ops": (
        "Block",
        "Launch",
        "Operation",
        "Registration",
        "SharedKernel",
        "kernel_include_dir",
        "register_operator",
    ),
    # models
    "aacl.models": ("Model",),
    # atc
    "aacl.converter": ("convert",),
}
_MODULES = ("blocking", "converter", "dtypes", "errors", "memory", "models", "ops", "products")
_HOMES = {name: room for room, names in _ROOMS.items() for name in names}
_HOMES |= {module: f"aacl.{module}" for module in _MODULES}

# Constants first, then classes, then the rest.
__all__ = tuple(sorted(_HOMES, key=lambda name: (not name.isupper(), name[0].islower(), name)))

__version__ = "0.1.0"

if not TYPE_CHECKING:
    __getattr__, __dir__ = lazy_names(__name__, _HOMES)
