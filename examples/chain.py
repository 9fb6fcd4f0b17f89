"""Find the edges of pictures with three models in a chain, and compare with one model made of the three.

The first model makes planes of floats out of a picture's bytes, the second takes gradients with a convolution, the
third measures how much of an edge each cell of the picture has. Each is converted by itself. They run one after the
other on one stream: what one makes is in device memory, where the next one takes it, and nothing waits in between.
The three merged into one ONNX model and run by ONNX Runtime are the measure, for the values and for the time.

The exit status is 0 if the values agree, 1 if not, 2 for a wrong command line.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

import attrs
import numpy as np
import onnx
import onnxruntime
from numpy.typing import NDArray
from onnx import TensorProto, compose, helper, numpy_helper
from rich.console import Console

import aacl

CELL, TOLERANCE = 8, 1e-5
Array = NDArray[Any]
BYTES, FLOATS = TensorProto.UINT8, TensorProto.FLOAT


@attrs.frozen
class Outcome:
    """What one way made.

    Attributes:
        edges: float32, [1, 1, cells, cells]: how much of an edge each cell has, the most being 1.
        seconds: the median of one run.
    """

    edges: Array
    seconds: float


def planes(size: int) -> onnx.ModelProto:
    """Return a model from bytes [1, size, size, 3] to brightness [1, 1, size, size], 0 to 1."""
    weights = np.array([0.299, 0.587, 0.114], np.float32) / 255
    nodes = [
        helper.make_node("Cast", ["picture"], ["floats"], to=FLOATS),
        helper.make_node("Mul", ["floats", "weights"], ["weighted"]),
        helper.make_node("ReduceSum", ["weighted", "last"], ["bright"], keepdims=1),
        helper.make_node("Transpose", ["bright"], ["brightness"], perm=[0, 3, 1, 2]),
    ]
    constants = {"weights": weights, "last": np.array([3])}
    return _model(
        "planes", nodes, ("picture", BYTES, [1, size, size, 3]), ("brightness", FLOATS, [1, 1, size, size]), constants
    )


def gradients(size: int) -> onnx.ModelProto:
    """Return a model from brightness to its gradient's length, [1, 1, size, size]."""
    sobel = np.outer([1, 2, 1], [-1, 0, 1]).astype(np.float32) / 4
    nodes = [
        helper.make_node("Pad", ["bright", "pads"], ["padded"], mode="edge"),
        helper.make_node("Conv", ["padded", "sobel"], ["both"]),
        helper.make_node("ReduceL2", ["both"], ["gradient"], axes=[1], keepdims=1),
    ]
    constants = {"pads": np.array([0, 0, 1, 1, 0, 0, 1, 1]), "sobel": np.stack([sobel, sobel.T])[:, None]}
    shape = [1, 1, size, size]
    return _model("gradients", nodes, ("bright", FLOATS, shape), ("gradient", FLOATS, shape), constants)


def cells(size: int) -> onnx.ModelProto:
    """Return a model from a gradient to the share of the strongest cell that each cell has."""
    nodes = [
        helper.make_node("AveragePool", ["steep"], ["pooled"], kernel_shape=[CELL, CELL], strides=[CELL, CELL]),
        helper.make_node("ReduceMax", ["pooled"], ["most"], keepdims=1),
        helper.make_node("Max", ["most", "least"], ["divisor"]),
        helper.make_node("Div", ["pooled", "divisor"], ["edges"]),
    ]
    few = size // CELL
    constants = {"least": np.array(1e-6, np.float32)}
    return _model("cells", nodes, ("steep", FLOATS, [1, 1, size, size]), ("edges", FLOATS, [1, 1, few, few]), constants)


def _model(
    name: str, nodes: Sequence[onnx.NodeProto], taken: Any, made: Any, constants: dict[str, Any]
) -> onnx.ModelProto:
    value = helper.make_tensor_value_info
    arrays = [numpy_helper.from_array(array, each) for each, array in constants.items()]
    graph = helper.make_graph(list(nodes), name, [value(*taken)], [value(*made)], arrays)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


def picture_of(size: int) -> Array:
    """Return a picture with a bright square in it, and noise; uint8, [1, size, size, 3]."""
    rng = np.random.default_rng(0)
    picture = rng.integers(0, 20, (1, size, size, 3))
    picture[:, size // 4 : size // 2, size // 4 : size // 2] += 200
    return picture.astype(np.uint8)


async def chained(paths: Sequence[Path], picture: Array, rounds: int) -> Outcome:
    """Run three models after each other."""
    async with aacl.Device(), aacl.Stream() as stream:
        first, second, third = [await aacl.Model(path).open() for path in paths]
        x = await stream.to_device(picture)
        seconds = []
        for _ in range(rounds):
            began = perf_counter()
            await stream.execute(third(second(first(x))))
            seconds.append(perf_counter() - began)
        return Outcome(await stream.to_host(stream.execute(third(second(first(x))))), median(seconds))


def merged(models: Sequence[onnx.ModelProto], picture: Array, rounds: int) -> Outcome:
    """Run the three as one model by ONNX Runtime."""
    first, second, third = (compose.add_prefix(model, f"{model.graph.name}_") for model in models)
    two = compose.merge_models(first, second, [("planes_brightness", "gradients_bright")])
    whole = compose.merge_models(two, third, [("gradients_gradient", "cells_steep")])
    session = onnxruntime.InferenceSession(whole.SerializeToString(), providers=["CPUExecutionProvider"])
    seconds = []
    for _ in range(rounds):
        began = perf_counter()
        session.run(None, {"planes_picture": picture})
        seconds.append(perf_counter() - began)
    return Outcome(session.run(None, {"planes_picture": picture})[0], median(seconds))


def show(edges: Array, console: Console) -> None:
    """Print the cells, the steeper the darker."""
    for row in edges[0, 0]:
        console.print("".join(" ░▒▓█"[min(int(share * 5), 4)] * 2 for share in row), highlight=False)


def _parser() -> argparse.ArgumentParser:
    description, status = (__doc__ or "").split("\n\n", 1)
    parser = argparse.ArgumentParser(description=description, epilog=status)
    parser.add_argument(
        "--size", type=int, default=192, help=f"of the picture, a multiple of {4 * CELL} (default: %(default)s)"
    )
    parser.add_argument("--rounds", type=int, default=200, help="how often each way runs (default: %(default)s)")
    return parser


def main() -> int:
    """Convert, run both ways, and compare."""
    parser, console = _parser(), Console()
    options = parser.parse_args()
    if options.size < 1 or options.size % (4 * CELL) or options.rounds < 1:
        parser.error(f"--size is a multiple of {4 * CELL}, and --rounds at least 1")
    models = [make(options.size) for make in (planes, gradients, cells)]
    picture = picture_of(options.size)
    with tempfile.TemporaryDirectory() as folder:
        paths = [aacl.convert(model, Path(folder) / model.graph.name) for model in models]
        chain = asyncio.run(chained(paths, picture, options.rounds))
    one = merged(models, picture, options.rounds)
    show(chain.edges, console)
    console.print(
        f"a chain of three: {chain.seconds * 1e6:.0f} µs; one merged model: {one.seconds * 1e6:.0f} µs "
        f"({chain.seconds / one.seconds:.2f} times that)"
    )
    difference = float(np.abs(chain.edges - one.edges).max())
    console.print(f"largest difference: {difference:.1e}")
    return 0 if difference <= TOLERANCE else 1


if __name__ == "__main__":
    sys.exit(main())
