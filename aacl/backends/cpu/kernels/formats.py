"""TransData: the same numbers in another layout.

NC1HWC0 and NDC1HWC0 hold channel ``c`` at ``[n, (d,) c // C0, h, w, c % C0]``; FRACTAL_Z and FRACTAL_Z_3D at
``[((d * C1 + c // C0) * H + h) * W + w, n // 16, n % 16, c % C0]``; FRACTAL_NZ row ``m`` and column ``n`` of a
matrix at ``[n // C0, m // 16, m % 16, n % C0]``. What is left of a block is 0, and is cut off on the way back.

With groups, FRACTAL_Z holds E groups on the diagonal of one larger filter: group ``g`` lies in part ``g // E``, its
filters from ``g % E`` times their number on, its channels likewise. E is the least number that fills whole blocks.
"""

from __future__ import annotations

import math
from itertools import product
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from aacl.backends.cpu.kernels._registry import given, kernel, prepared
from aacl.errors import InvalidArgument

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from aacl.abc import Array, Kernel, KernelRequest, TensorInfo

__all__ = ()

Pairs: TypeAlias = "Callable[[Array, Array], Iterable[tuple[Array, Array]]]"
"""Yields views of a plain array and of blocks, of one shape each, which together hold all numbers."""

_PLAIN = ("ND", "NCHW", "NHWC", "HWCN", "NCDHW", "NDHWC")
_ROWS = 16


@kernel("TransData")
def _trans_data(request: KernelRequest) -> Kernel:
    source, target = (request.attributes[name].upper() for name in ("src_format", "dst_format"))
    if source == target or (source in _PLAIN and target in _PLAIN and "ND" in (source, target)):
        return prepared(request, _copy, in_place=True)
    if source in _PLAIN and target in _PLAIN:
        order = [source.index(letter) for letter in target]
        return prepared(request, lambda x, out: np.copyto(out, x.transpose(order)))
    packs = source in _PLAIN
    plain, blocks = (given(request, 0), request.outputs[0]) if packs else (request.outputs[0], given(request, 0))
    name, letters = (target, source) if packs else (source, target)
    if name.startswith("FRACTAL_NZ"):
        pairs = _matrix(plain, blocks)
    else:
        pairs = _channels(request, plain, blocks, _lettered(letters, len(plain.shape)), name)
    return prepared(request, _packing(pairs, math.prod(plain.shape)) if packs else _unpacking(pairs))


def _copy(x: Array, out: Array) -> None:
    np.copyto(out, x)


def _packing(pairs: Pairs, count: int) -> Callable[[Array, Array], None]:
    def body(x: Array, out: Array) -> None:
        if out.size != count:  # there is padding
            out[...] = 0
        for plain, cells in pairs(x, out):
            cells[...] = plain

    return body


def _unpacking(pairs: Pairs) -> Callable[[Array, Array], None]:
    def body(x: Array, out: Array) -> None:
        for plain, cells in pairs(out, x):
            plain[...] = cells

    return body


def _lettered(name: str, rank: int) -> str:
    """Return the letters of a plain layout; ND of four or five dims has its channels second."""
    return name if name != "ND" else "NCHW" if rank == 4 else "NCDHW"


def _matrix(plain: TensorInfo, blocks: TensorInfo) -> Pairs:
    """Return the views of FRACTAL_NZ; one dim is a matrix of one row."""
    shape = plain.shape if len(plain.shape) > 1 else (1, *plain.shape)
    *batch, rows, columns = shape
    width = blocks.shape[-1]
    _require(plain, blocks, (*batch, -(-columns // width), -(-rows // _ROWS), _ROWS, width))
    front = len(batch)
    order = (*range(front), front + 1, front + 2, front, front + 3)
    single = tuple(range(1, 2 * front, 2))

    def pairs(x: Array, cells: Array) -> Iterator[tuple[Array, Array]]:
        seen = np.expand_dims(cells.transpose(order), single)
        return _regions(x.reshape(shape), seen, (0,) * len(shape))

    return pairs


def _channels(request: KernelRequest, plain: TensorInfo, blocks: TensorInfo, letters: str, name: str) -> Pairs:
    """Return the views of a layout with blocks of channels; a picture without depth has one of 1."""
    sizes = dict(zip(letters, plain.shape, strict=True))
    n, c, h, w, d = (*(sizes[letter] for letter in "NCHW"), sizes.get("D", 1))
    width, groups = blocks.shape[-1], request.attributes["groups"]
    to_axes = [letters.index(letter) for letter in "NCDHW" if letter in letters]
    is_filter = name.startswith("FRACTAL_Z")
    filters = n // groups if is_filter else n
    together = _together(c, filters, groups, width) if is_filter else 1
    parts, deep, high = -(-groups // together), -(-together * c // width), -(-together * filters // _ROWS)
    depth = (d,) if "D" in letters else ()
    whole: tuple[int, ...] = (parts, d, deep, h, w, high, _ROWS, width) if is_filter else (1, n, d, deep, h, w, width)
    order: tuple[int, ...] = (4, 5, 1, 6, 0, 2, 3) if is_filter else (0, 2, 5, 1, 3, 4)
    single = (5, 7, 9) if is_filter else (1, 5, 7, 9)
    rows = (parts * d * deep * h * w, high, _ROWS, width)
    _require(plain, blocks, rows if is_filter else (n, *depth, deep, h, w, width))

    def pairs(x: Array, cells: Array) -> Iterator[tuple[Array, Array]]:
        seen = x.transpose(to_axes)
        seen = seen if "D" in letters else seen[:, :, None]
        apart = cells.reshape(whole)
        for group in range(groups if is_filter else 1):
            part, place = divmod(group, together)
            one = np.expand_dims(apart[part].transpose(order), single)
            starts = (place * filters, place * c, 0, 0, 0)
            yield from _regions(seen[group * filters : (group + 1) * filters], one, starts)

    return pairs


def _together(channels: int, filters: int, groups: int, width: int) -> int:
    """Return how many groups lie in one larger filter."""
    fills = (e for e in range(1, groups) if not (e * channels % width or e * filters % _ROWS))
    return next(fills, groups) if channels and filters else 1


def _regions(plain: Array, cells: Array, starts: Sequence[int]) -> Iterator[tuple[Array, Array]]:
    """Yield views of both, without the padding.

    Args:
        plain: an axis for each dim.
        cells: two axes for each dim: blocks, and places in a block.
        starts: the place of the first element of each dim, counted through the blocks.
    """
    sizes = zip(starts, plain.shape, cells.shape[1::2], strict=True)
    for spans in product(*[list(_spans(*each)) for each in sizes]):
        outer = [slice(block, block + count) for _, block, count, _, _ in spans]
        inner = [slice(place, place + items) for _, _, _, place, items in spans]
        source = [slice(first, first + count * items) for first, _, count, _, items in spans]
        both = [part for pair in zip(outer, inner, strict=True) for part in pair]
        shape = [size for _, _, count, _, items in spans for size in (count, items)]
        yield plain[tuple(source)].reshape(shape), cells[tuple(both)]


def _spans(start: int, size: int, block: int) -> Iterator[tuple[int, int, int, int, int]]:
    """Yield the head, the whole blocks and the tail of a dim: first element, block, blocks, place, items a block."""
    position, end = start, start + size
    while position < end:
        place = position % block
        is_whole = place == 0 and end - position >= block
        count = (end - position) // block if is_whole else 1
        items = block if is_whole else min(block - place, end - position)
        yield position - start, position // block, count, place, items
        position += count * items


def _require(plain: TensorInfo, blocks: TensorInfo, expected: tuple[int, ...]) -> None:
    """Refuse blocks of another shape than the plain tensor's.

    Raises:
        InvalidArgument: the shapes differ.
    """
    if blocks.shape != expected:
        raise InvalidArgument(
            f"operator TransData: a plain tensor of shape {plain.shape} has blocks of shape {expected}, not {blocks.shape}"
        )
