"""Outputs of dropout and of the masks for it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aacl.dtypes import DataType
from aacl.errors import UnsupportedDataType
from aacl.ops._infer._agreement import equal_shapes
from aacl.ops._infer._asked import asked_shape
from aacl.ops._infer._dims import FREE, Dim, product
from aacl.ops._infer._elementwise import like_first
from aacl.ops._infer._random import check_seeds, typed
from aacl.ops._infer._requirements import require_one
from aacl.ops._infer._rules import Call, Output, rule

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ()

_BITS = 128
"""Elements whose bits fill 16 bytes, the unit in which masks grow."""


@rule("DropOutGenMask", "StatelessDropOutGenMask")
def bits(call: Call) -> Sequence[Output]:
    """A bit an element: 16 bytes for every 128 elements begun."""
    require_one(call, 1)
    check_seeds(call)
    shape = asked_shape(call, 0)
    return [Output(DataType.UINT8, (FREE if shape is None else _bytes(product(shape)),))]


@rule("DropOutGenMaskV3")
def mask_bytes(call: Call) -> Sequence[Output]:
    """A byte an element, of the shape asked for."""
    require_one(call, 1)
    return [Output(DataType.UINT8, asked_shape(call, 0))]


@rule("DropOutGenMaskV4")
def mask_bools(call: Call) -> Sequence[Output]:
    """A bool an element, of the shape asked for."""
    require_one(call, 1)
    if typed(call) is not DataType.BOOL:
        raise UnsupportedDataType("operator DropOutGenMaskV4: masks of UINT1 are not supported; use BOOL")
    return [Output(DataType.BOOL, asked_shape(call, 0))]


@rule("DropOutDoMask")
def by_bits(call: Call) -> Sequence[Output]:
    """As ``x``; the mask holds a bit an element, 16 bytes for every 128 begun."""
    require_one(call, 2)
    shape, mask = call.shape(0), call.shape(1)
    if shape is not None and mask is not None:
        wanted = _bytes(product(shape))
        if not product(mask).meets(wanted):
            raise call.mismatch(0, 1, f"do not fit: the mask must hold {wanted} bytes")
    return [call.like(0, shape)]


@rule("DropOutDoMaskV3", "DropOutDoMaskV3D")
def by_bytes(call: Call) -> Sequence[Output]:
    """As ``x`` and the mask, which are alike."""
    if call.has(2):
        require_one(call, 2)
    return [call.like(0, equal_shapes(call, (0, 1)))]


rule("Dropout")(like_first)


@rule("DropoutV2")
def dropout(call: Call) -> Sequence[Output]:
    """As ``x``, a mask of its shape, and a seed as the one given."""
    shape = call.shape(0)
    return [
        call.like(0, shape),
        Output(DataType.FLOAT, shape, call.desc(0).format),
        Output(DataType.FLOAT, call.shape(1)),
    ]


def _bytes(size: Dim) -> Dim:
    most = size.most if size.most == FREE.most else -(-int(size.most) // _BITS) * 16
    return Dim(-(-size.least // _BITS) * 16, most)
