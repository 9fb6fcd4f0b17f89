"""Gradients of arithmetic, and of sums.

Most take what the forward operator gave, y, and the gradient behind it, dy. AbsGrad, AcosGrad, AsinGrad and
AtanGrad take its input instead, under the same name (TensorFlow's formulas); AcoshGrad and AsinhGrad its result (MindSpore's).
Complex gradients use the conjugate, as TensorFlow's do. Where x1 and x2 are equal, MaximumGrad and MinimumGrad give
the gradient to x1; without grad_x or grad_y that output is 0.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from aacl.backends.cpu.kernels._blocks import stepwise
from aacl.backends.cpu.kernels._precision import INTEGERS, widened
from aacl.backends.cpu.kernels._quiet import quiet
from aacl.backends.cpu.kernels._registry import TRANSCENDENTAL, elements, given, kernel, prepared, refuse_dtype
from aacl.backends.cpu.kernels._sums import summed
from aacl.backends.cpu.kernels.thresholds import along_channels
from aacl.errors import InvalidArgument

if TYPE_CHECKING:
    from collections.abc import Callable

    from aacl.abc import Array, Kernel, KernelRequest

__all__ = ()

Factor: TypeAlias = "Callable[[Array], Array]"

# Operator: what the gradient is multiplied by, as a function of the first input.
_FACTORS: dict[str, Factor] = {
    "AbsGrad": np.sign,
    "AcosGrad": lambda x: -1 / np.sqrt(1 - np.square(x)),
    "AsinGrad": lambda x: 1 / np.sqrt(1 - np.square(x)),
    "AtanGrad": lambda x: 1 / (1 + np.square(x)),
    "AcoshGrad": lambda y: 1 / np.sinh(y),
    "AsinhGrad": lambda y: 1 / np.cosh(y),
    "ReciprocalGrad": lambda y: -np.square(y),
    "InvGrad": lambda y: -np.square(y),
    "RsqrtGrad": lambda y: -0.5 * np.square(y) * y,
    "SqrtGrad": lambda y: 0.5 / y,
    "SigmoidGrad": lambda y: y * (1 - y),
    "TanhGrad": lambda y: 1 - np.square(y),
}


@kernel(*_FACTORS)
def _of_result(request: KernelRequest) -> Kernel:
    """Return the kernel of ``dy * factor(y)``; integers other than InvGrad's compute in float64, truncated."""
    factor, dtype = _FACTORS[request.op_type], given(request, 0).dtype
    if dtype in INTEGERS and request.op_type not in ("InvGrad", "RsqrtGrad"):
        raise refuse_dtype(request, "float and complex dtypes")
    is_wide = dtype in INTEGERS and request.op_type == "RsqrtGrad"
    conjugates = request.attributes.get("complex_conj", dtype.numpy_dtype.kind == "c")

    def body(y: Array, dy: Array, out: Array) -> None:
        if is_wide:
            np.copyto(out, dy * factor(y.astype(np.float64)), casting="unsafe")
            return
        value = factor(y)
        np.multiply(dy, np.conj(value) if conjugates else value, out)

    return stepwise(request, body, TRANSCENDENTAL)


@kernel("MaximumGrad", "MinimumGrad")
def _extreme(request: KernelRequest) -> Kernel:
    compare = np.greater_equal if request.op_type == "MaximumGrad" else np.less_equal
    wants = request.attributes["grad_x"], request.attributes["grad_y"]

    def body(dy: Array, x1: Array, x2: Array, first: Array, second: Array) -> None:
        is_first = compare(x1, x2)
        for out, mask, is_wanted in ((first, is_first, wants[0]), (second, ~is_first, wants[1])):
            out[...] = 0
            if is_wanted:
                np.copyto(out, dy, where=mask)

    return prepared(request, quiet(body, 5), 4 * elements(request.outputs[0]))


@kernel("BiasAddGrad")
def _bias(request: KernelRequest) -> Kernel:
    """Return the kernel of the sum over everything but the channels."""
    info = given(request, 0)
    axis = 1 if request.attributes["data_format"].startswith("NC") else len(info.shape) - 1
    axes = tuple(other for other in range(len(info.shape)) if other != axis)

    def body(x: Array, out: Array) -> None:
        np.copyto(out, summed(x, axes), casting="same_kind")

    return prepared(request, quiet(widened(body, info.dtype, 1), 2), elements(info))


@kernel("SoftmaxGrad")
def _softmax(request: KernelRequest) -> Kernel:
    """``(dy - sum(dy * y)) * y``, summed over ``axes`` jointly."""
    axes = _axes(request, "axes")
    if given(request, 0).dtype in INTEGERS:
        raise refuse_dtype(request, "FLOAT16, BF16 and FLOAT")

    def body(y: Array, dy: Array, out: Array) -> None:
        weighted = np.multiply(y, dy)
        total = summed(weighted, axes, keepdims=True)
        np.multiply(np.subtract(dy, total), y, out)

    return _whole(request, body)


@kernel("LogSoftmaxGrad")
def _log_softmax(request: KernelRequest) -> Kernel:
    """``dy - exp(y) * sum(dy)``, summed over ``axis`` jointly."""
    axes = _axes(request, "axis")

    def body(dy: Array, y: Array, out: Array) -> None:
        total = summed(dy, axes, keepdims=True)
        np.subtract(dy, np.multiply(np.exp(y), total), out)

    return _whole(request, body)


def _whole(request: KernelRequest, body: Callable[..., None]) -> Kernel:
    """Return the kernel of a body that sums rows, so that it cannot run block by block."""
    out = request.outputs[0]
    return prepared(request, quiet(widened(body, out.dtype, 2), 3), TRANSCENDENTAL * elements(out), in_place=True)


@kernel("PReluGrad")
def _prelu(request: KernelRequest) -> Kernel:
    """``x > 0 ? dy : weight * dy``, and the sum of ``x > 0 ? 0 : x * dy`` over all that shares a weight."""
    aligned, shape = along_channels(request, 1, 2), given(request, 1).shape
    full = (1,) * (len(shape) - len(aligned)) + aligned
    axes = tuple(axis for axis, size in enumerate(full) if size == 1)

    def body(dy: Array, x: Array, weights: Array, dx: Array, da: Array) -> None:
        above = np.greater(x, 0)
        np.copyto(dx, np.where(above, dy, np.multiply(dy, weights.reshape(aligned))))
        np.copyto(da, summed(np.where(above, 0, np.multiply(x, dy)), axes).reshape(da.shape))

    run = quiet(widened(body, request.outputs[0].dtype, 3), 5)
    return prepared(request, run, 5 * elements(request.outputs[0]))


def _axes(request: KernelRequest, name: str) -> tuple[int, ...]:
    rank, axes = len(given(request, 0).shape), request.attributes[name]
    if not axes or any(not -rank <= axis < rank for axis in axes):
        raise InvalidArgument(f"operator {request.op_type}: {name} {tuple(axes)} are no axes of {rank} dims")
    return tuple(sorted({axis % rank for axis in axes}))
