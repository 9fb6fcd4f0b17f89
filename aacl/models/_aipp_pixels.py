"""AIPP's arithmetic: from the bytes of pictures to what a model takes. Pure.

A colour conversion is integer arithmetic. It is done in floating point, which
counts integers exactly up to 2**24 (float32) or 2**53 (float64), in strips of
rows that stay in a processor's cache; the sum is divided by 256, a power of two,
and its floor is what a shift gives. Chroma terms are summed at the chroma's own
resolution and then spread over their pixels.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from aacl.errors import ModelInputMismatch
from aacl.models._aipp_format import AippFormat

if TYPE_CHECKING:
    from aacl.abc import Array
    from aacl.models._aipp import AippFrame, AippSettings, Four

__all__ = ("preprocess",)

_STRIP = 1 << 15
"""Pixels converted at a time: some buffers of float32 fit into the second cache of a core."""
_FLOAT32_EXACT = 1 << 24


class _Plane(NamedTuple):
    """One channel of a picture; a value stands for `step_h` x `step_w` pixels."""

    values: Array
    step_h: int = 1
    step_w: int = 1


def preprocess(settings: AippSettings, pictures: Array, size: tuple[int, int], out: Array, *, is_nchw: bool) -> None:
    """Write what AIPP makes of pictures.

    Args:
        settings: what to do.
        pictures: uint8, the bytes of a batch of pictures, one after the other; more bytes are left alone.
        size: (height, width) of each picture, of the settings unless these leave it open.
        out: float32, float16 or uint8, of the dims NCHW or NHWC; all of it is written.
        is_nchw: which of them.

    Raises:
        ModelInputMismatch: the pictures are too few bytes, or what comes of them has not the size of `out`.
        InvalidArgument, NotSupported: what `AippSettings.check` raises.
    """
    batch, channels, height, width = out.shape if is_nchw else (out.shape[0], out.shape[3], *out.shape[1:3])
    nbytes = settings.layout.nbytes(*size)
    flat = pictures.reshape(-1)
    check_settings(settings, size, batch, (channels, height, width))
    if flat.size < batch * nbytes:
        raise ModelInputMismatch(
            f"AIPP reads {batch} pictures of {size[1]} x {size[0]}, {nbytes} bytes each; {flat.size} bytes were given"
        )
    for number in range(batch):
        planes = _planes(settings, flat[number * nbytes : (number + 1) * nbytes], *size)
        target = out[number] if is_nchw else np.moveaxis(out[number], -1, 0)
        _one(settings, settings.frame(number), planes, target)


def check_settings(settings: AippSettings, size: tuple[int, int], batch: int, wanted: tuple[int, int, int]) -> None:
    """Check that settings make what a model takes of pictures of this size.

    Args:
        settings: what to do.
        size: (height, width) of the pictures.
        batch: how many.
        wanted: (channels, height, width) that the model takes.

    Raises:
        ModelInputMismatch: they do not; the text has both sizes.
        InvalidArgument, NotSupported: what `AippSettings.check` raises.
    """
    if 1 < len(settings.frames) < batch:
        raise ModelInputMismatch(f"AIPP has settings for {len(settings.frames)} pictures; the batch has {batch}")
    settings.check(*size)
    channels = settings.channels(wanted[0])
    for number, frame in enumerate(settings.frames[:batch]):
        result = settings.result_size(frame, *size)
        if (channels, *result) != wanted:
            raise ModelInputMismatch(
                f"AIPP makes {channels} channels of {result[1]} x {result[0]} of picture {number}; the model takes "
                f"{wanted[0]} channels of {wanted[2]} x {wanted[1]}: change crop, border or colour conversion"
            )


def _planes(settings: AippSettings, data: Array, height: int, width: int) -> list[_Plane]:
    """Return the channels of a picture, exchanged as the settings say."""
    kind = settings.format
    pixels = height * width
    if kind in (AippFormat.YUV420SP_U8, AippFormat.YUV422SP_U8):
        step = 2 if kind is AippFormat.YUV420SP_U8 else 1
        pairs = data[pixels : pixels + pixels // step].reshape(height // step, width // 2, 2)
        planes = [_Plane(data[:pixels].reshape(height, width))]
        planes += [_Plane(pairs[..., place], step, 2) for place in range(2)]
    elif kind is AippFormat.YUYV_U8:
        pairs = data.reshape(height, width, 2)
        planes = [_Plane(pairs[..., 0]), _Plane(pairs[:, 0::2, 1], 1, 2), _Plane(pairs[:, 1::2, 1], 1, 2)]
    else:
        cells = data.reshape(height, width, -1)
        planes = [_Plane(cells[..., place]) for place in range(cells.shape[2])]
    if settings.moves_alpha and len(planes) == 4:
        planes = [planes[3], *planes[:3]]
    if settings.swaps_colours and len(planes) > 1:
        first, second = (-2, -1) if settings.layout.is_yuv else (-3, -1)
        planes[first], planes[second] = planes[second], planes[first]
    return planes


def _one(settings: AippSettings, frame: AippFrame, planes: list[_Plane], target: Array) -> None:
    """Write one picture to an array of the dims CHW."""
    if frame.crop is not None:
        planes = [_cropped(plane, frame.crop) for plane in planes]
    if frame.padding is not None:
        target = _bordered(target, frame.padding, settings.padding_value)
    if not target.size:
        return
    if len(planes) == 4 and (settings.matrix is not None or target.shape[0] == 3):
        planes = planes[1:]
    scale = _Scale.of(frame)
    if settings.matrix is None:
        for channel, plane in enumerate(planes):
            _spread(scale, channel, plane, target[channel])
    else:
        _convert(settings, scale, planes, target)


def _cropped(plane: _Plane, crop: Four) -> _Plane:
    """Return a part of a channel; of chroma that ends within a value all of that value."""
    left, top, width, height = crop
    values, step_h, step_w = plane
    rows = slice(top // step_h, -(-(top + height) // step_h))
    columns = slice(left // step_w, -(-(left + width) // step_w))
    return _Plane(values[rows, columns], step_h, step_w)


def _bordered(target: Array, padding: Four, value: float) -> Array:
    """Write a border, and return what is within it."""
    top, bottom, left, right = padding
    height, width = target.shape[1:]
    if target.dtype == np.uint8:
        value = min(max(round(value), 0), 255)
    target[:, :top] = value
    target[:, height - bottom :] = value
    target[:, :, :left] = value
    target[:, :, width - right :] = value
    return target[:, top : height - bottom, left : width - right]


class _Scale(NamedTuple):
    """The normalisation of each channel, in float32: (value - mean - minimum) * reciprocal."""

    mean: tuple[np.float32, ...]
    minimum: tuple[np.float32, ...]
    reciprocal: tuple[np.float32, ...]

    @classmethod
    def of(cls, frame: AippFrame) -> _Scale:
        return cls(*(tuple(map(np.float32, each)) for each in (frame.mean, frame.minimum, frame.reciprocal)))

    def write(self, channel: int, values: Array, out: Array, work: Array) -> None:
        """Write normalised values; ``work`` is float32 of their shape, and may be the values or the output."""
        mean, minimum, reciprocal = self.mean[channel], self.minimum[channel], self.reciprocal[channel]
        if not mean and not minimum and reciprocal == 1:
            out[...] = values
            return
        if out.dtype == np.float32:
            work = out
        if mean or minimum:
            np.subtract(values, mean, out=work, dtype=np.float32, casting="unsafe")
            values = work
        if minimum:
            np.subtract(values, minimum, out=work)
        if reciprocal != 1 or values is not work:
            np.multiply(values, reciprocal, out=work, dtype=np.float32, casting="unsafe")
        if out.dtype == np.uint8:
            np.rint(work, out=work)
            np.clip(work, 0, 255, out=work)
        if out is not work:
            with np.errstate(over="ignore"):  # beyond float16 is infinity, as on the card
                out[...] = work


def _spread(scale: _Scale, channel: int, plane: _Plane, out: Array) -> None:
    """Write one channel that is not converted."""
    height, width = out.shape
    rows = max(_STRIP // width // 2 * 2, 2)
    work = np.empty((rows, width), np.float32)
    values, step_h, step_w = plane
    for top in range(0, height, rows):
        bottom = min(top + rows, height)
        strip = values[top // step_h : -(-bottom // step_h)]
        if step_w == 2:
            strip = np.repeat(strip, 2, axis=1)[:, :width]
        if step_h == 2:
            strip = np.repeat(strip, 2, axis=0)[: bottom - top]
        scale.write(channel, strip, out[top:bottom], work[: bottom - top])


class _Row(NamedTuple):
    """One row of a colour conversion, divided by 256.

    Attributes:
        full: (plane, coefficient) of the planes with a value for each pixel; at least one.
        coarse: the same of the other planes.
        constant: added before the floor.
        bias: added behind it.
    """

    full: tuple[tuple[int, float], ...]
    coarse: tuple[tuple[int, float], ...]
    constant: float
    bias: int


@lru_cache(maxsize=64)
def _plan(
    matrix: tuple[int, ...],
    input_bias: tuple[int, ...],
    output_bias: tuple[int, ...],
    is_coarse: tuple[bool, ...],
    *,
    is_yuv: bool,
) -> tuple[tuple[_Row, ...], type[np.floating[Any]]]:
    """Return the rows of a conversion, and a type that counts its sums exactly."""
    rows = []
    most = 0
    for place in range(3):
        row = matrix[place * 3 : place * 3 + 3][: len(is_coarse)]
        shift = -sum(map(math.prod, zip(row, input_bias, strict=False))) if is_yuv else 0
        terms = [(plane, number / 256) for plane, number in enumerate(row)]
        full = [term for term in terms if not is_coarse[term[0]] and term[1]] or [(0, 0.0)]
        coarse = [term for term in terms if is_coarse[term[0]] and term[1]]
        rows.append(_Row(tuple(full), tuple(coarse), shift / 256, 0 if is_yuv else output_bias[place]))
        most = max(most, 255 * sum(map(abs, row)) + abs(shift))
    return tuple(rows), np.float32 if most < _FLOAT32_EXACT else np.float64


def _convert(settings: AippSettings, scale: _Scale, planes: Sequence[_Plane], out: Array) -> None:
    """Convert colours, normalise, and write, strip by strip."""
    assert settings.matrix is not None, "the settings have a conversion"
    rows, dtype = _plan(
        tuple(settings.matrix),
        tuple(settings.input_bias),
        tuple(settings.output_bias),
        tuple(plane.step_w > 1 for plane in planes),
        is_yuv=settings.layout.is_yuv,
    )
    height, width = out.shape[1:]
    strip = _Strip(planes, max(_STRIP // width // 2 * 2, 2), width, dtype)
    for top in range(0, height, strip.rows):
        bottom = min(top + strip.rows, height)
        strip.move(top, bottom)
        for channel, row in enumerate(rows[: out.shape[0]]):
            values = strip.converted(row)
            scale.write(channel, values, out[channel, top:bottom], strip.work[: bottom - top])


class _Strip:
    """Some rows of a picture, and the buffers in which they are converted."""

    def __init__(self, planes: Sequence[_Plane], rows: int, width: int, dtype: type[np.floating[Any]]) -> None:
        self.rows, self._planes, self._width = rows, planes, width
        self._step = max(plane.step_h for plane in planes)
        wide = -(-width // 2) * 2
        self._sum, self._term = np.empty((rows, width), dtype), np.empty((rows, width), dtype)
        self.work = self._sum if dtype is np.float32 else np.empty((rows, width), np.float32)
        self._coarse, self._coarse_term = (np.empty((rows // self._step, wide // 2), dtype) for _ in range(2))
        self._spread = np.empty((rows // self._step, wide), dtype)
        self._known: dict[tuple[int, float], Array] = {}
        self._free: list[Array] = []
        self._top = self._bottom = 0

    def move(self, top: int, bottom: int) -> None:
        """Look at other rows."""
        self._top, self._bottom = top, bottom
        self._free += [buffer for _term, buffer in self._known.items()]
        self._known = {}

    def converted(self, row: _Row) -> Array:
        """Return one channel, 0 to 255, in a buffer that the next call overwrites."""
        count = self._bottom - self._top
        total = self._sum[:count]
        first, *others = row.full
        if row.coarse:
            self._add_spread(self._full(first)[:count], self._chroma(row), total)
        else:
            np.add(self._full(first)[:count], row.constant, out=total)
        for plane, factor in others:
            term = self._term[:count]
            np.multiply(self._planes[plane].values[self._top : self._bottom], factor, out=term, dtype=term.dtype)
            total += term
        np.floor(total, out=total)
        if row.bias:
            total += row.bias
        return np.clip(total, 0, 255, out=total)

    def _full(self, term: tuple[int, float]) -> Array:
        """Return a plane times its coefficient; rows of a matrix mostly share that of luma."""
        known = self._known.get(term)
        if known is None:
            known = self._free.pop() if self._free else np.empty_like(self._sum)
            plane, factor = term
            values = self._planes[plane].values[self._top : self._bottom]
            np.multiply(values, factor, out=known[: len(values)], dtype=known.dtype)
            self._known[term] = known
        return known

    def _chroma(self, row: _Row) -> Array:
        """Return the sum of the chroma terms, and the constant, for each pair of pixels in a row, twice."""
        start, end = self._top // self._step, -(-self._bottom // self._step)
        total, term = self._coarse[: end - start], self._coarse_term[: end - start]
        (plane, factor), *others = row.coarse
        np.multiply(self._planes[plane].values[start:end], factor, out=total, dtype=total.dtype)
        for plane, factor in others:
            np.multiply(self._planes[plane].values[start:end], factor, out=term, dtype=term.dtype)
            total += term
        total += row.constant
        spread = self._spread[: end - start]
        spread[:, 0::2] = total
        spread[:, 1::2] = total
        return spread[:, : self._width]

    def _add_spread(self, full: Array, chroma: Array, out: Array) -> None:
        """Add chroma to the rows that it is for."""
        for place in range(self._step):
            rows = full[place :: self._step]
            np.add(rows, chroma[: len(rows)], out=out[place :: self._step])
