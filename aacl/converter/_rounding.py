"""Rounding a model's FP32 tensors to half floats: a pair of Casts behind what makes them, constants in place.

ONNX Runtime keeps such a pair, and it has no half kernels of its own on a CPU: a
graph of half tensors would silently be computed in single precision throughout.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

import attrs
import ml_dtypes
import numpy as np
import numpy.typing as npt

from aacl.converter._dependence import shape_deciding
from aacl.converter._edit import free_names, insert_first
from aacl.converter._precision import Precision, check_kept
from aacl.converter._walk import graphs_of, nodes_of

if TYPE_CHECKING:
    from onnx import GraphProto, ModelProto, NodeProto, TensorProto

    from aacl.converter._constants import Constant

__all__ = ("round_model",)

_FLOAT = 1
_TYPES: dict[int, Any] = {10: np.dtype(np.float16), 16: np.dtype(ml_dtypes.bfloat16)}
_LARGEST = {10: 65504.0, 16: (2.0 - 2.0**-7) * 2.0**127}
Array = npt.NDArray[Any]

# What gives values of its inputs, or their negatives, or whole numbers: rounded already where the inputs are.
_EXACT = frozenset(
    {"Abs", "Ceil", "Clip", "Compress", "Concat", "DepthToSpace", "Dropout", "Expand", "Flatten", "Floor", "Gather",
     "GatherElements", "GatherND", "GlobalMaxPool", "Identity", "If", "Loop", "Max", "MaxPool", "MaxUnpool", "Min", "Neg",
     "Pad", "ReduceMax", "ReduceMin", "Relu", "Reshape", "ReverseSequence", "Round", "Scan", "Sign", "Slice",
     "SpaceToDepth", "Split", "Squeeze", "Tile", "TopK", "Transpose", "Trilu", "Unsqueeze", "Where"}
)  # fmt: skip
# Scales of quantised tensors are FP32 on the device too.
_QUANTIZERS = ("QuantizeLinear", "DequantizeLinear", "QLinearConv", "QLinearMatMul")


def round_model(
    model: ModelProto, constants: dict[str, Constant], precision: Precision, *, is_clipped: bool
) -> tuple[ModelProto, dict[str, Constant]]:
    """Return the model and its large constants, rounded as asked; inputs and outputs keep their types.

    Tensors that decide shapes (the scales of Resize) keep their values.

    Args:
        model: changed in place unless it has functions, which are put where they are called.
        constants: the constants that stand apart.
        precision: what to round, and to which type.
        is_clipped: finite constants beyond the type's range become its largest number, not infinity.
    """
    from onnx import inliner, shape_inference

    if model.functions:
        model = inliner.inline_local_functions(model)
    check_kept(precision.keep, [(node.name, node.op_type) for node in nodes_of(model.graph.node)])
    inferred = shape_inference.infer_shapes(model)
    chosen = None if precision.everywhere else _read_by_cubes(model, precision)
    rounder = _Rounder(precision, _kept(model, precision), is_clipped, free_names(model), chosen)
    if precision.everywhere:
        rounder.graph(model.graph, inferred.graph)
        for value in list(model.graph.input):
            if value.type.tensor_type.elem_type == _FLOAT:
                rounder.input(model, value.name)
    else:
        rounder.cube_operators(model.graph, inferred.graph)
    return model, {name: rounder.constant(constant) for name, constant in constants.items()}


def _kept(model: ModelProto, precision: Precision) -> set[str]:
    """Return the tensors that keep their values: they decide shapes, or only nodes that are not lowered have them."""
    kept = shape_deciding(model)
    made = {tensor.name for tensor in model.graph.initializer}
    read: set[str] = set()
    for node in nodes_of(model.graph.node):
        if node.op_type in _QUANTIZERS:
            kept.update(node.input[1:])
        is_kept = precision.keeps(node.name, node.op_type)
        made.update(node.output if is_kept or node.op_type == "Constant" else ())
        read.update(() if is_kept else node.input)
    return kept | (made - read) if precision.keep else kept


def _read_by_cubes(model: ModelProto, precision: Precision) -> set[str]:
    """Return the constants that nothing but matrix operators reads: these are rounded in place."""
    graphs = [model.graph, *(graph for node in nodes_of(model.graph.node) for graph in graphs_of(node))]
    others = {value.name for graph in graphs for value in graph.output}
    found: set[str] = set()
    for node in nodes_of(model.graph.node):
        (found if precision.lowers_cube(node.name, node.op_type) else others).update(node.input)
    return (found - others).intersection(tensor.name for graph in graphs for tensor in graph.initializer)


@attrs.define
class _Rounder:
    """Rounds graph by graph."""

    precision: Precision
    kept: set[str]
    is_clipped: bool
    new_name: Callable[[str], str]
    chosen: set[str] | None
    """The constants to round; None for all."""

    def graph(self, graph: GraphProto, inferred: GraphProto) -> None:
        """Round everything in a graph and in those inside it."""
        floats = _float_names(inferred)
        for tensor in graph.initializer:
            self.initializer(tensor)
        nodes: list[NodeProto] = []
        for node, known in zip(graph.node, inferred.node, strict=True):
            for inner, inner_known in zip(graphs_of(node), graphs_of(known), strict=True):
                self.graph(inner, inner_known)
            nodes += self.node(node, floats)
        _replace_nodes(graph, nodes)

    def cube_operators(self, graph: GraphProto, inferred: GraphProto) -> None:
        """Round what the matrix operators take, and what they give if that is asked."""
        floats = _float_names(inferred)
        for tensor in graph.initializer:
            self.initializer(tensor)
        nodes: list[NodeProto] = []
        for node, known in zip(graph.node, inferred.node, strict=True):
            for inner, inner_known in zip(graphs_of(node), graphs_of(known), strict=True):
                self.cube_operators(inner, inner_known)
            is_cube = self.precision.lowers_cube(node.name, node.op_type)
            nodes += self._taken(node, floats) if is_cube else ()
            nodes += self.node(node, floats) if is_cube and self.precision.outputs else (node,)
        _replace_nodes(graph, nodes)

    def input(self, model: ModelProto, name: str) -> None:
        """Round what an input of the model brings."""
        insert_first(model, name, "Cast", to=_FLOAT)
        insert_first(model, name, "Cast", to=self.precision.element)

    def node(self, node: NodeProto, floats: set[str]) -> Iterator[NodeProto]:
        """Yield a node, and the Casts behind its FP32 outputs; they take over the outputs' names."""
        if node.op_type == "Constant":
            self.attributes(node)
            yield node
            return
        casts = []
        if node.op_type not in _EXACT:
            for place, name in enumerate(node.output):
                if name in floats and name not in self.kept:
                    node.output[place] = self.new_name(f"{name}_exact")
                    casts += self._pair(node.output[place], name)
        yield node
        yield from casts

    def attributes(self, node: NodeProto) -> None:
        """Round the value of a Constant node."""
        if not self.kept.isdisjoint(node.output):
            return
        for attribute in node.attribute:
            if attribute.name == "value":
                self.initializer(attribute.t)
            elif attribute.name == "value_float":
                attribute.f = float(self.rounded(np.float32(attribute.f)))
            elif attribute.name == "value_floats":
                attribute.floats[:] = self.rounded(np.array(attribute.floats, np.float32)).tolist()

    def initializer(self, tensor: TensorProto) -> None:
        """Round a constant that lies in the graph."""
        from onnx import numpy_helper

        if tensor.data_type == _FLOAT and tensor.data_location == 0 and self._is_rounded(tensor.name):
            array = self.rounded(numpy_helper.to_array(tensor))
            tensor.CopyFrom(numpy_helper.from_array(array, tensor.name))

    def constant(self, constant: Constant) -> Constant:
        """Return a constant that stands apart, rounded."""
        if constant.element != _FLOAT or not self._is_rounded(constant.name):
            return constant
        array = self.rounded(np.frombuffer(constant.data, "<f4"))
        return attrs.evolve(constant, data=array.astype("<f4", copy=False).tobytes())

    def rounded(self, array: Any) -> Array:
        """Return FP32 values as the type holds them."""
        kind = _TYPES[self.precision.element]
        if self.is_clipped:
            largest = np.float32(_LARGEST[self.precision.element])
            array = np.where(np.isfinite(array), np.clip(array, -largest, largest), array)
        with np.errstate(over="ignore"):
            return np.asarray(array, np.float32).astype(kind).astype(np.float32)

    def _is_rounded(self, name: str) -> bool:
        return name not in self.kept and (self.chosen is None or name in self.chosen)

    def _taken(self, node: NodeProto, floats: set[str]) -> Iterator[NodeProto]:
        """Yield Casts in front of a node for what it takes, but for constants that are rounded in place."""
        for place, name in enumerate(node.input):
            if name in floats and name not in (self.chosen or ()) and name not in self.kept:
                node.input[place] = self.new_name(f"{name}_rounded")
                yield from self._pair(name, node.input[place])

    def _pair(self, given: str, result: str) -> list[NodeProto]:
        from onnx import helper

        half = self.new_name(f"{result}_half")
        return [
            helper.make_node("Cast", [given], [half], name=half, to=self.precision.element),
            helper.make_node("Cast", [half], [result], name=self.new_name(f"{result}_single"), to=_FLOAT),
        ]


def _float_names(inferred: GraphProto) -> set[str]:
    """Return the FP32 tensors of a graph, those of its constants included."""
    values = (*inferred.value_info, *inferred.output, *inferred.input)
    found = {value.name for value in values if value.type.tensor_type.elem_type == _FLOAT}
    return found | {tensor.name for tensor in inferred.initializer if tensor.data_type == _FLOAT}


def _replace_nodes(graph: GraphProto, nodes: Iterable[NodeProto]) -> None:
    kept = [type(node).FromString(node.SerializeToString()) for node in nodes]
    del graph.node[:]
    graph.node.extend(kept)
