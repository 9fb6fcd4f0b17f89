"""Refusals, told apart by what the model has that cannot be taken, not by its names."""

from __future__ import annotations

import re
from collections.abc import Callable

__all__ = ("kind_of",)

Words = Callable[[re.Match[str]], str]


def _type(found: re.Match[str]) -> str:
    from onnx import TensorProto

    name = TensorProto.DataType.Name(int(found[1]))
    return f"an input or output has elements of ONNX's type {name}"


_NO_KERNEL = "ONNX Runtime has no implementation of the operator for its type or version"

_KINDS: tuple[tuple[str, Words], ...] = (
    (r"has ONNX element type (\d+)", _type),
    (r"holds strings", lambda _: "an input or output has strings"),
    (r"is no tensor but", lambda _: "an input or output is a sequence or an optional, no tensor"),
    (r"dims that the model does not fix", lambda _: "an input has a dim of 0, which stands for a free one"),
    (r"operators of the model are not supported: (\S+)", lambda found: f"ONNX Runtime has no operator {found[1]}"),
    (r"(\S+)\(-1\) is not a registered function", lambda found: f"ONNX Runtime has no operator {found[1]}"),
    (r"Could not find an implementation|Failed to find kernel", lambda _: _NO_KERNEL),
    (r"Exception during initialization", lambda _: "ONNX Runtime does not take the node's attributes"),
    (r"no inputs, or no outputs", lambda _: "the graph has no inputs, or no outputs"),
)


def kind_of(error: Exception) -> str:
    """Return the kind of a refusal; its text where it is of no known kind."""
    text = str(error)
    for pattern, words in _KINDS:
        if found := re.search(pattern, text):
            return words(found)
    return text
