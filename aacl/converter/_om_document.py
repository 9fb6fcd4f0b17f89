"""A file's graph as JSON: ``atc --mode=1``.

Source: the public ATC page of ``--mode``. The document is a ModelDef's: what a
compiled file's MODEL_DEF holds, and for ours and for ONNX models the same shape,
with ONNX's own operators and attributes.
"""

from __future__ import annotations

import base64
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from aacl.converter._information import read_om_file
from aacl.converter._reports import ModelUnreadable, OutputNotWritable

if TYPE_CHECKING:
    from aacl.models._om import OmFile

__all__ = ("model_document", "om_document", "write_json")

# What the real tool leaves out: offsets and sizes of device memory, and bytes.
_LEFT_OUT = frozenset(
    {"output", "data", "data_offset", "workspace", "workspace_bytes", "memory_size", "weight_size", "size", "bt",
     "quantize_factor"}
)  # fmt: skip


def write_json(source: str | os.PathLike[str], target: str | os.PathLike[str], *, is_onnx: bool = False) -> Path:
    """Write the graph of an ``.om`` file, or of an ONNX model, as JSON.

    Args:
        source: the file to read.
        target: the file to write.
        is_onnx: whether `source` is an ONNX model, not an ``.om`` file.

    Returns:
        The path written.

    Raises:
        ModelFileMissing: there is no such file.
        ModelUnreadable: it cannot be read, or is of another kind.
        OutputNotWritable: `target` cannot be written.
    """
    document = model_document(source) if is_onnx else om_document(source)
    path = Path(target)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(document, indent=1, default=_readable))
    except (OSError, ValueError) as error:  # ValueError: what no path can have in it
        raise OutputNotWritable("E10001", f"the file {os.fspath(target)!r} cannot be written: {error}") from error
    return path


def _readable(name: object) -> str:
    """Return a name that is no UTF-8 text, which protobuf gives as bytes, as well as it can be shown."""
    if isinstance(name, bytes):
        return name.decode(errors="replace")
    raise TypeError(f"{type(name).__name__} in a graph's document")


def om_document(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Return the graph of an ``.om`` file as a document.

    Raises:
        ModelFileMissing: there is no such file.
        ModelUnreadable: it cannot be read, or is no sound ``.om`` file.
    """
    from aacl.converter._onnx_document import onnx_document

    file, package = read_om_file(path)
    if package is None:
        return _compiled(file)
    if not hasattr(package, "signature"):
        return {"name": package.operator.name, "attr": [], "operator": package.operator.to_json()}
    signature = package.signature
    facts = {"soc_version": signature.soc_version, "atc_version": package.producer, **package.options}
    attributes = [{"key": key, "value": {"s": value}} for key, value in facts.items()]
    return {"name": signature.name, "graph": [onnx_document(package.graph[0])], "attr": attributes}


def model_document(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Return the graph of an ONNX model as a document.

    Raises:
        ModelFileMissing: there is no such file.
        ModelUnreadable: it cannot be read, or is no ONNX model.
    """
    from aacl.converter._onnx_document import onnx_document
    from aacl.converter._source import read_onnx

    model = read_onnx(path)
    return {"name": model.graph.name, "graph": [onnx_document(memoryview(model.SerializeToString()))], "attr": []}


def _compiled(file: OmFile) -> dict[str, Any]:
    from aacl.models._ge_proto import decode_model_def
    from aacl.models._om import PartitionType
    from aacl.models._wire import WireError

    partition = file.partition(PartitionType.MODEL_DEF)
    if partition is None:
        raise ModelUnreadable("E10041", "the file has no MODEL_DEF: there is no graph in it")
    try:
        document = decode_model_def(partition.data)
    except WireError as error:
        raise ModelUnreadable("E10041", f"the file's MODEL_DEF is damaged: {error}") from error
    shown: dict[str, Any] = dict(_shown(document))
    return shown


def _shown(message: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield what the document shows of a message: maps become lists of keys and values, as protobuf writes them."""
    for name, value in message.items():
        if name == "attr":
            yield (
                name,
                [{"key": key, "value": dict(_shown(item))} for key, item in value.items() if key not in _LEFT_OUT],
            )
        elif name not in _LEFT_OUT:
            yield name, _value(value)


def _value(value: Any) -> Any:
    if isinstance(value, dict):
        return dict(_shown(value))
    if isinstance(value, list):
        return [_value(item) for item in value]
    return base64.b64encode(value).decode() if isinstance(value, bytes) else value
