"""Operators that move cells between space, channels and batch.

All are one copy through a view of more dims, so any dtype goes. DepthToSpace and its like follow
TensorFlow's operators of these names, and ONNX's for the mode CRD; ShuffleChannel follows Caffe's.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from aacl.backends.cpu.kernels._registry import given, kernel, prepared, require_shape, with_integers
from aacl.errors import InvalidArgument

if TYPE_CHECKING:
    from collections.abc import Callable

    from aacl.abc import Array, Kernel, KernelRequest
    from aacl.backends.cpu.kernels._registry import Body

__all__ = ()


@kernel("DepthToSpace")
def _depth_to_space(request: KernelRequest) -> Kernel:
    """Mode DCR takes the block's place from the outer channels, CRD from the inner ones."""
    block, mode = request.attributes["block_size"], request.attributes["mode"]
    if mode not in ("DCR", "CRD"):
        raise InvalidArgument(f"operator DepthToSpace: mode is {mode!r}; it must be 'DCR' or 'CRD'")
    is_first = _has_channels_first(request)
    batch, height, width, channels = _named(request.outputs[0].shape, is_first)
    rows, columns = height // block, width // block
    cut = (block, block, channels) if mode == "DCR" else (channels, block, block)
    # The places of block row, block column and channel within `cut`.
    row, column, depth = (0, 1, 2) if mode == "DCR" else (1, 2, 0)
    if is_first:
        split = (batch, *cut, rows, columns)
        order = (0, 1 + depth, 4, 1 + row, 5, 1 + column)
    else:
        split = (batch, rows, columns, *cut)
        order = (0, 1, 3 + row, 2, 3 + column, 3 + depth)
    return prepared(request, _turned(split, order))


@kernel("SpaceToDepth")
def _space_to_depth(request: KernelRequest) -> Kernel:
    """The block's place becomes the outer part of the channels."""
    block = request.attributes["block_size"]
    is_first = _has_channels_first(request)
    batch, height, width, channels = _named(given(request, 0).shape, is_first)
    if is_first:
        split = (batch, channels, height // block, block, width // block, block)
        return prepared(request, _turned(split, (0, 3, 5, 1, 2, 4)))
    split = (batch, height // block, block, width // block, block, channels)
    return prepared(request, _turned(split, (0, 1, 3, 2, 4, 5)))


@kernel("ShuffleChannel")
def _shuffle_channel(request: KernelRequest) -> Kernel:
    """Axis 1, cut in ``group`` parts, is dealt out: one channel of each part in turn."""
    batch, channels, *rest = given(request, 0).shape
    group = request.attributes["group"]
    return prepared(request, _turned((batch, group, channels // group, *rest), (0, 2, 1, *range(3, 3 + len(rest)))))


def _has_channels_first(request: KernelRequest) -> bool:
    layout = request.attributes["data_format"]
    if layout not in ("NHWC", "NCHW"):
        raise InvalidArgument(f"operator {request.op_type}: data_format is {layout!r}; it must be 'NHWC' or 'NCHW'")
    return bool(layout == "NCHW")


def _named(shape: tuple[int, ...], is_first: bool) -> tuple[int, ...]:
    """Return batch, height, width and channels."""
    return (shape[0], *shape[2:], shape[1]) if is_first else shape


def _turned(split: tuple[int, ...], order: tuple[int, ...]) -> Body:
    """Return a body that sees the input in more dims and writes them in another order."""
    shape = tuple(split[axis] for axis in order)

    def body(x: Array, out: Array) -> None:
        turned = x.reshape(split).transpose(order)
        if out.flags.c_contiguous:
            np.copyto(out.reshape(shape), turned)
        else:
            np.copyto(out, turned.reshape(out.shape))

    return body


@kernel("BatchToSpaceD", "BatchToSpaceNDD", "SpaceToBatchD", "SpaceToBatchNDD")
def _blocked_attributes(request: KernelRequest) -> Kernel:
    attributes = request.attributes
    edges = tuple(attributes["crops" if "crops" in attributes else "paddings"])
    return prepared(request, _made(request)(_block_attribute(request), edges))


@kernel("BatchToSpace", "SpaceToBatch")
def _blocked_square(request: KernelRequest) -> Kernel:
    def make(edges: tuple[int, ...]) -> Body:
        inner = _made(request)(_block_attribute(request), edges)
        return lambda x, _, out: inner(x, out)

    return prepared(request, with_integers(request, (1,), make))


@kernel("BatchToSpaceND", "SpaceToBatchND")
def _blocked_inputs(request: KernelRequest) -> Kernel:
    def make(blocks: tuple[int, ...], edges: tuple[int, ...]) -> Body:
        inner = _made(request)(blocks, edges)
        return lambda x, _, __, out: inner(x, out)

    return prepared(request, with_integers(request, (1, 2), make))


def _block_attribute(request: KernelRequest) -> tuple[int, ...]:
    if "block_shape" in request.attributes:
        return tuple(request.attributes["block_shape"])
    return (request.attributes["block_size"],) * 2


def _made(request: KernelRequest) -> Callable[..., Body]:
    """Return what makes the body of the family from blocks and edges."""
    make = _to_space if request.op_type.startswith("BatchTo") else _to_batch

    def checked(blocks: tuple[int, ...], edges: tuple[int, ...]) -> Body:
        shape = given(request, 0).shape
        if len(edges) != 2 * len(blocks) or len(shape) <= len(blocks) or min(blocks, default=1) < 1:
            raise InvalidArgument(
                f"operator {request.op_type}: blocks {blocks} and edges {edges} do not fit shape {shape}"
            )
        if min(edges, default=0) < 0:
            raise InvalidArgument(f"operator {request.op_type}: edges {edges} must not be negative")
        pairs = tuple(zip(edges[::2], edges[1::2], strict=True))
        return make(request.op_type, shape, blocks, pairs)

    return checked


def _to_space(
    op_type: str, shape: tuple[int, ...], blocks: tuple[int, ...], crops: tuple[tuple[int, int], ...]
) -> Body:
    count, factor = len(blocks), int(np.prod(blocks, dtype=np.int64))
    if shape[0] % factor:
        raise InvalidArgument(f"operator {op_type}: batch {shape[0]} is no multiple of the blocks' product {factor}")
    spatial, rest = shape[1 : count + 1], shape[count + 1 :]
    # blocks, batch, then dims: each dim is followed by its block.
    split = (*blocks, shape[0] // factor, *spatial, *rest)
    order = (count, *(axis for n in range(count) for axis in (count + 1 + n, n)), *range(2 * count + 1, len(split)))
    grown = (shape[0] // factor, *(dim * block for dim, block in zip(spatial, blocks, strict=True)), *rest)
    kept = (slice(None), *(slice(low, size - high) for (low, high), size in zip(crops, grown[1:], strict=False)))
    result = tuple(max(size - sum(pair), -1) for pair, size in zip(crops, grown[1:], strict=False))
    if min(result, default=0) < 0:
        raise InvalidArgument(f"operator {op_type}: crops {crops} are larger than the dims {grown[1 : count + 1]}")

    def body(x: Array, out: Array) -> None:
        require_shape(op_type, (grown[0], *result, *rest), out)
        np.copyto(out, x.reshape(split).transpose(order).reshape(grown)[kept])

    return body


def _to_batch(
    op_type: str, shape: tuple[int, ...], blocks: tuple[int, ...], paddings: tuple[tuple[int, int], ...]
) -> Body:
    count, factor = len(blocks), int(np.prod(blocks, dtype=np.int64))
    padded = tuple(dim + sum(pair) for dim, pair in zip(shape[1:], paddings, strict=False))
    if any(size % block for size, block in zip(padded, blocks, strict=True)):
        raise InvalidArgument(f"operator {op_type}: padded dims {padded} are no multiples of blocks {blocks}")
    cells = tuple(size // block for size, block in zip(padded, blocks, strict=True))
    rest = shape[count + 1 :]
    split = (shape[0], *(n for pair in zip(cells, blocks, strict=True) for n in pair), *rest)
    order = (*range(2, 2 * count + 1, 2), 0, *range(1, 2 * count, 2), *range(2 * count + 1, len(split)))
    edges = ((0, 0), *paddings, *((0, 0),) * len(rest))

    def body(x: Array, out: Array) -> None:
        require_shape(op_type, (shape[0] * factor, *cells, *rest), out)
        wide = np.pad(x, edges) if any(map(any, edges)) else x
        np.copyto(out, wide.reshape(split).transpose(order).reshape(out.shape))

    return body
