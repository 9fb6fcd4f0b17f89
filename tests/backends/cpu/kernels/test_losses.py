"""Losses and their gradients, against formulas of one element in Python."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from aacl.abc import Array
from aacl.errors import InvalidArgument, NotSupported, UnsupportedDataType
from aacl.ops._catalogue import schema_of
from aacl.ops._infer import infer_outputs
from aacl.tensors._desc import TensorDesc

Run = Callable[..., list[Array]]
Close = Callable[..., None]
BF16 = np.dtype(ml_dtypes.bfloat16)
DTYPES = [np.dtype(np.float32), np.dtype(np.float16), BF16]
REDUCTIONS = ["none", "mean", "sum"]


def _f(values: Any) -> Array:
    """Return an array of float32."""
    return np.array(values, np.float32)


def _sigmoid(x: float) -> float:
    return 1 / (1 + math.exp(-x))


def _huber(sigma: float) -> Callable[[float, float], float]:
    return lambda x, y: (x - y) ** 2 / 2 / sigma if abs(x - y) < sigma else abs(x - y) - sigma / 2


def _poisson(x: float, t: float) -> float:
    return math.exp(x) - t * x


Formula = Callable[[float, float], float]

LOSSES: dict[str, tuple[Formula, dict[str, Any]]] = {
    "BinaryCrossEntropy": (lambda x, y: -(y * math.log(x) + (1 - y) * math.log(1 - x)), {}),
    "SigmoidCrossEntropyWithLogitsV2": (
        lambda x, z: -(z * math.log(_sigmoid(x)) + (1 - z) * math.log(1 - _sigmoid(x))),
        {},
    ),
    "SmoothL1LossV2": (_huber(0.25), {"sigma": 0.25}),
    "MseLoss": (lambda x, y: (x - y) ** 2, {}),
    "LpLoss": (lambda x, y: abs(x - y), {"p": 1}),
    "KLDiv": (lambda x, t: t * (math.log(t) - x), {}),
    "KLDivV2": (lambda x, t: math.exp(t) * (t - x), {"log_target": True}),
    "SoftMarginLoss": (lambda x, y: math.log(1 + math.exp(-x * y)), {}),
    "PoissonNllLoss": (_poisson, {}),
}


def _pair(shape: tuple[int, ...], dtype: np.dtype[Any], seed: int = 3) -> tuple[Array, Array]:
    random = np.random.default_rng(seed)
    return random.uniform(0.05, 0.95, shape).astype(dtype), random.uniform(0.05, 0.95, shape).astype(dtype)


def _terms(formula: Formula, x: Array, y: Array) -> Array:
    pairs = zip(x.reshape(-1).tolist(), y.reshape(-1).tolist(), strict=True)
    return np.array([formula(float(a), float(b)) for a, b in pairs], np.float64).reshape(x.shape)


def _reduce(terms: Array, reduction: str) -> Any:
    return terms if reduction == "none" else terms.mean() if reduction == "mean" else terms.sum()


@pytest.mark.parametrize(
    ("op_type", "dtype"),
    [(name, dtype) for name in sorted(LOSSES) for dtype in DTYPES if (name, dtype) != ("PoissonNllLoss", BF16)],
)
@settings(max_examples=8, deadline=None)
@given(shape=hnp.array_shapes(min_dims=0, max_dims=3, max_side=4), reduction=st.sampled_from(REDUCTIONS))
def test_losses(
    run: Run, close: Close, op_type: str, dtype: np.dtype[Any], shape: tuple[int, ...], reduction: str
) -> None:
    """A term an element, kept, averaged or summed, whatever the rank."""
    formula, attributes = LOSSES[op_type]
    x, y = _pair(shape, dtype)
    (found,) = run(op_type, [x, y], {**attributes, "reduction": reduction})

    assert found.dtype == dtype
    close(found, _reduce(_terms(formula, x, y), reduction), units=16, floor=1)


def test_losses_of_many_elements(run: Run, close: Close) -> None:
    """Work in blocks gives the same."""
    x, y = _pair((3, 40_000), np.dtype(np.float32))
    apart = x.astype(np.float64) - y.astype(np.float64)

    close(run("MseLoss", [x, y])[0], (apart**2).mean(), units=4)
    close(run("MseLoss", [x, y], {"reduction": "none"})[0], apart**2, units=4, floor=1)
    close(run("LpLoss", [x, y], {"p": 1, "reduction": "sum"})[0], np.abs(apart).sum(), units=4)


GRADIENTS: dict[str, tuple[str, dict[str, Any]]] = {
    "BinaryCrossEntropyGrad": ("BinaryCrossEntropy", {}),
    "SigmoidCrossEntropyWithLogitsGradV2": ("SigmoidCrossEntropyWithLogitsV2", {}),
    "SmoothL1LossGradV2": ("SmoothL1LossV2", {"sigma": 0.25}),
    "MseLossGrad": ("MseLoss", {}),
    "L1LossGrad": ("LpLoss", {}),
    "KlDivLossGrad": ("KLDiv", {}),
    "SoftMarginLossGrad": ("SoftMarginLoss", {}),
}


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.parametrize("op_type", sorted(GRADIENTS))
def test_gradients(run: Run, close: Close, op_type: str, reduction: str, dtype: np.dtype[Any]) -> None:
    """Central differences of the loss's formula, times the gradient that comes in."""
    forward, attributes = GRADIENTS[op_type]
    formula, step = LOSSES[forward][0], 1e-6
    x, y = _pair((3, 5), dtype, 8)
    dout = np.random.default_rng(2).uniform(-2, 2, (3, 5) if reduction == "none" else ()).astype(dtype)
    slopes = _terms(lambda a, b: (formula(a + step, b) - formula(a - step, b)) / 2 / step, x, y)
    inputs = [dout, x, y] if op_type in ("L1LossGrad", "KlDivLossGrad") else [x, y, dout]
    (found,) = run(op_type, inputs, {**attributes, "reduction": reduction})

    exact = slopes * dout.astype(np.float64) / (x.size if reduction == "mean" else 1)
    close(found, exact, units=64 if dtype == np.float32 else 4, floor=1)


def test_gradients_without_reduction(run: Run, close: Close) -> None:
    """The older forms give each element's slope times ``dout``."""
    x, y = _pair((4, 3), DTYPES[0])
    dout = y + 1
    for op_type, newer in (
        ("SigmoidCrossEntropyWithLogitsGrad", "SigmoidCrossEntropyWithLogitsGradV2"),
        ("SmoothL1LossGrad", "SmoothL1LossGradV2"),
    ):
        close(run(op_type, [x, y, dout])[0], run(newer, [x, y, dout], {"reduction": "none"})[0])
    for op_type, newer in (
        ("SigmoidCrossEntropyWithLogits", "SigmoidCrossEntropyWithLogitsV2"),
        ("SmoothL1Loss", "SmoothL1LossV2"),
    ):
        close(run(op_type, [x, y])[0], run(newer, [x, y], {"reduction": "none"})[0])


def test_large_logits(run: Run, close: Close) -> None:
    """Neither overflow nor a warning where the exponential would overflow."""
    x, z = np.array([1e4, -1e4, 1e4, -1e4], np.float32), np.array([1, 0, 0, 1], np.float32)

    close(run("SigmoidCrossEntropyWithLogits", [x, z])[0], [0, 0, 1e4, 1e4])
    close(run("SigmoidCrossEntropyWithLogitsGrad", [x, z, np.ones_like(x)])[0], [0, 0, 1, -1])
    close(run("SoftMarginLoss", [x, 2 * z - 1], {"reduction": "none"})[0], [0, 0, 1e4, 1e4])


def test_certain_predictions(run: Run, close: Close) -> None:
    """The logarithm of 0 counts as -100, as torch has it."""
    (found,) = run("BinaryCrossEntropy", [_f([0, 1, 1]), _f([1, 0, 1])], {"reduction": "none"})

    close(found, [100, 100, 0])


def test_weights(run: Run, close: Close) -> None:
    """``weight`` scales terms, ``pos_weight`` those of the target; both broadcast."""
    x, z = _pair((2, 3), DTYPES[0])
    weight, positive = _f([[2], [3]]), _f([1, 5, 0.5])
    terms = np.empty(x.shape)
    for place in np.ndindex(x.shape):
        p, t = _sigmoid(float(x[place])), float(z[place])
        terms[place] = -(positive[place[1]] * t * math.log(p) + (1 - t) * math.log(1 - p)) * weight[place[0], 0]
    close(run("SigmoidCrossEntropyWithLogitsV2", [x, z, weight, positive])[0], terms.mean(), units=16)
    wide = np.broadcast_to(weight, x.shape)
    formula = LOSSES["BinaryCrossEntropy"][0]

    close(
        run("BinaryCrossEntropy", [x, z, wide], {"reduction": "sum"})[0], (_terms(formula, x, z) * wide).sum(), units=8
    )
    attributes = {"reduction": "sum"}
    (slopes,) = run("SigmoidCrossEntropyWithLogitsGradV2", [x, z, _f(1), weight, positive], attributes)
    chance = 1 / (1 + np.exp(-x.astype(np.float64)))
    close(slopes, weight * (chance * (1 - z) - positive * z * (1 - chance)), units=16, floor=1)


def test_empty(run: Run) -> None:
    """The mean of nothing is NaN, its sum 0."""
    nothing = np.zeros((0, 3), np.float32)

    assert math.isnan(run("MseLoss", [nothing, nothing])[0])
    assert run("MseLoss", [nothing, nothing], {"reduction": "sum"})[0] == 0
    assert run("MseLossGrad", [nothing, nothing, _f(1)])[0].shape == (0, 3)


def test_batch_mean(run: Run, close: Close) -> None:
    """KLDiv divides by the first dim alone; a target of 0 costs nothing."""
    x, target = _f([[1, 2], [3, 4], [5, 6]]), _f([[0, 1], [1, 0], [0.5, 0]])
    (found,) = run("KLDiv", [x, target], {"reduction": "batchmean"})

    close(found, (-2 - 3 + 0.5 * (math.log(0.5) - 5)) / 3, units=4)


def test_sigma_zero(run: Run) -> None:
    """A threshold of 0 leaves the absolute difference."""
    x, y = _f([1, 2]), _f([3, 2])

    assert run("SmoothL1Loss", [x, y], {"sigma": 0})[0].tolist() == [2, 0]
    assert run("SmoothL1LossGrad", [x, y, _f([2, 2])], {"sigma": 0})[0].tolist() == [-2, 0]


def test_poisson_variants(run: Run, close: Close) -> None:
    """Rates rather than logarithms, and the approximation of log t!."""
    x, t = _f([0.5, 2]), _f([0.5, 3])
    exact = [0.5 - 0.5 * math.log(0.5), 2 - 3 * math.log(2) + 3 * math.log(3) - 3 + 0.5 * math.log(6 * math.pi)]
    (found,) = run("PoissonNllLoss", [x, t], {"log_input": False, "full": True, "reduction": "none"})

    close(found, exact, units=8)


@settings(max_examples=15, deadline=None)
@given(shape=hnp.array_shapes(min_dims=1, max_dims=3, max_side=4), data=st.data())
def test_cosine_similarity(run: Run, close: Close, shape: tuple[int, ...], data: st.DataObject) -> None:
    """The cosine of the angle between vectors along any axis."""
    axis = data.draw(st.integers(-len(shape), len(shape) - 1))
    x, y = _pair(shape, DTYPES[0])
    first, second = np.moveaxis(x, axis, -1), np.moveaxis(y, axis, -1)
    exact = np.empty(first.shape[:-1])
    for place in np.ndindex(exact.shape):
        a, b = first[place].tolist(), second[place].tolist()
        product = sum(i * j for i, j in zip(a, b, strict=True))
        exact[place] = product / math.hypot(*a) / math.hypot(*b)

    close(run("CosineSimilarity", [x, y], {"dim": axis})[0], exact, units=16)


def test_cosine_of_nothing(run: Run) -> None:
    """Vectors of length 0 give 0: ``eps`` is the least divisor."""
    assert run("CosineSimilarity", [np.zeros((1, 3), np.float32), np.ones((2, 3), np.float32)])[0].tolist() == [0, 0]


@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.int32, np.uint8])
def test_cosine_embedding(run: Run, close: Close, dtype: Any) -> None:
    """Pairs that belong together cost ``1 - cos``, others what ``cos`` exceeds the margin by."""
    x1, x2 = np.array([[1, 2], [3, 4], [1, 0]], dtype), np.array([[2, 1], [3, 4], [0, 1]], dtype)
    target = np.array([1, -1, -1], np.int32)
    exact = [1 - 4 / 5, 1 - 0.25, 0]

    close(
        run("CosineEmbeddingLoss", [x1, x2, target], {"margin": 0.25, "reduction": "none"})[0], exact, units=4, floor=1
    )
    close(run("CosineEmbeddingLoss", [x1, x2, target], {"margin": 0.25})[0], sum(exact) / 3, units=4)


def test_multilabel_margin(run: Run, close: Close) -> None:
    """As torch.nn.MultiLabelMarginLoss's own example: 0.85; targets end at -1."""
    x, target = _f([[0.1, 0.2, 0.4, 0.8]]), np.array([[3, 0, -1, 1]], np.int32)
    loss, is_target = run("MultilabelMarginLoss", [x, target])

    close(loss, 0.85, units=4)
    assert is_target.tolist() == [[1, 0, 0, 1]]
    loss, is_target = run("MultilabelMarginLoss", [x[0], target[0]], {"reduction": "none"})
    close(loss, 0.85, units=4)
    assert is_target.shape == (4,)
    with pytest.raises(IndexError, match=r"target lies outside \[-1, 4\)"):
        run("MultilabelMarginLoss", [x, target + 1])


def test_bad_input(run: Run) -> None:
    """Typed errors name the operator and what does not fit."""
    x = np.zeros((2, 3), np.float32)
    with pytest.raises(InvalidArgument, match=r"MseLoss: inputs predict of shape \(2, 3\) and label of shape \(3,\)"):
        run("MseLoss", [x, x[0]])
    with pytest.raises(InvalidArgument, match="MseLoss: reduction is 'max'; it is one of 'none', 'mean', 'sum'"):
        run("MseLoss", [x, x], {"reduction": "max"})
    with pytest.raises(InvalidArgument, match="sigma is -1"):
        run("SmoothL1Loss", [x, x], {"sigma": -1})
    with pytest.raises(InvalidArgument, match=r"dout of shape \(3, 2\) and predict of shape \(2, 3\) do not fit"):
        run("MseLossGrad", [x, x, x.T])
    with pytest.raises(UnsupportedDataType, match="predict is FLOAT and input label is FLOAT16"):
        run("MseLoss", [x, x.astype(np.float16)])
    with pytest.raises(NotSupported, match="LpLoss: p is 2"):
        run("LpLoss", [x, x], {"p": 2})
    with pytest.raises(InvalidArgument, match="dim 4 does not lie"):
        run("CosineSimilarity", [x, x], {"dim": 4})


def test_free_dims() -> None:
    """Free dims stay free without reduction, and vanish with one."""
    schema = schema_of("MseLoss")
    x = TensorDesc.of(np.float32, (-1, 4))
    known = TensorDesc.of(np.float32, (3, -1))
    (kept,) = infer_outputs(schema, [x, known], schema.complete({"reduction": "none"}))
    (mean,) = infer_outputs(schema, [TensorDesc.of(np.float32, (-2,)), x], schema.complete({}))

    assert (kept.shape, mean.shape) == ((3, 4), ())


@pytest.mark.parametrize(("reduction", "expected"), [("mean", np.nan), ("sum", 0.0)])
def test_losses_of_an_empty_batch(run: Run, reduction: str, expected: float) -> None:
    """The mean of no terms is NaN, as in torch, and nothing warns; their sum is 0."""
    x, labels, places = np.zeros((0, 3), np.float32), np.zeros(0, np.int32), np.zeros((0, 3), np.int32)

    (cosine,) = run("CosineEmbeddingLoss", [x, x, labels], {"reduction": reduction})
    margin, _ = run("MultilabelMarginLoss", [x, places], {"reduction": reduction})

    np.testing.assert_array_equal([float(cosine), float(margin)], expected)
