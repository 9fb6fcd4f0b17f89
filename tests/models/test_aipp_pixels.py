"""AIPP's arithmetic, against a scalar implementation that looks up every pixel by its byte offset."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aacl.errors import InvalidArgument, ModelInputMismatch, NotSupported
from aacl.models import AippFormat, AippFrame, AippSettings
from aacl.models._aipp_pixels import preprocess

Array = np.ndarray[Any, np.dtype[Any]]

READ = ("YUV420SP_U8", "XRGB8888_U8", "RGB888_U8", "YUV400_U8", "ARGB8888_U8", "YUYV_U8", "YUV422SP_U8", "AYUV444_U8")
YUV = ("YUV420SP_U8", "YUV400_U8", "YUYV_U8", "YUV422SP_U8", "AYUV444_U8")
PAIRED = ("YUV420SP_U8", "YUYV_U8", "YUV422SP_U8")


def _size(name: str, height: int, width: int) -> int:
    """Return the bytes of a picture, from the formats' definitions."""
    pixels = height * width
    return {"YUV420SP_U8": pixels * 3 // 2, "YUV400_U8": pixels, "RGB888_U8": pixels * 3, "YUYV_U8": pixels * 2,
            "YUV422SP_U8": pixels * 2}.get(name, pixels * 4)  # fmt: skip


def _pixel(name: str, data: bytes, height: int, width: int, y: int, x: int) -> list[int]:
    """Return the channels of one pixel, as the bytes have them."""
    place, pixels = y * width + x, height * width
    match name:
        case "YUV420SP_U8":
            pair = pixels + (y // 2) * width + x // 2 * 2
            return [data[place], data[pair], data[pair + 1]]
        case "YUV422SP_U8":
            pair = pixels + y * width + x // 2 * 2
            return [data[place], data[pair], data[pair + 1]]
        case "YUYV_U8":
            four = (y * width + x // 2 * 2) * 2
            return [data[place * 2], data[four + 1], data[four + 3]]
        case "YUV400_U8":
            return [data[place]]
        case "RGB888_U8":
            return [*data[place * 3 : place * 3 + 3]]
    return [*data[place * 4 : place * 4 + 4]]


def _exchanged(given: AippSettings, name: str, channels: list[int]) -> list[int]:
    if given.moves_alpha and len(channels) == 4:
        channels = [channels[3], channels[0], channels[1], channels[2]]
    if given.swaps_colours and len(channels) > 1:
        first = len(channels) - (2 if name in YUV else 3)
        channels[first], channels[-1] = channels[-1], channels[first]
    return channels


def _converted(given: AippSettings, name: str, channels: list[int], wanted: int) -> list[int]:
    if given.matrix is None:
        return channels[1:] if (len(channels), wanted) == (4, 3) else channels
    colours = channels[-3:]
    rows = [given.matrix[place : place + 3] for place in (0, 3, 6)]
    found = []
    for place, row in enumerate(rows[:wanted]):
        if name in YUV:
            pairs = zip(row, colours, given.input_bias, strict=False)
            value = sum(factor * (colour - bias) for factor, colour, bias in pairs) >> 8
        else:
            value = (
                sum(factor * colour for factor, colour in zip(row, colours, strict=True)) >> 8
            ) + given.output_bias[place]
        found.append(min(max(value, 0), 255))
    return found


def _normalised(frame: AippFrame, channel: int, value: int, dtype: type[np.generic]) -> np.generic:
    single = np.float32(value - frame.mean[channel]) - np.float32(frame.minimum[channel])
    single = single * np.float32(frame.reciprocal[channel])
    if dtype is np.uint8:
        return np.uint8(min(max(round(float(single)), 0), 255))
    with np.errstate(over="ignore"):
        return dtype(single)


def expected(given: AippSettings, data: bytes, size: tuple[int, int], out: Array, *, is_nchw: bool) -> None:
    """Do all of it pixel by pixel."""
    name = given.format.name if given.format else ""
    view = out if is_nchw else out.transpose(0, 3, 1, 2)
    nbytes = _size(name, *size)
    for number in range(view.shape[0]):
        frame = given.frames[min(number, len(given.frames) - 1)]
        picture = data[number * nbytes : (number + 1) * nbytes]
        left, top, width, height = frame.crop or (0, 0, size[1], size[0])
        above, _, before, _ = frame.padding or (0, 0, 0, 0)
        view[number] = given.padding_value if out.dtype != np.uint8 else min(max(round(given.padding_value), 0), 255)
        for y in range(height):
            for x in range(width):
                channels = _exchanged(given, name, _pixel(name, picture, *size, top + y, left + x))
                for channel, value in enumerate(_converted(given, name, channels, view.shape[1])):
                    view[number, channel, above + y, before + x] = _normalised(frame, channel, value, out.dtype.type)


@st.composite
def jobs(draw: st.DrawFn, name: str) -> tuple[AippSettings, tuple[int, int], tuple[int, int, int], int]:
    """Draw settings, the picture's size, (channels, height, width) of the result, and a batch."""
    step_w, step_h = 2 if name in PAIRED else 1, 2 if name == "YUV420SP_U8" else 1
    height, width = draw(st.integers(1, 5)) * step_h, draw(st.integers(1, 5)) * step_w
    batch = draw(st.integers(1, 2))
    byte = st.integers(0, 255)
    wide, high = draw(st.integers(1, width)), draw(st.integers(1, height))
    left = draw(st.integers(0, (width - wide) // step_w)) * step_w
    top = draw(st.integers(0, (height - high) // step_h)) * step_h
    crop = draw(st.sampled_from([None, (left, top, wide, high)]))
    padding = draw(st.sampled_from([None, tuple(draw(st.integers(0, 2)) for _ in range(4))]))
    halves = st.floats(-100, 100, width=16)
    frames = [
        AippFrame(
            crop=crop,
            padding=padding,
            mean=draw(st.sampled_from([(0,) * 4, tuple(draw(byte) for _ in range(4))])),
            minimum=draw(st.sampled_from([(0.0,) * 4, tuple(draw(halves) for _ in range(4))])),
            reciprocal=draw(st.sampled_from([(1.0,) * 4, tuple(draw(halves) for _ in range(4))])),
        )
        for _ in range(draw(st.sampled_from([1, batch])))
    ]
    number = draw(st.sampled_from([st.integers(-600, 600), st.integers(-32768, 32767)]))
    matrix = draw(
        st.sampled_from([None, (298, 516, 0, 298, -100, -208, 298, 0, 409), tuple(draw(number) for _ in range(9))])
    )
    given = AippSettings(
        format=AippFormat[name],
        width=width,
        height=height,
        frames=frames,
        matrix=matrix,
        input_bias=tuple(draw(byte) for _ in range(3)),
        output_bias=tuple(draw(byte) for _ in range(3)),
        swaps_colours=draw(st.booleans()),
        moves_alpha=draw(st.booleans()),
        padding_value=draw(st.floats(-1000, 1000, width=16)),
    )
    native = {"YUV400_U8": 1, "RGB888_U8": 3}.get(name, 3 if name in PAIRED else 4)
    if matrix is not None:
        channels = 1 if native == 1 else draw(st.sampled_from([1, 3]))
    else:
        channels = draw(st.sampled_from([3, 4])) if native == 4 else native
    if crop is not None:
        width, height = wide, high
    above, below, before, behind = padding or (0, 0, 0, 0)
    return given, (given.height, given.width), (channels, above + height + below, before + width + behind), batch


@pytest.mark.parametrize("name", READ)
@given(data=st.data())
@settings(deadline=None, max_examples=40)
def test_every_pixel_is_right(name: str, data: st.DataObject) -> None:
    """C133: all formats, steps in every combination, to the bit: exchanged, cropped, converted, normalised, bordered."""
    job, size, (channels, height, width), batch = data.draw(jobs(name))
    dtype = data.draw(st.sampled_from([np.float32, np.float16, np.uint8]))
    is_nchw = data.draw(st.booleans())
    seed = data.draw(st.integers(0, 1000))
    pictures = np.random.default_rng(seed).integers(0, 256, batch * _size(name, *size), np.uint8)
    shape = (batch, channels, height, width) if is_nchw else (batch, height, width, channels)
    out, right = np.full(shape, 77, dtype), np.full(shape, 99, dtype)

    preprocess(job, pictures, size, out, is_nchw=is_nchw)

    expected(job, pictures.tobytes(), size, right, is_nchw=is_nchw)
    np.testing.assert_array_equal(out, right)


def test_pictures_of_many_strips() -> None:
    """A picture that is converted in several strips of rows is right at their seams, odd crops too."""
    height, width = 130, 1030
    job = AippSettings(
        AippFormat.YUV420SP_U8,
        width,
        height,
        (AippFrame(crop=(4, 2, 1021, 127), mean=(104, 117, 123, 0), reciprocal=(0.5, 0.25, 2, 1)),),
        matrix=(298, 0, 409, 298, -100, -208, 298, 516, 0),
        input_bias=(16, 128, 128),
    )
    pictures = np.random.default_rng(1).integers(0, 256, height * width * 3 // 2, np.uint8)
    out = np.empty((1, 3, 127, 1021), np.float32)

    preprocess(job, pictures, (height, width), out, is_nchw=True)

    for y in (0, 1, 29, 30, 31, 32, 33, 63, 64, 65, 126):
        for x in (0, 1, 510, 1019, 1020):
            channels = _converted(
                job, "YUV420SP_U8", _pixel("YUV420SP_U8", pictures.tobytes(), height, width, 2 + y, 4 + x), 3
            )
            right = [_normalised(job.frames[0], place, value, np.float32) for place, value in enumerate(channels)]
            assert out[0, :, y, x].tolist() == right


@pytest.mark.parametrize(
    ("matrix", "bias", "pixel", "colours"),
    [
        ((256, 0, 359, 256, -88, -183, 256, 454, 0), (0, 128, 128), (76, 84, 255), (254, 0, 0)),
        ((298, 0, 409, 298, -100, -208, 298, 516, 0), (16, 128, 128), (235, 128, 128), (254, 254, 254)),
        ((298, 0, 409, 298, -100, -208, 298, 516, 0), (16, 128, 128), (16, 128, 128), (0, 0, 0)),
        ((298, 0, 459, 298, -55, -136, 298, 541, 0), (16, 128, 128), (81, 90, 240), (255, 24, 0)),
    ],
)
def test_documented_matrices(
    matrix: tuple[int, ...], bias: tuple[int, ...], pixel: tuple[int, ...], colours: tuple[int, ...]
) -> None:
    """The matrices of the guide make of a YUV pixel the colour that shifts and cuts say, by hand."""
    job = AippSettings(AippFormat.AYUV444_U8, 1, 1, matrix=matrix, input_bias=bias)
    out = np.empty((1, 3, 1, 1), np.uint8)

    preprocess(job, np.array([9, *pixel], np.uint8), (1, 1), out, is_nchw=True)

    assert tuple(out.ravel().tolist()) == colours


def test_border_is_neither_converted_nor_normalised() -> None:
    """C133: the border has the value that was given, whatever mean, variance and conversion are."""
    job = AippSettings(
        AippFormat.RGB888_U8,
        2,
        2,
        (AippFrame(padding=(1, 0, 0, 1), mean=(100,) * 4, reciprocal=(2.0,) * 4),),
        padding_value=-7.5,
    )
    out = np.empty((1, 3, 3, 3), np.float32)

    preprocess(job, np.full(12, 110, np.uint8), (2, 2), out, is_nchw=True)

    assert out[0, 0].tolist() == [[-7.5, -7.5, -7.5], [20, 20, -7.5], [20, 20, -7.5]]


@pytest.mark.parametrize("name", [name for name in AippFormat.__members__ if name not in READ])
def test_formats_of_cards_are_refused_by_name(name: str) -> None:
    """Formats that only cards read are known, and refused with their name and those that are read."""
    with pytest.raises(NotSupported, match=rf"{name} here; it reads YUV420SP_U8.*AYUV444_U8"):
        AippSettings(AippFormat[name]).layout  # noqa: B018 - asking is what fails


@pytest.mark.parametrize(
    ("changes", "size", "text"),
    [
        ({"width": 3, "height": 2}, (2, 3), "width of a YUV420SP_U8 picture is at least 2, and even; 3 was given"),
        ({"width": 2, "height": 3}, (3, 2), "height of a YUV420SP_U8 picture is at least 2, and even; 3 was given"),
        ({"frames": [AippFrame(crop=(1, 0, 2, 2))]}, (4, 4), "begins at even places; 1, 0 was given"),
        ({"frames": [AippFrame(crop=(2, 0, 4, 2))]}, (4, 4), "4 x 2 at 2, 0 ends outside picture 0 of 4 x 4"),
        ({"format": None}, (4, 4), "state no format"),
    ],
)
def test_settings_that_do_not_fit_together(changes: dict[str, Any], size: tuple[int, int], text: str) -> None:
    """Sizes, crops and formats that do not fit are refused before a pixel is read."""
    job = AippSettings(AippFormat.YUV420SP_U8, 4, 4).evolve(**changes)

    with pytest.raises(InvalidArgument, match=text):
        preprocess(job, np.zeros(100, np.uint8), size, np.zeros((1, 3, 4, 4), np.float32), is_nchw=True)


def test_too_few_bytes_and_wrong_results_are_refused() -> None:
    """Fewer bytes than the pictures have, another size or other channels than the model's: nothing is written."""
    job, out = AippSettings(AippFormat.RGB888_U8, 4, 4), np.full((2, 3, 4, 4), 5, np.float32)

    with pytest.raises(ModelInputMismatch, match=r"reads 2 pictures of 4 x 4, 48 bytes each; 95 bytes were given"):
        preprocess(job, np.zeros(95, np.uint8), (4, 4), out, is_nchw=True)
    with pytest.raises(ModelInputMismatch, match=r"makes 3 channels of 8 x 4 of picture 0; the model takes 3 .* 4 x 4"):
        preprocess(job, np.zeros(999, np.uint8), (4, 8), out, is_nchw=True)
    with pytest.raises(ModelInputMismatch, match=r"makes 3 channels .* takes 1 channels"):
        preprocess(job, np.zeros(999, np.uint8), (4, 4), out[:, :1], is_nchw=True)
    with pytest.raises(ModelInputMismatch, match="settings for 2 pictures; the batch has 3"):
        preprocess(
            job.evolve(frames=[AippFrame()] * 2),
            np.zeros(999, np.uint8), (4, 4), np.zeros((3, 3, 4, 4), np.float32), is_nchw=True,
        )  # fmt: skip

    assert (out == 5).all()


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"mean": (0, 0, 256, 0)}, "mean goes from 0 to 255; 256"),
        ({"mean": (0, 0, 0)}, "mean has 4 numbers; 3"),
        ({"minimum": (0, float("nan"), 0, 0)}, "minimum is finite"),
        ({"reciprocal": (7e4, 0, 0, 0)}, "reciprocal is finite and within 65504"),
        ({"crop": (0, 0, 0, 4)}, "at least a pixel; 0 x 4"),
        ({"padding": (0, -1, 0, 0)}, "padding goes from 0 to 4096; -1"),
        ({"mean": (0, 1.5, 0, 0)}, "mean goes from 0 to 255; 1.5"),
    ],
)
def test_frames_that_cannot_be(change: dict[str, Any], text: str) -> None:
    """A number out of its range is refused where the frame is made."""
    with pytest.raises(InvalidArgument, match=text):
        AippFrame(**change)
