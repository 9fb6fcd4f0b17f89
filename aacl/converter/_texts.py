"""The texts of an ONNX model: all of them are UTF-8, or the model is damaged."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from aacl.converter._reports import ModelUnreadable

if TYPE_CHECKING:
    from onnx import ModelProto

__all__ = ("check_texts",)

_STRING, _MESSAGE = 9, 11  # protobuf's numbers of field types


def check_texts(model: ModelProto) -> None:
    """Check that every name in a model is text; protobuf reads any bytes, and gives what is no text as bytes.

    Raises:
        ModelUnreadable: one is not.
    """
    for text in _texts(model):
        if isinstance(text, bytes):
            raise ModelUnreadable("E10041", f"a name in the model is no UTF-8 text: {text[:64]!r}; the file is damaged")


def _texts(message: Any) -> Iterator[Any]:
    if message.DESCRIPTOR.name == "TensorProto":
        yield from _tensor_texts(message)
        return
    for field, value in message.ListFields():
        if field.type == _STRING:
            yield from [value] if isinstance(value, str | bytes) else value
        elif field.type == _MESSAGE:
            for inner in [value] if hasattr(value, "ListFields") else value:
                yield from _texts(inner)


def _tensor_texts(tensor: Any) -> Iterator[Any]:
    """Yield a tensor's texts, and leave its data, which protobuf would copy."""
    yield tensor.name
    yield tensor.doc_string
    for entry in tensor.external_data:
        yield entry.key
        yield entry.value
