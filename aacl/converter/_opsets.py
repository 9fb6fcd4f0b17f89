"""Bringing a model to versions of the operators that ONNX Runtime has."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aacl.converter._reports import Unconvertible
from aacl.converter._support import check_operators, newest_opset, unsupported_operators

if TYPE_CHECKING:
    from onnx import ModelProto, OperatorSetIdProto

__all__ = ("make_runnable",)

_OLDEST = 7  # what ONNX Runtime states to take
_NEWEST_IR = 10  # what ONNX Runtime 1.20 takes; nothing in how a model runs hangs on it
_MIDDLE = 17  # what older models are brought to: few operators changed on the way


def make_runnable(model: ModelProto) -> None:
    """Check that every operator can be run; convert the model to another opset where that helps.

    Raises:
        Unconvertible: an operator has no implementation, at any opset that the model can be brought to.
    """
    model.ir_version = min(model.ir_version, _NEWEST_IR)
    entry = _standard(model)
    if entry is None or (_OLDEST <= entry.version <= newest_opset() and not unsupported_operators(model)):
        check_operators(model)
        return
    target = _MIDDLE if entry.version < _MIDDLE else newest_opset()
    converted = None if entry.version == target else _converted(model, target)
    if converted is not None and not unsupported_operators(converted):
        model.CopyFrom(converted)
        return
    check_operators(model)
    if entry.version > newest_opset():
        raise Unconvertible(
            "E16002",
            f"the model states opset {entry.version}, and operators up to opset {newest_opset()} can be run",
            solution=f"Export the model with opset {newest_opset()} or lower.",
        )


def _standard(model: ModelProto) -> OperatorSetIdProto | None:
    """Return the entry of the standard's operators; a model may use others only."""
    return next((entry for entry in model.opset_import if entry.domain in ("", "ai.onnx")), None)


def _converted(model: ModelProto, target: int) -> ModelProto | None:
    """Return the model at another opset, None where an operator has no conversion."""
    from onnx import version_converter

    try:
        return version_converter.convert_version(model, target)
    except Exception:  # the converter is C++ and raises what its parts raise
        return None
