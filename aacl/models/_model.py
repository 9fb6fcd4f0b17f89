"""Models: converted graphs, loaded on a device and run as work of its streams."""

from __future__ import annotations

import os
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Self, final

from aacl._closing import AsyncResource
from aacl._resource import ResourceState
from aacl.devices._current import contexts, current_stream
from aacl.errors import InvalidArgument, WouldBlock, WrongModelContext
from aacl.memory._space import Epoch
from aacl.models._arguments import Arguments
from aacl.models._binding import Bindings
from aacl.models._load import LoadedModel, load, load_in_thread
from aacl.models._run import Inference, ModelRun
from aacl.models._uses import Ending, Uses
from aacl.streams._budget import UNKNOWN, Cost
from aacl.streams._waiting import here
from aacl.tensors._tensor import Maker

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from aacl.abc import Array
    from aacl.devices._context import Context
    from aacl.devices._device import Device
    from aacl.memory._space import DeviceMemory
    from aacl.models._signature import ModelSignature, TensorSpec
    from aacl.streams._completion import Completion
    from aacl.streams._stream import Stream
    from aacl.tensors._tensor import Tensor

__all__ = ("Model", "ModelStatistics")


class ModelStatistics(NamedTuple):
    """A model at one moment."""

    runs: int
    """Runs that ended well."""
    errors: int
    """Runs that failed."""
    cancelled: int
    """Waits for `Model.infer` that were cancelled; the runs themselves go on, and are counted as runs."""
    queued: int
    """Runs that streams hold: those that have not started, and those that workers run now."""
    graph_nbytes: int
    """Bytes of the graph, weights included."""


@final
class Model(AsyncResource):
    """A converted model (``.om``) on a device.

    ``async with Model("net.om") as model`` loads it into the current context, off the event
    loop's thread; ``await Model("net.om").open()`` and ``aacl.blocking.open_resource`` are the
    other ways. It runs as work of a stream, ``await stream.execute(model(tensor))``, or from
    host arrays to host arrays with ``await model.infer(array)``. Closing it waits for its queued runs.

    Any number of streams may run it. Runs on different memory may overlap; runs on the
    same memory take turns. A model that turns out to be short runs on the thread that submits it.
    """

    __slots__ = ("_arguments", "_bindings", "_context", "_cost", "_inference_cost", "_input_makers", "_loaded",
                 "_loading", "_output_makers", "_source", "_uses", "_wanted")  # fmt: skip

    kind = "model"
    _arguments: Arguments
    _input_makers: tuple[Maker, ...]
    _output_makers: tuple[Maker, ...]
    _bindings: Bindings
    _context: Context

    def __init__(
        self, source: str | os.PathLike[str] | bytes | bytearray | memoryview, *, device: Device | Context | None = None
    ) -> None:
        """Prepare a model; entering or opening it loads it.

        Args:
            source: the path of an ``.om`` file, or the bytes of one.
            device: where, by default in the current context; a device stands for its default context.

        Raises:
            InvalidArgument: ``source`` is neither a path nor bytes.
        """
        super().__init__()
        self._source, self._wanted = _checked_source(source), device
        self._loading = False
        self._loaded: LoadedModel | None = None
        self._uses = Uses()
        self._cost, self._inference_cost = Cost(UNKNOWN), Cost(UNKNOWN)

    # -- opening ------------------------------------------------------------------------------

    async def open(self) -> Self:
        """Load the model without blocking the event loop, and return it.

        It belongs to its context, which closes it at the latest. A load that fails or is cancelled
        leaves nothing behind; the model may be opened again.

        Raises:
            ModelPathError: the path names no file, an empty one, or one that cannot be read.
            ModelDataError: the bytes are not a model of ours, or the device cannot run it.
            NotSupported: the model has free dims.
            NotCurrent: no device was given, and none is current.
            ClosedResource: the model, or its context, is closed.
            InvalidArgument: it is open, or being opened, already.
        """
        with self._load_once() as context:
            loaded = await load_in_thread(self._source, context.memory.backend)
        self._adopt(loaded, context)
        return self

    async def __aenter__(self) -> Self:
        return await self.open()

    def _open(self) -> None:
        with self._load_once() as context:
            loaded = load(self._source, context.memory.backend)
        self._adopt(loaded, context)

    @contextmanager
    def _load_once(self) -> Iterator[Context]:
        self._check_new()
        if self._loading:
            raise InvalidArgument(f"{self._describe()} is being opened already; wait for that")
        place: Device | Context = self._wanted or contexts.get()
        context: Any = place.stream_context()
        context._check_open(f"load {self._describe()} in")
        self._loading = True
        try:
            yield context
        finally:
            self._loading = False

    def _adopt(self, loaded: LoadedModel, context: Context) -> None:
        """Become open with what was loaded, unless the model or its context was closed meanwhile."""
        try:
            self._check_new()
            self._loaded, self._context = loaded, context
            self._arguments = Arguments(loaded.signature, self._label(), context.memory)
            self._input_makers = tuple(Maker(context.memory, desc) for desc in self._arguments.inputs)
            self._output_makers = tuple(Maker(context.memory, desc) for desc in self._arguments.outputs)
            self._bindings = Bindings(loaded.engine, self._uses, self._label())
            self._opened_in(context)
        except BaseException:
            self._loaded = None
            loaded.engine.close()
            raise
        self._source = b""  # the engine holds what it needs of it

    def _become_current(self) -> None:
        """Models are never current."""

    def _leave_current(self) -> None:
        """Models are never current."""

    # -- what it is ---------------------------------------------------------------------------

    @property
    def signature(self) -> ModelSignature:
        """What the model takes and gives, once it was opened, and also after it was closed."""
        loaded = self._loaded
        if loaded is None:
            self._check_open("ask the signature of")
        assert loaded is not None, "an open model was loaded"
        return loaded.signature

    @property
    def name(self) -> str:
        """The model's name: that of the file it was converted into, without the suffix."""
        return self.signature.name

    @property
    def inputs(self) -> tuple[TensorSpec, ...]:
        """What goes in, in order."""
        return self.signature.inputs

    @property
    def outputs(self) -> tuple[TensorSpec, ...]:
        """What comes out, in order; names are ``node:index:ONNX name``."""
        return self.signature.outputs

    @property
    def context(self) -> Context:
        """The context in which it was loaded."""
        self.signature  # noqa: B018 - raises unless it was opened
        return self._context

    @property
    def device(self) -> Device:
        """The device on which it was loaded."""
        return self.context.device

    def statistics(self) -> ModelStatistics:
        """Return what the model has run, and what streams hold of it now."""
        uses, loaded = self._uses, self._loaded
        nbytes = loaded.graph_nbytes if loaded is not None else 0
        return ModelStatistics(uses.runs.value, uses.errors.value, uses.cancelled.value, len(uses.pending), nbytes)

    # -- running ------------------------------------------------------------------------------

    def __call__(
        self, /, *inputs: Tensor | Completion[Any], out: Tensor | Sequence[Tensor] | None = None, **named: object
    ) -> ModelRun:
        """Apply the model to tensors; ``stream.execute`` runs what this returns.

        Args:
            *inputs: tensors, or completions of the commands that make them, in the model's order.
            out: the tensors to write, of the exact dtype and shape of the outputs; by default new ones each time.
            **named: the other inputs, by their names; one called ``out`` goes by order.

        Returns:
            The run; its result is the output tensor, or a tuple of them.

        Raises:
            ModelInputMismatch: an input is missing, too many, of another dtype or shape, or a host array.
            ModelOutputMismatch: the same of ``out``, or its memory is used twice.
            ClosedResource: the model is not open.
        """
        if self._state is not ResourceState.OPEN:
            self._check_open("run")
        tensors = self._arguments.tensors(inputs, named)
        return ModelRun(self, tensors, None if out is None else self._arguments.results(out, tensors))

    async def infer(self, /, *arrays: Any, stream: Stream | None = None, **named: Any) -> Any:
        """Run the model on host arrays and return its outputs as new host arrays.

        Copies and run are one command of the stream. Cancelling the wait leaves that command to
        itself. If the stream is bounded and full, wait for room first.

        Args:
            *arrays: arrays of the inputs' exact dtype and shape, in the model's order; lists and numbers are
                converted. They are read when the run begins, and must not change until the result is there.
            stream: where, by default the current stream.
            **named: the other inputs, by their names; one called ``stream`` goes by order.

        Returns:
            The output array, or a tuple of them.

        Raises:
            ModelInputMismatch: an input is missing, too many, or of another dtype or shape.
            ModelRunError: the model failed while it ran.
            OutOfMemory: the device has no room for the inputs and outputs.
            ClosedResource: the model, or the stream, is not open.
            NotCurrent: no stream was given, and none is current.
        """
        from asyncio import CancelledError

        self._check_open("run")
        hosts = self._arguments.arrays(arrays, named)
        place = current_stream() if stream is None else stream
        try:
            while (command := self._submitted(hosts, place)) is None:
                await place.ready()
            return await command
        except CancelledError:
            self._uses.cancelled.step()
            raise

    def _submitted(self, hosts: Sequence[Array], place: Stream) -> Completion[Any] | None:
        """Submit an inference; None, and nothing of it is left, if the stream is full."""
        try:
            return place.execute(Inference(self, hosts))
        except WouldBlock:
            return None

    def _check_runs_on(self, memory: DeviceMemory) -> None:
        if self._state is not ResourceState.OPEN:
            self._check_open("run")
        if memory is not self._context.memory:
            raise WrongModelContext(
                f"{self._label()} was loaded on device {self._context.memory.index}, and the stream is on device "
                f"{memory.index}; load it there too"
            )

    # -- closing ------------------------------------------------------------------------------

    def _check_closable(self) -> None:
        here_stream = here.stream
        if here_stream is not None and any(run._stream is here_stream for run in list(self._uses.pending)):
            raise WouldBlock(
                f"cannot close {self._label()} in a host call of {here_stream._describe()}, whose runs of it come later"
            )

    def _settle(self, drop: bool) -> Ending:
        # Runs that were tied to their memory check themselves again, and find the model closing.
        self._context.memory.epoch = Epoch()
        return self._uses.settle(drop)

    def _release(self) -> None:
        self._bindings.close()

    def _label(self) -> str:
        loaded = self._loaded
        return self._describe() if loaded is None else f"{self._describe()} {loaded.signature.name!r}"

    def __repr__(self) -> str:
        loaded = self._loaded
        if loaded is None:
            source = f"{len(self._source)} bytes" if isinstance(self._source, bytes) else repr(str(self._source))
            return f"<Model {self.number} {self._state.value}, of {source}>"
        signature, queued = loaded.signature, len(self._uses.pending)
        return (
            f"<Model {self.number} {signature.name!r} {self._state.value} on device {self._context.memory.index}, "
            f"inputs: {len(signature.inputs)}, outputs: {len(signature.outputs)}, queued runs: {queued}>"
        )


def _checked_source(source: Any) -> Path | bytes:
    if isinstance(source, (bytes, bytearray, memoryview)):
        return bytes(source)  # what may change is copied: the engine uses the weights where they lie
    try:
        return Path(os.fsdecode(source))
    except TypeError:
        raise InvalidArgument(
            f"a model is made from the path or the bytes of an .om file, not from a {type(source).__name__}"
        ) from None
