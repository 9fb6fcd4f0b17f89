"""Outputs of convolutions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aacl.dtypes import DataType, Format
from aacl.ops._infer._agreement import require_equal_dtypes
from aacl.ops._infer._dims import FREE, Dim, Shape, shown
from aacl.ops._infer._filters import (
    QUANTISED,
    check_bias,
    check_channels,
    dims_in,
    dims_of,
    each_window,
    filter_dims,
)
from aacl.ops._infer._rules import Call, Output, rule
from aacl.ops._infer._windows import layout_of, paddings, rank_of, slide

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ()


@rule("Conv2D", "Conv3D")
def convolution(call: Call) -> Sequence[Output]:
    """``(N, C, H, W) * (O, C / groups, kh, kw) -> (N, O, oh, ow)``, in the layouts of x and filter."""
    require_equal_dtypes(call, (0, 1))
    layout = layout_of(call, 0, rank_of(call))
    filters, x = filter_dims(call, 1, layout), dims_of(call, 0, layout)
    if filters is not None and x is not None:
        check_channels(call, x["C"], filters)
    count = None if filters is None else filters["N"]
    check_bias(call, 2, count)
    return [_slid(call, layout, x, filters, count)]


@rule("DepthwiseConv2D")
def depthwise(call: Call) -> Sequence[Output]:
    """Each channel has filters of its own, ``(kh, kw, C, K)``: channel ``c * K + k`` of the output is of channel c.

    A filter in NCHW is ``(K, C, kh, kw)``, or ``(C * K, 1, kh, kw)`` as frameworks have it.
    """
    require_equal_dtypes(call, (0, 1))
    layout = layout_of(call, 0, 4)
    filters, x = filter_dims(call, 1, layout), dims_of(call, 0, layout)
    count = None
    if filters is not None:
        is_flat = filters["C"] == (1, 1)
        count = filters["N"] if is_flat else filters["N"].times(filters["C"])
        if not is_flat and x is not None and not x["C"].meets(filters["C"]):
            raise call.mismatch(0, 1, f"do not fit: {x['C']} channels meet filters of {filters['C']}")
    check_bias(call, 2, count)
    return [_slid(call, layout, x, filters, count)]


@rule("DeformableConv2D")
def deformable(call: Call) -> Sequence[Output]:
    """As Conv2D; the offsets have a row, a column and, where modulated, a mask for each element of each window."""
    require_equal_dtypes(call, (0, 1, 2))
    layout = layout_of(call, 0, 4)
    filters, x = filter_dims(call, 1, layout), dims_of(call, 0, layout)
    if filters is not None and x is not None:
        check_channels(call, x["C"], filters)
    count = None if filters is None else filters["N"]
    check_bias(call, 3, count)
    output = _slid(call, layout, x, filters, count)
    _check_offsets(call, layout, filters, output.shape)
    return [output]


def _check_offsets(call: Call, layout: str, filters: dict[str, Dim] | None, output: Shape) -> None:
    """The offsets have the windows' spatial dims and parts for each element of a window."""
    offsets, groups = dims_of(call, 2, layout_of(call, 2, 4) if call.desc(2).format is not Format.ND else layout), 0
    groups = int(call.attributes["deformable_groups"])
    if groups < 1:
        raise call.error(f"deformable_groups is {groups}; it is at least 1")
    if offsets is None or filters is None or output is None:
        return
    parts = (3 if call.attributes["modulated"] else 2) * groups
    wanted = {"C": Dim(parts, parts).times(filters["H"]).times(filters["W"])} | {
        letter: output[layout.index(letter)] for letter in "NHW"
    }
    if any(not dim.meets(wanted[letter]) for letter, dim in offsets.items()):
        needed = shown(tuple(wanted[letter] for letter in layout))
        raise call.error(f"{call.titled(2)} must have shape {needed}, in the order {layout}")


def _slid(
    call: Call, layout: str, x: dict[str, Dim] | None, filters: dict[str, Dim] | None, channels: Dim | None
) -> Output:
    """Return the output of a forward convolution."""
    letters = [letter for letter in layout if letter not in "NC"]
    pads = paddings(call, "pads", len(letters))
    each = each_window(call, layout, filters, "dilations", pads)
    source = call.desc(0).dtype
    dtype = DataType.INT32 if source in QUANTISED else source
    if x is None:
        return Output(dtype, None, call.desc(0).format)
    sizes = [
        FREE if window is None else slide(call, x[letter], window, letter)
        for letter, window in zip(letters, each, strict=True)
    ]
    dims = dims_in(layout, x["N"], FREE if channels is None else channels, sizes)
    return Output(dtype, dims, call.desc(0).format)
