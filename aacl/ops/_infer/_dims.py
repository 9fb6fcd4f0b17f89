"""Dims as intervals, so that one arithmetic serves fixed, bounded and free dims."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from aacl.tensors._desc import UNKNOWN_RANK

if TYPE_CHECKING:
    from collections.abc import Iterable

    from aacl.tensors._desc import TensorDesc

__all__ = ("FREE", "Dim", "Shape", "bounds", "broadcast", "fixed", "product", "shape_of", "shown", "written")

_INF = math.inf


class Dim(NamedTuple):
    """What is known of a dim: it lies between ``least`` and ``most``."""

    least: int
    most: float

    @property
    def is_fixed(self) -> bool:
        return self.least == self.most

    def __repr__(self) -> str:
        return str(written(self))

    def plus(self, other: Dim) -> Dim:
        """Return what is known of the sum."""
        return Dim(self.least + other.least, self.most + other.most)

    def shifted(self, amount: int) -> Dim:
        """Return what is known of the dim plus a number, which never goes below 0."""
        return Dim(max(self.least + amount, 0), max(self.most + amount, 0))

    def times(self, other: Dim) -> Dim:
        """Return what is known of the product."""
        most = 0.0 if 0 in (self.most, other.most) else self.most * other.most
        return Dim(self.least * other.least, most if most == _INF else int(most))

    def meets(self, other: Dim) -> Dim | None:
        """Return what is known of a dim that equals both, None when they cannot be equal."""
        both = Dim(max(self.least, other.least), min(self.most, other.most))
        return both if both.least <= both.most else None

    def joined(self, other: Dim) -> Dim:
        """Return what is known of a dim that equals one of both."""
        return Dim(min(self.least, other.least), max(self.most, other.most))


Shape: TypeAlias = tuple[Dim, ...] | None
"""A dim for each axis; None for an unknown rank."""

FREE = Dim(0, _INF)


def fixed(*sizes: int) -> tuple[Dim, ...]:
    """Return dims of known sizes."""
    return tuple(Dim(size, size) for size in sizes)


def shape_of(desc: TensorDesc) -> Shape:
    """Return the dims of a description, its ranges read."""
    if desc.shape == UNKNOWN_RANK:
        return None
    ranges = desc.ranges or ((0, -1),) * len(desc.shape)
    return tuple(
        Dim(size, size) if size >= 0 else Dim(least, _INF if most < 0 else most)
        for size, (least, most) in zip(desc.shape, ranges, strict=True)
    )


def written(dim: Dim) -> int:
    """Return a dim as descriptions write it: -1 when it is not fixed."""
    return dim.least if dim.is_fixed else -1


def shown(shape: Shape) -> str:
    """Return a shape as error texts show it."""
    return "of unknown rank" if shape is None else str(tuple(map(written, shape)))


def bounds(shape: tuple[Dim, ...]) -> tuple[tuple[int, int], ...]:
    """Return the ranges of a description: none when nothing is known beyond the dims themselves."""
    if all(dim.is_fixed or dim == FREE for dim in shape):
        return ()
    return tuple((dim.least, -1 if dim.most == _INF else int(dim.most)) for dim in shape)


def product(dims: Iterable[Dim]) -> Dim:
    """Return what is known of the product of dims."""
    total = Dim(1, 1)
    for dim in dims:
        total = total.times(dim)
    return total


def _broadcast_dim(left: Dim, right: Dim) -> Dim | None:
    """Return what is known of two dims broadcast, None when they cannot be: equal, or one of them 1."""
    if left.least == left.most == 1:
        return right
    if right.least == right.most == 1:
        return left
    # A dim that is surely not 1 is the result; the other one equals it, or is 1.
    sure = [dim for dim in (left, right) if dim.least > 1 or dim.most < 1]
    if len(sure) == 2:
        return left.meets(right)
    if not sure:
        return left.joined(right)
    other = right if sure[0] is left else left
    return sure[0] if other.least <= 1 <= other.most else sure[0].meets(other)


def broadcast(left: tuple[Dim, ...], right: tuple[Dim, ...]) -> tuple[Dim, ...] | None:
    """Return what is known of two shapes broadcast by NumPy's rule, None when they cannot be."""
    rank, one = max(len(left), len(right)), (Dim(1, 1),)
    pairs = zip(one * (rank - len(left)) + left, one * (rank - len(right)) + right, strict=True)
    dims = [_broadcast_dim(*pair) for pair in pairs]
    known = tuple(dim for dim in dims if dim is not None)
    return known if len(known) == rank else None
