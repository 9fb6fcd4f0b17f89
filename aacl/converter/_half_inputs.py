"""Inputs that ``--input_fp16_nodes`` makes FP16: the model itself goes on with the type that it has."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import attrs

from aacl.converter._edit import insert_first
from aacl.converter._reports import InvalidOption
from aacl.converter._types import element_of
from aacl.dtypes import DataType

if TYPE_CHECKING:
    from onnx import ModelProto

    from aacl.converter._inputs import ModelInputs
    from aacl.models._signature import TensorSpec

__all__ = ("halve_inputs",)


def halve_inputs(model: ModelProto, inputs: ModelInputs, names: Sequence[str]) -> ModelInputs:
    """Make these inputs FP16, with a Cast behind each, and return what the inputs are then.

    Raises:
        InvalidOption: a name that nothing in the model has (E10016), one that is no input (E10017), or an input
            that is no FP32 tensor (E10001).
    """
    for name in names:
        _check(model, inputs, name)
    specs = [_halved(model, spec) if spec.name in names else spec for spec in inputs.specs]
    return attrs.evolve(inputs, specs=tuple(specs))


def _check(model: ModelProto, inputs: ModelInputs, name: str) -> None:
    types = {spec.name: spec.dtype for spec in inputs.specs}
    if name not in types:
        known = {tensor.name for tensor in model.graph.initializer} | {node.name for node in model.graph.node}
        code, what = ("E10017", "no input of the model") if name in known else ("E10016", "not in the model")
        raise InvalidOption(
            code, f"--input_fp16_nodes names {name!r}, which is {what}; its inputs: {', '.join(map(repr, types))}"
        )
    if types[name] not in (DataType.FLOAT, DataType.FLOAT16):
        raise InvalidOption("E10001", f"--input_fp16_nodes names {name!r}, which is {types[name].name}; it takes FLOAT")


def _halved(model: ModelProto, spec: TensorSpec) -> TensorSpec:
    if spec.dtype is DataType.FLOAT16:
        return spec
    value = next(value for value in model.graph.input if value.name == spec.name)
    value.type.tensor_type.elem_type = element_of(DataType.FLOAT16)
    insert_first(model, spec.name, "Cast", to=element_of(DataType.FLOAT))
    return attrs.evolve(spec, dtype=DataType.FLOAT16)
