"""TensorFlow's frozen graphs, through tf2onnx where it is installed."""

from __future__ import annotations

import os
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from aacl.converter._reports import ModelFileMissing, ModelUnreadable, Unconvertible

if TYPE_CHECKING:
    from onnx import ModelProto

    from aacl.converter._pipeline import Request

__all__ = ("read_tensorflow",)

_OPSET = 17


def read_tensorflow(path: str | os.PathLike[str], request: Request) -> ModelProto:
    """Read a frozen TensorFlow graph (``.pb``) as an ONNX model; inputs and outputs keep their nodes' names.

    The outputs are those of ``--out_nodes``, else the nodes that nothing reads.

    Raises:
        Unconvertible: tf2onnx or TensorFlow is not installed, or tf2onnx cannot convert the graph.
        ModelFileMissing: there is no such file.
        ModelUnreadable: it is no frozen graph.
    """
    tensorflow, tf2onnx = _modules()
    graph = _read(tensorflow, Path(path))
    inputs = [node.name for node in graph.node if node.op == "Placeholder"]
    outputs = _outputs(graph, request)
    try:
        model, _ = tf2onnx.convert.from_graph_def(
            graph, input_names=[f"{name}:0" for name in inputs], output_names=outputs, opset=_OPSET
        )
    except Exception as error:  # tf2onnx raises what its parts raise
        raise Unconvertible("E10055", f"tf2onnx cannot convert {os.fspath(path)!r}: {error}") from error
    return _renamed(model, {f"{name}:0": name for name in inputs})


def _modules() -> tuple[Any, Any]:
    try:  # by name: neither is needed, nor typed
        tensorflow, tf2onnx = import_module("tensorflow"), import_module("tf2onnx")
        import_module("tf2onnx.convert")
    except ImportError as error:
        raise Unconvertible(
            "E10055",
            f"--framework=3 (TensorFlow) needs the package {error.name}, which is not installed",
            solution="pip install 'aacl[tensorflow]', or export the model to ONNX.",
        ) from error
    return tensorflow, tf2onnx


def _read(tensorflow: Any, path: Path) -> Any:
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        raise ModelFileMissing("E10410", f"the model {os.fspath(path)!r} does not exist") from None
    except (OSError, ValueError) as error:  # ValueError: what no path can have in it
        raise ModelUnreadable("E10041", f"the model {os.fspath(path)!r} cannot be read: {error}") from error
    graph = tensorflow.compat.v1.GraphDef()
    try:
        graph.ParseFromString(data)
    except Exception as error:  # protobuf's own class, of the version that TensorFlow brings
        raise ModelUnreadable(
            "E10041", f"the model {os.fspath(path)!r} ({len(data)} bytes) is no frozen TensorFlow graph: {error}"
        ) from error
    if not graph.node:
        raise ModelUnreadable("E10041", f"the model {os.fspath(path)!r} ({len(data)} bytes) has no nodes")
    return graph


def _outputs(graph: Any, request: Request) -> list[str]:
    """Return the outputs as ``node:index``: all nodes that nothing reads, unless ``--out_nodes`` names some."""
    if isinstance(request.out_nodes, str):
        return [item.strip() for item in request.out_nodes.strip().rstrip(";").split(";")]
    if request.out_nodes is not None:
        return list(request.out_nodes)
    read = {name.lstrip("^").partition(":")[0] for node in graph.node for name in node.input}
    return [f"{node.name}:0" for node in graph.node if node.name not in read and node.op != "NoOp"]


def _renamed(model: ModelProto, names: dict[str, str]) -> ModelProto:
    """Give inputs other names."""
    for value in model.graph.input:
        value.name = names.get(value.name, value.name)
    for node in model.graph.node:
        for place, name in enumerate(node.input):
            node.input[place] = names.get(name, name)
    return model
