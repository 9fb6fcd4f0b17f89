"""What the rules of convolutions share: layouts of filters, channels, and the window along each axis."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aacl.dtypes import DataType, Format
from aacl.ops._infer._dims import Dim, product
from aacl.ops._infer._requirements import require_rank
from aacl.ops._infer._windows import Window, spatial

if TYPE_CHECKING:
    from collections.abc import Sequence

    from aacl.ops._infer._rules import Call

__all__ = (
    "QUANTISED",
    "check_bias",
    "check_channels",
    "dims_in",
    "dims_of",
    "each_window",
    "filter_dims",
    "groups_of",
)

QUANTISED = (DataType.INT8, DataType.INT4)

_FILTERS = {"NCHW": "NCHW", "NHWC": "HWCN", "NCDHW": "NCDHW", "NDHWC": "DHWCN"}


def dims_of(call: Call, index: int, layout: str) -> dict[str, Dim] | None:
    """Return an input's dims by the letters of its layout.

    Raises:
        InvalidArgument: it has another number of dims.
    """
    shape = require_rank(call, index, len(layout), ", ".join(layout))
    return None if shape is None else dict(zip(layout, shape, strict=True))


def filter_dims(call: Call, index: int, layout: str) -> dict[str, Dim] | None:
    """Return a filter's dims by the letters of its format; by default NCHW for NCHW, HWCN for NHWC."""
    stated = call.desc(index).format
    text = _FILTERS[layout] if stated is Format.ND else stated.name
    if sorted(text) != sorted(layout):
        raise call.error(f"format {text} of {call.titled(index)} is no layout of filters for {layout}")
    shape = require_rank(call, index, len(layout), ", ".join(text))
    return None if shape is None else dict(zip(text, shape, strict=True))


def dims_in(layout: str, count: Dim, channels: Dim, sizes: Sequence[Dim]) -> tuple[Dim, ...]:
    """Return dims in the order of a layout."""
    left = iter(sizes)
    return tuple(count if letter == "N" else channels if letter == "C" else next(left) for letter in layout)


def check_channels(call: Call, channels: Dim, filters: dict[str, Dim]) -> None:
    """Refuse channels that do not meet those of the filters."""
    groups = groups_of(call)
    if not channels.meets(filters["C"].times(Dim(groups, groups))):
        text = f"do not fit: {channels} channels meet {groups} groups of filters of {filters['C']} channels"
        layout = call.attributes.get("data_format")
        if layout and call.desc(0).format is Format.ND:
            text += f"; {call.names[0]} is read as {layout}, which attribute data_format or its own format sets"
        raise call.mismatch(0, 1, text)
    if filters["N"].is_fixed and filters["N"].least % groups:
        raise call.error(f"{groups} groups do not share the {filters['N']} filters of {call.titled(1)} equally")


def groups_of(call: Call) -> int:
    """Return the number of groups."""
    groups = int(call.attributes.get("groups", 1))
    if groups < 1:
        raise call.error(f"groups is {groups}; it is at least 1")
    return groups


def check_bias(call: Call, index: int, channels: Dim | None) -> None:
    """Refuse a bias that does not have one element a channel."""
    if not call.has(index):
        return
    bias = call.shape(index)
    if bias is not None and channels is not None and not product(bias).meets(channels):
        raise call.error(f"{call.titled(index)} does not hold one element for each of {channels} output channels")


def each_window(
    call: Call,
    layout: str,
    filters: dict[str, Dim] | None,
    rates: str,
    pads: Sequence[tuple[int, int]],
    mode: str = "CALCULATED",
    is_ceiling: bool = False,
) -> list[Window | None]:
    """Return the window along each spatial axis, None where the filter's size there is not known."""
    letters = [letter for letter in layout if letter not in "NC"]
    steps = zip(letters, spatial(call, "strides", layout), spatial(call, rates, layout), pads, strict=True)
    found: list[Window | None] = []
    for letter, stride, rate, pad in steps:
        size = None if filters is None or not filters[letter].is_fixed else filters[letter].least
        if size == 0:
            raise call.error(f"{call.titled(1)} has no elements along {letter}")
        found.append(None if size is None else Window(size, stride, rate, *pad, mode, is_ceiling))
    return found
