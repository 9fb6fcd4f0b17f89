"""Runs of a model on groups of items."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import attrs

from aacl.errors import ModelOutputMismatch, ModelRunError
from aacl.models._groups import located
from aacl.models._inference import submit
from aacl.models._run import one_or_all
from aacl.streams._completion import Completion
from aacl.streams._waiting import DoneCallback

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from aacl.abc import Array
    from aacl.models._groups import Entry, Group
    from aacl.models._model import Model
    from aacl.models._rows import Rows
    from aacl.streams._stream import Stream

__all__ = ("GroupRun", "GroupRuns")

Results = list[Any]


@attrs.frozen
class GroupRun:
    """A group that was submitted.

    Attributes:
        group: the items.
        stream: where to.
        command: the run; None where the group has no sound item, or could not be submitted.
        error: why it could not.
    """

    group: Group[Any]
    stream: Stream
    command: Completion[Any] | None = None
    error: Exception | None = None


class GroupRuns:
    """Submits the groups of one model, and takes what comes out apart."""

    __slots__ = ("_model", "_rows")

    def __init__(self, model: Model, rows: Rows) -> None:
        self._model, self._rows = model, rows

    async def submit(self, group: Group[Any], stream: Stream) -> GroupRun:
        """Submit the run of a group, once the stream has room; what goes wrong is in what this returns."""
        sound = group.sound
        if not sound:
            return GroupRun(group, stream)
        try:
            return GroupRun(group, stream, await self._submitted(sound, stream))
        except Exception as error:  # handed out as the items' result
            return GroupRun(group, stream, error=error)

    async def _submitted(self, entries: Sequence[Entry[Any]], stream: Stream) -> Completion[Any]:
        """Submit a run on the rows of items that have the same shapes."""
        shapes = entries[0].shapes
        rows = self._rows.fit(len(entries), shapes)
        # Padded with what is there: the model sees no values that the program did not bring.
        padded = [*entries, *[entries[-1]] * (rows - len(entries))]
        columns = [list(column) for column in zip(*[entry.arrays for entry in padded], strict=True)]
        variant = self._model._variants.find(tuple([(rows, *shape) for shape in shapes]))
        command = await submit(stream, self._model, columns, variant)
        # Whoever leaves the loop early wants no run that was read ahead, so the stream has nothing to tell of it.
        command._add_callback(DoneCallback(Completion.exception))
        return command

    async def results(self, run: GroupRun) -> Results:
        """Wait for a run, and return what came out for each item, an exception where something went wrong."""
        found = await self._found(run, run.group.sound)
        return [next(found) if entry.error is None else entry.error for entry in run.group.entries]

    async def _found(self, run: GroupRun, sound: Sequence[Entry[Any]]) -> Iterator[Any]:
        error = run.error
        if run.command is not None:
            try:
                return iter(self._split(await run.command, len(sound)))
            except Exception as caught:  # handed out as the items' result
                error = caught
        if isinstance(error, ModelRunError) and len(sound) > 1:
            # One item's values may have failed the run of all.
            return iter([await self._alone(entry, run.stream) for entry in sound])
        return iter([error if error is None else located(error, entry.place) for entry in sound])

    async def _alone(self, entry: Entry[Any], stream: Stream) -> Any:
        try:
            return self._split(await (await self._submitted([entry], stream)), 1)[0]
        except Exception as error:  # as above
            return located(error, entry.place)

    def _split(self, outputs: Sequence[Array], items: int) -> Results:
        """Return the outputs' rows, those of padding left out.

        Raises:
            ModelOutputMismatch: an output has fewer rows than there are items.
        """
        for spec, output in zip(self._model.outputs, outputs, strict=True):
            if output.ndim == 0 or len(output) < items:
                raise ModelOutputMismatch(
                    f"output {spec.name!r} of {self._model._label()} came out as {list(output.shape)} for {items} "
                    "items, so it has no row an item; run the model on whole inputs with infer()"
                )
        return [one_or_all(tuple([output[index, ...] for output in outputs])) for index in range(items)]
