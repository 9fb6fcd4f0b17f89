"""Kernels of several steps that work element by element.

They run block by block, so that their intermediate arrays stay in the cache.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from aacl.backends.cpu.kernels._precision import widened
from aacl.backends.cpu.kernels._quiet import quiet
from aacl.backends.cpu.kernels._registry import elements, prepared
from aacl.backends.cpu.kernels._split import spread

if TYPE_CHECKING:
    from aacl.abc import Array, Kernel, KernelRequest
    from aacl.backends.cpu.kernels._registry import Body

__all__ = ("BLOCK", "blocked", "stepwise")

BLOCK = 1 << 18
"""Elements of a block: 1 MiB of float32. Smaller ones would stay in a core's own cache, and lose more to the calls."""


def blocked(request: KernelRequest, body: Body) -> Body:
    """Return a body that hands another one a block of every array at a time.

    The other body works element by element. Where tensors are small, or broadcast, it is returned itself.
    """
    shapes = {info.shape for info in (*request.inputs, *request.outputs) if info is not None}
    if len(shapes) != 1 or elements(request.outputs[0]) <= BLOCK:
        return body

    def run(*arrays: Array) -> None:
        if not all(array.flags.c_contiguous for array in arrays):
            body(*arrays)
            return
        flat = [array.reshape(-1) for array in arrays]
        for start in range(0, flat[0].size, BLOCK):
            body(*[array[start : start + BLOCK] for array in flat])

    return run


def stepwise(request: KernelRequest, body: Body, operations: int = 0) -> Kernel:
    """Return the kernel of a body that works element by element, in several steps.

    Half precision computes in float32 and is rounded once; nothing warns.

    Args:
        request: the request to prepare.
        body: works on any dtype; where one of its inputs is its output, it reads no input after it wrote.
        operations: what an element costs beyond one operation.
    """
    count, out = len(request.inputs), request.outputs[0]
    wide = widened(body, out.dtype, count)
    run = spread(request, quiet(blocked(request, wide), count + 1), operations)
    # Of other shapes or dtypes, an element would be written before another one that needs it is read.
    in_place = all(info is not None and (info.shape, info.dtype) == (out.shape, out.dtype) for info in request.inputs)
    return prepared(request, run, operations * elements(out), in_place=in_place)
