"""Convolutions, their transposes and gradients."""

from __future__ import annotations

from tests.helpers.samples._sample import Sample, data, host

_FIRST = {"strides": (1, 1, 2, 1), "pads": (1, 0, 1, 1), "data_format": "NCHW"}
_LAST = {"strides": (1, 2, 1, 1), "pads": (1, 0, 1, 1), "data_format": "NHWC"}
_DEEP = {"strides": (1, 1, 1, 2, 1), "pads": (0, 0, 1, 0, 1, 1), "data_format": "NCDHW"}

# Inputs of convolutions, filters, and outputs.
_X, _FILTER, _Y = data(1, 2, 4, 4), data(3, 2, 2, 2), data(1, 3, 2, 5)
_LINES, _LINE_FILTER, _OUT = data(1, 4, 4, 2), data(2, 2, 2, 3), data(1, 2, 5, 6)
_BLOCK, _BLOCK_FILTER, _DEEP_OUT = data(1, 2, 3, 4, 4), data(3, 2, 2, 2, 2), data(1, 3, 2, 2, 5)

SAMPLES = {
    "Conv2D": Sample([_X, _FILTER], _FIRST),
    "Conv3D": Sample([_BLOCK, _BLOCK_FILTER], _DEEP),
    "DepthwiseConv2D": Sample([_LINES, _LINE_FILTER], _LAST),
    "Conv2DTranspose": Sample([host([1, 2, 4, 4]), _Y, _FILTER], _FIRST),
    "Conv2DTransposeD": Sample([_Y, _FILTER], _FIRST | {"input_size": (1, 2, 4, 4)}),
    "Conv3DTranspose": Sample([host([1, 2, 3, 4, 4]), _DEEP_OUT, _BLOCK_FILTER], _DEEP),
    "Conv3DTransposeD": Sample([_DEEP_OUT, _BLOCK_FILTER], _DEEP | {"input_size": (1, 2, 3, 4, 4)}),
    "Deconvolution": Sample([_Y, _FILTER], {"strides": (2, 1), "pads": (1, 0, 1, 1)}),
    "Conv2DBackpropInput": Sample([host([1, 2, 4, 4], "int32"), _FILTER, _Y], _FIRST),
    "Conv2DBackpropInputD": Sample([_FILTER, _Y], _FIRST | {"input_size": (1, 2, 4, 4)}),
    "Conv2DBackpropFilter": Sample([_X, host([3, 2, 2, 2], "int32"), _Y], _FIRST),
    "Conv2DBackpropFilterD": Sample([_X, _Y], _FIRST | {"filter_size": (3, 2, 2, 2)}),
    "Conv3DBackpropInput": Sample([host([1, 2, 3, 4, 4]), _BLOCK_FILTER, _DEEP_OUT], _DEEP),
    "Conv3DBackpropInputD": Sample([_BLOCK_FILTER, _DEEP_OUT], _DEEP | {"input_size": (1, 2, 3, 4, 4)}),
    "Conv3DBackpropFilter": Sample([_BLOCK, host([3, 2, 2, 2, 2], "int32"), _DEEP_OUT], _DEEP),
    "Conv3DBackpropFilterD": Sample([_BLOCK, _DEEP_OUT], _DEEP | {"filter_size": (3, 2, 2, 2, 2)}),
    "DepthwiseConv2DBackpropInput": Sample([host([1, 4, 4, 2]), _LINE_FILTER, _OUT], _LAST),
    "DepthwiseConv2DBackpropInputD": Sample([_LINE_FILTER, _OUT], _LAST | {"input_size": (1, 4, 4, 2)}),
    "DepthwiseConv2DBackpropFilter": Sample([_LINES, host([2, 2, 2, 3]), _OUT], _LAST),
    "DepthwiseConv2DBackpropFilterD": Sample([_LINES, _OUT], _LAST | {"filter_size": (2, 2, 2, 3)}),
}
