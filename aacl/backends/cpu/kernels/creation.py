"""Operators that make their output rather than compute it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from aacl.backends.cpu.kernels._quiet import quiet
from aacl.backends.cpu.kernels._registry import given, integers, kernel, prepared, require_shape

if TYPE_CHECKING:
    from aacl.abc import Array, Kernel, KernelRequest

__all__ = ()


@kernel("Fill")
def _fill(request: KernelRequest) -> Kernel:
    def body(dims: Array, value: Array, out: Array) -> None:
        require_shape("Fill", integers(dims), out)
        out[...] = value.reshape(())

    return prepared(request, body)


@kernel("FillD")
def _fill_attribute(request: KernelRequest) -> Kernel:
    def body(value: Array, out: Array) -> None:
        out[...] = value.reshape(())

    return prepared(request, body)


@kernel("Fills")
def _fill_like(request: KernelRequest) -> Kernel:
    """Integers get the value truncated."""
    dtype = request.outputs[0].dtype.numpy_dtype
    value = np.asarray(request.attributes["value"], np.float64).astype(dtype)
    return prepared(request, lambda _, out: out.fill(value))


@kernel("ZerosLike", "OnesLike")
def _like(request: KernelRequest) -> Kernel:
    value = np.asarray(int(request.op_type == "OnesLike")).astype(request.outputs[0].dtype.numpy_dtype)
    return prepared(request, lambda _, out: out.fill(value))


@kernel("Range")
def _range(request: KernelRequest) -> Kernel:
    """``start + i * delta`` before ``limit``; floats compute in float64 and are rounded once."""
    is_integer = given(request, 0).dtype.numpy_dtype.kind in "iu"

    def body(start: Array, limit: Array, delta: Array, out: Array) -> None:
        first, last, step = (part.reshape(()).item() for part in (start, limit, delta))
        if not step:
            raise ValueError("operator Range: delta is 0")
        count = len(range(first, last, step)) if is_integer else max(int(np.ceil((last - first) / step)), 0)
        require_shape("Range", (count,), out)
        np.copyto(out, first + step * np.arange(count, dtype=np.int64), casting="unsafe")

    return prepared(request, quiet(body, 4), 2 * request.outputs[0].shape[0])


@kernel("Shape")
def _shape(request: KernelRequest) -> Kernel:
    dims = np.asarray(given(request, 0).shape, np.int64)
    return prepared(request, lambda _, out: np.copyto(out, dims, casting="same_kind"))


@kernel("Size")
def _size(request: KernelRequest) -> Kernel:
    count = int(np.prod(given(request, 0).shape, dtype=np.int64))
    return prepared(request, lambda _, out: out.fill(count))


@kernel("Rank")
def _rank(request: KernelRequest) -> Kernel:
    rank = len(given(request, 0).shape)
    return prepared(request, lambda _, out: out.fill(rank))
