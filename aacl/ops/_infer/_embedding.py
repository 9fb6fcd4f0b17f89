"""Outputs of embedding bags and of the gradient of an embedding."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aacl.ops._infer._agreement import require_equal_dtypes
from aacl.ops._infer._dims import FREE, Shape, fixed
from aacl.ops._infer._rules import Call, Output, rule

if TYPE_CHECKING:
    from collections.abc import Sequence

    from aacl.ops._infer._dims import Dim

__all__ = ()


@rule("EmbeddingDenseGrad")
def embedding_gradient(call: Call) -> Sequence[Output]:
    """``[num_weights, size]``; the gradient has a row of that size for each index."""
    shape, indices, count = call.shape(0), call.shape(1), call.attributes["num_weights"]
    if count < 0:
        raise call.error(f"num_weights is {count}; it must not be negative")
    if shape is not None and indices is not None:
        lead = shape[:-1] if shape else ()
        if len(lead) != len(indices) or any(not a.meets(b) for a, b in zip(lead, indices, strict=True)):
            raise call.mismatch(0, 1, "do not fit: there is a row for each index")
    size = FREE if not shape else shape[-1]
    return [Output(call.desc(0).dtype, (*fixed(count), size))]


@rule("EmbeddingBag")
def embedding_bag(call: Call) -> Sequence[Output]:
    """``[bags, size]``, the bag of each index, the size of each bag, and for ``max`` the chosen indices."""
    mode = call.attributes["mode"]
    if mode not in ("sum", "mean", "max"):
        raise call.error(f"mode is {mode!r}; it is one of sum, mean, max")
    if call.has(3):
        require_equal_dtypes(call, (0, 3))
        if mode != "sum":
            raise call.error(f"per_sample_weights go with mode sum, not {mode}")
    weight, indices = call.shape(0), call.shape(1)
    if weight is not None and len(weight) != 2:
        raise call.error(f"{call.titled(0)} must have two dims")
    bags, size = _bags(call, indices), FREE if weight is None else weight[1]
    count = None if indices is None else (indices[0] if len(indices) == 1 else indices[0].times(indices[1]),)
    dtype = call.desc(1).dtype
    chosen: Shape = (bags, size) if mode == "max" else fixed(0)
    return [
        Output(call.desc(0).dtype, (bags, size)),
        Output(dtype, count),
        Output(dtype, (bags,)),
        Output(dtype, chosen),
    ]


def _bags(call: Call, indices: Shape) -> Dim:
    if indices is None:
        return FREE
    if len(indices) == 2:
        if call.has(2):
            raise call.error(f"{call.titled(1)} has one bag a row; leave offsets out")
        return indices[0]
    if len(indices) != 1 or not call.has(2):
        raise call.error(f"{call.titled(1)} must have two dims, a bag a row, or one with offsets beside")
    offsets = call.shape(2)
    if offsets is None:
        return FREE
    return offsets[0].shifted(-1) if call.attributes["include_last_offset"] else offsets[0]
