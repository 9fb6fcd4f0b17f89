"""Outputs of normalisations."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aacl.dtypes import DataType
from aacl.ops._infer._dims import Dim, Shape
from aacl.ops._infer._rules import Call, Output, rule

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ()


@rule("LayerNorm", "LayerNormV3")
def layer_norm(call: Call) -> Sequence[Output]:
    """``y`` as ``x``; the statistics have 1 on every axis from ``begin_norm_axis``."""
    shape = call.shape(0)
    if shape is None:
        return [call.like(0, None, output) for output in range(3)]
    begin = call.axis(call.attributes["begin_norm_axis"], len(shape), "begin_norm_axis")
    scale = shape[call.axis(call.attributes["begin_params_axis"], len(shape), "begin_params_axis") :]
    for index in (1, 2):
        _check_scale(call, index, scale)
    reduced = shape[:begin] + (Dim(1, 1),) * (len(shape) - begin)
    return [call.like(0, shape), call.like(0, reduced, 1), call.like(0, reduced, 2)]


@rule("RmsNorm")
def rms_norm(call: Call) -> Sequence[Output]:
    """``y`` as ``x``; ``rstd`` is float with 1 on ``gamma``'s axes."""
    shape, gamma = call.shape(0), call.shape(1)
    if shape is None or gamma is None:
        return [call.like(0, shape), Output(DataType.FLOAT, None)]
    lead = len(shape) - len(gamma)
    _check_scale(call, 1, shape[lead:] if lead >= 0 else ())
    reduced = shape[:lead] + (Dim(1, 1),) * len(gamma)
    return [call.like(0, shape), Output(DataType.FLOAT, reduced, call.desc(0).format)]


def _check_scale(call: Call, index: int, wanted: tuple[Dim, ...]) -> None:
    found: Shape = call.shape(index)
    if found is None:
        return
    if len(found) != len(wanted) or any(not a.meets(b) for a, b in zip(found, wanted, strict=True)):
        raise call.mismatch(0, index, f"do not fit: {call.names[index]} needs shape {tuple(wanted)}")
