"""The check without a conversion: ``atc --mode=3``, and its report."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from aacl.converter._reports import OutputNotWritable

if TYPE_CHECKING:
    from onnx import ModelProto

__all__ = ("check_model",)


def check_model(
    model: str | os.PathLike[str], report: str | os.PathLike[str] = "check_result.json"
) -> list[dict[str, Any]]:
    """Check whether every operator of an ONNX model can be converted, and write what is found as JSON.

    The report holds one entry a node: ``op_name``, ``op_type``, ``result`` ("success" or "failed") and,
    where it failed, ``error_code`` and ``reason``.

    Args:
        model: the path of the ONNX file.
        report: the JSON file to write.

    Returns:
        The entries that failed.

    Raises:
        ModelFileMissing: there is no such file.
        ModelUnreadable: the model is damaged or of another kind.
        OutputNotWritable: the report cannot be written.
    """
    from aacl.converter._outputs import name_nodes
    from aacl.converter._source import check_structure, read_onnx

    proto = read_onnx(model)
    check_structure(proto)
    name_nodes(proto)
    entries = _entries(proto)
    _write(Path(report), {"model": os.path.basename(model), "op": entries})
    return [entry for entry in entries if entry["result"] == "failed"]


def _entries(model: ModelProto) -> list[dict[str, Any]]:
    from aacl.converter._support import unsupported_operators
    from aacl.converter._walk import nodes_of

    failed = {name: str(operator) for operator, names in unsupported_operators(model).items() for name in names}
    entries: list[dict[str, Any]] = []
    for node in nodes_of(model.graph.node):
        entry = {"op_name": node.name, "op_type": node.op_type, "result": "success"}
        if node.name in failed:
            reason = f"{failed[node.name]} has no implementation"
            entry |= {"result": "failed", "error_code": "E16002", "reason": reason}
        entries.append(entry)
    return entries


def _write(path: Path, document: dict[str, Any]) -> None:
    try:
        path.write_text(json.dumps(document, indent=1))
    except (OSError, ValueError) as error:  # ValueError: what no path can have in it
        raise OutputNotWritable("E10001", f"the report {os.fspath(path)!r} cannot be written: {error}") from error
