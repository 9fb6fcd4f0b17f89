"""A trial session: whether ONNX Runtime loads the converted model, and the shapes of its outputs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from aacl.converter._reports import ModelUnreadable, Unconvertible

if TYPE_CHECKING:
    from onnx import ModelProto

    from aacl.abc import Array
    from aacl.converter._constants import Constant
    from aacl.models._signature import TensorSpec

__all__ = ("OutputFacts", "output_facts")

_SILENT = 4  # ONNX Runtime's severity "fatal": everything else comes as an exception
OutputFacts = tuple[str, tuple[int, ...]]
"""An output's ONNX Runtime type, such as ``tensor(float)``, and its dims."""

_FILLS: tuple[Callable[[np.random.Generator, tuple[int, ...]], Array], ...] = (
    lambda _, shape: np.zeros(shape),
    lambda _, shape: np.ones(shape),
    lambda random, shape: random.standard_normal(shape),
)


def output_facts(model: ModelProto, constants: dict[str, Constant], inputs: Sequence[TensorSpec]) -> list[OutputFacts]:
    """Load the model and return the type and the dims of each output.

    Dims come from shape inference where it decides them, else from trial runs
    on different values, which must agree.

    Raises:
        Unconvertible: the model uses what ONNX Runtime has no code for, or an output's dims depend on values.
        ModelUnreadable: the model is not sound: names, types or shapes do not fit together.
    """
    session = _session(model, constants)
    nodes = session.get_outputs()
    scalars = _scalar_outputs(model) if any(not node.shape for node in nodes) else set()
    if all(_is_decided(node, scalars) for node in nodes):
        return [(node.type, tuple(node.shape)) for node in nodes]
    shapes = _tried_shapes(session, inputs)
    return [(node.type, shape) for node, shape in zip(nodes, shapes, strict=True)]


def _session(model: ModelProto, constants: dict[str, Constant]) -> Any:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.log_severity_level = _SILENT
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_BASIC
    if constants:
        values = [_ort_value(constant) for constant in constants.values()]
        options.add_external_initializers(list(constants), values)
    try:
        return onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    except Exception as error:  # ONNX Runtime raises a dozen classes without a common base
        raise _translated(error) from error


def _is_decided(node: Any, scalars: set[str]) -> bool:
    """Whether inference gave an output's dims; ONNX Runtime shows a scalar and an unknown rank alike, as no dims."""
    if not node.shape:
        return node.name in scalars
    return all(isinstance(dim, int) for dim in node.shape)


def _scalar_outputs(model: ModelProto) -> set[str]:
    """Return the outputs that ONNX's own shape inference finds to be scalars."""
    from onnx import shape_inference

    inferred = shape_inference.infer_shapes(model, data_prop=True)
    types = [(value.name, value.type.tensor_type) for value in inferred.graph.output]
    return {name for name, tensor in types if tensor.HasField("shape") and not tensor.shape.dim}


def _ort_value(constant: Constant) -> Any:
    import onnxruntime

    array = np.frombuffer(constant.data, np.uint8)
    itemsize = len(array) // max(1, int(np.prod(constant.dims)))
    words = array.view(f"u{itemsize}").reshape(constant.dims)
    return onnxruntime.OrtValue.ortvalue_from_numpy_with_onnx_type(words, constant.element)


def _translated(error: Exception) -> ModelUnreadable | Unconvertible:
    text = str(error).strip()
    if type(error).__name__ == "NotImplemented":
        return Unconvertible("E16002", f"the model uses an operator in a form that cannot be run: {text}")
    return ModelUnreadable("E10041", f"the model is not sound: {text}")


def _tried_shapes(session: Any, inputs: Sequence[TensorSpec]) -> list[tuple[int, ...]]:
    random = np.random.default_rng(0)
    trials = []
    for fill in _FILLS:
        feeds = {spec.name: fill(random, spec.shape).astype(spec.dtype.numpy_dtype) for spec in inputs}
        trials.append(_run(session, feeds))
    for index, node in enumerate(session.get_outputs()):
        if len({trial[index] for trial in trials}) > 1:
            raise Unconvertible(
                "E10055",
                f"the shape of output {node.name!r} depends on the values of the inputs, which is not converted yet",
            )
    return trials[0]


def _run(session: Any, feeds: dict[str, Array]) -> list[tuple[int, ...]]:
    try:
        return [tuple(result.shape) for result in session.run(None, feeds)]
    except Exception as error:
        raise Unconvertible(
            "E10055", f"the shapes of the outputs can neither be inferred nor found by a trial run: {error}"
        ) from error
