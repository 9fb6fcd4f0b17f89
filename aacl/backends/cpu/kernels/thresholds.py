"""Activations that compare with a threshold.

Sources: the prototype headers' comments, and the public documentation of torch, ONNX and TensorFlow where
they name those. Where both are silent: Relu6D cuts off at ``6 * scale``; ReluV2's mask holds
``x > 0``, eight elements to a byte along the last axis, the first one in the lowest bit.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from aacl.backends.cpu.kernels._blocks import stepwise
from aacl.backends.cpu.kernels._channels import channel_axis
from aacl.backends.cpu.kernels._precision import FLOATS, widened
from aacl.backends.cpu.kernels._quiet import quiet
from aacl.backends.cpu.kernels._registry import elements, given, kernel, prepared, refuse_dtype
from aacl.dtypes import DataType
from aacl.errors import InvalidArgument

if TYPE_CHECKING:
    from aacl.abc import Array, Kernel, KernelRequest

__all__ = ("along_channels", "packed_bits")


@kernel("Threshold")
def _threshold(request: KernelRequest) -> Kernel:
    """1 where ``x > threshold``, else 0."""
    threshold = float(request.attributes["threshold"])

    def body(x: Array, out: Array) -> None:
        np.copyto(out, np.greater(x, threshold), casting="unsafe")

    return stepwise(request, body, 1)


@kernel("ThresholdV2D")
def _threshold_value(request: KernelRequest) -> Kernel:
    """``x > threshold ? x : value``; for integers the attributes are truncated, as torch converts them."""
    numpy_dtype = given(request, 0).dtype.numpy_dtype
    kind = int if numpy_dtype.kind in "iu" else float
    threshold, value = (kind(request.attributes[name]) for name in ("threshold", "value"))

    def body(x: Array, out: Array) -> None:
        np.copyto(out, np.where(np.greater(x, threshold), x, np.asarray(value).astype(x.dtype)))

    return stepwise(request, body, 2)


@kernel("ThresholdV2")
def _threshold_tensor(request: KernelRequest) -> Kernel:
    """``x > threshold ? x : value`` of two one-element tensors; without a value 0."""

    def body(x: Array, threshold: Array, *rest: Array) -> None:
        value = rest[0].reshape(()) if len(rest) > 1 and rest[0] is not None else x.dtype.type(0)
        np.copyto(rest[-1], np.where(np.greater(x, threshold.reshape(())), x, value))

    return stepwise(request, body, 2)


@kernel("ThresholdedRelu")
def _thresholded_relu(request: KernelRequest) -> Kernel:
    """ONNX: ``x > alpha ? x : 0``."""
    alpha = float(request.attributes["alpha"])

    def body(x: Array, out: Array) -> None:
        np.copyto(out, np.where(np.greater(x, alpha), x, x.dtype.type(0)))

    return stepwise(request, body, 2)


@kernel("HardShrink")
def _hard_shrink(request: KernelRequest) -> Kernel:
    """0 where ``|x| <= lambd``, else x; NaN stays."""
    limit = _limit(request)

    def body(x: Array, out: Array) -> None:
        np.copyto(out, np.where(np.less_equal(np.abs(x), limit), x.dtype.type(0), x))

    return stepwise(request, body, 3)


@kernel("SoftShrink")
def _soft_shrink(request: KernelRequest) -> Kernel:
    """Move x toward 0 by lambd, and not past it."""
    return _shrinking(request, _limit(request), _limit(request))


@kernel("Shrink")
def _shrink(request: KernelRequest) -> Kernel:
    """ONNX: ``x + bias`` below -lambd, ``x - bias`` above lambd, else 0."""
    return _shrinking(request, float(request.attributes["lambd"]), float(request.attributes["bias"]))


def _shrinking(request: KernelRequest, limit: float, bias: float) -> Kernel:
    def body(x: Array, out: Array) -> None:
        moved = np.where(np.greater(x, limit), x - bias, np.where(np.less(x, -limit), x + bias, x.dtype.type(0)))
        np.copyto(out, np.where(np.isnan(x), x, moved))

    return stepwise(request, body, 8)


def _limit(request: KernelRequest) -> float:
    limit = float(request.attributes["lambd"])
    if not limit >= 0:
        raise InvalidArgument(f"operator {request.op_type}: lambd is {limit}; it is 0 or more")
    return limit


@kernel("Relu6D")
def _relu6_scaled(request: KernelRequest) -> Kernel:
    """``min(max(x, 0), 6 * scale)``; integers stay exact where the limit is whole."""
    limit = 6 * float(request.attributes["scale"])
    numpy_dtype = given(request, 0).dtype.numpy_dtype
    if math.isnan(limit):
        raise InvalidArgument("operator Relu6D: scale is no number")
    is_whole = numpy_dtype.kind in "iu" and limit.is_integer()

    def body(x: Array, out: Array) -> None:
        below = np.minimum(x, numpy_dtype.type(limit) if is_whole else limit)
        np.copyto(out, np.maximum(below, 0), casting="unsafe")

    return stepwise(request, body, 1)


@kernel("ReluV2")
def _relu_mask(request: KernelRequest) -> Kernel:
    """``max(x, 0)``, and where x is positive."""
    zero = np.zeros((), given(request, 0).dtype.numpy_dtype)
    if request.outputs[1].dtype is not DataType.UINT8:
        raise refuse_dtype(request, "a UINT8 mask")

    def body(x: Array, out: Array, mask: Array) -> None:
        np.copyto(mask, packed_bits(np.greater(x, zero)))
        np.maximum(x, zero, out=out)

    return prepared(request, quiet(body, 3), 2 * elements(request.outputs[0]))


def packed_bits(flags: Array) -> Array:
    """Return bools packed eight to a byte along the last axis, the first one in the lowest bit."""
    return np.packbits(flags, axis=-1, bitorder="little")


@kernel("PRelu")
def _prelu(request: KernelRequest) -> Kernel:
    """``x > 0 ? x : weight * x``."""
    aligned = along_channels(request, 0, 1)

    def body(x: Array, weight: Array, out: Array) -> None:
        np.copyto(out, np.where(np.greater(x, 0), x, np.multiply(x, weight.reshape(aligned))))

    # Not block by block: a weight of x's own shape would no longer fit its reshaping.
    return prepared(request, quiet(widened(body, request.outputs[0].dtype, 2), 3), 2 * elements(request.outputs[0]))


def along_channels(request: KernelRequest, x: int, weight: int) -> tuple[int, ...]:
    """Return the shape in which a weight broadcasts to x: one value a channel lies along the channels' axis."""
    info, shape = given(request, x), given(request, weight).shape
    rank = len(info.shape)
    if len(shape) != 1 or shape == (1,):
        return shape if len(shape) != 1 else ()
    return shape + (1,) * (rank - 1 - channel_axis(info))


@kernel("HardMax")
def _hard_max(request: KernelRequest) -> Kernel:
    """1 at the first maximum along ``axis``, else 0."""
    shape = given(request, 0).shape
    if not shape:
        raise InvalidArgument("operator HardMax: x is a scalar; it has one dim at least")
    axis = request.attributes["axis"]
    if not -len(shape) <= axis < len(shape):
        raise InvalidArgument(f"operator HardMax: axis {axis} lies outside [{-len(shape)}, {len(shape)}) of {shape}")

    def body(x: Array, out: Array) -> None:
        first = np.argmax(x, axis, keepdims=True) if x.size else None
        out[...] = 0
        if first is not None:
            np.put_along_axis(out, first, 1, axis)

    if given(request, 0).dtype not in FLOATS:
        raise refuse_dtype(request, "FLOAT16 and FLOAT")
    return prepared(request, body, elements(request.outputs[0]))
