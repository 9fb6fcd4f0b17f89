"""AIPP: pictures of a camera, 1920 x 1080 in NV12, made the planes of RGB that a model takes, beside OpenCV."""

from __future__ import annotations

import asyncio
from typing import Any

import numpy as np

from aacl.models import AippFormat, AippFrame, AippSettings
from aacl.models._aipp_pixels import preprocess
from benchmarks._harness import Samples, Side, Steps, alternate, timed
from benchmarks._peers import Absent, load
from benchmarks._result import Result, at_least, compared, missing

__all__ = ("measure",)

ROUNDS = 15
WIDTH, HEIGHT = 1920, 1080
NARROW = (298, 0, 409, 298, -100, -208, 298, 516, 0)
SCALE = 1 / 255
MEANS, SCALES = (104, 117, 123), (1 / 57, 1 / 58, 1 / 59)
SHARE = "AIPP of 1080p NV12 to RGB float32 / OpenCV"


def measure() -> list[Result]:
    """Measure a picture scaled by one number, and one with a mean and a scale for each channel."""
    picture = np.random.default_rng(0).integers(0, 256, (HEIGHT * 3 // 2, WIDTH), np.uint8)
    plain = _ours(picture, (0, 0, 0), (SCALE,) * 3)
    channels = _ours(picture, MEANS, SCALES)
    try:
        theirs = _opencv(load("cv2"), picture)
    except Absent as error:
        samples = asyncio.run(alternate({"plain": plain}, ROUNDS))
        spread = samples.ratio("plain", "plain")
        return [missing(SHARE, str(error)), compared("AIPP of 1080p NV12", spread, detail=_times(samples))]
    scaled = asyncio.run(alternate({"ours": plain, **theirs[0]}, ROUNDS))
    normalised = asyncio.run(alternate({"ours": channels, **theirs[1]}, ROUNDS))
    return [_result(f"{SHARE}, scaled", scaled), _result(f"{SHARE}, mean and scale a channel", normalised)]


def _ours(picture: Any, means: tuple[int, ...], scales: tuple[float, ...]) -> Side:
    frame = AippFrame(mean=(*means, 0), reciprocal=(*scales, 1))
    settings = AippSettings(AippFormat.YUV420SP_U8, WIDTH, HEIGHT, (frame,), NARROW, (16, 128, 128))
    out = np.empty((1, 3, HEIGHT, WIDTH), np.float32)

    @timed(1)
    def ours(_: Steps) -> None:
        preprocess(settings, picture, (HEIGHT, WIDTH), out, is_nchw=True)

    return ours


def _opencv(cv2: Any, picture: Any) -> tuple[dict[str, Side], dict[str, Side]]:
    """Return the ways in which OpenCV's own functions do both, all of its threads at work."""
    planes = np.empty((3, HEIGHT, WIDTH), np.float32)
    factors = np.array(SCALES, np.float32)

    def colours() -> Any:
        return cv2.cvtColor(picture, cv2.COLOR_YUV2RGB_NV12)

    @timed(1)
    def blob(_: Steps) -> None:
        cv2.dnn.blobFromImage(colours(), SCALE)

    @timed(1)
    def split(_: Steps) -> None:
        for place, channel in enumerate(cv2.split(colours())):
            cv2.multiply(channel, SCALE, planes[place], dtype=cv2.CV_32F)

    @timed(1)
    def blob_of_channels(_: Steps) -> None:
        made = cv2.dnn.blobFromImage(colours(), 1.0, mean=MEANS)
        np.multiply(made, factors[:, None, None], out=made)

    @timed(1)
    def split_channels(_: Steps) -> None:
        for place, channel in enumerate(cv2.split(colours())):
            cv2.subtract(channel, MEANS[place], planes[place], dtype=cv2.CV_32F)
            cv2.multiply(planes[place], SCALES[place], planes[place])

    return (
        {"blobFromImage": blob, "split and multiply": split},
        {"blobFromImage": blob_of_channels, "split, subtract and multiply": split_channels},
    )


def _result(name: str, samples: Samples) -> Result:
    others = [each for each in samples.rounds if each != "ours"]
    return at_least(name, samples.inverse_ratio("ours", *others), 0.5, detail=_times(samples))


def _times(samples: Samples) -> str:
    return ", ".join(f"{each} {samples.median(each) * 1e3:.1f} ms" for each in samples.rounds)
