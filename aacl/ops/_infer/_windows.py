"""Windows that slide along spatial axes: which axes those are, and how many windows fit."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from aacl.dtypes import Format
from aacl.ops._infer._dims import Dim
from aacl.ops._infer._requirements import require_rank

if TYPE_CHECKING:
    from collections.abc import Sequence

    from aacl.ops._infer._rules import Call

__all__ = ("Window", "layout_of", "paddings", "rank_of", "slide", "spatial", "windows")

_LAYOUTS = {3: ("NCL",), 4: ("NCHW", "NHWC"), 5: ("NCDHW", "NDHWC")}


class Window(NamedTuple):
    """A window along one axis.

    Attributes:
        size: elements it covers.
        stride: from one window to the next.
        dilation: from one of its elements to the next.
        before: padding at the start of the axis.
        after: at its end.
        mode: CALCULATED for the paddings given, SAME for as many windows as strides, VALID for none in the padding.
        is_ceiling: whether a window that runs out of the padding counts, if it starts before that at the end.
    """

    size: int
    stride: int = 1
    dilation: int = 1
    before: int = 0
    after: int = 0
    mode: str = "CALCULATED"
    is_ceiling: bool = False

    @property
    def extent(self) -> int:
        """Elements from its first to its last one."""
        return (self.size - 1) * self.dilation + 1

    def count(self, length: int) -> int:
        """Return how many windows an axis has; 0 or less where not even one fits."""
        if self.mode == "SAME":
            return -(-length // self.stride)
        before, after = (self.before, self.after) if self.mode == "CALCULATED" else (0, 0)
        span = length + before + after - self.extent
        if not self.is_ceiling:
            return span // self.stride + 1
        found = -(-span // self.stride) + 1
        return found - ((found - 1) * self.stride >= length + before)


def rank_of(call: Call) -> int:
    """Return how many dims the tensors of an operator have, as its name tells: batch, channels and the spatial ones."""
    return 5 if "3D" in call.schema.op_type else 4


def layout_of(call: Call, index: int, rank: int, default: str = "NCHW") -> str:
    """Return the axes of an input as letters such as ``NCHW``.

    The format of its description says so, else the attribute ``data_format``, else a default.

    Raises:
        InvalidArgument: neither has that many axes.
    """
    layouts = _LAYOUTS[rank]
    stated = call.desc(index).format
    text = stated.name if stated is not Format.ND else call.attributes.get("data_format", default)
    if text not in layouts:
        raise call.error(f"layout {text} of {call.titled(index)} is none of {' and '.join(layouts)}")
    require_rank(call, index, rank, ", ".join(text))
    return str(text)


def spatial(call: Call, name: str, layout: str, least: int = 1) -> tuple[int, ...]:
    """Return an attribute's integers for the spatial axes: it has one for all, one each, or one for every axis.

    Raises:
        InvalidArgument: it has another length, or a value below the least one.
    """
    values = tuple(call.attributes[name])
    places = [place for place, letter in enumerate(layout) if letter not in "NC"]
    if len(values) == len(layout):
        values = tuple(values[place] for place in places)
    elif len(values) == 1:
        values *= len(places)
    if len(values) != len(places):
        raise call.error(
            f"{name} {tuple(call.attributes[name])} must have {len(layout)} numbers, in the order {layout}"
        )
    if min(values) < least:
        raise call.error(f"{name} {tuple(call.attributes[name])} must not be below {least} along a spatial axis")
    return values


def paddings(call: Call, name: str, count: int) -> tuple[tuple[int, int], ...]:
    """Return an attribute's paddings, before and after each of some axes; it has two an axis, one an axis, or one.

    Raises:
        InvalidArgument: it has another length, or a negative number.
    """
    values = tuple(call.attributes[name])
    if len(values) == 1:
        values *= count
    if len(values) == count:
        values = tuple(value for value in values for _ in range(2))
    if len(values) != 2 * count or min(values) < 0:
        raise call.error(
            f"{name} {tuple(call.attributes[name])} must be {2 * count} numbers, none negative: "
            "before and after each spatial axis"
        )
    return tuple(zip(values[::2], values[1::2], strict=True))


def windows(
    sizes: Sequence[int],
    strides: Sequence[int],
    dilations: Sequence[int] | None = None,
    pads: Sequence[tuple[int, int]] | None = None,
    mode: str = "CALCULATED",
    is_ceiling: bool = False,
) -> tuple[Window, ...]:
    """Return a window for each axis."""
    count = len(sizes)
    each = zip(sizes, strides, dilations or (1,) * count, pads or ((0, 0),) * count, strict=True)
    return tuple(Window(size, stride, dilation, *pad, mode, is_ceiling) for size, stride, dilation, pad in each)


def slide(call: Call, dim: Dim, window: Window, letter: str) -> Dim:
    """Return what is known of the number of windows along an axis; an axis without elements may have none.

    Raises:
        InvalidArgument: not one window fits an axis that has elements.
    """
    most = dim.most if dim.most == math.inf else window.count(int(dim.most))
    if most < 1 <= dim.most:
        raise call.error(
            f"a window of {window.extent} along {letter} does not fit {call.titled(0)}, "
            f"padded by {window.before} and {window.after}"
        )
    return Dim(max(window.count(dim.least), 0), max(most, 0))
