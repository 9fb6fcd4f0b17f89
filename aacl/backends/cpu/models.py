"""Models on the CPU: ONNX Runtime sessions run straight on device memory.

A run binds its arrays once, by address; the call that `ModelEngine.bind`
returns is then one call into ONNX Runtime. The session keeps ONNX Runtime's own
thread settings: its short spin between runs makes small networks a third faster,
and an idle session sleeps.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, final
from weakref import WeakSet

from aacl.abc import Array, ModelEngine
from aacl.backends.cpu._graph import Graph
from aacl.dtypes import DataType
from aacl.errors import (
    ClosedResource,
    ModelDataError,
    ModelInputMismatch,
    ModelOutputMismatch,
    ModelRunError,
)

__all__ = ("CpuModelEngine", "load_model")

_SILENT = 4  # ONNX Runtime's severity "fatal": everything else comes as an exception

# ONNX element numbers by ONNX Runtime's type names.
_ELEMENTS: dict[str, tuple[int, DataType]] = {
    "tensor(float)": (1, DataType.FLOAT),
    "tensor(uint8)": (2, DataType.UINT8),
    "tensor(int8)": (3, DataType.INT8),
    "tensor(uint16)": (4, DataType.UINT16),
    "tensor(int16)": (5, DataType.INT16),
    "tensor(int32)": (6, DataType.INT32),
    "tensor(int64)": (7, DataType.INT64),
    "tensor(bool)": (9, DataType.BOOL),
    "tensor(float16)": (10, DataType.FLOAT16),
    "tensor(double)": (11, DataType.DOUBLE),
    "tensor(uint32)": (12, DataType.UINT32),
    "tensor(uint64)": (13, DataType.UINT64),
    "tensor(bfloat16)": (16, DataType.BF16),
    "tensor(float8e4m3fn)": (17, DataType.FLOAT8_E4M3FN),
    "tensor(float8e5m2)": (19, DataType.FLOAT8_E5M2),
}


def load_model(graph: bytes | memoryview) -> CpuModelEngine:
    """Make a model ready to run from the bytes of an ONNX model.

    Constants of 1 KiB and more are used where they lie in `graph`, which stays
    alive as long as the engine; ONNX Runtime copies those that it lays out anew.

    Raises:
        ModelDataError: the bytes are not a graph that ONNX Runtime loads.
    """
    return CpuModelEngine(graph)


@final
class CpuModelEngine(ModelEngine):
    """One ONNX Runtime session; runs of several bound calls may overlap."""

    def __init__(self, graph: bytes | memoryview) -> None:
        self._graph: Graph | None = Graph.split(memoryview(graph).cast("B"))
        self._session: Any = _session(self._graph)
        self._bound: WeakSet[_BoundRun] = WeakSet()
        self._inputs = [_Slot(node) for node in self._session.get_inputs()]
        self._outputs = [_Slot(node) for node in self._session.get_outputs()]
        _check_separate(self._inputs, self._outputs)

    def __repr__(self) -> str:
        state = "closed" if self._session is None else f"{len(self._bound)} bound runs"
        return f"<CpuModelEngine {len(self._inputs)} inputs, {len(self._outputs)} outputs, {state}>"

    def bind(self, inputs: Sequence[Array], outputs: Sequence[Array]) -> Callable[[], object]:
        """Return a call that runs the model straight on these arrays.

        Raises:
            ModelInputMismatch, ModelOutputMismatch: the count, or an array's shape, dtype or layout, does not fit.
            ClosedResource: the engine is closed.
        """
        if self._session is None:
            raise ClosedResource("the model is closed; load it again before binding arrays to it")
        _check(self._inputs, inputs, "input", ModelInputMismatch)
        _check(self._outputs, outputs, "output", ModelOutputMismatch)
        binding = self._session.io_binding()
        for slot, array in zip(self._inputs, inputs, strict=True):
            binding.bind_input(slot.name, "cpu", 0, slot.element, array.shape, array.ctypes.data)
        for slot, array in zip(self._outputs, outputs, strict=True):
            binding.bind_output(slot.name, "cpu", 0, slot.element, array.shape, array.ctypes.data)
        bound = _BoundRun(self._session, binding, (*inputs, *outputs))
        self._bound.add(bound)
        return bound

    def close(self) -> None:
        """Let go of the session; calls bound before then raise ClosedResource."""
        for bound in list(self._bound):
            bound.release()
        self._session = self._graph = None


class _BoundRun:
    """One set of arrays bound to a session; it keeps them alive."""

    __slots__ = ("__weakref__", "_arrays", "_binding", "_run")

    def __init__(self, session: Any, binding: Any, arrays: tuple[Array, ...]) -> None:
        self._run = session.run_with_iobinding
        self._binding = binding
        self._arrays = arrays

    def __call__(self) -> None:
        try:
            self._run(self._binding)
        except ClosedResource:
            raise
        except Exception as error:
            raise ModelRunError(f"the model failed while it ran: {error}") from error

    def release(self) -> None:
        """Let go of the session: a binding must not outlive it."""
        self._run, self._binding, self._arrays = _closed, None, ()


def _closed(_binding: object) -> None:
    raise ClosedResource("the model is closed; load it again before running it")


class _Slot:
    """One input or output, as the session describes it."""

    __slots__ = ("dtype", "element", "name", "shape")

    def __init__(self, node: Any) -> None:
        self.name: str = node.name
        try:
            self.element, data_type = _ELEMENTS[node.type]
        except KeyError:
            raise ModelDataError(
                f"{node.name!r} of the model is a {node.type}, which this device does not take; "
                f"it takes {', '.join(_ELEMENTS)}"
            ) from None
        self.dtype = data_type.numpy_dtype
        self.shape: tuple[int | None, ...] = tuple(dim if isinstance(dim, int) else None for dim in node.shape)

    def fits(self, array: Array) -> bool:
        return (
            array.dtype == self.dtype
            and len(array.shape) == len(self.shape)
            and all(want in (None, got) for want, got in zip(self.shape, array.shape, strict=True))
            and array.flags.c_contiguous
        )

    def describe(self) -> str:
        dims = ", ".join("?" if dim is None else str(dim) for dim in self.shape)
        return f"{self.dtype} of shape [{dims}], C-contiguous"


def _check_separate(inputs: Sequence[_Slot], outputs: Sequence[_Slot]) -> None:
    """Refuse an output that is an input: ONNX Runtime never writes it to the memory bound."""
    shared = {slot.name for slot in inputs}.intersection(slot.name for slot in outputs)
    if shared:
        names = ", ".join(map(repr, sorted(shared)))
        raise ModelDataError(f"{names} is an input and an output of the model; put an Identity between, as atc does")


def _check(
    slots: Sequence[_Slot],
    arrays: Sequence[Array],
    role: str,
    mismatch: type[ModelInputMismatch | ModelOutputMismatch],
) -> None:
    if len(slots) != len(arrays):
        raise mismatch(f"the model has {len(slots)} {role}s, and {len(arrays)} were given; give one array each")
    for index, (slot, array) in enumerate(zip(slots, arrays, strict=True)):
        if not slot.fits(array):
            layout = "" if array.flags.c_contiguous else ", not C-contiguous"
            raise mismatch(
                f"{role} {index} ({slot.name!r}) takes {slot.describe()}; "
                f"an array of {array.dtype} and shape {list(array.shape)}{layout} was given"
            )


def _session(graph: Graph) -> Any:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    # Runs inherit the session's severity: options of their own would cost 45 us a run, for a logger.
    options.log_severity_level = _SILENT
    names, values = list(graph.constants), list(graph.constants.values())
    if names:
        wrap = onnxruntime.OrtValue.ortvalue_from_numpy_with_onnx_type
        options.add_external_initializers(names, [wrap(array, element) for array, element in values])
    try:
        return onnxruntime.InferenceSession(graph.skeleton, options, providers=["CPUExecutionProvider"])
    except Exception as error:  # ONNX Runtime raises a dozen classes without a common base
        raise ModelDataError(f"ONNX Runtime cannot load the model: {error}") from error
