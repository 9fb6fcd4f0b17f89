"""Libraries of features, in repositories by two ids. Pure: no memory of programs, no thread, no clock.

A feature has a place, its offset in its repository, which it keeps whatever becomes of the others. Offsets may leave
gaps. Every change is checked first: one that is refused changes nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from aacl.errors import InvalidArgument
from acl.fv._limits import FEATURE_NBYTES

if TYPE_CHECKING:
    from collections.abc import Iterator

    import aacl

__all__ = ("Library", "Piece", "Place", "RepoRange", "Repository")

_BLOCK = 4096  # offsets that are kept together

Key = tuple[int, int]
"""(id0, id1) of a repository."""


class RepoRange(NamedTuple):
    """Repositories whose ids lie between two, both included."""

    id0_min: int
    id0_max: int
    id1_min: int
    id1_max: int

    def has(self, key: Key) -> bool:
        """Whether a repository is one of them."""
        id0, id1 = key
        return self.id0_min <= id0 <= self.id0_max and self.id1_min <= id1 <= self.id1_max


class Place(NamedTuple):
    """Where features that follow one another are kept.

    Attributes:
        id0: the repository's first id.
        id1: its second one.
        offset: of the first feature.
        size: how many there are.
    """

    id0: int
    id1: int
    offset: int
    size: int

    @property
    def key(self) -> Key:
        """The repository's ids."""
        return self.id0, self.id1

    def __str__(self) -> str:
        last = self.offset + self.size - 1
        return f"offsets {self.offset} to {last} of repository ({self.id0}, {self.id1})"


class Piece(NamedTuple):
    """Features of one repository, in the order of their offsets.

    Attributes:
        key: the repository's ids.
        offsets: where they are.
        features: 36 bytes a row.
    """

    key: Key
    offsets: aacl.abc.Array
    features: aacl.abc.Array


class _Block:
    """The features at 4096 offsets, with memory up to the last one that was ever there.

    Attributes:
        taken: at which there are any.
        features: 36 bytes a row.
    """

    __slots__ = ("features", "taken")

    def __init__(self) -> None:
        self.taken = np.zeros(0, np.bool_)
        self.features = np.empty((0, FEATURE_NBYTES), np.uint8)

    def reserve(self, end: int) -> None:
        """Have memory for the offsets before ``end``; it doubles, so that many additions cost no more than one."""
        if end > len(self.taken):
            room = min(_BLOCK, max(end, 2 * len(self.taken)))
            taken, features = np.zeros(room, np.bool_), np.empty((room, FEATURE_NBYTES), np.uint8)
            taken[: len(self.taken)], features[: len(self.taken)] = self.taken, self.features
            self.taken, self.features = taken, features


class Repository:
    """The features of one pair of ids."""

    __slots__ = ("_blocks", "count")

    def __init__(self) -> None:
        self.count = 0
        self._blocks: dict[int, _Block] = {}

    def add(self, place: Place, features: aacl.abc.Array) -> None:
        """Keep features; raises `InvalidArgument` if one of the offsets is taken."""
        for number, slots, _ in _parts(place):
            block = self._blocks.get(number)
            if block is not None and block.taken[slots].any():
                raise InvalidArgument(
                    f"there are features at {place} already; change them with acl.fv.modify, or delete them first"
                )
        for number, slots, _ in _parts(place):  # memory that there is not leaves all as it was
            self._blocks.setdefault(number, _Block()).reserve(slots.stop)
        for number, slots, rows in _parts(place):
            block = self._blocks[number]
            block.taken[slots], block.features[slots] = True, features[rows]
        self.count += place.size

    def has(self, place: Place) -> bool:
        """Whether there is a feature at each offset."""
        return place.size <= self.count and all(self._has(number, slots) for number, slots, _ in _parts(place))

    def _has(self, number: int, slots: slice) -> bool:
        block = self._blocks.get(number)
        return block is not None and slots.stop <= len(block.taken) and bool(block.taken[slots].all())

    def modify(self, place: Place, features: aacl.abc.Array) -> None:
        """Put others in the place of features that are there."""
        for number, slots, rows in _parts(place):
            self._blocks[number].features[slots] = features[rows]

    def delete(self, place: Place) -> None:
        """Keep features that are there no more; the others stay where they are."""
        for number, slots, _ in _parts(place):
            block = self._blocks[number]
            block.taken[slots] = False
            if not block.taken.any():
                del self._blocks[number]
        self.count -= place.size

    def pieces(self, key: Key) -> Iterator[Piece]:
        """Return the features, ``key`` being the repository's ids."""
        for number, block in sorted(self._blocks.items()):
            slots = np.flatnonzero(block.taken)
            features = block.features if len(slots) == len(block.taken) else block.features[slots]
            yield Piece(key, slots + number * _BLOCK, features)


def _parts(place: Place) -> Iterator[tuple[int, slice, slice]]:
    """Return the blocks of a place, the slots in each, and which of the features these are."""
    end = place.offset + place.size
    for number in range(place.offset // _BLOCK, (end - 1) // _BLOCK + 1):
        base = number * _BLOCK
        first, last = max(place.offset, base), min(end, base + _BLOCK)
        yield number, slice(first - base, last - base), slice(first - place.offset, last - place.offset)


class Library:
    """The repositories of one kind of search."""

    __slots__ = ("_repositories", "count")

    def __init__(self) -> None:
        self.count = 0
        self._repositories: dict[Key, Repository] = {}

    def add(self, place: Place, features: aacl.abc.Array) -> None:
        """Keep features, in a repository that begins with them if there is none; raises as `Repository.add` does."""
        repository = self._repositories.get(place.key, Repository())
        repository.add(place, features)
        self._repositories[place.key] = repository
        self.count += place.size

    def has(self, place: Place) -> bool:
        """Whether there is a feature at each offset."""
        repository = self._repositories.get(place.key)
        return repository is not None and repository.has(place)

    def modify(self, place: Place, features: aacl.abc.Array) -> None:
        """Put others in the place of features that are there."""
        self._repositories[place.key].modify(place, features)

    def delete(self, place: Place) -> None:
        """Keep features that are there no more, nor a repository that is empty then."""
        repository = self._repositories[place.key]
        repository.delete(place)
        self.count -= place.size
        if not repository.count:
            del self._repositories[place.key]

    def drop(self, span: RepoRange) -> None:
        """Keep the repositories of a range no more."""
        self._repositories = {key: each for key, each in self._repositories.items() if not span.has(key)}
        self.count = sum(each.count for each in self._repositories.values())

    def within(self, span: RepoRange) -> Iterator[Piece]:
        """Return the features of a range, in the order of ids and offsets."""
        for key in sorted(filter(span.has, self._repositories)):
            yield from self._repositories[key].pieces(key)
