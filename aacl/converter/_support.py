"""Which operators of a model cannot be converted: all of them, at once."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache, lru_cache
from itertools import chain
from typing import TYPE_CHECKING, Any

import attrs

from aacl.converter._reports import Unconvertible
from aacl.converter._walk import nodes_of

if TYPE_CHECKING:
    from onnx import ModelProto, NodeProto

__all__ = ("check_operators", "newest_opset", "unsupported_operators")

_WITHOUT_KERNEL = ("Constant",)  # becomes an initializer when the model is loaded
_NAMES_SHOWN = 5
_LAST_OPSET = 2**31 - 1  # of the 64 bits that a model has for it, ONNX's own functions take these


@attrs.frozen(order=True)
class _Operator:
    domain: str
    opset: int
    op_type: str

    def __str__(self) -> str:
        return f"{self.domain or 'ai.onnx'}::{self.opset}::{self.op_type}"


def check_operators(model: ModelProto) -> None:
    """Check that every operator of the model can be run.

    Raises:
        Unconvertible: some cannot; the text names each with its domain, opset and nodes.
    """
    found = unsupported_operators(model)
    if found:
        listed = "; ".join(f"{operator} ({_nodes(names)})" for operator, names in sorted(found.items()))
        raise Unconvertible("E16002", f"{len(found)} operators of the model are not supported: {listed}")


def unsupported_operators(model: ModelProto) -> dict[_Operator, list[str]]:
    """Return the operators without an implementation, and the names of their nodes."""
    opsets = {_plain(entry.domain): entry.version for entry in model.opset_import}
    local = {(_plain(function.domain), function.name) for function in model.functions}
    found: dict[_Operator, list[str]] = {}
    for node in _all_nodes(model):
        domain = _plain(node.domain)
        operator = _Operator(domain, opsets.get(domain, 0), node.op_type)
        if (domain, node.op_type) not in local and not _is_supported(operator):
            found.setdefault(operator, []).append(node.name or f"unnamed, makes {', '.join(node.output)}")
    return found


@cache
def newest_opset() -> int:
    """Return the newest opset of the standard that ONNX Runtime knows."""
    versions: list[int] = [
        schema.since_version for schema in _state().get_all_operator_schema() if not _plain(schema.domain)
    ]
    return max(versions)


def _all_nodes(model: ModelProto) -> Iterator[NodeProto]:
    return nodes_of(chain(model.graph.node, chain.from_iterable(function.node for function in model.functions)))


def _nodes(names: list[str]) -> str:
    more = len(names) - _NAMES_SHOWN
    return "nodes " + ", ".join(names[:_NAMES_SHOWN]) + (f" and {more} more" if more > 0 else "")


def _plain(domain: str) -> str:
    return "" if domain == "ai.onnx" else domain


@lru_cache(maxsize=4096)  # models name operators as they like
def _is_supported(operator: _Operator) -> bool:
    import onnx

    if operator.opset > _LAST_OPSET:
        return False
    try:
        schema: Any = onnx.defs.get_schema(operator.op_type, operator.opset, operator.domain)
    except onnx.defs.SchemaError:
        return (operator.domain, operator.op_type) in _runtime_schemas() and _has_kernel(operator, operator.opset)
    if schema.deprecated:
        return False
    return schema.has_function or schema.has_context_dependent_function or _has_kernel(operator, schema.since_version)


def _has_kernel(operator: _Operator, version: int) -> bool:
    if operator.op_type in _WITHOUT_KERNEL:
        return True
    spans = _kernels().get((operator.domain, operator.op_type), ())
    return any(first <= version <= last for first, last in spans)


@cache
def _kernels() -> dict[tuple[str, str], set[tuple[int, int]]]:
    kernels: dict[tuple[str, str], set[tuple[int, int]]] = {}
    for kernel in _state().get_all_opkernel_def():
        if kernel.provider == "CPUExecutionProvider":
            key = (_plain(kernel.domain), kernel.op_name)
            kernels.setdefault(key, set()).add(tuple(kernel.version_range))
    return kernels


@cache
def _runtime_schemas() -> set[tuple[str, str]]:
    """The operators that ONNX Runtime adds to the standard's."""
    return {(_plain(schema.domain), schema.name) for schema in _state().get_all_operator_schema()}


def _state() -> Any:
    from onnxruntime.capi import onnxruntime_pybind11_state

    return onnxruntime_pybind11_state
