"""Losses over classes, against loops and the reference implementation of ONNX."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import onnx.helper
import onnx.reference
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aacl.abc import Array
from aacl.errors import InvalidArgument, UnsupportedDataType
from aacl.ops._catalogue import schema_of
from aacl.ops._infer import infer_outputs
from aacl.tensors._desc import TensorDesc

Run = Callable[..., list[Array]]
Close = Callable[..., None]
BF16 = np.dtype(ml_dtypes.bfloat16)
DTYPES = [np.dtype(np.float32), np.dtype(np.float64), np.dtype(np.float16)]
REDUCTIONS = ["none", "mean", "sum"]


def _chances(row: list[float]) -> list[float]:
    powers = [math.exp(value) for value in row]
    return [power / math.fsum(powers) for power in powers]


def _onnx(op_type: str, inputs: list[Array], outputs: int, **attributes: Any) -> list[Array]:
    """Run one node in ONNX's own Python implementation, in float64."""
    names = [f"x{index}" for index in range(len(inputs))]
    results = [f"y{index}" for index in range(outputs)]
    kinds = [
        onnx.helper.make_tensor_value_info(name, onnx.helper.np_dtype_to_tensor_dtype(array.dtype), array.shape)
        for name, array in zip(names, inputs, strict=True)
    ]
    node = onnx.helper.make_node(op_type, names, results, **attributes)
    outs = [onnx.helper.make_tensor_value_info(name, 11, None) for name in results]
    model = onnx.helper.make_model(
        onnx.helper.make_graph([node], "g", kinds, outs), opset_imports=[onnx.helper.make_opsetid("", 13)]
    )
    found = onnx.reference.ReferenceEvaluator(model).run(None, dict(zip(names, inputs, strict=True)))
    return list(found)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@settings(max_examples=10, deadline=None)
@given(rows=st.integers(0, 4), classes=st.integers(1, 5))
def test_softmax_cross_entropy(run: Run, close: Close, dtype: np.dtype[Any], rows: int, classes: int) -> None:
    """Loss and gradient of each row, with labels as chances and as numbers of classes."""
    random = np.random.default_rng(rows * 7 + classes)
    features = random.uniform(-3, 3, (rows, classes)).astype(dtype)
    labels = random.integers(0, classes, rows).astype(np.int32)
    soft = np.array([_chances(row) for row in features.astype(float).tolist()]).reshape(rows, classes)
    exact = [-math.log(row[label]) for row, label in zip(soft.tolist(), labels.tolist(), strict=True)]
    hot = np.array([[float(label == place) for place in range(classes)] for label in labels]).reshape(rows, classes)

    for op_type, wanted in (
        ("SparseSoftmaxCrossEntropyWithLogits", labels),
        ("SoftmaxCrossEntropyWithLogits", hot.astype(dtype)),
    ):
        loss, slopes = run(op_type, [features, wanted])
        assert loss.dtype == slopes.dtype == dtype
        close(loss, np.array(exact), units=16, floor=1)
        close(slopes, soft - hot, units=16, floor=1)


def test_softmax_cross_entropy_of_chances(run: Run, close: Close) -> None:
    """Labels need not be certain; features and labels broadcast; a label of 0 hides an infinite cost."""
    features = np.array([[1, 2, -np.inf]], np.float32)
    labels = np.array([[0.25, 0.75, 0], [1, 0, 0]], np.float32)
    chances = _chances([1, 2, -1e9])
    loss, slopes = run("SoftmaxCrossEntropyWithLogits", [features, labels])

    first = -0.25 * math.log(chances[0]) - 0.75 * math.log(chances[1])
    close(loss, [first, -math.log(chances[0])], units=8)
    close(slopes, np.array([chances, chances]) - labels, units=8, floor=1)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.parametrize("is_weighted", [False, True])
@pytest.mark.parametrize("rest", [(), (3,), (2, 3)], ids=str)
def test_softmax_cross_entropy_loss(
    run: Run, close: Close, dtype: np.dtype[Any], reduction: str, is_weighted: bool, rest: tuple[int, ...]
) -> None:
    """As ONNX, both outputs, with classes along axis 1."""
    random = np.random.default_rng(5)
    scores = random.uniform(-2, 2, (3, 5, *rest)).astype(dtype)
    labels = random.integers(0, 5, (3, *rest)).astype(np.int64)
    labels.flat[0] = 2
    inputs = [scores, labels, *([random.uniform(0.5, 2, 5).astype(dtype)] if is_weighted else [])]
    wide = [item.astype(np.float64) if item.dtype == dtype else item for item in inputs]
    attributes = {"reduction": reduction, "ignore_index": 2}
    loss, logs = run("SoftmaxCrossEntropyLoss", inputs, attributes)
    exact = _onnx("SoftmaxCrossEntropyLoss", wide, 2, **attributes)

    close(loss, np.asarray(exact[0]), units=16, floor=1)
    close(logs, exact[1], units=16, floor=1)


def test_ignored_class_by_default(run: Run, close: Close) -> None:
    """The default ``ignore_index`` is 0: class 0 costs nothing unless another number is given."""
    scores, labels = np.zeros((2, 4), np.float32), np.array([0, 1], np.int32)

    close(run("SoftmaxCrossEntropyLoss", [scores, labels], {"reduction": "none"})[0], [0, math.log(4)], units=4)
    attributes = {"reduction": "none", "ignore_index": -1}
    close(run("SoftmaxCrossEntropyLoss", [scores, labels], attributes)[0], [math.log(4)] * 2, units=4)


@pytest.mark.parametrize("dtype", [np.dtype(np.float32), BF16], ids=str)
@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.parametrize("is_weighted", [False, True])
@pytest.mark.parametrize("rest", [(), (4,)], ids=str)
def test_likelihood(
    run: Run, close: Close, dtype: np.dtype[Any], reduction: str, is_weighted: bool, rest: tuple[int, ...]
) -> None:
    """As ONNX's NegativeLogLikelihoodLoss, and the sum of the weights that counted."""
    random = np.random.default_rng(9)
    x = random.uniform(-2, 0, (3, 5, *rest)).astype(dtype)
    target = random.integers(0, 5, (3, *rest)).astype(np.int64)
    target.flat[1] = -100
    weight = random.uniform(0.5, 2, 5).astype(dtype)
    wide = [x.astype(np.float64), target, *([weight.astype(np.float64)] if is_weighted else [])]
    y, total = run("NLLLoss", [x, target, *([weight] if is_weighted else [])], {"reduction": reduction})
    (exact,) = _onnx("NegativeLogLikelihoodLoss", wide, 1, reduction=reduction, ignore_index=-100)
    counted = target[target >= 0]

    close(y, np.asarray(exact), units=8, floor=1)
    sums = wide[2][counted].sum() if is_weighted else len(counted)
    close(total, np.asarray(0 if reduction == "none" else sums), units=4)


@pytest.mark.parametrize("dtype", [np.dtype(np.float32), BF16], ids=str)
@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.parametrize("rest", [(), (2,)], ids=str)
def test_likelihood_gradient(
    run: Run, close: Close, dtype: np.dtype[Any], reduction: str, rest: tuple[int, ...]
) -> None:
    """The slope at each target that counts, 0 elsewhere."""
    random = np.random.default_rng(4)
    x = random.uniform(-2, 0, (3, 4, *rest)).astype(dtype)
    target = random.integers(0, 4, (3, *rest)).astype(np.int32)
    target.flat[0] = 1
    weight = random.uniform(0.5, 2, 4).astype(dtype)
    grad = random.uniform(1, 2, target.shape if reduction == "none" else ()).astype(dtype)
    total = np.array(3.5, dtype)
    exact = np.zeros(x.shape)
    for place in np.ndindex(target.shape):
        if target[place] != 1:
            incoming = float(grad[place] if reduction == "none" else grad)
            slope = -float(weight[target[place]]) * incoming / (3.5 if reduction == "mean" else 1)
            exact[(place[0], target[place], *place[1:])] = slope
    (found,) = run("NLLLossGrad", [x, grad, target, weight, total], {"reduction": reduction, "ignore_index": 1})

    close(found, exact, units=4)


def test_one_row(run: Run, close: Close) -> None:
    """Scores of one dim are the classes of one label."""
    x = np.array([-1, -2, -3], np.float32)

    assert run("NLLLoss", [x, np.array(1, np.int32)])[0].tolist() == 2
    assert run("NLLLoss", [x, np.array([1], np.int32)])[0].tolist() == 2
    close(run("NLLLossGrad", [x, x[0] * 0 + 2, np.array([1], np.int32), x, x[0]])[0], [0, -4, 0])


def test_labels_outside(run: Run) -> None:
    """A label that is no class is refused, with its number."""
    scores = np.zeros((2, 3), np.float32)
    labels = np.array([1, 3], np.int32)
    for op_type in ("SparseSoftmaxCrossEntropyWithLogits", "SoftmaxCrossEntropyLoss", "NLLLoss"):
        with pytest.raises(IndexError, match=rf"{op_type}: label 3 lies outside \[0, 3\)"):
            run(op_type, [scores, labels])


def test_bad_input(run: Run) -> None:
    """Typed errors show both shapes."""
    x, labels = np.zeros((2, 3), np.float32), np.zeros(2, np.int32)
    with pytest.raises(InvalidArgument, match=r"x of shape \(2, 3\) and target of shape \(3,\) do not fit"):
        run("NLLLoss", [x, np.zeros(3, np.int32)])
    with pytest.raises(InvalidArgument, match="one weight a class"):
        run("NLLLoss", [x, labels, np.zeros(2, np.float32)])
    with pytest.raises(InvalidArgument, match=r"features of shape .2, 3, 1. must have 2 dims"):
        run("SoftmaxCrossEntropyWithLogits", [x[..., None], x])
    with pytest.raises(InvalidArgument, match="one label a row"):
        run("SparseSoftmaxCrossEntropyWithLogits", [x, np.zeros(3, np.int32)])
    with pytest.raises(UnsupportedDataType, match="they must be equal"):
        run("SoftmaxCrossEntropyWithLogits", [x, x.astype(np.float16)])
    with pytest.raises(InvalidArgument, match="reduction is 'median'"):
        run("NLLLoss", [x, labels], {"reduction": "median"})


def test_free_dims() -> None:
    """What the labels tell of a free batch counts."""
    schema = schema_of("SparseSoftmaxCrossEntropyWithLogits")
    features = TensorDesc.of(np.float32, (-1, 5))
    loss, slopes = infer_outputs(schema, [features, TensorDesc.of(np.int32, (4,))], {})
    assert (loss.shape, slopes.shape) == ((4,), (4, 5))
    loss, slopes = infer_outputs(schema, [features, TensorDesc.of(np.int32, (-2,))], {})

    assert (loss.shape, slopes.shape) == ((-1,), (-1, 5))
