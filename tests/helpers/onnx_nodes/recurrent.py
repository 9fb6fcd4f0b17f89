"""Recurrent networks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from aacl import Tensor
from aacl.abc import Array
from tests.helpers.onnx_nodes._mapping import NotMapped, mapping
from tests.helpers.onnx_nodes._node import Node
from tests.helpers.onnx_nodes.reduction import int64
from tests.helpers.onnx_nodes.shaping import sliced

__all__ = ()

_SHARED = ("activation_alpha", "activation_beta", "activations", "clip", "direction")
_OWN = {"LSTM": ("input_forget",), "GRU": ("linear_before_reset",)}
_STATES = {"LSTM": (5, 6), "GRU": (5,)}


@mapping("LSTM", "GRU")
def _gated(node: Node) -> list[Tensor]:
    """CommonLSTM and CommonGRU have ONNX's attributes, but for the layout with batches first."""
    kind = node.case.op_type
    names = (*_SHARED, *_OWN[kind], "hidden_size")
    attributes: dict[str, Any] = {name: node.attribute(name) for name in names if node.attribute(name) is not None}
    batches_first = bool(node.attribute("layout", 0))
    inputs = [node.optional(index) for index in range(8 if kind == "LSTM" else 6)]
    if batches_first:
        inputs = [
            _swapped(node, tensor, 0, 1) if index in (0, *_STATES[kind]) else tensor
            for index, tensor in enumerate(inputs)
        ]
    outputs: Sequence[Tensor] = node.run_several(f"Common{kind}", *inputs, **attributes)
    if batches_first:
        outputs = [_batches_first(node, tensor) for tensor in outputs]
    return [tensor for tensor, asked in zip(outputs, node.case.outputs, strict=False) if asked]


def _swapped(node: Node, x: Tensor | None, first: int, second: int) -> Tensor | None:
    if x is None:
        return None
    order = list(range(len(x.shape)))
    order[first], order[second] = second, first
    return node.run("Transpose", x, int64(order))


def _batches_first(node: Node, x: Tensor) -> Tensor:
    """Turn ``(steps, directions, batch, hidden)``, or a state without steps."""
    order = [2, 0, 1, 3] if len(x.shape) == 4 else [1, 0, 2]
    return node.run("Transpose", x, int64(order))


@mapping("RNN")
def _rnn(node: Node) -> list[Tensor]:
    """A plain cell is two products and an activation a step; BasicRNNCell is another one, with a second layer."""
    if any(name not in ("Tanh",) for name in node.attribute("activations", [])) or node.has(4) or node.has(5):
        raise NotMapped("steps are written out for tanh, full lengths and a state of zeros")
    x = _time_first(node)
    direction = node.attribute("direction", "forward")
    turns = {"forward": [False], "reverse": [True], "bidirectional": [False, True]}[direction]
    rows = [_direction(node, x, number, is_reversed=turn) for number, turn in enumerate(turns)]
    every = node.run("Pack", [node.run("Pack", steps, axis=0) for steps, _ in rows], axis=1)
    last = node.run("Pack", [state for _, state in rows], axis=0)
    outputs = [every, last]
    if node.attribute("layout", 0):
        outputs = [_batches_first(node, tensor) for tensor in outputs]
    return [tensor for tensor, asked in zip(outputs, node.case.outputs, strict=False) if asked]


def _time_first(node: Node) -> Tensor:
    x = node.tensor(0)
    return node.run("Transpose", x, int64([1, 0, 2])) if node.attribute("layout", 0) else x


def _direction(node: Node, x: Tensor, number: int, *, is_reversed: bool) -> tuple[list[Tensor], Tensor]:
    """Return the states of one direction in the order of time, and the one that was reached last."""
    weights, recurrence = (_of(node, node.tensor(index), number) for index in (1, 2))
    bias = _bias(node, number, weights.shape[0])
    state = node.run("Fill", int64([x.shape[1], weights.shape[0]]), np.zeros((), x.dtype.numpy_dtype))
    order = range(x.shape[0])[::-1] if is_reversed else range(x.shape[0])
    states: dict[int, Tensor] = {}
    for step in order:
        fed = node.run("MatMulV2", _of(node, x, step), weights, transpose_x2=True)
        kept = node.run("MatMulV2", state, recurrence, transpose_x2=True)
        total = node.run("Add", node.run("Add", fed, kept), bias)
        state = states[step] = node.run("Tanh", total)
    return [states[step] for step in range(x.shape[0])], state


def _of(node: Node, x: Tensor, index: int) -> Tensor:
    """Return one element along the first axis."""
    return node.run("Squeeze", sliced(node, x, [index], [index + 1], [0]), axis=[0])


def _bias(node: Node, number: int, size: int) -> Array:
    """Return the sum of a direction's two biases, which are weights of the graph."""
    if not node.has(3):
        return np.zeros(size, node.value(0).dtype)
    both = node.value(3)[number]
    total: Array = both[:size] + both[size:]
    return total
