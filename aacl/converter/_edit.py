"""Editing an ONNX graph: nodes behind outputs and inputs, with names that nothing has."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from aacl.converter._walk import graphs_of, nodes_of

if TYPE_CHECKING:
    from onnx import GraphProto, ModelProto, NodeProto

__all__ = ("append", "free_names", "insert_first", "numbered")


def append(model: ModelProto, tensor: str, op_type: str, **attributes: Any) -> None:
    """Put a node behind an output; what it gives becomes the output, and keeps its place."""
    from onnx import helper

    result = free_names(model)(f"{tensor}_{op_type}")
    model.graph.node.append(helper.make_node(op_type, [tensor], [result], name=result, **attributes))
    next(value for value in model.graph.output if value.name == tensor).name = result


def insert_first(model: ModelProto, tensor: str, op_type: str, **attributes: Any) -> str:
    """Put a node between an input and all that reads it, graphs inside included; return what the node makes."""
    from onnx import helper

    result = free_names(model)(f"{tensor}_{op_type}")
    _replace(model.graph.node, tensor, result)
    model.graph.node.insert(0, helper.make_node(op_type, [tensor], [result], name=result, **attributes))
    return result


def free_names(model: ModelProto) -> Callable[[str], str]:
    """Return a function that makes a name of the one wanted which no tensor or node of the model has."""
    taken: set[str] = set()
    for graph in _graphs(model):
        taken.update(value.name for value in (*graph.input, *graph.output))
        taken.update(tensor.name for tensor in graph.initializer)
        for node in graph.node:
            taken.update((*node.input, *node.output, node.name))

    def make(wanted: str) -> str:
        name = numbered(wanted, taken)
        taken.add(name)
        return name

    return make


def numbered(wanted: str, taken: set[str]) -> str:
    """Return the name, with the first number that makes it new if it is taken."""
    name, number = wanted, 0
    while name in taken:
        number += 1
        name = f"{wanted}_{number}"
    return name


def _graphs(model: ModelProto) -> Iterable[GraphProto]:
    yield model.graph
    for node in nodes_of(model.graph.node):
        yield from graphs_of(node)


def _replace(nodes: Iterable[NodeProto], old: str, new: str) -> None:
    for node in nodes:
        for place, name in enumerate(node.input):
            if name == old:
                node.input[place] = new
        for graph in graphs_of(node):
            if old not in {value.name for value in graph.input}:  # else that name means the graph's own
                _replace(graph.node, old, new)
                for value in graph.output:
                    if value.name == old:
                        value.name = new
