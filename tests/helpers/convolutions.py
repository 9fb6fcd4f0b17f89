"""Small convolutions, and their results and gradients in loops written from the definition."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from hypothesis import strategies as st

from aacl.abc import Array


class Case(NamedTuple):
    """A convolution; arrays are in the order N, C, spatial axes."""

    x: Array
    filters: Array
    strides: tuple[int, ...]
    dilations: tuple[int, ...]
    pads: tuple[int, ...]
    groups: int

    @property
    def attributes(self) -> dict[str, Any]:
        count = len(self.strides)
        return {
            "strides": (1, 1, *self.strides),
            "dilations": (1, 1, *self.dilations),
            "pads": self.pads,
            "groups": self.groups,
            "data_format": "NCHW" if count == 2 else "NCDHW",
        }


def _windows(case: Case) -> tuple[tuple[int, ...], Callable[[tuple[int, ...]], tuple[slice, ...]]]:
    """Return how many windows there are, and where one lies in the padded input."""
    sizes, befores, afters = case.filters.shape[2:], case.pads[::2], case.pads[1::2]
    extents = [(size - 1) * rate + 1 for size, rate in zip(sizes, case.dilations, strict=True)]
    counts = tuple(
        (length + before + after - extent) // stride + 1
        for length, before, after, extent, stride in zip(
            case.x.shape[2:], befores, afters, extents, case.strides, strict=True
        )
    )

    def place(position: tuple[int, ...]) -> tuple[slice, ...]:
        return tuple(
            slice(index * stride, index * stride + extent, rate)
            for index, stride, extent, rate in zip(position, case.strides, extents, case.dilations, strict=True)
        )

    return counts, place


def _padded(case: Case) -> Array:
    around = [(0, 0), (0, 0), *zip(case.pads[::2], case.pads[1::2], strict=True)]
    return np.pad(case.x.astype(np.float64), around)


def _each(case: Case) -> Any:
    """Yield each output channel's group, filter and windows: what a convolution is made of."""
    counts, place = _windows(case)
    part, share = case.filters.shape[1], case.filters.shape[0] // case.groups
    for image, channel in np.ndindex(len(case.x), len(case.filters)):
        inputs = slice(channel // share * part, (channel // share + 1) * part)
        for position in np.ndindex(*counts):
            yield (image, channel, *position), (image, inputs, *place(position)), channel


def forward(case: Case) -> Array:
    """Return what the convolution gives, in float64."""
    padded, filters = _padded(case), case.filters.astype(np.float64)
    out = np.zeros((len(case.x), len(filters), *_windows(case)[0]))
    for target, source, channel in _each(case):
        out[target] = (padded[source] * filters[channel]).sum()
    return out


def backward(case: Case, outer: Array) -> tuple[Array, Array]:
    """Return the gradients of the input and of the filters."""
    padded, filters = _padded(case), case.filters.astype(np.float64)
    inner, gradient = np.zeros(padded.shape), np.zeros(filters.shape)
    for target, source, channel in _each(case):
        inner[source] += float(outer[target]) * filters[channel]
        gradient[channel] += float(outer[target]) * padded[source]
    crop: Any = tuple(slice(start, start + size) for start, size in zip(case.pads[::2], case.x.shape[2:], strict=True))
    return inner[(slice(None), slice(None), *crop)], gradient


@st.composite
def cases(draw: st.DrawFn, spatial: int = 2) -> Case:
    """Small convolutions in which a window fits."""
    groups, part, share = draw(st.integers(1, 2)), draw(st.integers(1, 2)), draw(st.integers(1, 2))
    sizes, strides, dilations, lengths, pads = [], [], [], [], []
    for _ in range(spatial):
        sizes.append(draw(st.integers(1, 3)))
        strides.append(draw(st.integers(1, 3)))
        dilations.append(draw(st.integers(1, 2)))
        pads += [draw(st.integers(0, 2)), draw(st.integers(0, 2))]
        lengths.append((sizes[-1] - 1) * dilations[-1] + 1 + draw(st.integers(0, 3)))
    random = np.random.default_rng(draw(st.integers(0, 99)))
    x = random.uniform(-1, 1, (draw(st.integers(1, 2)), groups * part, *lengths))
    filters = random.uniform(-1, 1, (groups * share, part, *sizes))
    return Case(x, filters, tuple(strides), tuple(dilations), tuple(pads), groups)


def typed(case: Case, dtype: np.dtype[Any]) -> Case:
    """Return the case with arrays of a dtype."""
    return case._replace(x=case.x.astype(dtype), filters=case.filters.astype(dtype))


GOOD: dict[str, Any] = {"strides": (1, 1, 1, 1), "pads": (0, 0, 0, 0), "data_format": "NCHW"}
"""Attributes that fit, for tests of others that do not."""
