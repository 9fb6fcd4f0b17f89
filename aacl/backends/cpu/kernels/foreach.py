"""The Foreach operators: one small kernel on each tensor of a list (torch's ``_foreach_`` functions).

Those named Inplace have no outputs: they update the tensors of their first list one after another.

Add and Sub of lists have a factor, alpha, for the second one. Scalars are a tensor of one element, or one for each
tensor of the list. Integers divide truly, into float32; an integer to a negative power is truncated as Pow's is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from aacl.backends.cpu.kernels._extremes import maximum, minimum
from aacl.backends.cpu.kernels._logistic import sigmoid
from aacl.backends.cpu.kernels._precision import widened
from aacl.backends.cpu.kernels._quiet import quiet
from aacl.backends.cpu.kernels._registry import TRANSCENDENTAL, elements, given, kernel, prepared
from aacl.backends.cpu.kernels._terms import wide
from aacl.backends.cpu.kernels.exponential import integer_power

if TYPE_CHECKING:
    from collections.abc import Callable

    from aacl.abc import Array, Kernel, KernelRequest

__all__ = ()

_UNARY: dict[str, Callable[..., object]] = {
    "Abs": np.absolute,
    "ACos": np.arccos,
    "ASin": np.arcsin,
    "ATan": np.arctan,
    "Cos": np.cos,
    "Cosh": np.cosh,
    "Exp": np.exp,
    "Expm1": np.expm1,
    "Log": np.log,
    "Log10": np.log10,
    "Log1p": np.log1p,
    "Log2": np.log2,
    "Neg": np.negative,
    "Reciprocal": np.reciprocal,
    "Sigmoid": sigmoid,
    "Sin": np.sin,
    "Sinh": np.sinh,
    "Sqrt": np.sqrt,
    "Tan": np.tan,
    "Tanh": np.tanh,
}


def _power(x: Array, y: Array, out: Array) -> None:
    if out.dtype.kind == "i":
        integer_power(x, y, out)
    else:
        np.power(x, y, out)


_BINARY: dict[str, Callable[..., object]] = {
    "Add": np.add,
    "Div": np.divide,
    "Maximum": maximum,
    "Minimum": minimum,
    "Mul": np.multiply,
    "Pow": _power,
    "Sub": np.subtract,
}


def _both(*names: str) -> tuple[str, ...]:
    """Return types with new outputs, and those that update their first list."""
    return (*(f"Foreach{name}" for name in names), *(f"Foreach{name}Inplace" for name in names))


def _name(request: KernelRequest) -> str:
    return request.op_type.removeprefix("Foreach").removesuffix("Inplace")


@kernel(*_both(*_UNARY))
def _unary(request: KernelRequest) -> Kernel:
    return _each(request, _UNARY[_name(request)], 1, False)


@kernel("ForeachZeroInplace")
def _zero(request: KernelRequest) -> Kernel:
    return _each(request, lambda _, out: out.fill(0), 1, False)


@kernel(*_both(*(f"{name}List" for name in _BINARY)))
def _lists(request: KernelRequest) -> Kernel:
    name = _name(request).removesuffix("List")
    function = _BINARY[name]
    if name not in ("Add", "Sub"):
        return _each(request, function, 2, False)

    def scaled(x1: Array, x2: Array, alpha: Array, out: Array) -> None:
        function(x1, np.multiply(x2, alpha), out)

    return _each(request, scaled, 2, True)


@kernel(*_both(*(f"{name}{kind}" for name in _BINARY for kind in ("Scalar", "ScalarList"))))
def _scalars(request: KernelRequest) -> Kernel:
    return _each(request, _BINARY[_name(request).removesuffix("List").removesuffix("Scalar")], 1, True)


@kernel("ForeachScalarPowTensor")
def _scalar_power(request: KernelRequest) -> Kernel:
    """``scalar ** x``; the scalar comes first among the inputs."""
    return _each(request, lambda x, scalar, out: _power(scalar, x, out), 1, True, scalar_first=True)


@kernel(*_both(*(f"{name}{kind}" for name in ("Addcdiv", "Addcmul") for kind in ("List", "Scalar"))))
def _combined(request: KernelRequest) -> Kernel:
    """``x1 + scalar * x2 * x3``, or ``/ x3``."""
    combine = np.divide if "Addcdiv" in request.op_type else np.multiply

    def body(x1: Array, x2: Array, x3: Array, scalar: Array, out: Array) -> None:
        np.add(x1, np.multiply(combine(x2, x3), scalar), out)

    return _each(request, body, 3, True)


@kernel(*_both("LerpList", "LerpScalar"))
def _lerp(request: KernelRequest) -> Kernel:
    """``x1 + weight * (x2 - x1)``, from the nearer end as Lerp does."""

    def body(x1: Array, x2: Array, weight: Array, out: Array) -> None:
        step = np.subtract(x2, x1)
        if abs(weight) < 0.5:
            np.add(x1, np.multiply(step, weight), out)
        else:
            np.subtract(x2, np.multiply(step, 1 - weight), out)

    return _each(request, body, 2, True)


@kernel("ForeachNonFiniteCheckAndUnscale")
def _unscale(request: KernelRequest) -> Kernel:
    """``x *= inv_scale`` for every gradient; ``found_inf`` becomes 1 if one of their elements is not finite.

    As torch's ``_amp_foreach_non_finite_check_and_unscale_``: where all are finite, ``found_inf`` stays as it is.
    """

    def body(*arrays: Array) -> None:
        *gradients, found, factor = arrays
        if not all(np.isfinite(each).all() for each in gradients):
            found.fill(1)
        for each in gradients:
            np.copyto(each, wide(each) * factor.reshape(()), casting="same_kind")

    count = len(request.inputs)
    work = 2 * sum(elements(given(request, index)) for index in range(count))
    return prepared(request, quiet(body, count), work, updates=tuple(range(count - 1)))


def _each(
    request: KernelRequest,
    function: Callable[..., object],
    lists: int,
    has_scalar: bool,
    *,
    scalar_first: bool = False,
) -> Kernel:
    """Return the kernel of a function of one tensor of each list, a scalar where there is one, and an output.

    Args:
        request: the request to prepare.
        function: computes in float32 at least; the output may be the first tensor.
        lists: how many lists of tensors there are.
        has_scalar: whether a tensor of scalars is the last input.
        scalar_first: it is the first input instead.
    """
    total = len(request.inputs)
    count = (total - has_scalar) // lists
    written = request.outputs or [given(request, index) for index in range(count)]
    steps = [widened(function, info.dtype, lists + has_scalar) for info in written]

    def body(*arrays: Array) -> None:
        inputs, outputs = arrays[:total], arrays[total:] or arrays[:count]
        scalars = (inputs[0] if scalar_first else inputs[-1]).reshape(-1) if has_scalar else None
        tensors = inputs[1:] if scalar_first else inputs
        for index, (step, out) in enumerate(zip(steps, outputs, strict=True)):
            taken = [tensors[index + number * count] for number in range(lists)]
            if scalars is not None:
                place = index if scalars.size == count else 0
                taken.append(scalars[place : place + 1].astype(taken[0].dtype, copy=False).reshape(()))
            step(*taken, out)

    work = TRANSCENDENTAL * sum(map(elements, written))
    updates = () if request.outputs else tuple(range(count))
    return prepared(request, quiet(body, total + len(request.outputs)), work, updates=updates)
