"""Outputs of operators on colours."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aacl.ops._infer._dims import Dim
from aacl.ops._infer._rules import Call, Output, rule

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ()


@rule("RGBToHSV", "HSVToRGB", "AdjustSaturation")
def colours_last(call: Call) -> Sequence[Output]:
    """As the images, whose last dim is 3."""
    _check_colours(call, -1)
    _check_number(call)
    return [call.like(0, call.shape(0))]


@rule("AdjustHue")
def hue(call: Call) -> Sequence[Output]:
    """As the images, whose channels are 3."""
    _check_colours(call, _channel(call))
    _check_number(call)
    return [call.like(0, call.shape(0))]


@rule("AdjustContrast")
def contrast(call: Call) -> Sequence[Output]:
    """As the images, which have at least height, width and channels."""
    shape = call.shape(0)
    _channel(call)
    _check_number(call)
    if shape is not None and len(shape) < 3:
        raise call.error(f"{call.titled(0)} must have height, width and channels")
    return [call.like(0, shape)]


@rule("AdjustBrightness")
def brightness(call: Call) -> Sequence[Output]:
    """As the images."""
    _check_number(call)
    return [call.like(0, call.shape(0))]


@rule("RgbToGrayscale")
def grey(call: Call) -> Sequence[Output]:
    """As the images, with 1 or 3 channels."""
    channel, count = _channel(call), call.attributes["output_channels"]
    if count not in (1, 3):
        raise call.error(f"output_channels is {count}; it must be 1 or 3")
    _check_colours(call, channel)
    shape = call.shape(0)
    if shape is None:
        return [call.like(0, None)]
    dims = list(shape)
    dims[channel] = Dim(count, count)
    return [call.like(0, tuple(dims))]


def _channel(call: Call) -> int:
    """Return the channel axis, counted from the end."""
    layout = call.attributes["data_format"]
    if layout not in ("HWC", "CHW"):
        raise call.error(f"data_format is {layout!r}; it must be 'HWC' or 'CHW'")
    return -1 if layout == "HWC" else -3


def _check_colours(call: Call, axis: int) -> None:
    shape = call.shape(0)
    if shape is not None and (len(shape) < -axis or not shape[axis].meets(Dim(3, 3))):
        raise call.error(f"{call.titled(0)} must have three colours along axis {axis}")


def _check_number(call: Call) -> None:
    if len(call.inputs) > 1 and call.length(1) not in (1, None):
        raise call.error(f"{call.titled(1)} must hold one number")
