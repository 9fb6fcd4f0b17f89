"""A fused operator of one's own: gated RMS normalisation, in one pass over memory instead of ten.

``y = x / sqrt(mean(x * x) + epsilon) * gamma * gate * sigmoid(gate)``, row by row, as language models have it in
every layer.
The operator is registered with two kernels: one in C, compiled for this machine when there is a compiler, and one
in Python. A selector sees the shapes and chooses the kernel, its tiling data and the number of blocks, which run at
the same time on the device's cores. Both are compared with the same formula made of the catalogue's operators.

The exit status is 0 if all agree, 1 if they do not, 2 for a wrong command line.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import shutil
import struct
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

import aacl
from aacl import ops

SHAPES = ((1, 4096), (16, 4096), (512, 4096))
EPSILON = 1e-6
TILING = struct.Struct("<qqqd")
"""Rows of a block, all rows, columns, and epsilon: ``tiling_t`` of the C kernel."""
ROWS_LEAST = 4
"""A block has at least as many rows."""
TOLERANCE = 2e-5

SOURCE = """
#include "aacl_kernel.h"
#include <math.h>

typedef struct { long share, rows, columns; double epsilon; } tiling_t;

AACL_KERNEL(gated_rms_norm) {
    const tiling_t *t = tiling;
    const float *x = inputs[0], *gate = inputs[1], *gamma = inputs[2];
    float *y = outputs[0];
    if (t->share * blocks < t->rows) AACL_FAIL(1);  /* rows that nobody computes */
    for (long row = block * t->share; row < (block + 1) * t->share && row < t->rows; ++row) {
        const float *xs = x + row * t->columns, *gates = gate + row * t->columns;
        float squares = 0, *ys = y + row * t->columns;
        for (long i = 0; i < t->columns; ++i) squares += xs[i] * xs[i];
        float scale = 1 / sqrtf(squares / t->columns + (float)t->epsilon);
        for (long i = 0; i < t->columns; ++i)
            ys[i] = xs[i] * scale * gamma[i] * gates[i] / (1 + expf(-gates[i]));
    }
}
"""


def plain(block: aacl.Block, inputs: Any, outputs: Any, _workspaces: Any, tiling: bytes) -> None:
    """Compute one block's rows with NumPy."""
    share, rows, _, epsilon = TILING.unpack(tiling)
    end = min((block.index + 1) * share, rows)
    for first in range(block.index * share, end, ROWS_LEAST):  # a few rows at a time stay in a core's cache
        part = slice(first, min(first + ROWS_LEAST, end))
        x, gate, y = inputs[0][part], inputs[1][part], outputs[0][part]
        np.multiply(x, 1 / np.sqrt(np.mean(np.square(x), -1, keepdims=True) + np.float32(epsilon)), out=y)
        y *= inputs[2]
        y *= gate / (1 + np.exp(-gate))


def select(inputs: Sequence[Any], _outputs: object, attributes: Mapping[str, Any]) -> aacl.Launch:
    """Choose for one signature: as many blocks as there are cores, if each has rows enough."""
    rows, columns = inputs[0].shape
    blocks = max(1, min(attributes["cores"], rows // ROWS_LEAST))
    tiling = TILING.pack(-(-rows // blocks), rows, columns, attributes["epsilon"])
    return aacl.Launch(attributes["kernel"], tiling=tiling, blocks=blocks)


def as_the_first(inputs: Sequence[Any], _attributes: object) -> list[aacl.TensorDesc]:
    """Say what the output is: what the first input is."""
    return [inputs[0]]


def compiled() -> aacl.SharedKernel | None:
    """Compile the C kernel; None where there is no compiler."""
    compiler = shutil.which(os.environ.get("CC", "cc"))
    if compiler is None:
        return None
    with tempfile.TemporaryDirectory() as folder:
        made = Path(folder, "kernel.so")
        options = ["-O3", "-march=native", "-ffast-math", "-shared", "-fPIC", f"-I{aacl.kernel_include_dir()}"]
        command = [compiler, *options, "-x", "c", "-", "-o", str(made), "-lm"]
        subprocess.run(command, input=SOURCE, text=True, check=True)
        return aacl.SharedKernel(made, "gated_rms_norm")


async def of_the_catalogue(stream: aacl.Stream, x: aacl.Tensor, gate: aacl.Tensor, gamma: aacl.Tensor) -> aacl.Tensor:
    """Compute the same with ready operators, each of which reads and writes memory once more."""
    mean = stream.execute(ops.ReduceMean(stream.execute(ops.Square(x)), [-1], keep_dims=True))
    scale = stream.execute(ops.Rsqrt(stream.execute(ops.Add(mean, EPSILON))))
    normal = stream.execute(ops.Mul(stream.execute(ops.Mul(x, scale)), gamma))
    gated = stream.execute(ops.Mul(gate, stream.execute(ops.Sigmoid(gate))))
    result: aacl.Tensor = await stream.execute(ops.Mul(normal, gated))
    return result


async def measure(
    stream: aacl.Stream, shape: tuple[int, int], kernels: Sequence[str], runs: int
) -> list[tuple[str, float, float]]:
    """Return for each way its name, milliseconds a run, and its largest difference from the first way."""
    random = np.random.default_rng(7)
    arrays = [random.standard_normal(size, np.float32) for size in (shape, shape, shape[1:])]
    x, gate, gamma = [await stream.to_device(array) for array in arrays]
    common = {"epsilon": EPSILON, "cores": len(os.sched_getaffinity(0))}
    expected, found = None, []
    for name in ("catalogue", *kernels):
        times, y = [], x
        for _ in range(runs):
            began = perf_counter()
            if name == "catalogue":
                y = await of_the_catalogue(stream, x, gate, gamma)
            else:
                y = await stream.execute(aacl.Operation("GatedRmsNorm", [x, gate, gamma], {**common, "kernel": name}))
            times.append(perf_counter() - began)
        result = await stream.to_host(y)
        expected = result if expected is None else expected
        found.append((name, 1e3 * sorted(times)[runs // 2], float(np.abs(result - expected).max())))
    return found


async def run(console: Console, kernels: Mapping[str, Any], runs: int) -> bool:
    """Measure every shape, show the table, and return whether all agree."""
    table = Table("rows x columns", "made of", "ms", "times as fast", "largest difference")
    worst = 0.0
    with aacl.register_operator("GatedRmsNorm", selector=select, kernels=kernels, infer=as_the_first):
        async with aacl.Device(0), aacl.Stream() as stream:
            for shape in SHAPES:
                found = await measure(stream, shape, list(kernels), runs)
                for name, took, difference in found:
                    faster = f"{found[0][1] / took:.1f}"
                    table.add_row(f"{shape[0]} x {shape[1]}", name, f"{took:.3f}", faster, f"{difference:.1e}")
                    worst = max(worst, difference)
                table.add_section()
    console.print(table)
    return worst <= TOLERANCE


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return the exit status."""
    parser = argparse.ArgumentParser(description="Run a fused operator of one's own beside the catalogue's operators.")
    parser.add_argument("--python", action="store_true", help="do without the C kernel, as where there is no compiler")
    parser.add_argument("--runs", type=int, default=30, help="of which the median time is shown; 30 by default")
    options = parser.parse_args(arguments)
    if options.runs < 1:
        parser.error("--runs is at least 1")
    console = Console()
    kernels: dict[str, Any] = {"Python kernel": plain}
    shared = None if options.python else compiled()
    if shared is None:
        console.print("No C kernel: " + ("as asked." if options.python else "there is no compiler here."))
    else:
        kernels["C kernel"] = shared
    agree = asyncio.run(run(console, kernels, options.runs))
    console.print("All ways agree." if agree else f"The ways differ by more than {TOLERANCE}.")
    return 0 if agree else 1


if __name__ == "__main__":
    sys.exit(main())
