"""Operators that rearrange, join or repeat their input.

All are copies, so any dtype goes. A shape that an input's values ask for must be the output's.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from aacl.backends.cpu.kernels._registry import (
    given,
    integers,
    kernel,
    prepared,
    require_shape,
    with_integers,
)
from aacl.backends.cpu.kernels._turns import turn
from aacl.errors import InvalidArgument

if TYPE_CHECKING:
    from aacl.abc import Array, Kernel, KernelRequest
    from aacl.backends.cpu.kernels._registry import Body

__all__ = ()


@kernel(
    "Identity",
    "StopGradient",
    "TensorMove",
    "TensorRedirect",
    "EnsureShape",
    "GuaranteeConst",
    "PlaceholderWithDefault",
    "PreventGradient",
)
def _identity(request: KernelRequest) -> Kernel:
    return prepared(request, _copy, in_place=True)


def _copy(x: Array, out: Array) -> None:
    np.copyto(out, x)


# The output's shape is what these ask for; their value inputs were read when it was inferred.
@kernel(
    *("Reshape", "ExpandDims", "Squeeze", "SqueezeV2", "SqueezeV3", "Unsqueeze", "UnsqueezeV2", "UnsqueezeV3"),
    *("Flatten", "FlattenV2", "TransShape"),
)
def _reshape(request: KernelRequest) -> Kernel:
    _require_equal_counts(request)
    return prepared(request, _reshaped)


def _reshaped(x: Array, *others: Array) -> None:
    out = others[-1]
    np.copyto(out, x.reshape(out.shape))


def _require_equal_counts(request: KernelRequest) -> None:
    source, result = given(request, 0).shape, request.outputs[0].shape
    if np.prod(source, dtype=np.int64) != np.prod(result, dtype=np.int64):
        raise InvalidArgument(f"operator {request.op_type}: shape {source} cannot become {result}")


@kernel("Transpose")
def _transpose(request: KernelRequest) -> Kernel:
    def make(perm: tuple[int, ...]) -> Body:
        inner = _permuted(request, perm)
        return lambda x, _, out: inner(x, out)

    return prepared(request, with_integers(request, (1,), make))


@kernel("TransposeD", "Permute")
def _transpose_attribute(request: KernelRequest) -> Kernel:
    perm = request.attributes["perm" if request.op_type == "TransposeD" else "order"]
    return prepared(request, _permuted(request, tuple(perm)))


def _permuted(request: KernelRequest, perm: tuple[int, ...]) -> Body:
    rank = len(given(request, 0).shape)
    order = tuple(axis + rank if -rank <= axis < 0 else axis for axis in perm)
    if sorted(order) != list(range(rank)):
        raise InvalidArgument(f"operator {request.op_type}: perm {perm} is no order of {rank} dims")

    copy, shape = turn(request, order), tuple(given(request, 0).shape[axis] for axis in order)

    def body(x: Array, out: Array) -> None:
        require_shape(request.op_type, shape, out)
        copy(x, out)

    return body


@kernel("Concat")
def _concat(request: KernelRequest) -> Kernel:
    def make(axis: tuple[int, ...]) -> Body:
        place = _axis(request, axis[0])
        return lambda _, *arrays: np.concatenate(arrays[:-1], place, arrays[-1])

    return prepared(request, with_integers(request, (0,), make))


@kernel("ConcatV2")
def _concat_v2(request: KernelRequest) -> Kernel:
    def make(axis: tuple[int, ...]) -> Body:
        place = _axis(request, axis[0])
        return lambda *arrays: np.concatenate(arrays[:-2], place, arrays[-1])

    return prepared(request, with_integers(request, (len(request.inputs) - 1,), make))


@kernel("ConcatD", "ConcatV2D")
def _concat_attribute(request: KernelRequest) -> Kernel:
    place = _axis(request, request.attributes["concat_dim"])
    return prepared(request, lambda *arrays: np.concatenate(arrays[:-1], place, arrays[-1]))


@kernel("Pack")
def _pack(request: KernelRequest) -> Kernel:
    axis = _axis(request, request.attributes["axis"])
    return prepared(request, lambda *arrays: np.stack(arrays[:-1], axis, arrays[-1]))


def _axis(request: KernelRequest, axis: int) -> int:
    """Return an axis of the output."""
    rank = len(request.outputs[0].shape)
    if not -rank <= axis < rank:
        raise InvalidArgument(f"operator {request.op_type}: axis {axis} does not fit {rank} dims")
    return axis % rank


@kernel("Tile")
def _tile(request: KernelRequest) -> Kernel:
    def make(multiples: tuple[int, ...]) -> Body:
        inner = _tiled(request, multiples)
        return lambda x, _, out: inner(x, out)

    return prepared(request, with_integers(request, (1,), make))


@kernel("TileD")
def _tile_attribute(request: KernelRequest) -> Kernel:
    return prepared(request, _tiled(request, request.attributes["multiples"]))


def _tiled(request: KernelRequest, multiples: tuple[int, ...]) -> Body:
    """Return a body that copies once, by broadcasting into the output cut as (multiple, dim) pairs."""
    shape = given(request, 0).shape
    if len(multiples) != len(shape) or min(multiples, default=0) < 0:
        raise InvalidArgument(f"operator {request.op_type}: multiples {multiples} do not fit shape {shape}")
    result = tuple(dim * multiple for dim, multiple in zip(shape, multiples, strict=True))
    pairs = tuple(size for pair in zip(multiples, shape, strict=True) for size in pair)
    single = tuple(size for dim in shape for size in (1, dim))

    def body(x: Array, out: Array) -> None:
        require_shape(request.op_type, result, out)
        if x.shape == result:
            np.copyto(out, x)
        elif out.flags.c_contiguous:
            np.copyto(out.reshape(pairs), x.reshape(single))
        else:
            np.copyto(out, np.tile(x, multiples))

    return body


@kernel("BroadcastTo")
def _broadcast_to(request: KernelRequest) -> Kernel:
    def body(x: Array, shape: Array, out: Array) -> None:
        require_shape(request.op_type, _resolved(integers(shape), x.shape), out)
        np.copyto(out, x)

    return prepared(request, body)


@kernel("BroadcastToD")
def _broadcast_to_attribute(request: KernelRequest) -> Kernel:
    return prepared(request, _copy)


@kernel("Expand")
def _expand(request: KernelRequest) -> Kernel:
    def body(x: Array, shape: Array, out: Array) -> None:
        require_shape(request.op_type, np.broadcast_shapes(x.shape, integers(shape)), out)
        np.copyto(out, x)

    return prepared(request, body)


def _resolved(wanted: tuple[int, ...], shape: tuple[int, ...]) -> tuple[int, ...]:
    """Return the shape with each -1 replaced by the input's own dim."""
    lead = len(wanted) - len(shape)
    own = (1,) * lead + shape
    return tuple(own[axis] if size == -1 else size for axis, size in enumerate(wanted))


@kernel("Copy")
def _copies(request: KernelRequest) -> Kernel:
    """Return the kernel that copies one input into ``N`` outputs."""

    def body(x: Array, *outputs: Array) -> None:
        for out in outputs:
            np.copyto(out, x)

    return prepared(request, body)
