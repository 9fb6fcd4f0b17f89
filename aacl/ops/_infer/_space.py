"""Outputs of operators that move cells between space, channels and batch."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from aacl.ops._infer._dims import FREE, Dim
from aacl.ops._infer._rules import Call, Output, rule

if TYPE_CHECKING:
    from collections.abc import Sequence

    from aacl.ops._infer._dims import Shape

__all__ = ()


@rule("DepthToSpace")
def depth_to_space(call: Call) -> Sequence[Output]:
    """Height and width grow by ``block_size``, the channels shrink by its square."""
    return [call.like(0, _moved(call, grows=True))]


@rule("SpaceToDepth")
def space_to_depth(call: Call) -> Sequence[Output]:
    """Height and width shrink by ``block_size``, the channels grow by its square."""
    return [call.like(0, _moved(call, grows=False))]


@rule("BatchToSpace", "BatchToSpaceD", "BatchToSpaceND", "BatchToSpaceNDD")
def batch_to_space(call: Call) -> Sequence[Output]:
    """The batch shrinks by the product of the blocks; each spatial dim grows by its block, less its crops."""
    return [call.like(0, _blocked(call, "crops", grows=True))]


@rule("SpaceToBatch", "SpaceToBatchD", "SpaceToBatchND", "SpaceToBatchNDD")
def space_to_batch(call: Call) -> Sequence[Output]:
    """The batch grows by the product of the blocks; each spatial dim, padded, shrinks by its block."""
    return [call.like(0, _blocked(call, "paddings", grows=False))]


@rule("ShuffleChannel")
def shuffle_channel(call: Call) -> Sequence[Output]:
    """As ``x``, whose axis 1 is cut in ``group`` parts."""
    shape, group = call.shape(0), call.attributes["group"]
    if group < 1:
        raise call.error(f"group is {group}; it must be at least 1")
    if shape is not None:
        if len(shape) < 2:
            raise call.error(f"{call.titled(0)} needs batch and channels")
        _divided(call, shape[1], group, "group")
    return [call.like(0, shape)]


def _moved(call: Call, *, grows: bool) -> Shape:
    shape, block = call.shape(0), call.attributes["block_size"]
    if block < 2:
        raise call.error(f"block_size is {block}; it must be at least 2")
    if shape is None:
        return (FREE,) * 4
    if len(shape) != 4:
        raise call.error(f"{call.titled(0)} must have four dims")
    channel = 1 if call.attributes["data_format"] == "NCHW" else 3
    dims = []
    for axis, dim in enumerate(shape):
        factor = block * block if axis == channel else block
        if axis == 0:
            dims.append(dim)
        elif grows == (axis == channel):
            dims.append(_divided(call, dim, factor, "block_size" if axis != channel else "block_size squared"))
        else:
            dims.append(dim.times(Dim(factor, factor)))
    return tuple(dims)


def _blocked(call: Call, margins: str, *, grows: bool) -> Shape:
    shape = call.shape(0)
    blocks, edges = _blocks(call), _margins(call, margins)
    if shape is None:
        return None
    count = _count(call, blocks, edges, margins)
    if count is not None and len(shape) <= count:
        raise call.error(f"{call.titled(0)} has no batch dim and {count} spatial dims")
    if count is None or blocks is None:
        return (FREE,) * len(shape)
    factor = math.prod(blocks)
    batch = (
        _divided(call, shape[0], factor, "the product of the blocks") if grows else shape[0].times(Dim(factor, factor))
    )
    spatial = [
        _cropped(call, dim, block, edges and edges[2 * place : 2 * place + 2])
        if grows
        else _padded(call, dim, block, edges and edges[2 * place : 2 * place + 2])
        for place, (dim, block) in enumerate(zip(shape[1 : count + 1], blocks, strict=True))
    ]
    return (batch, *spatial, *shape[count + 1 :])


def _blocks(call: Call) -> tuple[int, ...] | None:
    """``block_size`` serves two spatial dims; ``block_shape`` is an attribute or the second input."""
    if "block_size" in call.attributes:
        blocks: tuple[int, ...] | None = (call.attributes["block_size"],) * 2
    elif "block_shape" in call.attributes:
        blocks = tuple(call.attributes["block_shape"])
    else:
        blocks = call.integers(1)
    if blocks is not None and any(block < 1 for block in blocks):
        raise call.error(f"blocks {tuple(blocks)} must be at least 1")
    return blocks


def _margins(call: Call, name: str) -> tuple[int, ...] | None:
    if name in call.attributes:
        edges: tuple[int, ...] | None = tuple(call.attributes[name])
    else:
        edges = call.integers(len(call.inputs) - 1)
    if edges is not None and any(edge < 0 for edge in edges):
        raise call.error(f"{name} {edges} must not be negative")
    return edges


def _count(call: Call, blocks: tuple[int, ...] | None, edges: tuple[int, ...] | None, name: str) -> int | None:
    """Return the number of spatial dims; None where it is not known."""
    if blocks is None:
        return call.length(1)
    if edges is not None and len(edges) != 2 * len(blocks):
        raise call.error(f"{name} {edges} must have a pair for each of the {len(blocks)} blocks")
    return len(blocks)


def _cropped(call: Call, dim: Dim, block: int, edges: tuple[int, ...] | None) -> Dim:
    grown = dim.times(Dim(block, block))
    if edges is None:
        return Dim(0, grown.most)
    if sum(edges) > grown.most:
        raise call.error(f"crops {edges} are more than the {_most(grown)} cells of a dim of {call.titled(0)}")
    return grown.shifted(-sum(edges))


def _padded(call: Call, dim: Dim, block: int, edges: tuple[int, ...] | None) -> Dim:
    if edges is None:
        return FREE
    return _divided(call, dim.shifted(sum(edges)), block, f"block {block} of a dim padded by {edges}")


def _most(dim: Dim) -> str:
    return "unlimited" if dim.most == math.inf else str(int(dim.most))


def _divided(call: Call, dim: Dim, by: int, name: str) -> Dim:
    if dim.is_fixed and dim.least % by:
        raise call.error(f"a dim of {dim.least} of {call.titled(0)} is no multiple of {name} ({by})")
    return Dim(-(-dim.least // by), dim.most if dim.most == math.inf else int(dim.most) // by)
