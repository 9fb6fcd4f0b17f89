"""Activations of recurrent cells, by ONNX's names."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from aacl.backends.cpu.kernels._exponentials import softplus
from aacl.backends.cpu.kernels._logistic import sigmoid
from aacl.errors import InvalidArgument

if TYPE_CHECKING:
    from aacl.abc import Array

__all__ = ("Gate", "gates")

Gate: TypeAlias = "Callable[[Array], Array]"


# Each with the defaults of alpha and beta; None where it takes none.
_GATES: dict[str, tuple[Callable[..., Array], float | None, float | None]] = {
    "affine": (lambda x, a, b: a * x + b, 1.0, 0.0),
    "elu": (lambda x, a: np.where(x >= 0, x, a * np.expm1(x)), 1.0, None),
    "hardsigmoid": (lambda x, a, b: np.clip(a * x + b, 0, 1), 0.2, 0.5),
    "leakyrelu": (lambda x, a: np.where(x >= 0, x, a * x), 0.01, None),
    "relu": (lambda x: np.maximum(x, 0), None, None),
    "scaledtanh": (lambda x, a, b: a * np.tanh(b * x), 1.0, 1.0),
    "sigmoid": (sigmoid, None, None),
    "softplus": (softplus, None, None),
    "softsign": (lambda x: x / (1 + np.abs(x)), None, None),
    "tanh": (np.tanh, None, None),
    "thresholdedrelu": (lambda x, a: np.where(x > a, x, 0), 1.0, None),
}


def gates(op_type: str, names: Sequence[str], alphas: Sequence[float], betas: Sequence[float]) -> list[Gate]:
    """Return activations; those that take an alpha or a beta take the next one of the list, or their default.

    Raises:
        InvalidArgument: a name is unknown.
    """
    first, second, found = iter(alphas), iter(betas), list[Gate]()
    for name in names:
        if name.lower() not in _GATES:
            raise InvalidArgument(
                f"operator {op_type}: activation {name!r} is unknown; it is one of {', '.join(_GATES)}"
            )
        function, alpha, beta = _GATES[name.lower()]
        taken = [] if alpha is None else [next(first, alpha)]
        taken += [] if beta is None else [next(second, beta)]
        found.append(_bound(function, taken))
    return found


def _bound(function: Callable[..., Array], parameters: list[float]) -> Gate:
    return (lambda x: function(x, *parameters)) if parameters else function
