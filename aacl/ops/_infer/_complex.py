"""Outputs of operators on complex numbers and their parts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aacl.dtypes import DataType
from aacl.errors import UnsupportedDataType
from aacl.ops._infer._agreement import broadcast_inputs, require_equal_dtypes
from aacl.ops._infer._elementwise import broadcast_format, like_first
from aacl.ops._infer._rules import Call, Output, rule

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ()


@rule("Complex")
def joined(call: Call) -> Sequence[Output]:
    """Both inputs broadcast; ``Tout`` is the dtype."""
    require_equal_dtypes(call, (0, 1))
    return [Output(_wanted(call), broadcast_inputs(call), broadcast_format(call))]


@rule("Angle", "ComplexAbs", "Imag", "Real")
def part(call: Call) -> Sequence[Output]:
    """As the input, of dtype ``Tout``."""
    return [Output(_wanted(call), call.shape(0), call.desc(0).format)]


@rule("AngleV2")
def angle(call: Call) -> Sequence[Output]:
    """As the input; float16 stays, everything else gives float."""
    half = call.desc(0).dtype is DataType.FLOAT16
    return [Output(DataType.FLOAT16 if half else DataType.FLOAT, call.shape(0), call.desc(0).format)]


rule("Conj")(like_first)


def _wanted(call: Call) -> DataType:
    number, allowed = call.attributes["Tout"], call.schema.outputs[0].dtypes
    if number not in allowed:
        names = ", ".join(f"{dtype.name} ({dtype.value})" for dtype in sorted(allowed))
        raise UnsupportedDataType(f"operator {call.schema.op_type}: Tout is {number}; it takes {names}")
    return DataType(number)
