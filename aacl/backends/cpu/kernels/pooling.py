"""Pooling over windows: on ONNX Runtime graphs where it has the dtype, else by loops over a window's elements.

Half precision computes in float32 and is rounded once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from aacl.backends.cpu.kernels._graphs import graph_body, node
from aacl.backends.cpu.kernels._pools import Pool, divisors, maximum, planar_pool, pool_of, summed, winners
from aacl.backends.cpu.kernels._precision import HALVES, widened
from aacl.backends.cpu.kernels._quiet import quiet
from aacl.backends.cpu.kernels._registry import elements, given, kernel, prepared, refuse_dtype, with_integers
from aacl.backends.cpu.kernels._windows import Axis, inverse, order_of, paddings
from aacl.dtypes import DataType
from aacl.errors import NotSupported

if TYPE_CHECKING:
    from aacl.abc import Array, Kernel, KernelRequest
    from aacl.backends.cpu.kernels._graphs import Node
    from aacl.backends.cpu.kernels._registry import Body

__all__ = ()

_GRAPHS_AVERAGE = HALVES | {DataType.FLOAT}
_GRAPHS_MAXIMUM = HALVES | {DataType.FLOAT, DataType.DOUBLE, DataType.INT8, DataType.UINT8}


@kernel("MaxPool", "MaxPoolExt2", "MaxPoolV3", "MaxPool3D")
def _maximum(request: KernelRequest) -> Kernel:
    """The largest element; padding never is."""
    return _maximum_over(request, pool_of(request, given(request, 0), request.outputs[0]))


@kernel("MaxPoolV2")
def _maximum_by_inputs(request: KernelRequest) -> Kernel:
    """``ksize`` and ``strides`` are inputs."""
    x, out = given(request, 0), request.outputs[0]

    def make(sizes: tuple[int, ...], strides: tuple[int, ...]) -> Body:
        pool = pool_of(request, x, out, sizes, strides)
        return lambda image, _sizes, _strides, result: _loop(request, pool)(image, result)

    return prepared(request, quiet(with_integers(request, (1, 2), make), 4), 9 * elements(out))


def _maximum_over(request: KernelRequest, pool: Pool) -> Kernel:
    x, work = given(request, 0), pool.area * elements(request.outputs[0])
    if x.dtype not in _GRAPHS_MAXIMUM or not _suits_graphs(request, pool):
        return prepared(request, quiet(_loop(request, pool), 2), work)
    nodes = _pooled(pool, "MaxPool", dilations=tuple(axis.dilation for axis in pool.axes))
    return prepared(request, graph_body(request, nodes, work), work)


def _loop(request: KernelRequest, pool: Pool) -> Body:
    def body(x: Array, out: Array) -> None:
        maximum(pool.first(x), pool.first(out), pool.axes)

    return widened(body, given(request, 0).dtype, 1)


def _suits_graphs(request: KernelRequest, pool: Pool) -> bool:
    """Whether ONNX Runtime takes these windows: each of them has an element that is no padding."""
    return elements(given(request, 0)) > 0 and all(
        axis.before < axis.size and axis.after < axis.size for axis in pool.axes
    )


def _pooled(pool: Pool, op_type: str, **attributes: Any) -> list[Node]:
    """Return the nodes that pool ``x0`` into ``y0``, whatever the layout."""
    order = order_of(pool.layout)
    is_turned = order != tuple(range(len(order)))
    source, target = ("x", "y") if is_turned else ("x0", "y0")
    pads = tuple([axis.before for axis in pool.axes] + [axis.after for axis in pool.axes])
    pooled = node(
        op_type, source, target, pads=pads, kernel_shape=tuple(axis.size for axis in pool.axes),
        strides=tuple(axis.stride for axis in pool.axes), **attributes
    )  # fmt: skip
    if not is_turned:
        return [pooled]
    return [node("Transpose", "x0", "x", perm=order), pooled, node("Transpose", "y", "y0", perm=inverse(order))]


@kernel("AvgPool", "AvgPoolV2", "AvgPool3D", "AvgPool3DD")
def _average(request: KernelRequest) -> Kernel:
    """The sum over the number of elements: padding counts if ``exclusive`` is false or ``count_include_pad`` true.

    ``divisor_override``, where it is not 0, is the divisor of every window. The matrices of AvgPool3DD are the
    card's own and not read.
    """
    pool = pool_of(request, given(request, 0), request.outputs[0])
    return _average_over(request, pool, divisors(request, pool))


def _average_over(request: KernelRequest, pool: Pool, divisor: Array) -> Kernel:
    x, work = given(request, 0), pool.area * elements(request.outputs[0])
    has_dilation = any(axis.dilation > 1 for axis in pool.axes)
    if x.dtype not in _GRAPHS_AVERAGE or has_dilation or not _suits_graphs(request, pool):
        return prepared(request, quiet(_averaging(request, pool, divisor), len(request.inputs) + 1), work)
    if (divisor == np.maximum(pool.covered(False), 1)).all():
        return prepared(request, graph_body(request, _pooled(pool, "AveragePool"), work), work)
    nodes = _pooled(pool, "AveragePool", count_include_pad=1)
    if (divisor == pool.area).all():
        return prepared(request, graph_body(request, nodes, work), work)
    # The graph divides by the window's area; the rest of the division is a factor.
    place = next(index for index, each in enumerate(nodes) if each.op_type == "AveragePool")
    nodes[place : place + 1] = [
        nodes[place]._replace(outputs=("mean",)),
        node("Mul", "mean factor", nodes[place].outputs[0]),
    ]
    factor = (pool.area / divisor).astype(np.float32)[np.newaxis, np.newaxis]
    return prepared(request, graph_body(request, nodes, work, constants={"factor": factor}), work)


def _averaging(request: KernelRequest, pool: Pool, divisor: Array) -> Body:
    def body(*arrays: Array) -> None:
        x, out = pool.first(arrays[0]), pool.first(arrays[-1])
        total = np.empty(out.shape, out.dtype if out.dtype.kind == "f" else np.float64)
        summed(x, total, pool.axes)
        np.copyto(out, np.divide(total, divisor, total), casting="unsafe")

    return widened(body, given(request, 0).dtype, len(request.inputs))


@kernel("Pooling")
def _caffe(request: KernelRequest) -> Kernel:
    """As Caffe's Pooling: the largest element, or for mode 1 the average, in which padding counts."""
    if given(request, 0).dtype is DataType.INT8:
        raise refuse_dtype(request, "FLOAT or FLOAT16")
    pool = pool_of(request, given(request, 0), request.outputs[0])
    if request.attributes["mode"] == 0:
        return _maximum_over(request, pool)
    return _average_over(request, pool, np.maximum(pool.covered(True), 1))


@kernel("AvgPool1D", "AvgPool1DD")
def _average_of_lines(request: KernelRequest) -> Kernel:
    """Over the last dim, as torch's avg_pool1d; integers are rounded towards zero.

    The matrix of AvgPool1DD is the card's own and not read.
    """
    x, out, attributes = given(request, 0), request.outputs[0], request.attributes
    (before,), (after,) = paddings(attributes["pads"], 1)
    axis = Axis(x.shape[-1], out.shape[-1], attributes["ksize"], attributes["strides"], 1, before)
    pool = Pool("NCW", (axis,), (after,))
    divisor = np.maximum(pool.covered(attributes["count_include_pad"]), 1)
    averaging = _averaging(request, pool, divisor)

    def body(*arrays: Array) -> None:
        averaging(arrays[0].reshape(1, -1, axis.length), *arrays[1:-1], arrays[-1].reshape(1, -1, axis.windows))

    is_empty = not elements(x) or not elements(out)
    return prepared(request, quiet(_zeros if is_empty else body, len(request.inputs) + 1), pool.area * elements(out))


def _zeros(*arrays: Array) -> None:
    arrays[-1].fill(0)


@kernel("MaxPoolWithArgmax")
def _maximum_with_places(request: KernelRequest) -> Kernel:
    """As TensorFlow's max_pool_with_argmax: a place is that of the element in its image, in the image's own layout.

    For NHWC that is ``(y * W + x) * C + c``, for NCHW ``(c * H + y) * W + x``. The first of equal elements counts.
    """
    x = given(request, 0)
    pool = pool_of(request, x, request.outputs[0])
    channels, area = (
        x.shape[pool.layout.index("C")],
        elements(x) // max(x.shape[0] * x.shape[pool.layout.index("C")], 1),
    )
    scale, step = (channels, 1) if pool.layout.endswith("C") else (1, area)

    def body(image: Array, result: Array, places: Array) -> None:
        best, place = winners(pool.first(image), pool.first(result).shape[2:], pool.axes)
        np.copyto(pool.first(result), best)
        offsets = np.arange(channels).reshape(-1, *(1,) * len(pool.axes)) * step
        np.copyto(pool.first(places), np.maximum(place, 0) * scale + offsets, casting="same_kind")

    return prepared(request, quiet(body, 3), 4 * pool.area * elements(request.outputs[0]))


@kernel("MaxPoolWithArgmaxV1", "MaxPoolWithArgmaxV2")
def _maximum_with_planar_places(request: KernelRequest) -> Kernel:
    """As torch's max_pool2d with indices: a place is ``y * W + x``; the first of equal elements counts.

    Raises:
        NotSupported: a plane has more elements than the places' dtype can number.
    """
    x, out, place_info = given(request, 0), *request.outputs
    pool = planar_pool(request, x, out)
    limit = np.iinfo(place_info.dtype.numpy_dtype).max
    if x.shape[2] * x.shape[3] > limit + 1:
        raise NotSupported(
            f"operator {request.op_type}: places in planes of {x.shape[2]} * {x.shape[3]} elements do not fit "
            f"{place_info.dtype.name}; use MaxPoolWithArgmax"
        )

    def body(image: Array, result: Array, places: Array) -> None:
        best, place = winners(image, result.shape[2:], pool.axes)
        np.copyto(result, best)
        np.copyto(places, np.maximum(place, 0), casting="unsafe")

    return prepared(request, quiet(body, 3), 4 * pool.area * elements(out))
