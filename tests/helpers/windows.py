"""Windows over planes and what pooling makes of them, in loops written from the operators' documentation."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from hypothesis import strategies as st

from aacl.abc import Array


class Line(NamedTuple):
    """Windows along one axis."""

    length: int
    size: int
    stride: int
    before: int
    after: int
    ceil: bool
    dilation: int = 1

    @property
    def windows(self) -> list[list[int]]:
        """The places of each window's elements; those outside the axis are padding."""
        extent, found = (self.size - 1) * self.dilation + 1, list[list[int]]()
        start = -self.before
        while start + extent <= self.length + self.after:
            found.append([start + index * self.dilation for index in range(self.size)])
            start += self.stride
        is_cut = (self.length + self.after + self.before - extent) % self.stride != 0
        if self.ceil and is_cut and start < self.length:
            found.append([start + index * self.dilation for index in range(self.size)])
        return found


def same_line(length: int, size: int, stride: int) -> Line:
    """TensorFlow's SAME: as many windows as strides, the odd element of padding at the end."""
    total = max((math.ceil(length / stride) - 1) * stride + size - length, 0)
    return Line(length, size, stride, total // 2, total - total // 2, False)


class Cell(NamedTuple):
    """One window of one plane."""

    target: tuple[int, ...]
    places: list[tuple[int, ...]]
    """Its elements that are no padding, in the array."""
    covered: int
    """How many it has with the padding, which ends where the attribute says."""


def cells_of(shape: tuple[int, ...], lines: list[Line]) -> list[Cell]:
    """Return every window of every plane of an array ``(N, C, ...)``."""
    found = []
    for lead in np.ndindex(shape[:2]):
        for index in np.ndindex(*(len(line.windows) for line in lines)):
            along = [line.windows[place] for line, place in zip(lines, index, strict=True)]
            every = [tuple(int(axis[i]) for axis, i in zip(along, inner, strict=True))
                     for inner in np.ndindex(*(len(axis) for axis in along))]  # fmt: skip
            inside = [place for place in every
                      if all(0 <= p < line.length for p, line in zip(place, lines, strict=True))]  # fmt: skip
            padded = [place for place in every
                      if all(p < line.length + line.after for p, line in zip(place, lines, strict=True))]  # fmt: skip
            found.append(Cell((*lead, *index), [(*lead, *place) for place in inside], len(padded)))
    return found


def counts_of(lines: list[Line]) -> tuple[int, ...]:
    """Return how many windows there are along each axis."""
    return tuple(len(line.windows) for line in lines)


def maximum_over(x: Array, lines: list[Line]) -> Array:
    """Return the largest element of each window."""
    out = np.empty(x.shape[:2] + counts_of(lines), x.dtype)
    for cell in cells_of(x.shape, lines):
        out[cell.target] = max(x[place] for place in cell.places)
    return out


def average_over(x: Array, lines: list[Line], divide: Callable[[Cell], float]) -> Array:
    """Return the sum of each window, over what ``divide`` makes of it."""
    out = np.empty(x.shape[:2] + counts_of(lines))
    for cell in cells_of(x.shape, lines):
        out[cell.target] = sum(float(x[place]) for place in cell.places) / divide(cell)
    return out


@st.composite
def planes(draw: st.DrawFn, count: int = 2, ceil: bool = True) -> tuple[Array, list[Line]]:
    """An array ``(N, C, ...)`` and windows that fit it; padding is less than a window."""
    lines = []
    has_ceil = ceil and draw(st.booleans())
    for _ in range(count):
        size, stride = draw(st.integers(1, 3)), draw(st.integers(1, 3))
        before, after = draw(st.integers(0, size // 2)), draw(st.integers(0, size // 2))
        lines.append(Line(size + draw(st.integers(0, 4)), size, stride, before, after, has_ceil))
    shape = (draw(st.integers(1, 2)), draw(st.integers(1, 3)), *(line.length for line in lines))
    random = np.random.default_rng(draw(st.integers(0, 99)))
    return random.integers(-9, 9, shape) / 4, lines


def attributes_of(lines: list[Line], **others: Any) -> dict[str, Any]:
    """Return the attributes of an operator that has these windows, channels being the second axis."""
    return {
        "ksize": (1, 1, *(line.size for line in lines)),
        "strides": (1, 1, *(line.stride for line in lines)),
        "pads": [pad for line in lines for pad in (line.before, line.after)],
        "ceil_mode": lines[0].ceil,
        **others,
    }


def channels_last(x: Array) -> Array:
    """Return the array with its channels as the last axis."""
    return np.moveaxis(x, 1, -1)


def turned_last(attributes: dict[str, Any], layout: str) -> dict[str, Any]:
    """Return attributes for the layout with channels last."""
    moved = {name: (1, *attributes[name][2:], 1) for name in ("ksize", "strides")}
    return attributes | moved | {"data_format": layout}
