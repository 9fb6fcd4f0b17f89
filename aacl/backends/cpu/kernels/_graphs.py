"""Kernels that are small ONNX Runtime graphs, run straight on the device's arrays.

A family writes its operator as a few ONNX nodes. The request's inputs are the tensors ``x0``, ``x1``,
... by position, its outputs ``y0``, ``y1``, ...; other names are its own:

    nodes = [node("Conv", "x0 x1 x2", "y0", strides=(2, 2), pads=(1, 1, 1, 1))]
    return prepared(request, graph_body(request, nodes, work), work)

Half precision computes in float32 and is rounded once: the graph converts it where it comes in and
goes out. Nothing is copied; a body binds addresses anew only where they differ from the last run's.
"""

from __future__ import annotations

import functools
from collections import deque
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from aacl.backends.cpu._foreign import enter, foreign, leave, outliving_forks
from aacl.backends.cpu._settings import core_count
from aacl.backends.cpu.kernels._onnx import Constant, Node, Port, model_bytes
from aacl.backends.cpu.kernels._registry import elements
from aacl.dtypes import DataType
from aacl.errors import InvalidArgument, KernelError, UnsupportedDataType

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from aacl.abc import Array, KernelRequest, TensorInfo
    from aacl.backends.cpu.kernels._registry import Body

__all__ = ("Node", "graph_body", "node")

# ONNX's numbers of the dtypes that graphs compute with.
_ELEMENTS = {
    DataType.FLOAT: 1,
    DataType.UINT8: 2,
    DataType.INT8: 3,
    DataType.UINT16: 4,
    DataType.INT16: 5,
    DataType.INT32: 6,
    DataType.INT64: 7,
    DataType.BOOL: 9,
    DataType.FLOAT16: 10,
    DataType.DOUBLE: 11,
    DataType.UINT32: 12,
    DataType.UINT64: 13,
    DataType.BF16: 16,
}
_FLOAT = 1
_HALVES = frozenset({10, 16})

_OPSET = 17
_SILENT = 4  # ONNX Runtime's severity "fatal": everything else comes as an exception

# From this many operations on, more than one thread pays; ONNX Runtime makes no threads below.
_MANY = 1 << 18

_SESSIONS = 256
"""Sessions kept for later requests: 30 KB each, and threads that sleep where the work is large."""

_SMALL = 4096
"""Bytes of constants up to which a session is kept."""

_BINDINGS = 4
"""Sets of bound addresses a body keeps: as many runs of it as are likely to overlap."""


def node(op_type: str, inputs: str, outputs: str, domain: str = "", **attributes: Any) -> Node:
    """Return a node of opset 17.

    Args:
        op_type: ONNX's name.
        inputs: names of tensors, spaces between; ``-`` stands for an absent one.
        outputs: likewise.
        domain: of the operator, where it is not ONNX's own.
        attributes: by ONNX's names; those that are None are left out.
    """
    kept = tuple((name, value) for name, value in sorted(attributes.items()) if value is not None)
    return Node(op_type, _names(inputs), _names(outputs), kept, domain)


def graph_body(
    request: KernelRequest,
    nodes: Sequence[Node],
    operations: int = 0,
    *,
    shapes: Mapping[str, tuple[int, ...]] | None = None,
    constants: Mapping[str, Array] | None = None,
) -> Body:
    """Return a body that runs ONNX nodes on the arrays of a request.

    Inputs that no node names are not read. Where an output has no elements, nothing runs.

    Args:
        request: the request to prepare.
        nodes: in an order in which they can run; they fill every output.
        operations: of one run; where there are many, all cores of the device share them.
        shapes: of inputs and outputs that the nodes see in another shape, with the same elements in the
            same order.
        constants: small tensors of the graph's own, such as axes and scales.

    Raises:
        InvalidArgument: ONNX Runtime refuses the graph: its attributes and shapes do not fit each other.
        UnsupportedDataType: it has a dtype that ONNX has not.
    """
    if not all(map(elements, request.outputs)):
        return _nothing
    used, seen = {name for each in nodes for name in each.inputs}, shapes or {}
    sources = [(place, f"x{place}", info) for place, info in enumerate(request.inputs)]
    targets = [(len(sources) + place, f"y{place}", info) for place, info in enumerate(request.outputs)]
    inputs = {place: _port(name, info, seen.get(name)) for place, name, info in sources if info and name in used}
    outputs = {place: _port(name, info, seen.get(name)) for place, name, info in targets}
    frozen = tuple(_constant(name, value) for name, value in (constants or {}).items())
    threads = core_count() if operations >= _MANY else 1
    graph = _Graph(tuple(nodes), tuple(inputs.values()), tuple(outputs.values()), frozen, threads)
    try:
        session = _session_of(graph)
    except Exception as error:  # ONNX Runtime raises a dozen classes without a common base
        raise InvalidArgument(f"operator {request.op_type}: attributes and shapes do not fit: {error}") from error
    return _runner(request.op_type, session, graph, (*inputs, *outputs))


def _names(text: str) -> tuple[str, ...]:
    return tuple("" if name == "-" else name for name in text.split())


def _nothing(*_arrays: Array | None) -> None:
    """There is nothing to write."""


class _Graph(NamedTuple):
    """Everything that decides a session."""

    nodes: tuple[Node, ...]
    inputs: tuple[Port, ...]
    outputs: tuple[Port, ...]
    constants: tuple[Constant, ...]
    threads: int


def _port(name: str, info: TensorInfo, shape: tuple[int, ...] | None) -> Port:
    if info.dtype not in _ELEMENTS:
        raise UnsupportedDataType(f"{info.dtype.name} is no data type of graphs on the cpu device")
    return Port(name, _ELEMENTS[info.dtype], tuple(info.shape if shape is None else shape))


def _constant(name: str, value: Array) -> Constant:
    array = np.asarray(value)
    return Constant(name, _ELEMENTS[DataType.of(array.dtype)], array.shape, array.tobytes())


def _session_of(graph: _Graph) -> Any:
    """Return a session; those with large constants are not kept for other requests."""
    is_small = sum(len(constant.data) for constant in graph.constants) <= _SMALL
    with foreign():
        return outliving_forks(_session(graph) if is_small else _session.__wrapped__(graph))


@functools.lru_cache(maxsize=_SESSIONS)
def _session(graph: _Graph) -> Any:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.log_severity_level = _SILENT
    options.intra_op_num_threads = graph.threads
    # Threads that spin while they have nothing to do would take the cores from other sessions and from the loop.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    return onnxruntime.InferenceSession(_model(graph), options, providers=["CPUExecutionProvider"])


def _model(graph: _Graph) -> bytes:
    """Return the graph as ONNX bytes, with conversions around half precision."""
    ports = (*graph.inputs, *graph.outputs)
    wide = {port.name: f"{port.name}.wide" for port in ports if port.element in _HALVES}
    before = [node("Cast", port.name, wide[port.name], to=_FLOAT) for port in graph.inputs if port.name in wide]
    after = [node("Cast", wide[port.name], port.name, to=port.element) for port in graph.outputs if port.name in wide]
    inner = [
        each._replace(
            inputs=tuple(wide.get(name, name) for name in each.inputs),
            outputs=tuple(wide.get(name, name) for name in each.outputs),
        )
        for each in graph.nodes
    ]
    opsets = {"": _OPSET} | {each.domain: 1 for each in graph.nodes if each.domain}
    return model_bytes([*before, *inner, *after], graph.inputs, graph.outputs, graph.constants, opsets)


def _runner(op_type: str, session: Any, graph: _Graph, places: tuple[int, ...]) -> Body:
    """Return the body, whose arrays at some places are the graph's; runs may overlap, each with its own binding."""
    ports, count = (*graph.inputs, *graph.outputs), len(graph.inputs)
    run, spare = session.run_with_iobinding, deque[tuple[Any, list[int]]](maxlen=_BINDINGS)

    def body(*arrays: Array) -> None:
        used = [arrays[place] for place in places]
        if not all(array.flags.c_contiguous for array in used):
            _run_dense(body, arrays, count, places)
            return
        addresses = [array.ctypes.data for array in used]
        try:
            binding, bound = spare.pop()
        except IndexError:
            binding, bound = session.io_binding(), [0] * len(ports)
        if bound != addresses:
            _bind(binding, ports, count, addresses, bound)
        try:
            enter(binding)
            run(binding)
        except Exception as error:
            raise KernelError(f"operator {op_type} failed while it ran: {error}") from error
        finally:
            leave(binding)
        spare.append((binding, addresses))

    return body


def _bind(binding: Any, ports: Sequence[Port], count: int, addresses: Sequence[int], bound: Sequence[int]) -> None:
    """Bind addresses where they differ from those that are bound."""
    for index, (port, address, before) in enumerate(zip(ports, addresses, bound, strict=True)):
        if address != before:
            bind = binding.bind_input if index < count else binding.bind_output
            bind(port.name, "cpu", 0, port.element, port.shape, address)


def _run_dense(body: Body, arrays: Sequence[Array], count: int, places: Sequence[int]) -> None:
    """Run on C-contiguous copies of arrays that are not."""
    dense = [array if array is None or array.flags.c_contiguous else array.copy() for array in arrays]
    body(*dense)
    for place in places[count:]:
        if dense[place] is not arrays[place]:
            np.copyto(arrays[place], dense[place])
