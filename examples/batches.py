"""Read a stream of noisy digits in batches, in four ways, and compare the answers.

Pictures of digits arrive one by one from an asynchronous generator. A model that finds the most similar template is
converted three times: for a fixed batch, for batch gears, and for any batch. The pictures go through ``model.map``
with each, and one by one through ``model.infer``. All answers are compared with NumPy's.

The exit status is 0 if all ways agree with NumPy on every picture, 1 if not, 2 for a wrong command line.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from time import perf_counter
from typing import Any

import attrs
import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper
from rich.console import Console
from rich.table import Table

import aacl

Picture = NDArray[np.float32]
NOISE = 0.16
GLYPHS = """
 ###    #    ###  ####     #  #####  ###  #####  ###   ###
#   #  ##   #   #     #   ##  #     #         # #   # #   #
#   #   #       # ####   # #  ####  ####     #   ###  #   #
#   #   #      #      # ##### #   # #   #   #   #   #  ####
#   #   #    #    #   #    #      # #   #  #    #   #     #
 ###   ###  ##### ####     #  ####   ###   #     ###   ###
"""


@attrs.frozen
class Outcome:
    """What one way of running found.

    Attributes:
        name: of the way.
        digits: what each picture shows.
        runs: how often the model ran.
        seconds: from the first picture to the last answer.
    """

    name: str
    digits: list[int]
    runs: int
    seconds: float


def templates() -> Picture:
    """Return ten pictures, float32 [10, 6, 6], each of mean 0 and length 1."""
    lines = [line.ljust(60) for line in GLYPHS.strip("\n").split("\n")]
    drawn = np.array(
        [[[char == "#" for char in line[6 * each : 6 * each + 6]] for line in lines] for each in range(10)]
    )
    centred = drawn - drawn.mean((1, 2), keepdims=True)
    made: Picture = (centred / np.linalg.norm(centred, axis=(1, 2), keepdims=True)).astype(np.float32)
    return made


def model_of(shapes: Picture) -> onnx.ModelProto:
    """Return a model from pictures [n, 6, 6] to the similarity with each template, [n, 10]."""
    graph = helper.make_graph(
        [
            helper.make_node("Flatten", ["pictures"], ["rows"]),
            helper.make_node("MatMul", ["rows", "templates"], ["similarities"]),
            helper.make_node("Softmax", ["similarities"], ["digits"]),
        ],
        "digits",
        [helper.make_tensor_value_info("pictures", TensorProto.FLOAT, ["n", 6, 6])],
        [helper.make_tensor_value_info("digits", TensorProto.FLOAT, ["n", 10])],
        [numpy_helper.from_array(shapes.reshape(10, 36).T.copy(), "templates")],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


async def arriving(pictures: Sequence[Picture]) -> AsyncIterator[Picture]:
    """Yield pictures as a camera would: a few at a time, with pauses in which the loop does other things."""
    for number, picture in enumerate(pictures):
        if number % 5 == 0:
            await asyncio.sleep(0)
        yield picture


async def one_by_one(path: Path, pictures: Sequence[Picture]) -> Outcome:
    """Run a model on each picture as it comes."""
    async with aacl.Device(), aacl.Stream(), aacl.Model(path) as model:
        began = perf_counter()
        digits = [int((await model.infer(picture[None])).argmax()) async for picture in arriving(pictures)]
        return Outcome("one by one", digits, model.statistics().runs, perf_counter() - began)


async def mapped(name: str, path: Path, pictures: Sequence[Picture], workers: int) -> Outcome:
    """Run a model on batches of them."""
    async with aacl.Device(), aacl.Model(path) as model:
        began = perf_counter()
        results = model.map(arriving(pictures), workers=workers)
        digits = [int(similarities.argmax()) async for _, similarities in results]
        return Outcome(name, digits, model.statistics().runs, perf_counter() - began)


async def run(options: argparse.Namespace, pictures: Sequence[Picture], shapes: Picture) -> list[Outcome]:
    """Convert the model three times, and run all ways."""
    gears = sorted({1, options.batch} | {size for size in (2, 4) if size < options.batch})
    ways: dict[str, dict[str, Any]] = {
        f"fixed batch {options.batch}": {"input_shape": {"pictures": (options.batch, 6, 6)}},
        f"gears {', '.join(map(str, gears))}": {
            "input_shape": {"pictures": (-1, 6, 6)}, "dynamic_batch_size": gears,
        },
        f"any batch up to {options.batch}": {"input_shape": {"pictures": (f"1~{options.batch}", 6, 6)}},
    }  # fmt: skip
    with tempfile.TemporaryDirectory() as folder:
        paths = [
            aacl.convert(model_of(shapes), Path(folder) / f"digits{number}", **arguments)
            for number, arguments in enumerate(ways.values())
        ]
        pairs = zip(ways, paths, strict=True)
        outcomes = [await mapped(name, path, pictures, options.workers) for name, path in pairs]
        return [await one_by_one(paths[-1], pictures), *outcomes]


def show(outcomes: Sequence[Outcome], expected: Sequence[int], console: Console) -> bool:
    """Print what each way found; return whether all found the same as NumPy."""
    table = Table("way", "pictures", "runs", "ms", "as NumPy")
    for outcome in outcomes:
        agree = outcome.digits == list(expected)
        table.add_row(
            outcome.name,
            str(len(outcome.digits)),
            str(outcome.runs),
            f"{outcome.seconds * 1e3:.1f}",
            "✓" if agree else "✗",
        )
    console.print(table)
    return all(outcome.digits == list(expected) for outcome in outcomes)


def _parser() -> argparse.ArgumentParser:
    description, status = (__doc__ or "").split("\n\n", 1)
    parser = argparse.ArgumentParser(description=description, epilog=status)
    parser.add_argument("--pictures", type=_number(0), default=1003, help="how many (default: %(default)s)")
    parser.add_argument("--batch", type=_number(2), default=8, help="pictures a run, 2 or more (default: %(default)s)")
    parser.add_argument("--workers", type=_number(1), default=2, help="streams that run (default: %(default)s)")
    return parser


def _number(least: int) -> Any:
    def number(text: str) -> int:
        if int(text) < least:
            raise argparse.ArgumentTypeError(f"{text} is below {least}")
        return int(text)

    return number


def main() -> int:
    """Make pictures, read them, and compare."""
    options, console = _parser().parse_args(), Console()
    rng, shapes = np.random.default_rng(0), templates()
    shown = rng.integers(0, 10, options.pictures)
    pictures = [shapes[digit] + rng.normal(0, NOISE, (6, 6)).astype(np.float32) for digit in shown]
    expected = [int((shapes * picture).sum((1, 2)).argmax()) for picture in pictures]
    agree = show(asyncio.run(run(options, pictures, shapes)), expected, console)
    right = sum(int(digit == found) for digit, found in zip(shown, expected, strict=True))
    console.print(f"{right} of {options.pictures} digits are what was drawn")
    return 0 if agree else 1


if __name__ == "__main__":
    sys.exit(main())
