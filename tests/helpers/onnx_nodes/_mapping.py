"""Which function takes which ONNX operator to Ascend operators."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from aacl import Tensor

if TYPE_CHECKING:
    from tests.helpers.onnx_nodes._node import Node

__all__ = ("Mapping", "NotMapped", "find", "mapped_types", "mapping")

Mapping = Callable[["Node"], Tensor | Sequence[Tensor]]
"""Runs a node and returns its outputs, those that the node names, in their order."""

_MAPPINGS: dict[str, Mapping] = {}


class NotMapped(Exception):
    """A node that means something the Ascend operators cannot say; the text is the reason."""


def mapping(*onnx_types: str) -> Callable[[Mapping], Mapping]:
    """Register a function for ONNX operator types.

    Raises:
        ValueError: one of them has a function already.
    """

    def register(function: Mapping) -> Mapping:
        for onnx_type in onnx_types:
            if onnx_type in _MAPPINGS:
                raise ValueError(f"ONNX operator {onnx_type} is mapped twice")
            _MAPPINGS[onnx_type] = function
        return function

    return register


def find(onnx_type: str) -> Mapping | None:
    """Return the function of an ONNX operator type."""
    return _MAPPINGS.get(onnx_type)


def mapped_types() -> tuple[str, ...]:
    """Return the ONNX operator types that have a function, sorted."""
    return tuple(sorted(_MAPPINGS))
