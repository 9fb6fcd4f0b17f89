"""Numbers in equal steps, constants, and shapes as numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from aacl.backends.cpu.kernels._leading import leading
from aacl.backends.cpu.kernels._places import axis_of
from aacl.backends.cpu.kernels._quiet import quiet
from aacl.backends.cpu.kernels._registry import (
    TRANSCENDENTAL,
    elements,
    given,
    integers,
    kernel,
    prepared,
    require_shape,
)
from aacl.errors import InvalidArgument

if TYPE_CHECKING:
    from aacl.abc import Array, Kernel, KernelRequest

__all__ = ()


@kernel("LinSpace")
def _lin_space(request: KernelRequest) -> Kernel:
    def body(start: Array, stop: Array, count: Array, out: Array) -> None:
        _spaced(start, stop, count, out)

    return prepared(request, quiet(body, 4), 2 * elements(request.outputs[0]))


@kernel("LinSpaceD")
def _lin_space_helped(request: KernelRequest) -> Kernel:
    """As LinSpace; the helper is not read."""

    def body(_: Array, start: Array, stop: Array, count: Array, out: Array) -> None:
        _spaced(start, stop, count, out)

    return prepared(request, quiet(body, 5), 2 * elements(request.outputs[0]))


def _spaced(start: Array, stop: Array, count: Array, out: Array) -> None:
    """Write numbers from start to stop, both included; computed in float64 and rounded once."""
    require_shape("LinSpace", (int(count.reshape(())),), out)
    first, last = (float(end.reshape(())) for end in (start, stop))
    np.copyto(out, np.linspace(first, last, len(out)), casting="same_kind")


@kernel("LogSpaceD")
def _log_space(request: KernelRequest) -> Kernel:
    """``base`` to the powers from start to end, both included; the helper is not read."""
    start, end, base = (request.attributes[name] for name in ("start", "end", "base"))

    def body(_: Array, out: Array) -> None:
        np.copyto(out, np.power(base, np.linspace(start, end, len(out))), casting="same_kind")

    return prepared(request, quiet(body, 2), TRANSCENDENTAL * elements(request.outputs[0]))


@kernel("RangeD")
def _range(request: KernelRequest) -> Kernel:
    """``start + i * delta`` before ``limit``; the helper gives the dtype alone."""
    start, delta = request.attributes["start"], request.attributes["delta"]

    def body(_: Array, out: Array) -> None:
        np.copyto(out, start + delta * np.arange(len(out), dtype=np.float64), casting="unsafe")

    return prepared(request, quiet(body, 2), 2 * elements(request.outputs[0]))


@kernel("FillV2", "FillV2D")
def _fill(request: KernelRequest) -> Kernel:
    """The value of an attribute throughout; integers get it truncated."""
    value = np.asarray(request.attributes["value"], np.float64).astype(request.outputs[0].dtype.numpy_dtype)

    def body(*arrays: Array) -> None:
        if len(arrays) > 1:
            require_shape("FillV2", integers(arrays[0]), arrays[-1])
        arrays[-1].fill(value)

    return prepared(request, body)


@kernel("ShapeN")
def _shapes(request: KernelRequest) -> Kernel:
    """The dims of every input."""
    dims = [np.asarray(given(request, index).shape, np.int64) for index in range(len(request.inputs))]

    def body(*arrays: Array) -> None:
        for out, shape in zip(arrays[len(dims) :], dims, strict=True):
            np.copyto(out, shape, casting="same_kind")

    return prepared(request, body)


@kernel("ConcatOffset")
def _offsets(request: KernelRequest) -> Kernel:
    """Where each of the shapes begins in their concatenation, as TensorFlow's concat_offset."""

    def body(axis: Array, *arrays: Array) -> None:
        _write_offsets(request, int(axis.reshape(())), arrays)

    return prepared(request, body)


@kernel("ConcatOffsetD")
def _offsets_attribute(request: KernelRequest) -> Kernel:
    axis = request.attributes["concat_dim"]
    return prepared(request, lambda *arrays: _write_offsets(request, axis, arrays))


def _write_offsets(request: KernelRequest, axis: int, arrays: tuple[Array, ...]) -> None:
    half = len(arrays) // 2
    place = axis_of(request, axis, len(arrays[0]), "concat_dim")
    start = 0
    for shape, out in zip(arrays[:half], arrays[half:], strict=True):
        if not np.array_equal(np.delete(shape, place), np.delete(arrays[0], place)):
            raise ValueError(
                f"operator {request.op_type}: shapes {shape.tolist()} and {arrays[0].tolist()} differ beside dim {place}"
            )
        out.fill(0)
        out[place] = start
        start += int(shape[place])


@kernel("BroadcastArgs")
def _broadcast_args(request: KernelRequest) -> Kernel:
    """The shape that two shapes broadcast to."""

    def body(left: Array, right: Array, out: Array) -> None:
        np.copyto(out, np.asarray(_broadcast(request, left, right), np.int64), casting="same_kind")

    return prepared(request, body)


@kernel("BroadcastGradientArgs")
def _broadcast_gradient_args(request: KernelRequest) -> Kernel:
    """The axes over which the gradient of each of two broadcast shapes is summed."""

    def body(left: Array, right: Array, *outs: Array) -> tuple[tuple[int, ...], ...]:
        shape = _broadcast(request, left, right)
        axes = []
        for each in (left, right):
            own = (1,) * (len(shape) - each.size) + integers(each)
            # TensorFlow names an axis that is 1 on both sides too: the sum over it changes nothing.
            axes.append(np.array([axis for axis, size in enumerate(own) if size == 1], np.int64))
        same = integers(left) == integers(right)
        return leading([each[:0] for each in axes] if same else axes, outs)

    return prepared(request, body, returns_shapes=True)


def _broadcast(request: KernelRequest, left: Array, right: Array) -> tuple[int, ...]:
    try:
        return np.broadcast_shapes(integers(left), integers(right))
    except ValueError:
        raise InvalidArgument(
            f"operator {request.op_type}: shapes {integers(left)} and {integers(right)} do not broadcast"
        ) from None
