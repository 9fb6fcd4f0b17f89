"""Operators without operator models: compiled when they are asked for.

Additions to pyACL, which has no such calls, under the names of the C interface
(``aclopCompile``, ``aclopCompileAndExecute``, ``aclopCompileAndExecuteV2``) and
by its documentation. To compile is to check the request against the operator's
prototype and to keep it as an operator model, which the other calls then find.
"""

from __future__ import annotations

from operator import index
from typing import TYPE_CHECKING, Any

import aacl
from aacl.errors import InvalidArgument, NotSupported, OperatorNotFound
from acl._arguments import check_text
from acl._devices import current, stream_at
from acl._products import require_feature
from acl._status import API_NOT_SUPPORTED, code_alone
from acl._streams import refuse_in_callback
from acl._threads import settle
from acl.op._attributes import attributes_at
from acl.op._execute import descs_at, request_of
from acl.op._library import add_compiled, known_compiled
from acl.op._prepared import prepared, submit

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from acl._contexts import Context
    from acl._streams import Stream
    from acl.op._library import Served
    from acl.op._operands import Descs

__all__ = ("compile", "compile_and_execute", "compile_and_execute_v2")

_ENGINES = 3  # ACL_ENGINE_SYS, ACL_ENGINE_AICORE, ACL_ENGINE_VECTOR
_REGISTERED, _UNREGISTERED = 0, 1  # ACL_COMPILE_SYS, ACL_COMPILE_UNREGISTERED


@code_alone
def compile(
    op_type: str,
    input_descs: Sequence[int],
    output_descs: Sequence[int],
    attr: int,
    engine_type: int,
    compile_flag: int,
    op_path: str | None,
    /,
) -> int:
    """Make the operator model of a request, for ``execute_v2``, handles and the other calls to find.

    Args:
        op_type: a type of the catalogue, such as ``"Add"``.
        input_descs: a description for each input; data type and format -1 for an absent optional one, a constant with
            ``set_tensor_const``; -1 dims make a model for every size.
        output_descs: a description for each output.
        attr: the attributes; 0 for none.
        engine_type: 0 lets the runtime choose, 1 AI core, 2 vector core; the software device has one engine.
        compile_flag: 0 for an operator of the catalogue.
        op_path: None or "" with that.

    Returns:
        0; 100024 for an operator that is unknown, or that the device has no kernel for; 100000 for attributes, inputs
        or outputs that do not fit the operator or each other; 100026 for a data type that it does not take; 200006
        with compile_flag 1: the device builds no operator from the vendor's sources; 200001 on a product that cannot
        compile, with ``AACL_STRICT=1``; 107002 without a context.
    """
    context = current()
    _check_ways(context, op_type, engine_type, compile_flag, op_path)
    attributes = attributes_at(attr)
    _compiled(op_type, descs_at(input_descs), descs_at(output_descs), attributes.values)
    return 0


@code_alone
def compile_and_execute(
    op_type: str,
    input_descs: Sequence[int],
    inputs: Sequence[int],
    output_descs: Sequence[int],
    outputs: Sequence[int],
    attr: int,
    engine_type: int,
    compile_flag: int,
    op_path: str | None,
    stream: int,
    /,
) -> int:
    """Compile an operator, or find it compiled, and submit it to a stream.

    It returns at once where the outputs' shapes follow from the inputs; where values decide them it waits for the
    run. The descriptions of outputs are left alone; `compile_and_execute_v2` writes into them.

    Args:
        op_type: a type of the catalogue, such as ``"Add"``.
        input_descs: as for `compile`.
        inputs: a data buffer for each; (0, 0) for an absent input or a constant; memory of the host for an input with
            ``set_tensor_place_ment`` 1, which is copied to the device now.
        output_descs: a description for each output, with its shape, or the largest where values decide it.
        outputs: a data buffer for each.
        attr: the attributes; 0 for none.
        engine_type: as for `compile`.
        compile_flag: as for `compile`.
        op_path: as for `compile`.
        stream: 0 stands for the default one.

    Returns:
        0; codes as for `compile` and ``execute_v2``. Where it waits, also the code of the run's failure.
    """
    target = stream_at(stream)
    _check_ways(target.context, op_type, engine_type, compile_flag, op_path)
    return _run(op_type, input_descs, inputs, output_descs, outputs, attr, target, writes=False)


@code_alone
def compile_and_execute_v2(
    op_type: str,
    input_descs: Sequence[int],
    inputs: Sequence[int],
    output_descs: Sequence[int],
    outputs: Sequence[int],
    attr: int,
    engine_type: int,
    compile_flag: int,
    op_path: str | None,
    stream: int,
    /,
) -> int:
    """Do what `compile_and_execute` does, and write the exact shapes into the descriptions of the outputs.

    So an output may be described larger than it is.

    Args:
        op_type: as for `compile_and_execute`, and so the others.
        input_descs: descriptions of the inputs.
        inputs: their data buffers.
        output_descs: descriptions of the outputs, which are written.
        outputs: their data buffers.
        attr: the attributes; 0 for none.
        engine_type: as for `compile`.
        compile_flag: as for `compile`.
        op_path: as for `compile`.
        stream: 0 stands for the default one.

    Returns:
        As `compile_and_execute`.
    """
    target = stream_at(stream)
    _check_ways(target.context, op_type, engine_type, compile_flag, op_path)
    return _run(op_type, input_descs, inputs, output_descs, outputs, attr, target, writes=True)


def _check_ways(context: Context, op_type: str, engine_type: int, compile_flag: int, op_path: str | None) -> None:
    check_text(op_type, 1)
    engine, flag = index(engine_type), index(compile_flag)
    if op_path is not None and not isinstance(op_path, str):
        raise TypeError(f"op_path must be str or None, not {type(op_path).__name__}")
    require_feature(
        context, aacl.products.Feature.COMPILE_AND_EXECUTE, f"compiling operator {op_type}", API_NOT_SUPPORTED
    )
    if not 0 <= engine < _ENGINES:
        raise InvalidArgument(f"operator {op_type}: engine type {engine} is not 0, 1 or 2")
    if flag == _UNREGISTERED and op_path:
        raise NotSupported(
            f"operator {op_type}: the software device does not build operators from sources, such as {op_path!r}; "
            "register a kernel of your own with acl.op.register_compile_func"
        )
    if flag != _REGISTERED:
        raise InvalidArgument(
            f"operator {op_type}: compile flag {flag} is not 0, for an operator of the catalogue"
            + (", or needs the path of the operator's sources" if flag == _UNREGISTERED else "")
        )


def _run(
    op_type: str,
    input_descs: Sequence[int],
    inputs: Sequence[int],
    output_descs: Sequence[int],
    outputs: Sequence[int],
    attr: int,
    stream: Stream,
    *,
    writes: bool,
) -> int:
    attributes = attributes_at(attr)
    request = request_of(op_type, input_descs, inputs, output_descs, outputs, attributes)
    serve = _compiled_open if writes else _compiled
    ready = prepared(request, attributes.values, stream.context, serve)
    if not writes and ready.spaces is not None and not ready.is_ranged:
        # Made ready by a call that takes larger descriptions: this one does not, and says so.
        _compiled(op_type, request[1], request[3], attributes.values)
    if ready.is_ranged:
        refuse_in_callback(
            f"wait for operator {op_type}, whose output shape values decide", lambda other, _: other is stream
        )
    completion = submit(request, ready, attributes.values, stream, output_descs if writes else ())
    if ready.is_ranged:
        settle(completion)
        completion.result()
    return 0


def _compiled_open(op_type: str, inputs: Descs, outputs: Descs, given: Mapping[str, Any]) -> Served:
    """Return what serves a request whatever shape its outputs are described with."""
    free = tuple([aacl.TensorDesc.of(desc.dtype, aacl.UNKNOWN_RANK, desc.format) for desc in outputs])
    return _compiled(op_type, inputs, free, given)


def _compiled(op_type: str, inputs: Descs, outputs: Descs, given: Mapping[str, Any]) -> Served:
    """Return what serves a request, compiled before or now, its outputs as they are described."""
    schema = aacl.ops.schema_of(op_type)
    slots = tuple([None if desc.dtype is aacl.DataType.UNDEFINED else _unnamed(desc) for desc in inputs])
    attributes = schema.complete(given, len(slots))
    plain = tuple(map(_unnamed, outputs))
    known = known_compiled(op_type, slots, plain, attributes)
    if known is not None:
        return known
    schema.check_inputs(slots)
    schema.check_outputs(outputs)
    try:
        inferred = aacl.ops.infer(op_type, slots, attributes)
    except NotSupported as error:  # known by name only
        raise OperatorNotFound(str(error)) from None
    _check_shapes(op_type, plain, inferred)
    return add_compiled(aacl.models.OperatorModel(_name(op_type, slots), op_type, slots, plain, attributes))


def _unnamed(desc: aacl.TensorDesc) -> aacl.TensorDesc:
    """Return what a kernel is chosen by: a description without name and placement, and ranges only of free dims."""
    ranges = () if desc.is_static else desc.ranges
    return aacl.TensorDesc.of(desc.dtype, desc.shape, desc.format, ranges=ranges, value=desc.value)


def _name(op_type: str, inputs: Sequence[aacl.TensorDesc | None]) -> str:
    parts = ["absent" if desc is None else f"{desc.dtype.name.lower()}{list(desc.shape)}" for desc in inputs]
    return f"{op_type}({', '.join(parts)})"


def _check_shapes(op_type: str, outputs: Descs, inferred: Sequence[aacl.TensorDesc]) -> None:
    """Check what outputs are described as against what follows from the inputs.

    Raises:
        InvalidArgument: they differ; where values decide, a larger description is good too.
    """
    if len(outputs) != len(inferred):
        raise InvalidArgument(f"operator {op_type} has {len(inferred)} outputs; {len(outputs)} were described")
    for position, (stated, found) in enumerate(zip(outputs, inferred, strict=True)):
        if stated.dtype is not found.dtype:
            raise InvalidArgument(
                f"operator {op_type}: output {position} is {found.dtype.name}; it is described as {stated.dtype.name}"
            )
        if aacl.UNKNOWN_RANK in (stated.shape, found.shape) or not found.is_static:
            continue
        if len(stated.shape) != len(found.shape) or any(
            -1 not in pair and pair[0] != pair[1] for pair in zip(stated.shape, found.shape, strict=True)
        ):
            raise InvalidArgument(
                f"operator {op_type}: output {position} has shape {list(found.shape)}; it is described as "
                f"{list(stated.shape)}"
            )
