"""Operators that change a variable: the output is the variable, and usually its memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from aacl.backends.cpu.kernels._registry import kernel, prepared
from aacl.backends.cpu.kernels._ufunc import with_ufunc

if TYPE_CHECKING:
    from aacl.abc import Kernel, KernelRequest

__all__ = ()


@kernel("Assign")
def _assign(request: KernelRequest) -> Kernel:
    """The value in the variable's place."""
    return prepared(request, lambda _, value, out: np.copyto(out, value), in_place=True)


@kernel("AssignAdd")
def _assign_add(request: KernelRequest) -> Kernel:
    return with_ufunc(request, np.add)


@kernel("AssignSub")
def _assign_sub(request: KernelRequest) -> Kernel:
    return with_ufunc(request, np.subtract)
