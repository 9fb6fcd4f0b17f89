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
    turns small squares within the processor; bands as wide as a line write it once, and can be shared.

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
    # Each element costs a nanosecond: it is read far from the one before.
    bands = _bands(shape[places[-1]], size)
    parts = ranges(len(bands), 2 * count * size, 10 * count)
    is_swap, is_alone = places in ((1, 0), (0, 2, 1)), places == (1, 0)
    if is_swap and size in _RAW and not (is_alone and (size == 8 or len(parts) > 1)):
        return _swapped(request, shape, places, 0 if is_alone or count < _SHARED else count)
    return _banded(request, order, bands, parts)


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


def _bands(length: int, size: int) -> list[slice]:
    width = max(_LINE // size, 1)
    return [slice(start, start + width) for start in range(0, length, width)]


def _banded(request: KernelRequest, order: tuple[int, ...], bands: list[slice], parts: list[slice]) -> Body:
    shape, places = _merged(given(request, 0).shape, order)
    result = tuple(shape[place] for place in places)

    def run(x: Array, out: Array) -> None:
        if not (x.flags.c_contiguous and out.flags.c_contiguous):
            np.copyto(out, x.transpose(order))
            return
        turned, target = x.reshape(shape).transpose(places), out.reshape(result)

        def part(number: int) -> None:
            for band in bands[parts[number]]:
                target[..., band] = turned[..., band]

        request.parallel(part, len(parts))

    return run
