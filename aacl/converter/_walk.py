"""Walking an ONNX model: nodes and tensors, subgraphs and functions included."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from onnx import GraphProto, ModelProto, NodeProto, TensorProto

__all__ = ("graphs_of", "nodes_of", "tensors_of")


def nodes_of(nodes: Iterable[NodeProto]) -> Iterator[NodeProto]:
    """Yield nodes and those of the graphs inside them (the branches of If, the body of Loop)."""
    for node in nodes:
        yield node
        for graph in graphs_of(node):
            yield from nodes_of(graph.node)


def graphs_of(node: NodeProto) -> Iterator[GraphProto]:
    """Yield the graphs that a node's attributes hold."""
    for attribute in node.attribute:
        if attribute.HasField("g"):
            yield attribute.g
        yield from attribute.graphs


def tensors_of(model: ModelProto) -> Iterator[TensorProto]:
    """Yield every tensor: initializers and attribute values, at any depth."""
    yield from model.graph.initializer
    for node in nodes_of(chain(model.graph.node, chain.from_iterable(f.node for f in model.functions))):
        for attribute in node.attribute:
            if attribute.HasField("t"):
                yield attribute.t
            yield from attribute.tensors
        for graph in graphs_of(node):
            yield from graph.initializer
