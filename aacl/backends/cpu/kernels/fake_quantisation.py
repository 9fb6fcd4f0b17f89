"""Operators that quantise and dequantise at once, as TensorFlow's of the same names do.

The limits are nudged so that 0 is one of the steps; see tf.quantization.fake_quant_with_min_max_args.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from aacl.backends.cpu.kernels._quiet import quiet
from aacl.backends.cpu.kernels._registry import elements, given, kernel, prepared
from aacl.backends.cpu.kernels._terms import wide
from aacl.errors import InvalidArgument

if TYPE_CHECKING:
    from aacl.abc import Array, Kernel, KernelRequest

__all__ = ()


@kernel("FakeQuantWithMinMaxArgs")
def _fake_quant(request: KernelRequest) -> Kernel:
    """Limits from attributes."""
    least, most, step = (value[()] for value in _limits(request, *_attributes(request)))

    def body(x: Array, out: Array) -> None:
        np.copyto(out, _snapped(x, least, most, step))

    return prepared(request, quiet(body, 2), 6 * elements(request.outputs[0]))


@kernel("FakeQuantWithMinMaxArgsGradient")
def _fake_quant_gradient(request: KernelRequest) -> Kernel:
    """The gradient where ``x`` lies between the limits, else 0."""
    least, most, _ = _limits(request, *_attributes(request))

    def body(grad: Array, x: Array, out: Array) -> None:
        np.copyto(out, np.where((x >= least) & (x <= most), grad, 0))

    return prepared(request, quiet(body, 3), 4 * elements(request.outputs[0]))


@kernel("FakeQuantWithMinMaxVars", "FakeQuantWithMinMaxVarsPerChannel")
def _fake_quant_vars(request: KernelRequest) -> Kernel:
    """Limits from inputs, for all or by the last axis; limits that are both 0 give 0."""
    _levels(request)

    def body(x: Array, low: Array, high: Array, out: Array) -> None:
        least, most, step = _limits(request, low, high)
        idle = (low == 0) & (high == 0)
        np.copyto(out, np.where(idle, 0, _snapped(x, least, most, step)))

    return prepared(request, quiet(body, 4), 8 * elements(request.outputs[0]))


@kernel("FakeQuantWithMinMaxVarsGradient", "FakeQuantWithMinMaxVarsPerChannelGradient")
def _fake_quant_vars_gradient(request: KernelRequest) -> Kernel:
    """The gradient between the limits; what lies below counts for ``min``, what lies above for ``max``."""
    _levels(request)
    is_by_channel = "PerChannel" in request.op_type
    axes = tuple(range(len(given(request, 0).shape) - is_by_channel))

    def body(grad: Array, x: Array, low: Array, high: Array, out: Array, below: Array, above: Array) -> None:
        least, most, _ = _limits(request, low, high)
        idle = (low == 0) & (high == 0)
        is_low, is_high = (x < least) & ~idle, (x > most) & ~idle
        np.copyto(out, np.where(is_low | is_high, 0, grad))
        below[...] = np.where(is_low, grad, 0).sum(axes).reshape(below.shape)
        above[...] = np.where(is_high, grad, 0).sum(axes).reshape(above.shape)

    return prepared(request, quiet(body, 7), 10 * elements(request.outputs[0]))


@kernel("FakeQuantAffineCachemask")
def _fake_quant_affine(request: KernelRequest) -> Kernel:
    """As torch's fake_quantize_per_channel_affine, and a mask of what lay within the limits."""
    rank, axis = len(given(request, 0).shape), request.attributes["axis"]
    behind = (-1,) + (1,) * (rank - 1 - axis % rank)
    least, most = request.attributes["quant_min"], request.attributes["quant_max"]
    if least > most:
        raise InvalidArgument(f"operator {request.op_type}: quant_min {least} lies above quant_max {most}")

    def body(x: Array, scale: Array, zero: Array, out: Array, mask: Array) -> None:
        factor, origin = wide(scale).reshape(behind), wide(zero).astype(np.float32).reshape(behind)
        steps = np.rint(wide(x) * (1 / factor)) + origin
        np.copyto(mask, (steps >= least) & (steps <= most))
        np.copyto(out, (np.clip(steps, least, most) - origin) * factor, casting="same_kind")

    return prepared(request, quiet(body, 5), 8 * elements(request.outputs[0]))


def _attributes(request: KernelRequest) -> tuple[Array, Array]:
    low, high = request.attributes["min"], request.attributes["max"]
    if not low < high:
        raise InvalidArgument(f"operator {request.op_type}: min {low} must lie below max {high}")
    return np.asarray(low, np.float32), np.asarray(high, np.float32)


def _levels(request: KernelRequest) -> tuple[int, int]:
    bits = request.attributes["num_bits"]
    if not 2 <= bits <= 16:
        raise InvalidArgument(f"operator {request.op_type}: num_bits is {bits}; it lies between 2 and 16")
    return int(request.attributes["narrow_range"]), 2**bits - 1


def _limits(request: KernelRequest, low: Array, high: Array) -> tuple[Any, Any, Any]:
    """Return the nudged limits, and the step between two levels."""
    least, most = _levels(request)
    step = (high - low) / np.float32(most - least)
    zero = np.floor(np.clip(least - low / step, least, most) + np.float32(0.5))
    return (least - zero) * step, (most - zero) * step, step


def _snapped(x: Array, least: Any, most: Any, step: Any) -> Array:
    found: Array = np.floor((np.minimum(np.maximum(x, least), most) - least) / step + np.float32(0.5))
    snapped: Array = found * step + least
    return snapped
