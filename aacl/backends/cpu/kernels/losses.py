"""Losses that compare two tensors element by element, and their gradients.

Their formulas are those of the torch functions of the same meaning, which the prototype headers follow;
``reduction`` is ``none``, ``mean`` or ``sum``, and for the divergence of Kullback and Leibler ``batchmean``.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from aacl.backends.cpu.kernels._quiet import quiet
from aacl.backends.cpu.kernels._registry import TRANSCENDENTAL, elements, given, kernel, prepared
from aacl.backends.cpu.kernels._sums import summed
from aacl.backends.cpu.kernels._terms import divisor, each, log_one_plus, reduced, wide
from aacl.errors import InvalidArgument, NotSupported

if TYPE_CHECKING:
    from aacl.abc import Array, Kernel, KernelRequest
    from aacl.backends.cpu.kernels._terms import Term

__all__ = ()


@kernel("BinaryCrossEntropy")
def _binary_cross_entropy(request: KernelRequest) -> Kernel:
    """``-weight * (y log x + (1 - y) log(1 - x))``; logarithms stop at -100, as torch's do."""

    def term(x: Array, y: Array, weight: Array | None = None) -> Array:
        first, second = np.maximum(np.log(x), -100), np.maximum(log_one_plus(-x), -100)
        found: Array = (y - 1) * second - y * first
        return found if weight is None else found * weight

    return reduced(request, term, 3 * TRANSCENDENTAL)


@kernel("BinaryCrossEntropyGrad")
def _binary_cross_entropy_gradient(request: KernelRequest) -> Kernel:
    """``grad * weight * (x - y) / max(x (1 - x), 1e-12)``, over the number of elements for ``mean``."""

    def term(x: Array, y: Array, grad: Array, weight: Array | None = None) -> Array:
        found: Array = grad * (x - y) / np.maximum((1 - x) * x, 1e-12)
        return found if weight is None else found * weight

    return _gradient(request, term, 8)


@kernel("SigmoidCrossEntropyWithLogits")
def _sigmoid_cross_entropy(request: KernelRequest) -> Kernel:
    """``max(x, 0) - x z + log(1 + e^-|x|)``, as TensorFlow computes it."""
    return each(request, _logistic_loss, 3 * TRANSCENDENTAL)


@kernel("SigmoidCrossEntropyWithLogitsV2")
def _sigmoid_cross_entropy_v2(request: KernelRequest) -> Kernel:
    """As torch.binary_cross_entropy_with_logits: ``weight`` scales a term, ``pos_weight`` its positive part."""
    return reduced(request, _logistic_loss, 3 * TRANSCENDENTAL)


def _logistic_loss(x: Array, z: Array, weight: Array | None = None, positive: Array | None = None) -> Array:
    softplus = _softplus(-x)
    if positive is not None:
        softplus *= (positive - 1) * z + 1
    found: Array = softplus + (1 - z) * x
    return found if weight is None else found * weight


def _softplus(x: Array) -> Array:
    """Return ``log(1 + e^x)`` without overflow."""
    return log_one_plus(np.exp(-np.abs(x))) + np.maximum(x, 0)


@kernel("SigmoidCrossEntropyWithLogitsGrad")
def _sigmoid_cross_entropy_gradient(request: KernelRequest) -> Kernel:
    """``(sigmoid(x) - z) * dout``."""
    return each(request, _logistic_gradient, TRANSCENDENTAL + 6)


@kernel("SigmoidCrossEntropyWithLogitsGradV2")
def _sigmoid_cross_entropy_gradient_v2(request: KernelRequest) -> Kernel:
    """The gradient of the loss with ``weight`` and ``pos_weight``."""
    return _gradient(request, _logistic_gradient, TRANSCENDENTAL + 10)


def _logistic_gradient(
    x: Array, z: Array, dout: Array, weight: Array | None = None, positive: Array | None = None
) -> Array:
    sigmoid = 1 / (1 + np.exp(-x))
    found: Array = sigmoid - z if positive is None else (positive * z + 1 - z) * sigmoid - positive * z
    found = found * dout
    return found if weight is None else found * weight


@kernel("SmoothL1Loss")
def _smooth_l1(request: KernelRequest) -> Kernel:
    """``d^2 / (2 sigma)`` where ``|d| < sigma``, else ``|d| - sigma / 2``: sigma is the threshold."""
    return each(request, _huber(request), 8)


@kernel("SmoothL1LossV2")
def _smooth_l1_v2(request: KernelRequest) -> Kernel:
    """As SmoothL1Loss, with a reduction."""
    return reduced(request, _huber(request), 8)


def _huber(request: KernelRequest) -> Term:
    sigma = _threshold(request)

    def term(predict: Array, label: Array) -> Array:
        apart: Array = np.abs(predict - label)
        return apart if sigma == 0 else np.where(apart < sigma, apart * apart * (0.5 / sigma), apart - sigma / 2)

    return term


@kernel("SmoothL1LossGrad")
def _smooth_l1_gradient(request: KernelRequest) -> Kernel:
    """``d / sigma`` where ``|d| < sigma``, else the sign of d, times ``dout``."""
    return each(request, _huber_gradient(request), 6)


@kernel("SmoothL1LossGradV2")
def _smooth_l1_gradient_v2(request: KernelRequest) -> Kernel:
    """As SmoothL1LossGrad; over the number of elements for ``mean``."""
    return _gradient(request, _huber_gradient(request), 6)


def _huber_gradient(request: KernelRequest) -> Term:
    sigma = _threshold(request)

    def term(predict: Array, label: Array, dout: Array) -> Array:
        apart = predict - label
        slope = np.sign(apart) if sigma == 0 else np.clip(apart / sigma, -1, 1)
        found: Array = slope * dout
        return found

    return term


def _threshold(request: KernelRequest) -> float:
    sigma: float = request.attributes["sigma"]
    if not sigma >= 0:
        raise InvalidArgument(f"operator {request.op_type}: sigma is {sigma}; it must not be negative")
    return sigma


@kernel("MseLoss")
def _mean_square_error(request: KernelRequest) -> Kernel:
    """``(predict - label)^2``."""

    def term(predict: Array, label: Array) -> Array:
        apart: Array = predict - label
        return np.multiply(apart, apart, out=apart) if apart.ndim else apart * apart

    return reduced(request, term, 2)


@kernel("MseLossGrad")
def _mean_square_error_gradient(request: KernelRequest) -> Kernel:
    """``2 (predict - label) dout``, over the number of elements for ``mean``."""

    def term(predict: Array, label: Array, dout: Array) -> Array:
        found: Array = 2 * (predict - label) * dout
        return found

    return _gradient(request, term, 4)


@kernel("LpLoss")
def _lp_loss(request: KernelRequest) -> Kernel:
    """``|predict - label|``: the header knows ``p`` 1 alone."""
    if request.attributes["p"] != 1:
        raise NotSupported(f"operator LpLoss: p is {request.attributes['p']}; its definition covers p = 1 alone")

    def term(predict: Array, label: Array) -> Array:
        found: Array = np.abs(predict - label)
        return found

    return reduced(request, term, 2)


@kernel("L1LossGrad")
def _absolute_error_gradient(request: KernelRequest) -> Kernel:
    """``sign(predict - label) * grads``, over the number of elements for ``mean``."""

    def term(grads: Array, predict: Array, label: Array) -> Array:
        found: Array = np.sign(predict - label) * grads
        return found

    return _gradient(request, term, 4, predicted=1)


@kernel("KLDiv", "KLDivV2")
def _divergence(request: KernelRequest) -> Kernel:
    """``target (log target - x)``, 0 where the target is 0; with ``log_target`` it is the target's logarithm."""

    def term(x: Array, target: Array) -> Array:
        found: Array = np.where(target > 0, target * (np.log(target) - x), np.where(target == 0, 0, target * np.nan))
        return found

    def logarithmic(x: Array, target: Array) -> Array:
        found: Array = np.exp(target) * (target - x)
        return found

    return reduced(request, logarithmic if request.attributes.get("log_target") else term, TRANSCENDENTAL + 4)


@kernel("KlDivLossGrad")
def _divergence_gradient(request: KernelRequest) -> Kernel:
    """``-target * grad``; with ``log_target`` ``-e^target * grad``."""
    is_logarithm = request.attributes["log_target"]

    def term(grad: Array, _: Array, target: Array) -> Array:
        found: Array = np.negative(np.exp(target) if is_logarithm else target) * grad
        return found

    return _gradient(request, term, TRANSCENDENTAL, predicted=1)


@kernel("SoftMarginLoss")
def _soft_margin(request: KernelRequest) -> Kernel:
    """``log(1 + e^(-y x))``."""

    def term(x: Array, y: Array) -> Array:
        return _softplus(-x * y)

    return reduced(request, term, 3 * TRANSCENDENTAL)


@kernel("SoftMarginLossGrad")
def _soft_margin_gradient(request: KernelRequest) -> Kernel:
    """``-y / (1 + e^(y x)) * dout``, over the number of elements for ``mean``."""

    def term(x: Array, y: Array, dout: Array) -> Array:
        found: Array = -y / (1 + np.exp(x * y)) * dout
        return found

    return _gradient(request, term, TRANSCENDENTAL + 5)


@kernel("PoissonNllLoss")
def _poisson(request: KernelRequest) -> Kernel:
    """``e^x - t x`` (``x - t log(x + eps)`` without ``log_input``); ``full`` adds Stirling's formula where t > 1."""
    is_log, is_full, eps = (request.attributes[name] for name in ("log_input", "full", "eps"))

    def term(x: Array, target: Array) -> Array:
        found: Array = np.exp(x) - target * x if is_log else x - target * np.log(x + eps)
        if is_full:
            rest = target * np.log(target) - target + 0.5 * np.log(2 * math.pi * target)
            found = found + np.where(target > 1, rest, 0)
        return found

    return reduced(request, term, (4 if is_full else 1) * TRANSCENDENTAL)


@kernel("CosineSimilarity")
def _cosine_similarity(request: KernelRequest) -> Kernel:
    """``x1 . x2 / max(|x1| |x2|, eps)`` along ``dim``."""
    axis, eps = request.attributes["dim"], request.attributes["eps"]

    def body(x1: Array, x2: Array, out: Array) -> None:
        x1, x2 = np.broadcast_arrays(x1, x2)
        lengths = np.sqrt(summed(x1 * x1, axis) * summed(x2 * x2, axis))
        np.divide(summed(x1 * x2, axis), np.maximum(lengths, eps), out)

    return prepared(request, quiet(body, 3), 6 * elements(given(request, 0)))


@kernel("CosineEmbeddingLoss")
def _cosine_embedding(request: KernelRequest) -> Kernel:
    """As torch: ``1 - cos`` where the target is 1, ``max(0, cos - margin)`` where it is -1, else 0."""
    margin, reduction = request.attributes["margin"], request.attributes["reduction"]

    def body(x1: Array, x2: Array, target: Array, out: Array) -> None:
        x1, x2 = (x.astype(np.float64) for x in np.broadcast_arrays(x1, x2))
        lengths = ((x1 * x1).sum(1) + 1e-12) * ((x2 * x2).sum(1) + 1e-12)
        cosine = (x1 * x2).sum(1) / np.sqrt(lengths)
        terms = np.where(target == 1, 1 - cosine, np.where(target == -1, np.maximum(cosine - margin, 0), 0))
        out[...] = _joined(terms, reduction)

    return prepared(request, quiet(body, 4), 8 * elements(given(request, 0)))


@kernel("MultilabelMarginLoss")
def _multilabel_margin(request: KernelRequest) -> Kernel:
    """As torch: ``sum max(0, 1 - (x[target] - x[other])) / C``; targets of a row end at the first -1."""
    reduction = request.attributes["reduction"]

    def body(x: Array, target: Array, out: Array, is_target: Array) -> None:
        rows, wanted = np.atleast_2d(wide(x)), np.atleast_2d(target)
        classes = rows.shape[1]
        if wanted.size and not (wanted.min() >= -1 and wanted.max() < classes):
            raise IndexError(f"operator MultilabelMarginLoss: a target lies outside [-1, {classes})")
        counts = np.cumprod(wanted >= 0, axis=1, dtype=bool)
        hit = np.zeros(rows.shape, bool)
        hit[np.nonzero(counts)[0], wanted[counts]] = True
        # Each place of the target list counts, a class listed twice counts twice.
        chosen = np.take_along_axis(rows, np.maximum(wanted, 0), 1)
        gaps = np.maximum(1 - (chosen[:, :, None] - rows[:, None, :]), 0)
        losses = np.where(counts[:, :, None] & ~hit[:, None, :], gaps, 0).sum((1, 2)) / classes
        is_target[...] = hit.reshape(is_target.shape)
        out[...] = _joined(losses, reduction).reshape(out.shape)

    info = given(request, 0)
    return prepared(request, quiet(body, 4), 5 * elements(info) * (info.shape[-1] if info.shape else 1))


def _joined(terms: Array, reduction: str) -> Any:
    """Return the terms themselves, their sum or their mean, which is NaN where there are none."""
    return terms if reduction == "none" else terms.sum() / (terms.size if reduction == "mean" else 1)


def _gradient(request: KernelRequest, term: Term, operations: int, *, predicted: int = 0) -> Kernel:
    """Return the kernel of a reduced loss's gradient: terms over what the loss divides by."""
    over = divisor(request, predicted)
    if over is None or over == 1:
        return each(request, term, operations)
    return each(request, lambda *arrays: term(*arrays) / over, operations + 1)
