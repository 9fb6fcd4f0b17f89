"""Reading an ONNX file: what it is, whether it is whole, whether its names are sound."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

from aacl.converter._reports import ModelFileMissing, ModelUnreadable, Unconvertible
from aacl.converter._texts import check_texts
from aacl.models._sniff import GIT_LFS, kind_of_bytes

if TYPE_CHECKING:
    from onnx import ModelProto

__all__ = ("check_structure", "read_onnx")


def read_onnx(path: str | os.PathLike[str]) -> ModelProto:
    """Read an ONNX file, its external data left where it is.

    Raises:
        ModelFileMissing: there is no such file.
        ModelUnreadable: it cannot be read, is empty, cut short, or of another kind.
    """
    data = _read(Path(path))
    if not data:
        raise ModelUnreadable("E10041", f"the model {os.fspath(path)!r} is empty (0 bytes)")
    kind = kind_of_bytes(data[:4096])
    if kind is not None and kind != "an ONNX model":
        fix = "Fetch it first: git lfs pull" if data.startswith(GIT_LFS) else "Export the model to ONNX, and give that."
        raise ModelUnreadable("E10041", f"the model {os.fspath(path)!r} is no ONNX file but {kind}", solution=fix)
    return _parse(data, os.fspath(path))


def check_structure(model: ModelProto) -> None:
    """Check what every model needs: a graph with inputs and outputs, and names that are text and unique.

    Raises:
        ModelUnreadable: there is no graph, input or output, two tensors have one name, or a name is no text.
    """
    check_texts(model)
    graph = model.graph
    if not graph.node:
        raise ModelUnreadable("E16004", "the model holds no graph with nodes; it is no ONNX model, or damaged")
    constants = {tensor.name for tensor in graph.initializer}
    if not any(value.name not in constants for value in graph.input) or not graph.output:
        raise ModelUnreadable("E16004", "the model's graph has no inputs, or no outputs")
    _check_names(model)


def _check_names(model: ModelProto) -> None:
    graph = model.graph
    constants = {tensor.name for tensor in graph.initializer}
    produced = [name for node in graph.node for name in node.output if name]
    given = [value.name for value in graph.input if value.name not in constants]
    made = Counter([*(tensor.name for tensor in graph.initializer), *given, *produced])
    repeated = [name for name, count in made.items() if count > 1]
    repeated += [name for name, count in Counter(value.name for value in graph.output).items() if count > 1]
    if repeated:
        raise ModelUnreadable(
            "E10041",
            f"the model has several tensors of one name: {', '.join(map(repr, repeated))}; tensor names must be unique",
        )
    missing = [value.name for value in graph.output if value.name not in made]
    if missing:
        raise ModelUnreadable("E10041", f"no node makes the model's outputs {', '.join(map(repr, missing))}")


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        raise ModelFileMissing("E10410", f"the model {os.fspath(path)!r} does not exist") from None
    except (OSError, ValueError) as error:  # ValueError: what no path can have in it
        raise ModelUnreadable(
            "E10041", f"the model {os.fspath(path)!r} cannot be read: {getattr(error, 'strerror', None) or error}"
        ) from error


def _parse(data: bytes, path: str) -> ModelProto:
    import onnx
    from google.protobuf.message import DecodeError  # type: ignore[import-untyped] # comes with onnx, without types

    if len(data) >= 2**31:
        raise Unconvertible(
            "E10041",
            f"the model {path!r} has {len(data)} bytes, and an ONNX file ends at 2 GiB",
            solution="Save it with external data: onnx.save(..., save_as_external_data=True).",
        )
    model = onnx.ModelProto()
    try:
        model.ParseFromString(data)
    except DecodeError as error:
        raise ModelUnreadable(
            "E10041", f"the model {path!r} ({len(data)} bytes) is cut short, damaged or no ONNX file: {error}"
        ) from error
    return model
