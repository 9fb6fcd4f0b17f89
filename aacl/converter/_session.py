"""A trial session: whether ONNX Runtime loads the converted model, and what it says of the outputs."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import attrs
import numpy as np

from aacl.converter._reports import ModelUnreadable, Unconvertible
from aacl.converter._types import element_of

if TYPE_CHECKING:
    from onnx import ModelProto

    from aacl.converter._constants import Constant
    from aacl.converter._shapes import ModelDims
    from aacl.models._signature import TensorSpec

__all__ = ("OutputFacts", "TrialFailed", "TrialSession", "TrialTooLarge")

_SILENT = 4  # ONNX Runtime's severity "fatal": everything else comes as an exception
_LARGEST_TRIAL = 1 << 28  # bytes of inputs
Shape = tuple[int, ...]


@attrs.frozen
class OutputFacts:
    """What shape inference tells of one output.

    Attributes:
        name: the output's name in the graph.
        kind: ONNX Runtime's type, such as ``tensor(float)``.
        dims: numbers, symbols, None for a dim that is not known; None when not even the rank is.
    """

    name: str
    kind: str
    dims: ModelDims | None

    @property
    def is_decided(self) -> bool:
        """Whether every dim is a number."""
        return self.dims is not None and all(isinstance(dim, int) for dim in self.dims)


class TrialFailed(Exception):
    """ONNX Runtime did not run the model on made-up values."""


class TrialTooLarge(TrialFailed):
    """The inputs are so large that a trial would take the machine's memory: it was not made."""


class TrialSession:
    """A model loaded to be looked at.

    Attributes:
        outputs: what inference tells of the outputs.

    Raises:
        Unconvertible: the model uses what ONNX Runtime has no code for.
        ModelUnreadable: the model is not sound: names, types or shapes do not fit together.
    """

    def __init__(self, model: ModelProto, constants: dict[str, Constant]) -> None:
        self._session = _session(model, constants)
        nodes = self._session.get_outputs()
        scalars = _scalar_outputs(model) if any(not node.shape for node in nodes) else set()
        self.outputs = [OutputFacts(node.name, node.type, _dims(node, scalars)) for node in nodes]

    def shapes(self, inputs: Sequence[TensorSpec], shapes: Sequence[Shape]) -> list[Shape]:
        """Run the model on inputs of these shapes and return the outputs' shapes.

        The values are zeros, then ones where a run refuses zeros, an index out of range for instance.

        Raises:
            TrialFailed: neither runs.
            TrialTooLarge: the inputs have more than 256 MiB; what a model makes of them may have many times that.
        """
        nbytes = sum(math.prod(shape) * spec.dtype.itemsize for spec, shape in zip(inputs, shapes, strict=True))
        if nbytes > _LARGEST_TRIAL:
            raise TrialTooLarge(f"inputs of {nbytes} bytes are not tried")
        return self._tried(inputs, shapes, np.zeros) or self._tried(inputs, shapes, np.ones, is_last=True)

    def all_shapes(self, inputs: Sequence[TensorSpec], shapes: Sequence[Shape]) -> list[list[Shape]]:
        """Return the outputs' shapes for each kind of values that runs: they may depend on the values."""
        tried = [self._tried(inputs, shapes, fill) for fill in (np.zeros, np.ones)]
        return [found for found in tried if found]

    def _tried(
        self, inputs: Sequence[TensorSpec], shapes: Sequence[Shape], fill: Callable[..., Any], *, is_last: bool = False
    ) -> list[Shape]:
        """Return the outputs' shapes; none where the run fails, but for the last."""
        try:
            feeds = {spec.name: _made_up(spec, shape, fill) for spec, shape in zip(inputs, shapes, strict=True)}
            return [tuple(result.shape()) for result in self._session.run_with_ort_values(None, feeds)]
        except Exception as error:  # ONNX Runtime raises a dozen classes without a common base
            if is_last:
                raise TrialFailed(str(error).strip()) from error
            return []


def _made_up(spec: TensorSpec, shape: Shape, fill: Callable[..., Any]) -> Any:
    """Return values of a spec's type; by its number, since ONNX Runtime does not know all of NumPy's by name."""
    import onnxruntime

    array = fill(shape, spec.dtype.numpy_dtype)
    words = array.view(f"u{array.itemsize}")
    return onnxruntime.OrtValue.ortvalue_from_numpy_with_onnx_type(words, element_of(spec.dtype))


def _session(model: ModelProto, constants: dict[str, Constant]) -> Any:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.log_severity_level = _SILENT
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_BASIC
    options.enable_cpu_mem_arena = False  # a few runs of different shapes: nothing is worth keeping
    # The session is for looking, not for running: constants need not be laid out anew.
    options.add_session_config_entry("session.disable_prepacking", "1")
    if constants:
        values = [_ort_value(constant) for constant in constants.values()]
        options.add_external_initializers(list(constants), values)
    try:
        return onnxruntime.InferenceSession(
            model.SerializeToString(), options, providers=["CPUExecutionProvider"], enable_fallback=0
        )  # the fallback would print, and try the same once more
    except Exception as error:  # as above
        raise _translated(error) from error


def _dims(node: Any, scalars: set[str]) -> ModelDims | None:
    """Return what is known of dims; ONNX Runtime shows a scalar and an unknown rank alike, as no dims."""
    if not node.shape:
        return () if node.name in scalars else None
    return tuple(node.shape)


def _scalar_outputs(model: ModelProto) -> set[str]:
    """Return the outputs that ONNX's own shape inference finds to be scalars."""
    from onnx import shape_inference

    inferred = shape_inference.infer_shapes(model, data_prop=True)
    types = [(value.name, value.type.tensor_type) for value in inferred.graph.output]
    return {name for name, tensor in types if tensor.HasField("shape") and not tensor.shape.dim}


def _ort_value(constant: Constant) -> Any:
    import onnxruntime

    array = np.frombuffer(constant.data, np.uint8)
    try:
        itemsize = len(array) // max(1, math.prod(constant.dims))
        words = array.view(f"u{itemsize}").reshape(constant.dims)
        return onnxruntime.OrtValue.ortvalue_from_numpy_with_onnx_type(words, constant.element)
    except (TypeError, ValueError, RuntimeError) as error:
        raise ModelUnreadable(
            "E10041",
            f"the tensor {constant.name!r} has {len(array)} bytes, which do not make its dims {list(constant.dims)} of "
            f"ONNX element type {constant.element}",
        ) from error


def _translated(error: Exception) -> ModelUnreadable | Unconvertible:
    text = str(error).strip()
    kind = type(error).__name__
    if kind == "NotImplemented" or "is not a registered function/op" in text:
        return Unconvertible("E16002", f"the model uses an operator in a form that cannot be run: {text}")
    if kind in ("InvalidGraph", "InvalidProtobuf") or "invalid model" in text.lower():
        return ModelUnreadable("E10041", f"the model is not sound: {text}")
    return Unconvertible("E10055", f"the model cannot be run: {text}")
