"""Large work cut into parts for the device's cores.

The parts follow from the request alone, never from who has time to run them, so that a result is the
same every time. What is small stays whole: to hand a part to another thread costs tens of microseconds.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from aacl.abc import Array, KernelRequest
    from aacl.backends.cpu.kernels._registry import Body

__all__ = ("ranges", "spread", "spread_rows")

_LARGE = 1_500_000
"""Estimated nanoseconds on one core from which work is cut: to wake a thread that sleeps takes 0.1 ms."""
_PART = 500_000
"""Estimated nanoseconds of a part. Threads whose parts are short keep each other from Python's lock."""


def ranges(length: int, nbytes: int, operations: int = 0) -> list[slice]:
    """Return the parts of an axis, of about equal size; one part where the work is small.

    Args:
        length: of the axis.
        nbytes: what all of it moves.
        operations: what all of it computes beyond one operation an element.
    """
    cost = _cost(nbytes, operations)
    count = cost // _PART if cost >= _LARGE else 1
    count = min(length, max(count, 1))
    step = -(-length // count) if count else 0
    return [slice(start, min(start + step, length)) for start in range(0, length, step)] if step else [slice(0, 0)]


def spread(request: KernelRequest, body: Body, operations: int = 0) -> Body:
    """Return a body that runs an element-by-element one on parts of its arrays.

    Arrays of one shape are cut as if they had one dim; where inputs are broadcast, along the first axis.

    Args:
        request: the request to prepare.
        body: works element by element, with NumPy's broadcasting.
        operations: what an element costs beyond one operation.
    """
    tensors = [info for info in (*request.inputs, *request.outputs) if info is not None]
    out = request.outputs[0]
    nbytes = sum(_count(info.shape) * info.dtype.itemsize for info in tensors)
    if {info.shape for info in tensors} == {out.shape}:
        parts = ranges(_count(out.shape), nbytes, operations * _count(out.shape))
        return body if len(parts) < 2 else _flat(request, body, parts)
    parts = ranges(out.shape[0] if out.shape else 1, nbytes, operations * _count(out.shape))
    return body if len(parts) < 2 else _rows(request, body, parts)


def spread_rows(request: KernelRequest, body: Callable[..., object], parts: list[slice]) -> Body:
    """Return a body that hands another one parts of every array's first axis."""
    if len(parts) < 2:
        return body
    parallel = request.parallel

    def run(*arrays: Array) -> None:
        parallel(lambda number: body(*[array[parts[number]] for array in arrays]), len(parts))

    return run


def _flat(request: KernelRequest, body: Body, parts: list[slice]) -> Body:
    parallel = request.parallel

    def run(*arrays: Array | None) -> None:
        if all(array is None or array.flags.c_contiguous for array in arrays):
            flat = [None if array is None else array.reshape(-1) for array in arrays]
            parallel(lambda number: body(*[_part(array, parts[number]) for array in flat]), len(parts))
        else:
            body(*arrays)

    return run


def _part(array: Array | None, part: slice) -> Array | None:
    return None if array is None else array[part]


def _rows(request: KernelRequest, body: Body, parts: list[slice]) -> Body:
    parallel, shape = request.parallel, request.outputs[0].shape

    def cut(array: Array | None, part: slice) -> Array | None:
        is_cut = array is not None and array.ndim == len(shape) and len(array) == shape[0]
        return _part(array, part) if is_cut else array

    def run(*arrays: Array | None) -> None:
        parallel(lambda number: body(*[cut(array, parts[number]) for array in arrays]), len(parts))

    return run


def _cost(nbytes: int, operations: int) -> int:
    """Return a lower estimate of nanoseconds on one core; the cost model's is an upper one."""
    return nbytes // 40 + operations // 10


def _count(shape: tuple[int, ...]) -> int:
    count = 1
    for size in shape:
        count *= size
    return count
