"""The large constants of an ONNX model, kept beside it: no copy of hundreds of megabytes, no 2 GiB limit.

`take_out` replaces each large initializer of a model by a stub that is declared
external; `graph_pieces` writes the complete model again, the constants' bytes
inside. Protobuf messages concatenate, so that no message ever holds them all.
"""

from __future__ import annotations

import errno
import mmap
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs

from aacl.converter._reports import ModelUnreadable
from aacl.converter._walk import tensors_of
from aacl.models._wire import coded

if TYPE_CHECKING:
    from onnx import ModelProto, TensorProto

__all__ = ("Constant", "embed_external_data", "graph_pieces", "take_out")

THRESHOLD = 1024  # shape inference reads small constants: they stay inside
_ALIGNMENT = 16
_PADDING_FIELD = 12  # TensorProto.doc_string


@attrs.frozen
class Constant:
    """A large constant: its stub's name, ONNX element number, dims and bytes."""

    name: str
    element: int
    dims: tuple[int, ...]
    data: bytes | memoryview = attrs.field(repr=lambda data: f"<{len(data)} bytes>")


def take_out(model: ModelProto, folder: Path | None) -> dict[str, Constant]:
    """Replace the model's large initializers by stubs and return them by name; embed all other external data.

    Raises:
        ModelUnreadable: external data is missing, too short, or outside the model's folder.
    """
    files = _ExternalFiles(folder)
    constants: dict[str, Constant] = {}
    for tensor in model.graph.initializer:
        data = files.read(tensor) if _is_external(tensor) else tensor.raw_data
        if len(data) >= THRESHOLD:
            constants[tensor.name] = Constant(tensor.name, tensor.data_type, tuple(tensor.dims), data)
            _make_stub(tensor, len(data))
        elif _is_external(tensor):
            _embed(tensor, data)
    embed_external_data(model, files, skip=constants)
    return constants


def embed_external_data(model: ModelProto, files: _ExternalFiles, skip: dict[str, Constant]) -> None:
    """Put the external data of every other tensor (attributes, subgraphs) into the model."""
    # Kept in a variable: protobuf makes these objects as they are asked for, and an id means
    # something only while its object lives.
    initializers = list(model.graph.initializer)
    stubs = {id(tensor) for tensor in initializers if tensor.name in skip}
    for tensor in tensors_of(model):
        if _is_external(tensor) and id(tensor) not in stubs:
            _embed(tensor, files.read(tensor))


def graph_pieces(model: ModelProto, constants: dict[str, Constant]) -> list[bytes | memoryview]:
    """Return the complete model's bytes in pieces; each constant's bytes begin at a multiple of 16."""
    import onnx

    shell, graph = onnx.ModelProto(), onnx.GraphProto()
    shell.CopyFrom(model)
    graph.CopyFrom(model.graph)
    shell.ClearField("graph")
    stubs = [tensor for tensor in graph.initializer if tensor.name in constants]
    kept = [tensor for tensor in graph.initializer if tensor.name not in constants]
    del graph.initializer[:]
    graph.initializer.extend(kept)
    head, body = shell.SerializeToString(), graph.SerializeToString()
    sizes = [_tensor_size(stub, constants[stub.name]) for stub in stubs]
    start = head + _tag(7, len(body) + sum(_field_size(5, size) for size in sizes)) + body
    return [start, *_tensor_pieces(stubs, constants, len(start))]


def _tensor_pieces(stubs: list[TensorProto], constants: dict[str, Constant], position: int) -> Iterator[Any]:
    for stub in stubs:
        constant = constants[stub.name]
        size = _tensor_size(stub, constant)
        head = _tag(5, size) + _tensor_head(stub)
        tail = _tag(9, len(constant.data))
        # The room is the same for every constant, so that lengths are known before positions are.
        padding = -(position + len(head) + 2 + len(tail)) % _ALIGNMENT
        after = _ALIGNMENT - 1 - padding
        yield head + _pad(padding) + tail
        yield constant.data
        yield _pad(after)
        position += _field_size(5, size)


def _tensor_head(stub: TensorProto) -> bytes:
    import onnx

    head: bytes = onnx.TensorProto(name=stub.name, data_type=stub.data_type, dims=stub.dims).SerializeToString()
    return head


def _tensor_size(stub: TensorProto, constant: Constant) -> int:
    paddings = len(_pad(0)) * 2 + _ALIGNMENT - 1
    return len(_tensor_head(stub)) + paddings + _field_size(9, len(constant.data))


def _pad(count: int) -> bytes:
    return _tag(_PADDING_FIELD, count) + b" " * count


def _field_size(number: int, size: int) -> int:
    return len(_tag(number, size)) + size


def _tag(number: int, size: int) -> bytes:
    """Return what precedes a length-delimited field's bytes."""
    return coded(number << 3 | 2) + coded(size)


def _is_external(tensor: TensorProto) -> bool:
    return tensor.data_location == 1


def _embed(tensor: TensorProto, data: bytes | memoryview) -> None:
    tensor.raw_data = bytes(data)
    tensor.ClearField("data_location")
    del tensor.external_data[:]


def _make_stub(tensor: TensorProto, size: int) -> None:
    tensor.ClearField("raw_data")
    del tensor.external_data[:]
    for key, value in (("location", "constants"), ("offset", "0"), ("length", str(size))):
        tensor.external_data.add(key=key, value=value)
    tensor.data_location = 1  # type: ignore[assignment]


class _ExternalFiles:
    """The files beside a model that hold its external data; each is mapped once."""

    def __init__(self, folder: Path | None) -> None:
        self._folder = None if folder is None else folder.resolve()
        self._files: dict[Path, memoryview] = {}

    def read(self, tensor: TensorProto) -> memoryview:
        """Return a tensor's bytes.

        Raises:
            ModelUnreadable: the file is missing, outside the model's folder, or too short.
        """
        entries = {entry.key: entry.value for entry in tensor.external_data}
        view = self._open(tensor.name, entries.get("location", ""))
        try:
            offset = int(entries.get("offset") or 0)
            size = int(entries.get("length") or len(view) - offset)
        except ValueError:
            raise ModelUnreadable(
                "E10041", f"the external data of tensor {tensor.name!r} has an offset or length that is no number"
            ) from None
        if offset < 0 or size < 0 or offset + size > len(view):
            raise ModelUnreadable(
                "E10041",
                f"the external data of tensor {tensor.name!r} should be {size} bytes at {offset} of "
                f"{entries.get('location')!r}, which has {len(view)} bytes",
            )
        return view[offset : offset + size]

    def _open(self, name: str, location: str) -> memoryview:
        if self._folder is None:
            raise ModelUnreadable(
                "E10041", f"tensor {name!r} has external data ({location!r}), and the model was given without a folder"
            )
        is_path = bool(location) and "\0" not in location
        path = Path(os.path.realpath(self._folder / location)) if is_path else self._folder  # of loops of links too
        if not is_path or not path.is_relative_to(self._folder):
            raise ModelUnreadable(
                "E10041",
                f"tensor {name!r} has its data at {location!r}, outside the model's folder; it is not read",
                solution="Move the data beside the model.",
            )
        if path not in self._files:
            self._files[path] = _map(name, path)
        return self._files[path]


def _map(name: str, path: Path) -> memoryview:
    try:
        # Not a pipe or a device, to whose other end even opening would wait for ever.
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        with open(descriptor, "rb"):
            found = os.fstat(descriptor)
            if not stat.S_ISREG(found.st_mode):
                raise OSError(errno.EINVAL, "it is no regular file")
            return memoryview(mmap.mmap(descriptor, 0, access=mmap.ACCESS_READ) if found.st_size else b"")
    except OSError as error:
        raise ModelUnreadable(
            "E10041", f"the external data of tensor {name!r} cannot be read: {path.name}: {error.strerror}",
            solution="Put the model's data files beside it.",
        ) from error  # fmt: skip
