"""Dropout, and the masks for it.

A mask of bits has the bit of an element in the order of memory, the lowest bit of a byte first; 16 bytes for
every 128 elements begun, bits beyond the last element being 0.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from aacl.backends.cpu.kernels._generator import generator, keyed
from aacl.backends.cpu.kernels._quiet import quiet
from aacl.backends.cpu.kernels._registry import elements, given, integers, kernel, prepared, require_shape
from aacl.backends.cpu.kernels._terms import spans, wide
from aacl.errors import InvalidArgument, NotSupported

if TYPE_CHECKING:
    from aacl.abc import Array, Kernel, KernelRequest

__all__ = ()


@kernel("DropOutGenMask")
def _bits(request: KernelRequest) -> Kernel:
    """A bit is 1, to keep the element, with chance ``prob``."""
    seeds = request.attributes["seed"], request.attributes["seed2"]

    def body(shape: Array, chance: Array, out: Array) -> None:
        _store_bits(request, generator(*seeds), int(np.prod(integers(shape), dtype=np.int64)), chance, out)

    return prepared(request, quiet(body, 3), 16 * elements(request.outputs[0]))


@kernel("StatelessDropOutGenMask")
def _stateless_bits(request: KernelRequest) -> Kernel:
    """As DropOutGenMask, with seeds and an offset that are inputs."""

    def body(shape: Array, chance: Array, seed: Array, second: Array, *others: Array) -> None:
        offset = others[0] if len(others) > 1 else None
        start = 0 if offset is None else sum(word << 64 * place for place, word in enumerate(integers(offset)[:4]))
        random = keyed(integers(seed)[0], integers(second)[0], max(start, 0))
        _store_bits(request, random, int(np.prod(integers(shape), dtype=np.int64)), chance, others[-1])

    return prepared(request, quiet(body, len(request.inputs) + 1), 16 * elements(request.outputs[0]))


def _store_bits(request: KernelRequest, random: np.random.Generator, size: int, chance: Array, out: Array) -> None:
    require_shape(request.op_type, (-(-size // 128) * 16,), out)
    kept = np.packbits(random.random(size, np.float32) < _chance(request, chance), bitorder="little")
    out[: kept.size] = kept
    out[kept.size :] = 0


@kernel("DropOutGenMaskV3", "DropOutGenMaskV4")
def _mask(request: KernelRequest) -> Kernel:
    """A byte or a bool is 1, to keep the element, with chance ``prob``."""
    seeds = request.attributes["seed"], request.attributes["seed2"]

    def body(shape: Array, chance: Array, out: Array) -> None:
        require_shape(request.op_type, integers(shape), out)
        kept = generator(*seeds).random(out.shape, np.float32) < _chance(request, chance)
        np.copyto(out, kept, casting="unsafe")

    return prepared(request, quiet(body, 3), 3 * elements(request.outputs[0]))


def _chance(request: KernelRequest, value: Array) -> float:
    chance = float(value.reshape(()))
    if not 0 <= chance <= 1:
        raise ValueError(f"operator {request.op_type}: the chance to keep an element is {chance}, not within [0, 1]")
    return chance


@kernel("DropOutDoMask")
def _apply_bits(request: KernelRequest) -> Kernel:
    """``x / keep_prob`` where the bit is 1, else 0."""
    size = elements(given(request, 0))
    least = -(-size // 8)
    if elements(given(request, 1)) < least:
        raise InvalidArgument(f"operator DropOutDoMask: {size} elements need a mask of {least} bytes at least")

    def body(x: Array, mask: Array, keep: Array, out: Array) -> None:
        kept = np.unpackbits(mask.reshape(-1), count=size, bitorder="little").view(bool).reshape(x.shape)
        _keep(x, kept, _share(request, keep), out)

    return prepared(request, quiet(body, 4), 3 * size)


@kernel("DropOutDoMaskV3")
def _apply_bytes(request: KernelRequest) -> Kernel:
    """``x / keep_prob`` where the mask is not 0, else 0."""

    def body(x: Array, mask: Array, keep: Array, out: Array) -> None:
        _keep(x, mask, _share(request, keep), out)

    return prepared(request, quiet(body, 4), 2 * elements(request.outputs[0]))


@kernel("DropOutDoMaskV3D")
def _apply_bytes_by_attribute(request: KernelRequest) -> Kernel:
    """As DropOutDoMaskV3, with ``keep_prob`` an attribute."""
    share = request.attributes["keep_prob"]
    if not 0 <= share <= 1:
        raise InvalidArgument(f"operator DropOutDoMaskV3D: keep_prob is {share}; it lies within [0, 1]")

    def body(x: Array, mask: Array, out: Array) -> None:
        _keep(x, mask, share, out)

    return prepared(request, quiet(body, 3), 2 * elements(request.outputs[0]))


def _share(request: KernelRequest, keep: Array) -> float:
    share = float(keep.reshape(()))
    if not 0 <= share <= 1:
        raise ValueError(f"operator {request.op_type}: keep_prob is {share}, not within [0, 1]")
    return share


def _keep(x: Array, mask: Array, share: float, out: Array) -> None:
    for values, kept, found in spans((x, mask, out)):
        np.copyto(found, np.where(kept, wide(values) / np.float64(share).astype(np.float32), 0), casting="same_kind")


@kernel("Dropout")
def _inference(request: KernelRequest) -> Kernel:
    """Caffe's layer at inference: a copy, or with ``scale_train`` false ``x`` times the share that is kept."""
    attributes = request.attributes
    if (attributes["alpha"], attributes["beta"]) != (1, 0):
        raise NotSupported("operator Dropout: alpha and beta other than 1 and 0 are not supported")
    share = 1 if attributes["scale_train"] else np.float32(1 - attributes["dropout_ratio"])
    return prepared(request, lambda x, out: np.multiply(x, share, out), in_place=True)


@kernel("DropoutV2")
def _dropout(request: KernelRequest) -> Kernel:
    """``x / (1 - p)`` where the mask is 1, with chance ``1 - p``; the seeds go on by 1, so that the next mask differs."""
    chance = request.attributes["p"]
    if not 0 <= chance < 1:
        raise InvalidArgument(f"operator DropoutV2: p is {chance}; it lies in [0, 1)")

    def body(x: Array, seed: Array, out: Array, mask: Array, following: Array) -> None:
        words: Any = np.ascontiguousarray(seed, np.float32).reshape(-1).view(np.uint32).tolist()
        random = keyed(*[*words, 0, 0][:2])
        np.copyto(mask, random.random(mask.shape, np.float32) >= chance, casting="unsafe")
        np.copyto(out, wide(x) * mask / np.float32(1 - chance), casting="same_kind")
        np.copyto(following, seed + np.float32(1))

    return prepared(request, quiet(body, 5), 5 * elements(request.outputs[0]))
