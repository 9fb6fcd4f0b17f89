"""What is known of an operator's outputs before it runs."""

from __future__ import annotations

from itertools import islice, product
from operator import index
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

import aacl
from aacl.errors import InvalidArgument
from acl._arguments import check_text
from acl._desc_hints import check_dynamic_inputs, value_ranges
from acl._state import require_init
from acl._status import code_alone
from acl._tensor_descs import tensor_descs
from acl.op._attributes import attributes_at
from acl.op._execute import descs_at, spans_at
from acl.op._operands import contents, may_decide

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from acl.op._operands import Descs, Spans

__all__ = ("infer_shape",)

Descriptions: TypeAlias = "Sequence[aacl.TensorDesc | None]"
ValueRanges: TypeAlias = "tuple[tuple[int, int], ...]"

_FREE_MOST = 10  # values with two bounds, each of which doubles the corners


@code_alone
def infer_shape(
    op_type: str,
    input_descs: Sequence[int],
    inputs: Sequence[int],
    num_outputs: int,
    output_descs: Sequence[int],
    attr: int,
    /,
) -> int:
    """Work out the shapes of an operator's outputs, and write them into their descriptions.

    Where values decide, a dim is -1, and ``get_tensor_desc_dim_range`` tells its range. Values are read only of
    inputs that a shape may follow from, such as the target of a reshape; where such an input has no contents, what
    ``set_tensor_value_range`` says of them counts.

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

    Source: aclopInferShape.
    """
    require_init()
    check_text(op_type, 1)
    descs, spans, wanted = descs_at(input_descs), spans_at(inputs), descs_at(output_descs)
    _check_counts(op_type, descs, spans, wanted, index(num_outputs))
    check_dynamic_inputs(op_type, input_descs)
    known = [_with_value(op_type, position, *pair) for position, pair in enumerate(zip(descs, spans, strict=True))]
    bounds = {
        place: value_ranges[handle]
        for place, (handle, desc) in enumerate(zip(input_descs, known, strict=True))
        if handle in value_ranges and desc is not None and desc.value is None and may_decide(desc)
    }
    found = _inferred(op_type, known, attributes_at(attr).values, bounds)
    if len(found) != len(wanted):
        raise InvalidArgument(f"operator {op_type} has {len(found)} outputs; {len(wanted)} were asked for")
    for handle, old, new in zip(output_descs, wanted, found, strict=True):
        tensor_descs.replace(
            handle, aacl.TensorDesc.of(new.dtype, new.shape, old.format, ranges=new.ranges, name=old.name)
        )
    return 0


def _inferred(
    op_type: str, known: Descriptions, attributes: Mapping[str, Any], bounds: Mapping[int, ValueRanges]
) -> tuple[aacl.TensorDesc, ...]:
    """Return what follows of the outputs, also from the bounds of values where each of their corners has a shape.

    Shapes rise or fall with each value alone, so that the least and the largest dims are those of corners.
    """
    plain = aacl.ops.infer(op_type, known, attributes)
    corners = _corners(known, bounds)
    if not corners:
        return plain
    try:
        each = [aacl.ops.infer(op_type, corner, attributes) for corner in corners]
    except InvalidArgument:  # values that the operator does not take together: the bounds tell nothing
        return plain
    return tuple([_spanning(descs) for descs in zip(*each, strict=True)])


def _corners(known: Descriptions, bounds: Mapping[int, ValueRanges]) -> list[list[aacl.TensorDesc | None]]:
    """Return the inputs with every choice of bounds as their values; none where a value has no end."""
    pairs = [pair for ranges in bounds.values() for pair in ranges]
    if not pairs or any(most == -1 for _, most in pairs) or sum(len({*pair}) > 1 for pair in pairs) > _FREE_MOST:
        return []
    corners = []
    for values in product(*[sorted({*pair}) for pair in pairs]):
        rest, corner = iter(values), list(known)
        for place in bounds:
            desc = known[place]
            if desc is None or not desc.is_static or desc.element_count != len(bounds[place]):
                return []
            value = np.array([*islice(rest, len(bounds[place]))], desc.dtype.numpy_dtype).reshape(desc.shape)
            corner[place] = aacl.TensorDesc.of(desc.dtype, desc.shape, desc.format, value=value)
        corners.append(corner)
    return corners


def _spanning(descs: Sequence[aacl.TensorDesc]) -> aacl.TensorDesc:
    """Return the description with the dims that all of these have, and ranges where they differ."""
    first = descs[0]
    if len({len(desc.shape) for desc in descs}) > 1 or aacl.UNKNOWN_RANK in [desc.shape for desc in descs]:
        return aacl.TensorDesc.of(first.dtype, aacl.UNKNOWN_RANK, first.format)
    ranges = []
    for axis in range(len(first.shape)):
        spans = [_span(desc, axis) for desc in descs]
        ends = [most for _, most in spans]
        ranges.append((min(least for least, _ in spans), -1 if -1 in ends else max(ends)))
    shape = [least if least == most else -1 for least, most in ranges]
    return aacl.TensorDesc.of(first.dtype, shape, first.format, ranges=ranges if -1 in shape else ())


def _span(desc: aacl.TensorDesc, axis: int) -> tuple[int, int]:
    dim = desc.shape[axis]
    return (dim, dim) if dim >= 0 else desc.ranges[axis] if desc.ranges else (0, -1)


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
