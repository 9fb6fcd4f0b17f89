"""Where the channels of a picture are."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aacl.dtypes import Format
from aacl.errors import InvalidArgument

if TYPE_CHECKING:
    from aacl.abc import Array, KernelRequest, TensorInfo

__all__ = ("along", "channel_axis", "named_axis")

_FIRST = frozenset({Format.NCHW, Format.NCDHW})
_LAST = frozenset({Format.NHWC, Format.NDHWC})


def channel_axis(info: TensorInfo, default: int = 1) -> int:
    """Return the axis that a tensor's format names; the default where its format says nothing.

    A tensor of one dim has its channels there, whatever it is said to be.
    """
    rank = len(info.shape)
    axis = 1 if info.format in _FIRST else -1 if info.format in _LAST else default
    return axis % rank if rank > 1 else 0


def named_axis(request: KernelRequest, rank: int) -> int:
    """Return the channel axis that the attribute ``data_format`` names.

    Raises:
        InvalidArgument: it names no layout with batch and channels.
    """
    layout = request.attributes["data_format"]
    if layout in ("NCHW", "NCDHW", "NCL", "ND"):
        return 1 if rank > 1 else 0
    if layout in ("NHWC", "NDHWC", "NLC"):
        return rank - 1
    raise InvalidArgument(
        f"operator {request.op_type}: data_format is {layout!r}; it must name a layout such as 'NCHW'"
    )


def along(values: Array, axis: int, rank: int) -> Array:
    """Return values of any shape laid along one axis, so that they broadcast against a tensor of that rank."""
    shape = [1] * rank
    shape[axis] = values.size
    return values.reshape(shape)
