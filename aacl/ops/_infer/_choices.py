"""Outputs of random choices."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aacl.dtypes import DataType
from aacl.ops._infer._agreement import require_spread
from aacl.ops._infer._dims import FREE, Dim, Shape
from aacl.ops._infer._random import check_seeds, typed
from aacl.ops._infer._rules import Call, Output, rule

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ()


@rule("Bernoulli")
def hits(call: Call) -> Sequence[Output]:
    """As the first input, to which the chance broadcasts."""
    require_spread(call, 1)
    return [call.like(0, call.shape(0))]


@rule("StatelessBernoulliV2")
def hits_by_input(call: Call) -> Sequence[Output]:
    """As the input, of the attribute's dtype, its own if none is given."""
    check_seeds(call)
    wanted = call.attributes["dtype"]
    dtype = call.desc(0).dtype if wanted is DataType.UNDEFINED else typed(call)
    return [Output(dtype, call.shape(0), call.desc(0).format)]


@rule("Multinomial", "StatelessMultinomial")
def classes(call: Call) -> Sequence[Output]:
    """``[rows, num_samples]``, of the attribute's dtype."""
    check_seeds(call)
    count = call.integer(1)
    return [Output(typed(call), _rows(call, FREE if count is None else _samples(call, count)))]


@rule("MultinomialFuss")
def classes_by_attribute(call: Call) -> Sequence[Output]:
    """``[rows, sample_size]``; the dtype is ONNX's number: 6 int32, 7 int64."""
    dtypes = {6: DataType.INT32, 7: DataType.INT64}
    if call.attributes["dtype"] not in dtypes:
        raise call.error(f"dtype is {call.attributes['dtype']}; it is 6 for INT32 or 7 for INT64")
    return [Output(dtypes[call.attributes["dtype"]], _rows(call, _samples(call, call.attributes["sample_size"])))]


@rule("MultinomialWithReplacement")
def classes_by_weights(call: Call) -> Sequence[Output]:
    """``[rows, numsamples]``, or ``[numsamples]`` for weights of one dim."""
    check_seeds(call)
    shape, count = call.shape(0), call.attributes["numsamples"]
    if shape is not None and len(shape) not in (1, 2):
        raise call.error(f"{call.titled(0)} must have one or two dims")
    if shape and not call.attributes["replacement"] and count > shape[-1].most:
        raise call.error(f"{count} different classes are asked for of {call.titled(0)}")
    return [Output(DataType.INT64, None if shape is None else (*shape[:-1], _samples(call, count)))]


@rule("Randperm")
def permutation(call: Call) -> Sequence[Output]:
    """``n`` numbers, of the attribute's dtype."""
    return [Output(typed(call), (_samples(call, call.attributes["n"]),))]


@rule("StatelessRandperm")
def stateless_permutation(call: Call) -> Sequence[Output]:
    """``n`` numbers, of the attribute's dtype."""
    check_seeds(call)
    count = call.integer(0)
    return [Output(typed(call), (FREE if count is None else _samples(call, count),))]


@rule("RandomChoiceWithMask")
def choice(call: Call) -> Sequence[Output]:
    """Coordinates of ``count`` elements and a mask; 0 stands for as many as there are elements."""
    shape, count = call.shape(0), _samples(call, call.attributes["count"])
    if not count.most:
        size = call.desc(0).element_count
        count = FREE if size < 0 else Dim(size, size)
    rank = FREE if shape is None else Dim(len(shape), len(shape))
    return [Output(DataType.INT32, (count, rank)), Output(DataType.BOOL, (count,))]


def _rows(call: Call, count: Dim) -> Shape:
    shape = call.shape(0)
    if shape is not None and len(shape) != 2:
        raise call.error(f"{call.titled(0)} must have two dims: rows and classes")
    return (FREE, count) if shape is None else (shape[0], count)


def _samples(call: Call, count: int) -> Dim:
    if count < 0:
        raise call.error(f"{count} numbers are asked for; it must not be negative")
    return Dim(count, count)
