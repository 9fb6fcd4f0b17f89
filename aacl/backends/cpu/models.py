"""Models on the CPU: ONNX Runtime sessions run straight on device memory.

A run binds its arrays once, by address; the call that `ModelEngine.bind`
returns is then one call into ONNX Runtime. From host arrays to new host arrays
a session runs without any copy.

Every session keeps ONNX Runtime's own thread settings. Its threads, one a core, spin
for some 40 ms behind a run: small networks are a third faster for it, and shorter spins,
which would leave the cores to the next model of a chain, cost milliseconds now and
then, when a woken thread is put on the core of the one that waits for it. One pool for
all sessions, which ONNX Runtime has too, would make every other session of the
process fail to load.

A small model that has several runs on host arrays waiting gets a second session, whose
runs take one core each: many at a time, they get more done than one after the other
on all cores.
"""

from __future__ import annotations

import math
import os
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any, final
from weakref import WeakSet

import numpy as np

from aacl.abc import Array, ModelEngine
from aacl.backends.cpu._foreign import enter, foreign, leave, outliving_forks
from aacl.backends.cpu._graph import Graph
from aacl.backends.cpu._settings import core_count
from aacl.dtypes import DataType
from aacl.errors import (
    ClosedResource,
    ModelDataError,
    ModelInputMismatch,
    ModelOutputMismatch,
    ModelRunError,
)

__all__ = (
    "CpuModelEngine",
    "Slot",
    "array_of",
    "bind_arrays",
    "load_model",
    "open_session",
    "output_shapes",
    "take_apart",
)

_LARGE = 1 << 22  # bytes of a graph below which taking it apart costs more than copying it
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
_FOREIGN = frozenset({16, 17, 19})  # elements that ONNX Runtime does not take from NumPy, or give to it


def load_model(graph: bytes | memoryview) -> CpuModelEngine:
    """Make a model ready to run from the bytes of an ONNX model.

    In a graph that is not small, constants of 1 KiB and more are used where they lie, and `graph` stays
    alive as long as the engine; ONNX Runtime copies those that it lays out anew.

    Raises:
        ModelDataError: the bytes are not a graph that ONNX Runtime loads.
    """
    return CpuModelEngine(graph)


@final
class CpuModelEngine(ModelEngine):
    """One ONNX Runtime session; runs of several bound calls may overlap."""

    def __init__(self, graph: bytes | memoryview) -> None:
        self._graph: Graph | None = take_apart(graph)
        self._session: Any = open_session(self._graph)
        self._narrow: Any = None
        self._lock = threading.Lock()
        self._bound: WeakSet[_BoundRun] = WeakSet()
        self._inputs = [Slot(node) for node in self._session.get_inputs()]
        self._outputs = [Slot(node) for node in self._session.get_outputs()]
        _check_separate(self._inputs, self._outputs)
        self._is_plain = _FOREIGN.isdisjoint(slot.element for slot in (*self._inputs, *self._outputs))
        self._names = [slot.name for slot in self._inputs], [slot.name for slot in self._outputs]

    def __repr__(self) -> str:
        state = "closed" if self._session is None else f"{len(self._bound)} bound runs"
        return f"<CpuModelEngine {len(self._inputs)} inputs, {len(self._outputs)} outputs, {state}>"

    def shapes(self, inputs: Sequence[tuple[int, ...]]) -> tuple[tuple[int, ...] | None, ...]:
        """Return the outputs' shapes as far as the names of the model's free dims tell them."""
        return output_shapes(self._inputs, inputs, self._outputs)

    def bind(self, inputs: Sequence[Array], outputs: Sequence[Array | None]) -> Callable[[], Sequence[Array]]:
        """Return a call that runs the model straight on these arrays.

        Raises:
            ModelInputMismatch, ModelOutputMismatch: the count, or an array's shape, dtype or layout, does not fit.
            ClosedResource: the engine is closed.
        """
        if self._session is None:
            raise ClosedResource("the model is closed; load it again before binding arrays to it")
        binding, made = bind_arrays(self._session, self._inputs, inputs, self._outputs, outputs)
        bound = _BoundRun(self._session, binding, (*inputs, *outputs), made)
        self._bound.add(bound)
        return bound

    def on_hosts(self, inputs: Sequence[Array], *, beside: bool = False) -> Callable[[], Sequence[Array]] | None:
        """Return a call of the session; what it gives lies in memory of ONNX Runtime's, which is used again and again."""
        session = self._narrow_session() if beside else self._session
        if session is None or not self._is_plain:
            return None
        takes, gives = self._names
        return _HostRun(session.run, dict(zip(takes, inputs, strict=True)), gives)

    @property
    def overlaps(self) -> bool:
        """Whether the graph is so small that a second session of it, whose runs take one core each, costs little."""
        graph = self._graph
        return graph is not None and self._is_plain and not graph.constants and core_count() > 1

    def _narrow_session(self) -> Any:
        """Return the session whose runs take one core each, made at the first use."""
        with self._lock:
            if self._narrow is None and self._session is not None and self._graph is not None:
                self._narrow = open_session(self._graph, threads=1)
            return self._narrow

    def close(self) -> None:
        """Let go of the session; calls bound before then raise ClosedResource."""
        for bound in list(self._bound):
            bound.release()
        with self._lock:
            self._session = self._narrow = self._graph = None


def output_shapes(
    takes: Sequence[Slot], inputs: Sequence[tuple[int, ...]], gives: Sequence[Slot]
) -> tuple[tuple[int, ...] | None, ...]:
    """Return the shapes of outputs as far as the names of free dims tell them, for inputs of these shapes."""
    sizes: dict[str, int] = {}
    doubtful: set[str] = set()  # names that stand for two sizes at once: their model is careless, but may run
    for slot, shape in zip(takes, inputs, strict=True):
        for dim, size in zip(slot.dims, shape, strict=False):
            if isinstance(dim, str) and sizes.setdefault(dim, size) != size:
                doubtful.add(dim)
    for name in doubtful:
        del sizes[name]
    return tuple([slot.resolved(sizes) for slot in gives])


def bind_arrays(
    session: Any,
    takes: Sequence[Slot],
    inputs: Sequence[Array],
    gives: Sequence[Slot],
    outputs: Sequence[Array | None],
) -> tuple[Any, tuple[tuple[int, Slot], ...]]:
    """Tie a session to arrays; return the binding, and by position the outputs that ONNX Runtime is to allocate.

    Raises:
        ModelInputMismatch, ModelOutputMismatch: the count, or an array's shape, dtype or layout, does not fit.
    """
    _check(takes, inputs, "input", ModelInputMismatch)
    _check(gives, outputs, "output", ModelOutputMismatch)
    binding = session.io_binding()
    for slot, array in zip(takes, inputs, strict=True):
        binding.bind_input(slot.name, "cpu", 0, slot.element, array.shape, array.ctypes.data)
    made = []
    for position, (slot, target) in enumerate(zip(gives, outputs, strict=True)):
        if target is None:
            made.append((position, slot))
            binding.bind_output(slot.name, "cpu")
        else:
            binding.bind_output(slot.name, "cpu", 0, slot.element, target.shape, target.ctypes.data)
    return binding, tuple(made)


class _HostRun:
    """One run from host arrays."""

    __slots__ = ("_arrays", "_names", "_run")

    def __init__(self, run: Callable[..., Sequence[Array]], arrays: Mapping[str, Array], names: Sequence[str]) -> None:
        self._run, self._arrays, self._names = run, arrays, names

    def __call__(self) -> Sequence[Array]:
        try:
            enter(self)
            return self._run(self._names, self._arrays)
        except Exception as error:
            raise ModelRunError(f"the model failed while it ran: {error}") from error
        finally:
            leave(self)


class _BoundRun:
    """One set of arrays bound to a session; it keeps them alive."""

    __slots__ = ("__weakref__", "_arrays", "_binding", "_made", "_run")

    def __init__(
        self, session: Any, binding: Any, arrays: tuple[Array | None, ...], made: tuple[tuple[int, Slot], ...]
    ) -> None:
        """Hold what was bound; ``made`` are the outputs that ONNX Runtime is to allocate, by position."""
        self._run = session.run_with_iobinding
        self._binding = binding
        self._arrays, self._made = arrays, made

    def __call__(self) -> Sequence[Array]:
        try:
            enter(self)
            self._run(self._binding)
            return self._take() if self._made else ()
        except ClosedResource:
            raise
        except Exception as error:
            raise ModelRunError(f"the model failed while it ran: {error}") from error
        finally:
            leave(self)

    def _take(self) -> list[Array]:
        """Take over what the run allocated; left in the binding, it would be what the next run must fit."""
        values = self._binding.get_outputs()
        taken = []
        for position, slot in self._made:
            taken.append(array_of(values[position], slot.dtype))
            self._binding.bind_output(slot.name, "cpu")
        return taken

    def release(self) -> None:
        """Let go of the session: a binding must not outlive it."""
        self._run, self._binding, self._arrays = _closed, None, ()


class _Memory:
    """The elements of a value of ONNX Runtime's, for `numpy.asarray`; it keeps the value."""

    __slots__ = ("__array_interface__", "_value")

    def __init__(self, value: Any, nbytes: int) -> None:
        self._value = value
        self.__array_interface__ = {
            "version": 3, "shape": (nbytes,), "typestr": "|u1", "data": (value.data_ptr(), False)
        }  # fmt: skip


def array_of(value: Any, dtype: np.dtype[Any]) -> Array:
    """Return a value's elements in place; ``OrtValue.numpy`` would copy them, and knows fewer data types."""
    shape = tuple(value.shape())
    nbytes = math.prod(shape) * dtype.itemsize
    if not nbytes:
        return np.empty(shape, dtype)
    return np.asarray(_Memory(value, nbytes)).view(dtype).reshape(shape)


def _closed(_binding: object) -> None:
    raise ClosedResource("the model is closed; load it again before running it")


class Slot:
    """One input or output, as the session describes it."""

    __slots__ = ("dims", "dtype", "element", "name", "shape")

    def __init__(self, node: Any) -> None:
        try:
            self.name: str = node.name
            self.dims: tuple[int | str | None, ...] = tuple(node.shape)  # a free dim's name, None without one
        except UnicodeDecodeError as error:
            raise ModelDataError(f"a name in the model is no UTF-8 text ({error}); convert it again") from error
        try:
            self.element, data_type = _ELEMENTS[node.type]
        except KeyError:
            raise ModelDataError(
                f"{node.name!r} of the model is a {node.type}, which this device does not take; "
                f"it takes {', '.join(_ELEMENTS)}"
            ) from None
        self.dtype = data_type.numpy_dtype
        self.shape: tuple[int | None, ...] = tuple(dim if isinstance(dim, int) else None for dim in self.dims)

    def resolved(self, sizes: Mapping[str, int]) -> tuple[int, ...] | None:
        """Return the shape with free dims of these sizes, None if one is not among them."""
        found = [sizes.get(dim) if isinstance(dim, str) else dim for dim in self.dims]
        return None if None in found else tuple([dim for dim in found if dim is not None])

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


def _check_separate(inputs: Sequence[Slot], outputs: Sequence[Slot]) -> None:
    """Refuse an output that is an input: ONNX Runtime never writes it to the memory bound."""
    shared = {slot.name for slot in inputs}.intersection(slot.name for slot in outputs)
    if shared:
        names = ", ".join(map(repr, sorted(shared)))
        raise ModelDataError(f"{names} is an input and an output of the model; put an Identity between, as atc does")


def _check(
    slots: Sequence[Slot],
    arrays: Sequence[Array | None],
    role: str,
    mismatch: type[ModelInputMismatch | ModelOutputMismatch],
) -> None:
    if len(slots) != len(arrays):
        raise mismatch(f"the model has {len(slots)} {role}s, and {len(arrays)} were given; give one array each")
    for index, (slot, array) in enumerate(zip(slots, arrays, strict=True)):
        if array is not None and not slot.fits(array):
            layout = "" if array.flags.c_contiguous else ", not C-contiguous"
            raise mismatch(
                f"{role} {index} ({slot.name!r}) takes {slot.describe()}; "
                f"an array of {array.dtype} and shape {list(array.shape)}{layout} was given"
            )


def take_apart(graph: bytes | memoryview) -> Graph:
    """Return a graph's bytes with large constants beside them, where that pays."""
    whole = memoryview(graph).cast("B")
    return Graph.split(whole) if len(whole) >= _LARGE else Graph(bytes(whole), {})


def open_session(graph: Graph, profile: str = "", threads: int = 0) -> Any:
    """Return an ONNX Runtime session.

    Args:
        graph: the model.
        profile: where it writes its profile, once that is ended: a path without the end of the file's name.
        threads: how many a run takes, by default one a core.

    Raises:
        ModelDataError: ONNX Runtime does not load it.
    """
    with foreign():
        return outliving_forks(_session(graph, profile, threads))


def _session(graph: Graph, profile: str, threads: int) -> Any:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    if profile:
        options.enable_profiling, options.profile_file_prefix = True, profile
    # Runs inherit the session's severity: options of their own would cost 45 us a run, for a logger.
    options.log_severity_level = _SILENT
    # A graph that names files for its data has them nowhere: a model is one file, and no other is read.
    options.add_session_config_entry("session.model_external_initializers_file_folder_path", os.devnull)
    names, values = list(graph.constants), list(graph.constants.values())
    if names:
        wrap = onnxruntime.OrtValue.ortvalue_from_numpy_with_onnx_type
        options.add_external_initializers(names, [wrap(array, element) for array, element in values])
    try:
        return onnxruntime.InferenceSession(
            graph.skeleton, options, providers=["CPUExecutionProvider"], enable_fallback=0
        )  # the fallback would print, and try the same once more
    except Exception as error:  # ONNX Runtime raises a dozen classes without a common base
        raise ModelDataError(f"ONNX Runtime cannot load the model: {error}") from error
