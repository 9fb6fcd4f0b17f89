"""Models: converted graphs, loaded on a device and run as work of its streams."""

from __future__ import annotations

import os
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TypeVar, final

from aacl._closing import AsyncResource
from aacl._resource import ResourceState
from aacl.devices._current import contexts, current_stream
from aacl.errors import InvalidArgument, ModelInputMismatch, WouldBlock, WrongModelContext
from aacl.memory._space import Epoch
from aacl.models._arguments import Arguments
from aacl.models._binding import Bindings
from aacl.models._chain import ModelChain, is_chain
from aacl.models._inference import Slots, is_cancellation, submit
from aacl.models._load import load, load_in_thread
from aacl.models._run import ModelRun, one_or_all
from aacl.models._uses import Ending, ModelStatistics, Uses
from aacl.models._variant import Variants
from aacl.streams._waiting import here

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterable, Iterable, Iterator, Sequence

    from aacl.devices._context import Context
    from aacl.devices._device import Device
    from aacl.memory._space import DeviceMemory
    from aacl.models._shared import Loan
    from aacl.models._signature import Gears, ModelSignature, TensorSpec
    from aacl.streams._completion import Completion
    from aacl.streams._stream import Stream
    from aacl.streams._work import Work
    from aacl.tensors._desc import TensorDesc
    from aacl.tensors._tensor import Tensor

__all__ = ("Model", "ModelStatistics")

T = TypeVar("T")


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

    __slots__ = ("_arguments", "_bindings", "_context", "_loaded", "_loading", "_overlaps", "_slots", "_source", "_uses",
                 "_variants", "_wanted")  # fmt: skip

    kind = "model"
    _arguments: Arguments
    _variants: Variants
    _bindings: Bindings
    _slots: Slots
    _context: Context

    def __init__(
        self,
        source: str | os.PathLike[str] | bytes | bytearray | memoryview,
        *,
        device: Device | Context | None = None,
        overlaps: bool = True,
    ) -> None:
        """Prepare a model; entering or opening it loads it.

        Args:
            source: the path of an ``.om`` file, or the bytes of one.
            device: where, by default in the current context; a device stands for its default context.
            overlaps: whether runs on different memory may overlap; if not, all runs take turns.

        Raises:
            InvalidArgument: ``source`` is neither a path nor bytes.
        """
        super().__init__()
        self._source, self._wanted, self._overlaps = _checked_source(source), device, overlaps
        self._loading = False
        self._loaded: Loan | None = None
        self._uses = Uses()

    # -- opening ------------------------------------------------------------------------------

    async def open(self) -> Self:
        """Load the model without blocking the event loop, and return it.

        It belongs to its context, which closes it at the latest. A load that fails or is cancelled
        leaves nothing behind; the model may be opened again.

        Raises:
            ModelPathError: the path names no file, an empty one, or one that cannot be read.
            ModelDataError: the bytes are not a model of ours, or the device cannot run it.
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

    def _adopt(self, loaded: Loan, context: Context) -> None:
        """Become open with what was loaded, unless the model or its context was closed meanwhile."""
        try:
            self._check_new()
            self._loaded, self._context = loaded, context
            self._variants = Variants(loaded.signature, loaded, self._label(), context.memory)
            self._arguments = Arguments(loaded.signature, self._label(), context.memory, self._variants)
            self._bindings = Bindings(loaded, self._uses, self._label(), context.memory, self._overlaps)
            self._slots = Slots(self._bindings)
            self._opened_in(context)
        except BaseException:
            self._loaded = None
            loaded.close()
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
    def gears(self) -> Gears | None:
        """The sizes that it was converted for, where it was for several; None for fixed and for free dims."""
        return self.signature.gears

    @property
    def context(self) -> Context:
        """The context in which it was loaded."""
        self.signature  # noqa: B018 - raises unless it was opened
        return self._context

    @property
    def device(self) -> Device:
        """The device on which it was loaded."""
        return self.context.device

    @property
    def graph(self) -> memoryview:
        """The converted graph, a complete ONNX model, in place.

        Raises:
            ClosedResource: the model is not open.
        """
        self._check_open("read the graph of")
        loaded = self._loaded
        assert loaded is not None, "an open model was loaded"
        return loaded.graph()

    def describe_outputs(self, *shapes: Sequence[int]) -> tuple[TensorDesc, ...]:
        """Return what comes out for inputs of exactly these shapes, without running anything.

        Args:
            *shapes: of every input, in order.

        Returns:
            A description each, with -1 dims where only a run tells.

        Raises:
            ModelInputMismatch: there are too few or too many shapes, one is none, or none of the model's.
            ClosedResource: the model is not open.
        """
        self._check_open("describe the outputs of")
        return self._variants.find(self._arguments.shapes(shapes)).outputs

    def statistics(self) -> ModelStatistics:
        """Return what the model has run, and what streams hold of it now."""
        loaded = self._loaded
        return self._uses.statistics(0 if loaded is None else loaded.graph_nbytes)

    # -- running ------------------------------------------------------------------------------

    def __call__(
        self,
        /,
        *inputs: Tensor | Completion[Any] | Work[Any],
        out: Tensor | Sequence[Tensor | None] | None = None,
        **named: object,
    ) -> ModelRun | ModelChain:
        """Apply the model to tensors; ``stream.execute`` runs what this returns.

        A model with gears runs in the gear that its inputs' shapes are, all of them together; one with ranges
        takes any shapes within them. Where an input is a completion whose output's exact shape is not
        known yet, the shapes are looked at when it runs. Outputs whose shape only the run tells have -1
        dims until it is over, and their exact shape from then on.

        Args:
            *inputs: tensors, completions of commands that make them, or runs to submit first; in the model's order.
            out: the tensors to write, by default new ones each time; None among them stands for a new one. Where
                all dims of the model are fixed they have exactly the outputs' dtypes and shapes. Else they have
                the dtype and at least the bytes, and get the exact shape.
            **named: the other inputs, by their names; one called ``out`` goes by order.

        Returns:
            The run; its result is the output tensor, or a tuple of them.

        Raises:
            ModelInputMismatch: an input is missing, too many, of another dtype, of a shape that is none of the
                model's, or a host array.
            ModelOutputMismatch: the same of ``out``, or it is too small, or its memory is used twice.
            ClosedResource: the model is not open.
        """
        if self._state is not ResourceState.OPEN:
            self._check_open("run")
        try:
            tensors, variant = self._arguments.tensors(inputs, named)
        except ModelInputMismatch:
            if not is_chain(inputs, named):
                raise
            return ModelChain(self, inputs, named, out)
        wanted = None if out is None else self._arguments.results(out, tensors, variant)
        return ModelRun(self, tensors, wanted, variant)

    async def infer(self, /, *arrays: Any, stream: Stream | None = None, **named: Any) -> Any:
        """Run the model on host arrays and return its outputs as new host arrays.

        Every shape that the model was converted for is taken; the results have their exact shapes. An inference is
        one command of the stream, in its turn among all others; those that follow each other may run at the
        same time. Cancelling the wait leaves the command to itself. If the stream is bounded and full, wait for room
        first.

        Args:
            *arrays: arrays of the inputs' exact dtypes, in the model's order; lists and numbers are
                converted. They are read when the run begins, and must not change until the result is there.
            stream: where, by default the current stream.
            **named: the other inputs, by their names; one called ``stream`` goes by order.

        Returns:
            The output array, or a tuple of them.

        Raises:
            ModelInputMismatch: an input is missing, too many, of another dtype, or of a shape that is none of
                the model's.
            ModelRunError: the model failed while it ran.
            OutOfMemory: the device has no room for the inputs and outputs.
            ClosedResource: the model, or the stream, is not open.
            NotCurrent: no stream was given, and none is current.
        """
        if self._state is not ResourceState.OPEN:
            self._check_open("run")
        hosts, variant = self._arguments.arrays(arrays, named)
        place = current_stream() if stream is None else stream
        try:
            results = await (await submit(place, self, hosts, variant))
            return one_or_all(tuple(results))
        except BaseException as error:
            if is_cancellation(error):
                self._uses.cancelled.step()
            raise

    def map(
        self,
        items: AsyncIterable[T] | Iterable[T],
        *,
        batch: int | None = None,
        workers: int = 2,
        streams: Iterable[Stream] | None = None,
        return_exceptions: bool = False,
    ) -> AsyncGenerator[tuple[T, Any], None]:
        """Run the model on many items in batches: ``async for item, result in model.map(items)``, in their order.

        Axis 0 of every input and output is the batch. A run holds items of one shape. What is left over goes into the
        smallest gear that holds it, or is padded with its last item; where any batch runs, it is a run of its own. If
        a run fails, its items run one by one, so that only those fail that must. The loop's end, however it comes, drops
        what has not run; use `contextlib.aclosing` to wait for it where the loop may be left early.

        Args:
            items: what the input takes without its batch axis; for several inputs a tuple in order, or a mapping by name.
                Arrays must not change until their result is there. At most ``workers + 1`` batches are read and not handed
                out; a plain iterable is read on the loop's thread. Generators are closed at the end.
            batch: the most items a run, by default its fixed batch or largest gear, or 8 where any number runs.
            workers: how many streams are opened for the runs, which overlap.
            streams: streams to run on instead.
            return_exceptions: whether an item that fails has the error as its result; else it is raised in its turn.

        Returns:
            An asynchronous generator of each item with its output, a row of the run's, or a tuple of them.

        Raises:
            InvalidArgument: an input or output has no batch axis, or a number or an object is wrong; at once.
            ClosedResource, WrongModelContext: the model or a stream is not open, or on another device; at once.
            AclError: what `infer` raises for an item, when its turn comes.
        """
        self._check_open("run")
        from aacl.models._map import Mapped

        asked = Mapped(self, items, batch=batch, workers=workers, streams=streams, return_exceptions=return_exceptions)
        return asked.results()

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
        self._slots.close()
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
