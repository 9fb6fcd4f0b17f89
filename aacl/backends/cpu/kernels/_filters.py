"""What the kernels of convolutions share: layouts of filters, the window along each axis, dtypes."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from aacl.backends.cpu.kernels._precision import FLOATS, compute_dtype
from aacl.backends.cpu.kernels._registry import refuse_dtype
from aacl.backends.cpu.kernels._windows import Axis, axes_of, layout_of, order_of, paddings, spatial
from aacl.dtypes import DataType, Format
from aacl.errors import InvalidArgument, NotSupported

if TYPE_CHECKING:
    from aacl.abc import Array, KernelRequest, TensorInfo

__all__ = ("QUANTISED", "Convolution", "convolution_of", "exact_dtype", "filter_order", "refuse_offsets")

QUANTISED = frozenset({DataType.INT8, DataType.INT4})

_FILTERS = {"NCHW": "NCHW", "NHWC": "HWCN", "NCDHW": "NCDHW", "NDHWC": "DHWCN"}


class Convolution(NamedTuple):
    """A convolution between an input ``(N, C, ...)`` and an output ``(N, O, ...)``, whichever of them is computed."""

    layout: str
    """Of input and output."""
    filters: str
    """The layout of the filter."""
    is_depthwise: bool
    groups: int
    axes: tuple[Axis, ...]
    channels: int
    """C."""
    results: int
    """O."""

    @property
    def filter_shape(self) -> tuple[int, ...]:
        """Of the filter in the order ``(O, C / groups, *spatial)``."""
        return (self.results, self.channels // self.groups, *(axis.size for axis in self.axes))

    @property
    def work(self) -> int:
        """Multiplications and additions for one element of the batch."""
        return 2 * math.prod(self.filter_shape) * math.prod(axis.windows for axis in self.axes)

    def ordered(self, filters: Array) -> Array:
        """Return a filter as ``(O, C / groups, *spatial)``; a view where that is possible."""
        return self.view(filters).reshape(self.filter_shape)

    def view(self, filters: Array) -> Array:
        """Return a view of a filter with the elements of `ordered` in the same order."""
        turned = filters.transpose(order_of(self.filters))
        if not self.is_depthwise:
            return turned
        if filters.shape[self.filters.index("C")] == 1:
            return turned
        return turned.swapaxes(0, 1)  # (C, K, ...): the output's channel c * K + k is of channel c


def convolution_of(
    request: KernelRequest, inner: TensorInfo, filters: TensorInfo, outer: TensorInfo, *, spreads: bool = False
) -> Convolution:
    """Return the convolution that maps ``inner`` to ``outer``.

    Args:
        request: the request to prepare; its attributes tell strides, pads and dilations.
        inner: the input of the forward convolution.
        filters: its filter.
        outer: its output.
        spreads: whether the layout is the outer tensor's: it is that one which the program brings.
    """
    attributes, is_depthwise = request.attributes, request.op_type.startswith("Depthwise")
    layout = layout_of(request, outer if spreads else inner)
    text = _FILTERS[layout] if filters.format is Format.ND else filters.format.name
    around, kernel, within = (
        [info.shape[place] for place in order_of(order)]
        for info, order in ((inner, layout), (filters, text), (outer, layout))
    )
    strides, dilations = (spatial(attributes[name], layout) for name in ("strides", "dilations"))
    before, _ = paddings(attributes["pads"], len(strides))
    axes = axes_of(around[2:], within[2:], kernel[2:], strides, dilations, before)
    groups = around[1] if is_depthwise else attributes.get("groups", 1)
    found = Convolution(layout, text, is_depthwise, groups, axes, around[1], within[1])
    _check(request, found, around[0] == within[0], math.prod(kernel), (inner.shape, filters.shape, outer.shape))
    return found


def _check(
    request: KernelRequest, found: Convolution, is_one_batch: bool, count: int, shapes: tuple[tuple[int, ...], ...]
) -> None:
    """Refuse shapes that do not belong together; gradients get two of them from the program."""
    groups, pads = found.groups, request.attributes["pads"]
    _, reach = paddings(pads, len(found.axes))
    fits = [
        max(axis.length + axis.before + after - axis.extent, -axis.stride) // axis.stride + 1 == axis.windows
        for axis, after in zip(found.axes, reach, strict=True)
    ]
    is_shared = groups > 0 and not found.channels % groups and not found.results % groups
    if not (is_one_batch and all(fits) and is_shared and math.prod(found.filter_shape) == count):
        raise InvalidArgument(
            f"operator {request.op_type}: no convolution of {shapes[0]} with filters {shapes[1]} in {groups} groups "
            f"gives {shapes[2]}, in the layouts {found.layout} and {found.filters}"
        )


def filter_order(convolution: Convolution) -> tuple[int, ...]:
    """Return the permutation that a filter needs before it is reshaped to ``(O, C / groups, *spatial)``."""
    probe = np.empty(tuple(range(2, 2 + len(convolution.filters))))
    return tuple(size - 2 for size in convolution.view(probe).shape)


def exact_dtype(request: KernelRequest, source: DataType, terms: int) -> np.dtype[Any]:
    """Return the dtype to multiply and add in: for integers, one that holds every sum exactly.

    Args:
        request: the request to prepare.
        source: the dtype of its tensors.
        terms: how many products are added up.

    Raises:
        UnsupportedDataType: it gives something else than what such products give.
    """
    result = request.outputs[0].dtype
    if source in FLOATS and result in FLOATS:
        return compute_dtype(source)
    if source in QUANTISED and result is DataType.INT32:
        return np.dtype(np.float32 if terms << 14 <= 1 << 24 else np.float64)
    raise refuse_dtype(request, "float dtypes, or INT8 giving INT32")


def refuse_offsets(request: KernelRequest, index: int) -> None:
    """Refuse what quantised convolutions on the card take besides: this device would not know what to do with it.

    Raises:
        NotSupported: ``offset_w``, the input at an index, is there, or ``offset_x`` is not 0.
    """
    if request.attributes.get("offset_x") or (len(request.inputs) > index and request.inputs[index] is not None):
        raise NotSupported(f"operator {request.op_type}: offset_x and offset_w are not supported on the cpu device")
