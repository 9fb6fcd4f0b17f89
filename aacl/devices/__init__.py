"""Devices, contexts, pools of their memory, and which of them is current."""

from aacl._runtime import device_count as device_count
from aacl.devices._context import Context as Context
from aacl.devices._current import current_context as current_context
from aacl.devices._current import current_device as current_device
from aacl.devices._current import current_stream as current_stream
from aacl.devices._device import Device as Device
from aacl.devices._pool import MemoryPool as MemoryPool

__all__ = (
    "Context",
    "Device",
    "MemoryPool",
    "current_context",
    "current_device",
    "current_stream",
    "device_count",
)
