"""Addresses of Python objects, and objects from addresses.

Programs pass the addresses of temporaries that are gone when they are used, so
the objects asked for last are kept alive for a while.
"""

from __future__ import annotations

import ctypes
import math
import mmap
import sys
from contextlib import suppress
from operator import index
from typing import TYPE_CHECKING, Any

import numpy as np

import aacl
from aacl.errors import InvalidArgument, InvalidMemoryRange
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
def bytes_to_ptr(bytes_object: bytes, /) -> int:
    """Return the address of a bytes object's own payload; copying into it changes the object.

    Args:
        bytes_object: it, or a temporary: the objects asked for last are kept for a while.

    Returns:
        The address.

    Source: the page of ``acl.util.bytes_to_ptr``.
    """
    if type(bytes_object) is not bytes:
        raise TypeError(f"a bytes object is required, not '{type(bytes_object).__name__}'")
    address = id(bytes_object) + _HEAD
    _keep_alive(address, len(bytes_object), bytes_object)
    return address


@plain(b"")
def ptr_to_bytes(ptr: int, size: int, /) -> bytes:
    """Return a copy of memory of the host or the device.

    Args:
        ptr: the first byte.
        size: bytes; 0 gives b"".

    Returns:
        A new bytes object.

    Raises:
        ValueError: the address is null or not mapped, the bytes are outside an allocation, or the size is negative.

    Source: the page of ``acl.util.ptr_to_bytes``.
    """
    address, nbytes = index(ptr), index(size)
    try:
        if nbytes < 0 or not address:
            raise InvalidArgument(f"there are no {nbytes} bytes at address {address:#x}")
        return _blocks.read(address, nbytes)
    except InvalidArgument as error:
        fail("acl.util.ptr_to_bytes", error)
        raise ValueError(str(error)) from None


@plain(0)
def numpy_to_ptr(ndarray: aacl.abc.Array, /) -> int:
    """Return the address of an array's first element.

    For an array that is not C-contiguous a warning goes to stderr: the bytes from there on are not its elements in
    order.

    Args:
        ndarray: the array, or a temporary: the arrays asked for last are kept for a while, but for those on a mapped
            file or shared memory, which the program may want to close.

    Returns:
        The address.

    Source: the page of ``acl.util.numpy_to_ptr``.
    """
    array = _array(ndarray)
    in_order = array.flags.c_contiguous
    if not in_order:
        _warn(
            "[WARNING] acl.util.numpy_to_ptr: the ndarray is discontiguous, and its memory is not its elements in "
            "order; use acl.util.numpy_contiguous_to_ptr"
        )
    return _address(array, in_order=in_order)


def _warn(text: str) -> None:
    if sys.stderr is not None:
        with suppress(OSError, ValueError):  # a program may have closed it
            print(text, file=sys.stderr)


@plain((0, None))
def numpy_contiguous_to_ptr(ndarray: aacl.abc.Array, /) -> tuple[int, aacl.abc.Array]:
    """Return the address of an array whose elements lie in order.

    Args:
        ndarray: the array.

    Returns:
        (address, array): the array itself if it is C-contiguous, else a copy that is. Keep it while the address is used.

    Source: the page of ``acl.util.numpy_contiguous_to_ptr``.
    """
    array = np.ascontiguousarray(_array(ndarray)) if _array(ndarray).ndim else ndarray
    return _address(array), array


def _array(thing: Any) -> aacl.abc.Array:
    if not isinstance(thing, np.ndarray):
        raise TypeError(f"parameter must be a numpy.ndarray, not '{type(thing).__name__}'")
    array: aacl.abc.Array = thing
    return array


def _address(array: aacl.abc.Array, *, in_order: bool = True) -> int:
    address: int = array.__array_interface__["data"][0]
    base = array
    while isinstance(base.base, np.ndarray):
        base = base.base
    lender: Any = base.base
    if lender is None:
        is_lasting = base.flags.owndata
    else:
        if isinstance(lender, memoryview):
            lender = lender.obj
        if isinstance(lender, mmap.mmap):  # a mapping that is used cannot be closed, and programs do close it
            return address
        is_lasting = type(lender) in (bytes, bytearray)
    # Of a discontiguous array it is not known from here on which bytes are its own.
    _keep_alive(address, array.nbytes, array, is_lasting=in_order and is_lasting)
    return address


@plain(None)
def ptr_to_numpy(ptr: int, shape: Sequence[int], npy_type: int, /) -> aacl.abc.Array:
    """Return an array on memory, nothing copied.

    Memory of the runtime's own stays while the array lives, even if it is freed.

    Args:
        ptr: the first element.
        shape: of the array; () is a scalar.
        npy_type: NumPy's type number, such as 11 for float32.

    Returns:
        The array.

    Raises:
        ValueError: an unknown type number, a negative dim, more dims than arrays have, a null address, or memory that
            is not mapped.

    Source: the page of ``acl.util.ptr_to_numpy``.
    """
    address, dims = index(ptr), tuple([index(dim) for dim in shape])
    kind = _TYPES.get(index(npy_type))
    try:
        if kind is None:
            raise InvalidArgument(f"NumPy type number {npy_type} is not known; known are {', '.join(map(str, _TYPES))}")
        dtype = np.dtype(kind)
        if not address or any(dim < 0 for dim in dims):
            raise InvalidArgument(f"there is no array of shape {dims} at address {address:#x}")
        return _shaped(_memory(address, math.prod(dims) * dtype.itemsize).view(dtype), dims)
    except InvalidArgument as error:
        fail("acl.util.ptr_to_numpy", error)
        raise ValueError(str(error)) from None


def _shaped(array: aacl.abc.Array, dims: tuple[int, ...]) -> aacl.abc.Array:
    try:
        return array.reshape(dims)
    except ValueError as error:  # more dims, or larger ones, than NumPy has
        raise InvalidArgument(f"there is no array of shape {dims}: {error}") from None


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
