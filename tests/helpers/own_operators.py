"""Operators of the program's own: one that scales, and any with a single kernel."""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

import aacl
from aacl import Launch, Operation, TensorDesc, register_operator


def scale(_block: aacl.Block, inputs: Any, outputs: Any, _workspaces: Any, tiling: bytes) -> None:
    """Write the first input times the number in the tiling."""
    np.multiply(inputs[0], struct.unpack("<d", tiling)[0], out=outputs[0])


def zero(_block: aacl.Block, _inputs: Any, outputs: Any, _workspaces: Any, _tiling: bytes) -> None:
    """Write zeros."""
    for output in outputs:
        output[...] = 0


def by_k(_inputs: Any, _outputs: Any, attributes: Mapping[str, Any]) -> Launch:
    """Choose `scale` with attribute k."""
    return Launch("scale", tiling=struct.pack("<d", attributes.get("k", 1.0)))


def same(inputs: Any, _attributes: Any) -> list[Any]:
    """Say that the output is as the first input."""
    return [inputs[0]]


def scaling(**changes: Any) -> aacl.Registration:
    """Register "ScaleBy", which multiplies by attribute k, with changes."""
    return register_operator("ScaleBy", **{"selector": by_k, "kernels": {"scale": scale}, "infer": same, **changes})


class Own:
    """An operator of one kernel, with what its launches are like."""

    def __init__(self, kernel: Any, outputs: Sequence[Any] = (((4,), np.float64),), **launch: Any) -> None:
        descs = [TensorDesc.of(dtype, shape) for shape, dtype in outputs]
        self._registration = register_operator(
            "Own",
            selector=lambda *_: Launch("kernel", **launch),
            kernels={"kernel": kernel},
            infer=lambda *_: descs,
        )

    def __enter__(self) -> Callable[..., Operation]:
        return lambda *inputs, **options: Operation("Own", inputs, **options)

    def __exit__(self, *_: object) -> None:
        self._registration.close()
