"""Outputs of special functions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aacl.ops._infer._agreement import broadcast_inputs, require_equal_dtypes
from aacl.ops._infer._elementwise import broadcast_format, like_first
from aacl.ops._infer._rules import Call, Output, rule

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ()


rule("BesselI0e", "BesselI1e", "Dawsn", "Erfinv", "Expint", "FresnelCos", "FresnelSin", "Ndtri", "Spence")(like_first)


@rule("Betainc", "Igamma", "Igammac", "Zeta")
def broadcast(call: Call) -> Sequence[Output]:
    """All inputs broadcast; their dtypes are equal."""
    require_equal_dtypes(call, range(len(call.inputs)))
    return [Output(call.desc(0).dtype, broadcast_inputs(call), broadcast_format(call))]
