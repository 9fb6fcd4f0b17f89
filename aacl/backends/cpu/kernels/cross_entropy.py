"""Losses over classes.

Half precision computes in float32 and is rounded once. A label outside the classes is an error, and
nothing is written then; TensorFlow's and torch's CPU kernels refuse it too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from aacl.backends.cpu.kernels._quiet import quiet
from aacl.backends.cpu.kernels._registry import TRANSCENDENTAL, elements, given, kernel, prepared
from aacl.backends.cpu.kernels._terms import wide

if TYPE_CHECKING:
    from aacl.abc import Array, Kernel, KernelRequest
    from aacl.backends.cpu.kernels._registry import Body

__all__ = ()


def _prepared(request: KernelRequest, body: Body) -> Kernel:
    work = (2 * TRANSCENDENTAL + 6) * elements(given(request, 0))
    return prepared(request, quiet(body, len(request.inputs) + len(request.outputs)), work)


@kernel("SoftmaxCrossEntropyWithLogits")
def _softmax_cross_entropy(request: KernelRequest) -> Kernel:
    """As TensorFlow: ``-sum(labels log softmax)`` a row and ``softmax - labels``; labels of 0 cost nothing."""

    def body(features: Array, labels: Array, loss: Array, backprop: Array) -> None:
        wanted = wide(labels)
        logs = _log_softmax(wide(features), 1)
        costs = np.where(wanted == 0, 0, np.negative(logs) * wanted)
        np.copyto(loss, costs.sum(1), casting="same_kind")
        np.copyto(backprop, np.exp(logs) - wanted, casting="same_kind")

    return _prepared(request, body)


@kernel("SparseSoftmaxCrossEntropyWithLogits")
def _sparse_softmax_cross_entropy(request: KernelRequest) -> Kernel:
    """As TensorFlow: ``-log softmax`` at each label, and ``softmax - onehot``."""

    def body(features: Array, labels: Array, loss: Array, backprop: Array) -> None:
        _check_labels(request.op_type, labels, features.shape[1], None)
        logs, rows = _log_softmax(wide(features), 1), np.arange(len(labels))
        np.copyto(loss, -logs[rows, labels], casting="same_kind")
        slopes = np.exp(logs)
        slopes[rows, labels] -= 1
        np.copyto(backprop, slopes, casting="same_kind")

    return _prepared(request, body)


@kernel("SoftmaxCrossEntropyLoss")
def _softmax_cross_entropy_loss(request: KernelRequest) -> Kernel:
    """As ONNX, but ``ignore_index`` always counts (0 unless given)."""

    def body(scores: Array, labels: Array, *others: Array) -> None:
        weight, (loss, chances) = _weight(request, others, 2), others[-2:]
        logs = _log_softmax(wide(scores), _axis(scores))
        costs, weights = _picked(request, logs, labels, weight)
        _write(request, loss, costs, weights)
        np.copyto(chances, logs, casting="same_kind")

    return _prepared(request, body)


@kernel("NLLLoss")
def _likelihood(request: KernelRequest) -> Kernel:
    """As torch: ``-weight x`` at each target; the total weight is 0 without reduction, as torch's is."""

    def body(x: Array, target: Array, *others: Array) -> None:
        weight, (y, total) = _weight(request, others, 2), others[-2:]
        costs, weights = _picked(request, wide(x), target, weight)
        _write(request, y, costs, weights)
        total[...] = 0 if request.attributes["reduction"] == "none" else weights.sum(dtype=np.float64)

    return _prepared(request, body)


@kernel("NLLLossGrad")
def _likelihood_gradient(request: KernelRequest) -> Kernel:
    """``-weight * grad`` at each target, over the total weight for ``mean``; 0 elsewhere."""
    reduction = request.attributes["reduction"]

    def body(x: Array, grad: Array, target: Array, weight: Array, total: Array, out: Array) -> None:
        labels = target.reshape(() if x.ndim == 1 else (x.shape[0], *x.shape[2:]))
        keep = _check_labels(request.op_type, labels, len(weight), request.attributes["ignore_index"])
        place = np.where(keep, labels, 0)
        incoming = wide(grad).reshape(labels.shape) if reduction == "none" else wide(grad).reshape(())
        slopes = np.where(keep, -wide(weight)[place] * incoming, 0)
        if reduction == "mean":
            slopes = slopes / wide(total).reshape(())
        axis = _axis(x)
        out.fill(0)
        np.put_along_axis(
            out, np.expand_dims(place, axis), np.expand_dims(slopes.astype(out.dtype, copy=False), axis), axis
        )

    return _prepared(request, body)


def _log_softmax(x: Array, axis: int) -> Array:
    if not x.size:
        return x.copy()
    apart: Array = x - np.maximum.reduce(x, axis, keepdims=True)
    apart -= np.log(np.exp(apart).sum(axis, keepdims=True))
    return apart


def _axis(scores: Array) -> int:
    """The classes lie along axis 1; a single dim is them."""
    return min(scores.ndim - 1, 1)


def _weight(request: KernelRequest, others: tuple[Any, ...], outputs: int) -> Any:
    """Return the optional weight among the arrays behind the labels."""
    return wide(others[0]) if len(others) > outputs and request.inputs[2] is not None else None


def _picked(request: KernelRequest, scores: Array, labels: Array, weight: Array | None) -> tuple[Array, Array]:
    """Return the cost and the weight of each label; both are 0 for the label that is ignored."""
    axis = _axis(scores)
    labels = labels.reshape(scores.shape[:axis] + scores.shape[axis + 1 :])
    keep = _check_labels(request.op_type, labels, scores.shape[axis], request.attributes["ignore_index"])
    if not scores.size:
        return np.zeros(labels.shape, scores.dtype), np.zeros(labels.shape, scores.dtype)
    place = np.where(keep, labels, 0)
    weights = keep.astype(scores.dtype) if weight is None else np.where(keep, weight[place], 0)
    found = np.take_along_axis(scores, np.expand_dims(place, axis), axis).squeeze(axis)
    return np.where(keep, -found * weights, 0), weights


def _write(request: KernelRequest, out: Array, costs: Array, weights: Array) -> None:
    reduction = request.attributes["reduction"]
    if reduction == "none":
        np.copyto(out, costs.reshape(out.shape), casting="same_kind")
        return
    total = costs.sum(dtype=np.float64)
    out[...] = total / weights.sum(dtype=np.float64) if reduction == "mean" else total


def _check_labels(op_type: str, labels: Array, classes: int, ignored: int | None) -> Array:
    """Return which labels count.

    Raises:
        IndexError: one that counts is no class.
    """
    keep = np.ones(labels.shape, bool) if ignored is None else labels != ignored
    wrong = keep & ((labels < 0) | (labels >= classes))
    if wrong.any():
        raise IndexError(f"operator {op_type}: label {labels[wrong].flat[0]} lies outside [0, {classes})")
    return keep
