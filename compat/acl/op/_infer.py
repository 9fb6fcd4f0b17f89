"""What is known of an operator's outputs before it runs."""

from __future__ import annotations

from operator import index
from typing import TYPE_CHECKING

import aacl
from aacl.errors import InvalidArgument
from acl._state import require_init
from acl._status import code_alone
from acl._tensor_descs import tensor_descs
from acl.op._attributes import attributes_at
from acl.op._execute import descs_at, spans_at
from acl.op._operands import contents, may_decide

if TYPE_CHECKING:
    from collections.abc import Sequence

    from acl.op._operands import Descs, Spans

__all__ = ("infer_shape",)


@code_alone
def infer_shape(
    op_type: str,
    input_descs: Sequence[int],
    inputs: Sequence[int],
    num_outputs: int,
    output_descs: Sequence[int],
    attr: int,
) -> int:
    """Work out the shapes of an operator's outputs, and write them into their descriptions.

    Where values decide, a dim is -1, and ``get_tensor_desc_dim_range`` tells its range. Values are read only of
    inputs that a shape may follow from, such as the target of a reshape.

    Args:
        op_type: such as ``"Reshape"``.
        input_descs: a description for each input.
        inputs: a data buffer for each, on host memory.
        num_outputs: how many outputs there are.
        output_descs: a description for each, which is rewritten: data type and shape.
        attr: the attributes; 0 for none.

    Returns:
        0; 100024 for an unknown operator; 100000 for numbers that do not fit, or inputs and attributes that the
        operator does not take; 107000 for memory that is not mapped; 100001 before ``acl.init``.
    """
    require_init()
    if not isinstance(op_type, str):
        raise TypeError(f"argument 1 must be str, not {type(op_type).__name__}")
    descs, spans, wanted = descs_at(input_descs), spans_at(inputs), descs_at(output_descs)
    _check_counts(op_type, descs, spans, wanted, index(num_outputs))
    known = [_with_value(op_type, position, *pair) for position, pair in enumerate(zip(descs, spans, strict=True))]
    found = aacl.ops.infer(op_type, known, attributes_at(attr).values)
    if len(found) != len(wanted):
        raise InvalidArgument(f"operator {op_type} has {len(found)} outputs; {len(wanted)} were asked for")
    for handle, old, new in zip(output_descs, wanted, found, strict=True):
        tensor_descs.replace(
            handle, aacl.TensorDesc.of(new.dtype, new.shape, old.format, ranges=new.ranges, name=old.name)
        )
    return 0


def _check_counts(op_type: str, descs: Descs, spans: Spans, wanted: Descs, num_outputs: int) -> None:
    if len(descs) != len(spans):
        raise InvalidArgument(
            f"operator {op_type}: {len(descs)} input descriptions and {len(spans)} buffers were given"
        )
    if num_outputs != len(wanted):
        raise InvalidArgument(f"operator {op_type}: {num_outputs} outputs, and {len(wanted)} descriptions of them")


def _with_value(op_type: str, position: int, desc: aacl.TensorDesc, span: tuple[int, int]) -> aacl.TensorDesc | None:
    """Return a description, its contents known if a shape may follow from them; None for an absent input."""
    if desc.dtype is aacl.DataType.UNDEFINED:
        return None
    if desc.value is not None or not span[0] or not may_decide(desc):
        return desc
    value = contents(f"operator {op_type}: input {position}", desc, span)
    return aacl.TensorDesc.of(desc.dtype, desc.shape, desc.format, value=value)
