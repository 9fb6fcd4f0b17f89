"""Running operators that operator models serve."""

from __future__ import annotations

from typing import TYPE_CHECKING

from acl._data_buffers import data_buffers
from acl._desc_hints import check_dynamic_inputs, dynamic_inputs
from acl._devices import stream_at
from acl._status import code_alone
from acl._tensor_descs import tensor_descs
from acl.op._attributes import attributes_at
from acl.op._prepared import run

if TYPE_CHECKING:
    from collections.abc import Sequence

    from acl.op._attributes import Attributes
    from acl.op._operands import Descs, Spans
    from acl.op._prepared import Request

__all__ = ("descs_at", "execute", "execute_v2", "request_of", "spans_at")


@code_alone
def execute_v2(
    op_type: str,
    input_descs: Sequence[int],
    inputs: Sequence[int],
    output_descs: Sequence[int],
    outputs: Sequence[int],
    attr: int,
    stream: int,
    /,
) -> int:
    """Submit an operator to a stream.

    Args:
        op_type: such as ``"Add"``.
        input_descs: a description for each input; data type -1 for an absent optional one.
        inputs: a data buffer for each, on memory of the device or the host; (0, 0) for an absent input or a constant.
        output_descs: a description for each output, of its shape or a larger one; -1 dims need ranges that end, as
            ``infer_shape`` writes them. Where the model leaves dims open, the exact shape is written into them by the
            time that the stream is synchronised; the larger one is remembered for further runs.
        outputs: a data buffer for each, as large as the description.
        attr: the attributes; 0 for none.
        stream: 0 stands for the default one.

    Returns:
        0, which means submitted; failures of the run come from the next synchronise. 100024 if no operator model
        (`set_model_dir`, `load`) serves the request; 100000 for lists of different length, a buffer that is too small
        (the text says which), or attributes the operator has not; 145000 for an output whose size is not bounded;
        107000 for memory that is not mapped; 107002, 107003 and 107017 as ``synchronize_stream``.

    Source: aclopExecuteV2.
    """
    return _submit(op_type, input_descs, inputs, output_descs, outputs, attr, stream, output_descs)


@code_alone
def execute(
    op_type: str,
    input_descs: Sequence[int],
    inputs: Sequence[int],
    output_descs: Sequence[int],
    outputs: Sequence[int],
    attr: int,
    stream: int,
    /,
) -> int:
    """Submit an operator to a stream: the older form of `execute_v2`, which leaves the descriptions as they are.

    Args:
        op_type: such as ``"Add"``.
        input_descs: as for `execute_v2`, and so the others.
        inputs: a data buffer for each input.
        output_descs: a description for each output.
        outputs: a data buffer for each output.
        attr: the attributes; 0 for none.
        stream: 0 stands for the default one.

    Returns:
        As `execute_v2`.

    Source: aclopExecute.
    """
    return _submit(op_type, input_descs, inputs, output_descs, outputs, attr, stream)


def _submit(
    op_type: str,
    input_descs: Sequence[int],
    inputs: Sequence[int],
    output_descs: Sequence[int],
    outputs: Sequence[int],
    attr: int,
    stream: int,
    written: Sequence[int] = (),
) -> int:
    target, attributes = stream_at(stream), attributes_at(attr)
    run(request_of(op_type, input_descs, inputs, output_descs, outputs, attributes), attributes.values, target, written)
    return 0


def request_of(
    op_type: str,
    input_descs: Sequence[int],
    inputs: Sequence[int],
    output_descs: Sequence[int],
    outputs: Sequence[int],
    attributes: Attributes,
) -> Request:
    """Return what handles of descriptions and data buffers ask for; raises `Refused` for what is none."""
    if dynamic_inputs:
        check_dynamic_inputs(op_type, input_descs)
    return (
        op_type,
        descs_at(input_descs),
        spans_at(inputs),
        descs_at(output_descs),
        spans_at(outputs),
        attributes.key,
    )


def descs_at(handles: Sequence[int]) -> Descs:
    """Return the descriptions of handles; raises `Refused` for what is none."""
    table = tensor_descs.objects
    try:
        return tuple([table[handle] for handle in handles])
    except KeyError:
        return tuple([tensor_descs.get(handle) for handle in handles])


def spans_at(handles: Sequence[int]) -> Spans:
    """Return the memory of data buffers; raises `Refused` for what is none."""
    table = data_buffers.objects
    try:
        return tuple([table[handle] for handle in handles])
    except KeyError:
        return tuple([data_buffers.get(handle) for handle in handles])
