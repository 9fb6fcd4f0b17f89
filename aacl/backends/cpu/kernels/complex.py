"""Complex numbers and their parts (TensorFlow's operators of these names)."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from aacl.backends.cpu.kernels._quiet import quiet
from aacl.backends.cpu.kernels._registry import TRANSCENDENTAL, elements, given, kernel, prepared
from aacl.backends.cpu.kernels._ufunc import with_ufunc

if TYPE_CHECKING:
    from aacl.abc import Array, Kernel, KernelRequest

__all__ = ()


@kernel("Complex")
def _complex(request: KernelRequest) -> Kernel:
    def body(real: Array, imaginary: Array, out: Array) -> None:
        np.copyto(out.real, real, casting="unsafe")
        np.copyto(out.imag, imaginary, casting="unsafe")

    return prepared(request, quiet(body, 3))


@kernel("Real", "Imag")
def _part(request: KernelRequest) -> Kernel:
    is_real = request.op_type == "Real"

    def body(x: Array, out: Array) -> None:
        np.copyto(out, x.real if is_real else x.imag, casting="unsafe")

    return prepared(request, quiet(body, 2))


@kernel("Conj")
def _conjugate(request: KernelRequest) -> Kernel:
    return with_ufunc(request, np.conjugate)


@kernel("ComplexAbs")
def _absolute(request: KernelRequest) -> Kernel:
    def body(x: Array, out: Array) -> None:
        np.copyto(out, np.abs(x), casting="unsafe")

    return prepared(request, quiet(body, 2), 8 * elements(request.outputs[0]))


@kernel("Angle", "AngleV2")
def _angle(request: KernelRequest) -> Kernel:
    """Return the kernel of the argument in radians; of a real number 0 or pi, and NaN of NaN (torch.angle)."""
    is_complex = given(request, 0).dtype.numpy_dtype.kind == "c"

    def body(x: Array, out: Array) -> None:
        if is_complex:
            np.copyto(out, np.arctan2(x.imag, x.real), casting="unsafe")
            return
        out[...] = 0
        np.copyto(out, math.pi, where=np.less(x, 0), casting="unsafe")
        if x.dtype.kind == "f":
            np.copyto(out, np.nan, where=np.isnan(x))

    return prepared(request, quiet(body, 2), 2 * TRANSCENDENTAL * elements(request.outputs[0]))
