"""Operators that move elements along an axis, or repeat them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from aacl.backends.cpu.kernels._places import axis_of, check_indices
from aacl.backends.cpu.kernels._precision import compute_dtype
from aacl.backends.cpu.kernels._quiet import quiet
from aacl.backends.cpu.kernels._registry import (
    elements,
    given,
    integers,
    kernel,
    prepared,
    require_shape,
    with_integers,
)
from aacl.errors import InvalidArgument

if TYPE_CHECKING:
    from collections.abc import Sequence

    from aacl.abc import Array, Kernel, KernelRequest
    from aacl.backends.cpu.kernels._registry import Body

__all__ = ()

_NO_AXIS = 1000
"""What RepeatInterleave takes for no axis: the input is flattened."""


@kernel("ReverseV2")
def _reverse(request: KernelRequest) -> Kernel:
    def make(axes: tuple[int, ...]) -> Body:
        inner = _flipped(request, axes)
        return lambda x, _, out: inner(x, out)

    return prepared(request, with_integers(request, (1,), make))


@kernel("ReverseV2D", "ReverseExt2")
def _reverse_attribute(request: KernelRequest) -> Kernel:
    return prepared(request, _flipped(request, request.attributes["axis"]))


def _flipped(request: KernelRequest, axes: Sequence[int]) -> Body:
    rank = len(given(request, 0).shape)
    places = tuple(axis_of(request, axis, rank) for axis in axes)
    if len(set(places)) != len(places):
        raise InvalidArgument(f"operator {request.op_type}: axes {tuple(axes)} name an axis twice")
    return lambda x, out: np.copyto(out, np.flip(x, places))


@kernel("ReverseSequence")
def _reverse_sequence(request: KernelRequest) -> Kernel:
    """The first elements of each batch along ``seq_dim`` reversed, as many as its length says."""
    shape = given(request, 0).shape
    along = axis_of(request, request.attributes["seq_dim"], len(shape), "seq_dim")
    batch = axis_of(request, request.attributes["batch_dim"], len(shape), "batch_dim")
    if along == batch:
        raise InvalidArgument(f"operator ReverseSequence: seq_dim and batch_dim are both {along}")
    count, length = shape[batch], shape[along]

    def body(x: Array, lengths: Array, out: Array) -> None:
        if lengths.size and not 0 <= lengths.min() <= lengths.max() <= length:
            raise ValueError(f"operator ReverseSequence: lengths {lengths.tolist()[:20]} lie outside [0, {length}]")
        np.copyto(out, x)
        source, target = (np.moveaxis(part, (batch, along), (0, 1)) for part in (x, out))
        for number in range(count):
            stop = int(lengths[number])
            target[number, :stop] = source[number, :stop][::-1]

    return prepared(request, body)


@kernel("Roll")
def _roll(request: KernelRequest) -> Kernel:
    """As torch.roll; no dims roll the flattened input."""
    return prepared(request, _rolled(request, request.attributes["shifts"], request.attributes["dims"]))


@kernel("RollV2")
def _roll_inputs(request: KernelRequest) -> Kernel:
    def make(shifts: tuple[int, ...], axes: tuple[int, ...]) -> Body:
        inner = _rolled(request, shifts, axes)
        return lambda x, _shifts, _axes, out: inner(x, out)

    return prepared(request, with_integers(request, (1, 2), make))


def _rolled(request: KernelRequest, shifts: Sequence[int], axes: Sequence[int]) -> Body:
    rank = len(given(request, 0).shape)
    if len(shifts) != (len(axes) or 1):
        raise InvalidArgument(f"operator {request.op_type}: {len(shifts)} shifts do not fit dims {tuple(axes)}")
    if not axes:
        return lambda x, out: np.copyto(out, np.roll(x.reshape(-1), shifts[0]).reshape(x.shape))
    places = tuple(axis_of(request, axis, rank, "dim") for axis in axes)
    return lambda x, out: np.copyto(out, np.roll(x, tuple(shifts), places))


@kernel("InvertPermutation")
def _invert_permutation(request: KernelRequest) -> Kernel:
    count = given(request, 0).shape[0]

    def body(x: Array, out: Array) -> None:
        check_indices(x, count, 0)
        if (np.bincount(x, minlength=count) != 1).any():
            raise ValueError(f"operator InvertPermutation: the numbers are no order of {count} places")
        out[x] = np.arange(count)

    return prepared(request, body)


@kernel("RepeatInterleave")
def _repeat(request: KernelRequest) -> Kernel:
    """Each element along the axis so many times; one number is for all, 1000 flattens."""
    shape, axis = given(request, 0).shape, request.attributes["axis"]
    is_flat = axis == _NO_AXIS
    along = 0 if is_flat else axis_of(request, axis, len(shape))

    def body(x: Array, repeats: Array, out: Array) -> None:
        source = x.reshape(-1) if is_flat else x
        times = repeats.reshape(-1)
        if times.size not in (1, source.shape[along]) or (times.size and times.min() < 0):
            raise ValueError(f"operator RepeatInterleave: repeats {times.tolist()[:20]} do not fit {source.shape}")
        total = int(times.sum()) if times.size != 1 else int(times[0]) * source.shape[along]
        require_shape("RepeatInterleave", (*source.shape[:along], total, *source.shape[along + 1 :]), out)
        np.copyto(out, np.repeat(source, times, along))

    return prepared(request, body)


@kernel("RepeatInterleaveGrad")
def _repeat_grad(request: KernelRequest) -> Kernel:
    """The gradients of the copies of each element added up, half precision in float32."""
    axis = axis_of(request, request.attributes["axis"], len(given(request, 0).shape))
    wide = compute_dtype(given(request, 0).dtype)

    def body(grad: Array, repeats: Array, out: Array) -> None:
        times = np.broadcast_to(repeats.reshape(-1), out.shape[axis])
        if (times < 0).any() or times.sum() != grad.shape[axis]:
            raise ValueError(f"operator RepeatInterleaveGrad: repeats add up to {times.sum()}, not {grad.shape[axis]}")
        target = np.moveaxis(out, axis, 0)
        target[...] = 0
        kept = np.flatnonzero(times)
        if kept.size:
            starts = (np.cumsum(times) - times)[kept]
            total = np.add.reduceat(np.moveaxis(grad, axis, 0), starts, axis=0, dtype=wide)
            target[kept] = total.astype(out.dtype, copy=False)

    return prepared(request, quiet(body, 3), elements(given(request, 0)))


@kernel("UnravelIndex")
def _unravel(request: KernelRequest) -> Kernel:
    """The coordinates of flat indices, one row a dim."""

    def body(indices: Array, dims: Array, out: Array) -> None:
        shape = integers(dims)
        if any(dim < 0 for dim in shape):
            raise ValueError(f"operator UnravelIndex: dims {shape} must not be negative")
        check_indices(indices, int(np.prod(shape, dtype=np.int64)), 0)
        found = np.unravel_index(indices, shape) if shape else ()
        for row, coordinates in enumerate(found):
            out[row] = coordinates

    return prepared(request, body, elements(request.outputs[0]))
