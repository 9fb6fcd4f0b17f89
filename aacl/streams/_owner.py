"""What streams need of the devices and contexts that they belong to."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from aacl._resource import Resource

if TYPE_CHECKING:
    from aacl.memory._space import DeviceMemory

__all__ = ("StreamContext", "StreamOwner")


class StreamContext(Resource):
    """A context: it owns streams, and knows the memory that they work in."""

    __slots__ = ("memory",)

    memory: DeviceMemory

    def stream_context(self) -> StreamContext:
        """Return the context in which streams of this owner are opened."""
        return self


class StreamOwner(Protocol):
    """A context, or a device with its default context."""

    def stream_context(self) -> StreamContext:
        """Return the context in which streams of this owner are opened."""
