"""Attention, from its parts, and rotary embeddings."""

from __future__ import annotations

from math import sqrt
from typing import Any

import numpy as np

from aacl import DataType, Tensor
from aacl.abc import Array
from tests.helpers.onnx_nodes._mapping import mapping
from tests.helpers.onnx_nodes._node import Node
from tests.helpers.onnx_nodes.conversion import data_type
from tests.helpers.onnx_nodes.matrix import product
from tests.helpers.onnx_nodes.reduction import int64
from tests.helpers.onnx_nodes.shaping import sliced

__all__ = ()


@mapping("Attention")
def _attention(node: Node) -> list[Tensor]:
    """FlashAttentionScore has neither soft caps, nor caches, nor masks that are added: the parts have."""
    query, key, value = _heads(node)
    present = [_cached(node, tensor, past) for tensor, past in ((key, 4), (value, 5))]
    key, value = (_repeated(node, tensor, query.shape[1]) for tensor in present)
    scale = node.attribute("scale") or 1 / sqrt(query.shape[3])
    steps = [_scaled(node, product(node, _scaled(node, query, sqrt(scale)), key, transposed=True), sqrt(scale))]
    steps.append(_capped(node, steps[-1]))
    bias = _bias(node, query, key)
    steps.append(steps[-1] if bias is None else node.run("Add", steps[-1], bias))
    steps.append(_weights(node, steps[-1], is_masked=bias is not None))
    y = product(node, steps[-1], value)
    results = [_merged(node, y), *present, steps[node.attribute("qk_matmul_output_mode", 0)]]
    return [tensor for tensor, asked in zip(results, node.case.outputs, strict=False) if asked]


def _heads(node: Node) -> list[Tensor]:
    """Return query, key and value with an axis of heads."""
    tensors = [node.tensor(index) for index in range(3)]
    if len(tensors[0].shape) == 4:
        return tensors
    counts = [node.attribute("q_num_heads"), *[node.attribute("kv_num_heads")] * 2]
    return [_split(node, tensor, count) for tensor, count in zip(tensors, counts, strict=True)]


def _split(node: Node, x: Tensor, count: int) -> Tensor:
    batch, length, width = x.shape
    apart = node.run("Reshape", x, int64([batch, length, count, width // count]))
    return node.run("Transpose", apart, int64([0, 2, 1, 3]))


def _merged(node: Node, x: Tensor) -> Tensor:
    """Put the heads beside each other, where the node's inputs have them so."""
    if len(node.tensor(0).shape) == 4:
        return x
    batch, heads, length, width = x.shape
    turned = node.run("Transpose", x, int64([0, 2, 1, 3]))
    return node.run("Reshape", turned, int64([batch, length, heads * width]))


def _cached(node: Node, x: Tensor, past: int) -> Tensor:
    return node.run("ConcatD", [node.tensor(past), x], concat_dim=2) if node.has(past) else x


def _repeated(node: Node, x: Tensor, heads: int) -> Tensor:
    """Give every head of the query a copy of its group's."""
    if x.shape[1] == heads:
        return x
    owners = np.repeat(np.arange(x.shape[1], dtype=np.int64), heads // x.shape[1])
    return node.run("GatherV2", x, owners, int64(1))


def _scaled(node: Node, x: Tensor, factor: float) -> Tensor:
    return node.run("Muls", x, value=factor)


def _capped(node: Node, x: Tensor) -> Tensor:
    cap = node.attribute("softcap", 0.0)
    return x if not cap else _scaled(node, node.run("Tanh", _scaled(node, x, 1 / cap)), cap)


def _bias(node: Node, query: Tensor, key: Tensor) -> Any:
    """Return what is added to the scores: a constant for the frontiers, and the mask that the node is given."""
    constant = _frontier(node, query.shape, key.shape[2])
    mask = _mask(node, key.shape[2])
    if constant is None or mask is None:
        return mask if constant is None else constant.astype(query.dtype.numpy_dtype)
    return node.run("Add", mask, constant.astype(query.dtype.numpy_dtype))


def _frontier(node: Node, shape: tuple[int, ...], length: int) -> Array | None:
    """Return zeros and minus infinities for causality, windows and padding, which follow from sizes."""
    left, right = node.attribute("left_window_size", -1), node.attribute("right_window_size", -1)
    is_causal, is_padded = node.attribute("is_causal", 0), node.has(6)
    if not is_causal and not is_padded and left < 0 and right < 0:
        return None
    sizes = np.array(node.whole(6)).reshape(-1, 1, 1, 1) if is_padded else None
    offset = node.value(4).shape[2] if node.has(4) else 0 if sizes is None else sizes - shape[2]
    ahead = np.arange(length) - (np.arange(shape[2])[:, None] + offset)
    allowed = np.ones(ahead.shape, bool)
    if is_causal:
        allowed &= ahead <= 0
    if left >= 0:
        allowed &= -ahead <= left
    if right >= 0:
        allowed &= ahead <= right
    if sizes is not None:
        allowed = allowed & (np.arange(length) < sizes)
    return np.where(allowed, 0, -np.inf)


def _mask(node: Node, length: int) -> Tensor | None:
    """Return the given mask as numbers to add; a short one hides what it does not reach."""
    if not node.has(3):
        return None
    mask, dtype = node.tensor(3), node.tensor(0).dtype.numpy_dtype
    if mask.dtype is DataType.BOOL:
        mask = node.run("SelectV2", mask, np.zeros((), dtype), np.array(-np.inf, dtype))
    missing = length - mask.shape[-1]
    if missing:
        pads = np.zeros((2, len(mask.shape)), np.int64)
        pads[1, -1] = missing
        mask = node.run("PadV3", mask, pads.reshape(-1), np.array(-np.inf, dtype), paddings_contiguous=False)
    return mask


def _weights(node: Node, scores: Tensor, *, is_masked: bool) -> Tensor:
    """Run softmax; a row that may see nothing has weights of zero."""
    precision = node.attribute("softmax_precision")
    wide = scores if precision is None else node.cast(scores, data_type(precision))
    weights = node.run("SoftmaxV2", wide, axes=[-1])
    if is_masked:
        largest = node.run("ReduceMax", wide, int64([-1]), keep_dims=True)
        dtype = wide.dtype.numpy_dtype
        is_empty = node.run("Equal", largest, np.array(-np.inf, dtype))
        weights = node.run("SelectV2", is_empty, np.zeros((), dtype), weights)
    return node.cast(weights, scores.dtype)


@mapping("RotaryEmbedding")
def _rotary_embedding(node: Node) -> Tensor:
    """RotaryMul turns halves against each other; interleaved pairs are brought into halves and back."""
    x = node.tensor(0)
    is_flat = len(x.shape) == 3
    heads = _split(node, x, node.attribute("num_heads")) if is_flat else x
    width = node.attribute("rotary_embedding_dim", 0) or heads.shape[3]
    turned, rest = sliced(node, heads, [0], [width], [3]), sliced(node, heads, [width], [heads.shape[3]], [3])
    halves = np.arange(width).reshape(-1, 2).T.reshape(-1)
    if node.attribute("interleaved", 0):
        turned = node.run("GatherV2", turned, int64(halves), int64(3))
    turned = node.run("RotaryMul", turned, *_angles(node))
    if node.attribute("interleaved", 0):
        turned = node.run("GatherV2", turned, int64(np.argsort(halves)), int64(3))
    y = turned if rest.shape[3] == 0 else node.run("ConcatD", [turned, rest], concat_dim=3)
    return _merged(node, y) if is_flat else y


def _angles(node: Node) -> list[Tensor]:
    """Return cosines and sines of every position, for both halves."""
    found = []
    for index in (1, 2):
        cache = node.tensor(index)
        if node.has(3):
            cache = node.run("GatherV2", cache, node.tensor(3), int64(0))
        both = node.run("ConcatD", [cache, cache], concat_dim=-1)
        found.append(node.run("Unsqueeze", both, axes=[1]))
    return found
