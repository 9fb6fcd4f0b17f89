"""Connectionist temporal classification, against the sum over every path."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aacl.abc import Array
from aacl.errors import InvalidArgument

Run = Callable[..., list[Array]]
Close = Callable[..., None]


def _logs(shape: tuple[int, int, int], seed: int, dtype: Any = np.float64) -> Array:
    scores = np.random.default_rng(seed).uniform(-2, 2, shape)
    found: Array = (scores - np.log(np.exp(scores).sum(2, keepdims=True))).astype(dtype)
    return found


def _collapsed(path: tuple[int, ...], blank: int) -> list[int]:
    return [label for label, _ in itertools.groupby(path) if label != blank]


def _cost(logs: Array, target: list[int], blank: int) -> float:
    """Minus the logarithm of the chance of all paths that read as the target."""
    total = math.fsum(
        math.exp(math.fsum(float(logs[step, label]) for step, label in enumerate(path)))
        for path in itertools.product(range(logs.shape[1]), repeat=len(logs))
        if _collapsed(path, blank) == target
    )
    return -math.log(total) if total else math.inf


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@settings(max_examples=12, deadline=None)
@given(data=st.data())
def test_loss(run: Run, close: Close, dtype: Any, data: st.DataObject) -> None:
    """The chance of every path that reads as the target, for sequences of their own lengths."""
    blank = data.draw(st.integers(0, 2))
    steps = data.draw(st.lists(st.integers(1, 4), min_size=2, max_size=2))
    labels = st.integers(0, 2).filter(lambda label: label != blank)
    targets = data.draw(st.lists(st.lists(labels, max_size=2), min_size=2, max_size=2))
    logs = _logs((4, 2, 3), 3, dtype)
    padded = np.array([target + [blank] * (2 - len(target)) for target in targets], np.int32)
    lengths = np.array([len(target) for target in targets], np.int32)
    inputs = [logs, padded, np.array(steps, np.int32), lengths]
    costs, alphas = run("CTCLossV2", inputs, {"blank": blank})
    exact = [_cost(logs[:count, item], targets[item], blank) for item, count in enumerate(steps)]

    close(costs, np.array(exact), units=64, floor=1)
    assert alphas.shape == (2, 4, 5)
    close(alphas[:, 0, 0], logs[0, :, blank].astype(np.float64))
    flat = np.array([label for target in targets for label in target], np.int32)
    others = run("CTCLossV2", [logs, flat, *inputs[2:]], {"blank": blank}, known=[3])[0]
    assert others.tobytes() == costs.tobytes()
    finite = run("CTCLossV2", inputs, {"blank": blank, "zero_infinity": True})[0]
    assert finite.tolist() == np.where(np.isinf(costs), 0, costs).tolist()


@pytest.mark.parametrize("target", [[], [1], [1, 2], [2, 2]])
def test_gradient(run: Run, close: Close, target: list[int]) -> None:
    """Central differences of the cost with respect to scores whose log-softmax the input is."""
    steps, step = 3, 1e-6
    scores = np.random.default_rng(6).uniform(-1, 1, (4, 1, 3))
    logs = scores - np.log(np.exp(scores).sum(2, keepdims=True))
    padded = np.array([target + [0] * (2 - len(target))], np.int64)
    lengths = [np.array([steps], np.int64), np.array([len(target)], np.int64)]
    costs, alphas = run("CTCLossV2", [logs, padded, *lengths])
    (found,) = run("CTCLossV2Grad", [np.array([2.0]), logs, padded, *lengths, costs, alphas])
    exact = np.zeros(logs.shape)
    for place in np.ndindex(steps, 1, 3):
        sides = []
        for sign in (1, -1):
            moved = scores.copy()
            moved[place] += sign * step
            moved -= np.log(np.exp(moved).sum(2, keepdims=True))
            sides.append(_cost(moved[:steps, 0], target, 0))
        exact[place] = (sides[0] - sides[1]) / step  # 2 from the gradient that comes in, 1/2 from the difference

    np.testing.assert_allclose(found, exact, atol=1e-7)


def test_impossible_target(run: Run) -> None:
    """Without a path the cost is infinite, or 0 with a gradient of 0 when so asked."""
    inputs = [_logs((1, 1, 3), 2), np.array([[1, 1]]), np.array([1]), np.array([2])]
    costs, alphas = run("CTCLossV2", inputs)
    assert costs.tolist() == [math.inf]
    (found,) = run("CTCLossV2Grad", [np.ones(1), *inputs, np.zeros(1), alphas], {"zero_infinity": True})

    assert not found.any()


@pytest.mark.parametrize("dtype", [np.float32, np.float64], ids=str)
def test_greedy_decoder(run: Run, close: Close, dtype: Any) -> None:
    """The likeliest class a step without blanks, the last class; neighbours merge when asked."""
    best = [[0, 0, 2, 0], [2, 1, 1, 0]]
    logs = np.full((4, 2, 3), -9, dtype)
    for item, row in enumerate(best):
        for step, label in enumerate(row):
            logs[step, item, label] = -0.5 - step
    lengths = np.array([4, 3], np.int32)
    indices, values, shape, costs = run("CTCGreedyDecoder", [logs, lengths])

    assert indices.tolist() == [[0, 0], [0, 1], [0, 2], [1, 0], [1, 1]]
    assert values.tolist() == [0, 0, 0, 1, 1]
    assert shape.tolist() == [2, 3]
    close(costs, [[0.5 + 1.5 + 2.5 + 3.5], [0.5 + 1.5 + 2.5]])
    _, values, shape, _ = run("CTCGreedyDecoder", [logs, lengths], {"merge_repeated": True})
    assert (values.tolist(), shape.tolist()) == ([0, 0, 1], [2, 2])


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 99), merges=st.booleans(), sizes=st.tuples(*[st.integers(1, 4)] * 3))
def test_greedy_decoder_by_a_loop(run: Run, close: Close, seed: int, merges: bool, sizes: tuple[int, int, int]) -> None:
    """Whatever the scores and lengths are, sequences without steps too."""
    steps, batch, classes = sizes
    logs, random = _logs((steps, batch, classes + 1), seed), np.random.default_rng(seed)
    lengths = random.integers(0, steps + 1, batch).astype(np.int32)
    found: list[list[int]] = []
    costs = []
    for item, length in enumerate(lengths.tolist()):
        rows = [logs[step, item].tolist() for step in range(length)]
        path = [row.index(max(row)) for row in rows]
        kept = [label for label, _ in itertools.groupby(path)] if merges else path
        found.append([label for label in kept if label != classes])
        costs.append([-math.fsum(map(max, rows))])
    indices, values, shape, scores = run("CTCGreedyDecoder", [logs, lengths], {"merge_repeated": merges})

    assert values.tolist() == [label for row in found for label in row]
    assert indices.tolist() == [[item, place] for item, row in enumerate(found) for place in range(len(row))]
    assert shape.tolist() == [batch, max(map(len, found))]
    close(scores, costs, units=8, floor=1)


def test_bad_input(run: Run) -> None:
    """Lengths and targets that do not fit are named."""
    logs, one = _logs((2, 1, 3), 1), np.array([1])
    with pytest.raises(ValueError, match="lengths 3 and 1 of sequence 0 do not fit"):
        run("CTCLossV2", [logs, one[None], np.array([3]), one])
    with pytest.raises(ValueError, match=r"target of sequence 0 lies outside \[0, 3\)"):
        run("CTCLossV2", [logs, one[None] + 2, one, one])
    with pytest.raises(InvalidArgument, match="there is one number for each sequence"):
        run("CTCLossV2", [logs, one[None], np.array([1, 1]), one])
    with pytest.raises(InvalidArgument, match="must have 3 dims"):
        run("CTCLossV2", [logs[0], one[None], one, one])
    with pytest.raises(ValueError, match=r"sequence_length 5 lies outside \[0, 2\]"):
        run("CTCGreedyDecoder", [logs, np.array([5], np.int32)])


def test_shapes_that_do_not_fit(run: Run) -> None:
    """No class at all, and lengths of another number than there are sequences."""
    one = np.array([1], np.int32)
    with pytest.raises(InvalidArgument, match="must have one class at least"):
        run("CTCGreedyDecoder", [np.zeros((2, 1, 0), np.float32), one])
    with pytest.raises(InvalidArgument, match="one length for each sequence"):
        run("CTCGreedyDecoder", [np.zeros((2, 3, 4), np.float32), one])
    with pytest.raises(InvalidArgument, match="one row of targets for each sequence"):
        run("CTCLossV2", [_logs((2, 1, 3), 1), np.ones((2, 1), np.int64), np.array([2]), np.array([1])])
