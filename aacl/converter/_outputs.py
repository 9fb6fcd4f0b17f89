"""A model's outputs: which ones, of which type, and what they are called.

An output's name is ``node:index:ONNX name``: the node that makes it, which of
the node's outputs it is, and the tensor's own name.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import attrs

from aacl.converter._edit import append, numbered
from aacl.converter._reports import InvalidOption
from aacl.converter._types import NAMED_TYPES, element_of
from aacl.converter._walk import graphs_of, nodes_of

if TYPE_CHECKING:
    from onnx import ModelProto, NodeProto

    from aacl.converter._shapes import ModelDims
    from aacl.dtypes import DataType
    from aacl.models._signature import TensorSpec

__all__ = (
    "OutputNode",
    "cast_outputs",
    "forget_shapes",
    "name_nodes",
    "output_nodes",
    "select_outputs",
    "separate_inputs",
    "state_outputs",
)


@attrs.frozen
class OutputNode:
    """Where an output comes from."""

    node: str
    index: int
    tensor: str

    def __str__(self) -> str:
        return f"{self.node}:{self.index}:{self.tensor}"


def name_nodes(model: ModelProto) -> None:
    """Give every unnamed node the name ``<OpType>_<n>``, n counting the nodes of the graph, and number repeated
    names: ``conv``, ``conv_1``. Nodes inside branches and loops count as well.
    """
    nodes = list(nodes_of(model.graph.node))
    reserved = {node.name for node in nodes}
    taken: set[str] = set()
    for number, node in enumerate(nodes):
        if not node.name or node.name in taken:
            node.name = numbered(node.name or f"{node.op_type}_{number}", reserved)
            reserved.add(node.name)
        taken.add(node.name)


def select_outputs(model: ModelProto, out_nodes: str | Sequence[str]) -> None:
    """Make the tensors that ``--out_nodes`` names the graph's outputs, in that order, and drop what they do not need.

    Raises:
        InvalidOption: a name that is no node or tensor, an index out of range, both styles, or one output twice.
    """
    items = out_nodes.strip().rstrip(";").split(";") if isinstance(out_nodes, str) else list(out_nodes)
    names = [item.strip() for item in items]
    by_node = {node.name: node for node in model.graph.node}
    styles = [_is_node_style(name, by_node) for name in names]
    if any(styles) and not all(styles):
        raise InvalidOption("E10001", f"--out_nodes={out_nodes!r} mixes node:index and tensor names; use one style")
    tensors = [_of_node(name, by_node) if styles[0] else _of_tensor(name, model) for name in names]
    if len(set(tensors)) < len(tensors):
        raise InvalidOption("E10001", f"--out_nodes={out_nodes!r} names one output twice")
    _replace_outputs(model, tensors)
    _prune(model)


def output_nodes(model: ModelProto) -> list[OutputNode]:
    """Return where each of the graph's outputs comes from; an input or constant stands for itself."""
    made = {name: (node.name, index) for node in model.graph.node for index, name in enumerate(node.output) if name}
    return [OutputNode(*made.get(value.name, (value.name, 0)), value.name) for value in model.graph.output]


def separate_inputs(model: ModelProto) -> None:
    """Put a copy between an input and the output that is the same tensor: they lie in different memory."""
    given = {value.name for value in model.graph.input}
    for value in model.graph.output:
        if value.name in given:
            append(model, value.name, "Identity")


def forget_shapes(model: ModelProto) -> list[int | None]:
    """Drop what the exporter stated of shapes inside: from the inputs' dims, inference states them exactly.

    Returns:
        How many dims the exporter stated for each output, None for nothing.
    """
    types = [value.type.tensor_type for value in model.graph.output]
    ranks = [len(tensor.shape.dim) if tensor.HasField("shape") else None for tensor in types]
    del model.graph.value_info[:]
    for value in model.graph.output:
        element = value.type.tensor_type.elem_type if value.type.HasField("tensor_type") else 0
        value.ClearField("type")
        if element:
            value.type.tensor_type.elem_type = element
    return ranks


def state_outputs(model: ModelProto, specs: Sequence[TensorSpec], dims: Sequence[ModelDims]) -> None:
    """Write the outputs' types and dims into the graph: numbers, symbols, nothing where a dim is not known."""
    for value, spec, sizes in zip(model.graph.output, specs, dims, strict=True):
        tensor = value.type.tensor_type
        tensor.elem_type = element_of(spec.dtype)
        tensor.shape.SetInParent()
        for size in sizes:
            dim = tensor.shape.dim.add()
            if isinstance(size, int):
                dim.dim_value = size
            elif size is not None:
                dim.dim_param = size


def cast_outputs(
    model: ModelProto, output_type: str, nodes: Sequence[OutputNode], given: str | Sequence[str] | None
) -> None:
    """Give outputs the types that ``--output_type`` asks for: one for all, or ``node:index:TYPE;...``.

    Raises:
        InvalidOption: an unknown type, or an entry whose output ``--out_nodes`` does not name.
    """
    wanted = _wanted_types(output_type, nodes, given)
    for position, data_type in wanted.items():
        value = model.graph.output[position]
        value.type.tensor_type.elem_type = element_of(data_type)
        append(model, value.name, "Cast", to=element_of(data_type))


def _wanted_types(
    output_type: str, nodes: Sequence[OutputNode], given: str | Sequence[str] | None
) -> dict[int, DataType]:
    if ":" not in output_type:
        return dict.fromkeys(range(len(nodes)), _named_type(output_type))
    positions = {f"{node.node}:{node.index}": place for place, node in enumerate(nodes)}
    positions |= {node.tensor: place for place, node in enumerate(nodes)} | positions
    wanted = {}
    for item in output_type.strip().rstrip(";").split(";"):
        output, _, type_name = item.strip().rpartition(":")
        if given is None or output not in positions:
            raise InvalidOption(
                "E10001",
                f"--output_type names the output {output!r}, which --out_nodes does not; its outputs: "
                f"{', '.join(positions) if given is not None else 'none'}",
            )
        wanted[positions[output]] = _named_type(type_name)
    return wanted


def _named_type(name: str) -> DataType:
    try:
        return NAMED_TYPES[name.strip()]
    except KeyError:
        raise InvalidOption("E10001", f"--output_type takes {', '.join(NAMED_TYPES)}; {name!r} was given") from None


def _is_node_style(item: str, by_node: dict[str, NodeProto]) -> bool:
    name, _, index = item.rpartition(":")
    return name in by_node and index.strip().isdecimal()


def _of_node(item: str, by_node: dict[str, NodeProto]) -> str:
    name, _, index = item.rpartition(":")
    outputs = by_node[name].output
    if int(index) >= len(outputs) or not outputs[int(index)]:
        raise InvalidOption(
            "E10001", f"--out_nodes names output {index} of node {name!r}, which has {len(outputs)} outputs"
        )
    return str(outputs[int(index)])


def _of_tensor(item: str, model: ModelProto) -> str:
    made = {name for node in model.graph.node for name in node.output if name}
    if item not in made:
        outputs = ", ".join(f"{node.node}:{node.index}" for node in output_nodes(model))
        raise InvalidOption(
            "E10016",
            f"--out_nodes names {item!r}, which is no node:index and no tensor that a node of the model makes; "
            f"the model's own outputs: {outputs}",
        )
    return item


def _replace_outputs(model: ModelProto, tensors: Sequence[str]) -> None:
    import onnx

    graph = model.graph
    known = {value.name: value for value in (*graph.value_info, *graph.output)}
    values = [known.get(name, onnx.ValueInfoProto(name=name)) for name in tensors]
    copies = [type(value).FromString(value.SerializeToString()) for value in values]
    del graph.output[:]
    graph.output.extend(copies)


def _prune(model: ModelProto) -> None:
    """Drop the nodes and constants that no output needs; inputs stay, so that their order is the model's."""
    graph = model.graph
    needed = {value.name for value in graph.output}
    kept = []
    for node in reversed(graph.node):
        if needed.intersection(node.output):
            kept.append(node)
            needed.update(node.input)
            for inner in graphs_of(node):
                needed.update(name for deep in nodes_of(inner.node) for name in deep.input)
                needed.update(value.name for value in inner.output)
    kept = [type(node).FromString(node.SerializeToString()) for node in reversed(kept)]
    constants = [
        type(tensor).FromString(tensor.SerializeToString()) for tensor in graph.initializer if tensor.name in needed
    ]
    del graph.node[:], graph.initializer[:]
    graph.node.extend(kept)
    graph.initializer.extend(constants)
