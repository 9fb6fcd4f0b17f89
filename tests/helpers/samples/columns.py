"""Windows taken apart and put together, and deformable convolution."""

from __future__ import annotations

from tests.helpers.samples._sample import Sample, data, host

_FOLD = {"dilation": (1, 1), "padding": (0, 0), "stride": (1, 1)}

SAMPLES = {
    "Im2col": Sample([data(1, 2, 3, 4)], {"ksizes": (2, 2), "pads": (1, 0, 0, 1)}),
    "Col2im": Sample([data(1, 2, 4, 6), host([3, 4], "int32")], _FOLD | {"kernel_size": (2, 2)}),
    "Col2ImV2": Sample([data(1, 8, 6), host([3, 4], "int32"), host([2, 2], "int32")], _FOLD),
    "DeformableConv2D": Sample(
        [data(1, 2, 4, 4), data(3, 2, 2, 2), data(1, 12, 3, 3)],
        {"strides": (1, 1, 1, 1), "pads": (0, 0, 0, 0), "data_format": "NCHW"},
        loose=4,
    ),
}
