"""Operators that write updates at indices.

Every index is checked before anything is written; one outside its axis is an error that names it. Several
updates of one place are combined, or the last one stays. The operators in place (``var`` in, ``var`` out)
write into the output, which starts as a copy of ``var`` unless it is the same memory.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from aacl.backends.cpu.kernels._places import axis_of, check_indices, element_places, row_places
from aacl.backends.cpu.kernels._quiet import quiet
from aacl.backends.cpu.kernels._registry import elements, given, integers, kernel, prepared, refuse_dtype, require_shape
from aacl.backends.cpu.kernels._rows import COMBINATIONS, put_rows, started
from aacl.dtypes import DataType
from aacl.errors import InvalidArgument, NotSupported

if TYPE_CHECKING:
    from aacl.abc import Array, Kernel, KernelRequest
    from aacl.backends.cpu.kernels._registry import Body
    from aacl.backends.cpu.kernels._rows import Combination

__all__ = ()

_COMPLEX = {DataType.COMPLEX64, DataType.COMPLEX128}
_REDUCTIONS = {"none": None, "add": "Add", "mul": "Mul"}


def _combination(request: KernelRequest) -> Combination | None:
    """Return what the end of an operator's name asks for."""
    name = request.op_type.removesuffix("WithAxis")[-3:]
    if name in ("Max", "Min") and given(request, 0).dtype in _COMPLEX:
        raise refuse_dtype(request, "real dtypes")
    return COMBINATIONS.get(name)


@kernel("ScatterUpdate", *(f"Scatter{name}" for name in COMBINATIONS))
def _scatter(request: KernelRequest) -> Kernel:
    """Rows along axis 0; the updates are one for each index, or a single number for all."""
    shape, combination = given(request, 0).shape, _combination(request)
    if not shape:
        raise InvalidArgument(f"operator {request.op_type}: var needs one dim at least")

    def body(var: Array, indices: Array, updates: Array, out: Array) -> None:
        check_indices(indices, shape[0], 0)
        indices, updates = started(out, var, indices, updates)
        width = math.prod(shape[1:])
        new = updates.reshape(indices.size, width) if updates.ndim else np.broadcast_to(updates, (indices.size, width))
        put_rows(out.reshape(shape[0], width), indices.reshape(-1), new, combination)

    return _in_place(request, body)


@kernel("ScatterAddWithAxis", "ScatterElements", "ScatterElementsV2")
def _scatter_elements(request: KernelRequest) -> Kernel:
    """As ONNX ScatterElements: each index replaces its own coordinate along ``axis``; it may count from the end."""
    shape, places = given(request, 0).shape, given(request, 1).shape
    axis = axis_of(request, request.attributes["axis"], len(shape))
    if len(places) != len(shape) or any(
        size > dim for other, (size, dim) in enumerate(zip(places, shape, strict=False)) if other != axis
    ):
        raise InvalidArgument(f"operator {request.op_type}: indices {places} reach beyond {shape}")
    combination = COMBINATIONS["Add"] if request.op_type == "ScatterAddWithAxis" else _reduction(request)

    def body(data: Array, indices: Array, updates: Array, out: Array) -> None:
        check_indices(indices, shape[axis], axis, True)
        indices, updates = started(out, data, indices, updates)
        put_rows(out.reshape(-1, 1), element_places(indices, shape, axis), updates.reshape(-1, 1), combination)

    return _in_place(request, body)


def _reduction(request: KernelRequest) -> Combination | None:
    name = request.attributes["reduction"]
    if name not in _REDUCTIONS:
        raise NotSupported(
            f"operator {request.op_type}: reduction is {name!r}; the cpu device has {', '.join(_REDUCTIONS)}"
        )
    found = _REDUCTIONS[name]
    return None if found is None else COMBINATIONS[found]


@kernel(
    *("ScatterNdUpdate", "ScatterNdAdd", "ScatterNdSub", "ScatterNdMax", "ScatterNdMin"),
    *("TensorScatterUpdate", "TensorScatterAdd", "TensorScatterSub", "TensorScatterMax", "TensorScatterMin"),
    "ScatterNonAliasingAdd",
)
def _scatter_nd(request: KernelRequest) -> Kernel:
    """The last dim of the indices addresses the leading dims."""
    combination = _combination(request)
    inner = _tuples(request, given(request, 0).shape, given(request, 1).shape, combination)

    def body(var: Array, indices: Array, updates: Array, out: Array) -> None:
        rows = inner.rows(indices)
        (updates,) = started(out, var, updates)
        inner.put(out, rows, updates)

    return _in_place(request, body)


@kernel("ScatterNd")
def _scatter_new(request: KernelRequest) -> Kernel:
    """Into zeros; several updates of one place add up, as TensorFlow documents."""
    inner = _tuples(request, request.outputs[0].shape, given(request, 0).shape, COMBINATIONS["Add"])

    def body(indices: Array, x: Array, shape: Array, out: Array) -> None:
        require_shape("ScatterNd", integers(shape), out)
        rows = inner.rows(indices)
        out.fill(0)
        inner.put(out, rows, x)

    return prepared(request, quiet(body, 4), elements(given(request, 1)))


@kernel("ScatterNdD")
def _scatter_new_attribute(request: KernelRequest) -> Kernel:
    inner = _tuples(request, request.outputs[0].shape, given(request, 0).shape, COMBINATIONS["Add"])

    def body(indices: Array, x: Array, out: Array) -> None:
        rows = inner.rows(indices)
        out.fill(0)
        inner.put(out, rows, x)

    return prepared(request, quiet(body, 3), elements(given(request, 1)))


class _Tuples:
    """Index tuples that address the leading dims of an array."""

    __slots__ = ("_combination", "_lengths", "_width")

    def __init__(self, shape: tuple[int, ...], depth: int, combination: Combination | None) -> None:
        self._lengths, self._width = shape[:depth], math.prod(shape[depth:])
        self._combination = combination

    def rows(self, indices: Array) -> Array:
        """Return row numbers; raises IndexError where one lies outside."""
        return row_places(indices, self._lengths)

    def put(self, out: Array, rows: Array, updates: Array) -> None:
        """Combine the rows of an output with updates."""
        target = out.reshape(math.prod(self._lengths), self._width)
        put_rows(target, rows, updates.reshape(rows.size, self._width), self._combination)


def _tuples(
    request: KernelRequest, shape: tuple[int, ...], indices: tuple[int, ...], combination: Combination | None
) -> _Tuples:
    if not indices or indices[-1] > len(shape):
        raise InvalidArgument(f"operator {request.op_type}: indices {indices} address more dims than {shape} has")
    return _Tuples(shape, indices[-1], combination)


@kernel("Scatter")
def _scatter_slots(request: KernelRequest) -> Kernel:
    """Put each batch's updates at its own offset along ``axis``, as a key-value cache is filled.

    ``var[b, ..., indices[b] : indices[b] + n, ...] = updates[b]`` with n the updates' dim ``axis``; indices of two
    columns name the batch of ``var`` first. The rule is that of MindSpore's in-place scatter update, which the header
    names as the origin.
    """
    if request.attributes["reduce"] not in ("none", "update"):
        raise NotSupported(f"operator Scatter: reduce is {request.attributes['reduce']!r}; the cpu device has 'update'")
    shape, new = given(request, 0).shape, given(request, 2).shape
    axis = axis_of(request, request.attributes["axis"], len(shape))
    if not axis:
        raise InvalidArgument("operator Scatter: axis 0 holds the batches; the updates go along another one")
    count = new[axis]
    if count > shape[axis]:
        raise InvalidArgument(f"operator Scatter: updates {new} are longer along axis {axis} than var {shape}")
    part = tuple(slice(size) for size in new[1:axis])
    tail = tuple(slice(size) for size in new[axis + 1 :])

    def body(var: Array, indices: Array, updates: Array, out: Array) -> None:
        pairs = indices if indices.ndim == 2 else np.stack([np.arange(indices.size), indices], 1)
        check_indices(pairs[:, 0], shape[0], 0)
        check_indices(pairs[:, 1], shape[axis] - count + 1, axis)
        (updates,) = started(out, var, updates)
        for number, (batch, start) in enumerate(pairs.tolist()):
            out[(batch, *part, slice(start, start + count), *tail)] = updates[number]

    return _in_place(request, body)


def _in_place(request: KernelRequest, body: Body) -> Kernel:
    return prepared(request, quiet(body, 4), elements(given(request, 2)), in_place=True)
