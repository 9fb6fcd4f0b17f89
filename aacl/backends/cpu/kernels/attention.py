"""Attention: softmax of scaled products, masked, times the values.

The formulas are those of the documentation of aclnnFlashAttentionScore, aclnnPromptFlashAttention and
aclnnIncreFlashAttention. Everything computes in float32 and is rounded once. A query that may look at no key at
all gets zeros. Quantised, paged and variable-length (TND) attention are refused by name.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from aacl.backends.cpu.kernels._quiet import quiet
from aacl.backends.cpu.kernels._registry import TRANSCENDENTAL, elements, given, kernel, prepared
from aacl.backends.cpu.kernels._terms import wide
from aacl.errors import InvalidArgument, NotSupported

if TYPE_CHECKING:
    from aacl.abc import Array, Kernel, KernelRequest

__all__ = ()


class _Heads(NamedTuple):
    """How queries, keys and values lie in memory."""

    layout: str
    number: int

    def split(self, x: Array, size: int) -> Array:
        """Return ``[batch, heads, sequence, size]``."""
        if self.layout == "BNSD":
            return x
        if self.layout == "BSND":
            return x.swapaxes(1, 2)
        if self.layout == "BSH":
            return x.reshape(*x.shape[:2], x.shape[2] // max(size, 1), size).swapaxes(1, 2)
        return x.reshape(*x.shape[:2], x.shape[2] // max(size, 1), size).transpose(1, 2, 0, 3)

    def joined(self, x: Array) -> Array:
        """Return ``[batch, heads, sequence, size]`` as the layout has it."""
        if self.layout == "BNSD":
            return x
        if self.layout == "SBH":
            return x.transpose(2, 0, 1, 3).reshape(x.shape[2], x.shape[0], x.shape[1] * x.shape[3])
        turned = x.swapaxes(1, 2)
        return turned if self.layout == "BSND" else turned.reshape(*turned.shape[:2], x.shape[1] * x.shape[3])

    def size(self, shape: tuple[int, ...]) -> int:
        """Return the size of a head, from a query's shape."""
        return shape[-1] if self.layout in ("BNSD", "BSND") else shape[-1] // self.number


class _Band(NamedTuple):
    """Which keys a query may look at, apart from masks: those within a band of the matrix of both."""

    mode: int
    before: int
    after: int

    def hidden(self, queries: int, keys: int, has_mask: bool) -> Any:
        """Return what lies outside of the band, None for nothing."""
        apart = np.arange(keys) - np.arange(queries)[:, None]
        if self.mode == 0:
            is_open = not has_mask or (self.before >= queries and self.after >= keys)
            return None if is_open else (apart < -self.before) | (apart > self.after)
        if self.mode == 2:
            return apart > 0
        shift = keys - queries  # modes 3 and 4 count from the lower right corner
        if self.mode == 3:
            return apart > shift
        return (apart < shift - self.before) | (apart > shift + self.after) if self.mode == 4 else None


@kernel("FlashAttentionScore")
def _flash_attention(request: KernelRequest) -> Kernel:
    """``dropout(softmax(mask(scale (pse + q k))) v``; the maximum and the sum of every row, eight times each."""
    attributes = request.attributes
    _refuse(request, {5: "padding_mask", 7: "prefix", 8: "actual_seq_qlen", 9: "actual_seq_kvlen", 10: "q_start_idx",
                      11: "kv_start_idx"})  # fmt: skip
    if attributes["pse_type"] not in (0, 1):
        raise NotSupported(f"operator FlashAttentionScore: pse_type is {attributes['pse_type']}; it is 0 or 1 here")
    heads = _heads(request, "head_num")
    band = _band(request, attributes["pre_tockens"], attributes["next_tockens"])
    keep, scale, is_first = attributes["keep_prob"], attributes["scale_value"], attributes["pse_type"] == 1
    size = heads.size(given(request, 0).shape)

    def body(*arrays: Any) -> None:
        query, key, value, shift, drop, _, mask = (*arrays[:-4], None, None, None, None)[:7]
        largest, sums, unused, out = arrays[-4:]
        unused.fill(0)
        q, k, v = (heads.split(wide(array), size) for array in (query, key, value))
        scores = _scores(q, k, scale, shift, is_first)
        hidden = _hidden(mask if band.mode < 2 else None, band, scores.shape)
        powers, most, total = _softmax(scores, hidden)
        largest[...] = most
        sums[...] = total
        np.divide(powers, np.where(total == 0, 1, total), out=powers)
        if drop is not None:
            if drop.size * 8 < powers.size:
                raise ValueError(f"operator FlashAttentionScore: drop_mask needs {-(-powers.size // 8)} bytes")
            bits = np.unpackbits(drop.reshape(-1), count=powers.size, bitorder="little").reshape(powers.shape)
            powers *= bits / np.float32(keep)
        np.copyto(out, heads.joined(_product(powers, v)), casting="same_kind")

    return _attention(request, body)


@kernel("PromptFlashAttention")
def _prompt_attention(request: KernelRequest) -> Kernel:
    """``softmax(mask(scale q k + pse_shift)) v``; rows beyond a query's actual length are 0."""
    attributes = request.attributes
    _refuse(request, dict(enumerate(("deq_scale1", "quant_scale1", "deq_scale2", "quant_scale2", "quant_offset2"), 7)))
    heads = _heads(request, "num_heads")
    band = _band(request, attributes["pre_tokens"], attributes["next_tokens"])
    size = heads.size(given(request, 0).shape)

    def body(*arrays: Any) -> None:
        query, key, value, shift, mask, lengths, key_lengths = (*arrays[:-1], None, None, None, None)[:7]
        q, k, v = (heads.split(wide(array), size) for array in (query, key, value))
        scores = _scores(q, k, attributes["scale_value"], shift, False)
        hidden = _hidden(mask if band.mode < 2 else None, band, scores.shape)
        hidden = _cut(request, hidden, key_lengths, len(q), scores.shape[3])
        found = _attended(scores, hidden, v)
        if lengths is not None:
            found *= ~_beyond(request, lengths, len(q), scores.shape[2])[:, None, :, None]
        np.copyto(arrays[-1], heads.joined(found), casting="same_kind")

    return _attention(request, body)


@kernel("IncreFlashAttention")
def _step_attention(request: KernelRequest) -> Kernel:
    """One query a sequence against all keys so far: ``softmax(mask(scale q k + pse_shift)) v``."""
    attributes = request.attributes
    if len(request.inputs) != 15:
        raise NotSupported(
            "operator IncreFlashAttention: give one key and one value tensor, and None for what is absent"
        )
    _refuse(request, dict(enumerate(("dequant_scale1", "quant_scale1", "dequant_scale2", "quant_scale2", "quant_offset2",
                                     "antiquant_scale", "antiquant_offset", "block_table", "kv_padding_size"), 6)))  # fmt: skip
    heads = _heads(request, "num_heads")
    size, open_band = heads.size(given(request, 0).shape), _Band(1, 0, 0)

    def body(*arrays: Any) -> None:
        query, key, value, shift, mask, lengths = arrays[:6]
        q, k, v = (heads.split(wide(array), size) for array in (query, key, value))
        scores = _scores(q, k, attributes["scale_value"], shift, False)
        hidden = _hidden(mask, open_band, scores.shape)
        hidden = _cut(request, hidden, lengths, len(q), scores.shape[3])
        np.copyto(arrays[-1], heads.joined(_attended(scores, hidden, v)), casting="same_kind")

    return _attention(request, body)


@kernel("ScaledMaskedSoftmax")
def _scaled_masked_softmax(request: KernelRequest) -> Kernel:
    """``softmax(scale x)`` along the last axis, what is masked counting as -10000."""
    scale, is_triangle = request.attributes["scale"], request.attributes["fixed_triu_mask"]

    def body(x: Array, *others: Any) -> None:
        scores = np.asarray(wide(x) * np.float32(scale))
        hidden = _triangle(scores) if is_triangle else others[0] if len(others) > 1 else None
        if hidden is not None:
            scores = np.where(hidden, np.float32(-10000), scores)
        powers, _, total = _softmax(scores, None)
        np.copyto(others[-1], powers / total, casting="same_kind")

    return _rows(request, body)


@kernel("ScaledMaskedSoftmaxGrad")
def _scaled_masked_softmax_gradient(request: KernelRequest) -> Kernel:
    """``scale y (dy - sum(dy y))``, 0 where masked."""
    scale, is_triangle = request.attributes["scale"], request.attributes["fixed_triu_mask"]

    def body(grad: Array, y: Array, *others: Any) -> None:
        slope, chances = wide(grad), wide(y)
        found = np.float32(scale) * chances * (slope - (slope * chances).sum(-1, keepdims=True))
        hidden = _triangle(chances) if is_triangle else others[0] if len(others) > 1 else None
        np.copyto(others[-1], found if hidden is None else np.where(hidden, 0, found), casting="same_kind")

    return _rows(request, body)


@kernel("MaskedSoftmaxWithRelPosBias")
def _masked_softmax(request: KernelRequest) -> Kernel:
    """``softmax(scale x + mask + bias)``: a mask a window, a bias a head."""
    scale = request.attributes["scale_value"]

    def body(x: Array, mask: Any, bias: Array, out: Array) -> None:
        if not out.size:
            return
        scores = wide(x) * np.float32(scale) + wide(bias).reshape(bias.shape[-3:])
        if mask is not None:
            windows = wide(mask).reshape(-1, 1, *mask.shape[-2:])
            scores = (scores.reshape(-1, len(windows), *scores.shape[-3:]) + windows).reshape(out.shape)
        powers, _, total = _softmax(scores, None)
        np.copyto(out, powers / total, casting="same_kind")

    return _rows(request, body)


def _rows(request: KernelRequest, body: Any) -> Kernel:
    work = (TRANSCENDENTAL + 6) * elements(request.outputs[0])
    return prepared(request, quiet(body, len(request.inputs) + 1), work)


def _triangle(x: Array) -> Array:
    return np.triu(np.ones(x.shape[-2:], bool), 1)


def _refuse(request: KernelRequest, names: dict[int, str]) -> None:
    for place, name in names.items():
        if place < len(request.inputs) and request.inputs[place] is not None:
            raise NotSupported(f"operator {request.op_type}: input {name} is not supported; leave it out")
    if given(request, 0).dtype.numpy_dtype.kind in "iu":
        raise NotSupported(f"operator {request.op_type}: quantised queries are not supported")


def _heads(request: KernelRequest, name: str) -> _Heads:
    return _Heads(request.attributes["input_layout"], request.attributes[name])


def _band(request: KernelRequest, before: int, after: int) -> _Band:
    mode = request.attributes["sparse_mode"]
    if not 0 <= mode <= 4:
        raise NotSupported(f"operator {request.op_type}: sparse_mode is {mode}; this device knows 0 to 4")
    if mode == 4 and before + after < 0:
        raise InvalidArgument(f"operator {request.op_type}: a band from {-before} to {after} is none")
    return _Band(mode, before, after)


def _scores(q: Array, k: Array, scale: float, shift: Any, is_first: bool) -> Array:
    """Return scaled products, ``[batch, heads, queries, keys]``; several query heads may share a key head."""
    groups = q.shape[1] // k.shape[1]
    keys = np.repeat(k, groups, axis=1) if groups != 1 else k
    scores: Array = q @ keys.swapaxes(-1, -2)
    if shift is None:
        scores *= np.float32(scale)
        return scores
    if is_first:
        scores += wide(shift)
    scores *= np.float32(scale)
    return scores if is_first else np.add(scores, wide(shift), out=scores)


def _hidden(mask: Any, band: _Band, shape: tuple[int, ...]) -> Any:
    """Return what is hidden from the queries by the mask (not 0) and by the band, None for nothing."""
    outside = band.hidden(shape[2], shape[3], mask is not None)
    if mask is None:
        return outside
    hidden = mask != 0
    if hidden.ndim == 3:
        hidden = hidden[:, None]
    return hidden if outside is None else hidden | outside


def _beyond(request: KernelRequest, lengths: Array, batch: int, size: int) -> Array:
    """Return ``[batch, size]``: which places lie beyond a sequence's length."""
    flat = lengths.reshape(-1)
    if flat.size not in (1, batch) or (flat < 0).any() or (flat > size).any():
        raise ValueError(f"operator {request.op_type}: actual lengths lie within [0, {size}], one or {batch} of them")
    return np.arange(size) >= np.broadcast_to(flat[:, None], (batch, 1))


def _cut(request: KernelRequest, hidden: Any, lengths: Any, batch: int, size: int) -> Any:
    if lengths is None:
        return hidden
    beyond = _beyond(request, lengths, batch, size)[:, None, None]
    return beyond if hidden is None else hidden | beyond


def _softmax(scores: Array, hidden: Any) -> tuple[Array, Array, Array]:
    """Turn scores into powers; return them, the largest score and the sum of each row, 0 where it sees nothing."""
    if hidden is not None:
        np.copyto(scores, -np.inf, where=hidden)
    most = scores.max(-1, keepdims=True, initial=-np.inf)
    np.subtract(scores, np.where(np.isneginf(most), 0, most), out=scores)
    powers = np.exp(scores, out=scores)
    return powers, most, powers.sum(-1, keepdims=True)


def _attended(scores: Array, hidden: Any, v: Array) -> Array:
    powers, _, total = _softmax(scores, hidden)
    np.divide(powers, np.where(total == 0, 1, total), out=powers)
    return _product(powers, v)


def _product(chances: Array, v: Array) -> Array:
    groups = chances.shape[1] // v.shape[1]
    found: Array = chances @ (np.repeat(v, groups, axis=1) if groups != 1 else v)
    return found


def _attention(request: KernelRequest, body: Any) -> Kernel:
    layout, (query, key) = request.attributes["input_layout"], (given(request, place).shape for place in (0, 1))
    place = {"SBH": 0, "BNSD": 2}.get(layout, 1)
    work = 4 * math.prod(query) * key[place] + TRANSCENDENTAL * query[place] * key[place]
    return prepared(request, quiet(body, len(request.inputs) + len(request.outputs)), work)
