"""Descriptions and memory as the operands of an operation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

import aacl
from aacl.errors import InvalidArgument
from acl import _blocks
from acl._status import DIMS_UNKNOWN, FORMAT_NOT_MATCH, Refused

if TYPE_CHECKING:
    from collections.abc import Sequence

    from acl._contexts import Context

__all__ = (
    "Descs",
    "Spans",
    "check",
    "check_layout",
    "contents",
    "described",
    "fitted",
    "may_decide",
    "on_host",
    "operands",
    "results",
    "room",
)

Descs: TypeAlias = "tuple[aacl.TensorDesc, ...]"
Spans: TypeAlias = "tuple[tuple[int, int], ...]"
_DEVICE = 0  # ACL_MEMTYPE_DEVICE

# Elements of an input that a shape may follow from: sizes, axes and paddings are integers, factors few numbers.
_INTEGERS_MOST = 1024
_NUMBERS_MOST = 16


def may_decide(desc: aacl.TensorDesc) -> bool:
    """Whether an output's shape may follow from the values of an input like this."""
    if not desc.is_static or desc.nbytes < desc.element_count:
        return False
    is_whole = desc.dtype.numpy_dtype.kind in "iu"
    return 0 < desc.element_count <= (_INTEGERS_MOST if is_whole else _NUMBERS_MOST)


def operands(
    op_type: str, descs: Descs, spans: Spans, context: Context, updated: Sequence[int] = ()
) -> tuple[list[Any], bool]:
    """Return the inputs of an operation, and whether all lie in memory of the device or in none.

    An input with known contents comes as a host value, and so does one placed on the host that a shape
    may follow from. Others that are placed on the host are copied to the device now, but for those
    that the operator updates, which it does where they lie.
    """
    found: list[Any] = []
    lasting = True
    for position, (desc, span) in enumerate(zip(descs, spans, strict=True)):
        what = f"operator {op_type}: input {position}"
        if desc.dtype is aacl.DataType.UNDEFINED:
            found.append(None)
        elif desc.value is not None:
            found.append(desc.value)
        elif desc.placement != _DEVICE and position not in updated:
            found.append(contents(what, desc, span) if may_decide(desc) else _snapshot(what, desc, span, context))
            lasting = False
        else:
            found.append(_tensor(what, desc, span))
            lasting = lasting and not _is_host(found[-1])
    return found, lasting


def on_host(desc: aacl.TensorDesc) -> bool:
    """Whether an input was said to lie on the host (``set_tensor_place_ment``)."""
    return desc.placement != _DEVICE and desc.value is None


def described(descs: Descs, given: Sequence[Any]) -> list[aacl.TensorDesc | None]:
    """Return the descriptions of an operation's inputs, with the contents of host values."""
    return [
        None
        if operand is None
        else aacl.TensorDesc.of(desc.dtype, desc.shape, desc.format, value=operand)
        if isinstance(operand, np.ndarray)
        else operand.desc
        for desc, operand in zip(descs, given, strict=True)
    ]


def room(what: str, desc: aacl.TensorDesc, nbytes: int) -> aacl.TensorDesc:
    """Return the largest output that a description stands for: that with its ranges' ends, where they fit the buffer.

    Raises:
        Refused: a dim is free, and no range that ends bounds it (145000): how much memory that would be is unknown.
    """
    if desc.ranges and all(most >= 0 for _, most in desc.ranges):
        largest = aacl.TensorDesc.of(desc.dtype, [most for _, most in desc.ranges], desc.format, name=desc.name)
        if largest.nbytes <= nbytes or not desc.is_static:
            desc = largest
    _check_dims(what, desc)
    return desc


def fitted(
    what: str, space: aacl.TensorDesc, served: aacl.TensorDesc, inferred: aacl.TensorDesc | None
) -> aacl.TensorDesc:
    """Return what an output is to be written as: its exact description where that is known and fits.

    Args:
        what: the output, for the text.
        space: the largest that its description stands for.
        served: as the operator model describes it; where that leaves dims open, they need not be those described.
        inferred: what follows from the inputs; None where nothing does.

    Raises:
        InvalidArgument: it is larger than what is described.
    """
    if inferred is None or not inferred.is_static or served.is_static or inferred.dtype is not space.dtype:
        return space
    if inferred.nbytes > space.nbytes:
        raise InvalidArgument(
            f"{what} is {inferred.nbytes} bytes of shape {list(inferred.shape)}; it is described with "
            f"{space.nbytes} bytes, of shape {list(space.shape)}"
        )
    return aacl.TensorDesc.of(space.dtype, inferred.shape, space.format, name=space.name)


def results(op_type: str, descs: Descs, spans: Spans) -> tuple[list[aacl.Tensor], bool]:
    """Return the outputs of an operation, and whether all lie in memory of the device."""
    found = [
        _tensor(f"operator {op_type}: output {position}", desc, span)
        for position, (desc, span) in enumerate(zip(descs, spans, strict=True))
    ]
    return found, not any(map(_is_host, found))


def contents(what: str, desc: aacl.TensorDesc, span: tuple[int, int]) -> aacl.abc.Array:
    """Return a copy of a tensor's elements, wherever they lie."""
    check(what, desc, span[1])
    data = _blocks.read(span[0], desc.nbytes)
    return np.frombuffer(data, desc.dtype.numpy_dtype).reshape(desc.shape)


def _snapshot(what: str, desc: aacl.TensorDesc, span: tuple[int, int], context: Context) -> aacl.Tensor:
    """Return a new tensor of the device with what lies on the host now."""
    check(what, desc, span[1])
    _blocks.check_host(span[0], desc.nbytes)
    tensor = aacl.empty(desc.shape, desc.dtype, desc.format, device=context.device.device)
    aacl.memory.copy(tensor.address, span[0], desc.nbytes)
    return tensor


def _tensor(what: str, desc: aacl.TensorDesc, span: tuple[int, int]) -> aacl.Tensor:
    check(what, desc, span[1])
    if desc.ranges:  # of an earlier run, whose result this may be: nothing to tell plans apart by
        desc = aacl.TensorDesc.of(desc.dtype, desc.shape, desc.format, name=desc.name)
    return _blocks.tensor_at(desc, span[0])


# How many dims a tensor has in a layout of the device.
_RANKS = {"NC1HWC0": 5, "NC1HWC0_C04": 5, "FRACTAL_Z": 4, "FRACTAL_Z_3D": 4, "NDC1HWC0": 6}


def check_layout(what: str, desc: aacl.TensorDesc) -> None:
    """Check that a tensor that is said to lie in a device's layout has the dims of one (``set_tensor_shape``).

    Raises:
        Refused: it has others (100027): it would be computed on as if it lay in its own layout.
    """
    rank, name = len(desc.shape), desc.format.name
    if desc.format is desc.origin_format or desc.shape == aacl.UNKNOWN_RANK:
        return
    if rank != _RANKS.get(name, rank) or (name.startswith("FRACTAL_NZ") and rank < 4):
        raise Refused(
            FORMAT_NOT_MATCH,
            f"{what} is said to lie in {name} with dims {list(desc.shape)}, which are none of that layout; say those "
            "with acl.set_tensor_shape too",
        )


def _check_dims(what: str, desc: aacl.TensorDesc) -> None:
    if not desc.is_static:
        raise Refused(
            DIMS_UNKNOWN,
            f"{what} has unknown dims, {list(desc.shape)}; describe it with those of this run, or call "
            "acl.op.infer_shape for their range",
        )


def check(what: str, desc: aacl.TensorDesc, nbytes: int) -> None:
    """Check a description against the buffer that is to hold the tensor.

    Raises:
        Refused: a dim is free (145000).
        InvalidArgument: the buffer is too small.
    """
    _check_dims(what, desc)
    if desc.nbytes > nbytes:
        raise InvalidArgument(f"{what} takes {desc.nbytes} bytes; its buffer has {nbytes}")


def _is_host(tensor: aacl.Tensor) -> bool:
    return tensor.device_index < 0
