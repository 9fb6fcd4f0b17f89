"""What becomes of a case."""

from __future__ import annotations

import enum
import re
from collections.abc import Iterable, Sequence

import attrs
import ml_dtypes
import numpy as np

import aacl
from aacl.abc import Array
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
    reason = _difference(case, arrays, node.epsilon)
    return Outcome(case.name, case.op_type, Status.FAILED if reason else Status.PASSED, route, reason)


def _check_inputs(case: Case) -> None:
    if any(isinstance(value, (list, tuple)) for value in (*case.inputs, *case.expected)):
        raise NotMapped("sequences and optionals are no tensors")


def _difference(case: Case, arrays: Sequence[Array], epsilon: float) -> str:
    """Say how the outputs differ from those expected; empty where they do not."""
    if len(arrays) != len(case.expected):
        return f"{len(arrays)} outputs, {len(case.expected)} expected"
    for index, (array, expected) in enumerate(zip(arrays, case.expected, strict=True)):
        if array.shape != expected.shape or array.dtype != expected.dtype:
            return (
                f"output {index} is {array.dtype} of shape {array.shape}, expected {expected.dtype} of {expected.shape}"
            )
        if not _are_close(array, expected, case, epsilon):
            return f"output {index} is {array.ravel()[:8]}, expected {expected.ravel()[:8]}"
    return ""


def _are_close(array: Array, expected: Array, case: Case, epsilon: float) -> bool:
    """Compare: whole numbers exactly, others within the case's tolerances or some units of the types on the way.

    The units are relative to each value, and, where values cancel, to the largest of them.
    """
    if array.dtype.kind in "biu" or not array.size:
        return bool(np.array_equal(array, expected))
    wide = np.complex128 if array.dtype.kind == "c" else np.float64
    found, wanted = array.astype(wide), expected.astype(wide)
    units = 4 * max(epsilon, float(ml_dtypes.finfo(expected.dtype).eps))  # type: ignore[no-untyped-call]
    finite = np.abs(wanted[np.isfinite(wanted)])
    atol = max(case.atol, units * float(finite.max(initial=0)))
    return bool(np.allclose(found, wanted, rtol=max(case.rtol, units), atol=atol, equal_nan=True))
