"""Outputs of grey-scale dilation and of its gradients."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aacl.ops._infer._agreement import require_equal_dtypes
from aacl.ops._infer._dims import FREE, Dim, shown
from aacl.ops._infer._filters import dims_in, dims_of, each_window
from aacl.ops._infer._rules import Call, Output, rule
from aacl.ops._infer._windows import layout_of, paddings, slide

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ()


@rule("Dilation2D")
def dilation(call: Call) -> Sequence[Output]:
    """Grey-scale dilation keeps the channels; the filter is ``(kh, kw, C)``, or ``(C, kh, kw)`` in NCHW."""
    require_equal_dtypes(call, (0, 1))
    layout = layout_of(call, 0, 4)
    x, filters = dims_of(call, 0, layout), call.shape(1)
    if filters is not None and len(filters) != 3:
        raise call.error(f"{call.titled(1)} must have 3 dims, {', '.join(layout[1:])}")
    named = None if filters is None else dict(zip(layout[1:], filters, strict=True))
    if x is None or named is None:
        return [call.like(0, None if x is None else dims_in(layout, x["N"], x["C"], (FREE, FREE)))]
    if not x["C"].meets(named["C"]):
        raise call.mismatch(0, 1, "must have one number of channels")
    mode = call.attributes["padding_mode"]
    if mode not in ("SAME", "VALID", "CALCULATED"):
        raise call.error(f"padding_mode {mode!r} is none of SAME, VALID and CALCULATED")
    pads = paddings(call, "pads", 2)
    each = each_window(call, layout, named, "rates", pads, mode, bool(call.attributes["ceil_mode"]))
    sizes = [FREE if w is None else slide(call, x[letter], w, letter) for letter, w in zip("HW", each, strict=True)]
    return [call.like(0, dims_in(layout, x["N"], x["C"], sizes))]


@rule("Dilation2DBackpropInput", "Dilation2DBackpropFilter")
def gradient(call: Call) -> Sequence[Output]:
    """The output is like x, or like the filter; ``out_backprop`` is like what Dilation2D gives."""
    require_equal_dtypes(call, (0, 1, 2))
    wanted, found = dilation(call)[0].shape, call.shape(2)
    fits = wanted is None or found is None or (len(wanted) == len(found) and all(map(Dim.meets, wanted, found)))
    if not fits:
        raise call.error(f"{call.titled(2)} must have the shape of the output of Dilation2D, {shown(wanted)}")
    index = 0 if call.schema.op_type.endswith("Input") else 1
    return [call.like(index, call.shape(index))]
