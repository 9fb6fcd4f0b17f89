"""Converting single operators into ``.om`` files, one each."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from aacl.converter._files import write_om_file
from aacl.converter._options import check_options
from aacl.converter._reports import InvalidOption, OperatorFileInvalid
from aacl.dtypes import Format
from aacl.errors import AclError, NotSupported, OperatorNotFound

if TYPE_CHECKING:
    from aacl.converter._operator_file import OperatorRequest
    from aacl.models._package import OperatorPackage
    from aacl.tensors import TensorDesc

__all__ = ("convert_operators",)

_PLAIN_FORMATS = (Format.ND, Format.NCHW, Format.NHWC)


def convert_operators(
    operators: str | os.PathLike[str],
    output: str | os.PathLike[str] = ".",
    *,
    soc_version: str = "Ascend310P3",
    options: Mapping[str, str] | None = None,
) -> list[Path]:
    """Convert the operators of a JSON file into ``.om`` files, one each; all of them, or none.

    Follows the public ATC guide's page on single operators.

    Args:
        operators: the path of the JSON file.
        output: the directory to write into; made where it is missing.
        soc_version: recorded; every device runs the files. A RuntimeWarning tells a name that no product has.
        options: any other option of the command line by its name, see ``atc --help``.

    Returns:
        The paths of the files, in the file's order.

    Raises:
        InvalidOption: a value is wrong, or `output` is a file.
        OperatorFileInvalid: the file cannot be read, is not the JSON it should be, or an element does not
            fit the operator's prototype.
        OutputNotWritable: a file cannot be written.
    """
    from aacl.converter._operator_file import parse_operator_file
    from aacl.converter._product import warn_of_unknown

    given = {"soc_version": soc_version, **(options or {})}
    check_options(given)
    warn_of_unknown(given["soc_version"], 1)
    folder = Path(output)
    if folder.exists() and not folder.is_dir():
        raise InvalidOption("E10001", f"--output={os.fspath(output)!r} must be a directory, and a file is there")
    text = _read(Path(operators))
    try:
        packages = _packages(parse_operator_file(text), folder, given)
    except OperatorFileInvalid as error:  # the rules know no files
        raise OperatorFileInvalid(error.report.code, f"{os.fspath(operators)}: {error.report.message}") from error
    for path, package in packages.items():
        write_om_file(path, package)
    return list(packages)


def _packages(
    requests: Sequence[OperatorRequest], folder: Path, options: Mapping[str, str]
) -> dict[Path, OperatorPackage]:
    """Return what is to be written, by path, in the requests' order."""
    from aacl.converter._operator_file import file_name

    packages: dict[Path, OperatorPackage] = {}
    for index, request in enumerate(requests):
        path = folder / f"{file_name(index, request)}.om"
        if path in packages:
            raise OperatorFileInvalid(
                "E10032", f"two operators of the file have the name {path.stem!r}; name them apart"
            )
        packages[path] = _package(request, f"operator {index} ({request.op_type})", path.stem, options)
    return packages


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except (OSError, ValueError) as error:  # ValueError: what no path can have in it
        code = "E10023" if isinstance(error, FileNotFoundError) else "E10024"
        raise OperatorFileInvalid(
            code,
            f"the single-operator file {os.fspath(path)!r} cannot be read: {getattr(error, 'strerror', None) or error}",
        ) from error


def _package(request: OperatorRequest, where: str, name: str, options: Mapping[str, str]) -> OperatorPackage:
    from aacl.converter._pipeline import producer
    from aacl.models._operator import OperatorModel
    from aacl.models._package import OperatorPackage

    attributes = _completed(request, where)
    operator = OperatorModel(name, request.op_type, request.inputs, request.outputs, attributes, options["soc_version"])
    recorded = dict(options) | ({"compile_flag": "1"} if request.is_fuzzy else {})
    return OperatorPackage(operator, recorded, producer())


def _completed(request: OperatorRequest, where: str) -> dict[str, Any]:
    """Check a request against the operator's prototype and return every attribute."""
    from aacl.ops._catalogue import schema_of

    try:
        schema = schema_of(request.op_type)
        attributes = schema.complete(request.attributes)
        schema.check_inputs(request.inputs, request.groups)
        schema.check_outputs(request.outputs)
    except OperatorNotFound as error:
        raise OperatorFileInvalid("E10501", f"{where}: {error}") from error
    except AclError as error:
        raise OperatorFileInvalid("E19014", f"{where}: {error}") from error
    _check_shapes(request, where, attributes)
    return attributes


def _check_shapes(request: OperatorRequest, where: str, attributes: Mapping[str, Any]) -> None:
    """Check the output shapes against the inferred ones, where there is a rule for them."""
    from aacl.ops._catalogue import schema_of
    from aacl.ops._infer import infer_outputs

    if any(desc is not None and desc.format not in _PLAIN_FORMATS for desc in (*request.inputs, *request.outputs)):
        return  # a device layout pads; the rules speak of plain shapes
    try:
        inferred = infer_outputs(schema_of(request.op_type), request.inputs, attributes)
    except NotSupported:
        return
    except AclError as error:
        raise OperatorFileInvalid("E19014", f"{where}: {error}") from error
    for place, (stated, found) in enumerate(zip(request.outputs, inferred, strict=False)):
        if not _may_agree(stated, found):
            raise OperatorFileInvalid(
                "E19014",
                f"{where}: output {place} is stated as {list(stated.shape)}, and the inputs give {list(found.shape)}",
            )


def _may_agree(stated: TensorDesc, found: TensorDesc) -> bool:
    if (-2,) in (stated.shape, found.shape):
        return True
    return len(stated.shape) == len(found.shape) and all(
        a == b or -1 in (a, b) for a, b in zip(stated.shape, found.shape, strict=True)
    )
