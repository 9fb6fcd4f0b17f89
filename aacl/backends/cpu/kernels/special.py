"""Special functions: TensorFlow's operators of these names.

All compute in float64, also for float32 and half precision, whose results are within a unit in the last place. In
float64 they are within a few units, but for a few: Lgamma and Digamma near their zeros, Expint near 0.37 (the error
is absolute, 1e-15), Igamma, Igammac and Betainc of large parameters (1e-10 relative at worst).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from aacl.backends.cpu.kernels import _faddeeva, _gamma, _incomplete, _integrals, _quantiles
from aacl.backends.cpu.kernels._blocks import stepwise
from aacl.backends.cpu.kernels._precision import FLOATS
from aacl.backends.cpu.kernels._registry import TRANSCENDENTAL, given, kernel, refuse_dtype

if TYPE_CHECKING:
    from collections.abc import Callable

    from aacl.abc import Array, Kernel, KernelRequest

__all__ = ()

# Operator: its function of float64 arrays, and its cost in exponentials an element.
_FUNCTIONS: dict[str, tuple[Callable[..., Array], int]] = {
    "BesselI0e": (_integrals.bessel_i0e, 20),
    "BesselI1e": (_integrals.bessel_i1e, 20),
    "Betainc": (_incomplete.betainc, 100),
    "Dawsn": (_integrals.dawson, 40),
    "Digamma": (_gamma.digamma, 20),
    "Erfc": (_faddeeva.erfc, 40),
    "Erfinv": (_quantiles.erfinv, 300),
    "Expint": (_integrals.expint, 60),
    "FresnelCos": (lambda x: _integrals.fresnel(x)[1], 50),
    "FresnelSin": (lambda x: _integrals.fresnel(x)[0], 50),
    "Igamma": (_incomplete.igamma, 100),
    "Igammac": (_incomplete.igammac, 100),
    "Lgamma": (_gamma.lgamma, 20),
    "Ndtri": (_quantiles.ndtri, 300),
    "Spence": (_integrals.spence, 10),
    "Zeta": (_gamma.zeta, 50),
}


@kernel(*_FUNCTIONS)
def _special(request: KernelRequest) -> Kernel:
    function, cost = _FUNCTIONS[request.op_type]
    if given(request, 0).dtype not in FLOATS:
        raise refuse_dtype(request, "FLOAT16, BF16, FLOAT and DOUBLE")

    def body(*arrays: Array) -> None:
        *inputs, out = arrays
        np.copyto(out, function(*[x.astype(np.float64, copy=False) for x in inputs]), casting="same_kind")

    return stepwise(request, body, cost * TRANSCENDENTAL)
