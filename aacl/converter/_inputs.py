"""A model's inputs: initializers are no inputs, and every dim is fixed, or free within what the options state."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import chain
from typing import TYPE_CHECKING

import attrs

from aacl.converter._gears import GearList, check_gear_dims, gear_shapes
from aacl.converter._reports import InvalidOption, Unconvertible
from aacl.converter._shapes import Dims, ModelDims, Span, StatedShapes, describe_dims, stated_dims
from aacl.converter._types import data_type_of
from aacl.converter._walk import graphs_of, nodes_of
from aacl.dtypes import Format
from aacl.models._signature import TensorSpec

if TYPE_CHECKING:
    from onnx import GraphProto, ModelProto, ValueInfoProto

__all__ = ("ModelInputs", "drop_constant_inputs", "format_of", "state_inputs")

_LARGEST = 2**63 - 1  # bytes of a tensor
_RANKS = {"NCHW": 4, "NHWC": 4, "NCDHW": 5, "NDHWC": 5}
Shape = tuple[int, ...]
Symbols = tuple[str | None, ...]


@attrs.frozen
class ModelInputs:
    """What the inputs of a model are, once the options are applied.

    Attributes:
        specs: the inputs; a free dim is -1.
        symbols: for each input the names that its free dims have in the graph, None for a fixed one.
        gears: the gears, if any.
        shapes: for each gear the shape of every input; without gears there are none.
    """

    specs: tuple[TensorSpec, ...]
    symbols: tuple[Symbols, ...]
    gears: GearList | None = None
    shapes: tuple[tuple[Shape, ...], ...] = ()

    @property
    def spans(self) -> dict[str, Span]:
        """The sizes of each symbol: those that every dim of that name allows."""
        found: dict[str, Span] = {}
        for spec, symbols in zip(self.specs, self.symbols, strict=True):
            for pair, symbol in zip(spec.ranges, symbols, strict=bool(spec.ranges)):
                if symbol is not None:
                    found[symbol] = _both(found.get(symbol, Span(0, -1)), Span(*pair))
        return found


def drop_constant_inputs(model: ModelProto) -> set[str]:
    """Take initializers out of the graph's inputs (they are constants) and return their names.

    Those that nothing reads are dropped: ONNX Runtime forgets them, and then refuses their values.
    """
    graph = model.graph
    constants = {tensor.name for tensor in graph.initializer}
    read = _names_read(graph)
    used = [tensor for tensor in graph.initializer if tensor.name in read]
    if len(used) < len(graph.initializer):
        del graph.initializer[:]
        graph.initializer.extend(used)
    kept = [value for value in graph.input if value.name not in constants]
    del graph.input[:]
    graph.input.extend(kept)
    # Before IR version 4 an initializer had to be an input as well.
    model.ir_version = max(model.ir_version, 4)
    return constants


def _names_read(graph: GraphProto) -> set[str]:
    """Return what nodes read at any depth, and what graphs give."""
    nodes = list(nodes_of(graph.node))
    inner = chain.from_iterable(map(graphs_of, nodes))
    outputs = {value.name for each in chain([graph], inner) for value in each.output}
    return outputs.union(*(node.input for node in nodes))


def state_inputs(
    model: ModelProto, stated: StatedShapes, gears: GearList | None, constants: set[str], input_format: str
) -> ModelInputs:
    """Write the dims of every input into the model, free ones by name, and return what the inputs are.

    Raises:
        InvalidOption: a name that is no input, dims that contradict the model's, dims nobody states, dims whose
            bytes no 64 bits count, or gears that do not fit the dims.
        Unconvertible: an input is no tensor, or has elements that no device holds.
    """
    inputs = list(model.graph.input)
    for value in inputs:
        _check_tensor(value)
    named = stated.by_name([value.name for value in inputs])
    _check_named(stated.option, named, [value.name for value in inputs], constants)
    found = {
        value.name: stated_dims(stated.option, value.name, dims_of(value), named.get(value.name)) for value in inputs
    }
    if gears is not None:
        _check_listed(gears, named, found)
    _check_complete(inputs, found)
    dims = [found[value.name] or () for value in inputs]
    if gears is not None:
        check_gear_dims(gears, dict(zip(found, dims, strict=True)), input_format)
    return _written(inputs, dims, gears, input_format)


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


def _both(first: Span, second: Span) -> Span:
    """Return the sizes that two dims of one name both allow."""
    limits = [high for high in (first.high, second.high) if high >= 0]
    return Span(max(first.low, second.low), min(limits, default=-1))


def _written(
    inputs: Sequence[ValueInfoProto], dims: Sequence[Dims], gears: GearList | None, input_format: str
) -> ModelInputs:
    shapes = () if gears is None else gear_shapes(gears, dims)
    symbols = _symbols(inputs, dims, shapes)
    specs = tuple(
        _spec(value, spans, [row[place] for row in shapes], input_format)
        for place, (value, spans) in enumerate(zip(inputs, dims, strict=True))
    )
    for place, spec in enumerate(specs):
        for shape in [row[place] for row in shapes] or [spec.shape]:
            _check_size(spec, shape)
    for value, spec, names in zip(inputs, specs, symbols, strict=True):
        _write(value, spec.shape, names)
    return ModelInputs(specs, symbols, gears, shapes)


def _symbols(
    inputs: Sequence[ValueInfoProto], dims: Sequence[Dims], shapes: Sequence[Sequence[Shape]]
) -> tuple[Symbols, ...]:
    """Name the free dims: as the model does; a name of its own where the model has none, or where gears part equals."""
    taken = {dim for value in inputs for dim in dims_of(value) or () if isinstance(dim, str)}
    sizes: dict[str, tuple[int, ...]] = {}
    named = []
    for place, (value, spans) in enumerate(zip(inputs, dims, strict=True)):
        own = dims_of(value) or (None,) * len(spans)
        names: list[str | None] = []
        for axis, (span, dim) in enumerate(zip(spans, own, strict=True)):
            column = tuple(row[place][axis] for row in shapes)
            is_shared = isinstance(dim, str) and sizes.setdefault(dim, column) == column
            symbol = dim if isinstance(dim, str) and is_shared else _new_symbol(f"{value.name}_dim{axis}", taken)
            names.append(None if span.is_fixed else symbol)
        named.append(tuple(names))
    return tuple(named)


def _new_symbol(wanted: str, taken: set[str]) -> str:
    name, number = wanted, 0
    while name in taken:
        number += 1
        name = f"{wanted}_{number}"
    taken.add(name)
    return name


def _spec(value: ValueInfoProto, spans: Dims, shapes: Sequence[Shape], input_format: str) -> TensorSpec:
    dtype = data_type_of(value.type.tensor_type.elem_type, f"input {value.name!r}")
    shape = tuple(span.low if span.is_fixed else -1 for span in spans)
    ranges: tuple[tuple[int, int], ...] = ()
    if -1 in shape:
        columns = zip(*shapes, strict=True) if shapes else spans  # of gears: the smallest and the largest
        ranges = tuple((min(column), max(column)) if shapes else (column[0], column[1]) for column in columns)
    return TensorSpec(value.name, dtype, shape, format_of(len(shape), input_format), ranges)


def _check_size(spec: TensorSpec, shape: Shape) -> None:
    """Refuse dims whose product no size holds, at the least where some are free."""
    least = math.prod(max(dim, 1) for dim in shape) * spec.dtype.itemsize
    if least > _LARGEST:
        raise InvalidOption(
            "E19023", f"input {spec.name!r} of dims {list(shape)} takes {least} bytes; {_LARGEST} are the most"
        )


def _write(value: ValueInfoProto, shape: Shape, symbols: Symbols) -> None:
    dims = value.type.tensor_type.shape
    del dims.dim[:]
    dims.SetInParent()
    for size, symbol in zip(shape, symbols, strict=True):
        if symbol is None:
            dims.dim.add(dim_value=size)
        else:
            dims.dim.add(dim_param=symbol)


def _check_named(option: str, shapes: Mapping[str, Dims], names: list[str], constants: set[str]) -> None:
    for name in shapes:
        if name in constants:
            raise InvalidOption(
                "E10017", f"--{option} names {name!r}, which is a constant of the model, no input; leave it out"
            )
        if name not in names:
            raise InvalidOption(
                "E10016", f"--{option} names {name!r}, which is no input of the model; its inputs: {_list(names)}"
            )


def _check_listed(gears: GearList, named: Mapping[str, Dims], found: Mapping[str, Dims | None]) -> None:
    """Check that --input_shape is there, and lists every scalar, as it has to beside gears."""
    if not named:
        raise InvalidOption("E10004", f"--{gears.option} needs --input_shape, with -1 where the gears' sizes go")
    scalars = [name for name, dims in found.items() if dims == () and name not in named]
    if scalars:
        raise InvalidOption(
            "E10001",
            f"with --{gears.option}, --input_shape must list scalar inputs too: {_list(scalars)}",
            solution='Add them without dims, such as --input_shape="data:-1,4;scalar:".',
        )


def _check_complete(inputs: list[ValueInfoProto], found: Mapping[str, Dims | None]) -> None:
    free = [f"{value.name} {describe_dims(dims_of(value))}" for value in inputs if found[value.name] is None]
    if free:
        raise InvalidOption(
            "E10001",
            f"these inputs have dims that the model does not fix: {', '.join(free)}",
            solution='Give them all, such as --input_shape="name:1,3,224,224;other:1~8,16"; -1 is any size.',
        )


def _check_tensor(value: ValueInfoProto) -> None:
    kind = value.type.WhichOneof("value")
    if kind not in ("tensor_type", None):
        raise Unconvertible("E10055", f"input {value.name!r} is no tensor but a {kind.removesuffix('_type')}")
    data_type_of(value.type.tensor_type.elem_type, f"input {value.name!r}")


def _list(names: list[str]) -> str:
    return ", ".join(map(repr, names))
