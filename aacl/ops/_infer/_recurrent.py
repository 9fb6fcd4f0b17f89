"""Outputs of recurrent layers and cells."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aacl.dtypes import DataType
from aacl.errors import UnsupportedDataType
from aacl.ops._infer._agreement import require_equal_dtypes
from aacl.ops._infer._dims import FREE, Dim, Shape, fixed
from aacl.ops._infer._requirements import require_rank
from aacl.ops._infer._rules import Call, Output, rule

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ()

_DIRECTIONS = {"forward": 1, "reverse": 1, "bidirectional": 2}


@rule("CommonLSTM", "CommonGRU")
def layer(call: Call) -> Sequence[Output]:
    """``[T, directions, N, H]``, and the last states ``[directions, N, H]``, from ``[T, N, I]``."""
    direction, hidden = call.attributes["direction"], call.attributes["hidden_size"]
    if direction not in _DIRECTIONS:
        raise call.error(f"direction is {direction!r}; it is one of {', '.join(_DIRECTIONS)}")
    if hidden < 1:
        raise call.error(f"hidden_size is {hidden}; it must be positive")
    floats = [place for place in range(len(call.inputs)) if place != 4 and call.has(place)]
    require_equal_dtypes(call, floats)
    shape = require_rank(call, 0, 3)
    steps, batch, width = (FREE,) * 3 if shape is None else shape
    (count, units), gates = fixed(_DIRECTIONS[direction], hidden), 4 if call.schema.op_type == "CommonLSTM" else 3
    rows, state = Dim(gates * hidden, gates * hidden), (count, batch, units)
    wanted = [None, (count, rows, width), (count, rows, units), (count, rows.plus(rows)), (batch,), state, state]
    for index, expected in enumerate([*wanted, (count, *fixed(3 * hidden))]):
        if expected is not None and call.has(index):
            _require(call, index, expected)
    return [call.like(0, (steps, count, batch, units)), *[Output(call.desc(0).dtype, state)] * (gates - 2)]


@rule("DynamicRNN", "DynamicRNNV2")
def dynamic_lstm(call: Call) -> Sequence[Output]:
    """Eight outputs ``[T, N, H]`` from ``[T, N, I]``, of the bias's dtype."""
    shape, is_split = require_rank(call, 0, 3), call.schema.op_type == "DynamicRNNV2"
    weight = require_rank(call, 1, 2)
    bias = 3 if is_split else 2
    steps, batch, width = (FREE,) * 3 if shape is None else shape
    units = _quotient(call, 1, weight, 4)
    if is_split:
        _require(call, 1, (width, _times(units, 4)))
        _require(call, 2, (units, _times(units, 4)))
    else:
        _require(call, 1, (width.plus(units), _times(units, 4)))
    _check_dynamic(call, bias, (bias + 2, bias + 3), batch, units, 4)
    return [Output(_result(call, (bias, bias + 2, 0)), (steps, batch, units))] * 8


@rule("DynamicGRUV2", "DynamicGRUV2Hidden")
def dynamic_gru(call: Call) -> Sequence[Output]:
    """Six outputs ``[T, N, H]`` from ``[T, N, I]``, of the biases' dtype."""
    shape, is_driven = require_rank(call, 0, 3), call.schema.op_type == "DynamicGRUV2Hidden"
    turn, first = (1, 2) if is_driven else (2, 3)
    steps, batch, width = (FREE,) * 3 if shape is None else shape
    units = _quotient(call, turn, require_rank(call, turn, 2), 3)
    _require(call, turn, (units, _times(units, 3)))
    _require(call, 0 if is_driven else 1, (*((steps, batch) if is_driven else (width,)), _times(units, 3)))
    hidden = first if is_driven else first + 1
    for index in {first, hidden}:
        _check_dynamic(call, index, (hidden + 2,), batch, units, 3)
    return [Output(_result(call, (first, hidden, hidden + 2), DataType.FLOAT16), (steps, batch, units))] * 6


@rule("BasicLSTMCell")
def lstm_cell(call: Call) -> Sequence[Output]:
    """The cell ``[N, H]``, the hidden state, and the gates, which have the cell's dtype."""
    x, h, c = require_rank(call, 0, 2), require_rank(call, 1, 2), require_rank(call, 2, 2)
    state = h if h is not None else c if c is not None else (FREE, FREE)
    width = FREE if x is None else x[1]
    _require(call, 0, (state[0], width))
    _require(call, 2, state)
    _require(call, 3, (width.plus(state[1]), _times(state[1], 4)))
    _require(call, 4, (_times(state[1], 4),))
    cell = Output(call.desc(2).dtype, state)
    return [cell, Output(DataType.FLOAT16, state), cell, cell, cell, cell, cell]


def _require(call: Call, index: int, wanted: tuple[Dim, ...]) -> None:
    found = call.shape(index)
    if found is not None and (
        len(found) != len(wanted) or any(not a.meets(b) for a, b in zip(found, wanted, strict=True))
    ):
        raise call.error(f"{call.titled(index)} must have shape {wanted}")


def _times(dim: Dim, factor: int) -> Dim:
    return dim.times(Dim(factor, factor))


def _quotient(call: Call, index: int, weight: Shape, gates: int) -> Dim:
    """Return the units of a layer, whose weight has as many columns for each gate."""
    if weight is None or not weight[1].is_fixed:
        return FREE
    units, rest = divmod(weight[1].least, gates)
    if rest:
        raise call.error(f"{call.titled(index)} must have columns for {gates} gates")
    return Dim(units, units)


def _check_dynamic(call: Call, bias: int, states: tuple[int, ...], batch: Dim, units: Dim, gates: int) -> None:
    if call.has(bias):
        _require(call, bias, (_times(units, gates),))
    lengths = states[0] - 1
    if call.has(lengths):
        if call.desc(lengths).dtype is not DataType.INT32:
            raise UnsupportedDataType(
                f"operator {call.schema.op_type}: seq_length as a mask is not supported; give lengths of INT32"
            )
        _require(call, lengths, (batch,))
    for index in states:
        if call.has(index):
            shape = call.shape(index)
            _require(
                call, index, (*fixed(1), batch, units) if shape is not None and len(shape) == 3 else (batch, units)
            )


def _result(call: Call, indexes: tuple[int, ...], usual: DataType = DataType.FLOAT) -> DataType:
    """Return the dtype of the first of some inputs that is there."""
    return next((call.desc(index).dtype for index in indexes if call.has(index)), usual)
