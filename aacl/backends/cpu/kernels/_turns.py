"""Copies of arrays with their axes in another order."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from aacl.backends.cpu.kernels._graphs import graph_body, node
from aacl.backends.cpu.kernels._registry import elements, given
from aacl.backends.cpu.kernels._split import ranges, spread_rows
from aacl.dtypes import DataType, Format

if TYPE_CHECKING:
    from aacl.abc import Array, KernelRequest
    from aacl.backends.cpu.kernels._registry import Body

__all__ = ("turn",)

_LINE = 64
"""Bytes of a cache line."""
_LINES = 4
"""Lines that a row of the result takes at once, where a matrix is turned."""
_COLUMNS = 2048
"""Places of a row that are copied at once: with a band of others they stay in the cache."""
_PAGE = 4096
"""A distance at which a core's nearest cache holds few lines."""
_MANY = 1 << 15
"""Elements from which a plain copy is the slower one."""
_SHARED = 1 << 20
"""Elements from which ONNX Runtime's threads share several matrices."""
_RAW = {1: DataType.UINT8, 2: DataType.UINT16, 4: DataType.UINT32, 8: DataType.UINT64}
"""Dtypes for ONNX Runtime, by size: it only moves the bytes."""


class _Raw(NamedTuple):
    """What ONNX Runtime is told of a tensor."""

    dtype: DataType
    shape: tuple[int, ...]
    format: Format = Format.ND
    value: Array | None = None


def turn(request: KernelRequest, order: tuple[int, ...]) -> Body:
    """Return a body that copies an array with its axes in another order.

    Where the innermost axis changes, NumPy would write each line of the cache once an element. ONNX Runtime
    turns small squares within the processor; bands as wide as some lines write these once, and can be shared.

    Args:
        request: the request to prepare: one input, maybe others that the body is not given, and one output.
        order: the input's axes as the output has them.
    """

    def copy(x: Array, out: Array) -> None:
        np.copyto(out, x.transpose(order))

    count, size = elements(request.outputs[0]), request.outputs[0].dtype.itemsize
    if count < _MANY:
        return copy
    shape, places = _merged(given(request, 0).shape, order)
    if places[-1] == len(places) - 1:
        parts = ranges(request.outputs[0].shape[0], 2 * count * size)
        rows = spread_rows(request, np.copyto, parts)
        return lambda x, out: rows(out, x.transpose(order))
    is_matrix = places == (1, 0)
    height = max(_LINE // size, 1) * (_LINES if is_matrix else 1)
    bands = [slice(start, start + height) for start in range(0, shape[places[-1]], height)]
    # Each element costs a nanosecond: it is read far from the one before.
    parts = ranges(len(bands), 2 * count * size, 10 * count)
    is_far = is_matrix and (size > 4 or shape[1] * size % _PAGE == 0 or len(parts) > 1)
    if places in ((1, 0), (0, 2, 1)) and size in _RAW and not is_far:
        return _swapped(request, shape, places, 0 if is_matrix or count < _SHARED else count)
    fill = _fill_matrix if is_matrix else _fill

    def run(x: Array, out: Array) -> None:
        if not (x.flags.c_contiguous and out.flags.c_contiguous):
            copy(x, out)
            return
        turned = x.reshape(shape).transpose(places)
        target = out.reshape(turned.shape)
        request.parallel(lambda number: fill(turned, target, bands[parts[number]]), len(parts))

    return run


def _merged(shape: tuple[int, ...], order: tuple[int, ...]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return an equal turn of fewer axes: those that stay neighbours are one, and single places none."""
    groups: list[list[int]] = []
    for axis in order:
        if shape[axis] == 1:
            continue
        behind = groups[-1][-1] + 1 if groups else -1
        while behind > 0 and behind < axis and shape[behind] == 1:
            behind += 1
        if behind == axis:
            groups[-1].append(axis)
        else:
            groups.append([axis])
    by_input = sorted(groups)
    sizes = tuple(math.prod(shape[axis] for axis in group) for group in by_input)
    return sizes, tuple(by_input.index(group) for group in groups)


def _swapped(request: KernelRequest, shape: tuple[int, ...], places: tuple[int, ...], operations: int) -> Body:
    dtype = _RAW[request.outputs[0].dtype.itemsize]
    result = tuple(shape[place] for place in places)
    raw = request._replace(inputs=(_Raw(dtype, shape),), outputs=(_Raw(dtype, result),))
    return graph_body(raw, [node("Transpose", "x0", "y0", perm=places)], operations)


def _fill(turned: Array, target: Array, bands: list[slice]) -> None:
    for band in bands:
        target[..., band] = turned[..., band]


def _fill_matrix(turned: Array, target: Array, bands: list[slice]) -> None:
    """Turn some rows of a matrix by way of a copy: their distance is none for which the cache has few places."""
    length, line = len(turned), max(_LINE // turned.itemsize, 1)
    room = np.empty((bands[0].stop - bands[0].start, min(length, _COLUMNS) + line), turned.dtype)
    for band in bands:
        for start in range(0, length, _COLUMNS):
            source = turned[start : start + _COLUMNS, band]
            copy = room[: source.shape[1], : source.shape[0]].T
            copy[...] = source
            target[start : start + _COLUMNS, band] = copy
