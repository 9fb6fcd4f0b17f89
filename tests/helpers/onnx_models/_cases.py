"""The cases that the `onnx` package makes, as whole models."""

from __future__ import annotations

import functools
import re
import warnings
from typing import TYPE_CHECKING, Any

import attrs
import numpy as np

if TYPE_CHECKING:
    from onnx import ModelProto

__all__ = ("Case", "collect")


@attrs.frozen(eq=False)
class Case:
    """A model with inputs and expected outputs.

    Attributes:
        name: of the case, such as ``"test_add_bcast"``.
        op_type: the ONNX operator that it is about.
        model: the graph: of that operator alone, or of others that together mean the same.
        inputs: by name; a list is a sequence, None an absent optional.
        expected: the outputs, in order.
        rtol: the relative tolerance that the case states.
        atol: the absolute tolerance that the case states.
    """

    name: str
    op_type: str
    model: ModelProto
    inputs: dict[str, Any]
    expected: tuple[Any, ...]
    rtol: float
    atol: float


@functools.cache
def collect() -> tuple[Case, ...]:
    """Make the cases, which takes seconds. They are the same ones each time: their random numbers are seeded."""
    from onnx.backend.test.case.node import collect_testcases

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # NumPy's, about overflows that cases are made of
        made: list[Any] = [case for case in collect_testcases(None) if case.model is not None]
    types = {case.name: case.model.graph.node[0].op_type for case in made}
    return tuple(_read(case, types) for case in made)


def _read(case: Any, types: dict[str, str]) -> Case:
    given, expected = case.data_sets[0]
    names = [value.name for value in case.model.graph.input]
    return Case(
        name=case.name,
        op_type=types.get(re.sub(r"_expanded(_ver\d+)?$", "", case.name), types[case.name]),
        model=case.model,
        inputs=dict(zip(names, map(_array, given), strict=True)),
        expected=tuple(map(_array, expected)),
        rtol=case.rtol,
        atol=case.atol,
    )


def _array(value: Any) -> Any:
    """Return an array for a tensor in whatever form a case has it, and a list for a sequence."""
    from onnx import TensorProto
    from onnx.numpy_helper import to_array

    if isinstance(value, TensorProto):
        return to_array(value)
    return value if value is None or isinstance(value, (list, tuple)) else np.asarray(value)
