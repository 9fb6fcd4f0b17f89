"""Addresses of Python objects, and objects from addresses.

Programs pass the addresses of temporaries that are gone when they are used, so
the objects asked for last are kept alive for a while.
"""

from __future__ import annotations

import ctypes
import math
import sys
from operator import index
from typing import TYPE_CHECKING, Any

import numpy as np

import aacl
from aacl.errors import InvalidMemoryRange
from acl import _blocks
from acl._status import fail, plain

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ("bytes_to_ptr", "numpy_contiguous_to_ptr", "numpy_to_ptr", "ptr_to_bytes", "ptr_to_numpy")

_keep_alive = aacl.memory.keep_alive
_HEAD = bytes.__basicsize__ - 1  # of a bytes object, before its payload; the null byte at its end counts too
assert ctypes.cast(ctypes.c_char_p(b"acl"), ctypes.c_void_p).value == id(b"acl") + _HEAD

# NumPy's own type numbers: NPY_BOOL and its siblings.
_TYPES = {
    0: np.bool_, 1: np.int8, 2: np.uint8, 3: np.int16, 4: np.uint16, 5: np.int32, 6: np.uint32, 7: np.int64,
    8: np.uint64, 9: np.longlong, 10: np.ulonglong, 11: np.float32, 12: np.float64, 13: np.longdouble,
    14: np.complex64, 15: np.complex128, 16: np.clongdouble, 23: np.float16,
}  # fmt: skip


@plain(0)
def bytes_to_ptr(bytes_object: bytes) -> int:
    """Return the address of a bytes object's own payload; copying into it changes the object."""
    if type(bytes_object) is not bytes:
        raise TypeError(f"a bytes object is required, not '{type(bytes_object).__name__}'")
    address = id(bytes_object) + _HEAD
    _keep_alive(address, len(bytes_object), bytes_object)
    return address


@plain(b"")
def ptr_to_bytes(ptr: int, size: int) -> bytes:
    """Return a copy of memory of the host or the device.

    Args:
        ptr: the first byte.
        size: bytes; 0 gives b"".

    Raises:
        ValueError: the address is null or not mapped, the bytes are outside an allocation, or the size is negative.
    """
    address, nbytes = index(ptr), index(size)
    if nbytes < 0 or not address:
        raise ValueError(f"there are no {nbytes} bytes at address {address:#x}")
    try:
        return _blocks.read(address, nbytes)
    except InvalidMemoryRange as error:
        fail("acl.util.ptr_to_bytes", error)
        raise ValueError(str(error)) from None


@plain(0)
def numpy_to_ptr(ndarray: aacl.abc.Array) -> int:
    """Return the address of an array's first element. For one that is not C-contiguous a warning goes to stderr:
    the bytes from there on are not its elements in order.
    """
    array = _array(ndarray)
    if not array.flags.c_contiguous:
        print(
            "[WARNING] acl.util.numpy_to_ptr: the ndarray is discontiguous, and its memory is not its elements in "
            "order; use acl.util.numpy_contiguous_to_ptr",
            file=sys.stderr,
        )
    return _address(array)


@plain((0, None))
def numpy_contiguous_to_ptr(ndarray: aacl.abc.Array) -> tuple[int, aacl.abc.Array]:
    """Return (address, array): the array itself if it is C-contiguous, else a copy that is; keep it."""
    array = np.ascontiguousarray(_array(ndarray)) if _array(ndarray).ndim else ndarray
    return _address(array), array


def _array(thing: Any) -> aacl.abc.Array:
    if not isinstance(thing, np.ndarray):
        raise TypeError(f"parameter must be a numpy.ndarray, not '{type(thing).__name__}'")
    array: aacl.abc.Array = thing
    return array


def _address(array: aacl.abc.Array) -> int:
    address: int = array.__array_interface__["data"][0]
    # Of a discontiguous array only the object is kept: which bytes are its own is not known from here on.
    _keep_alive(address, array.nbytes if array.flags.c_contiguous else 0, array)
    return address


@plain(None)
def ptr_to_numpy(ptr: int, shape: Sequence[int], npy_type: int) -> aacl.abc.Array:
    """Return an array on memory, nothing copied. Memory of the runtime's stays while the array lives, even if freed.

    Args:
        ptr: the first element.
        shape: of the array; () is a scalar.
        npy_type: NumPy's type number, such as 11 for float32.

    Raises:
        ValueError: an unknown type number, a negative dim, a null address, or memory that is not mapped.
    """
    address, dims = index(ptr), tuple([index(dim) for dim in shape])
    kind = _TYPES.get(index(npy_type))
    if kind is None:
        raise ValueError(f"NumPy type number {npy_type} is not known; known are {', '.join(map(str, _TYPES))}")
    dtype = np.dtype(kind)
    if not address or any(dim < 0 for dim in dims):
        raise ValueError(f"there is no array of shape {dims} at address {address:#x}")
    try:
        return _memory(address, math.prod(dims) * dtype.itemsize).view(dtype).reshape(dims)
    except InvalidMemoryRange as error:
        fail("acl.util.ptr_to_numpy", error)
        raise ValueError(str(error)) from None


def _memory(address: int, nbytes: int) -> aacl.abc.Array:
    """Return bytes of memory as an array that keeps them in place, as far as they are the runtime's."""
    buffer = _blocks.device_buffer(address)
    if buffer is not None:
        if nbytes > buffer.address + buffer.reserved_nbytes - address:
            raise InvalidMemoryRange(f"{nbytes} bytes at {address:#x} reach beyond {buffer!r}")
        return buffer.view((nbytes,), np.uint8, address - buffer.address)
    host = _blocks.host_buffer(address, nbytes)
    if host is not None:
        start = address - host.address
        return host.array[start : start + nbytes]
    return _blocks.other_memory(address, nbytes).view((nbytes,), np.uint8)
