"""Outputs of attention and of masked softmax."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aacl.dtypes import DataType
from aacl.errors import NotSupported
from aacl.ops._infer._agreement import equal_shapes, require_equal_dtypes, require_spread, spreads
from aacl.ops._infer._dims import Dim, Shape, fixed
from aacl.ops._infer._rules import Call, Output, rule

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ()

_RANKS = {"BSH": 3, "SBH": 3, "BNSD": 4, "BSND": 4}


@rule("FlashAttentionScore")
def flash_attention(call: Call) -> Sequence[Output]:
    """Eight copies of each row's maximum and sum, ``[batch, heads, queries, 8]``, an empty tensor, the attention."""
    found = _attention(call, "head_num")
    _check_parts(call, "head_num", (3, 6))
    query, count = call.shape(0), call.attributes["head_num"]
    rows: Shape = None
    if query is not None:
        layout = call.attributes["input_layout"]
        batch, steps = query[layout.index("B")], query[layout.index("S")]
        rows = (batch, *fixed(count), steps, *fixed(8))
    statistics = Output(DataType.FLOAT, rows)
    return [statistics, statistics, Output(found.dtype, fixed(0)), found]


@rule("PromptFlashAttention", "IncreFlashAttention")
def attention(call: Call) -> Sequence[Output]:
    """As the query."""
    found = _attention(call, "num_heads")
    if call.names[2].startswith("value"):  # else there are several keys, which no device of ours takes
        _check_parts(call, "num_heads", (3, 4))
    return [found]


@rule("ScaledMaskedSoftmax")
def scaled_masked_softmax(call: Call) -> Sequence[Output]:
    """As ``x``; the mask broadcasts to it."""
    return [_masked(call, 1, 0)]


@rule("ScaledMaskedSoftmaxGrad")
def scaled_masked_softmax_gradient(call: Call) -> Sequence[Output]:
    """As ``y``; the mask broadcasts to it."""
    require_equal_dtypes(call, (0, 1))
    equal_shapes(call, (0, 1))
    return [_masked(call, 2, 1)]


@rule("MaskedSoftmaxWithRelPosBias")
def masked_softmax(call: Call) -> Sequence[Output]:
    """As ``x``, whose last three dims the bias has, and whose last two the mask of each window has."""
    shape, bias = call.shape(0), call.shape(2)
    require_equal_dtypes(call, [index for index in range(3) if call.has(index)])
    if shape is not None and bias is not None:
        if len(shape) not in (4, 5) or len(bias) < 3:
            raise call.mismatch(0, 2, "do not fit: x has 4 or 5 dims, and the bias its last three")
        if any(not a.meets(b) for a, b in zip(shape[-3:], bias[-3:], strict=True)):
            raise call.mismatch(0, 2, "do not fit: the bias has the last three dims of x")
    mask = call.shape(1) if call.has(1) else None
    if mask is not None and len(mask) < 2:
        raise call.error(f"{call.titled(1)} needs two dims at least, the last two of x")
    if shape is not None and mask is not None:
        windows = next((dim for dim in mask[:-2] if dim != Dim(1, 1)), Dim(1, 1))
        lead = shape[0] if len(shape) == 4 else shape[1]
        fits = (
            windows.meets(lead)
            if len(shape) == 5
            else not (windows.is_fixed and lead.is_fixed) or (windows.least and lead.least % windows.least == 0)
        )
        if not fits or any(not a.meets(b) for a, b in zip(shape[-2:], mask[-2:], strict=True)):
            raise call.mismatch(0, 1, "do not fit: there is one mask a window")
    return [call.like(0, shape)]


def _masked(call: Call, mask: int, whole: int) -> Output:
    if call.attributes["fixed_triu_mask"]:
        shape = call.shape(whole)
        if shape is not None and (len(shape) < 2 or not shape[-1].meets(shape[-2])):
            raise call.error(f"{call.titled(whole)} must end in two equal dims for a triangular mask")
    elif call.has(mask):
        require_spread(call, mask, whole)
    return call.like(whole, call.shape(whole))


def _attention(call: Call, name: str) -> Output:
    layout, count = call.attributes["input_layout"], call.attributes[name]
    if layout not in _RANKS:
        raise NotSupported(
            f"operator {call.schema.op_type}: input_layout is {layout!r}; this device knows {', '.join(_RANKS)}"
        )
    if count < 1:
        raise call.error(f"{name} is {count}; it must be positive")
    require_equal_dtypes(call, (0, 1, 2))
    for index in range(3):
        shape = call.shape(index)
        if shape is not None and len(shape) != _RANKS[layout]:
            raise call.error(f"{call.titled(index)} must have {_RANKS[layout]} dims: {layout}")
    _check_heads(call, layout, count, name)
    equal_shapes(call, (1, 2))
    return call.like(0, call.shape(0), len(call.schema.outputs) - 1)


def _check_parts(call: Call, name: str, indexes: Sequence[int]) -> None:
    """Refuse shifts and masks that do not broadcast to ``[batch, heads, queries, keys]``."""
    layout, query, key = call.attributes["input_layout"], call.shape(0), call.shape(1)
    if query is None or key is None:
        return
    place = layout.index("S")
    scores = (query[layout.index("B")], *fixed(call.attributes[name]), query[place], key[place])
    for index in indexes:
        is_packed = call.attributes.get("sparse_mode", 0) > 1 and index != indexes[0]  # a mask that is not looked at
        found = call.shape(index) if call.has(index) and not is_packed else None
        if found is not None and len(found) == 3 and index != indexes[0]:
            found = (found[0], *fixed(1), *found[1:])
        if not spreads(found, scores):
            raise call.error(f"{call.titled(index)} does not broadcast to {scores}: batch, heads, queries, keys")


def _check_heads(call: Call, layout: str, count: int, name: str) -> None:
    query, key = call.shape(0), call.shape(1)
    if query is None or key is None:
        return
    if not query[layout.index("B")].meets(key[layout.index("B")]):
        raise call.mismatch(0, 1, "must have one batch")
    if "N" in layout:
        place = layout.index("N")
        if not query[place].meets(Dim(count, count)):
            raise call.error(f"{call.titled(0)} must have {count} heads, as {name} says")
        size, other, keys = query[-1], key[-1], key[place]
    else:
        whole = query[-1]
        if not (whole.is_fixed and key[-1].is_fixed):
            return
        if whole.least % count:
            raise call.error(f"{call.titled(0)} does not divide into {count} heads")
        size = other = Dim(whole.least // count, whole.least // count)
        if not size.least or key[-1].least % size.least:
            raise call.mismatch(0, 1, f"do not fit: heads have {size} elements")
        keys = Dim(key[-1].least // size.least, key[-1].least // size.least)
    is_shared = not keys.is_fixed or (keys.least and count % keys.least == 0)
    if not size.meets(other) or not is_shared:
        raise call.mismatch(0, 1, f"do not fit: {count} query heads share {keys} key heads of the same size")
