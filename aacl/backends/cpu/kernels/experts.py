"""Mixtures of experts: choosing them, sending rows to them, bringing rows back.

As the documentation of aclnnMoeGatingTopKSoftmax, aclnnMoeInitRouting, aclnnMoeComputeExpertTokens and
aclnnMoeFinalizeRouting says.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from aacl.backends.cpu.kernels._quiet import quiet
from aacl.backends.cpu.kernels._registry import elements, given, kernel, prepared
from aacl.backends.cpu.kernels._terms import wide
from aacl.errors import InvalidArgument

if TYPE_CHECKING:
    from aacl.abc import Array, Kernel, KernelRequest

__all__ = ()


@kernel("MoeComputeExpertTokens")
def _expert_tokens(request: KernelRequest) -> Kernel:
    """How many of the sorted experts are at most each one: where the rows of the next begin."""
    experts = np.arange(request.attributes["num_experts"])

    def body(found: Array, out: Array) -> None:
        np.copyto(out, np.searchsorted(found, experts, side="right"), casting="same_kind")

    return prepared(request, body, 20 * elements(request.outputs[0]))


@kernel("MoeGatingTopKSoftmax")
def _gating(request: KernelRequest) -> Kernel:
    """The ``k`` largest of each row's softmax, their experts, and ``row + place * rows``.

    A row that is finished gets the expert that does not exist, as the documentation of
    aclnnMoeGatingTopKSoftmax says.
    """
    k, inputs = request.attributes["k"], len(request.inputs)

    def body(*arrays: Any) -> None:
        x, finished = wide(arrays[0]), arrays[1] if inputs > 1 else None
        y, experts, rows = arrays[inputs:]
        powers = np.exp(x - x.max(-1, keepdims=True, initial=-np.inf))
        chances = powers / powers.sum(-1, keepdims=True)
        best = np.argsort(-chances, axis=-1, kind="stable")[..., :k]
        np.copyto(y, np.take_along_axis(chances, best, -1), casting="same_kind")
        if finished is not None:
            best = np.where(finished[..., None], x.shape[-1], best)
        np.copyto(experts, best, casting="same_kind")
        count = rows.size // k if k else 0
        rows[...] = (np.arange(count)[:, None] + np.arange(k) * count).reshape(rows.shape)

    return prepared(request, quiet(body, inputs + 3), 30 * elements(given(request, 0)))


@kernel("MoeInitRouting")
def _routing(request: KernelRequest) -> Kernel:
    """Rows sorted by expert: ``expanded_x[i] = x[row[i] % rows]``, and the place of each row in that order."""

    def body(x: Array, rows: Array, experts: Array, expanded: Array, places: Array, ordered: Array) -> None:
        flat, numbers = experts.reshape(-1), rows.reshape(-1)
        if numbers.size and not (np.sort(numbers) == np.arange(numbers.size)).all():
            raise ValueError(f"operator MoeInitRouting: row_idx must hold each number below {numbers.size} once")
        order = np.argsort(flat, kind="stable")
        np.copyto(ordered, flat[order])
        places[numbers[order]] = np.arange(numbers.size)
        taken = numbers[order][: len(expanded)]
        np.copyto(expanded, x[taken % max(len(x), 1)])

    return prepared(request, body, 40 * elements(given(request, 2)))


@kernel("MoeFinalizeRouting")
def _unrouting(request: KernelRequest) -> Kernel:
    """``x1 + x2 + sum(scales (expanded_x[place] + bias[expert]))`` over the experts of each row."""

    def body(
        expanded: Array, x1: Array, x2: Any, bias: Array, scales: Array, places: Array, experts: Array, out: Array
    ) -> None:
        rows, count = experts.shape
        if places.size and not (places.min() >= 0 and places.max() < len(expanded)):
            raise IndexError(f"operator MoeFinalizeRouting: a place lies outside [0, {len(expanded)})")
        if experts.size and not (experts.min() >= 0 and experts.max() < len(bias)):
            raise IndexError(f"operator MoeFinalizeRouting: an expert lies outside [0, {len(bias)})")
        found = wide(x1) + (0 if x2 is None else wide(x2))
        values, shifts, factors = wide(expanded), wide(bias), wide(scales)
        for place in range(count):
            chosen = places[place * rows : (place + 1) * rows]
            found = found + factors[:, place, None] * (values[chosen] + shifts[experts[:, place]])
        np.copyto(out, found, casting="same_kind")

    if elements(given(request, 5)) != elements(given(request, 6)):
        raise InvalidArgument("operator MoeFinalizeRouting: expanded_row_idx has a place for each expert of each row")
    return prepared(request, quiet(body, 8), 6 * elements(given(request, 0)))
