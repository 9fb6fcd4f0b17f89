"""Outputs of convolutions that are turned round, and of the gradients of convolutions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aacl.dtypes import DataType, Format
from aacl.ops._infer._agreement import require_equal_dtypes
from aacl.ops._infer._dims import FREE, Dim, Shape, fixed
from aacl.ops._infer._filters import (
    QUANTISED,
    check_bias,
    dims_in,
    dims_of,
    each_window,
    filter_dims,
    groups_of,
)
from aacl.ops._infer._rules import Call, Output, rule
from aacl.ops._infer._windows import Window, layout_of, paddings, rank_of, spatial

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ()


@rule("Conv2DTranspose", "Conv3DTranspose")
def transposed(call: Call) -> Sequence[Output]:
    """``input_size`` is the output's shape; where it is all zeros, it follows from x and ``output_padding``."""
    return [_transposed(call, 1, call.integers(0))]


@rule("Conv2DTransposeD", "Conv3DTransposeD")
def transposed_attribute(call: Call) -> Sequence[Output]:
    """As Conv2DTranspose, with ``input_size`` as an attribute."""
    return [_transposed(call, 0, call.attributes["input_size"])]


@rule("Deconvolution")
def deconvolution(call: Call) -> Sequence[Output]:
    """The output's spatial dims are ``(n - 1) * stride + extent - pads``."""
    return [_transposed(call, 0, ())]


@rule("Conv2DBackpropInput", "Conv3DBackpropInput", "DepthwiseConv2DBackpropInput")
def gradient_of_input(call: Call) -> Sequence[Output]:
    """The output has the shape that ``input_size`` holds."""
    require_equal_dtypes(call, (1, 2))
    return [_gradient_of_input(call, 1, call.integers(0), call.length(0))]


@rule("Conv2DBackpropInputD", "Conv3DBackpropInputD", "DepthwiseConv2DBackpropInputD")
def gradient_of_input_attribute(call: Call) -> Sequence[Output]:
    """The output has the shape ``input_size``."""
    require_equal_dtypes(call, (0, 1))
    return [_gradient_of_input(call, 0, call.attributes["input_size"], None)]


@rule("Conv2DBackpropFilter", "Conv3DBackpropFilter", "DepthwiseConv2DBackpropFilter")
def gradient_of_filter(call: Call) -> Sequence[Output]:
    """The output has the shape that ``filter_size`` holds."""
    require_equal_dtypes(call, (0, 2))
    return [_gradient_of_filter(call, 2, call.integers(1), call.length(1))]


@rule("Conv2DBackpropFilterD", "Conv3DBackpropFilterD", "DepthwiseConv2DBackpropFilterD")
def gradient_of_filter_attribute(call: Call) -> Sequence[Output]:
    """The output has the shape ``filter_size``."""
    require_equal_dtypes(call, (0, 1))
    return [_gradient_of_filter(call, 1, call.attributes["filter_size"], None)]


def _transposed(call: Call, index: int, size: Sequence[int] | None) -> Output:
    """Return the output of a convolution that is turned round; x is at an index, its filter and bias behind it."""
    require_equal_dtypes(call, (index, index + 1))
    source = call.desc(index).dtype
    output = Output(DataType.INT32 if source in QUANTISED else source, None, call.desc(index).format)
    layout = layout_of(call, index, rank_of(call))
    x, filters = dims_of(call, index, layout), filter_dims(call, index + 1, layout)
    if x is None or filters is None:
        spatial(call, "strides", layout)
        return output
    if not x["C"].meets(filters["N"]):
        raise call.mismatch(index, index + 1, f"do not fit: {x['C']} channels meet {filters['N']} filters")
    groups = groups_of(call)
    if filters["N"].is_fixed and filters["N"].least % groups:
        raise call.error(f"{groups} groups do not share the {filters['N']} filters of {call.titled(index + 1)} equally")
    channels = filters["C"].times(Dim(groups, groups))
    check_bias(call, index + 2, channels)
    letters = [letter for letter in layout if letter not in "NC"]
    each = each_window(call, layout, filters, "dilations", paddings(call, "pads", len(letters)))
    if size is not None and not any(size):
        extra = spatial(call, "output_padding", layout, 0) if "output_padding" in call.attributes else (0,) * 3
        sizes = [
            _spread(x[letter], *pair) for letter, pair in zip(letters, zip(each, extra, strict=False), strict=True)
        ]
        return output._replace(shape=dims_in(layout, x["N"], channels, sizes))
    if size is None:
        return output._replace(shape=dims_in(layout, x["N"], channels, (FREE,) * len(letters)))
    wanted = dims_in(layout, x["N"], channels, [x[letter] for letter in letters])
    return output._replace(shape=_checked_size(call, index, layout, size, wanted, each))


def _spread(dim: Dim, window: Window | None, extra: int) -> Dim:
    """Return what is known of the axis that windows cover."""
    if window is None:
        return FREE
    scaled = dim.shifted(-1).times(Dim(window.stride, window.stride))
    return scaled.shifted(window.extent - window.before - window.after + extra)


def _checked_size(
    call: Call,
    index: int,
    layout: str,
    size: Sequence[int],
    wanted: tuple[Dim, ...],
    each: Sequence[Window | None],
) -> tuple[Dim, ...]:
    """Return the dims that a program asks for, if windows along them are as many as x has."""
    if len(size) != len(layout) or min(size) < 0:
        raise call.error(f"input_size {tuple(size)} must be {len(layout)} numbers, {', '.join(layout)}")
    left = iter(each)
    for letter, number, dim in zip(layout, size, wanted, strict=True):
        window = None if letter in "NC" else next(left)
        count = number if letter in "NC" else None if window is None else max(window.count(number), 0)
        if count is not None and not dim.meets(Dim(count, count)):
            raise call.error(
                f"input_size {tuple(size)} does not fit {call.titled(index)}: {letter} is {dim} there; "
                f"a convolution of an input of {number} gives {count}"
            )
    return fixed(*size)


def _gradient_of_input(call: Call, index: int, size: Sequence[int] | None, count: int | None) -> Output:
    """Return the output of a gradient; the filter is at an index, what comes in behind it, in the output's layout."""
    layout = layout_of(call, index + 1, rank_of(call))
    filter_dims(call, index, layout)
    return _gradient(call, index + 1, layout, size, count)


def _gradient_of_filter(call: Call, index: int, size: Sequence[int] | None, count: int | None) -> Output:
    """Return the output of a gradient; x comes first, what comes in is at an index, in x's layout."""
    layout = layout_of(call, 0, rank_of(call))
    dims_of(call, index, layout)
    return _gradient(call, 0, layout, size, count)._replace(format=Format.ND)


def _gradient(call: Call, index: int, layout: str, size: Sequence[int] | None, count: int | None) -> Output:
    """Return the output of a gradient, of the dtype and format of the input at an index."""
    rank = len(layout)
    spatial(call, "strides", layout)
    spatial(call, "dilations", layout)
    paddings(call, "pads", rank - 2)
    groups_of(call)
    source = call.desc(index).dtype
    dtype = DataType.INT32 if source in QUANTISED else call.result(source)
    if (size is not None and (len(size) != rank or min(size) < 0)) or count not in (None, rank):
        found = f"of {count} numbers" if size is None else str(tuple(size))
        raise call.error(f"the size {found} must be {rank} numbers, none negative")
    shape: Shape = (FREE,) * rank if size is None else fixed(*size)
    return Output(dtype, shape, call.desc(index).format)
