"""The ONNX node tests, run through Ascend operators.

The `onnx` package makes one small model a test case, with its inputs and the outputs that the
specification asks for. A *mapping* takes the node of a model to a sequence of operators, as a
converter would; families of mappings lie in the modules of this package, which are all loaded with it:

    @mapping("Sum")
    def _sum(node: Node) -> Tensor:
        return node.run("AddN", [node.tensor(0), node.tensor(1)])

What an operator cannot mean is refused with `NotMapped`, and counted apart.
"""

from __future__ import annotations

import importlib
import pkgutil

from tests.helpers.onnx_nodes._cases import Case as Case
from tests.helpers.onnx_nodes._cases import collect as collect
from tests.helpers.onnx_nodes._mapping import NotMapped as NotMapped
from tests.helpers.onnx_nodes._mapping import mapped_types as mapped_types
from tests.helpers.onnx_nodes._node import Node as Node
from tests.helpers.onnx_nodes._outcome import Outcome as Outcome
from tests.helpers.onnx_nodes._outcome import Status as Status
from tests.helpers.onnx_nodes._outcome import run_case as run_case
from tests.helpers.onnx_nodes._outcome import run_cases as run_cases
from tests.helpers.onnx_nodes._report import report as report

__all__ = (
    "Case",
    "Node",
    "NotMapped",
    "Outcome",
    "Status",
    "collect",
    "mapped_types",
    "report",
    "run_case",
    "run_cases",
)

for _module in pkgutil.iter_modules(__path__):
    if not _module.name.startswith("_"):
        importlib.import_module(f"{__name__}.{_module.name}")
