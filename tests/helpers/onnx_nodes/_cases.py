"""The cases that the `onnx` package makes."""

from __future__ import annotations

import functools
import warnings
from typing import Any

import attrs
import numpy as np

__all__ = ("Case", "collect")


@attrs.frozen(eq=False)
class Case:
    """A model of one node, with inputs and expected outputs.

    Attributes:
        name: of the case, such as ``"test_add_bcast"``.
        op_type: the ONNX operator.
        opset: the version of the operator set that the model asks for.
        attributes: of the node; strings decoded, graphs and tensors as ONNX has them.
        inputs: an array for each input, in the node's order; None where the node leaves one out;
            sequences are lists.
        outputs: whether each output is asked for, in the node's order.
        expected: the asked-for outputs.
        rtol: the relative tolerance that the case states.
        atol: the absolute tolerance that the case states.
    """

    name: str
    op_type: str
    opset: int
    attributes: dict[str, Any]
    inputs: tuple[Any, ...]
    outputs: tuple[bool, ...]
    expected: tuple[Any, ...]
    rtol: float
    atol: float


@functools.cache
def collect() -> tuple[int, tuple[Case, ...]]:
    """Make the cases, which takes seconds; return how many there are in all, and those of one node.

    They are the same ones each time: their random numbers are seeded.
    """
    from onnx.backend.test.case.node import collect_testcases

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # NumPy's, about overflows that cases are made of
        cases = collect_testcases(None)
    return len(cases), tuple(
        _read(case) for case in cases if case.model is not None and len(case.model.graph.node) == 1
    )


def _read(case: Any) -> Case:
    node = case.model.graph.node[0]
    given, expected = case.data_sets[0]
    values = iter(given)
    return Case(
        name=case.name,
        op_type=node.op_type,
        opset=_opset(case.model, node.domain),
        attributes={attribute.name: _attribute(attribute) for attribute in node.attribute},
        inputs=tuple(_array(next(values)) if name else None for name in node.input),
        outputs=tuple(bool(name) for name in node.output),
        expected=tuple(_array(value) for value in expected),
        rtol=case.rtol,
        atol=case.atol,
    )


def _opset(model: Any, domain: str) -> int:
    return next(int(opset.version) for opset in model.opset_import if opset.domain == domain)


def _attribute(attribute: Any) -> Any:
    from onnx.helper import get_attribute_value

    value = get_attribute_value(attribute)
    if isinstance(value, bytes):
        return value.decode()
    return [item.decode() if isinstance(item, bytes) else item for item in value] if isinstance(value, list) else value


def _array(value: Any) -> Any:
    """Return an array for a tensor in whatever form a case has it, and a list for a sequence."""
    from onnx import TensorProto
    from onnx.numpy_helper import to_array

    if isinstance(value, TensorProto):
        return to_array(value)
    if value is None or isinstance(value, (list, tuple)):
        return value
    return np.asarray(value)
