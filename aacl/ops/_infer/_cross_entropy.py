"""Outputs of losses over classes, and of connectionist temporal classification."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aacl.dtypes import DataType
from aacl.ops._infer._agreement import broadcast_inputs, require_equal_dtypes
from aacl.ops._infer._dims import FREE, Dim, Shape, fixed, product
from aacl.ops._infer._losses import reduced, reduction
from aacl.ops._infer._requirements import require_ones, require_rank
from aacl.ops._infer._rules import Call, Output, rule

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ()


@rule("SoftmaxCrossEntropyWithLogits")
def softmax_cross_entropy(call: Call) -> Sequence[Output]:
    """One loss a row, and the gradient, as the two inputs broadcast; both have two dims."""
    require_equal_dtypes(call, (0, 1))
    for index in (0, 1):
        require_rank(call, index, 2)
    shape = broadcast_inputs(call)
    return [call.like(0, None if shape is None else shape[:1]), call.like(0, shape, 1)]


@rule("SparseSoftmaxCrossEntropyWithLogits")
def sparse_softmax_cross_entropy(call: Call) -> Sequence[Output]:
    """One loss a label, and the gradient, as the features ``[N, C]``."""
    shape, labels = call.shape(0), call.shape(1)
    require_rank(call, 0, 2)
    require_rank(call, 1, 1)
    rows = _joined(call, shape[:1] if shape else None, labels, "do not fit: there is one label a row")
    if shape is not None and rows is not None:
        shape = (rows[0], shape[1])
    return [call.like(0, rows), call.like(0, shape, 1)]


@rule("SoftmaxCrossEntropyLoss")
def softmax_cross_entropy_loss(call: Call) -> Sequence[Output]:
    """One element, or as the labels with reduction ``none``; and the logarithms of the chances, as the scores."""
    labels = _labelled(call, call.shape(0), call.shape(1), 0, 1)
    _check_weight(call, call.shape(0), 2)
    return [call.like(0, reduced(call, labels)), call.like(0, call.shape(0), 1)]


@rule("NLLLoss")
def likelihood(call: Call) -> Sequence[Output]:
    """One element, or as the target with reduction ``none``; and the total weight, one element."""
    target = _labelled(call, call.shape(0), call.shape(1), 0, 1)
    _check_weight(call, call.shape(0), 2)
    return [call.like(0, reduced(call, target)), call.like(0, (), 1)]


@rule("NLLLossGrad")
def likelihood_gradient(call: Call) -> Sequence[Output]:
    """As ``x``."""
    target = _labelled(call, call.shape(0), call.shape(2), 0, 2)
    _check_weight(call, call.shape(0), 3)
    require_equal_dtypes(call, (0, 1, 3, 4))
    require_ones(call, "total_weight")
    if reduction(call) == "none":
        _joined(call, call.shape(1), target, "do not fit: without reduction there is one gradient a target", (1, 2))
    elif call.desc(1).element_count not in (-1, 1):
        raise call.error(f"{call.titled(1)} must have one element: the loss was reduced")
    return [call.like(0, call.shape(0))]


@rule("CTCLossV2")
def ctc_loss(call: Call) -> Sequence[Output]:
    """``[N]`` costs and ``[N, T, 2 S + 1]`` logarithms of chances from ``[T, N, C]`` inputs."""
    require_rank(call, 0, 3)
    _check_lengths(call, 0, (2, 3))
    _check_targets(call, 0, 1)
    shape, targets = call.shape(0), call.shape(1)
    if shape is None or targets is None:
        return [call.like(0, None), call.like(0, None, 1)]
    steps, batch = shape[:2]
    longest = targets[1] if len(targets) == 2 else _longest(call)
    states = Dim(2 * longest.least + 1, 2 * longest.most + 1)
    return [call.like(0, (batch,)), call.like(0, (batch, steps, states), 1)]


@rule("CTCLossV2Grad")
def ctc_loss_gradient(call: Call) -> Sequence[Output]:
    """As the logarithms of chances."""
    require_rank(call, 1, 3)
    _check_lengths(call, 1, (0, 3, 4, 5))
    _check_targets(call, 1, 2)
    return [call.like(1, call.shape(1))]


@rule("CTCGreedyDecoder")
def ctc_greedy_decoder(call: Call) -> Sequence[Output]:
    """Indices ``[n, 2]`` and values ``[n]`` of what was decoded, its shape, and ``[N, 1]`` costs."""
    require_rank(call, 0, 3)
    shape = call.shape(0)
    steps, batch = (FREE, FREE) if shape is None else shape[:2]
    if shape is not None and not shape[2].most:
        raise call.error(f"{call.titled(0)} must have one class at least, the blank")
    _joined(call, (batch,), require_rank(call, 1, 1), "do not fit: there is one length for each sequence")
    found = Dim(0, steps.times(batch).most)
    return [
        Output(DataType.INT64, (found, *fixed(2))),
        Output(DataType.INT64, (found,)),
        Output(DataType.INT64, fixed(2)),
        Output(call.desc(0).dtype, (batch, *fixed(1))),
    ]


def _check_lengths(call: Call, chances: int, places: Sequence[int]) -> None:
    """Refuse inputs that do not hold one number for each sequence of a batch, the middle axis of the chances."""
    shape = call.shape(chances)
    for index in places:
        found = call.shape(index)
        if shape is not None and found is not None and not product(found).meets(shape[1]):
            raise call.mismatch(chances, index, "do not fit: there is one number for each sequence")


def _check_targets(call: Call, chances: int, index: int) -> None:
    """Refuse targets that are neither a row for each sequence nor all in one row."""
    shape, targets = call.shape(chances), call.shape(index)
    if targets is None:
        return
    if len(targets) not in (1, 2):
        raise call.error(f"{call.titled(index)} must have two dims, [N, S], or one with all targets in a row")
    if len(targets) == 2 and shape is not None and not targets[0].meets(shape[1]):
        raise call.mismatch(chances, index, "do not fit: there is one row of targets for each sequence")


def _longest(call: Call) -> Dim:
    """Return what is known of the longest target, from the lengths' values."""
    lengths = call.integers(3)
    return FREE if lengths is None else Dim(max(lengths, default=0), max(lengths, default=0))


def _joined(call: Call, left: Shape, right: Shape, text: str, places: tuple[int, int] = (0, 1)) -> Shape:
    if left is None or right is None:
        return left if right is None else right
    dims = [a.meets(b) for a, b in zip(left, right, strict=False)]
    if len(left) != len(right) or None in dims:
        raise call.mismatch(*places, text)
    return tuple(dim for dim in dims if dim is not None)


def _labelled(call: Call, scores: Shape, labels: Shape, left: int, right: int) -> Shape:
    """Return the labels' shape: that of the scores without the classes, axis 1 (axis 0 of one dim)."""
    if scores is None:
        return labels
    if not scores:
        raise call.error(f"{call.titled(left)} must have one dim at least: [C], [N, C] or [N, C, d1, ...]")
    rest = () if len(scores) == 1 else (scores[0], *scores[2:])
    if len(scores) == 1 and labels is not None and len(labels) == 1 and labels[0].meets(Dim(1, 1)):
        return ()
    return _joined(call, rest, labels, "do not fit: there is one label for each group of classes", (left, right))


def _check_weight(call: Call, scores: Shape, index: int) -> None:
    if not call.has(index):
        return
    require_equal_dtypes(call, (0, index))
    weight = call.shape(index)
    if weight is not None and scores:
        classes = scores[0] if len(scores) == 1 else scores[1]
        if len(weight) != 1 or not weight[0].meets(classes):
            raise call.mismatch(0, index, "do not fit: there is one weight a class")
