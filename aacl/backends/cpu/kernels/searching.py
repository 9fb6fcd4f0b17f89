"""Where values belong in sorted sequences."""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from aacl.backends.cpu.kernels._places import check_indices
from aacl.backends.cpu.kernels._precision import HALVES
from aacl.backends.cpu.kernels._registry import elements, given, kernel, prepared
from aacl.errors import InvalidArgument

if TYPE_CHECKING:
    from collections.abc import Sequence

    from aacl.abc import Array, Kernel, KernelRequest

__all__ = ()

_Side = Literal["left", "right"]


@kernel("Bucketize")
def _bucketize(request: KernelRequest) -> Kernel:
    """The number of boundaries not above each element with ``right``, else of those below it."""
    info, boundaries = given(request, 0), request.attributes["boundaries"]
    if any(later < earlier for earlier, later in itertools.pairwise(boundaries)):
        raise InvalidArgument(f"operator Bucketize: boundaries {boundaries} must not fall")
    side: _Side = "right" if request.attributes["right"] else "left"
    dtype = info.dtype.numpy_dtype
    below, edges = _whole(boundaries, side, dtype) if dtype.kind in "iu" else (0, np.array(boundaries, dtype))

    def body(x: Array, out: Array) -> None:
        np.copyto(out, np.searchsorted(edges, x, side), casting="same_kind")
        if below:
            np.add(out, below, out)

    return prepared(request, body, math.ceil(math.log2(len(boundaries) + 2)) * elements(info))


def _whole(boundaries: Sequence[float], side: _Side, dtype: np.dtype[Any]) -> tuple[int, Array]:
    """Return integers that part a dtype's integers as the boundaries do, and how many lie below all of them."""
    limits = np.iinfo(dtype)
    turn = math.ceil if side == "right" else math.floor
    edges = [turn(edge) for edge in boundaries if limits.min <= edge <= limits.max]
    return sum(edge < limits.min for edge in boundaries), np.array(edges, dtype)


@kernel("SearchSorted")
def _search(request: KernelRequest) -> Kernel:
    """As torch.searchsorted: one sequence for all values, or one for each row of them."""
    side: _Side = "right" if request.attributes["right"] else "left"
    sequence = given(request, 0)
    is_half = sequence.dtype in HALVES

    def body(ordered: Array, values: Array, *others: Array | None) -> None:
        out, sorter = others[-1], others[0] if len(others) > 1 else None
        assert out is not None
        if sorter is not None:
            check_indices(sorter, ordered.shape[-1], ordered.ndim - 1)
            ordered = np.take_along_axis(ordered, sorter, -1)
        if is_half:
            ordered, values = ordered.astype(np.float32), values.astype(np.float32)
        _insert(ordered, values, side, out)

    return prepared(request, body, _work(request))


@kernel("LowerBound", "UpperBound")
def _bound(request: KernelRequest) -> Kernel:
    """As TensorFlow's: for each row of values the first place not below, or above, each of them."""
    side: _Side = "left" if request.op_type == "LowerBound" else "right"
    is_half = given(request, 0).dtype in HALVES

    def body(ordered: Array, values: Array, out: Array) -> None:
        if is_half:
            ordered, values = ordered.astype(np.float32), values.astype(np.float32)
        _insert(ordered, values, side, out)

    return prepared(request, body, _work(request))


def _work(request: KernelRequest) -> int:
    length = given(request, 0).shape[-1]
    return math.ceil(math.log2(length + 2)) * elements(given(request, 1))


def _insert(ordered: Array, values: Array, side: _Side, out: Array) -> None:
    if not values.size:
        return
    if ordered.ndim == 1:
        np.copyto(out, np.searchsorted(ordered, values, side), casting="same_kind")
        return
    count = math.prod(values.shape[:-1])
    rows, wanted, places = (part.reshape(count, part.shape[-1]) for part in (ordered, values, out))
    for row, values_of, place in zip(rows, wanted, places, strict=True):
        np.copyto(place, np.searchsorted(row, values_of, side), casting="same_kind")
