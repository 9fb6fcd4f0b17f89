"""Operators that move elements, and those that say how many there are."""

from __future__ import annotations

import numpy as np

from aacl import DataType, Tensor
from tests.helpers.onnx_nodes._mapping import NotMapped, mapping
from tests.helpers.onnx_nodes._node import Node, normal
from tests.helpers.onnx_nodes.reduction import int64

__all__ = ("sliced",)


@mapping("Reshape")
def _reshape(node: Node) -> Tensor:
    """A zero copies the dim, unless ``allowzero``."""
    x, wanted = node.tensor(0), node.whole(1)
    if not node.attribute("allowzero", 0):
        wanted = [x.shape[place] if dim == 0 else dim for place, dim in enumerate(wanted)]
    return node.run("Reshape", x, int64(wanted))


@mapping("Flatten")
def _flatten(node: Node) -> Tensor:
    return node.run("Flatten", node.tensor(0), axis=node.attribute("axis", 1))


@mapping("Transpose")
def _transpose(node: Node) -> Tensor:
    x = node.tensor(0)
    return node.run("Transpose", x, int64(node.attribute("perm", range(len(x.shape))[::-1])))


@mapping("Squeeze")
def _squeeze(node: Node) -> Tensor:
    return node.run("SqueezeV3", node.tensor(0), *([int64(node.whole(1))] if node.has(1) else []))


@mapping("Unsqueeze")
def _unsqueeze(node: Node) -> Tensor:
    return node.run("UnsqueezeV3", node.tensor(0), int64(node.whole(1)))


@mapping("Concat")
def _concat(node: Node) -> Tensor:
    tensors = [node.tensor(index) for index in range(len(node.case.inputs))]
    return node.run("ConcatD", tensors, concat_dim=node.attribute("axis"))


@mapping("Split")
def _split(node: Node) -> tuple[Tensor, ...]:
    """Equal parts are Split's; stated or uneven ones SplitV's."""
    x, parts, axis = node.tensor(0), len(node.case.outputs), node.axis(0)
    size = x.shape[axis]
    if node.has(1):
        sizes = node.whole(1)
    elif size % parts == 0:
        return node.run_several("Split", np.int32(axis), x, num_split=parts)
    else:
        part = -(-size // parts)
        sizes = [part] * (parts - 1) + [size - part * (parts - 1)]
    return node.run_several("SplitV", x, int64(sizes), int64(axis), num_split=parts)


@mapping("Tile")
def _tile(node: Node) -> Tensor:
    return node.run("Tile", node.tensor(0), int64(node.whole(1)))


@mapping("Expand")
def _expand(node: Node) -> Tensor:
    return node.run("Expand", node.tensor(0), int64(node.whole(1)))


@mapping("Pad")
def _pad(node: Node) -> Tensor:
    """PadV3 has a pair for every axis; ONNX has those of the stated axes, all begins first."""
    mode = node.attribute("mode", "constant")
    if mode not in ("constant", "reflect", "edge"):
        raise NotMapped(f"PadV3 has no mode {mode}")
    x, given = node.tensor(0), node.whole(1)
    axes = node.whole(3) if node.has(3) else range(len(x.shape))
    pads = np.zeros((2, len(x.shape)), np.int64)
    pads[:, [normal(axis, len(x.shape)) for axis in axes]] = np.reshape(given, (2, -1))
    value = node.optional(2) if mode == "constant" else None
    return node.run("PadV3", x, pads.reshape(-1), value, mode=mode, paddings_contiguous=False)


@mapping("Slice")
def _slice(node: Node) -> Tensor:
    x, starts = node.tensor(0), node.whole(1)
    axes = node.whole(3) if node.has(3) else list(range(len(starts)))
    steps = node.whole(4) if node.has(4) else [1] * len(starts)
    return sliced(node, x, starts, node.whole(2), axes, steps)


def sliced(
    node: Node, x: Tensor, starts: list[int], ends: list[int], axes: list[int], steps: list[int] | None = None
) -> Tensor:
    """Run StridedSliceV2 on some axes."""
    strides = steps or [1] * len(starts)
    return node.run("StridedSliceV2", x, int64(starts), int64(ends), int64(axes), int64(strides))


@mapping("CenterCropPad")
def _center_crop_pad(node: Node) -> Tensor:
    """Too long an axis is cut on both sides, too short a one padded; the odd element is at the end."""
    x, targets = node.tensor(0), node.whole(1)
    rank = len(x.shape)
    axes = [normal(axis, rank) for axis in node.attribute("axes", range(rank))]
    starts = [max(x.shape[axis] - target, 0) // 2 for axis, target in zip(axes, targets, strict=True)]
    ends = [start + min(x.shape[a], t) for start, a, t in zip(starts, axes, targets, strict=True)]
    cut = sliced(node, x, starts, ends, axes)
    pads = np.zeros((2, rank), np.int64)
    for axis, target in zip(axes, targets, strict=True):
        missing = max(target - x.shape[axis], 0)
        pads[:, axis] = missing // 2, missing - missing // 2
    return node.run("PadV3", cut, pads.reshape(-1), paddings_contiguous=False)


@mapping("Shape")
def _shape(node: Node) -> Tensor:
    """ONNX can cut the shape; bounds out of range are moved to its ends."""
    rank = len(node.tensor(0).shape)
    start, end = (
        min(max(normal(bound, rank), 0), rank) for bound in (node.attribute("start", 0), node.attribute("end", rank))
    )
    y = node.run("Shape", node.tensor(0), dtype=int(DataType.INT64))
    return y if (start, end) == (0, rank) else sliced(node, y, [start], [max(start, end)], [0])


@mapping("Size")
def _size(node: Node) -> Tensor:
    return node.run("Size", node.tensor(0), dtype=int(DataType.INT64))


@mapping("DepthToSpace")
def _depth_to_space(node: Node) -> Tensor:
    block, mode = node.attribute("blocksize"), node.attribute("mode", "DCR")
    return node.run("DepthToSpace", node.tensor(0), block_size=block, mode=mode, data_format="NCHW")


@mapping("SpaceToDepth")
def _space_to_depth(node: Node) -> Tensor:
    if node.attribute("mode", "DCR") != "DCR":
        raise NotMapped("SpaceToDepth has no mode")
    block = node.attribute("blocksize")
    return node.run("SpaceToDepth", node.tensor(0), block_size=block, data_format="NCHW")


@mapping("Trilu")
def _trilu(node: Node) -> Tensor:
    operator = "Triu" if node.attribute("upper", 1) else "Tril"
    diagonal = node.whole(1)[0] if node.has(1) else 0
    return node.run(operator, node.tensor(0), diagonal=diagonal)
