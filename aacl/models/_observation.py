"""Looking into a model: profiles and dumps put an engine that tells in the place of the plain one.

Runs that are submitted from then on, on any stream, go to that engine; those
queued before keep theirs. Without an observer nothing of this exists, so a run
pays nothing for it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Protocol
from weakref import WeakKeyDictionary

from aacl._resource import ResourceState
from aacl.abc import ModelEngine, NodeTime, NodeValue
from aacl.errors import InvalidArgument
from aacl.memory._space import Epoch
from aacl.models._inference import Slots

if TYPE_CHECKING:
    from aacl.abc import Array, ObservedModel
    from aacl.models._model import Model

__all__ = ("Observation", "Observer", "observation_of")


class Observer(Protocol):
    """What looks into a model.

    Attributes:
        model: what it looks into.
        first_run: the number of its first run among those observed; set when it begins.
    """

    model: Model
    first_run: int

    @property
    def wants_times(self) -> bool: ...
    @property
    def wants_values(self) -> bool: ...

    def wants(self, node: str, op_type: str) -> bool:
        """Whether it is told what this node gets and gives."""

    def timed(self, times: Sequence[NodeTime]) -> None:
        """Take what was recorded."""

    def told(self, values: Sequence[NodeValue]) -> None:
        """Take what the nodes of one run got and gave, on the thread of the run."""


class _Engine(ModelEngine):
    """An engine that tells, in front of the model's own, which is closed with it."""

    def __init__(self, engine: ModelEngine, plain: ModelEngine, close: Callable[[], None]) -> None:
        self._engine, self._plain, self._close = engine, plain, close

    def shapes(self, inputs: Sequence[tuple[int, ...]]) -> tuple[tuple[int, ...] | None, ...]:
        return self._plain.shapes(inputs)

    def bind(self, inputs: Sequence[Array], outputs: Sequence[Array | None]) -> Callable[[], Sequence[Array]]:
        return self._engine.bind(inputs, outputs)

    def close(self) -> None:
        self._close()
        self._engine.close()
        self._plain.close()


class Observation:
    """The observers of one model. It holds the model through them alone."""

    __slots__ = ("_lock", "_observers", "_probe", "_runs")

    def __init__(self) -> None:
        self._observers: list[Observer] = []
        self._probe: ObservedModel | None = None
        self._runs = 0  # that probes before this one recorded
        self._lock = threading.RLock()

    def begin(self, observer: Observer) -> None:
        """Let an observer see the runs that are submitted from now on.

        Raises:
            ClosedResource: the model is not open.
            ModelDataError: the device cannot run the graph so; nothing has begun.
        """
        with self._lock:
            observer.model._check_open("look into")
            self._put(observer.model, [*self._observers, observer], newcomer=observer)

    def end(self, observer: Observer) -> None:
        """Give an observer what is left for it, and nothing more."""
        with self._lock:
            if observer in self._observers:
                self._put(observer.model, [each for each in self._observers if each is not observer])

    def collect(self, *, last: bool = False) -> None:
        """Hand out what was recorded; wait for a run that goes on."""
        with self._lock:
            if self._probe is None:
                return
            times = self._probe.take_times(last=last)
            for observer in self._observers:
                if times and observer.wants_times:
                    shift = self._runs - observer.first_run
                    observer.timed([time._replace(run=time.run + shift) for time in times])
            if last:
                self._runs += 1 + max((time.run for time in times), default=-1)

    def _close(self) -> None:
        """Hand out what is left, as the model closes."""
        with self._lock:
            self.collect(last=True)
            self._observers, self._probe = [], None

    def _put(self, model: Model, observers: list[Observer], newcomer: Observer | None = None) -> None:
        """Exchange the engine for one that serves these observers."""
        is_open = model._state is ResourceState.OPEN
        probe = self._made(model, observers) if observers and is_open else None
        self.collect(last=True)
        if newcomer is not None:
            newcomer.first_run = self._runs
        self._observers, self._probe = observers, probe
        if is_open:
            self._move(model, probe)

    def _made(self, model: Model, observers: Sequence[Observer]) -> ObservedModel:
        telling = [observer for observer in observers if observer.wants_values]

        def tell(values: Sequence[NodeValue]) -> None:
            for observer in telling:
                observer.told([value for value in values if observer.wants(value.node, value.op_type)])

        return model._context.memory.backend.observe_model(
            model.graph,
            times=any(observer.wants_times for observer in observers),
            wants=(lambda node, op_type: any(each.wants(node, op_type) for each in telling)) if telling else None,
            tell=tell,
        )

    def _move(self, model: Model, probe: ObservedModel | None) -> None:
        assert model._loaded is not None, "an open model was loaded"
        plain: ModelEngine = model._loaded
        engine = plain
        if probe is not None:
            telling: ModelEngine = probe
            if model.signature.aipp:
                from aacl.models._aipp_engine import AippEngine

                telling = AippEngine(probe, model.signature)
            engine = _Engine(telling, plain, self._close)
        # New ones, not changed ones: what is queued, or runs, goes on with what it has.
        bindings, slots = model._bindings.beside(engine), model._slots
        model._bindings, model._slots = bindings, Slots(bindings)
        slots.close()
        model._context.memory.epoch = Epoch()  # runs that are tied to their memory tie themselves again


_observations: WeakKeyDictionary[Model, Observation] = WeakKeyDictionary()
_first = threading.Lock()


def observation_of(model: Model) -> Observation:
    """Return who looks into a model.

    Raises:
        InvalidArgument: it is no model.
    """
    from aacl.models._model import Model

    if not isinstance(model, Model):
        raise InvalidArgument(f"an aacl.Model can be looked into, not a {type(model).__name__}")
    with _first:
        found = _observations.get(model)
        if found is None:
            found = _observations[model] = Observation()
        return found
