"""Converting a model into an ``.om`` file."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from aacl.converter._files import om_path, write_om_file
from aacl.converter._options import ARGUMENTS, check_options
from aacl.converter._reports import InvalidOption, Unconvertible

if TYPE_CHECKING:
    from onnx import ModelProto

    from aacl.converter._gears import GivenGears
    from aacl.converter._pipeline import Progress, Request, Source
    from aacl.converter._shapes import GivenShapes

__all__ = ("convert",)

_FRAMEWORKS = {0: "Caffe", 1: "MindSpore"}
_TENSORFLOW = 3


def convert(
    model: str | os.PathLike[str] | ModelProto,
    output: str | os.PathLike[str],
    *,
    framework: int = 5,
    input_shape: GivenShapes | None = None,
    input_shape_range: GivenShapes | None = None,
    dynamic_batch_size: GivenGears | None = None,
    dynamic_image_size: GivenGears | None = None,
    dynamic_dims: GivenGears | None = None,
    input_format: str | None = None,
    soc_version: str = "Ascend310P3",
    out_nodes: str | Sequence[str] | None = None,
    output_type: str | None = None,
    input_fp16_nodes: str | Sequence[str] | None = None,
    insert_op_conf: str | os.PathLike[str] | None = None,
    precision_mode: str | None = None,
    options: Mapping[str, str] | None = None,
    progress: Progress | None = None,
) -> Path:
    """Convert an ONNX model, or a frozen TensorFlow graph, into an ``.om`` file.

    Every argument takes what the command line's option of that name takes, as text, or the value
    itself. Follows the public ATC guide.

    Args:
        model: the path of a model file (an ONNX file's external data is embedded), or an ONNX model in memory.
        output: where to write; ``.om`` is appended unless it is there, missing directories are made.
        framework: 5 for ONNX, 3 for TensorFlow (needs tf2onnx); the others are known and not converted.
        input_shape: dims of the inputs by name (``{"data": (1, 3, 224, 224)}``, ``"data:1,3,224,224;mask:1,16"``)
            or in the model's order; -1 is any size, ``"8~64"`` or ``(8, 64)`` a range. An input may be left
            out where the model fixes its dims.
        input_shape_range: the older form: ``"data:[1~8,3,-1,-1]"``; instead of `input_shape`.
        dynamic_batch_size: batch gears, such as ``[1, 4, 8]``; dim 0 is -1 in `input_shape`.
        dynamic_image_size: (height, width) gears; height and width are -1 in `input_shape`.
        dynamic_dims: gears with one size for each -1 of `input_shape`; `input_format` is ND.
        input_format: layout recorded for tensors of its rank: NCHW (TensorFlow: NHWC), NCDHW, NDHWC, or ND for none.
        soc_version: recorded; every device runs the file. A RuntimeWarning tells a name that no product has.
        out_nodes: outputs to keep, in order: ``"node:0;node2:1"`` or ONNX tensor names.
        output_type: a type for all outputs (``"FP16"``), or ``"node:0:FP16;..."`` for those in `out_nodes`.
        input_fp16_nodes: names of inputs that become FP16.
        insert_op_conf: the path of an AIPP configuration.
        precision_mode: the types that the model computes in; without it, and without
            ``precision_mode_v2`` in `options`, its own.
        options: any other option of the command line by its name, see ``atc --help``.
        progress: called with the name of each step and the part of all that is done, 0 to 1.

    Returns:
        The path of the file written.

    Raises:
        InvalidOption: a value is wrong, or does not fit the model.
        ModelFileMissing: there is no such file.
        ModelUnreadable: the model is damaged, unsound or of another kind.
        Unconvertible: an operator, a type or an option is not supported.
        OutputNotWritable: the file cannot be written.
    """
    arguments = {
        "framework": framework, "input_shape": input_shape, "input_shape_range": input_shape_range,
        "dynamic_batch_size": dynamic_batch_size, "dynamic_image_size": dynamic_image_size,
        "dynamic_dims": dynamic_dims, "input_format": input_format, "soc_version": soc_version,
        "out_nodes": out_nodes, "output_type": output_type, "input_fp16_nodes": input_fp16_nodes,
        "insert_op_conf": insert_op_conf, "precision_mode": precision_mode,
    }  # fmt: skip
    _refuse_arguments(options or {})
    given = {name: value for name, value in arguments.items() if value is not None} | dict(options or {})
    request = _request(given)
    target = om_path(output)
    steps = progress or _silent
    steps("read", 0.0)
    _write(_load(model, framework, request), target, request, steps)
    return target


def _silent(_step: str, _part: float) -> None:
    """Tell nobody."""


def _refuse_arguments(options: Mapping[str, str]) -> None:
    """Refuse options that are arguments of `convert`: they would be recorded, and not acted on."""
    for name in options:
        if name in ARGUMENTS:
            raise InvalidOption("E10001", f"option {name!r} is an argument of convert; pass {name}=... itself")


def _request(given: Mapping[str, object]) -> Request:
    """Check all that can be checked without the model, and return what is asked for."""
    from aacl.converter._gears import gear_list
    from aacl.converter._pipeline import Request
    from aacl.converter._precision import precision_of
    from aacl.converter._product import warn_of_unknown
    from aacl.converter._shapes import normalized_shapes
    from aacl.models._signature import GearKind

    options = {name: _text(value) for name, value in given.items()}
    options.setdefault("input_format", "NHWC" if options["framework"] == str(_TENSORFLOW) else "NCHW")
    check_options(options)
    if options.get("mode", "0") != "0":
        raise InvalidOption("E10001", f"--mode={options['mode']} converts nothing; see aacl.converter.inspect_om")
    _refuse_framework(int(options["framework"]))
    warn_of_unknown(options["soc_version"], 2)
    is_range = "input_shape_range" in given
    name = "input_shape_range" if is_range else "input_shape"
    return Request(
        shapes=normalized_shapes(given.get(name), name),  # type: ignore[arg-type] # any object is checked there
        gears=gear_list({kind: given.get(kind.value) for kind in GearKind}),  # type: ignore[misc] # as above
        options=options,
        input_format=options["input_format"],
        soc_version=options["soc_version"],
        out_nodes=given.get("out_nodes"),  # type: ignore[arg-type] # as above
        output_type=options.get("output_type"),
        precision=precision_of(options),
        aipp=options.get("insert_op_conf"),
        input_fp16_nodes=_names(given.get("input_fp16_nodes")),
    )


def _names(value: object) -> tuple[str, ...]:
    """Return the names of ``a;b``, or of a sequence."""
    if value is None:
        return ()
    items = value.strip().rstrip(";").split(";") if isinstance(value, str) else list(value)  # type: ignore[call-overload]
    return tuple(str(item).strip() for item in items)


def _text(value: object) -> str:
    """Return how the command line writes a value, for the record and for the checks of all options."""
    if isinstance(value, str | os.PathLike):
        return os.fspath(value)
    if isinstance(value, Mapping):
        return ";".join(f"{name}:{_text(dims)}" for name, dims in value.items())
    if isinstance(value, Sequence):
        is_nested = any(isinstance(item, Sequence) and not isinstance(item, str) for item in value)
        return (";" if is_nested else ",").join(map(_text, value))
    return str(value)


def _refuse_framework(framework: int) -> None:
    if framework in _FRAMEWORKS:
        raise Unconvertible(
            "E10055", f"--framework={framework} ({_FRAMEWORKS[framework]}) is not converted; export the model to ONNX"
        )


def _load(model: str | os.PathLike[str] | ModelProto, framework: int, request: Request) -> Source:
    from aacl.converter._constants import take_out
    from aacl.converter._source import check_structure, read_onnx
    from aacl.converter._sparse import make_dense
    from aacl.converter._tensorflow import read_tensorflow

    folder = None
    if not isinstance(model, str | os.PathLike):
        proto = type(model).FromString(model.SerializeToString())
    elif framework == _TENSORFLOW:
        proto = read_tensorflow(model, request)
    else:
        proto, folder = read_onnx(model), Path(model).absolute().parent
    make_dense(proto)
    check_structure(proto)
    return proto, take_out(proto, folder)


def _write(source: Source, target: Path, request: Request, progress: Progress) -> None:
    """Convert, then write: a failure leaves no file behind."""
    from aacl.converter._pipeline import model_package, original_request

    packages = {}
    if request.options.get("save_original_model") == "true":
        copy = type(source[0]).FromString(source[0].SerializeToString()), source[1]
        path = target.with_name(f"{target.stem}_original.om")
        packages[path] = model_package(copy, path.stem, original_request(request), _silent)
    packages[target] = model_package(source, target.stem, request, progress)
    progress("write", 0.9)
    for path, package in packages.items():
        write_om_file(path, package)
    progress("done", 1.0)
