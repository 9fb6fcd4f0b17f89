"""Outputs of what takes windows apart and puts them together."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aacl.dtypes import Format
from aacl.ops._infer._dims import FREE, Dim, fixed
from aacl.ops._infer._filters import dims_in, dims_of
from aacl.ops._infer._rules import Call, Output, rule
from aacl.ops._infer._windows import layout_of, paddings, slide, spatial, windows

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ()


@rule("Im2col")
def im2col(call: Call) -> Sequence[Output]:
    """The channels become ``C * kh * kw``, the elements of the windows; the spatial dims count the windows."""
    layout = layout_of(call, 0, 4)
    x, sizes = dims_of(call, 0, layout), spatial(call, "ksizes", layout)
    mode = call.attributes["padding_mode"]
    if mode not in ("SAME", "VALID", "CALCULATED"):
        raise call.error(f"padding_mode {mode!r} is none of SAME, VALID and CALCULATED")
    strides, rates = spatial(call, "strides", layout), spatial(call, "dilations", layout)
    each = windows(sizes, strides, rates, paddings(call, "pads", 2), mode)
    if x is None:
        return [call.like(0, None)]
    counts = [slide(call, x[letter], window, letter) for letter, window in zip("HW", each, strict=True)]
    channels = x["C"].times(Dim(sizes[0] * sizes[1], sizes[0] * sizes[1]))
    return [call.like(0, dims_in(layout, x["N"], channels, counts))]


@rule("Col2im")
def col2im(call: Call) -> Sequence[Output]:
    """``(N, C, kh * kw, windows) -> (N, C, H, W)``."""
    x, size = call.shape(0), call.integers(1)
    if x is not None and len(x) != 4:
        raise call.error(f"{call.titled(0)} must have 4 dims: N, C, kh * kw, windows")
    kernel = _pair(call, call.attributes["kernel_size"], "kernel_size")
    if x is not None and not x[2].meets(Dim(kernel[0] * kernel[1], kernel[0] * kernel[1])):
        raise call.error(f"{call.titled(0)} does not have {kernel[0]} * {kernel[1]} elements in dim 2")
    return [_from_columns(call, (FREE, FREE) if x is None else (x[0], x[1]), x and x[3], size, kernel)]


@rule("Col2ImV2")
def col2im_v2(call: Call) -> Sequence[Output]:
    """``(N, C * kh * kw, windows) -> (N, C, H, W)``."""
    x, size, kernel = call.shape(0), call.integers(1), call.integers(2)
    if x is not None and len(x) != 3:
        raise call.error(f"{call.titled(0)} must have 3 dims: N, C * kh * kw, windows")
    if kernel is None:
        return [_from_columns(call, (FREE if x is None else x[0], FREE), None, size, None)]
    pair = _pair(call, kernel, "kernel_size")
    if x is None:
        return [_from_columns(call, (FREE, FREE), None, size, pair)]
    area = pair[0] * pair[1]
    if x[1].is_fixed and x[1].least % area:
        raise call.error(f"{call.titled(0)} does not have a multiple of {pair[0]} * {pair[1]} in dim 1")
    most = x[1].most if x[1].most == FREE.most else int(x[1].most) // area
    return [_from_columns(call, (x[0], Dim(-(-x[1].least // area), most)), x[2], size, pair)]


def _from_columns(
    call: Call,
    lead: tuple[Dim, Dim],
    columns: Dim | None,
    size: tuple[int, ...] | None,
    kernel: tuple[int, int] | None,
) -> Output:
    if size is None:
        return call.like(0, (*lead, FREE, FREE))._replace(format=Format.ND)
    pair = _pair(call, size, "output_size")
    strides = _pair(call, call.attributes["stride"], "stride")
    rates = _pair(call, call.attributes["dilation"], "dilation")
    pads = paddings(call, "padding", 2)
    if kernel is not None and columns is not None:
        each = windows(kernel, strides, rates, pads)
        counts = [max(window.count(length), 0) for window, length in zip(each, pair, strict=True)]
        if not columns.meets(Dim(counts[0] * counts[1], counts[0] * counts[1])):
            raise call.error(
                f"{call.titled(0)} has {columns} columns; {counts[0]} * {counts[1]} windows fit output_size {pair}"
            )
    return call.like(0, (*lead, *fixed(*pair)))._replace(format=Format.ND)


def _pair(call: Call, values: Sequence[int], name: str) -> tuple[int, int]:
    if len(values) != 2 or min(values) < 1:
        raise call.error(f"{name} {tuple(values)} must be two numbers of at least 1")
    return values[0], values[1]
