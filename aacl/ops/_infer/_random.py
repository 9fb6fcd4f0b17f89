"""Outputs of operators that draw random numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aacl.dtypes import DataType
from aacl.ops._infer._agreement import broadcast_inputs, require_equal_dtypes, spreads
from aacl.ops._infer._asked import asked_dtype, asked_shape
from aacl.ops._infer._dims import FREE, fixed
from aacl.ops._infer._elementwise import like_first
from aacl.ops._infer._requirements import require_elements, require_one
from aacl.ops._infer._rules import Call, Output, rule

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ("check_seeds", "typed")


@rule(
    *("RandomUniform", "RandomStandardNormal", "TruncatedNormal", "StatelessRandomUniformV2"),
    *("StatelessRandomNormalV2", "StatelessTruncatedNormalV2", "StatelessRandomUniformFullInt"),
    *("StatelessRandomUniformFullIntV2", "StatelessBernoulli"),
)
def sized(call: Call) -> Sequence[Output]:
    """The shape that the first input holds, of the attribute's dtype."""
    check_seeds(call)
    if call.schema.op_type == "StatelessBernoulli" and call.desc(1).element_count not in (1, -1):
        _check_against(call, 1)
    return [Output(typed(call), asked_shape(call, 0))]


@rule("RandomUniformInt", "StatelessRandomUniformInt", "StatelessRandomUniformIntV2")
def sized_between(call: Call) -> Sequence[Output]:
    """The shape that the first input holds, of the bounds' dtype."""
    check_seeds(call)
    count = len(call.inputs)
    bounds = (count - 2, count - 1)
    require_equal_dtypes(call, bounds)
    for index in bounds:
        require_one(call, index)
    return [Output(call.desc(bounds[0]).dtype, asked_shape(call, 0))]


@rule("ParameterizedTruncatedNormal", "StatelessParameterizedTruncatedNormal")
def sized_by_parameters(call: Call) -> Sequence[Output]:
    """The shape that the first input holds; parameters have one element, or one for each of the first axis."""
    check_seeds(call)
    count = len(call.inputs)
    parameters = tuple(range(count - 4, count))
    require_equal_dtypes(call, parameters)
    shape = asked_shape(call, 0)
    for index in parameters:
        found = call.shape(index)
        if found is None or call.desc(index).element_count == 1 or shape is None:
            continue
        if len(found) != 1 or not shape or not found[0].meets(shape[0]):
            raise call.error(f"{call.titled(index)} must have one element, or one for each of the first axis")
    return [Output(call.desc(parameters[0]).dtype, shape)]


@rule("RandomGamma", "RandomPoisson")
def sized_for_each(call: Call) -> Sequence[Output]:
    """The shape that the first input holds, for each parameter: its shape comes behind."""
    shape, each = asked_shape(call, 0), call.shape(1)
    dtype = call.desc(1).dtype if call.schema.op_type == "RandomGamma" else typed(call)
    return [Output(dtype, None if shape is None or each is None else shape + each)]


@rule("StatelessRandomGammaV2", "StatelessRandomPoisson", "StatelessRandomBinomial")
def sized_over(call: Call) -> Sequence[Output]:
    """The shape that the first input holds, to which the parameters broadcast."""
    check_seeds(call)
    for index in range(2, len(call.inputs)):
        _check_against(call, index)
    is_gamma = call.schema.op_type == "StatelessRandomGammaV2"
    return [Output(call.desc(2).dtype if is_gamma else typed(call), asked_shape(call, 0))]


rule("Uniform", "Exponential", "Geometric", "Poisson", "RandomShuffle")(like_first)


@rule("Normal")
def by_moments(call: Call) -> Sequence[Output]:
    """Mean and deviation broadcast."""
    require_equal_dtypes(call, (0, 1))
    return [Output(call.desc(0).dtype, broadcast_inputs(call))]


@rule("StatelessRandomGetKeyCounter", "StatelessRandomGetKeyCounterAlg", "StatelessRandomGetAlg")
def key(call: Call) -> Sequence[Output]:
    """A key of one number, a counter of two, an algorithm."""
    if call.inputs and call.desc(0).element_count not in (2, -1):
        raise call.error(f"{call.titled(0)} must have two elements")
    found = [Output(DataType.UINT64, fixed(1)), Output(DataType.UINT64, fixed(2)), Output(DataType.INT32, ())]
    names = ("key", "counter", "alg")
    return [found[names.index(output.name)] for output in call.schema.outputs]


def check_seeds(call: Call) -> None:
    """Refuse seeds, where they are inputs, of the wrong number of elements.

    A seed beside an offset is one number and more are not read; without one it is two, as in TensorFlow. A key is one
    number, a counter one or two.
    """
    is_one = "offset" in call.names or "seed1" in call.names
    require_elements(call, "seed", *((1, FREE.most) if is_one else (2, 2)))
    require_elements(call, "seed1", 1, FREE.most)
    require_elements(call, "offset", 1, FREE.most)
    require_elements(call, "key", 1, 1)
    require_elements(call, "counter", 1, 2)
    require_elements(call, "alg", 1, 1)


def typed(call: Call) -> DataType:
    """Return the dtype that an attribute asks for; see `asked_dtype`."""
    return asked_dtype(call, "output_dtype" if "output_dtype" in call.attributes else "dtype")


def _check_against(call: Call, index: int) -> None:
    """Refuse a parameter that does not broadcast to the shape asked for."""
    shape = asked_shape(call, 0)
    if not spreads(call.shape(index), shape):
        raise call.error(f"{call.titled(index)} does not broadcast to the shape asked for, {shape}")
