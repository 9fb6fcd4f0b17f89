"""Recurrent layers.

Half precision computes in float32; every output is rounded once. CommonLSTM and CommonGRU are ONNX's LSTM
and GRU with its default layout; DynamicRNN and its kin follow torch's LSTM and GRU cells with the gate order that
their attribute names.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from aacl.backends.cpu.kernels._gates import gates
from aacl.backends.cpu.kernels._logistic import sigmoid
from aacl.backends.cpu.kernels._quiet import quiet
from aacl.backends.cpu.kernels._registry import elements, given, kernel, prepared
from aacl.backends.cpu.kernels._terms import wide
from aacl.errors import InvalidArgument, NotSupported

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from aacl.abc import Array, Kernel, KernelRequest
    from aacl.backends.cpu.kernels._gates import Gate

__all__ = ()


@kernel("CommonLSTM")
def _lstm(request: KernelRequest) -> Kernel:
    """ONNX's LSTM: gates i, o, f, c; peepholes i, o, f."""
    activations, size = _activations(request, ("Sigmoid", "Tanh", "Tanh")), request.attributes["hidden_size"]
    clip, couples = _clip(request), request.attributes["input_forget"]

    def run(number: int, arrays: list[Any], y: Array, last: list[Array]) -> None:
        x, w, r, b, lengths, h, c, p = arrays
        outer, cell, squash = activations[number * 3 : number * 3 + 3]
        peep = np.zeros((3, size), x.dtype) if p is None else p[number].reshape(3, size)
        h, c = (_initial(state, number, x, size) for state in (h, c))
        drive, turn = _driven(x, w, b, number, 4 * size), r[number].T
        for step, alive in _steps(x, lengths, _is_reverse(request, number)):
            i, o, f, g = np.split(drive[step] + h @ turn, 4, axis=1)
            i = outer(clip(i + peep[0] * c))
            f = 1 - i if couples else outer(clip(f + peep[2] * c))
            new = f * c + i * cell(clip(g))
            out = outer(clip(o + peep[1] * new)) * squash(new)
            y[step, number], h, c = _masked(alive, out, h, new, c)
        last[0][number], last[1][number] = h, c

    return _layer(request, run, 4)


@kernel("CommonGRU")
def _gru(request: KernelRequest) -> Kernel:
    """ONNX's GRU: gates z, r, h."""
    activations, size = _activations(request, ("Sigmoid", "Tanh")), request.attributes["hidden_size"]
    clip, is_late = _clip(request), request.attributes["linear_before_reset"]

    def run(number: int, arrays: list[Any], y: Array, last: list[Array]) -> None:
        x, w, r, b, lengths, h = arrays
        outer, cell = activations[number * 2 : number * 2 + 2]
        bias = np.zeros(6 * size, x.dtype) if b is None else b[number]
        drive = x @ w[number].T + bias[: 3 * size]
        h, turn = _initial(h, number, x, size), r[number].T
        for step, alive in _steps(x, lengths, _is_reverse(request, number)):
            gate = drive[step, :, : 2 * size] + h @ turn[:, : 2 * size] + bias[3 * size : 5 * size]
            z, reset = np.split(outer(clip(gate)), 2, axis=1)
            rest, shift = drive[step, :, 2 * size :], bias[5 * size :]
            inner = reset * (h @ turn[:, 2 * size :] + shift) if is_late else (reset * h) @ turn[:, 2 * size :] + shift
            new = (1 - z) * cell(clip(rest + inner)) + z * h
            y[step, number], h, _ = _masked(alive, new, h, new, h)
        last[0][number] = h

    return _layer(request, run, 3)


def _layer(request: KernelRequest, run: Callable[..., None], count: int) -> Kernel:
    """Return the kernel of a layer of one or two directions.

    Args:
        request: the request to prepare.
        run: computes one direction into ``y[:, direction]`` and the last states.
        count: the number of gates.
    """
    inputs, places = len(request.inputs), 8 if request.op_type == "CommonLSTM" else 6
    directions, (steps, batch, width) = request.outputs[0].shape[1], given(request, 0).shape
    hidden = request.attributes["hidden_size"]

    def body(*arrays: Any) -> None:
        known = [wide(array) for array in arrays[:inputs]] + [None] * (places - inputs)
        _check_lengths(request, known[4], steps, batch)
        outs = [np.zeros(out.shape, known[0].dtype) for out in arrays[inputs:]]
        for number in range(directions):
            run(number, known, outs[0], outs[1:])
        for out, result in zip(arrays[inputs:], outs, strict=True):
            np.copyto(out, result, casting="same_kind")

    work = 2 * directions * steps * batch * count * hidden * (width + hidden + 20)
    return prepared(request, quiet(body, inputs + len(request.outputs)), work)


def _activations(request: KernelRequest, usual: tuple[str, ...]) -> list[Gate]:
    attributes = request.attributes
    wanted = attributes["activations"] or usual * request.outputs[0].shape[1]
    if len(wanted) != len(usual) * request.outputs[0].shape[1]:
        raise InvalidArgument(
            f"operator {request.op_type}: {len(wanted)} activations are given; each direction takes {len(usual)}"
        )
    return gates(request.op_type, wanted, attributes["activation_alpha"], attributes["activation_beta"])


def _clip(request: KernelRequest) -> Gate:
    limit = request.attributes["clip"]
    return (lambda x: np.clip(x, -limit, limit)) if limit > 0 else lambda x: x


def _is_reverse(request: KernelRequest, number: int) -> bool:
    return request.attributes["direction"] == "reverse" or number == 1


def _driven(x: Array, w: Array, b: Any, number: int, size: int) -> Array:
    """Return what the inputs of all steps give the gates, biases included."""
    drive: Array = x @ w[number].T
    if b is not None:
        drive += b[number, :size] + b[number, size:]
    return drive


def _initial(state: Any, number: int, x: Array, size: int) -> Array:
    return np.zeros((x.shape[1], size), x.dtype) if state is None else state[number].astype(x.dtype, copy=False)


def _steps(x: Array, lengths: Any, is_reverse: bool) -> Iterator[tuple[int, Any]]:
    """Yield each step and which sequences it belongs to; None for all."""
    order = range(len(x) - 1, -1, -1) if is_reverse else range(len(x))
    for step in order:
        alive = None if lengths is None or (lengths > step).all() else (lengths > step)[:, None]
        yield step, alive


def _masked(alive: Any, out: Array, h: Array, new: Array, c: Array) -> tuple[Array, Array, Array]:
    """Return output, hidden state and cell: 0 and the old states where a sequence is over."""
    if alive is None:
        return out, out, new
    return np.where(alive, out, 0), np.where(alive, out, h), np.where(alive, new, c)


def _check_lengths(request: KernelRequest, lengths: Any, steps: int, batch: int) -> None:
    if lengths is not None and not (lengths.shape == (batch,) and (lengths >= 0).all() and (lengths <= steps).all()):
        raise ValueError(
            f"operator {request.op_type}: sequence lengths lie within [0, {steps}], one for each of {batch}"
        )


@kernel("DynamicRNN", "DynamicRNNV2")
def _dynamic_lstm(request: KernelRequest) -> Kernel:
    """An LSTM layer and all its gates: ``c = f c + i j``, ``h = o tanh(c)``; steps behind a sequence's end give 0."""
    _refuse(request, cell_type="LSTM", activation="tanh", recurrent_activation="sigmoid", use_peephole=False)
    is_split = request.op_type == "DynamicRNNV2"
    order = _order(request, ("ijfo", "ifjo"))
    bias_place = 3 if is_split else 2
    width, size = given(request, 0).shape[2], request.outputs[0].shape[2]
    forget, limit = request.attributes["forget_bias"], request.attributes["cell_clip"]

    def body(*arrays: Any) -> None:
        known = [wide(array) for array in arrays[: len(request.inputs)]] + [None] * 11
        x, bias = known[0], known[bias_place]
        inner, turn = known[1:3] if is_split else (known[1][:width], known[1][width:])
        lengths, h, c = known[bias_place + 1 : bias_place + 4]
        _check_lengths(request, lengths, *x.shape[:2])
        drive = x @ inner if bias is None else x @ inner + bias
        h, c = (_state(state, x, size) for state in (h, c))
        for step, alive in _steps(x, lengths, is_reverse=False):
            parts = np.split(drive[step] + h @ turn, 4, axis=1)
            i, f, o = (sigmoid(parts[order.index(name)] + (forget if name == "f" else 0)) for name in "ifo")
            j = np.tanh(parts[order.index("j")])
            new = f * c + i * j
            new = np.clip(new, -limit, limit) if limit > 0 else new
            squashed = np.tanh(new)
            shown, h, c = _masked(alive, o * squashed, h, new, c)
            found = (
                shown,
                h,
                c,
                *(each if alive is None else np.where(alive, each, 0) for each in (i, j, f, o, squashed)),
            )
            for out, result in zip(arrays[len(request.inputs) :], found, strict=True):
                np.copyto(out[step], result, casting="same_kind")

    return _dynamic(request, body, 4, width, size)


@kernel("DynamicGRUV2", "DynamicGRUV2Hidden")
def _dynamic_gru(request: KernelRequest) -> Kernel:
    """A GRU layer and its gates: ``h = (1 - z) tanh(n) + z h``; ``hidden_new`` is the hidden part of ``n``."""
    _refuse(request, activation="tanh")
    is_driven = request.op_type == "DynamicGRUV2Hidden"
    order, is_late = _order(request, ("zrh", "rzh")), request.attributes["reset_after"]
    size, width = request.outputs[0].shape[2], given(request, 0).shape[2]

    def body(*arrays: Any) -> None:
        known = [wide(array) for array in arrays[: len(request.inputs)]] + [None] * 7
        if is_driven:
            drive, turn, shift, lengths, h = known[:5]
        else:
            x, inner, turn, bias, shift, lengths, h = known[:7]
            drive = x @ inner if bias is None else x @ inner + bias
        _check_lengths(request, lengths, *drive.shape[:2])
        h, shift = _state(h, drive, size), np.zeros(3 * size, np.float32) if shift is None else shift
        update, reset, new = (slice(order.index(name) * size, (order.index(name) + 1) * size) for name in "zrh")
        for step, alive in _steps(drive, lengths, is_reverse=False):
            z, r = (sigmoid(drive[step, :, part] + h @ turn[:, part] + shift[part]) for part in (update, reset))
            hidden = (h if is_late else r * h) @ turn[:, new] + shift[new]
            n = np.tanh(drive[step, :, new] + (r * hidden if is_late else hidden))
            out = (1 - z) * n + z * h
            shown, h, _ = _masked(alive, out, h, out, h)
            found = (shown, h, *(each if alive is None else np.where(alive, each, 0) for each in (z, r, n, hidden)))
            for target, result in zip(arrays[len(request.inputs) :], found, strict=True):
                np.copyto(target[step], result, casting="same_kind")

    return _dynamic(request, body, 3, 0 if is_driven else width, size)


@kernel("BasicLSTMCell")
def _lstm_cell(request: KernelRequest) -> Kernel:
    """One step as tf.nn.rnn_cell.BasicLSTMCell: ``[x, h] w + b`` gives i, j, f, o."""
    _refuse(request, activation="tanh")
    if len(request.inputs) > 5 and request.inputs[5] is not None:
        raise NotSupported("operator BasicLSTMCell: mask is not supported; leave it out, with keep_prob 1")
    width, forget = given(request, 0).shape[1], request.attributes["forget_bias"]

    def body(*arrays: Any) -> None:
        x, h, c, w, b = map(wide, arrays[:5])
        i, j, f, o = np.split(x @ w[:width] + h @ w[width:] + b, 4, axis=1)
        i, j, f, o = sigmoid(i), np.tanh(j), sigmoid(f + forget), sigmoid(o)
        new = c * f + i * j
        squashed = np.tanh(new)
        for out, result in zip(arrays[-7:], (new, o * squashed, i, j, f, o, squashed), strict=True):
            np.copyto(out, result, casting="same_kind")

    work = 2 * elements(given(request, 3)) * given(request, 0).shape[0]
    return prepared(request, quiet(body, len(request.inputs) + 7), work)


def _refuse(request: KernelRequest, **known: object) -> None:
    """Refuse attributes other than those that these cells know, by name."""
    known |= {"direction": "UNIDIRECTIONAL", "keep_prob": 1.0, "num_proj": 0, "cell_depth": 1, "time_major": True,
              "stateful": False}  # fmt: skip
    for name, value in known.items():
        found = request.attributes.get(name, value)
        if found != value:
            raise NotSupported(f"operator {request.op_type}: {name} is {found!r}; this device knows {value!r} alone")
    for place, name in _PARTS.get(request.op_type, {}).items():
        if len(request.inputs) > place and request.inputs[place] is not None:
            raise NotSupported(f"operator {request.op_type}: input {name} is not supported; leave it out")


_PEEPHOLES = ("wci", "wcf", "wco", "mask")
_PARTS = {
    "DynamicRNN": {6 + place: name for place, name in enumerate(_PEEPHOLES)},
    "DynamicRNNV2": {7 + place: name for place, name in enumerate(_PEEPHOLES)},
}


def _order(request: KernelRequest, allowed: tuple[str, ...]) -> str:
    order: str = request.attributes["gate_order"]
    if order not in allowed:
        raise InvalidArgument(f"operator {request.op_type}: gate_order is {order!r}; it is one of {', '.join(allowed)}")
    return order


def _state(state: Any, x: Array, size: int) -> Array:
    shape = (x.shape[1], size)
    return np.zeros(shape, x.dtype) if state is None else state.reshape(shape).astype(x.dtype, copy=False)


def _dynamic(request: KernelRequest, body: Callable[..., None], count: int, width: int, size: int) -> Kernel:
    steps, batch = given(request, 0).shape[:2]
    work = 2 * steps * batch * count * size * (width + size + 20)
    return prepared(request, quiet(body, len(request.inputs) + len(request.outputs)), work)
