"""What our ``.om`` files hold: a model with its graph, or an operator. Pure.

Our partition (type ``0x4C434141``) is, little-endian::

    u32 layout version (1) | u32 n | n bytes of JSON, padded with blanks | the graph

JSON: ``kind`` ("model" or "operator"), ``producer``, ``options`` (the atc
options given), and ``model`` or ``operator`` with the value's own form. The
graph is a complete ONNX model; it begins at a multiple of 64 bytes of the partition.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping
from typing import Any

import attrs

from aacl.errors import ModelDataError
from aacl.models._bundle import is_complete
from aacl.models._model_def import describe_compiled
from aacl.models._om import Partition, PartitionType, om_pieces, read_om
from aacl.models._operator import OperatorModel
from aacl.models._signature import ModelSignature

__all__ = ("ModelPackage", "OperatorPackage", "package_pieces", "read_package")

_HEAD = struct.Struct("<II")
_LAYOUT = 1
_ALIGNMENT = 64


@attrs.frozen
class ModelPackage:
    """A model: its signature, its graph (a complete ONNX model) and the options it was converted with."""

    signature: ModelSignature
    graph: tuple[bytes | memoryview, ...] = attrs.field(repr=lambda graph: f"<{sum(map(len, graph))} bytes>")
    """The graph's bytes in pieces; one piece when read from a file."""
    options: Mapping[str, str] = attrs.field(factory=dict)
    producer: str = ""


@attrs.frozen
class OperatorPackage:
    """An operator model and the options it was compiled with."""

    operator: OperatorModel
    options: Mapping[str, str] = attrs.field(factory=dict)
    producer: str = ""


def read_package(data: bytes | memoryview) -> ModelPackage | OperatorPackage:
    """Read an ``.om`` file of ours; the graph is a view of the bytes given.

    Raises:
        ModelDataError: the bytes are no ``.om`` file, are damaged, were compiled for a device, or
            were written by a newer version of this package; or there are several models.
    """
    file = read_om(data)
    partition = file.partition(PartitionType.AACL)
    if partition is None:
        raise ModelDataError(describe_compiled(file))
    count = sum(map(is_complete, file.models))
    if count > 1:
        raise ModelDataError(
            f"the .om file is a bundle of {count} models; take them apart with aacl.models.split_bundle, "
            "or load them with acl.mdl.bundle_load_from_file"
        )
    document, graph = _split(partition.data)
    try:
        return _content(document, graph)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise ModelDataError(
            f"the .om file's description is damaged ({type(error).__name__}: {error}); convert the model again"
        ) from error


def package_pieces(package: ModelPackage | OperatorPackage) -> list[bytes | memoryview]:
    """Return an ``.om`` file's bytes in pieces, for ``file.writelines``: the graph is not copied."""
    if isinstance(package, ModelPackage):
        signature = package.signature
        content, graph, name = {"kind": "model", "model": signature.to_json()}, package.graph, signature.name
        is_dynamic = not signature.is_static and signature.gears is None
    else:
        operator = package.operator
        content, graph, name = {"kind": "operator", "operator": operator.to_json()}, (), operator.name
        is_dynamic = not all(desc.is_static for desc in operator.outputs)
    content |= {"producer": package.producer, "options": dict(package.options)}
    partition = Partition(PartitionType.AACL, (_metadata(content), *graph))
    return om_pieces([[partition]], name=name, is_dynamic=is_dynamic)


def _metadata(content: Mapping[str, Any]) -> bytes:
    text = json.dumps(content, separators=(",", ":")).encode()
    text += b" " * (-(len(text) + _HEAD.size) % _ALIGNMENT)
    return _HEAD.pack(_LAYOUT, len(text)) + text


def _split(body: memoryview) -> tuple[Any, memoryview]:
    if len(body) < _HEAD.size:
        raise ModelDataError(f"the .om file's description has {len(body)} bytes, too few; convert the model again")
    layout, size = _HEAD.unpack_from(body)
    if layout != _LAYOUT:
        raise ModelDataError(
            f"the .om file has layout {layout}, and this version reads layout {_LAYOUT}; convert the model again, "
            "or use the version that wrote it"
        )
    end = _HEAD.size + size
    if end > len(body):
        raise ModelDataError(
            f"the .om file's description states {size} bytes of {len(body) - _HEAD.size}; it is damaged"
        )
    try:
        return json.loads(bytes(body[_HEAD.size : end])), body[end:]
    except (ValueError, RecursionError) as error:  # RecursionError: what nests deeper than anybody writes
        raise ModelDataError(f"the .om file's description is no JSON ({error}); convert the model again") from error


def _content(document: Any, graph: memoryview) -> ModelPackage | OperatorPackage:
    options = {str(name): str(value) for name, value in document["options"].items()}
    producer = str(document["producer"])
    if document["kind"] == "model":
        return ModelPackage(_signature(document["model"]), (graph,), options, producer)
    if document["kind"] == "operator":
        return OperatorPackage(OperatorModel.from_json(document["operator"]), options, producer)
    raise ModelDataError(f"the .om file holds a {document['kind']!r}, which this version does not know")


def _signature(document: Mapping[str, Any]) -> ModelSignature:
    signature = ModelSignature.from_json(document)
    if signature.aipp:
        from aacl.models._aipp_signature import check_inserted

        check_inserted(signature)
    return signature
