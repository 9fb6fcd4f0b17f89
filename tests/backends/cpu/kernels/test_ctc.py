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

from aacl.abc import Array, KernelRequest
from aacl.backends.cpu.kernels import find
from aacl.errors import InvalidArgument
from aacl.ops._catalogue import schema_of
from aacl.ops._infer import infer_outputs
from aacl.tensors._desc import TensorDesc

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


def _decoded(inputs: list[Array], attributes: dict[str, object]) -> tuple[Any, list[Array]]:
    """Run the decoder into outputs as large as they may get; return the exact shapes and the outputs."""
    schema = schema_of("CTCGreedyDecoder")
    descs = tuple(TensorDesc.of(array.dtype, array.shape) for array in inputs)
    complete = schema.complete(attributes)
    expected = infer_outputs(schema, descs, complete)
    largest = [
        TensorDesc.of(desc.dtype, [most for _, most in desc.ranges] if desc.ranges else desc.shape) for desc in expected
    ]
    kernel = find(KernelRequest("CTCGreedyDecoder", descs, tuple(largest), complete))
    outputs = [np.full(desc.shape, 77, desc.dtype.numpy_dtype) for desc in largest]
    assert kernel.returns_shapes
    return kernel.body(*inputs, *outputs), outputs


def test_greedy_decoder(close: Close) -> None:
    """The likeliest class a step without blanks, the last class; neighbours merge when asked."""
    best = [[0, 0, 2, 0], [2, 1, 1, 0]]
    logs = np.full((4, 2, 3), -9, np.float32)
    for item, row in enumerate(best):
        for step, label in enumerate(row):
            logs[step, item, label] = -0.5 - step
    lengths = np.array([4, 3], np.int32)
    shapes, (indices, values, shape, costs) = _decoded([logs, lengths], {})

    assert shapes == ((5, 2), (5,), (2,), (2, 1))
    assert indices[:5].tolist() == [[0, 0], [0, 1], [0, 2], [1, 0], [1, 1]]
    assert values[:5].tolist() == [0, 0, 0, 1, 1]
    assert shape.tolist() == [2, 3]
    close(costs, [[0.5 + 1.5 + 2.5 + 3.5], [0.5 + 1.5 + 2.5]])
    shapes, (_, values, shape, _) = _decoded([logs, lengths], {"merge_repeated": True})
    assert (shapes[1], values[:3].tolist(), shape.tolist()) == ((3,), [0, 0, 1], [2, 2])


def test_bad_input(run: Run) -> None:
    """Lengths and targets that do not fit are named."""
    logs, one = _logs((2, 1, 3), 1), np.array([1])
    with pytest.raises(ValueError, match="lengths 3 and 1 of sequence 0 do not fit"):
        run("CTCLossV2", [logs, one[None], np.array([3]), one])
    with pytest.raises(ValueError, match=r"target of sequence 0 lies outside \[0, 3\)"):
        run("CTCLossV2", [logs, one[None] + 2, one, one])
    with pytest.raises(ValueError, match="1 sequences need as many"):
        run("CTCLossV2", [logs, one[None], np.array([1, 1]), one])
    with pytest.raises(InvalidArgument, match="must have 3 dims"):
        run("CTCLossV2", [logs[0], one[None], one, one])
    with pytest.raises(ValueError, match=r"sequence_length 5 lies outside \[0, 2\]"):
        _decoded([logs, np.array([5], np.int32)], {})
