"""Outputs of operators whose shape is given as values, or that describe their input."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from aacl.dtypes import DataType
from aacl.ops._infer._agreement import require_equal_dtypes
from aacl.ops._infer._asked import asked_dtype, asked_shape, asked_sizes
from aacl.ops._infer._dims import FREE, Shape, fixed
from aacl.ops._infer._requirements import require_ones
from aacl.ops._infer._rules import Call, Output, rule

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ()


@rule("Fill")
def fill(call: Call) -> Sequence[Output]:
    """The shape that ``dims`` holds, of the value's dtype."""
    require_ones(call, "value")
    return [Output(call.desc(1).dtype, asked_shape(call, 0))]


@rule("FillD")
def fill_attribute(call: Call) -> Sequence[Output]:
    """As Fill, with an attribute."""
    require_ones(call, "value")
    return [Output(call.desc(0).dtype, asked_sizes(call, call.attributes["dims"]))]


@rule("Eye")
def eye(call: Call) -> Sequence[Output]:
    """``batch_shape`` before rows and columns; no columns given, as many as rows."""
    rows, columns = call.attributes["num_rows"], call.attributes["num_columns"]
    sizes = (*call.attributes["batch_shape"], rows, columns or rows)
    return [Output(asked_dtype(call, "dtype"), asked_sizes(call, sizes))]


@rule("Range")
def range_(call: Call) -> Sequence[Output]:
    """The numbers from start to before limit."""
    require_ones(call, "start", "limit", "delta")
    require_equal_dtypes(call, (0, 1, 2))
    parts = [call.desc(index).value for index in range(3)]
    dtype = call.desc(0).dtype
    if any(part is None for part in parts):
        return [Output(dtype, (FREE,))]
    start, limit, delta = (part.reshape(-1)[0].item() for part in parts if part is not None)
    return [Output(dtype, _count(call, start, limit, delta))]


@rule("RangeD")
def range_attribute(call: Call) -> Sequence[Output]:
    """As Range, with attributes."""
    return [Output(call.desc(0).dtype, _count(call, *(call.attributes[name] for name in ("start", "limit", "delta"))))]


@rule("Shape")
def shape(call: Call) -> Sequence[Output]:
    """One number a dim."""
    dims = call.shape(0)
    return [Output(asked_dtype(call, "dtype"), (FREE,) if dims is None else fixed(len(dims)))]


@rule("Size")
def size(call: Call) -> Sequence[Output]:
    """One number."""
    return [Output(asked_dtype(call, "dtype"), ())]


@rule("Rank")
def rank(call: Call) -> Sequence[Output]:
    """One number, int32."""
    return [Output(call.result(DataType.INT32), ())]


def _count(call: Call, start: float, limit: float, delta: float) -> Shape:
    if not delta:
        raise call.error("delta is 0")
    if isinstance(start, int) and isinstance(limit, int) and isinstance(delta, int):
        return fixed(len(range(start, limit, delta)))
    steps = (limit - start) / delta
    if not math.isfinite(steps):
        raise call.error(f"the range from {start} to {limit} by {delta} has no finite number of elements")
    return fixed(max(math.ceil(steps), 0))
