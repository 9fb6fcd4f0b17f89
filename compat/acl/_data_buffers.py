"""Data buffers: an address and a size, for the calls that take them; the memory is the program's own."""

from __future__ import annotations

from operator import index

from aacl.errors import InvalidArgument
from acl._handles import Handles
from acl._status import INVALID_PARAM, code_alone, plain

__all__ = (
    "create_data_buffer",
    "data_buffers",
    "destroy_data_buffer",
    "get_data_buffer_addr",
    "get_data_buffer_size",
    "get_data_buffer_size_v2",
    "update_data_buffer",
)

data_buffers: Handles[tuple[int, int]] = Handles("data buffer", INVALID_PARAM)
"""(address, bytes) by handle."""


@plain(0)
def create_data_buffer(data_ptr: int, size: int, /) -> int:
    """Wrap memory, which stays the program's: (0, 0) stands for none.

    Args:
        data_ptr: its address.
        size: its length in bytes.

    Returns:
        The handle; 0 for a negative size.

    Source: aclCreateDataBuffer.
    """
    return data_buffers.add(_span(data_ptr, size))


@code_alone
def destroy_data_buffer(data_buffer: int, /) -> int:
    """Destroy a data buffer, not the memory.

    Args:
        data_buffer: of `create_data_buffer`.

    Returns:
        0; 100000 if it is none.

    Source: aclDestroyDataBuffer.
    """
    data_buffers.take(data_buffer)
    return 0


@code_alone
def update_data_buffer(data_buffer: int, data_ptr: int, size: int, /) -> int:
    """Let a data buffer wrap other memory.

    Args:
        data_buffer: of `create_data_buffer`.
        data_ptr: the memory's address.
        size: bytes there.

    Returns:
        0; 100000 if it is none, or for a negative size.

    Source: aclUpdateDataBuffer.
    """
    data_buffers.replace(data_buffer, _span(data_ptr, size))
    return 0


@plain(0)
def get_data_buffer_addr(data_buffer: int, /) -> int:
    """Return the address of a data buffer's memory.

    Args:
        data_buffer: of `create_data_buffer`.

    Returns:
        The address; 0 if it is no data buffer.

    Source: aclGetDataBufferAddr.
    """
    return data_buffers.get(data_buffer)[0]


@plain(0)
def get_data_buffer_size(data_buffer: int, /) -> int:
    """Return the length of a data buffer, as the 32-bit number that this older call gives.

    Args:
        data_buffer: of `create_data_buffer`.

    Returns:
        Bytes; 0 if it is no data buffer.

    Source: aclGetDataBufferSize.
    """
    return data_buffers.get(data_buffer)[1] & 0xFFFFFFFF


@plain(0)
def get_data_buffer_size_v2(data_buffer: int, /) -> int:
    """Return the length of a data buffer.

    Args:
        data_buffer: of `create_data_buffer`.

    Returns:
        Bytes; 0 if it is no data buffer.

    Source: aclGetDataBufferSizeV2.
    """
    return data_buffers.get(data_buffer)[1]


def _span(address: int, size: int) -> tuple[int, int]:
    address, size = index(address), index(size)
    if size < 0 or address < 0:
        raise InvalidArgument(f"a data buffer of {size} bytes at {address} is none")
    return address, size
