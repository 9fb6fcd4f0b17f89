"""Where the channels of a picture are."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aacl.dtypes import Format

if TYPE_CHECKING:
    from aacl.ops._infer._rules import Call

__all__ = ("channel_axis", "spatial_axes")

_FIRST = frozenset({Format.NCHW, Format.NCDHW})
_LAST = frozenset({Format.NHWC, Format.NDHWC})


def channel_axis(call: Call, rank: int, default: int = 1, index: int = 0) -> int:
    """Return the axis that an input's format names; the default where its format says nothing.

    A tensor of one dim has its channels there, whatever it is said to be.
    """
    layout = call.desc(index).format
    axis = 1 if layout in _FIRST else -1 if layout in _LAST else default
    return axis % rank if rank > 1 else 0


def spatial_axes(call: Call, rank: int, default: int = -1) -> tuple[int, ...]:
    """Return the axes of the first input that are neither batch nor channels; by default the channels are last."""
    channel = channel_axis(call, rank, default)
    return tuple(axis for axis in range(1, rank) if axis != channel)
