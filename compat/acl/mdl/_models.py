"""The loaded models."""

from __future__ import annotations

import threading
from itertools import count
from typing import TYPE_CHECKING, Any

import aacl
from aacl.errors import WrongModelContext
from acl._contexts import at_close
from acl._devices import current
from acl._handles import Handles
from acl._status import MODEL_ID_INVALID, STREAM_MODEL, Refused
from acl._streams import refuse_in_callback
from acl._threads import settle
from acl.mdl._described import Choice

if TYPE_CHECKING:
    from acl._contexts import Context
    from acl._streams import Stream
    from acl.mdl._datasets import Dataset
    from acl.mdl._results import Results
    from acl.mdl._runs import Runs

__all__ = ("Loaded", "model_at", "models", "numbers", "take_model")


class Loaded:
    """A loaded model.

    AscendCL forbids to run one model id on several streams or threads at the same time. Here such runs take turns;
    with ``AACL_STRICT=1`` in the environment when it is loaded they are refused.

    Attributes:
        model: the native model.
        context: where it was loaded, and where alone it may be used.
        stream: what blocking runs are submitted to, so that they wait for nothing but themselves.
        runs: the prepared runs.
        latest: the last run that each stream was given; with ``AACL_STRICT=1`` that of the model's own stream too, by None.
        choice: the gear that was chosen last.
    """

    __slots__ = ("_alone", "_noting", "choice", "context", "latest", "model", "runs", "stream")

    def __init__(self, model: aacl.Model, context: Context, runs: Runs) -> None:
        self.model, self.context, self.runs = model, context, runs
        self.latest: dict[Stream | None, aacl.Completion[Any]] = {}
        self._noting = threading.Lock()  # a run that another thread notes must not be lost while some are forgotten
        self.choice = Choice()
        self.stream = aacl.blocking.open_resource(aacl.Stream(context.context, fair=False))
        self._alone = threading.Lock() if aacl.products.is_strict() else None

    def submit(
        self, model_id: int, stream: Stream | None, given: Dataset, wanted: Dataset
    ) -> tuple[aacl.Completion[Any], Results | None]:
        """Submit a run to a stream, or to the model's own; returns and raises as `Runs.submit` does.

        Raises:
            Refused: the model runs elsewhere, and the environment is strict (107005).
        """
        gear = given.gears.get(model_id) if given.gears else None  # NumPy's integers are the same keys
        if self._alone is None:
            if stream is None:
                return self.runs.submit(self.stream, given, wanted, gear)
            run, results = self.runs.submit(stream.stream, given, wanted, gear)
            self.note(stream, run)
            return run, results
        with self._alone:
            self._check_alone(model_id, stream)
            run, results = self.runs.submit(self.stream if stream is None else stream.stream, given, wanted, gear)
            self.note(stream, run)
            return run, results

    def _check_alone(self, model_id: int, stream: Stream | None) -> None:
        for other, run in self.latest.items():
            if (other is not stream or other is None) and not run.done():
                where = "in another thread" if other is None else f"on stream {other.handle}"
                raise Refused(
                    STREAM_MODEL,
                    f"model {model_id} ({self.model.name!r}) runs {where}; one model id runs on one stream at a time: "
                    "wait for the end of that run, or load the model once more",
                )

    def note(self, stream: Stream | None, run: aacl.Completion[Any]) -> None:
        """Remember a run that a stream was given."""
        with self._noting:
            latest = self.latest
            if stream not in latest and len(latest) >= _MOST_STREAMS:
                self.latest = latest = {other: last for other, last in latest.items() if not last.done()}
            latest[stream] = run

    def drain(self) -> None:
        """Wait for the runs.

        Raises:
            Refused: one comes after a callback that this thread runs, and would wait for itself.
        """
        with self._noting:
            pending = {stream: run for stream, run in self.latest.items() if not run.done()}
        refuse_in_callback("wait for a run after itself", lambda stream, blocks: blocks and stream in pending)
        for run in pending.values():
            settle(run)


_MOST_STREAMS = 64  # whose last run is remembered, whether it is over or not
numbers = count(1)
"""Of models and bundles, so that neither is taken for the other."""
models: Handles[Loaded] = Handles("model", MODEL_ID_INVALID, null=MODEL_ID_INVALID, numbers=numbers)


def model_at(model_id: int) -> Loaded:
    """Return a loaded model.

    Raises:
        NotCurrent: this thread has no context.
        Refused: there is no such model (145003).
        WrongModelContext: it was loaded in another context.
    """
    context, loaded = current(), models.get(model_id)
    if loaded.context is not context:
        raise WrongModelContext(
            f"model {model_id} ({loaded.model.name!r}) was loaded in another context; call acl.rt.set_context with that"
        )
    return loaded


def take_model(model_id: int) -> Loaded:
    """Wait for a model's runs, and return it, whose number is dead from now on; raises as `model_at` and `drain` do."""
    model_at(model_id).drain()
    return models.take(model_id)


def _forget_closed() -> None:
    """Let the models be dead whose context has ended, and they with it."""
    models.sweep(lambda loaded: loaded.context.closed)


at_close(_forget_closed)
