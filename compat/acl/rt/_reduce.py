"""Reductions of device memory into device memory."""

from __future__ import annotations

import os
import threading
from operator import index
from typing import Any

import numpy as np

import aacl
from aacl.dtypes import DataType
from aacl.errors import InvalidArgument, InvalidMemoryRange
from acl import _blocks
from acl._data_types import data_type_of
from acl._devices import stream_at
from acl._status import PARAM_INVALID, RT_NOT_SUPPORTED, Refused, code_alone
from acl.rt._exception import watch

__all__ = ("reduce_async",)

_OPERATORS = {10: "Add", 11: "Maximum", 12: "Minimum"}  # of each aclrtReduceKind
_EQUAL = 13
_NARROW = (DataType.INT8, DataType.INT16)
_TYPES = (DataType.FLOAT, DataType.FLOAT16, DataType.BF16, DataType.INT8, DataType.INT16, DataType.INT32)

_registered: dict[str, aacl.Registration] = {}
_lock = threading.Lock()


def _after_fork() -> None:
    global _lock
    _lock = threading.Lock()


os.register_at_fork(after_in_child=_after_fork)


@code_alone
def reduce_async(dst: int, src: int, count: int, kind: int, type: int, stream: int, reserve: int | None, /) -> int:
    """Submit a reduction to a stream: each element of the target becomes what it and one of the source come to.

    Args:
        dst: the target, in device memory; may point into an allocation.
        src: the source, in device memory; it may be the target, but not overlap it otherwise.
        count: bytes of each; 0 changes nothing.
        kind: an ``aclrtReduceKind``: 10 sum, 11 largest, 12 smallest. Whole numbers wrap around.
        type: an ``aclDataType``: float, float16, bfloat16, int8, int16 or int32.
        stream: 0 stands for the default one.
        reserve: 0 or None.

    Returns:
        0, which means submitted; 100000 for a null address; 107000 for an unknown kind, fewer than 0 bytes or no whole
        number of elements, spans that overlap, bytes outside an allocation, host memory, or ``reserve``; 207000 for
        kind 13 and other data types; 107002, 107003 and 107017 as ``synchronize_stream``.

    Source: aclrtReduceAsync.
    """
    dst, src, nbytes = index(dst), index(src), index(count)
    operator, dtype, target = _operator(kind), _data_type(type), stream_at(stream)
    if reserve:
        raise Refused(PARAM_INVALID, f"the last argument is reserved; pass 0, not {reserve!r}")
    if nbytes < 0 or nbytes % dtype.itemsize:
        raise InvalidMemoryRange(f"{nbytes} bytes are no whole number of {dtype.name} elements")
    if not nbytes:
        return 0
    if 0 < abs(dst - src) < nbytes:
        raise InvalidMemoryRange(f"{nbytes} bytes at {dst:#x} and at {src:#x} overlap")
    desc = aacl.TensorDesc.of(dtype, (nbytes // dtype.itemsize,))
    into, of = _tensor(desc, dst), _tensor(desc, src)
    if dtype in _NARROW and operator != "Add":
        operator = _own(operator)
    watch(target, target.stream.execute(aacl.Operation(operator, [into, of], out=into)))
    return 0


def _own(operator: str) -> str:
    """Return an operator that takes the narrow types too, which the catalogue's do not."""
    name = f"{operator} (reduction)"
    kernel: Any = np.maximum if operator == "Maximum" else np.minimum
    with _lock:
        if operator not in _registered:
            _registered[operator] = aacl.register_operator(
                name,
                selector=lambda *_: aacl.Launch("whole"),
                kernels={"whole": lambda _block, inputs, outputs, *_: kernel(*inputs, out=outputs[0])},
                infer=lambda inputs, _: [each for each in inputs[:1] if each is not None],
            )
    return name


def _operator(kind: Any) -> str:
    number = index(kind)
    if number == _EQUAL:
        raise Refused(RT_NOT_SUPPORTED, "reduction by equality is one of the device's copy engine; compare with Equal")
    if number not in _OPERATORS:
        raise Refused(PARAM_INVALID, f"there is no reduction {number}; 10 is the sum, 11 the largest, 12 the smallest")
    return _OPERATORS[number]


def _data_type(number: Any) -> DataType:
    dtype = data_type_of(index(number))
    if dtype not in _TYPES:
        raise Refused(RT_NOT_SUPPORTED, f"{dtype.name} is not reduced; {', '.join(each.name for each in _TYPES)} are")
    return dtype


def _tensor(desc: aacl.TensorDesc, address: int) -> aacl.Tensor:
    if not address:
        raise InvalidArgument("cannot reduce memory at address 0")
    if not aacl.memory.is_device_address(address):
        raise InvalidMemoryRange(f"{address:#x} is no memory of a device; copy it there first")
    return _blocks.tensor_at(desc, address)
