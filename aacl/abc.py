"""The backend contract: what a device must be able to do, and nothing else.

A backend is a module ``aacl.backends.<name>`` with one object named
``backend``. The rooms above hold the order of work, its errors and its memory
plan; a backend holds bytes, runs kernels and models, and lends threads to run
on. Everything here may be called from any thread.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import numpy as np
    import numpy.typing as npt

    from aacl.dtypes import DataType, Format

__all__ = (
    "Array",
    "Backend",
    "DeviceBackend",
    "DeviceProperties",
    "Kernel",
    "KernelRequest",
    "ModelEngine",
    "NodeTime",
    "NodeValue",
    "ObservedModel",
    "Pages",
    "TensorInfo",
    "one_by_one",
)

# numpy.typing takes longer to import than the rest of this package: only checkers do.
Array: TypeAlias = "npt.NDArray[Any]"


class TensorInfo(Protocol):
    """What a kernel is told of one tensor."""

    @property
    def dtype(self) -> DataType: ...
    @property
    def shape(self) -> tuple[int, ...]: ...
    @property
    def format(self) -> Format: ...
    @property
    def value(self) -> Array | None:
        """The tensor's contents where they are known before the run, else None."""


def one_by_one(run: Callable[[int], object], count: int) -> None:
    """Call ``run(0)`` to ``run(count - 1)`` on this thread: `DeviceBackend.parallel` of a device with one core."""
    for number in range(count):
        run(number)


class KernelRequest(NamedTuple):
    """One operator with everything that is fixed before its first run."""

    op_type: str
    inputs: tuple[TensorInfo | None, ...]
    """In the schema's order, dynamic inputs spread out, an absent optional input None."""
    outputs: tuple[TensorInfo, ...]
    attributes: Mapping[str, Any]
    """Every attribute of the schema, defaults filled in."""
    parallel: Callable[[Callable[[int], object], int], None] = one_by_one
    """`DeviceBackend.parallel` of the device that is to run it."""


class Kernel(NamedTuple):
    """Code that runs one request, and the work that it is."""

    body: Callable[..., object]
    """Called with one array an input (None where absent), then one an output, all positional;
    reads the inputs, writes none but `updates`, and fills the outputs, which overlap no input, except as `in_place`
    allows.
    Its return value is ignored, except as `returns_shapes` says."""
    nbytes: int
    """Bytes read and written."""
    operations: int = 0
    """Arithmetic beyond one operation an element: what a matrix product does, say."""
    in_place: bool = False
    """Whether an output may lie exactly where an input does. Where not, the caller hands over a copy of that input."""
    returns_shapes: bool = False
    """Whether the results may be smaller than the outputs, whose shapes are then the largest ones: the body writes each
    result without a gap at the start of its output and returns the exact shape of every one."""
    updates: tuple[int, ...] = ()
    """Positions of the inputs that the body also writes, such as an optimizer's slots; they overlap no output. Another
    input that is the same memory comes as a copy, as `in_place` says, unless it is updated too."""


class DeviceProperties(NamedTuple):
    """What a device says of itself."""

    name: str
    soc: str
    """The SoC name programs compare, such as ``Ascend310P3``."""
    cores: int
    memory: int
    """Bytes of device memory."""


class ModelEngine(ABC):
    """A model that is loaded on one device."""

    @abstractmethod
    def shapes(self, inputs: Sequence[tuple[int, ...]]) -> tuple[tuple[int, ...] | None, ...]:
        """Return the shape of every output for inputs of these shapes; None where only a run tells it."""

    @abstractmethod
    def bind(self, inputs: Sequence[Array], outputs: Sequence[Array | None]) -> Callable[[], Sequence[Array]]:
        """Return a call that runs the model straight on these arrays, in the model's order.

        The arrays are views of device memory (or of host memory that lives as
        long as the returned call); nothing is copied. The call may be made any
        number of times, by one thread at a time. It returns the outputs that were
        given as None, in order, each a new C-contiguous array on host memory of its own.

        Raises:
            ModelInputMismatch, ModelOutputMismatch: an array's shape or dtype does not fit.
        """

    def on_hosts(self, inputs: Sequence[Array], *, beside: bool = False) -> Callable[[], Sequence[Array]] | None:
        """Return a call that runs the model once on host arrays, and returns every output as a new host array.

        None where the device has no way from host to host that saves copies; then these are made to and from device
        memory.

        Args:
            inputs: of the model's dtypes and shapes.
            beside: whether others run at the same time; only where `overlaps` says so.
        """
        del inputs, beside
        return None

    @property
    def overlaps(self) -> bool:
        """Whether several runs on host arrays at a time are quicker than one after the other on all cores."""
        return False

    @abstractmethod
    def close(self) -> None:
        """Let go of the model's weights and buffers; harmless when repeated."""


class NodeTime(NamedTuple):
    """One execution of one node of a model's graph, as the device ran it: fused nodes are one."""

    name: str
    """The node's name, as the device calls it."""
    op_type: str
    run: int
    """Which run of the model it was, from 0 on."""
    thread: int
    """The system's number of the thread that ran it, or started it on several."""
    start_ns: int
    """Nanoseconds of the wall clock since 1970, to the microsecond."""
    end_ns: int

    @property
    def duration(self) -> float:
        """Seconds from start to end."""
        return (self.end_ns - self.start_ns) / 1e9


class NodeValue(NamedTuple):
    """What one run of a model gave to a node of its graph, or got from it."""

    node: str
    """The node's name; that of its first output where the graph gives it none."""
    op_type: str
    place: int
    """The node's position in the graph."""
    is_input: bool
    port: int
    """Which of the node's inputs or outputs, from 0 on."""
    name: str
    """The tensor's name in the graph."""
    array: Array


class ObservedModel(ModelEngine):
    """A model that tells what its nodes do. Its runs take turns, so that times are those of a run alone."""

    @abstractmethod
    def take_times(self, *, last: bool = False) -> list[NodeTime]:
        """Return what was recorded and not taken yet, in the order of the starts; wait for a run that goes on.

        Args:
            last: record nothing more; the model still runs.
        """


class Pages(ABC):
    """Bytes of a device that have no address until they are mapped; they last until nothing holds or maps them."""

    __slots__ = ()

    nbytes: int

    @abstractmethod
    def map(self, address: int, offset: int, nbytes: int) -> None:
        """Map bytes at addresses of `DeviceBackend.reserve`; both are multiples of `DeviceBackend.page`.

        Raises:
            OutOfMemory: the system refuses.
        """

    @abstractmethod
    def share(self, *, anybody: bool) -> int:
        """Return the number by which other processes import the bytes; allow that to all of the same user, or not.

        Raises:
            NotPermitted: the system cannot share them.
        """

    @abstractmethod
    def allow(self, processes: list[int]) -> None:
        """Allow more processes to import the bytes.

        Raises:
            InvalidArgument: these are too many.
        """


class DeviceBackend(ABC):
    """One open device."""

    properties: DeviceProperties
    base: int
    """The first address of the device's memory; ``properties.memory`` bytes follow."""
    page: int = 2 << 20
    """What addresses and sizes of mapped memory are multiples of, in bytes."""

    @abstractmethod
    def view(self, address: int, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
        """Return a C-contiguous array on device memory; it keeps the memory mapped as long as it lives,
        but for reserved addresses, which the caller keeps.
        """

    @abstractmethod
    def copy(self, target: int, source: int, nbytes: int) -> None:
        """Copy between addresses that the caller has checked; the GIL is free meanwhile when it is long."""

    @abstractmethod
    def fill(self, address: int, value: int, nbytes: int) -> None:
        """Set every byte of a span that the caller has checked."""

    @abstractmethod
    def allocate_pages(self, nbytes: int) -> Pages:
        """Return new bytes that have no address; ``nbytes`` is a multiple of `page`.

        Raises:
            OutOfMemory: there are not so many.
            NotSupported: the device maps no memory.
        """

    @abstractmethod
    def import_pages(self, handle: int) -> Pages:
        """Return bytes that another process shares, by the number that `Pages.share` returned there.

        Raises:
            InvalidArgument: there are none by that number.
            NotPermitted: its owner does not allow it.
            NotSupported: the device shares no memory.
        """

    @abstractmethod
    def reserve(self, nbytes: int, alignment: int, wanted: int) -> int:
        """Return the first of ``nbytes`` addresses, to map bytes at; `view` takes them, mapped or not.

        Args:
            nbytes: how many; a multiple of `page`.
            alignment: a power of two, and a multiple of `page`.
            wanted: the first one if it can be had; 0 for any.

        Raises:
            OutOfMemory: so many are not free.
            NotSupported: the device maps no memory.
        """

    @abstractmethod
    def hide(self, address: int, nbytes: int) -> None:
        """Take what is mapped at reserved addresses away; nothing uses it any more."""

    @abstractmethod
    def release(self, address: int, nbytes: int) -> None:
        """Give all addresses of one `reserve` back; nothing uses them any more. Finalizers call it."""

    @abstractmethod
    def kernel(self, request: KernelRequest) -> Kernel:
        """Choose the code that runs a request.

        Raises:
            OperatorNotFound: this device has no kernel of that type.
            UnsupportedDataType: it has one, for other data types.
            InvalidArgument: the request's attributes or shapes mean nothing.
        """

    @abstractmethod
    def load_model(self, graph: bytes | memoryview) -> ModelEngine:
        """Make a model ready to run from the graph section of an ``.om`` file.

        Raises:
            ModelDataError: the bytes are not a graph that this device runs.
        """

    @abstractmethod
    def observe_model(
        self,
        graph: bytes | memoryview,
        *,
        times: bool,
        wants: Callable[[str, str], bool] | None = None,
        tell: Callable[[Sequence[NodeValue]], object] | None = None,
    ) -> ObservedModel:
        """Make a model ready to run that tells what its nodes do.

        Args:
            graph: as `load_model`.
            times: whether it records how long nodes take.
            wants: asked for each node, by name and type, whether its inputs and outputs are told.
            tell: called with these on the thread of the run, behind it; the arrays are good until it returns.

        Raises:
            ModelDataError: the bytes are not a graph that this device runs.
            NotSupported: the device cannot tell.
        """

    @abstractmethod
    def start(self, task: Callable[[], None]) -> None:
        """Run a task on one of the device's worker threads, soon; tasks never raise."""

    @abstractmethod
    def parallel(self, run: Callable[[int], object], count: int) -> None:
        """Call ``run(0)`` to ``run(count - 1)``, on this thread and on the cores that have nothing to do.

        Returns when all that were begun are over. After a failure no further ones are begun.

        Raises:
            BaseException: what the failed call with the lowest number raised.
        """

    @abstractmethod
    def close(self) -> None:
        """Stop the workers once they are idle and let go of the memory; harmless when repeated."""


class Backend(Protocol):
    """A kind of device."""

    name: str

    def device_count(self) -> int:
        """Return how many devices can be opened."""

    def open(self, index: int) -> DeviceBackend:
        """Open device ``index``, which lies in ``range(device_count())``."""
