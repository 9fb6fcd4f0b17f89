"""Tensor descriptions by handle. A handle stands for an immutable `aacl.TensorDesc`; setters put another in its place."""

from __future__ import annotations

import math
from operator import index
from typing import TYPE_CHECKING

import numpy as np

import aacl
from aacl.errors import InvalidArgument
from acl._arguments import check_text
from acl._data_types import data_type_of
from acl._handles import Handles
from acl._status import INVALID_PARAM, code_alone, plain, with_code

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = (
    "at_destroy",
    "change",
    "create_tensor_desc",
    "destroy_tensor_desc",
    "dims_of",
    "forget",
    "format_of",
    "get_tensor_desc_dim",
    "get_tensor_desc_dim_range",
    "get_tensor_desc_dim_v2",
    "get_tensor_desc_element_count",
    "get_tensor_desc_format",
    "get_tensor_desc_name",
    "get_tensor_desc_num_dims",
    "get_tensor_desc_size",
    "get_tensor_desc_type",
    "set_tensor_const",
    "set_tensor_desc_name",
    "set_tensor_place_ment",
    "set_tensor_shape_range",
    "tensor_descs",
)

tensor_descs: Handles[aacl.TensorDesc] = Handles("tensor desc", INVALID_PARAM)

_RANGE_NUMBERS = 2  # ACL_TENSOR_SHAPE_RANGE_NUM: a range is (min, max)
_known: dict[tuple[int, tuple[int, ...], int], aacl.TensorDesc] = {}
_KNOWN_MOST = 4096


_at_destroy: list[Callable[[int], object]] = []


def at_destroy(release: Callable[[int], object]) -> None:
    """Call ``release(handle)`` for each description that is destroyed."""
    _at_destroy.append(release)


def forget(handle: int) -> None:
    """Let a handle be dead, and what was said of it; one that is dead, or none, is left alone."""
    if tensor_descs.objects.pop(handle, None) is not None:
        for release in _at_destroy:
            release(handle)


@plain(0)
def create_tensor_desc(data_type: int, dims: Sequence[int], format: int, /) -> int:
    """Describe a tensor.

    Args:
        data_type: an ``aclDataType``; -1 for an absent optional input.
        dims: the shape; -1 is a free dim, [-2] an unknown rank, [] a scalar.
        format: an ``aclFormat``.

    Returns:
        The handle; 0 for a data type, a format or a dim that there is not.

    Source: aclCreateTensorDesc.
    """
    key = (index(data_type), dims_of(dims), index(format))
    desc = _known.get(key)
    if desc is None:
        desc = _describe(*key)
        if len(_known) >= _KNOWN_MOST:
            _known.clear()
        _known[key] = desc
    return tensor_descs.add(desc)


def dims_of(dims: Sequence[int]) -> tuple[int, ...]:
    """Return dims as numbers; raises `TypeError` for what is no list of them."""
    if not isinstance(dims, (list, tuple, np.ndarray)):
        raise TypeError(f"parameter must be a list, not {type(dims).__name__}")
    return tuple([index(dim) for dim in dims])


def _describe(data_type: int, dims: tuple[int, ...], format: int) -> aacl.TensorDesc:
    return aacl.TensorDesc.of(data_type_of(data_type), dims, format_of(format))


def format_of(number: int) -> aacl.Format:
    """Return a format; raises `InvalidArgument` if there is no such format."""
    try:
        return aacl.Format(number)
    except ValueError:
        raise InvalidArgument(f"there is no format {number}") from None


def change(
    handle: int,
    *,
    ranges: Sequence[tuple[int, int]] | None = None,
    value: aacl.abc.Array | None = None,
    placement: int | None = None,
    name: str | None = None,
    shape: tuple[int, ...] | None = None,
    format: aacl.Format | None = None,
    origin: tuple[aacl.Format, tuple[int, ...]] | None = None,
) -> int:
    """Put a description with one part changed in the place of another; return 0."""
    old = tensor_descs.get(handle)
    new = aacl.TensorDesc.of(
        old.dtype,
        old.shape if shape is None else shape,
        old.format if format is None else format,
        ranges=old.ranges if ranges is None else ranges,
        value=old.value if value is None else value,
        placement=old.placement if placement is None else placement,
        name=old.name if name is None else name,
        origin=origin or (old.origin_format, old.origin_shape),
    )
    tensor_descs.replace(handle, new)
    return 0


@plain(None)
def destroy_tensor_desc(tensor_desc: int, /) -> None:
    """Destroy a description; what is none is left alone, with a text for `get_recent_err_msg`.

    Args:
        tensor_desc: of `create_tensor_desc`.

    Source: aclDestroyTensorDesc.
    """
    tensor_descs.take(tensor_desc)
    for release in _at_destroy:
        release(tensor_desc)


@plain(-1)
def get_tensor_desc_type(tensor_desc: int, /) -> int:
    """Return the data type of a tensor.

    Args:
        tensor_desc: of `create_tensor_desc`.

    Returns:
        An ``aclDataType``; -1 if it is no description.

    Source: aclGetTensorDescType.
    """
    return int(tensor_descs.get(tensor_desc).dtype)


@plain(-1)
def get_tensor_desc_format(tensor_desc: int, /) -> int:
    """Return the format that a description was created with.

    Args:
        tensor_desc: of `create_tensor_desc`.

    Returns:
        An ``aclFormat``; -1 if it is no description.

    Source: aclGetTensorDescFormat.
    """
    return int(tensor_descs.get(tensor_desc).origin_format)


@plain(0)
def get_tensor_desc_size(tensor_desc: int, /) -> int:
    """Return how many bytes a tensor takes as it lies in memory.

    Args:
        tensor_desc: of `create_tensor_desc`.

    Returns:
        The bytes; 0 when a dim is free, or if it is no description.

    Source: aclGetTensorDescSize.
    """
    return tensor_descs.get(tensor_desc).nbytes


@plain(0)
def get_tensor_desc_element_count(tensor_desc: int, /) -> int:
    """Return the number of a tensor's elements.

    Args:
        tensor_desc: of `create_tensor_desc`.

    Returns:
        The number; 0 when a dim is free, or if it is no description.

    Source: aclGetTensorDescElementCount.
    """
    shape = tensor_descs.get(tensor_desc).origin_shape
    return math.prod(shape) if all(dim >= 0 for dim in shape) else 0


@plain(0)
def get_tensor_desc_num_dims(tensor_desc: int, /) -> int:
    """Return the number of dims.

    Args:
        tensor_desc: of `create_tensor_desc`.

    Returns:
        The number; 2^64 - 2 for an unknown rank; 0 for a scalar, or if it is no description.

    Source: aclGetTensorDescNumDims.
    """
    shape = tensor_descs.get(tensor_desc).origin_shape
    return (1 << 64) - 2 if shape == aacl.UNKNOWN_RANK else len(shape)


@plain(-1)
def get_tensor_desc_dim(tensor_desc: int, index: int, /) -> int:
    """Return a dim: the older form of `get_tensor_desc_dim_v2`.

    Args:
        tensor_desc: of `create_tensor_desc`.
        index: of the dim.

    Returns:
        The dim, -1 where it is free; also -1 if there is no such dim.

    Source: aclGetTensorDescDim.
    """
    return _dim(tensor_desc, index)


@with_code(-1)
def get_tensor_desc_dim_v2(tensor_desc: int, index: int, /) -> tuple[int, int]:
    """Return a dim.

    Args:
        tensor_desc: of `create_tensor_desc`.
        index: of the dim.

    Returns:
        (dim, 0), the dim -1 where it is free; (-1, 100000) if there is no such dim or description.

    Source: aclGetTensorDescDimV2.
    """
    return _dim(tensor_desc, index), 0


def _dim(handle: int, position: int) -> int:
    shape = tensor_descs.get(handle).origin_shape
    place = index(position)
    if not 0 <= place < len(shape):
        raise InvalidArgument(f"there is no dim {place} in {list(shape)}")
    return shape[place]


@with_code([])
def get_tensor_desc_dim_range(tensor_desc: int, index: int, dim_range_num: int, /) -> tuple[list[int], int]:
    """Return between which sizes a dim may be; a fixed dim is both.

    Args:
        tensor_desc: the description.
        index: of the dim.
        dim_range_num: 2.

    Returns:
        ([min, max], 0), max -1 without limit; ([], 100000) for another count than 2, or if there is no such dim or
        description.

    Source: aclGetTensorDescDimRange.
    """
    desc, dim = tensor_descs.get(tensor_desc), _dim(tensor_desc, index)
    if not isinstance(dim_range_num, (int, np.integer)):
        raise TypeError(f"argument 3 must be int, not {type(dim_range_num).__name__}")
    if dim_range_num != _RANGE_NUMBERS:
        raise InvalidArgument(f"a range has {_RANGE_NUMBERS} numbers; {dim_range_num} were asked for")
    if dim >= 0:
        return [dim, dim], 0
    return list(desc.ranges[index]) if index < len(desc.ranges) else [0, -1], 0


@plain("")
def get_tensor_desc_name(tensor_desc: int, /) -> str:
    """Return the name of a tensor.

    Args:
        tensor_desc: of `create_tensor_desc`.

    Returns:
        The name; empty if it has none, or is no description.

    Source: aclGetTensorDescName.
    """
    return tensor_descs.get(tensor_desc).name


@plain(None)
def set_tensor_desc_name(tensor_desc: int, name: str, /) -> None:
    """Name a tensor; what is no description is left alone, with a text for `get_recent_err_msg`.

    Args:
        tensor_desc: of `create_tensor_desc`.
        name: the name.

    Source: aclSetTensorDescName.
    """
    check_text(name, 2)
    change(tensor_desc, name=name)


@code_alone
def set_tensor_const(tensor_desc: int, data_ptr: int, size: int, /) -> int:
    """Make an input a constant: its contents are read from host memory now.

    Args:
        tensor_desc: the description, all dims fixed.
        data_ptr: the contents.
        size: their length in bytes, that of the tensor.

    Returns:
        0; 100000 for a null or wrong size; 107000 if the memory is not mapped; 100026 for a data type without contents.

    Source: aclSetTensorConst.
    """
    desc, size = tensor_descs.get(tensor_desc), index(size)
    if not index(data_ptr) or not desc.is_static or size != desc.nbytes:
        raise InvalidArgument(f"{size} bytes at {data_ptr:#x} are not the contents of {desc!r} ({desc.nbytes} bytes)")
    data = aacl.memory.read_bytes(data_ptr, size)
    return change(tensor_desc, value=np.frombuffer(data, desc.dtype.numpy_dtype).reshape(desc.shape))


@code_alone
def set_tensor_place_ment(tensor_desc: int, mem_type: int, /) -> int:
    """Say where a tensor lies.

    Args:
        tensor_desc: of `create_tensor_desc`.
        mem_type: 0 device, 1 host, 2 host and not compiled in.

    Returns:
        0; 100000 for other numbers, or no description.

    Source: aclSetTensorPlaceMent.
    """
    place = index(mem_type)
    if place not in (0, 1, 2):
        raise InvalidArgument(f"a tensor's placement is 0, 1 or 2, not {place}")
    return change(tensor_desc, placement=place)


@code_alone
def set_tensor_shape_range(tensor_desc: int, dims_range: Sequence[Sequence[int]], /) -> int:
    """Bound the free dims.

    Args:
        tensor_desc: of `create_tensor_desc`.
        dims_range: a [min, max] for every dim, max -1 without limit.

    Returns:
        0; 100000 for another count, or no description.

    Source: aclSetTensorShapeRange.
    """
    pairs = [tuple(index(bound) for bound in pair) for pair in dims_range]
    if any(len(pair) != _RANGE_NUMBERS for pair in pairs):
        raise InvalidArgument(f"a range is [min, max]; {dims_range!r} was given")
    return change(tensor_desc, ranges=[(pair[0], pair[1]) for pair in pairs])
