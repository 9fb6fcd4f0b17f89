"""What becomes of a case."""

from __future__ import annotations

import asyncio
import enum
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import attrs

import aacl
import acl
from aacl.abc import Array
from aacl.converter import convert
from tests.helpers._closeness import difference
from tests.helpers.onnx_models._cases import Case
from tests.helpers.onnx_models._kinds import kind_of
from tests.helpers.onnx_models._legacy import run_by_acl

__all__ = ("Outcome", "Status", "run_case", "run_cases")

_INITIALISED = 100002


class Status(enum.Enum):
    """How a case ended."""

    PASSED = "passed"
    """The outputs are those that the specification asks for."""
    DIFFERS = "differs"
    """They are not, and ONNX Runtime, given the same model, does not give them either."""
    REFUSED = "refused"
    """The converter does not take the model; there was nothing to run."""
    FAILED = "failed"
    """Anything else: our fault."""


@attrs.frozen
class Outcome:
    """The end of one case.

    Attributes:
        name: of the case.
        op_type: its ONNX operator.
        status: how it ended.
        reason: why it did not pass; empty where it did.
    """

    name: str
    op_type: str
    status: Status
    reason: str = ""


def run_cases(cases: Iterable[Case], *, faces: Sequence[str] = ("native", "acl")) -> list[Outcome]:
    """Run cases one after another.

    Args:
        cases: those to run.
        faces: through what; a case passes if it does through each of them.
    """
    assert acl.init() in (0, _INITIALISED)
    assert acl.rt.set_device(0) == 0
    try:
        return asyncio.run(_run_all(cases, faces))
    finally:
        acl.rt.reset_device(0)
        acl.finalize()


async def _run_all(cases: Iterable[Case], faces: Sequence[str]) -> list[Outcome]:
    with tempfile.TemporaryDirectory() as folder:
        async with aacl.Device(0), aacl.Stream():
            return [await run_case(case, Path(folder, "case"), faces) for case in cases]


async def run_case(case: Case, target: Path, faces: Sequence[str]) -> Outcome:
    """Convert a case to a file, run it and compare; a device and a stream are current."""
    try:
        path = convert(case.model, target)
    except aacl.AclError as error:
        return Outcome(case.name, case.op_type, Status.REFUSED, kind_of(error))
    for face in faces:
        if reason := await _reason(case, path, face):
            peer = await asyncio.to_thread(_peer, case)
            status = Status.DIFFERS if peer else Status.FAILED
            return Outcome(case.name, case.op_type, status, peer or f"{face}: {reason}")
    return Outcome(case.name, case.op_type, Status.PASSED)


async def _reason(case: Case, path: Path, face: str) -> str:
    """Say why the model does not give what the case expects through a face; empty where it does."""
    try:
        arrays = run_by_acl(path, case.inputs) if face == "acl" else await _infer(path, case.inputs)
    except Exception as error:  # whatever it is, the model did not give the outputs
        return f"{type(error).__name__}: {error}"
    return difference(arrays, case.expected, rtol=case.rtol, atol=case.atol)


def _peer(case: Case) -> str:
    """Say why ONNX Runtime's own session does not pass the case; empty where it does."""
    import onnxruntime

    try:
        options = onnxruntime.SessionOptions()
        options.log_severity_level = 4  # what goes wrong is in its error
        session = onnxruntime.InferenceSession(case.model.SerializeToString(), options, ["CPUExecutionProvider"])
        arrays = session.run(None, case.inputs)
    except Exception:  # its errors have no common class
        return "ONNX Runtime fails when it runs the model"
    wrong = difference(arrays, case.expected, rtol=case.rtol, atol=case.atol)
    return "ONNX Runtime gives other values than the specification" if wrong else ""


async def _infer(path: Path, inputs: Mapping[str, Any]) -> Sequence[Array]:
    async with aacl.Model(path) as model:
        found = await model.infer(*[inputs[spec.name] for spec in model.inputs])
    return found if isinstance(found, tuple) else (found,)
