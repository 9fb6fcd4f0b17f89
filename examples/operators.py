"""Find the stars of a sky with device operators: fixed shapes, half precision, and a result that values size.

A picture with noise and some stars is made. On the device it is smoothed by a convolution, its local
maxima are those pixels that a max pooling leaves as they are, and the bright ones among them are listed
by NonZero, whose number of rows is known only after the run. The brightest of them are compared with the
stars that were put in.

The exit status is 0 if every star was found where it is, 1 if not, 2 for a wrong command line.
"""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import Sequence
from time import perf_counter

import attrs
import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

import aacl
from aacl import DataType, Format, Operation, ops

SIZE, STARS, RADIUS, WIDTH = 512, 24, 4, 1.5
NOISE, LIMIT = 0.05, 0.25
Array = NDArray[np.generic]


@attrs.frozen
class Sky:
    """A picture with stars.

    Attributes:
        picture: float32, [1, 1, rows, columns].
        places: int64, a row and a column a star.
        lights: float64, the brightness of each.
    """

    picture: Array
    places: Array
    lights: Array

    @classmethod
    def make(cls, size: int, stars: int, seed: int) -> Sky:
        """Return a sky whose stars lie at least 8 radii apart, brightest first."""
        rng = np.random.default_rng(seed)
        cells = size // (8 * RADIUS)
        chosen = rng.choice(cells * cells, stars, replace=False)
        corners = np.stack(np.divmod(chosen, cells), 1) * 8 * RADIUS
        places = corners + rng.integers(2 * RADIUS, 6 * RADIUS, corners.shape)
        lights = np.linspace(1.5, 0.6, stars)
        picture = rng.normal(0, NOISE, (size, size))
        spot = _spot()
        for (row, column), light in zip(places, lights, strict=True):
            picture[row - RADIUS : row + RADIUS + 1, column - RADIUS : column + RADIUS + 1] += light * spot
        return cls(picture[None, None].astype(np.float32), places, lights)


@attrs.frozen
class Found:
    """What the device found.

    Attributes:
        places: int64, a row and a column a local maximum, in the picture's order.
        brightest: which of these are brightest, brightest first.
        bounds: the most rows that NonZero could have had.
    """

    places: Array
    brightest: Array
    bounds: int


def _spot() -> Array:
    """Return how a star of brightness 1 looks."""
    steps = np.arange(-RADIUS, RADIUS + 1)
    return np.asarray(np.exp(-(steps[:, None] ** 2 + steps**2) / (2 * WIDTH**2)))


async def search(stream: aacl.Stream, sky: Sky, count: int) -> Found:
    """Return the local maxima of a picture, and the brightest ``count`` of them."""
    picture = await upload(stream, sky.picture)
    spot = _spot()
    lens = await upload(stream, (spot / (spot**2).sum())[None, None].astype(np.float32))

    # Nothing is waited for: each command takes what the one before is still to make.
    flat = {"strides": [1] * 4, "pads": [RADIUS] * 4, "data_format": "NCHW"}
    smooth = stream.execute(Operation("Conv2D", [picture, lens], flat))
    window = {"ksize": [1, 1, 5, 5], "strides": [1] * 4, "padding_mode": "SAME", "data_format": "NCHW"}
    highest = stream.execute(Operation("MaxPoolV3", [smooth], window))
    is_top = stream.execute(ops.Equal(smooth, highest))
    is_bright = stream.execute(ops.Greater(smooth, np.float32(LIMIT)))
    tops = Operation("NonZero", [stream.execute(ops.LogicalAnd(is_top, is_bright))])
    rows = stream.execute(tops)
    # What takes a result whose shape is not known yet has a shape that is not known yet.
    lights = stream.execute(Operation("GatherNd", [smooth, rows]))
    half = await stream.execute(ops.Cast(lights, dst_type=DataType.FLOAT16))
    _, brightest = await stream.execute(Operation("TopK", [half, np.int32(min(count, half.shape[0]))]))
    (bounds,) = tops.infer()
    return Found((await stream.to_host(rows))[:, 2:], await stream.to_host(brightest), bounds.ranges[0][1])


async def upload(stream: aacl.Stream, array: Array) -> aacl.Tensor:
    """Return a picture on the device, its dims named."""
    tensor = await stream.to_device(array)
    return aacl.Tensor(aacl.TensorDesc.of(tensor.dtype, tensor.shape, Format.NCHW), tensor.buffer)


async def run(sky: Sky, count: int) -> tuple[Found, float]:
    """Search a sky twice; return what was found, and the seconds of the second time, when all is prepared."""
    async with aacl.Device(0), aacl.Stream() as stream:
        await search(stream, sky, count)
        began = perf_counter()
        found = await search(stream, sky, count)
        return found, perf_counter() - began


def show(console: Console, sky: Sky, found: Found) -> int:
    """Print the stars beside what was found; return how many are wrong."""
    table = Table(title=f"{len(sky.places)} stars, brightest first; {len(found.places)} bright spots of at most "
                  f"{found.bounds}")  # fmt: skip
    for heading in ("put in at", "brightness", "found at"):
        table.add_column(heading, justify="right")
    places = {tuple(place) for place in found.places[found.brightest].tolist()}
    wrong = 0
    for place, light in zip(sky.places.tolist(), sky.lights.tolist(), strict=True):
        row, column = place
        near = [(r, c) for r, c in places if abs(r - row) <= 1 and abs(c - column) <= 1]
        wrong += not near
        table.add_row(f"{row}, {column}", f"{light:.2f}", f"{near[0][0]}, {near[0][1]}" if near else "missed")
    console.print(table)
    return wrong


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", type=int, default=SIZE, help="rows and columns of the picture (default %(default)s)")
    parser.add_argument("--stars", type=int, default=STARS, help="how many stars are put in (default %(default)s)")
    parser.add_argument("--seed", type=int, default=1, help="of the noise and the places (default %(default)s)")
    options = parser.parse_args(arguments)
    if not 1 <= options.stars <= (options.size // (8 * RADIUS)) ** 2:
        parser.error(f"{options.stars} stars do not fit {options.size} rows; {8 * RADIUS} rows and columns take one")
    sky = Sky.make(options.size, options.stars, options.seed)
    found, seconds = asyncio.run(run(sky, options.stars))
    console = Console()
    wrong = show(console, sky, found)
    console.print(f"{options.size}\N{MULTIPLICATION SIGN}{options.size} pixels in {seconds * 1e3:.1f} ms")
    return 1 if wrong else 0


if __name__ == "__main__":
    raise SystemExit(main())
