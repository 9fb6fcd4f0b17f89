"""TensorFlow's strided slices, and ONNX's, as NumPy's indices."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from aacl.backends.cpu.kernels._places import axis_of
from aacl.errors import InvalidArgument

if TYPE_CHECKING:
    from collections.abc import Sequence

    from aacl.abc import KernelRequest

__all__ = ("sliced_axes", "sliced_shape", "strided_index")


def strided_index(
    request: KernelRequest, shape: tuple[int, ...], begin: Sequence[int], end: Sequence[int], strides: Sequence[int]
) -> tuple[Any, ...]:
    """Return TensorFlow's strided slice as NumPy's index; bit ``i`` of a mask speaks of entry ``i``.

    Args:
        request: its attributes are the masks.
        shape: what is sliced.
        begin: one number for each entry.
        end: the same.
        strides: the same, none of them 0.

    Raises:
        InvalidArgument: the numbers do not fit each other, or the shape.
    """
    if not len(begin) == len(end) == len(strides) or 0 in strides:
        raise InvalidArgument(
            f"operator {request.op_type}: begin {tuple(begin)}, end {tuple(end)} and strides {tuple(strides)} "
            f"need one number each, strides not 0"
        )
    ignores_begin, ignores_end, ellipsis, new_axis, shrink = (
        request.attributes[f"{name}_mask"] for name in ("begin", "end", "ellipsis", "new_axis", "shrink_axis")
    )
    index: list[Any] = []
    for place, (start, stop, step) in enumerate(zip(begin, end, strides, strict=True)):
        bit = 1 << place
        if ellipsis & bit:
            index.append(...)
        elif new_axis & bit:
            index.append(np.newaxis)
        elif shrink & bit:
            index.append(start)
        else:
            index.append(slice(None if ignores_begin & bit else start, None if ignores_end & bit else stop, step))
    try:
        sliced_shape(shape, index)
    except IndexError as error:
        raise InvalidArgument(
            f"operator {request.op_type}: begin {tuple(begin)}, end {tuple(end)} and strides {tuple(strides)} with the "
            f"masks given do not slice shape {shape}: {error}"
        ) from error
    return tuple(index)


def sliced_shape(shape: tuple[int, ...], index: Sequence[Any]) -> tuple[int, ...]:
    """Return the shape of what NumPy's index picks; no array of the shape is made.

    Raises:
        IndexError: the index does not fit the shape.
    """
    return np.shape(np.broadcast_to(np.False_, shape)[tuple(index)])


def sliced_axes(
    request: KernelRequest,
    rank: int,
    begin: Sequence[int],
    end: Sequence[int],
    axes: Sequence[int] | None,
    strides: Sequence[int] | None,
) -> tuple[slice, ...]:
    """Return ONNX's slice as NumPy's index: ends beyond a dim are cut to it; no axes are the first ones.

    Raises:
        InvalidArgument: the numbers do not fit each other, or the rank.
    """
    places = range(len(begin)) if axes is None else axes
    steps = (1,) * len(begin) if strides is None else strides
    if not len(begin) == len(end) == len(places) == len(steps) or 0 in steps or len(begin) > rank:
        raise InvalidArgument(
            f"operator {request.op_type}: begin {tuple(begin)}, end {tuple(end)}, axes {tuple(places)} and strides "
            f"{tuple(steps)} need one number each, strides not 0, for {rank} dims"
        )
    index = [slice(None)] * rank
    seen = set[int]()
    for first, last, place, step in zip(begin, end, places, steps, strict=True):
        axis = axis_of(request, place, rank)
        if axis in seen:
            raise InvalidArgument(f"operator {request.op_type}: axis {axis} is sliced twice")
        seen.add(axis)
        index[axis] = slice(first, last, step)
    return tuple(index)
