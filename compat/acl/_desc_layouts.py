"""Layouts of tensor descriptions: how a tensor lies in memory, beside what it is of its own.

A description is created with a tensor's own format and dims; where it lies in memory in a device's layout, the setters
here say so. Kernels go by what lies in memory; the getters tell what it was created with.
"""

from __future__ import annotations

import math
from operator import index
from typing import TYPE_CHECKING

import aacl
from aacl.errors import InvalidArgument
from acl._status import code_alone, with_code
from acl._tensor_descs import change, dims_of, format_of, tensor_descs

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = (
    "set_tensor_format",
    "set_tensor_origin_format",
    "set_tensor_origin_shape",
    "set_tensor_shape",
    "set_tensor_storage_format",
    "set_tensor_storage_shape",
    "trans_tensor_desc_format",
)


@code_alone
def set_tensor_format(tensor_desc: int, format: int, /) -> int:
    """Say in which layout a tensor lies in memory.

    Args:
        tensor_desc: of `create_tensor_desc`.
        format: an ``aclFormat``.

    Returns:
        0; 100000 if there is no such format or description.

    Source: aclSetTensorFormat.
    """
    return change(tensor_desc, format=format_of(index(format)))


@code_alone
def set_tensor_storage_format(tensor_desc: int, format: int, /) -> int:
    """Do what `set_tensor_format` does; the older name.

    Args:
        tensor_desc: of `create_tensor_desc`.
        format: an ``aclFormat``.

    Returns:
        0; 100000 if there is no such format or description.

    Source: aclSetTensorStorageFormat.
    """
    return change(tensor_desc, format=format_of(index(format)))


@code_alone
def set_tensor_shape(tensor_desc: int, dims: Sequence[int], /) -> int:
    """Say with which dims a tensor lies in memory.

    Args:
        tensor_desc: of `create_tensor_desc`.
        dims: a list of numbers.

    Returns:
        0; 100000 for a dim that cannot be, or no description.

    Source: aclSetTensorShape.
    """
    return _store_as(tensor_desc, dims)


@code_alone
def set_tensor_storage_shape(tensor_desc: int, dims: Sequence[int], /) -> int:
    """Do what `set_tensor_shape` does; the older name.

    Args:
        tensor_desc: of `create_tensor_desc`.
        dims: a list of numbers.

    Returns:
        0; 100000 for a dim that cannot be, or no description.

    Source: aclSetTensorStorageShape.
    """
    return _store_as(tensor_desc, dims)


@code_alone
def set_tensor_origin_format(tensor_desc: int, format: int, /) -> int:
    """Say which layout a tensor has of its own.

    Args:
        tensor_desc: of `create_tensor_desc`.
        format: an ``aclFormat``.

    Returns:
        0; 100000 if there is no such format or description.

    Source: aclSetTensorOriginFormat.
    """
    old = tensor_descs.get(tensor_desc)
    return change(tensor_desc, origin=(format_of(index(format)), old.origin_shape))


@code_alone
def set_tensor_origin_shape(tensor_desc: int, dims: Sequence[int], /) -> int:
    """Say which dims a tensor has of its own.

    Args:
        tensor_desc: of `create_tensor_desc`.
        dims: a list of numbers.

    Returns:
        0; 100000 for a dim that cannot be, or no description.

    Source: aclSetTensorOriginShape.
    """
    old = tensor_descs.get(tensor_desc)
    return change(tensor_desc, origin=(old.origin_format, dims_of(dims)))


@with_code(0)
def trans_tensor_desc_format(src_desc: int, dst_format: int, /) -> tuple[int, int]:
    """Describe a tensor in another layout.

    Args:
        src_desc: the description, which stays as it is; what counts is how it says that the tensor lies in memory.
        dst_format: an ``aclFormat``: one that ``TransData`` makes of the description's.

    Returns:
        (handle, 0) of a new description, with the dims of the other layout; (0, 100000) if there is no such format or
        description, the one layout does not become the other, or the description has contents.

    Source: aclTransTensorDescFormat.
    """
    desc, layout = tensor_descs.get(src_desc), format_of(index(dst_format))
    if desc.value is not None:
        raise InvalidArgument("a constant's contents do not follow into another layout; describe them anew")
    if layout is desc.format:
        return tensor_descs.add(desc), 0
    formats = {"src_format": desc.format.name, "dst_format": layout.name}
    plain = aacl.TensorDesc.of(desc.dtype, desc.shape, desc.format, ranges=desc.ranges)
    (found,) = aacl.ops.infer("TransData", [plain], formats)
    new = aacl.TensorDesc.of(
        desc.dtype, found.shape, layout, ranges=found.ranges, placement=desc.placement, name=desc.name
    )
    return tensor_descs.add(new), 0


def _store_as(handle: int, dims: Sequence[int]) -> int:
    old, shape = tensor_descs.get(handle), dims_of(dims)
    value = old.value
    if value is not None:
        if math.prod(shape) != value.size:
            raise InvalidArgument(f"a constant of shape {list(value.shape)} cannot lie in shape {list(shape)}")
        value = value.reshape(shape)
    ranges = old.ranges if len(shape) == len(old.shape) else ()
    return change(handle, shape=shape, value=value, ranges=ranges)
