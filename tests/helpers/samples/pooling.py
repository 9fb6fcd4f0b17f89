"""Pooling and its gradients."""

from __future__ import annotations

from tests.helpers.samples._sample import Sample, data, fixed, host

_NAMED = {"ksize": (1, 3, 2, 1), "strides": (1, 2, 2, 1), "padding": "SAME"}
_PADDED = {"ksize": (1, 1, 3, 2), "strides": (1, 1, 2, 2), "pads": (1, 1, 0, 0)}
_DEEP = {"ksize": (1, 3, 2), "strides": (1, 2, 2), "pads": (0, 0, 1, 1, 0, 0)}
_PLANAR = {"ksize": (1, 2, 2, 1), "strides": (1, 2, 2, 1), "pads": (1, 1, 0, 1)}
_MATRIX = data(1, 1, 1, 1)

SAMPLES = {
    "MaxPool": Sample([data(1, 5, 4, 2)], _NAMED),
    "MaxPoolExt2": Sample([data(1, 5, 4, 2)], _NAMED),
    "MaxPoolV2": Sample(
        [data(1, 5, 4, 2), host([1, 3, 2, 1], "int32"), host([1, 2, 2, 1], "int32")], {"padding": "SAME"}
    ),
    "MaxPoolV3": Sample([data(1, 2, 5, 4)], _PADDED),
    "MaxPool3D": Sample([data(1, 1, 5, 4, 2)], _DEEP | {"padding": "CALCULATED"}),
    "MaxPoolWithArgmax": Sample([data(1, 5, 4, 2)], _NAMED),
    "MaxPoolWithArgmaxV1": Sample([data(1, 2, 4, 4)], _PLANAR),
    "MaxPoolWithArgmaxV2": Sample([data(1, 2, 4, 4)], _PLANAR),
    "AvgPool": Sample([data(1, 5, 4, 2)], _NAMED),
    "AvgPoolV2": Sample([data(1, 2, 5, 4)], _PADDED),
    "AvgPool3D": Sample([data(1, 1, 5, 4, 2)], _DEEP),
    "AvgPool3DD": Sample([data(1, 1, 5, 4, 2)], _DEEP),
    "AvgPool1D": Sample([data(2, 3, 7)], {"ksize": 3, "strides": 2, "pads": (1, 0)}),
    "AvgPool1DD": Sample([data(2, 3, 7), data(3)], {"ksize": 3, "strides": 2, "pads": (1, 0)}),
    "Pooling": Sample([data(1, 2, 5, 4)], {"window": (3, 2), "stride": (2, 2), "mode": 1}),
    "MaxPoolGrad": Sample([data(1, 5, 4, 2), data(1, 3, 2, 2), data(1, 3, 2, 2)], _NAMED),
    "MaxPoolV3Grad": Sample([data(1, 2, 5, 4), data(1, 2, 3, 2), data(1, 2, 3, 2)], _PADDED),
    "MaxPool3DGrad": Sample(
        [data(1, 1, 5, 4, 2), data(1, 1, 3, 2, 2), data(1, 1, 3, 2, 2)], _DEEP | {"padding": "CALCULATED"}
    ),
    "MaxPoolGradGrad": Sample([data(1, 5, 4, 2), data(1, 3, 2, 2), data(1, 5, 4, 2, low=-3)], _NAMED),
    "MaxPool3DGradGrad": Sample([data(1, 1, 5, 4, 2), data(1, 1, 3, 2, 2), data(1, 1, 5, 4, 2, low=-3)], _DEEP),
    "MaxPoolGradGradWithArgmax": Sample(
        [data(1, 4, 4, 1), data(1, 4, 4, 1, low=-3), fixed([[[[1], [2]], [[9], [9]]]], "int32")],
        {"ksize": (1, 2, 2, 1), "strides": (1, 2, 2, 1), "padding": "VALID"},
    ),
    "MaxPoolGradWithArgmax": Sample(
        [data(1, 4, 4, 1), data(1, 2, 2, 1), fixed([[[[1], [2]], [[9], [9]]]], "int32")],
        {"ksize": (1, 2, 2, 1), "strides": (1, 2, 2, 1), "padding": "VALID"},
    ),
    "MaxPoolGradWithArgmaxV1": Sample(
        [data(1, 1, 4, 4), data(1, 1, 3, 2), fixed([[[[0, 3], [5, 6], [13, 13]]]], "int32")], _PLANAR
    ),
    "MaxPoolGradWithArgmaxV2": Sample(
        [data(1, 1, 4, 4), data(1, 1, 3, 2), fixed([[[[0, 3], [5, 6], [13, 13]]]], "uint16")], _PLANAR
    ),
    "AvgPoolGrad": Sample([host([1, 5, 4, 2], "int32"), data(1, 3, 2, 2)], _NAMED),
    "AvgPoolGradD": Sample([data(1, 3, 2, 2), _MATRIX, _MATRIX], _NAMED | {"orig_input_shape": (1, 5, 4, 2)}),
    "AvgPoolV2Grad": Sample([host([1, 2, 5, 4], "int32"), data(1, 2, 3, 2)], _PADDED),
    "AvgPoolV2GradD": Sample([data(1, 2, 3, 2)], _PADDED | {"orig_input_shape": (1, 2, 5, 4)}),
    "AvgPool3DGrad": Sample([host([1, 1, 5, 4, 2], "int32"), data(1, 1, 3, 2, 2)], _DEEP),
    "AvgPool3DGradD": Sample([data(1, 1, 3, 2, 2)], _DEEP | {"orig_input_shape": (1, 1, 5, 4, 2)}),
    "AdaptiveAvgPool": Sample([data(1, 2, 5, 4), host([2, 3])]),
    "AdaptiveAvgPool2d": Sample([data(1, 2, 5, 4)], {"output_size": (2, 3)}),
    "AdaptiveAvgPool2dGrad": Sample([data(1, 2, 2, 3)], {"orig_input_shape": (1, 2, 5, 4)}),
    "AdaptiveMaxPool2d": Sample([data(1, 2, 5, 4)], {"output_size": (2, 3)}),
    "GlobalAveragePool": Sample([data(1, 2, 5, 4)]),
    "GlobalLpPool": Sample([data(1, 2, 5, 4)], {"p": 3.0}),
    "Upsample": Sample([data(1, 2, 3, 4)], {"scale": 0.5}),
    "ROIPooling": Sample(
        [data(2, 2, 6, 8), data(1, 5, low=1, high=1)],
        {"pooled_h": 1, "pooled_w": 1, "spatial_scale_h": 1.0, "spatial_scale_w": 1.0},
    ),
}
