"""Histograms and counts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from aacl.backends.cpu.kernels._quiet import quiet
from aacl.backends.cpu.kernels._registry import elements, given, kernel, prepared, require_shape
from aacl.errors import InvalidArgument

if TYPE_CHECKING:
    from aacl.abc import Array, Kernel, KernelRequest

__all__ = ()


@kernel("Histogram")
def _histogram(request: KernelRequest) -> Kernel:
    """As torch.histc: equal bins from ``min`` to ``max``, or over the data's own range where both are equal."""
    low, high = request.attributes["min"], request.attributes["max"]
    if low > high:
        raise InvalidArgument(f"operator Histogram: min {low} is above max {high}")

    def body(x: Array, out: Array) -> None:
        np.copyto(out, _counts(x.reshape(-1), low, high, len(out)), casting="unsafe")

    return prepared(request, quiet(body, 2), 6 * elements(given(request, 0)))


@kernel("HistogramV2")
def _histogram_of_range(request: KernelRequest) -> Kernel:
    """As Histogram, the range an input."""

    def body(x: Array, low: Array, high: Array, out: Array) -> None:
        first, last = float(low.reshape(())), float(high.reshape(()))
        if first > last:
            raise ValueError(f"operator HistogramV2: min {first} is above max {last}")
        np.copyto(out, _counts(x.reshape(-1), first, last, len(out)), casting="unsafe")

    return prepared(request, quiet(body, 4), 6 * elements(given(request, 0)))


def _counts(x: Array, low: float, high: float, bins: int) -> Array:
    wide = x.astype(np.float64)
    if low == high and wide.size:
        low, high = float(wide.min()), float(wide.max())
        if not np.isfinite([low, high]).all():
            raise ValueError(f"a histogram over the data's own range needs finite data; it runs from {low} to {high}")
    if low == high:
        low, high = low - 1, high + 1
    inside = wide[(wide >= low) & (wide <= high)]
    places = ((inside - low) / (high - low) * bins).astype(np.int64)
    return np.bincount(np.minimum(places, bins - 1), minlength=bins)


@kernel("HistogramFixedWidth")
def _fixed_width(request: KernelRequest) -> Kernel:
    def body(x: Array, ends: Array, count: Array, out: Array) -> None:
        require_shape("HistogramFixedWidth", (int(count.reshape(())),), out)
        _clamped_counts(x, ends, out)

    return prepared(request, quiet(body, 4), 6 * elements(given(request, 0)))


@kernel("HistogramFixedWidthD")
def _fixed_width_attribute(request: KernelRequest) -> Kernel:
    return prepared(request, quiet(_clamped_counts, 3), 6 * elements(given(request, 0)))


def _clamped_counts(x: Array, ends: Array, out: Array) -> None:
    """Count as TensorFlow's histogram_fixed_width: values beyond the ends belong to the first and last bin."""
    low, high = ends.astype(np.float64).reshape(2).tolist()
    if not low < high:
        raise ValueError(f"a histogram needs a range that rises; it is [{low}, {high}]")
    places = np.floor((x.reshape(-1).astype(np.float64) - low) / (high - low) * len(out))
    places = np.clip(np.nan_to_num(places, nan=0), 0, len(out) - 1).astype(np.int64)
    out[...] = np.bincount(places, minlength=len(out))


@kernel("Bincount")
def _bincount(request: KernelRequest) -> Kernel:
    """As TensorFlow's: numbers from ``size`` on are left out, negative ones refused; no weights count as ones."""

    def body(array: Array, size: Array, weights: Array, out: Array) -> None:
        require_shape("Bincount", (int(size.reshape(())),), out)
        _count_row("Bincount", array.reshape(-1), weights, out, False)

    return prepared(request, body, 4 * elements(given(request, 0)))


@kernel("DenseBincount")
def _dense_bincount(request: KernelRequest) -> Kernel:
    """As Bincount, of a vector or of each row; ``binary_output`` says only what occurs."""
    is_binary = request.attributes["binary_output"]

    def body(numbers: Array, size: Array, weights: Array, out: Array) -> None:
        count = int(size.reshape(()))
        require_shape("DenseBincount", (*numbers.shape[:-1], count), out)
        for place in np.ndindex(numbers.shape[:-1]):
            part = weights[place] if weights.size else weights
            _count_row("DenseBincount", numbers[place], part, out[place], is_binary)

    return prepared(request, body, 4 * elements(given(request, 0)))


def _count_row(op_type: str, numbers: Array, weights: Array, out: Array, is_binary: bool) -> None:
    if numbers.size and numbers.min() < 0:
        raise ValueError(f"operator {op_type}: the number {numbers.min()} is negative")
    if weights.size and weights.size != numbers.size and not is_binary:
        raise ValueError(f"operator {op_type}: {weights.size} weights for {numbers.size} numbers")
    inside = numbers < len(out)
    kept = numbers[inside]
    out.fill(0)
    if is_binary:
        out[kept] = 1
    elif weights.size:
        np.add.at(out, kept, weights.reshape(-1)[inside])
    else:
        out += np.bincount(kept, minlength=len(out)).astype(out.dtype)
