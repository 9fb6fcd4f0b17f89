"""Descriptions and memory as the operands of an operation."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np

import aacl
from aacl.errors import InvalidArgument
from acl import _blocks
from acl._status import DIMS_UNKNOWN, Refused

__all__ = ("Descs", "Spans", "check_dims", "contents", "operands", "results")

Descs: TypeAlias = "tuple[aacl.TensorDesc, ...]"
Spans: TypeAlias = "tuple[tuple[int, int], ...]"
_DEVICE = 0  # ACL_MEMTYPE_DEVICE


def operands(op_type: str, descs: Descs, spans: Spans) -> tuple[list[Any], bool]:
    """Return the inputs of an operation, and whether all lie in memory of the device or in none.

    An input with known contents, or placed on the host, comes as a host value; what an output's
    shape depends on has to.
    """
    found: list[Any] = []
    lasting = True
    for position, (desc, span) in enumerate(zip(descs, spans, strict=True)):
        if desc.dtype is aacl.DataType.UNDEFINED:
            found.append(None)
        elif desc.value is not None:
            found.append(desc.value)
        elif desc.placement != _DEVICE:
            found.append(contents(f"operator {op_type}: input {position}", desc, span))
            lasting = False
        else:
            found.append(_tensor(f"operator {op_type}: input {position}", desc, span))
            lasting = lasting and not _is_host(found[-1])
    return found, lasting


def results(op_type: str, descs: Descs, spans: Spans) -> tuple[list[aacl.Tensor], bool]:
    """Return the outputs of an operation, and whether all lie in memory of the device."""
    found = [
        _tensor(f"operator {op_type}: output {position}", desc, span)
        for position, (desc, span) in enumerate(zip(descs, spans, strict=True))
    ]
    return found, not any(map(_is_host, found))


def contents(what: str, desc: aacl.TensorDesc, span: tuple[int, int]) -> aacl.abc.Array:
    """Return a copy of a tensor's elements, wherever they lie."""
    _check(what, desc, span)
    data = _blocks.read(span[0], desc.nbytes)
    return np.frombuffer(data, desc.dtype.numpy_dtype).reshape(desc.shape)


def _tensor(what: str, desc: aacl.TensorDesc, span: tuple[int, int]) -> aacl.Tensor:
    _check(what, desc, span)
    return _blocks.tensor_at(desc, span[0])


def check_dims(what: str, desc: aacl.TensorDesc) -> None:
    """Raise `Refused` for unknown dims (145000): how much memory that would be is unknown too."""
    if not desc.is_static:
        raise Refused(DIMS_UNKNOWN, f"{what} has unknown dims, {list(desc.shape)}; describe it with those of this run")


def _check(what: str, desc: aacl.TensorDesc, span: tuple[int, int]) -> None:
    check_dims(what, desc)
    if desc.nbytes > span[1]:
        raise InvalidArgument(f"{what} takes {desc.nbytes} bytes; its buffer has {span[1]}")


def _is_host(tensor: aacl.Tensor) -> bool:
    return tensor.device_index < 0
