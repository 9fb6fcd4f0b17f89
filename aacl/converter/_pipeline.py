"""The steps of a conversion: from a model that was read to a package that can be written."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

import attrs

from aacl.converter._reports import InvalidOption

if TYPE_CHECKING:
    from onnx import ModelProto

    from aacl.converter._constants import Constant
    from aacl.converter._gears import GearList
    from aacl.converter._inputs import ModelInputs
    from aacl.converter._precision import Precision
    from aacl.converter._session import OutputFacts
    from aacl.converter._shapes import ModelDims, Span, StatedShapes
    from aacl.models._package import ModelPackage
    from aacl.models._signature import Gears, TensorSpec

__all__ = ("Progress", "Request", "Source", "model_package", "original_request", "producer")

Progress = Callable[[str, float], None]
"""What is told how a conversion goes on: the step's name, and how much of all is done, from 0 to 1."""
Source = tuple["ModelProto", dict[str, "Constant"]]
"""A model without its large constants, and those by name."""


@attrs.frozen
class Request:
    """What is asked for, apart from files."""

    shapes: StatedShapes
    gears: GearList | None
    input_format: str
    soc_version: str
    out_nodes: str | Sequence[str] | None
    output_type: str | None
    input_fp16_nodes: Sequence[str]
    precision: Precision | None
    aipp: str | None
    options: Mapping[str, str]


@attrs.frozen
class _Outputs:
    """What is known of the outputs before the model is loaded: their names, and the ranks that the exporter stated."""

    names: list[str]
    ranks: list[int | None]

    def specs(self, facts: Sequence[OutputFacts]) -> tuple[TensorSpec, ...]:
        """Return the outputs with their types, and without dims.

        Raises:
            Unconvertible: an output is no tensor, or has elements that no device holds.
        """
        from aacl.converter._types import data_type_named
        from aacl.models._signature import TensorSpec

        return tuple(
            TensorSpec(name, data_type_named(fact.kind, f"output {name!r}"), ())
            for name, fact in zip(self.names, facts, strict=True)
        )


def model_package(source: Source, name: str, request: Request, progress: Progress) -> ModelPackage:
    """Convert a model and return what its file holds.

    Raises:
        ConversionError: the model, or a value of the request, does not fit; the report says what.
    """
    from aacl.converter._constants import graph_pieces
    from aacl.converter._pictures import read_aipp
    from aacl.converter._product import require_free_shapes
    from aacl.converter._rounding import round_model
    from aacl.models._aipp_signature import insert_aipp
    from aacl.models._package import ModelPackage
    from aacl.models._signature import ModelSignature

    model, constants = source
    progress("check", 0.1)
    inputs, hints = _prepare(model, request)
    aipps = () if request.aipp is None else read_aipp(request.aipp, inputs, request.input_fp16_nodes)
    if request.precision is not None:
        is_clipped = request.options.get("is_weight_clip", "1") == "1"
        model, constants = round_model(model, constants, request.precision, is_clipped=is_clipped)
    needed = {tensor.name for tensor in model.graph.initializer}
    constants = {key: value for key, value in constants.items() if key in needed}
    progress("infer shapes", 0.3)
    outputs, gears = _outputs(model, constants, inputs, hints, request.input_format, progress)
    nbytes = _weight_nbytes(model, constants)
    signature = ModelSignature(name, inputs.specs, outputs, request.soc_version, nbytes, gears)
    require_free_shapes(signature)
    if aipps:
        signature = insert_aipp(signature, aipps)
    progress("assemble", 0.8)
    return ModelPackage(signature, tuple(graph_pieces(model, constants)), dict(request.options), producer())


def original_request(request: Request) -> Request:
    """Return what to ask for the model as it was given: its own precision, types and inputs."""
    return attrs.evolve(request, precision=None, output_type=None, input_fp16_nodes=(), aipp=None)


def producer() -> str:
    """Return what the file says of its writer."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        return f"aacl {version('aacl')}"
    except PackageNotFoundError:  # run from a source tree that was never installed
        return "aacl"


def _prepare(model: ModelProto, request: Request) -> tuple[ModelInputs, _Outputs]:
    """Apply what changes the graph; return the inputs, and what is known of the outputs."""
    from aacl.converter import _outputs as outputs
    from aacl.converter._half_inputs import halve_inputs
    from aacl.converter._inputs import drop_constant_inputs, state_inputs
    from aacl.converter._opsets import make_runnable

    outputs.name_nodes(model)
    if request.out_nodes is not None and request.options["framework"] != "3":  # there, its reader selects
        outputs.select_outputs(model, request.out_nodes)
    make_runnable(model)
    constants = drop_constant_inputs(model)
    inputs = state_inputs(model, request.shapes, request.gears, constants, request.input_format)
    nodes = outputs.output_nodes(model)
    outputs.separate_inputs(model)
    ranks = outputs.forget_shapes(model)
    inputs = halve_inputs(model, inputs, request.input_fp16_nodes)
    if request.output_type is not None:
        outputs.cast_outputs(model, request.output_type, nodes, request.out_nodes)
    return inputs, _Outputs(list(map(str, nodes)), ranks)


def _outputs(
    model: ModelProto,
    constants: dict[str, Constant],
    inputs: ModelInputs,
    known: _Outputs,
    input_format: str,
    progress: Progress,
) -> tuple[tuple[TensorSpec, ...], Gears | None]:
    """Find the outputs' types and shapes, write them into the graph, and return them."""
    from aacl.converter._output_shapes import gear_outputs, output_dims
    from aacl.converter._outputs import state_outputs
    from aacl.converter._session import TrialSession
    from aacl.models._signature import Gears

    session = TrialSession(model, constants)
    specs = known.specs(session.outputs)
    gears = None
    if inputs.gears is None:
        dims = output_dims(model, session, inputs, known.ranks)
        specs = _shaped(specs, dims, inputs.spans, input_format)
    else:

        def report(number: int, count: int) -> None:
            progress(f"gear {number + 1} of {count}", 0.4 + 0.4 * number / count)

        shapes = gear_outputs(model, session, inputs, report)
        gears = Gears(inputs.gears.kind, inputs.gears.values, inputs.shapes, shapes)
        specs = _shaped(specs, shapes[gears.largest], {}, input_format)
        dims = _common(shapes)
    state_outputs(model, specs, dims)
    return specs, gears


def _common(shapes: Sequence[Sequence[tuple[int, ...]]]) -> list[ModelDims]:
    """Return for each output the dims that all gears share, None for the others.

    Raises:
        InvalidOption: an output has different ranks.
    """
    dims: list[ModelDims] = []
    for place, rows in enumerate(zip(*shapes, strict=True)):
        if len({len(row) for row in rows}) > 1:
            raise InvalidOption("E10001", f"output {place} of the model has different ranks in different gears")
        columns = zip(*rows, strict=True)
        dims.append(tuple(column[0] if len(set(column)) == 1 else None for column in columns))
    return dims


def _shaped(
    specs: Sequence[TensorSpec], dims: Sequence[ModelDims], spans: dict[str, Span], input_format: str
) -> tuple[TensorSpec, ...]:
    """Give the outputs their dims, their ranges and their layouts."""
    from aacl.converter._inputs import format_of
    from aacl.converter._output_shapes import free_shape

    shaped = []
    for spec, sizes in zip(specs, dims, strict=True):
        shape, ranges = free_shape(sizes, spans)
        layout = format_of(len(sizes), input_format)
        shaped.append(attrs.evolve(spec, shape=shape, ranges=ranges, format=layout))
    return tuple(shaped)


def _weight_nbytes(model: ModelProto, constants: Mapping[str, Constant]) -> int:
    inside: int = sum(tensor.ByteSize() for tensor in model.graph.initializer if tensor.name not in constants)
    return inside + sum(len(constant.data) for constant in constants.values())
