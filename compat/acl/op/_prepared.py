"""Requests, prepared once and run many times.

What a request comes to (the operator model that serves it, the plan, the memory
it is bound to) is found out once and kept by the request's structure: type,
descriptions, addresses and attributes, never handles. So a program that makes
and destroys its handles for every run finds it again as well. An entry is of no
use any more once memory that it is bound to was freed; it is then made anew.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeAlias

import aacl
from aacl.errors import ClosedResource, InvalidArgument, NotSupported
from acl._args_dump import args_dump
from acl._arguments import check_text
from acl._contexts import at_close
from acl._overflow import Overflow
from acl._state import at_finalize, state
from acl._tensor_descs import tensor_descs
from acl.op._library import Served, at_drop, find, use
from acl.op._operands import check, check_layout, described, fitted, on_host, operands, results, room
from acl.rt._exception import watch

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from acl._contexts import Context
    from acl._streams import Stream
    from acl.op._compiled import Signature
    from acl.op._operands import Descs, Spans

__all__ = ("Prepared", "Request", "Serve", "prepared", "run")

Request: TypeAlias = "tuple[str, Descs, Spans, Descs, Spans, tuple[Any, ...]]"
"""What is to be run on which memory, all of it by value: the type, descriptions and memory of the inputs, the same of
the outputs, and the key of the attributes. A plain tuple: one is made for every run."""

Serve: TypeAlias = "Callable[[str, Descs, Descs, Mapping[str, Any]], Served]"
"""Finds what serves a type with input and output descriptions and attributes; `find`, or a compiler."""

Spaces: TypeAlias = "tuple[tuple[aacl.TensorDesc, aacl.TensorDesc], ...]"

_KEPT_MOST = 4096  # prepared requests, and inferred shapes


class Prepared:
    """A request that is ready to run.

    Attributes:
        operation: the native one, bound to the request's memory.
        spaces: how each output was described and the largest that this stands for, where the run tells the exact
            shape of one; else None.
        is_ranged: whether values decide a shape, so that only the run tells it.
        signature: of the compiled operator model that serves it, else None.
        updates: positions of the inputs that the operator also writes.
    """

    __slots__ = ("is_ranged", "operation", "signature", "spaces", "updates")

    def __init__(
        self,
        operation: aacl.Operation,
        spaces: Spaces | None,
        is_ranged: bool,
        signature: Signature | None,
        updates: tuple[int, ...],
    ) -> None:
        self.operation, self.spaces = operation, spaces
        self.is_ranged, self.signature, self.updates = is_ranged, signature, updates


# Two generations stand for the order of use: what is found in the older one moves to the newer,
# and when that is full it becomes the older. A hit in the newer costs one look-up.
_newer: dict[Request, Prepared] = {}
_older: dict[Request, Prepared] = {}
_inferred: dict[tuple[Any, ...], Sequence[aacl.TensorDesc | None]] = {}


def run(request: Request, attributes: Mapping[str, Any], stream: Stream, handles: Sequence[int] = ()) -> None:
    """Submit a request that an operator model serves, prepared before or now.

    Args:
        request: what to run.
        attributes: by name.
        stream: where.
        handles: of the outputs' descriptions, which get the exact shape where the run tells it; none are left alone.
    """
    ready = _newer.get(request)
    if ready is None:
        ready = prepared(request, attributes, stream.context)
    submit(request, ready, attributes, stream, handles)


def submit(
    request: Request, ready: Prepared, attributes: Mapping[str, Any], stream: Stream, handles: Sequence[int] = ()
) -> aacl.Completion[Any]:
    """Submit a prepared request; it is prepared anew if its memory was freed."""
    if ready.signature is not None:
        use(ready.signature)
    if ready.updates and ready.operation.fault() is not None:
        # An earlier run failed: natively what it was to update has no contents then, here it stays memory.
        _newer.pop(request, None)
        ready = prepared(request, attributes, stream.context)
    if args_dump.is_on:
        args_dump.add_operator(request, attributes, stream)
    overflow = Overflow(stream, ready.operation.inputs) if stream.detects_overflow else None
    try:
        completion = stream.stream.execute(ready.operation)
    except ClosedResource:  # memory that it was bound to, as a rule: bind to what is there now
        _newer.pop(request, None)
        ready = prepared(request, attributes, stream.context)
        completion = stream.stream.execute(ready.operation)
    if overflow is not None:
        overflow.submitted(completion)
    if ready.spaces is not None and handles:
        _describe_when_over(completion, ready, tuple(handles), stream)
    watch(stream, completion)
    return completion


def prepared(request: Request, attributes: Mapping[str, Any], context: Context, serve: Serve | None = None) -> Prepared:
    """Return a request made ready, and keep it if it may be: not if it is bound to host memory."""
    ready = _newer.get(request) or _older.pop(request, None)
    if ready is None:
        ready, is_lasting = _prepare(request, attributes, context, serve or find)
        if not is_lasting:
            return ready
    if len(_newer) >= min(_KEPT_MOST, state.config.operator_models):
        _older.clear()
        _older.update(_newer)
        _newer.clear()
    _newer[request] = ready
    return ready


def _prepare(request: Request, attributes: Mapping[str, Any], context: Context, serve: Serve) -> tuple[Prepared, bool]:
    op_type, inputs, input_spans, outputs, output_spans, key = request
    _check_lists(request)
    spaces = tuple(
        [
            room(f"operator {op_type}: output {position}", desc, span[1])
            for position, (desc, span) in enumerate(zip(outputs, output_spans, strict=True))
        ]
    )
    served = serve(op_type, inputs, spaces, attributes)
    native_type = served.native_type or op_type
    for position, (space, span) in enumerate(zip(spaces, output_spans, strict=True)):
        check(f"operator {op_type}: output {position}", space, span[1])
    given, given_last = operands(op_type, inputs, input_spans, context)
    inferred = _infer(native_type, described(inputs, given), served.attributes, key, len(outputs))
    written = tuple(
        [
            fitted(f"operator {op_type}: output {position}", *each)
            for position, each in enumerate(zip(spaces, served.outputs, inferred, strict=True))
        ]
    )
    wanted, wanted_last = results(op_type, written, output_spans)
    operation = aacl.Operation(native_type, given, served.attributes, out=wanted)
    updates = operation.updates(context.device.device)
    if any(on_host(inputs[position]) for position in updates):
        given, given_last = operands(op_type, inputs, input_spans, context, updates)
        operation = aacl.Operation(native_type, given, served.attributes, out=wanted)
    is_ranged = any(desc is not None and not desc.is_static for desc in inferred)
    is_open = is_ranged or written != outputs
    pairs = tuple(zip(outputs, spaces, strict=True)) if is_open else None
    return Prepared(operation, pairs, is_ranged, served.signature, updates), given_last and wanted_last


def _check_lists(request: Request) -> None:
    op_type, inputs, input_spans, outputs, output_spans, _ = request
    check_text(op_type, 1)
    for what, descs, spans in (("input", inputs, input_spans), ("output", outputs, output_spans)):
        if len(descs) != len(spans):
            raise InvalidArgument(
                f"operator {op_type}: {len(descs)} {what} descriptions and {len(spans)} {what} buffers were given"
            )
        for position, desc in enumerate(descs):
            check_layout(f"operator {op_type}: {what} {position}", desc)


def _infer(
    op_type: str,
    known: Sequence[aacl.TensorDesc | None],
    attributes: Mapping[str, Any],
    key: tuple[Any, ...],
    count: int,
) -> Sequence[aacl.TensorDesc | None]:
    """Return what follows from the inputs of every output: None where nothing does, the number being another too."""
    signature = (op_type, key, *known)
    found = _inferred.get(signature)
    if found is None:
        try:
            found = aacl.ops.infer(op_type, known, attributes)
        except NotSupported:
            found = ()
        if len(_inferred) >= _KEPT_MOST:
            _inferred.clear()
        _inferred[signature] = found
    return found if len(found) == count else (None,) * count


def _describe_when_over(
    completion: aacl.Completion[Any], ready: Prepared, handles: tuple[int, ...], stream: Stream
) -> None:
    """Write the exact shapes into the descriptions before anybody can learn that the run is over."""

    def describe() -> None:
        if completion.failure is None:
            _describe(completion.outputs, ready.spaces or (), handles)

    if completion.done():
        describe()
    else:
        # Not a callback of the completion: that would come by the loop, if one runs here, which may be
        # blocked in the synchronise that has to come after it.
        stream.stream.call(describe)


def _describe(outputs: Sequence[aacl.Tensor], spaces: Spaces, handles: tuple[int, ...]) -> None:
    for handle, tensor, (given, space) in zip(handles, outputs, spaces, strict=True):
        old = tensor_descs.objects.get(handle)
        # A description that the program has destroyed or changed since is left alone.
        if old is None or old.shape == tensor.shape or not (old is given or _largest(old) == space.shape):
            continue
        # The ranges stay, so that the next run finds room for the largest again.
        ranges = [(0, most) for most in space.shape] if len(space.shape) == len(tensor.shape) else ()
        tensor_descs.objects[handle] = aacl.TensorDesc.of(
            space.dtype, tensor.shape, space.format, ranges=ranges, name=space.name
        )


def _largest(desc: aacl.TensorDesc) -> tuple[int, ...]:
    return tuple([most for _, most in desc.ranges]) or desc.shape


def _forget(signature: Signature) -> None:
    for kept in (_newer, _older):
        for request in [request for request, ready in [*kept.items()] if ready.signature == signature]:
            kept.pop(request, None)


def _clear() -> None:
    _newer.clear()
    _older.clear()
    _inferred.clear()


at_drop(_forget)
at_finalize(_clear)
at_close(_clear)
