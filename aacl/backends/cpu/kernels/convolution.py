"""Convolutions, on ONNX Runtime graphs, and their transposes and gradients, on matrix products.

A convolution is a correlation: the filter is not turned round. Half precision computes in float32 and
is rounded once; integers are exact, and wrap around beyond int32.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from aacl.backends.cpu.kernels._filters import (
    QUANTISED,
    Convolution,
    convolution_of,
    exact_dtype,
    filter_order,
    refuse_offsets,
)
from aacl.backends.cpu.kernels._graphs import Node, graph_body, node
from aacl.backends.cpu.kernels._precision import FLOATS
from aacl.backends.cpu.kernels._products import add_gradient_of_input, gradient_of_filter
from aacl.backends.cpu.kernels._quiet import quiet
from aacl.backends.cpu.kernels._registry import elements, given, kernel, prepared, refuse_dtype
from aacl.backends.cpu.kernels._windows import channels_first, inverse, order_of
from aacl.dtypes import DataType

if TYPE_CHECKING:
    from aacl.abc import Array, Kernel, KernelRequest
    from aacl.backends.cpu.kernels._registry import Body

__all__ = ()


@kernel("Conv2D", "Conv3D", "DepthwiseConv2D")
def _convolution(request: KernelRequest) -> Kernel:
    """As ONNX Conv; INT8 gives exact INT32."""
    refuse_offsets(request, 3)
    x, out = given(request, 0), request.outputs[0]
    found = convolution_of(request, x, given(request, 1), out)
    is_integer = x.dtype in QUANTISED
    if x.dtype is DataType.INT4 or (is_integer != (out.dtype is DataType.INT32)):
        raise refuse_dtype(request, "FLOAT, FLOAT16 and BF16, or INT8 giving INT32")
    if not is_integer and x.dtype not in FLOATS:
        raise refuse_dtype(request, "FLOAT, FLOAT16 and BF16, or INT8 giving INT32")
    work = found.work * x.shape[found.layout.index("N")]
    if not elements(x) or not elements(given(request, 1)):
        return prepared(request, _bias_alone(request, found))
    nodes, constants = _nodes(request, found, is_integer)
    shapes = {"x2": (found.results,)} if _has_bias(request) else {}
    return prepared(request, graph_body(request, nodes, work, shapes=shapes, constants=constants), work)


def _has_bias(request: KernelRequest, index: int = 2) -> bool:
    return len(request.inputs) > index and request.inputs[index] is not None


def _bias_alone(request: KernelRequest, found: Convolution) -> Body:
    """Every sum is empty: what remains is the bias."""
    shape = (found.results,) + (1,) * len(found.axes)

    def body(*arrays: Array) -> None:
        out = channels_first(arrays[-1], found.layout)
        np.copyto(out, arrays[2].reshape(shape) if _has_bias(request) else 0, casting="unsafe")

    return body


def _nodes(request: KernelRequest, found: Convolution, is_integer: bool) -> tuple[list[Node], dict[str, Array]]:
    """Return the graph and its constants."""
    nodes: list[Node] = []
    constants: dict[str, Array] = {}
    x = _turned(nodes, "x0", "x0.first", order_of(found.layout))
    weights = _weights(request, found, 1, nodes, constants)
    bias, result = "x2" if _has_bias(request) else "", _result(found)
    attributes = _attributes(found) | {
        "pads": tuple([axis.before for axis in found.axes] + [axis.after for axis in found.axes])
    }
    if is_integer:
        _integer_nodes(nodes, (x, weights, bias, result), attributes, math.prod(found.filter_shape[1:]))
        constants["channels"] = np.array([found.results] + [1] * len(found.axes), np.int64)
    else:
        nodes.append(node("Conv", f"{x} {weights} {bias}", result, **attributes))
    _turned(nodes, result, "y0", inverse(order_of(found.layout)))
    return nodes, constants


def _attributes(found: Convolution) -> dict[str, Any]:
    """Return what ONNX's Conv and ConvTranspose take alike."""
    return {
        "kernel_shape": tuple(axis.size for axis in found.axes),
        "strides": tuple(axis.stride for axis in found.axes),
        "dilations": tuple(axis.dilation for axis in found.axes),
        "group": found.groups,
    }


def _result(found: Convolution) -> str:
    """Return the name of what a convolution gives: the output itself where channels come first in it."""
    order = order_of(found.layout)
    return "y0" if order == tuple(range(len(order))) else "y0.first"


def _turned(nodes: list[Node], name: str, target: str, order: tuple[int, ...]) -> str:
    """Add a node that transposes a tensor where that changes anything; return the name of what results."""
    if order == tuple(range(len(order))):
        return name
    nodes.append(node("Transpose", name, target, perm=order))
    return target


def _weights(
    request: KernelRequest, found: Convolution, index: int, nodes: list[Node], constants: dict[str, Array]
) -> str:
    """Return the name of the filter in ONNX's order; one whose contents are known becomes a constant."""
    info = given(request, index)
    if info.value is not None:
        dtype = np.int8 if info.dtype is DataType.INT8 else np.float32
        constants["weights"] = np.ascontiguousarray(found.ordered(info.value)).astype(dtype)
        return "weights"
    name = _turned(nodes, f"x{index}", "filter.turned", filter_order(found))
    if not found.is_depthwise:
        return name
    constants["filters"] = np.array(found.filter_shape, np.int64)
    nodes.append(node("Reshape", f"{name} filters", "filter.flat"))
    return "filter.flat"


def _integer_nodes(nodes: list[Node], names: tuple[str, str, str, str], attributes: dict[str, Any], terms: int) -> None:
    """Add a convolution of INT8: through float32 where that holds every sum exactly, which is quicker."""
    x, weights, bias, result = names
    total = "total" if bias else result
    if terms << 14 <= 1 << 24:
        nodes += [node("Cast", x, "x.float", to=1), node("Cast", weights, "filter.float", to=1)]
        nodes.append(node("Conv", "x.float filter.float", "total.float", **attributes))
        nodes.append(node("Cast", "total.float", total, to=6))
    else:
        nodes.append(node("ConvInteger", f"{x} {weights}", total, **attributes))
    if bias:
        nodes += [node("Reshape", f"{bias} channels", "bias"), node("Add", "total bias", result)]


@kernel("Conv2DTranspose", "Conv3DTranspose")
def _transposed(request: KernelRequest) -> Kernel:
    """What a convolution of the output would hand back of x, plus the bias; ``output_padding`` is in the shape."""
    refuse_offsets(request, 4)
    return _spread(request, 1, 2, 3)


@kernel("Conv2DTransposeD", "Conv3DTransposeD", "Deconvolution")
def _transposed_attribute(request: KernelRequest) -> Kernel:
    refuse_offsets(request, 3)
    return _spread(request, 0, 1, 2)


@kernel("Conv2DBackpropInput", "Conv3DBackpropInput", "DepthwiseConv2DBackpropInput")
def _gradient_of_input(request: KernelRequest) -> Kernel:
    return _spread(request, 2, 1)


@kernel("Conv2DBackpropInputD", "Conv3DBackpropInputD", "DepthwiseConv2DBackpropInputD")
def _gradient_of_input_attribute(request: KernelRequest) -> Kernel:
    return _spread(request, 1, 0)


def _spread(request: KernelRequest, outer: int, filters: int, bias: int = -1) -> Kernel:
    """Return the kernel of a convolution turned round; its tensors are inputs at these positions."""
    source, result = given(request, outer), request.outputs[0]
    found = convolution_of(request, result, given(request, filters), source, spreads=True)
    terms = math.prod(found.filter_shape) // max(found.channels // found.groups, 1)
    dtype = exact_dtype(request, source.dtype, terms)
    bias = bias if bias >= 0 and _has_bias(request, bias) else -1
    work = found.work * source.shape[found.layout.index("N")]
    if (
        source.dtype in QUANTISED
        or dtype == np.float64
        or not elements(source)
        or not elements(given(request, filters))
    ):
        return prepared(request, quiet(_products(found, (outer, filters, bias), dtype), len(request.inputs) + 1), work)
    nodes: list[Node] = []
    constants: dict[str, Array] = {}
    x = _turned(nodes, f"x{outer}", "x.first", order_of(found.layout))
    weights = _weights(request, found, filters, nodes, constants)
    # What the windows reach beyond the output is cut off; what they do not reach is added.
    ends = [(axis.windows - 1) * axis.stride + axis.extent - axis.length - axis.before for axis in found.axes]
    attributes = _attributes(found) | {
        "pads": tuple([axis.before for axis in found.axes] + [max(end, 0) for end in ends]),
        "output_padding": tuple(max(-end, 0) for end in ends),
    }
    nodes.append(
        node("ConvTranspose", f"{x} {weights} {f'x{bias}' if bias >= 0 else ''}", _result(found), **attributes)
    )
    _turned(nodes, _result(found), "y0", inverse(order_of(found.layout)))
    shapes = {f"x{bias}": (found.channels,)}
    return prepared(request, graph_body(request, nodes, work, shapes=shapes, constants=constants), work)


def _products(found: Convolution, places: tuple[int, int, int], dtype: np.dtype[Any]) -> Body:
    """Return the body of a convolution turned round that computes in a dtype of NumPy's."""
    outer, filters, bias = places
    column = (-1,) + (1,) * len(found.axes)

    def body(*arrays: Array) -> None:
        out = channels_first(arrays[-1], found.layout)
        total = np.zeros(out.shape, dtype)
        weights = found.ordered(arrays[filters]).astype(dtype, copy=False)
        grown = channels_first(arrays[outer], found.layout).astype(dtype, copy=False)
        if grown.size and weights.size:
            add_gradient_of_input(total, weights, grown, found.axes, found.groups)
        if out.dtype.kind == "i":
            total = total.astype(np.int64)  # beyond int32 the result wraps around
        if bias >= 0:
            total += arrays[bias].reshape(column)
        np.copyto(out, total, casting="same_kind")

    return body


@kernel("Conv2DBackpropFilter", "Conv3DBackpropFilter", "DepthwiseConv2DBackpropFilter")
def _gradient_of_filter(request: KernelRequest) -> Kernel:
    return _filter_gradient(request, 0, 2)


@kernel("Conv2DBackpropFilterD", "Conv3DBackpropFilterD", "DepthwiseConv2DBackpropFilterD")
def _gradient_of_filter_attribute(request: KernelRequest) -> Kernel:
    return _filter_gradient(request, 0, 1)


def _filter_gradient(request: KernelRequest, inner: int, outer: int) -> Kernel:
    """Return the kernel of a filter's gradient from a convolution's input and its output's gradient."""
    x, out = given(request, inner), request.outputs[0]
    found = convolution_of(request, x, out, given(request, outer))
    dtype = exact_dtype(request, x.dtype, 1)

    def body(*arrays: Array) -> None:
        around, within = (channels_first(arrays[place], found.layout).astype(dtype, copy=False)
                          for place in (inner, outer))  # fmt: skip
        gradient = gradient_of_filter(found.filter_shape, around, within, found.axes, found.groups)
        target = found.view(arrays[-1])
        np.copyto(target, gradient.reshape(target.shape), casting="same_kind")

    work = found.work * x.shape[found.layout.index("N")]
    return prepared(request, quiet(body, len(request.inputs) + 1), work)
