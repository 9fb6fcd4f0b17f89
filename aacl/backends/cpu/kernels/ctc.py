"""Connectionist temporal classification: loss, gradient, greedy decoding."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from aacl.backends.cpu.kernels._quiet import quiet
from aacl.backends.cpu.kernels._registry import TRANSCENDENTAL, elements, given, kernel, prepared

if TYPE_CHECKING:
    from collections.abc import Iterator

    from aacl.abc import Array, Kernel, KernelRequest

__all__ = ()


@kernel("CTCLossV2")
def _ctc_loss(request: KernelRequest) -> Kernel:
    """As torch.nn.functional.ctc_loss without reduction: the cost of each sequence, and its forward variables.

    The attribute ``reduction`` is the caller's business, as in torch's operator of the same outputs: the
    first output has one cost a sequence. ``log_alpha`` is minus infinity where no path leads.
    """

    def body(chances: Array, targets: Array, steps: Array, lengths: Array, costs: Array, alphas: Array) -> None:
        wide = chances.astype(np.float64)
        alphas.fill(-np.inf)
        for item, states, count in _sequences(request, chances, targets, steps, lengths):
            paths = _forward(wide[:count, item], states, _skips(states, request.attributes["blank"]))
            cost = -_last(paths, count)
            is_dropped = request.attributes["zero_infinity"] and not np.isfinite(cost)
            costs[item] = 0 if is_dropped else cost
            alphas[item, :count, : len(states)] = paths

    work = 3 * TRANSCENDENTAL * elements(request.outputs[1])
    return prepared(request, quiet(body, 6), work)


@kernel("CTCLossV2Grad")
def _ctc_loss_gradient(request: KernelRequest) -> Kernel:
    """The gradient with respect to the scores whose log-softmax ``log_probs`` is, as torch has it.

    ``e^log_probs - e^(alpha beta - log_probs + cost)``, summed over the states of a class, times ``grad_out``; 0
    behind a sequence's end.
    """

    def body(
        grad: Array, chances: Array, targets: Array, steps: Array, lengths: Array, costs: Array, _: Array, out: Array
    ) -> None:
        wide = chances.astype(np.float64)
        out.fill(0)
        for item, states, count in _sequences(request, chances, targets, steps, lengths):
            cost = float(costs[item])
            if request.attributes["zero_infinity"] and not np.isfinite(_cost(wide[:count, item], states, request)):
                continue
            occupied = _occupied(wide[:count, item], states, request.attributes["blank"])
            shares = np.zeros((count, chances.shape[2]))
            for place, state in enumerate(states.tolist()):
                shares[:, state] += np.exp(occupied[:, place] + cost)
            incoming = float(grad.reshape(-1)[item if grad.size > 1 else 0])
            out[:count, item] = (np.exp(wide[:count, item]) - shares) * incoming

    return prepared(request, quiet(body, 8), 8 * TRANSCENDENTAL * elements(request.outputs[0]))


@kernel("CTCGreedyDecoder")
def _ctc_greedy_decoder(request: KernelRequest) -> Kernel:
    """As tf.raw_ops.CTCGreedyDecoder: the likeliest class a step, the last one being the blank.

    ``merge_repeated`` joins neighbours that are equal; the cost is minus the sum of the highest scores.
    """
    merges = request.attributes["merge_repeated"]

    def body(inputs: Array, lengths: Array, indices: Array, values: Array, shape: Array, costs: Array) -> object:
        best = inputs.argmax(2)
        found: list[list[int]] = []
        for item, length in enumerate(lengths.tolist()):
            if not 0 <= length <= len(inputs):
                raise ValueError(f"operator CTCGreedyDecoder: sequence_length {length} lies outside [0, {len(inputs)}]")
            row = best[:length, item]
            keep = row != inputs.shape[2] - 1
            if merges:
                keep[1:] &= row[1:] != row[:-1]
            found.append(row[keep].tolist())
            costs[item, 0] = -inputs[:length, item].max(1, initial=-np.inf).sum()
        places = [(item, place) for item, row in enumerate(found) for place in range(len(row))]
        flat = [value for row in found for value in row]
        indices.reshape(-1)[: 2 * len(flat)] = np.array(places, np.int64).reshape(-1)
        values[: len(flat)] = flat
        shape[...] = len(found), max(map(len, found), default=0)
        return (len(flat), 2), (len(flat),), shape.shape, costs.shape

    return prepared(request, body, 2 * elements(given(request, 0)), returns_shapes=True)


def _sequences(
    request: KernelRequest, chances: Array, targets: Array, steps: Array, lengths: Array
) -> Iterator[tuple[int, Array, int]]:
    """Yield each sequence's number, its states (targets between blanks) and its number of steps.

    Raises:
        ValueError: a length or a target does not fit.
    """
    longest, batch, classes = chances.shape
    if steps.size != batch or lengths.size != batch:
        raise ValueError(f"operator {request.op_type}: {batch} sequences need as many input and target lengths")
    sizes, start = lengths.reshape(-1).tolist(), 0
    for item, (count, size) in enumerate(zip(steps.reshape(-1).tolist(), sizes, strict=True)):
        room = targets.shape[1] if targets.ndim == 2 else targets.size - start
        if not 0 <= size <= room or not 0 <= count <= longest:
            raise ValueError(f"operator {request.op_type}: lengths {count} and {size} of sequence {item} do not fit")
        labels = targets[item, :size] if targets.ndim == 2 else targets[start : start + size]
        start += size
        if size and not (labels.min() >= 0 and labels.max() < classes):
            raise ValueError(f"operator {request.op_type}: a target of sequence {item} lies outside [0, {classes})")
        states = np.full(2 * size + 1, request.attributes["blank"], np.int64)
        states[1::2] = labels
        yield item, states, count


def _skips(states: Array, blank: int) -> Array:
    """Return which states may follow the one two before them: labels that differ from the one before."""
    found = np.zeros(len(states), bool)
    found[2:] = (states[2:] != blank) & (states[2:] != states[:-2])
    return found


def _forward(chances: Array, states: Array, skips: Array) -> Array:
    """Return the logarithm of the chance of all paths that reach a state at a step."""
    paths = np.full((len(chances), len(states)), -np.inf)
    if not len(chances):
        return paths
    paths[0, :2] = chances[0, states[:2]]
    for step in range(1, len(chances)):
        before = paths[step - 1]
        reach = before.copy()
        reach[1:] = np.logaddexp(reach[1:], before[:-1])
        reach[2:] = np.where(skips[2:], np.logaddexp(reach[2:], before[:-2]), reach[2:])
        paths[step] = reach + chances[step, states]
    return paths


def _occupied(chances: Array, states: Array, blank: int) -> Array:
    """Return the logarithm of the chance of all whole paths through a state at a step."""
    paths = _forward(chances, states, _skips(states, blank))
    # Backwards, the same recursion runs over the reversed sequence.
    back = _forward(chances[::-1], states[::-1], _skips(states[::-1], blank))[::-1, ::-1]
    return paths + back - chances[:, states]


def _last(paths: Array, count: int) -> float:
    """Return the logarithm of the chance of all paths that end in one of the last two states."""
    if not count:
        return 0.0 if paths.shape[1] == 1 else -np.inf
    return float(np.logaddexp.reduce(paths[-1, -2:]))


def _cost(chances: Array, states: Array, request: KernelRequest) -> float:
    return -_last(_forward(chances, states, _skips(states, request.attributes["blank"])), len(chances))
