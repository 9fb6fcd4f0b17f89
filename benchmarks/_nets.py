"""The networks that are measured, and ONNX Runtime's own calls of them."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import _peers
from benchmarks._harness import Side, Steps, timed

__all__ = ("SIZE", "conv_net", "image", "io_binding", "magika", "open_vino", "resnet50", "session")

SIZE = 32
CHANNELS = (3, 8, 16, 16)
Array = np.ndarray[Any, np.dtype[Any]]


def image() -> Array:
    """Return a picture for the convolution net."""
    return np.random.default_rng(5).standard_normal((1, CHANNELS[0], SIZE, SIZE)).astype(np.float32)


def conv_net(batch: int | str = 1) -> Any:
    """Return three convolutions of 3 by 3 with ReLU, 8 to 16 channels, on pictures of 32 by 32; input image."""
    from onnx import TensorProto, helper, numpy_helper

    random, nodes, weights, source = np.random.default_rng(3), [], [], "image"
    for layer, (taken, given) in enumerate(pairwise(CHANNELS)):
        weight = (random.standard_normal((given, taken, 3, 3)) / np.sqrt(9 * taken)).astype(np.float32)
        weights.append(numpy_helper.from_array(weight, f"w{layer}"))
        nodes.append(helper.make_node("Conv", [source, f"w{layer}"], [f"c{layer}"], pads=[1, 1, 1, 1]))
        source = f"r{layer}"
        nodes.append(helper.make_node("Relu", [f"c{layer}"], [source]))
    infos = [
        helper.make_tensor_value_info(name, TensorProto.FLOAT, (batch, channels, SIZE, SIZE))
        for name, channels in (("image", CHANNELS[0]), (source, CHANNELS[-1]))
    ]
    graph = helper.make_graph(nodes, "conv", infos[:1], infos[1:], weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


def magika() -> Path:
    """Return the file of magika's model, int32 bytes [n, 2048].

    Raises:
        Absent: the package is not installed.
    """
    return next((_folder("magika") / "models").glob("*/model.onnx"))


def resnet50() -> Path:
    """Return the file of a ResNet-50, float32 gpu_0/data_0 [1, 3, 224, 224]; its weights are made by the graph."""
    return _folder("onnx") / "backend" / "test" / "data" / "light" / "light_resnet50.onnx"


def _folder(package: str) -> Path:
    spec = find_spec(package)
    if spec is None or spec.origin is None:
        raise _peers.Absent(f"{package} is not installed")
    return Path(spec.origin).parent


def session(model: Any) -> Any:
    """Return an ONNX Runtime session with its default options, of a file, of bytes or of a model in memory."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    source = model if isinstance(model, bytes) else str(model) if isinstance(model, Path) else model.SerializeToString()
    return onnxruntime.InferenceSession(source, options, providers=["CPUExecutionProvider"])


def io_binding(model: Any, feeds: Mapping[str, Array], count: int) -> tuple[Side, Array]:
    """Return ``session.run_with_iobinding`` on memory bound beforehand, and what it gives."""
    import onnxruntime

    ours = session(model)
    expected: Array = ours.run(None, dict(feeds))[0]
    binding = ours.io_binding()
    for name, array in feeds.items():
        binding.bind_ortvalue_input(name, onnxruntime.OrtValue.ortvalue_from_numpy(array))
    target = onnxruntime.OrtValue.ortvalue_from_numpy(np.zeros_like(expected))
    binding.bind_ortvalue_output(ours.get_outputs()[0].name, target)

    @timed(count)
    def run(steps: Steps) -> None:
        for _ in steps:
            ours.run_with_iobinding(binding)

    return run, expected


def open_vino(model: Any, hint: str) -> Any:
    """Return OpenVINO's compiled model for a hint, LATENCY or THROUGHPUT.

    Raises:
        Absent: there is no OpenVINO.
    """
    openvino = _peers.load("openvino")
    core = openvino.Core()
    return core.compile_model(core.read_model(model.SerializeToString(), b""), "CPU", {"PERFORMANCE_HINT": hint})
