"""A model's inputs: initializers are no inputs, and every dim is fixed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from aacl.converter._reports import InvalidOption, Unconvertible
from aacl.converter._shapes import Dims, ModelDims, describe_dims, fixed_shape
from aacl.converter._types import data_type_of
from aacl.dtypes import Format
from aacl.models._signature import TensorSpec

if TYPE_CHECKING:
    from onnx import ModelProto, ValueInfoProto

__all__ = ("drop_constant_inputs", "fix_inputs", "format_of")

_RANKS = {"NCHW": 4, "NHWC": 4, "NCDHW": 5, "NDHWC": 5}


def drop_constant_inputs(model: ModelProto) -> set[str]:
    """Take initializers out of the graph's inputs (they are constants) and return their names."""
    graph = model.graph
    constants = {tensor.name for tensor in graph.initializer}
    kept = [value for value in graph.input if value.name not in constants]
    del graph.input[:]
    graph.input.extend(kept)
    # Before IR version 4 an initializer had to be an input as well.
    model.ir_version = max(model.ir_version, 4)
    return constants


def fix_inputs(
    model: ModelProto, shapes: Mapping[str, Dims], constants: set[str], input_format: str
) -> tuple[TensorSpec, ...]:
    """Fix the dims of every input in the model and return the inputs' specs.

    Raises:
        InvalidOption: a name that is no input, dims that contradict the model's, or dims nobody states.
        Unconvertible: an input is no tensor, or has elements that no device holds.
    """
    inputs = list(model.graph.input)
    for value in inputs:
        _check_tensor(value)
    _check_named(shapes, [value.name for value in inputs], constants)
    found = {value.name: fixed_shape(value.name, dims_of(value), shapes.get(value.name)) for value in inputs}
    _check_complete(inputs, found)
    return tuple(_fixed(value, found[value.name] or (), input_format) for value in inputs)


def format_of(rank: int, input_format: str) -> Format:
    """Return the layout of a tensor of this rank: ``--input_format`` where the ranks agree, else ND."""
    return Format[input_format] if _RANKS.get(input_format) == rank else Format.ND


def dims_of(value: ValueInfoProto) -> ModelDims | None:
    """Return the dims a model states: numbers, symbols, None where it states none; None without a shape."""
    tensor = value.type.tensor_type
    if not tensor.HasField("shape"):
        return None
    dims = tensor.shape.dim
    return tuple(dim.dim_value if dim.HasField("dim_value") else dim.dim_param or None for dim in dims)


def _check_named(shapes: Mapping[str, Dims], names: list[str], constants: set[str]) -> None:
    for name in shapes:
        if name in constants:
            raise InvalidOption(
                "E10017", f"--input_shape names {name!r}, which is a constant of the model, no input; leave it out"
            )
        if name not in names:
            raise InvalidOption(
                "E10016", f"--input_shape names {name!r}, which is no input of the model; its inputs: {_list(names)}"
            )


def _check_complete(inputs: list[ValueInfoProto], found: Mapping[str, Dims | None]) -> None:
    free = [f"{value.name} {describe_dims(dims_of(value))}" for value in inputs if found[value.name] is None]
    if free:
        raise InvalidOption(
            "E10001",
            f"these inputs have dims that the model does not fix: {', '.join(free)}",
            solution='Give them all, such as --input_shape="name:1,3,224,224;other:1,16".',
        )


def _check_tensor(value: ValueInfoProto) -> None:
    kind = value.type.WhichOneof("value")
    if kind not in ("tensor_type", None):
        raise Unconvertible("E10055", f"input {value.name!r} is no tensor but a {kind.removesuffix('_type')}")
    data_type_of(value.type.tensor_type.elem_type, f"input {value.name!r}")


def _fixed(value: ValueInfoProto, shape: Dims, input_format: str) -> TensorSpec:
    dtype = data_type_of(value.type.tensor_type.elem_type, f"input {value.name!r}")
    dims = value.type.tensor_type.shape
    del dims.dim[:]
    dims.SetInParent()
    for size in shape:
        dims.dim.add(dim_value=size)
    return TensorSpec(value.name, dtype, shape, format_of(len(shape), input_format))


def _list(names: list[str]) -> str:
    return ", ".join(map(repr, names))
