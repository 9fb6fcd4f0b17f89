"""Operators that update rows along one axis, or the places that index tensors name.

Indices are checked before anything is written; see `scattering` for what several updates of one place do.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from aacl.backends.cpu.kernels._places import axis_of, check_indices, element_places
from aacl.backends.cpu.kernels._quiet import quiet
from aacl.backends.cpu.kernels._registry import elements, given, kernel, prepared
from aacl.backends.cpu.kernels._rows import COMBINATIONS, put_rows, started
from aacl.errors import InvalidArgument

if TYPE_CHECKING:
    from aacl.abc import Array, Kernel, KernelRequest
    from aacl.backends.cpu.kernels._rows import Combination

__all__ = ()


def _combination(request: KernelRequest) -> Combination | None:
    return COMBINATIONS.get(request.op_type.removesuffix("D")[-3:])


@kernel("InplaceUpdate", "InplaceAdd", "InplaceSub")
def _rows(request: KernelRequest) -> Kernel:
    """Rows along axis 0, one update for each index."""
    combination, shape = _combination(request), given(request, 0).shape

    def body(x: Array, indices: Array, v: Array, out: Array) -> None:
        check_indices(indices, shape[0], 0)
        indices, v = started(out, x, indices, v)
        _put_along(out, 0, indices.reshape(-1), v, combination)

    return prepared(request, quiet(body, 4), elements(given(request, 2)), in_place=True)


@kernel("InplaceUpdateD", "InplaceAddD", "InplaceSubD")
def _rows_attribute(request: KernelRequest) -> Kernel:
    combination, shape = _combination(request), given(request, 0).shape
    places = np.array(request.attributes["indices"], np.int64)
    if places.size and not 0 <= places.min() <= places.max() < shape[0]:
        raise InvalidArgument(f"operator {request.op_type}: indices {tuple(places.tolist())} lie outside {shape}")

    def body(x: Array, v: Array, out: Array) -> None:
        (v,) = started(out, x, v)
        _put_along(out, 0, places, v, combination)

    return prepared(request, quiet(body, 3), elements(given(request, 1)), in_place=True)


@kernel("IndexAdd", "InplaceIndexAdd")
def _index_add(request: KernelRequest) -> Kernel:
    """As torch's index_add: ``var`` along ``axis`` plus ``alpha`` times the updates; the indices are 1-D."""
    shape = given(request, 0).shape
    axis = axis_of(request, request.attributes["axis"], len(shape))

    def body(var: Array, indices: Array, updates: Array, *others: Array | None) -> None:
        out, alpha = others[-1], others[0] if len(others) > 1 else None
        assert out is not None
        check_indices(indices, shape[axis], axis)
        indices, updates = started(out, var, indices, updates)
        if alpha is not None:
            updates = np.multiply(updates, alpha.reshape(()).astype(updates.dtype))
        _put_along(out, axis, indices.reshape(-1), updates, COMBINATIONS["Add"])

    return prepared(request, quiet(body, len(request.inputs) + 1), elements(given(request, 2)), in_place=True)


def _put_along(out: Array, axis: int, places: Array, updates: Array, combination: Combination | None) -> None:
    if axis == 0:
        width = math.prod(out.shape[1:])
        put_rows(out.reshape(out.shape[0], width), places, updates.reshape(places.size, width), combination)
        return
    column = places.reshape((-1,) + (1,) * (out.ndim - 1 - axis))
    flat = element_places(np.broadcast_to(column, updates.shape), out.shape, axis)
    put_rows(out.reshape(-1, 1), flat, updates.reshape(-1, 1), combination)


@kernel("ArgMaxGrad", "ArgMaxGradD")
def _arg_max_grad(request: KernelRequest) -> Kernel:
    """``var`` with one update along ``dimension`` for each other place, where the index says."""
    shape = given(request, 0).shape
    axis = axis_of(request, request.attributes["dimension"], len(shape), "dimension")

    def body(var: Array, indices: Array, updates: Array, *others: Array) -> None:
        out = others[-1]
        check_indices(indices, shape[axis], axis)
        indices, updates = started(out, var, indices, updates)
        kept = (*shape[:axis], 1, *shape[axis + 1 :])
        np.put_along_axis(out, indices.reshape(kept), updates.reshape(kept), axis)

    return prepared(request, body, elements(given(request, 2)), in_place=True)


@kernel("IndexFillD")
def _index_fill(request: KernelRequest) -> Kernel:
    """``x`` times the first helper plus the second: 0 and the value at the places to fill, 1 and 0 elsewhere."""

    def body(x: Array, kept: Array, filled: Array, out: Array) -> None:
        np.copyto(out, np.where(kept != 0, x, filled))

    return prepared(request, body, 2 * elements(given(request, 0)))


@kernel("IndexByTensor")
def _index_by_mask(request: KernelRequest) -> Kernel:
    """As Index, with the marks an attribute; none mark the first dims."""
    shape, count = given(request, 0).shape, len(request.inputs) - 1
    marks = np.array(request.attributes["indices_mask"] or (1,) * count, np.int64)

    def body(x: Array, *others: Array) -> None:
        np.copyto(others[-1], x[_place(request, shape, marks, others[:-1])])

    return prepared(request, body)


@kernel("Index", "IndexPutV2")
def _index(request: KernelRequest) -> Kernel:
    """Torch's advanced indexing, reading and writing.

    ``indexed_sizes`` holds 1 for each dim that has an index tensor, else 0; the index tensors broadcast, and
    negative ones count from the end. ``indexed_strides`` describes the same to the device and is not read.
    """
    is_put = request.op_type == "IndexPutV2"
    shape = given(request, 0).shape

    def body(x: Array, *others: Array) -> None:
        out, sizes, tensors = others[-1], others[int(is_put)], others[int(is_put) + 2 : -1]
        place = _place(request, shape, sizes, tensors)
        if not is_put:
            picked = x[place]
            if picked.shape != out.shape:
                raise InvalidArgument(
                    f"operator Index: the indices pick shape {picked.shape}; the output has {out.shape}"
                )
            np.copyto(out, picked)
            return
        _require_spread(others[0].shape, np.shape(out[place]))
        (value,) = started(out, x, others[0])
        if request.attributes["accumulate"]:
            _accumulate(out, place, value)
        else:
            out[place] = value

    return prepared(request, quiet(body, len(request.inputs) + 1), elements(request.outputs[0]), in_place=is_put)


def _require_spread(value: tuple[int, ...], target: tuple[int, ...]) -> None:
    if len(value) > len(target) or any(a not in (1, b) for a, b in zip(value[::-1], target[::-1], strict=False)):
        raise InvalidArgument(f"operator IndexPutV2: a value of shape {value} does not fit what is indexed, {target}")


def _place(
    request: KernelRequest, shape: tuple[int, ...], sizes: Array, tensors: tuple[Array, ...]
) -> tuple[Array | slice, ...]:
    marks = [bool(size) for size in sizes.reshape(-1).tolist()]
    if len(marks) > len(shape) or sum(marks) != len(tensors):
        raise InvalidArgument(
            f"operator {request.op_type}: indexed_sizes {marks} does not name {len(tensors)} of the dims of {shape}"
        )
    rest = iter(tensors)
    place: list[Array | slice] = []
    for axis, is_indexed in enumerate(marks):
        if is_indexed:
            tensor = next(rest)
            check_indices(tensor, shape[axis], axis, True)
            place.append(np.where(tensor < 0, tensor + shape[axis], tensor))
        else:
            place.append(slice(None))
    return tuple(place)


def _accumulate(out: Array, place: tuple[Array | slice, ...], value: Array) -> None:
    numbers = np.arange(out.size, dtype=np.int64).reshape(out.shape)[place]
    put_rows(
        out.reshape(-1, 1), numbers.reshape(-1), np.broadcast_to(value, numbers.shape).reshape(-1, 1),
        COMBINATIONS["Add"],
    )  # fmt: skip
