"""A model's graph, with the tensors between its nodes as further outputs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from aacl.abc import NodeValue
from aacl.backends.cpu._graph import Graph
from aacl.errors import ModelDataError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from onnx import ModelProto

    from aacl.abc import Array

__all__ = ("Watched",)


class _Place(NamedTuple):
    """One input or output of a node."""

    node: str
    op_type: str
    place: int
    is_input: bool
    port: int
    name: str


class Watched:
    """Which tensors of a graph are looked at.

    Attributes:
        graph: the model, with those among its outputs.
        added: the names of the outputs that it has more; what is no tensor there is not looked at.
    """

    def __init__(self, graph: Graph, wants: Callable[[str, str], bool]) -> None:
        """Add outputs to a graph.

        Args:
            graph: the model.
            wants: asked for each node of the main graph, by name and type.

        Raises:
            ModelDataError: the bytes are no ONNX model.
        """
        model = _parsed(graph.skeleton)
        self._places = _places(model, wants)
        self._constants = _constants(model, graph, {place.name for place in self._places})
        known = {value.name for value in (*model.graph.input, *model.graph.output)} | {*self._constants}
        self.added = [name for name in dict.fromkeys(place.name for place in self._places) if name not in known]
        for name in self.added:
            model.graph.output.add().name = name  # ONNX Runtime infers the types
        self.graph = Graph(model.SerializeToString(), graph.constants)

    def values(self, arrays: Mapping[str, Array]) -> list[NodeValue]:
        """Return what nodes got and gave, where it is among the constants or these tensors."""
        return [
            NodeValue(*place, found)
            for place in self._places
            if (found := arrays.get(place.name, self._constants.get(place.name))) is not None
        ]


def _parsed(skeleton: bytes) -> ModelProto:
    import onnx

    try:
        return onnx.load_model_from_string(skeleton)
    except Exception as error:  # protobuf's own class, which depends on its implementation
        raise ModelDataError(f"the graph is no ONNX model: {error}") from error


def _places(model: ModelProto, wants: Callable[[str, str], bool]) -> list[_Place]:
    places = []
    for position, node in enumerate(model.graph.node):
        name = node.name or next(filter(None, node.output), "")
        if wants(name, node.op_type):
            for is_input, tensors in ((True, node.input), (False, node.output)):
                places += [
                    _Place(name, node.op_type, position, is_input, port, tensor)
                    for port, tensor in enumerate(tensors)
                    if tensor
                ]
    return places


def _constants(model: ModelProto, graph: Graph, wanted: set[str]) -> dict[str, Array]:
    """Return the constants of these names that are of a kind NumPy has; others cannot be looked at."""
    from onnx import TensorProto, helper, numpy_helper

    found: dict[str, Array] = {}
    for tensor in model.graph.initializer:
        if tensor.name not in wanted:
            continue
        if tensor.name in graph.constants:
            array: Any = graph.constants[tensor.name][0]
            found[tensor.name] = array.view(helper.tensor_dtype_to_np_dtype(tensor.data_type))
        elif tensor.data_location != TensorProto.EXTERNAL:
            found[tensor.name] = np.asarray(numpy_helper.to_array(tensor))
    return found
