"""Converting an ONNX model into an ``.om`` file."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import attrs

from aacl.converter._files import om_path, write_om_file
from aacl.converter._options import check_options
from aacl.converter._reports import InvalidOption, Unconvertible

if TYPE_CHECKING:
    from onnx import ModelProto

    from aacl.converter._constants import Constant
    from aacl.converter._session import OutputFacts
    from aacl.models._package import ModelPackage
    from aacl.models._signature import TensorSpec

__all__ = ("convert", "producer")

_ARGUMENTS = ("model", "output", "singleop", "input_shape", "out_nodes", "output_type")
_FRAMEWORKS = {0: "Caffe", 1: "MindSpore", 3: "TensorFlow", 5: "ONNX"}


def convert(
    model: str | os.PathLike[str] | ModelProto,
    output: str | os.PathLike[str],
    *,
    framework: int = 5,
    input_shape: str | Mapping[str, Sequence[int]] | None = None,
    input_format: str = "NCHW",
    soc_version: str = "Ascend310P3",
    out_nodes: str | Sequence[str] | None = None,
    output_type: str | None = None,
    options: Mapping[str, str] | None = None,
) -> Path:
    """Convert an ONNX model into an ``.om`` file with fixed shapes.

    The model's arithmetic stays what it is: no type is lowered, whatever
    ``precision_mode`` says. Follows the public ATC guide.

    Args:
        model: the path of an ONNX file (its external data is embedded), or a model in memory.
        output: where to write; ``.om`` is appended unless it is there, missing directories are made.
        framework: 5; the others are known and not converted.
        input_shape: dims by input name, as a mapping or as ``"data:1,3,224,224;mask:1,16"``; an input
            may be left out where the model fixes its dims.
        input_format: layout recorded for tensors of its rank: NCHW, NHWC, NCDHW, NDHWC, or ND for none.
        soc_version: recorded; every device runs the file.
        out_nodes: outputs to keep, in order: ``"node:0;node2:1"`` or ONNX tensor names.
        output_type: a type for all outputs (``"FP16"``), or ``"node:0:FP16;..."`` for those in `out_nodes`.
        options: any other option of the command line by its name, see ``atc --help``.

    Returns:
        The path of the file written.

    Raises:
        InvalidOption: a value is wrong, or does not fit the model.
        ModelFileMissing: there is no such file.
        ModelUnreadable: the model is damaged, unsound or no ONNX model.
        Unconvertible: an operator, a type or an option is not supported.
        OutputNotWritable: the file cannot be written.
    """
    given = {
        "framework": str(framework), "soc_version": soc_version, "input_format": input_format, **(options or {})
    }  # fmt: skip
    check_options(given)
    _refuse_arguments(options or {})
    if framework != 5:
        raise Unconvertible(
            "E10055", f"--framework={framework} ({_FRAMEWORKS[framework]}) is not converted; export the model to ONNX"
        )
    target = om_path(output)
    request = _Request(input_shape, input_format, out_nodes, output_type)
    package = _package(_load(model), target.stem, request, given)
    write_om_file(target, package)
    return target


def _refuse_arguments(options: Mapping[str, str]) -> None:
    """Refuse options that are arguments of `convert`: they would be recorded, and not acted on."""
    for name in _ARGUMENTS:
        if name in options:
            raise InvalidOption("E10001", f"option {name!r} is an argument of convert; pass {name}=... itself")


@attrs.frozen
class _Request:
    """What is asked for, apart from files."""

    input_shape: str | Mapping[str, Sequence[int]] | None
    input_format: str
    out_nodes: str | Sequence[str] | None
    output_type: str | None


def _load(model: str | os.PathLike[str] | ModelProto) -> tuple[ModelProto, dict[str, Constant]]:
    from aacl.converter._constants import take_out
    from aacl.converter._source import check_structure, read_onnx

    if isinstance(model, str | os.PathLike):
        proto, folder = read_onnx(model), Path(model).absolute().parent
    else:
        proto, folder = type(model).FromString(model.SerializeToString()), None
    check_structure(proto)
    return proto, take_out(proto, folder)


def _package(
    source: tuple[ModelProto, dict[str, Constant]], name: str, request: _Request, options: Mapping[str, str]
) -> ModelPackage:
    from aacl.converter._constants import graph_pieces
    from aacl.converter._inputs import drop_constant_inputs, fix_inputs
    from aacl.converter._outputs import (
        cast_outputs,
        forget_shapes,
        name_nodes,
        output_nodes,
        select_outputs,
        separate_inputs,
        state_outputs,
    )
    from aacl.converter._session import output_facts
    from aacl.converter._shapes import normalized_shapes
    from aacl.converter._support import check_operators
    from aacl.models._package import ModelPackage
    from aacl.models._signature import ModelSignature

    model, constants = source
    shapes = normalized_shapes(request.input_shape)
    name_nodes(model)
    if request.out_nodes is not None:
        select_outputs(model, request.out_nodes)
    check_operators(model)
    inputs = fix_inputs(model, shapes, drop_constant_inputs(model), request.input_format)
    nodes = output_nodes(model)
    separate_inputs(model)
    forget_shapes(model)
    if request.output_type is not None:
        cast_outputs(model, request.output_type, nodes, request.out_nodes)
    needed = {tensor.name for tensor in model.graph.initializer}
    constants = {key: value for key, value in constants.items() if key in needed}
    facts = output_facts(model, constants, inputs)
    outputs = _outputs(list(map(str, nodes)), facts, request.input_format)
    state_outputs(model, outputs)
    signature = ModelSignature(name, inputs, outputs, options["soc_version"], _weight_nbytes(model, constants))
    return ModelPackage(signature, tuple(graph_pieces(model, constants)), dict(options), producer())


def _outputs(names: list[str], facts: list[OutputFacts], input_format: str) -> tuple[TensorSpec, ...]:
    from aacl.converter._inputs import format_of
    from aacl.converter._types import data_type_named
    from aacl.models._signature import TensorSpec

    return tuple(
        TensorSpec(name, data_type_named(kind, f"output {name!r}"), shape, format_of(len(shape), input_format))
        for name, (kind, shape) in zip(names, facts, strict=True)
    )


def _weight_nbytes(model: ModelProto, constants: Mapping[str, Constant]) -> int:
    inside: int = sum(tensor.ByteSize() for tensor in model.graph.initializer if tensor.name not in constants)
    return inside + sum(len(constant.data) for constant in constants.values())


def producer() -> str:
    """Return what the file says of its writer."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        return f"aacl {version('aacl')}"
    except PackageNotFoundError:  # run from a source tree that was never installed
        return "aacl"
