"""Inferences: runs from host arrays to host arrays, as work for a stream."""

from __future__ import annotations

import threading
from collections import deque
from functools import partial
from typing import TYPE_CHECKING, Any, cast, final

from aacl.errors import InvalidArgument, WouldBlock
from aacl.streams._engine import StreamEngine
from aacl.streams._work import Work

if TYPE_CHECKING:
    from collections.abc import Sequence

    from aacl.abc import Array
    from aacl.memory._space import DeviceMemory
    from aacl.models._binding import Bindings
    from aacl.models._model import Model
    from aacl.models._variant import Variant
    from aacl.streams._completion import Completion
    from aacl.streams._stream import Stream

__all__ = ("Inference", "Slots", "is_cancellation", "submit")

_IDLE = 2


@final
class Inference(Work[Any]):
    """One run from host arrays to new host arrays. Used once.

    Its result is the list of the new arrays, which is filled when it runs.
    """

    __slots__ = ("_arrays", "_model", "_run_beside", "_variant")

    frees_gil = True

    def __init__(self, model: Model, arrays: Sequence[Any], variant: Variant) -> None:
        """Hold arrays that were checked against the model, or lists of their rows; they are read when the run begins."""
        self._epoch = self._run_beside = None
        self._model, self._arrays, self._variant = model, arrays, variant
        self._cost = variant.inference_cost

    def bind(self, memory: DeviceMemory) -> None:
        """Check the place; device memory is taken when the run begins."""
        model = self._model
        model._check_runs_on(memory)
        results: list[Array] = []
        slots, variant, arrays = model._slots, self._variant, self._arrays
        is_whole = list not in map(type, arrays)
        self._run = partial(_infer, slots, variant, arrays, results, is_whole=is_whole)
        if is_whole and slots.overlap:
            self._run_beside = partial(_infer, slots, variant, arrays, results, is_whole=True, beside=True)
        self._result = results

    def submitted(self, command: Completion[Any]) -> None:
        self._model._uses.queue(command)

    def ended(self, command: Completion[Any]) -> None:
        self._model._uses.leave_queue(command)

    def name(self) -> str:
        return self._model._label()


async def submit(
    stream: Stream, model: Model, arrays: Sequence[Array | list[Array]], variant: Variant
) -> Completion[list[Array]]:
    """Submit an inference, once the stream has room; raises what binding it raises."""
    while True:
        try:
            return stream.execute(Inference(model, arrays, variant))
        except WouldBlock:  # nothing of it is left
            await stream.ready()
        except AttributeError:
            if isinstance(stream, StreamEngine):
                raise
            raise InvalidArgument(f"{model._label()} runs on a stream, not on a {type(stream).__name__}") from None


def is_cancellation(error: BaseException) -> bool:
    """Whether a task was cancelled; asked when something went wrong, so that no good run pays for the import."""
    from asyncio import CancelledError

    return isinstance(error, CancelledError)


def _infer(
    slots: Slots,
    variant: Variant,
    arrays: Sequence[Array | Sequence[Array]],
    results: list[Array],
    *,
    is_whole: bool,
    beside: bool = False,
) -> None:
    """Run straight on the host arrays where the device does; rows that do not lie together are copied anyway."""
    slot = slots.take(variant)
    try:
        run = slots.bindings.on_hosts(cast("Sequence[Array]", arrays), beside=beside) if is_whole else None
        results += slot.copied_run(slots.bindings, arrays) if run is None else run()
    finally:
        slots.give(slot)


class _Slot:
    """Device memory for one run; one that goes from host to host takes up the room without using it.

    Attributes:
        variant: the shapes.
    """

    __slots__ = ("_inputs", "_outputs", "variant")

    def __init__(self, variant: Variant) -> None:
        self.variant = variant
        self._inputs = [make() for make in variant.input_makers]
        self._outputs = [None if make is None else make() for make in variant.output_makers]

    def copied_run(self, bindings: Bindings, arrays: Sequence[Array | Sequence[Array]]) -> list[Array]:
        """Run on copies in this memory; return copies of what came out."""
        for target, array in zip(self._inputs, arrays, strict=True):
            target._array[...] = array
        made = iter(bindings.find(self.variant, self._inputs, self._outputs)())
        return [next(made) if output is None else output._array.copy() for output in self._outputs]


class Slots:
    """A model's device memory for inferences: as much as run at once; few are kept when nothing runs.

    Attributes:
        bindings: of the model.
        overlap: whether inferences are quicker beside each other.
    """

    __slots__ = ("_closed", "_idle", "_lock", "bindings", "overlap")

    def __init__(self, bindings: Bindings) -> None:
        self.bindings, self._closed = bindings, False
        self.overlap = bindings.overlaps
        self._idle: deque[_Slot] = deque(maxlen=_IDLE)
        self._lock = threading.Lock()

    def take(self, variant: Variant) -> _Slot:
        """Return a slot for shapes, for one run.

        Raises:
            OutOfMemory: the device has no room.
            ClosedResource, Aborted: the model is closed.
        """
        with self._lock:
            for slot in self._idle:
                if slot.variant is variant:
                    self._idle.remove(slot)
                    return slot
        return _Slot(variant)

    def give(self, slot: _Slot) -> None:
        """Take a slot back; of those that nobody uses the one given back first goes."""
        with self._lock:
            if not self._closed:
                self._idle.append(slot)

    def close(self) -> None:
        """Let go of the memory, also of what is given back later."""
        with self._lock:
            self._closed = True
            self._idle.clear()
