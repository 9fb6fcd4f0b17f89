"""Kernels of bodies that see every array whole: sums over rows, windows, statistics."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aacl.backends.cpu.kernels._precision import widened
from aacl.backends.cpu.kernels._quiet import quiet
from aacl.backends.cpu.kernels._registry import elements, given, prepared

if TYPE_CHECKING:
    from aacl.abc import Kernel, KernelRequest
    from aacl.backends.cpu.kernels._registry import Body

__all__ = ("whole",)


def whole(request: KernelRequest, body: Body, operations: int) -> Kernel:
    """Return the kernel of a body that cannot run block by block.

    Half precision, as the first input has it, computes in float32 and is rounded once; nothing warns.

    Args:
        request: the request to prepare.
        body: works on any float arrays.
        operations: what an element of the first input costs.
    """
    info, count = given(request, 0), len(request.inputs)
    run = quiet(widened(body, info.dtype, count), count + len(request.outputs))
    return prepared(request, run, operations * elements(info))
