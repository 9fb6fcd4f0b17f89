"""Sums of products other than plain matrix products, and distances between rows.

Half precision multiplies and accumulates in float32 and is rounded once.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from aacl.backends.cpu.kernels._places import axis_of
from aacl.backends.cpu.kernels._precision import compute_dtype
from aacl.backends.cpu.kernels._quiet import quiet
from aacl.backends.cpu.kernels._registry import TRANSCENDENTAL, elements, given, kernel, prepared, refuse_dtype
from aacl.dtypes import DataType
from aacl.errors import InvalidArgument, NotSupported

if TYPE_CHECKING:
    from aacl.abc import Array, Kernel, KernelRequest

__all__ = ()

_DEFAULT_DIM = -65530
"""What Cross takes for the first dim of 3 elements."""


@kernel("Einsum")
def _einsum(request: KernelRequest) -> Kernel:
    """Einstein's sum; matrix products among it go to BLAS."""
    equation = request.attributes["equation"]
    wide = compute_dtype(request.outputs[0].dtype)
    shapes = [given(request, index).shape for index in range(len(request.inputs))]
    path, report = np.einsum_path(equation, *[np.broadcast_to(np.zeros((), wide), shape) for shape in shapes])
    work = int(float(next(line for line in report.splitlines() if "Optimized FLOP" in line).split(":")[1]))

    def body(*arrays: Array) -> None:
        operands = [array.astype(wide, copy=False) for array in arrays[:-1]]
        np.copyto(arrays[-1], np.einsum(equation, *operands, optimize=path), casting="same_kind")

    return prepared(request, quiet(body, len(shapes) + 1), work)


@kernel("Ger")
def _outer(request: KernelRequest) -> Kernel:
    """Every element of the first vector times every one of the second."""
    wide = compute_dtype(given(request, 0).dtype)

    def body(x1: Array, x2: Array, out: Array) -> None:
        left, right = x1.astype(wide, copy=False), x2.astype(wide, copy=False)
        np.copyto(out, np.multiply.outer(left, right), casting="same_kind")

    return prepared(request, quiet(body, 3))


@kernel("Cross")
def _cross(request: KernelRequest) -> Kernel:
    """The cross product along a dim of 3 elements, the first one if none is named; the inputs broadcast."""
    shape = request.outputs[0].shape
    dim = request.attributes["dim"]
    axis = shape.index(3) if dim == _DEFAULT_DIM else axis_of(request, dim, len(shape), "dim")
    wide = compute_dtype(given(request, 0).dtype)

    def body(x1: Array, x2: Array, out: Array) -> None:
        left, right = (np.moveaxis(np.broadcast_to(part, shape), axis, 0).astype(wide, copy=False) for part in (x1, x2))
        target = np.moveaxis(out, axis, 0)
        for place in range(3):
            first, second = (place + 1) % 3, (place + 2) % 3
            found = left[first] * right[second] - left[second] * right[first]
            np.copyto(target[place, ...], found, casting="same_kind")

    return prepared(request, quiet(body, 3), 3 * elements(request.outputs[0]))


@kernel("AddMatMatElements")
def _add_products(request: KernelRequest) -> Kernel:
    """``c * beta + alpha * a * b``, element by element."""
    wide = compute_dtype(given(request, 0).dtype)

    def body(c: Array, a: Array, b: Array, beta: Array, alpha: Array, out: Array) -> None:
        start, left, right, old, new = (part.astype(wide, copy=False) for part in (c, a, b, beta, alpha))
        np.copyto(out, start * old.reshape(()) + new.reshape(()) * left * right, casting="same_kind")

    return prepared(request, quiet(body, 6), 4 * elements(request.outputs[0]))


@kernel("FullyConnection", "InnerProduct")
def _fully_connected(request: KernelRequest) -> Kernel:
    """As Caffe's InnerProduct: the dims from ``axis`` on times the weight, ``(num_output, K)``, plus the bias.

    ``transpose`` says that the weight is ``(K, num_output)``. Integers are exact.
    """
    if request.attributes.get("offset_x") or request.attributes.get("offset_a"):
        raise NotSupported(
            f"operator {request.op_type}: offsets of quantised inputs are not supported on the cpu device"
        )
    if len(request.inputs) > 3 and request.inputs[3] is not None:
        raise NotSupported(f"operator {request.op_type}: offset_w is not supported on the cpu device")
    source, result = given(request, 0).dtype, request.outputs[0].dtype
    is_integer = source in (DataType.INT8, DataType.INT4)
    if source != given(request, 1).dtype or result is not (DataType.INT32 if is_integer else source):
        raise refuse_dtype(request, "two equal float dtypes, or two of INT8 giving INT32")
    columns, turned = request.outputs[0].shape[-1], request.attributes["transpose"]
    inner = elements(given(request, 1)) // max(columns, 1)
    # The product of two int8 is at most 2 ** 14: float64 holds sums of fewer than 2 ** 39 of them exactly.
    wide = np.dtype(np.float64) if is_integer else compute_dtype(source)

    def body(x: Array, w: Array, *others: Array | None) -> None:
        out, bias = others[-1], others[0] if len(others) > 1 else None
        assert out is not None
        if not out.size:
            return
        rows = x.reshape(out.size // columns, inner).astype(wide, copy=False)
        weight = w.reshape(inner, columns) if turned else w.reshape(columns, inner).T
        total = np.matmul(rows, weight.astype(wide, copy=False))
        if bias is not None:
            total = total + bias.reshape(-1).astype(wide, copy=False)
        np.copyto(out, total.reshape(out.shape), casting="unsafe")

    work = 2 * inner * elements(request.outputs[0])
    return prepared(request, quiet(body, len(request.inputs) + 1), work)


@kernel("Cdist")
def _distances(request: KernelRequest) -> Kernel:
    """As torch.cdist: the p-norm of the difference of each row of ``x1`` and each of ``x2``."""
    wide = compute_dtype(given(request, 0).dtype)
    p = _order(request)

    def body(x1: Array, x2: Array, out: Array) -> None:
        left, right = x1.astype(wide, copy=False), x2.astype(wide, copy=False)
        for row in range(out.shape[-2]):
            found = _norms(left[..., row, None, :] - right, p)
            np.copyto(out[..., row, :], found, casting="same_kind")

    return prepared(
        request, quiet(body, 3), TRANSCENDENTAL * elements(request.outputs[0]) * given(request, 0).shape[-1]
    )


@kernel("Pdist")
def _pair_distances(request: KernelRequest) -> Kernel:
    """As torch.pdist: the distance of each pair of rows, those of the first row first."""
    wide = compute_dtype(given(request, 0).dtype)
    p = _order(request)

    def body(x: Array, out: Array) -> None:
        rows, start = x.astype(wide, copy=False), 0
        for row in range(len(rows) - 1):
            stop = start + len(rows) - 1 - row
            np.copyto(out[start:stop], _norms(rows[row] - rows[row + 1 :], p), casting="same_kind")
            start = stop

    return prepared(
        request, quiet(body, 2), TRANSCENDENTAL * elements(request.outputs[0]) * given(request, 0).shape[-1]
    )


def _order(request: KernelRequest) -> float:
    p: float = request.attributes["p"]
    if not p >= 0:
        raise InvalidArgument(f"operator {request.op_type}: p is {p}; it must be at least 0")
    return p


def _norms(differences: Array, p: float) -> Array:
    """Return the p-norm along the last axis: for 0 how many differ, for infinity the greatest."""
    sizes = np.abs(differences)
    found: Array
    if p == 0:
        found = np.count_nonzero(sizes, axis=-1).astype(sizes.dtype)
    elif p == 1:
        found = sizes.sum(-1)
    elif p == 2:
        found = np.sqrt(np.square(sizes).sum(-1))
    elif p == math.inf:
        found = sizes.max(-1, initial=0)
    else:
        found = np.power(np.power(sizes, p).sum(-1), 1 / p)
    return found
