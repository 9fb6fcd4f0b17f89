"""A trial session: whether ONNX Runtime loads the converted model, and the shapes of its outputs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from aacl.converter._dependence import dependent_outputs
from aacl.converter._reports import ModelUnreadable, Unconvertible

if TYPE_CHECKING:
    from onnx import ModelProto

    from aacl.converter._constants import Constant
    from aacl.models._signature import TensorSpec

__all__ = ("OutputFacts", "output_facts")

_SILENT = 4  # ONNX Runtime's severity "fatal": everything else comes as an exception
OutputFacts = tuple[str, tuple[int, ...]]
"""An output's ONNX Runtime type, such as ``tensor(float)``, and its dims."""


def output_facts(model: ModelProto, constants: dict[str, Constant], inputs: Sequence[TensorSpec]) -> list[OutputFacts]:
    """Load the model and return the type and the dims of each output.

    Dims come from shape inference where it decides them, else from a trial run,
    once it is clear that they do not depend on values.

    Raises:
        Unconvertible: the model uses what ONNX Runtime has no code for, or an output's dims depend on values.
        ModelUnreadable: the model is not sound: names, types or shapes do not fit together.
    """
    session = _session(model, constants)
    nodes = session.get_outputs()
    scalars = _scalar_outputs(model) if any(not node.shape for node in nodes) else set()
    if all(_is_decided(node, scalars) for node in nodes):
        return [(node.type, tuple(node.shape)) for node in nodes]
    _check_independence(model, [node.name for node in nodes if not _is_decided(node, scalars)])
    shapes = _tried_shapes(session, inputs)
    return [(node.type, shape) for node, shape in zip(nodes, shapes, strict=True)]


def _check_independence(model: ModelProto, undecided: list[str]) -> None:
    """Check that a trial run tells the shapes that inference could not."""
    dependent = [name for name in dependent_outputs(model) if name in undecided]
    if dependent:
        raise Unconvertible(
            "E10055",
            f"the shapes of these outputs depend on the values of the inputs, which is not converted yet: "
            f"{', '.join(map(repr, dependent))}",
        )


def _session(model: ModelProto, constants: dict[str, Constant]) -> Any:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.log_severity_level = _SILENT
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_BASIC
    # The session is for looking, not for running: constants need not be laid out anew.
    options.add_session_config_entry("session.disable_prepacking", "1")
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
    kind = type(error).__name__
    if kind == "NotImplemented" or "is not a registered function/op" in text:
        return Unconvertible("E16002", f"the model uses an operator in a form that cannot be run: {text}")
    if kind in ("InvalidGraph", "InvalidProtobuf") or "invalid model" in text.lower():
        return ModelUnreadable("E10041", f"the model is not sound: {text}")
    return Unconvertible("E10055", f"the model cannot be run: {text}")


def _tried_shapes(session: Any, inputs: Sequence[TensorSpec]) -> list[tuple[int, ...]]:
    """Run the model on some values and return the shapes that come out.

    The shapes do not depend on the values; but a run may refuse some, such as an index that is out of range.
    """
    failure: Exception | None = None
    for fill in (np.zeros, np.ones):
        feeds = {spec.name: fill(spec.shape, spec.dtype.numpy_dtype) for spec in inputs}
        try:
            return [tuple(result.shape) for result in session.run(None, feeds)]
        except Exception as error:  # as above
            failure = error
    raise Unconvertible(
        "E10055", f"the shapes of the outputs can neither be inferred nor found by a trial run: {failure}"
    ) from failure
