"""Losses and their gradients: a term an element, then the mean, the sum or nothing.

Terms are computed block by block, so that intermediate arrays stay in the cache, in float32 for half
precision; the sums of blocks are added in float64.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from aacl.backends.cpu.kernels._precision import HALVES
from aacl.backends.cpu.kernels._quiet import quiet
from aacl.backends.cpu.kernels._registry import elements, given, prepared

if TYPE_CHECKING:
    from aacl.abc import Array, Kernel, KernelRequest

__all__ = ("Term", "divisor", "each", "log_one_plus", "reduced", "spans", "wide")

Term: TypeAlias = "Callable[..., Array]"

_BLOCK = 1 << 14
_HALF = tuple(dtype.numpy_dtype for dtype in HALVES)


def wide(array: Any) -> Any:
    """Return an array for computing: half precision in float32, anything else (None too) itself."""
    return array.astype(np.float32) if array is not None and array.dtype in _HALF else array


def log_one_plus(x: Array) -> Array:
    """Return ``log(1 + x)`` as exactly as numpy.log1p, which is far slower, for finite numbers."""
    whole = 1 + x
    taken = whole - 1  # what of x is left in the sum: the logarithm is corrected for the rest
    found: Array = np.where(taken == 0, x, np.log(whole) * (x / taken))
    return found


def reduced(request: KernelRequest, term: Term, operations: int) -> Kernel:
    """Return the kernel of a loss: ``term`` of all inputs, reduced as the attribute ``reduction`` says.

    Args:
        request: the request to prepare.
        term: makes the terms, of the first input's shape, from inputs already widened.
        operations: what a term costs beyond one operation.
    """
    over = divisor(request, 0)
    if over is None:
        return each(request, term, operations)

    def body(*arrays: Array) -> None:
        total = 0.0
        for parts in _parts(arrays[:-1]):
            total += float(np.add.reduce(term(*map(wide, parts)), None))
        arrays[-1][...] = total / over if over else np.divide(total, 0.0)

    return prepared(request, quiet(body, len(request.inputs) + 1), operations * elements(given(request, 0)))


def each(request: KernelRequest, term: Term, operations: int) -> Kernel:
    """Return the kernel of a loss without reduction, or of a gradient: a term an element."""

    def body(*arrays: Array) -> None:
        for *parts, out in _parts(arrays):
            np.copyto(out, term(*map(wide, parts)), casting="same_kind")

    return prepared(request, quiet(body, len(request.inputs) + 1), operations * elements(request.outputs[0]))


def divisor(request: KernelRequest, index: int) -> int | None:
    """Return what the sum of the terms is divided by: None for no reduction.

    Args:
        request: its attribute ``reduction`` decides.
        index: the input that has an element for each term.
    """
    info, reduction = given(request, index), request.attributes["reduction"]
    if reduction == "none":
        return None
    if reduction == "batchmean":
        return info.shape[0] if info.shape else 1
    return elements(info) if reduction == "mean" else 1


def _parts(arrays: Sequence[Any]) -> Iterator[Sequence[Any]]:
    """Yield blocks as `spans` does, of the largest array's shape: the prediction may not come first."""
    first = max(range(len(arrays)), key=lambda index: -1 if arrays[index] is None else arrays[index].size)
    return spans(arrays) if first == 0 else (_swapped(parts, first) for parts in spans(_swapped(arrays, first)))


def _swapped(arrays: Sequence[Any], index: int) -> list[Any]:
    moved = list(arrays)
    moved[0], moved[index] = moved[index], moved[0]
    return moved


def spans(arrays: Sequence[Any]) -> Iterator[Sequence[Any]]:
    """Yield blocks of arrays of the first one's shape, others of one element whole; anything else at once."""
    first = arrays[0]
    split = [array is not None and array.shape == first.shape for array in arrays]
    is_whole = any(a is not None and not s and a.size != 1 for a, s in zip(arrays, split, strict=True))
    if (
        is_whole
        or first.size <= 2 * _BLOCK
        or not all(a.flags.c_contiguous for a, s in zip(arrays, split, strict=True) if s)
    ):
        yield arrays
        return
    flat = [array.reshape(-1) if part else array for array, part in zip(arrays, split, strict=True)]
    for start in range(0, first.size, _BLOCK):
        yield [array[start : start + _BLOCK] if part else array for array, part in zip(flat, split, strict=True)]
