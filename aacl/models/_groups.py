"""Items as a model takes them, and the groups of them that run together."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import attrs
import numpy as np

from aacl._note import add_note
from aacl.errors import AclError
from aacl.models._arguments import Arguments
from aacl.models._rows import Rows, item_signature

if TYPE_CHECKING:
    from collections.abc import Sequence

    from aacl.abc import Array
    from aacl.models._model import Model

__all__ = ("Entries", "Entry", "Group")

T = TypeVar("T")
Shapes = tuple[tuple[int, ...], ...]


@attrs.frozen
class Entry(Generic[T]):
    """An item that was read.

    Attributes:
        item: as the iterable gave it.
        place: how many came before it.
        arrays: what the model takes of it, one an input; nothing where it does not fit.
        shapes: of these.
        limit: how many items like it run together.
        error: why it does not fit.
    """

    item: T
    place: int
    limit: int
    arrays: Sequence[Array] = ()
    shapes: Shapes = ()
    error: Exception | None = None


class Group(Generic[T]):
    """Items that run together: those of one shape, and between them those that do not run at all.

    Attributes:
        entries: the items in order.
    """

    __slots__ = ("_first", "entries")

    def __init__(self) -> None:
        self.entries: list[Entry[T]] = []
        self._first: Entry[T] | None = None

    def takes(self, entry: Entry[T]) -> bool:
        """Whether an item may join."""
        return entry.error is not None or self._first is None or entry.shapes == self._first.shapes

    def add(self, entry: Entry[T]) -> None:
        """Let an item join that may."""
        self.entries.append(entry)
        if entry.error is None:
            self._first = self._first or entry

    @property
    def is_full(self) -> bool:
        """Whether it holds as many as run together; what does not run counts too, so that little is read ahead."""
        return len(self.entries) >= (self._first or self.entries[0]).limit

    @property
    def sound(self) -> list[Entry[T]]:
        """The items that run."""
        return [entry for entry in self.entries if entry.error is None]


class Entries:
    """What items are to one model.

    Attributes:
        rows: how many of them its runs hold.
    """

    __slots__ = ("_arguments", "_limit", "_shapes", "_usual", "rows")

    def __init__(self, model: Model, batch: int | None) -> None:
        """Look at what the model takes; raises what `Rows` raises."""
        label = model._label()
        self.rows = Rows(model.signature, batch, label)
        self._arguments = Arguments(
            item_signature(model.signature), f"an item of {label}", model._context.memory, model._variants
        )
        self._shapes: Shapes = ()
        self._usual: list[tuple[tuple[int, ...], Any]] = []
        self._limit = self.rows.batch

    def entry(self, item: T, place: int) -> Entry[T]:
        """Return an item with the arrays that the model takes of it, or with the reason why it takes none.

        A tuple has one for each input in order, a mapping by name; anything else is the only one.
        """
        given: tuple[Any, ...] = item if isinstance(item, tuple) else (item,)
        if self._are_usual(given):
            return Entry(item, place, self._limit, given, self._shapes)
        try:
            arrays = self._arguments.hosts(*(((), item) if isinstance(item, Mapping) else (given, {})))
            shapes = tuple([array.shape for array in arrays])
            self._limit = self.rows.limit(shapes)
        except AclError as error:
            return Entry(item, place, self.rows.batch, error=located(error, place))
        self._shapes, self._usual = shapes, [(array.shape, array.dtype) for array in arrays]
        return Entry(item, place, self._limit, arrays, shapes)

    def _are_usual(self, given: tuple[Any, ...]) -> bool:
        """Whether these are arrays like those of the last item that was looked at closely, and that was sound."""
        if len(given) != len(self._usual):
            return False
        for array, (shape, dtype) in zip(given, self._usual, strict=True):
            if type(array) is not np.ndarray or array.shape != shape or array.dtype != dtype:
                return False
        return True


def located(error: Exception, place: int) -> Exception:
    """Note on an error whose it is."""
    add_note(error, f"item {place} of map(), the first being item 0")
    return error
