"""What becomes of a case."""

from __future__ import annotations

import enum
import re
from collections.abc import Iterable, Sequence

import attrs

import aacl
from tests.helpers._closeness import difference
from tests.helpers.onnx_nodes._cases import Case
from tests.helpers.onnx_nodes._mapping import NotMapped, find
from tests.helpers.onnx_nodes._node import Node
from tests.helpers.onnx_nodes._unmapped import UNMAPPED

__all__ = ("Outcome", "Status", "run_case", "run_cases")


class Status(enum.Enum):
    """How a case ended: the outputs are right, they are not, or there was nothing to compare."""

    PASSED = "passed"
    FAILED = "failed"
    REFUSED = "refused"
    UNMAPPED = "unmapped"


@attrs.frozen
class Outcome:
    """The end of one case.

    Attributes:
        name: of the case.
        op_type: its ONNX operator.
        status: how it ended.
        route: the Ascend operators that ran, each named once.
        reason: why it did not pass; empty where it did.
    """

    name: str
    op_type: str
    status: Status
    route: str = ""
    reason: str = ""


def run_cases(cases: Iterable[Case]) -> list[Outcome]:
    """Run cases one after another on a stream of their own."""
    with aacl.blocking.Device(0), aacl.blocking.Stream() as stream:
        return [run_case(case, stream) for case in cases]


def run_case(case: Case, stream: aacl.blocking.Stream) -> Outcome:
    """Run a case through its mapping and compare."""
    function = find(case.op_type)
    if function is None:
        return Outcome(case.name, case.op_type, Status.UNMAPPED, reason=UNMAPPED[case.op_type])
    node = Node(case, stream)
    try:
        _check_inputs(case)
        result = function(node)
    except NotMapped as error:
        return Outcome(case.name, case.op_type, Status.REFUSED, reason=str(error))
    except aacl.NotSupported as error:
        return Outcome(case.name, case.op_type, Status.REFUSED, reason=re.split("[:;]", str(error))[0])
    except Exception as error:  # whatever it is, the operators did not give the outputs
        return Outcome(case.name, case.op_type, Status.FAILED, reason=f"{type(error).__name__}: {error}")
    arrays = [node.to_host(tensor) for tensor in (result if isinstance(result, Sequence) else [result])]
    route = "+".join(dict.fromkeys(node.steps))
    reason = difference(arrays, case.expected, rtol=case.rtol, atol=case.atol, epsilon=node.epsilon)
    return Outcome(case.name, case.op_type, Status.FAILED if reason else Status.PASSED, route, reason)


def _check_inputs(case: Case) -> None:
    if any(isinstance(value, (list, tuple)) for value in (*case.inputs, *case.expected)):
        raise NotMapped("sequences and optionals are no tensors")
