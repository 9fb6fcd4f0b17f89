"""Recurrent layers, against ONNX Runtime's, with weights put in its order."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import onnx.helper
import onnxruntime
import pytest

from aacl.abc import Array
from aacl.errors import InvalidArgument, NotSupported, UnsupportedDataType
from aacl.ops._catalogue import schema_of
from aacl.ops._infer import infer_outputs
from aacl.tensors._desc import TensorDesc

Run = Callable[..., list[Array]]
Close = Callable[..., None]
STEPS, BATCH, WIDTH, UNITS = 5, 3, 4, 6


def _runtime(op_type: str, inputs: Sequence[Array | None], outputs: int, attributes: Mapping[str, Any]) -> list[Array]:
    """Run one node in ONNX Runtime, in float32."""
    names = ["" if item is None else f"x{index}" for index, item in enumerate(inputs)]
    wide = [
        None if item is None else item.astype(np.float32 if item.dtype.kind == "f" else item.dtype) for item in inputs
    ]
    results = [f"y{index}" for index in range(outputs)]
    feeds = {name: item for name, item in zip(names, wide, strict=True) if item is not None}
    infos = [
        onnx.helper.make_tensor_value_info(name, onnx.helper.np_dtype_to_tensor_dtype(item.dtype), item.shape)
        for name, item in feeds.items()
    ]
    node = onnx.helper.make_node(op_type, names, results, **attributes)
    outs = [onnx.helper.make_tensor_value_info(name, 1, None) for name in results]
    graph = onnx.helper.make_graph([node], "g", infos, outs)
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 14)], ir_version=8)
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    return [np.asarray(item) for item in session.run(None, feeds)]


def _weights(gates: int, directions: int, dtype: Any, seed: int = 3) -> list[Array]:
    random = np.random.default_rng(seed)
    shapes = [
        (STEPS, BATCH, WIDTH),
        (directions, gates * UNITS, WIDTH),
        (directions, gates * UNITS, UNITS),
        (directions, 2 * gates * UNITS),
    ]
    return [random.uniform(-0.8, 0.8, shape).astype(dtype) for shape in shapes]


def _states(count: int, directions: int, dtype: Any) -> list[Array]:
    random = np.random.default_rng(5)
    return [random.uniform(-1, 1, (directions, BATCH, UNITS)).astype(dtype) for _ in range(count)]


def _compare(found: Sequence[Array], exact: Sequence[Array], close: Close) -> None:
    for actual, wanted in zip(found, exact, strict=True):
        close(actual, wanted, units=64 if actual.dtype == np.float32 else 4, floor=1)


LENGTHS = np.array([5, 2, 3], np.int32)
VARIANTS: dict[str, dict[str, Any]] = {
    "plain": {},
    "lengths": {"lengths": LENGTHS},
    "states": {"lengths": LENGTHS, "states": True},
    "clip": {"attributes": {"clip": 0.3}},
    "no bias": {"bias": False},
}


@pytest.mark.parametrize("direction", ["forward", "reverse", "bidirectional"])
@pytest.mark.parametrize("dtype", [np.float32, np.float16])
@pytest.mark.parametrize("variant", sorted(VARIANTS))
@pytest.mark.parametrize("op_type", ["LSTM", "GRU"])
def test_layers(run: Run, close: Close, op_type: str, variant: str, dtype: Any, direction: str) -> None:
    """All directions, with lengths, initial states, clipping, with and without biases."""
    options, directions = VARIANTS[variant], 1 + (direction == "bidirectional")
    gates = 4 if op_type == "LSTM" else 3
    x, w, r, b = _weights(gates, directions, dtype)
    states = _states(gates - 2, directions, dtype) if options.get("states") else []
    inputs = [x, w, r, b if options.get("bias", True) else None, options.get("lengths"), *states]
    attributes = {"hidden_size": UNITS, "direction": direction, **options.get("attributes", {})}
    found = run(f"Common{op_type}", inputs, attributes)

    assert {out.dtype for out in found} == {np.dtype(dtype)}
    _compare(found, _runtime(op_type, inputs, gates - 1, attributes), close)


@pytest.mark.parametrize("late", [0, 1])
@pytest.mark.parametrize("names", [["HardSigmoid", "ScaledTanh"], ["Sigmoid", "LeakyRelu"], ["Relu", "Softsign"]])
def test_gru_activations(run: Run, close: Close, names: list[str], late: int) -> None:
    """Other activations, with their alphas and betas; the reset before and after the product."""
    x, w, r, b = _weights(3, 1, np.float32)
    attributes = {"hidden_size": UNITS, "activations": names, "linear_before_reset": late}
    if names[0] == "HardSigmoid":
        attributes |= {"activation_alpha": [0.25, 0.5], "activation_beta": [0.4, 0.75]}
    elif names[1] == "LeakyRelu":
        attributes |= {"activation_alpha": [0.1]}

    _compare(run("CommonGRU", [x, w, r, b], attributes), _runtime("GRU", [x, w, r, b], 2, attributes), close)


def test_peepholes(run: Run, close: Close) -> None:
    """Gates may look at the cell; input and forget gates may be one."""
    x, w, r, b = _weights(4, 1, np.float32)
    peep = np.random.default_rng(7).uniform(-1, 1, (1, 3 * UNITS)).astype(np.float32)
    inputs = [x, w, r, b, None, None, None, peep]
    for coupled in (0, 1):
        attributes = {"hidden_size": UNITS, "input_forget": coupled}
        _compare(run("CommonLSTM", inputs, attributes), _runtime("LSTM", inputs, 3, attributes), close)


def _ordered(weight: Array, order: str, wanted: str) -> Array:
    """Return columns by gate as ONNX's rows by gate, in another order."""
    parts = np.split(weight, len(order), axis=-1)
    return np.concatenate([parts[order.index(name)] for name in wanted], axis=-1).swapaxes(-1, -2)


def _dynamic(gates: int, dtype: Any) -> tuple[Array, Array, Array, Array]:
    random = np.random.default_rng(8)
    shapes = [(STEPS, BATCH, WIDTH), (WIDTH, gates * UNITS), (UNITS, gates * UNITS), (gates * UNITS,)]
    x, inner, turn, bias = (random.uniform(-0.8, 0.8, shape).astype(dtype) for shape in shapes)
    return x, inner, turn, bias


@pytest.mark.parametrize("order", ["ijfo", "ifjo"])
@pytest.mark.parametrize("dtype", [np.float32, np.float16])
@pytest.mark.parametrize("op_type", ["DynamicRNN", "DynamicRNNV2"])
@pytest.mark.parametrize("has_states", [False, True])
def test_dynamic_lstm(run: Run, close: Close, op_type: str, dtype: Any, order: str, has_states: bool) -> None:
    """Outputs of every step; the state goes on past a sequence's end, where the output is 0."""
    x, inner, turn, bias = _dynamic(4, dtype)
    states = _states(2, 1, dtype) if has_states else [None, None]
    lengths = LENGTHS if has_states else None
    weights = [np.concatenate([inner, turn])] if op_type == "DynamicRNN" else [inner, turn]
    attributes = {"gate_order": order, "forget_bias": 0.5}
    y, output_h, output_c, i, j, f, o, tanh_c = run(op_type, [x, *weights, bias, lengths, *states], attributes)
    rows = np.split(_ordered(bias[None], order, "iofj").reshape(-1).astype(np.float64), 4)
    rows[2] = rows[2] + 0.5
    whole = np.concatenate([*rows, np.zeros(4 * UNITS)])[None]
    exact = _runtime(
        "LSTM",
        [x, _ordered(inner, order, "iofj")[None], _ordered(turn, order, "iofj")[None], whole, lengths, *states],
        3,
        {"hidden_size": UNITS},
    )

    _compare([y, output_h[-1], output_c[-1]], [exact[0][:, 0], exact[1][0], exact[2][0]], close)
    before = np.zeros_like(output_c[0]) if states[1] is None else states[1][0]
    alive = i != 0
    for step in range(STEPS):
        cell = f[step].astype(float) * before.astype(float) + i[step].astype(float) * j[step].astype(float)
        close(output_c[step], np.where(alive[step], cell, before.astype(float)), units=8, floor=1)
        before = output_c[step]
    close(y, o.astype(float) * tanh_c.astype(float), units=4, floor=1)
    close(tanh_c[alive], np.tanh(output_c[alive].astype(float)), units=4, floor=1)


@pytest.mark.parametrize("order", ["zrh", "rzh"])
@pytest.mark.parametrize("is_late", [True, False])
@pytest.mark.parametrize("has_states", [False, True])
def test_dynamic_gru(run: Run, close: Close, order: str, is_late: bool, has_states: bool) -> None:
    """Both orders of gates, the reset before and after the product."""
    x, inner, turn, bias = _dynamic(3, np.float16)
    shift = bias[::-1].astype(np.float32)
    state, lengths = (_states(1, 1, np.float32)[0], LENGTHS) if has_states else (None, None)
    attributes = {"gate_order": order, "reset_after": is_late}
    inputs = [x, inner, turn, bias.astype(np.float32), shift, lengths, state]
    y, output_h, z, r, n, hidden = run("DynamicGRUV2", inputs, attributes)
    weights = [_ordered(item, order, "zrh")[None] for item in (inner, turn)]
    whole = np.concatenate([_ordered(item[None], order, "zrh").reshape(-1) for item in (bias, shift)])[None]
    exact = _runtime(
        "GRU",
        [x, *weights, whole, lengths, state],
        2,
        {"hidden_size": UNITS, "linear_before_reset": int(is_late)},
    )

    assert y.dtype == np.float32
    _compare([y, output_h[-1]], [exact[0][:, 0], exact[1][0]], close)
    before = np.zeros_like(y[0]) if state is None else state[0]
    for step in range(STEPS):
        alive = z[step] != 0
        new = (1 - z[step]) * n[step] + z[step] * before
        close(output_h[step][alive], new[alive].astype(float), units=8, floor=1)
        before = output_h[step]
    assert (np.abs(hidden[r > 0]) > 0).all()
    driven = (x.astype(np.float32) @ inner.astype(np.float32) + bias.astype(np.float32)).astype(np.float32)
    others = run("DynamicGRUV2Hidden", [driven, turn, shift, lengths, state], attributes)
    _compare(others, [item.astype(np.float64) for item in (y, output_h, z, r, n, hidden)], close)


@pytest.mark.parametrize("dtype", [np.float32, np.float16])
def test_lstm_cell(run: Run, close: Close, dtype: Any) -> None:
    """One step, unit by unit; the cell may be float32 beside float16 inputs."""
    random = np.random.default_rng(4)
    x, h, w = (random.uniform(-1, 1, shape).astype(np.float16) for shape in ((2, 3), (2, 2), (5, 8)))
    c, b = random.uniform(-1, 1, (2, 2)).astype(dtype), random.uniform(-1, 1, 8).astype(dtype)
    found = run("BasicLSTMCell", [x, h, c, w, b], {"forget_bias": 0.5})

    def sigmoid(value: float) -> float:
        return 1 / (1 + math.exp(-value))

    for row in range(2):
        given = [*x[row].tolist(), *h[row].tolist()]
        sums = [
            sum(a * b for a, b in zip(given, w[:, place].tolist(), strict=True)) + float(b[place]) for place in range(8)
        ]
        for unit in range(2):
            i, j, f, o = (sums[gate * 2 + unit] for gate in range(4))
            i, j, f, o = sigmoid(i), math.tanh(j), sigmoid(f + 0.5), sigmoid(o)
            cell = float(c[row, unit]) * f + i * j
            exact = [cell, o * math.tanh(cell), i, j, f, o, math.tanh(cell)]
            for out, wanted in zip(found, exact, strict=True):
                close(out[row, unit], np.array(wanted), units=16 if out.dtype == np.float32 else 2, floor=1)
    assert [out.dtype == np.dtype(dtype) for out in found] == [True, dtype is np.float16, *[True] * 5]


def test_no_steps(run: Run) -> None:
    """Sequences of length 0 leave the initial states."""
    _, w, r, b = _weights(3, 1, np.float32)
    (state,) = _states(1, 1, np.float32)
    y, last = run("CommonGRU", [np.zeros((0, BATCH, WIDTH), np.float32), w, r, b, None, state], {"hidden_size": UNITS})

    assert y.shape == (0, 1, BATCH, UNITS)
    assert last.tolist() == state.tolist()


def test_bad_input(run: Run) -> None:
    """What does not fit, or is not known here, is named."""
    x, w, r, b = _weights(4, 1, np.float32)
    size = {"hidden_size": UNITS}
    with pytest.raises(InvalidArgument, match=r"input w of shape \(1, 24, 4\) must have shape \(1, 20, 4\)"):
        run("CommonLSTM", [x, w, r], {"hidden_size": 5})
    with pytest.raises(InvalidArgument, match="direction is 'both'"):
        run("CommonLSTM", [x, w, r], {**size, "direction": "both"})
    with pytest.raises(InvalidArgument, match="activation 'Sine' is unknown"):
        run("CommonLSTM", [x, w, r], {**size, "activations": ["Sine", "Tanh", "Tanh"]})
    with pytest.raises(InvalidArgument, match="2 activations are given; each direction takes 3"):
        run("CommonLSTM", [x, w, r], {**size, "activations": ["Tanh", "Tanh"]})
    with pytest.raises(ValueError, match=r"sequence lengths lie within \[0, 5\]"):
        run("CommonLSTM", [x, w, r, b, np.array([6, 1, 1], np.int32)], size)
    inner = np.zeros((WIDTH + UNITS, 4 * UNITS), np.float32)
    with pytest.raises(NotSupported, match="direction is 'BIDIRECTIONAL'; this device knows 'UNIDIRECTIONAL' alone"):
        run("DynamicRNN", [x, inner, inner[0]], {"direction": "BIDIRECTIONAL"})
    with pytest.raises(NotSupported, match="input wci is not supported"):
        run("DynamicRNN", [x, inner, inner[0], None, None, None, inner[0]])
    with pytest.raises(InvalidArgument, match="gate_order is 'jifo'"):
        run("DynamicRNN", [x, inner, inner[0]], {"gate_order": "jifo"})
    with pytest.raises(UnsupportedDataType, match="seq_length as a mask"):
        run("DynamicRNN", [x, inner, inner[0], np.zeros(3, np.float16)])
    with pytest.raises(InvalidArgument, match="must have columns for 4 gates"):
        run("DynamicRNN", [x, inner[:, :23], inner[0]])


def test_free_dims() -> None:
    """A free number of steps stays free."""
    schema = schema_of("CommonGRU")
    shapes = [(-1, 2, 4), (1, 9, 4), (1, 9, 3)]
    y, last = infer_outputs(
        schema, [TensorDesc.of(np.float32, shape) for shape in shapes], schema.complete({"hidden_size": 3})
    )

    assert (y.shape, last.shape) == ((-1, 1, 2, 3), (1, 2, 3))
