"""Operators on colours, which follow TensorFlow's; half precision computes in float32.

Of the prototypes' integer dtypes only grey pictures are done, whose results are rounded: how the
others scale theirs is not documented.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from aacl.backends.cpu.kernels._precision import FLOATS
from aacl.backends.cpu.kernels._quiet import quiet
from aacl.backends.cpu.kernels._registry import elements, given, kernel, prepared, refuse_dtype
from aacl.backends.cpu.kernels._sums import summed
from aacl.backends.cpu.kernels._whole import whole
from aacl.errors import NotSupported

if TYPE_CHECKING:
    from aacl.abc import Array, Kernel, KernelRequest
    from aacl.backends.cpu.kernels._registry import Body

__all__ = ()

_GREY = (0.2989, 0.587, 0.114)


@kernel("RGBToHSV")
def _to_hsv(request: KernelRequest) -> Kernel:
    """Hue, saturation and value between 0 and 1, from red, green and blue along the last axis."""

    def body(x: Array, y: Array) -> None:
        low, high = x.min(-1), x.max(-1)
        y[..., 0] = _hue(x, low, high)
        y[..., 1] = np.where(high > 0, (high - low) / high, 0)
        y[..., 2] = high

    return _kernel(request, body)


@kernel("HSVToRGB")
def _to_rgb(request: KernelRequest) -> Kernel:
    """Red, green and blue, from hue, saturation and value along the last axis."""

    def body(x: Array, y: Array) -> None:
        share, value = x[..., 1:2], x[..., 2:3]
        np.multiply(1 - share + share * _pure(x[..., 0]), value, y)

    return _kernel(request, body)


@kernel("AdjustHue")
def _adjust_hue(request: KernelRequest) -> Kernel:
    """``delta`` is added to the hue, of which 1 is a full turn."""
    is_first = request.attributes["data_format"] == "CHW"

    def body(x: Array, delta: Array, y: Array) -> None:
        if is_first:
            x, y = np.moveaxis(x, -3, -1), np.moveaxis(y, -3, -1)
        low, high = x.min(-1), x.max(-1)
        turned = _hue(x, low, high) + delta.reshape(()).astype(x.dtype)
        turned -= np.floor(turned)
        np.add(low[..., None], (high - low)[..., None] * _pure(turned), y)

    return _kernel(request, body)


@kernel("AdjustSaturation")
def _adjust_saturation(request: KernelRequest) -> Kernel:
    """The saturation, times ``scale``, is held between 0 and 1."""

    def body(x: Array, scale: Array, y: Array) -> None:
        low, high = x.min(-1), x.max(-1)
        share = np.where(high > 0, (high - low) / high, 0) * scale.reshape(()).astype(x.dtype)
        share = np.clip(share, 0, 1)[..., None]
        np.multiply(1 - share + share * _pure(_hue(x, low, high)), high[..., None], y)

    return _kernel(request, body)


def _hue(x: Array, low: Array, high: Array) -> Array:
    """Return the hue of red, green and blue along the last axis; 0 of grey."""
    red, green, blue = x[..., 0], x[..., 1], x[..., 2]
    span = high - low
    sixth = np.where(
        red == high,
        (green - blue) / span,
        np.where(green == high, (blue - red) / span + 2, (red - green) / span + 4),
    )
    hue = np.where(span > 0, sixth, 0).astype(x.dtype, copy=False) / x.dtype.type(6)
    positive: Array = np.where(hue < 0, hue + 1, hue)
    return positive.astype(x.dtype, copy=False)


def _pure(hue: Array) -> Array:
    """Return the colour of a hue at full saturation and value, along a new last axis."""
    turn = hue * hue.dtype.type(6)
    colours = np.stack([np.abs(turn - 3) - 1, 2 - np.abs(turn - 2), 2 - np.abs(turn - 4)], -1)
    pure: Array = np.clip(colours, 0, 1)
    return pure


@kernel("AdjustContrast")
def _adjust_contrast(request: KernelRequest) -> Kernel:
    """``(x - mean) * contrast_factor + mean`` with the mean of each channel of each picture."""
    if request.attributes["mean_mode"] != "chn_wise":
        raise NotSupported(
            f"operator AdjustContrast: mean_mode {request.attributes['mean_mode']!r} is not done on the cpu device; "
            "use 'chn_wise'"
        )
    axes = (-2, -1) if request.attributes["data_format"] == "CHW" else (-3, -2)

    def body(x: Array, factor: Array, y: Array) -> None:
        count = x.shape[axes[0]] * x.shape[axes[1]]
        middle = summed(x, axes, keepdims=True)
        np.divide(middle, count, middle)
        np.subtract(x, middle, y)
        np.multiply(y, factor.reshape(()).astype(x.dtype), y)
        np.add(y, middle, y)

    return _kernel(request, body)


@kernel("AdjustBrightness")
def _adjust_brightness(request: KernelRequest) -> Kernel:
    """``delta`` is added."""
    return _kernel(request, lambda x, delta, y: np.add(x, delta.reshape(()).astype(x.dtype), y))


@kernel("RgbToGrayscale")
def _to_grey(request: KernelRequest) -> Kernel:
    """0.2989, 0.587 and 0.114 parts of red, green and blue, once or three times."""
    is_first = request.attributes["data_format"] == "CHW"

    def body(x: Array, y: Array) -> None:
        if is_first:
            x, y = np.moveaxis(x, -3, -1), np.moveaxis(y, -3, -1)
        wide = x.astype(np.float32, copy=False)
        total = sum(wide[..., place] * np.float32(part) for place, part in enumerate(_GREY))
        found = np.asarray(total)[..., None]
        np.copyto(y, np.rint(found) if y.dtype.kind == "u" else found, casting="unsafe")

    return prepared(request, quiet(body, 2), 6 * elements(given(request, 0)))


def _kernel(request: KernelRequest, body: Body) -> Kernel:
    if given(request, 0).dtype not in FLOATS:
        raise refuse_dtype(request, "float dtypes")
    return whole(request, body, 16)
