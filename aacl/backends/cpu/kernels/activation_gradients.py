"""Gradients of activations, from the forward operator's input x, or its result y.

Each is the public gradient of the framework's operator that the header names: torch for HardShrink, HardSwish,
HardSigmoid, Hardtanh, SoftShrink, EluGradV2 and SoftplusV2, TensorFlow for the others. At a bend the side of 0 counts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from aacl.backends.cpu.kernels import _gelu
from aacl.backends.cpu.kernels._blocks import stepwise
from aacl.backends.cpu.kernels._logistic import sigmoid
from aacl.backends.cpu.kernels._precision import FLOATS, REALS
from aacl.backends.cpu.kernels._quiet import quiet
from aacl.backends.cpu.kernels._registry import TRANSCENDENTAL, elements, given, kernel, prepared, refuse_dtype
from aacl.backends.cpu.kernels.activation import SELU_ALPHA, SELU_SCALE
from aacl.dtypes import DataType
from aacl.errors import InvalidArgument

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from aacl.abc import Array, Kernel, KernelRequest

__all__ = ()

Attributes: TypeAlias = "Mapping[str, Any]"


def _inside(attributes: Attributes, x: Array) -> Array:
    line = attributes["alpha"] * x + attributes["beta"]
    return np.asarray((line > 0) & (line < 1))


def _between(attributes: Attributes, y: Array) -> Array:
    return np.asarray((y > attributes["min_val"]) & (y < attributes["max_val"]))


# Operator: where the gradient passes, as a function of its attributes and of x or y; elsewhere it is 0.
_PASSES: dict[str, Callable[[Attributes, Array], Array]] = {
    "ReluGrad": lambda _, x: x > 0,
    "Relu6Grad": lambda _, x: (x > 0) & (x < 6),
    "HardShrinkGrad": lambda a, x: ~(np.abs(x) <= a["lambd"]),
    "SoftShrinkGrad": lambda a, x: ~(np.abs(x) <= a["lambd"]),
    "ThresholdGradV2D": lambda a, x: x > a["threshold"],
    "HardSigmoidGrad": _inside,
    "HardtanhGrad": _between,
}

_GRADIENT_LAST = frozenset({"HardtanhGrad"})
"""The others have the gradient first, then x or y."""


@kernel(*_PASSES)
def _passing(request: KernelRequest) -> Kernel:
    passes, attributes = _PASSES[request.op_type], request.attributes
    scale = attributes["alpha"] if request.op_type == "HardSigmoidGrad" else None
    is_last = request.op_type in _GRADIENT_LAST
    if given(request, 0).dtype not in REALS:
        raise refuse_dtype(request, "real dtypes")

    def body(first: Array, second: Array, out: Array) -> None:
        dy, x = (second, first) if is_last else (first, second)
        result = np.where(passes(attributes, x), dy if scale is None else dy * scale, dy.dtype.type(0))
        np.copyto(out, result, casting="unsafe")

    return stepwise(request, body, 4)


def _leaky(attributes: Attributes, x: Array) -> Array:
    return np.asarray(np.where(x > 0, x.dtype.type(1), x.dtype.type(attributes["negative_slope"])))


def _elu(_: Attributes, y: Array) -> Array:
    return np.where(y < 0, y + 1, 1)


def _elu_scaled(attributes: Attributes, x: Array) -> Array:
    alpha, scale, inner = (attributes[name] for name in ("alpha", "scale", "input_scale"))
    if attributes["is_result"]:
        return np.asarray(np.where(x <= 0, inner * (x + alpha * scale), scale))
    return np.asarray(np.where(x <= 0, inner * alpha * scale * np.exp(np.minimum(x, 0) * inner), scale))


def _selu(_: Attributes, y: Array) -> Array:
    return np.where(y < 0, y + SELU_SCALE * SELU_ALPHA, SELU_SCALE)


def _softplus(attributes: Attributes, x: Array) -> Array:
    beta, threshold = attributes.get("beta", 1.0), attributes.get("threshold")
    scaled = np.multiply(x, beta)
    opened = sigmoid(np.asarray(scaled))
    return opened if threshold is None else np.where(scaled > threshold, 1, opened)


def _softsign(_: Attributes, x: Array) -> Array:
    return np.asarray(1 / np.square(1 + np.abs(x)))


def _swish(attributes: Attributes, x: Array) -> Array:
    scale = attributes.get("scale", 1.0)
    return _gated(x, scale)


def _fast_gelu(_: Attributes, x: Array) -> Array:
    return _gated(x, 1.702)


def _gated(x: Array, scale: float) -> Array:
    """Return the derivative of ``x * sigmoid(scale * x)``, which is 0 and 1 at the infinities."""
    opened = sigmoid(np.asarray(np.multiply(x, scale)))
    bent = scale * x * (1 - opened)
    # Far below 0 the product 0 * -inf would be NaN.
    return np.asarray(opened + np.where(opened == 0, 0, opened * np.where(opened == 1, 0, bent)))


def _mish(_: Attributes, x: Array) -> Array:
    bent = np.tanh(np.logaddexp(0, x))
    near = sigmoid(x) * (1 - np.square(bent))
    return np.asarray(bent + np.where(near == 0, 0, x) * near)


def _hard_swish(_: Attributes, x: Array) -> Array:
    return np.where(x <= -3, 0, np.where(x >= 3, 1, (2 * x + 3) / 6))


def _log_sigmoid(_: Attributes, x: Array) -> Array:
    return sigmoid(np.asarray(np.negative(x)))


# Operator: what the gradient, the first input, is multiplied by, as a function of the second input.
_SLOPES: dict[str, Callable[[Attributes, Array], Array]] = {
    "LeakyReluGrad": _leaky,
    "EluGrad": _elu,
    "EluGradV2": _elu_scaled,
    "SeluGrad": _selu,
    "SoftplusGrad": _softplus,
    "SoftplusV2Grad": _softplus,
    "SoftsignGrad": _softsign,
    "SiluGrad": _swish,
    "SwishGrad": _swish,
    "FastGeluGrad": _fast_gelu,
    "MishGrad": _mish,
    "HardSwishGrad": _hard_swish,
    "LogSigmoidGrad": _log_sigmoid,
    "GeluGrad": lambda _, x: _gelu.slope(x, False),
    "GeluGradV2": lambda a, x: _gelu.slope(x, a["approximate"] == "tanh"),
}


@kernel(*_SLOPES)
def _sloping(request: KernelRequest) -> Kernel:
    """Return the kernel of the gradient times a slope; further inputs repeat what the second one tells."""
    slope, attributes = _SLOPES[request.op_type], request.attributes
    if attributes.get("approximate", "none") not in ("none", "tanh"):
        form = attributes["approximate"]
        raise InvalidArgument(f"operator {request.op_type}: approximate is {form!r}; it is 'none' or 'tanh'")
    dtype = given(request, 0).dtype
    if dtype not in REALS:
        raise refuse_dtype(request, "real dtypes")
    is_float = dtype in FLOATS

    def body(dy: Array, x: Array, *rest: Array) -> None:
        if is_float:
            np.multiply(dy, slope(attributes, x), rest[-1], casting="same_kind")
        else:
            np.copyto(rest[-1], dy * slope(attributes, x.astype(np.float64)), casting="unsafe")

    return stepwise(request, body, 3 * TRANSCENDENTAL)


@kernel("ReluGradV2")
def _relu_mask(request: KernelRequest) -> Kernel:
    """Return the kernel that passes the gradient where the mask of ReluV2 has a 1."""
    size = given(request, 0).shape[-1]
    if given(request, 1).dtype is not DataType.UINT8:
        raise refuse_dtype(request, "a UINT8 mask")

    def body(dy: Array, mask: Array, out: Array) -> None:
        bits = np.unpackbits(mask, axis=-1, count=size, bitorder="little")
        np.copyto(out, np.where(bits, dy, np.zeros((), dy.dtype)))

    return prepared(request, quiet(body, 3), 2 * elements(request.outputs[0]))
