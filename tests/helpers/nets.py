"""Values of small graphs, and arrays to run them on."""

from __future__ import annotations

import numpy as np
from onnx import helper


def value(name: str, element: int, dims: list[int | str] | None) -> object:
    """Describe an input or output of a graph; names among the dims are free dims."""
    return helper.make_tensor_value_info(name, element, dims)


def matrix(rows: int, columns: int, seed: int = 0) -> np.ndarray[tuple[int, ...], np.dtype[np.float32]]:
    """Return float32 values of a normal distribution."""
    return np.random.default_rng(seed).standard_normal((rows, columns)).astype(np.float32)
