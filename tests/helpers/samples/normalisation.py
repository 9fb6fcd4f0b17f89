"""Samples of normalisations over trailing axes."""

from __future__ import annotations

from tests.helpers.samples import Sample, data, host

__all__ = ("SAMPLES",)

_ROWS = (3, 5)

SAMPLES = {
    "AddLayerNorm": Sample([data(*_ROWS), data(*_ROWS, high=3), data(5, low=0.5), data(5), data(5, high=1)]),
    "AddRmsNorm": Sample([data(*_ROWS), data(*_ROWS, high=3), data(5, low=0.5)]),
    "DeepNorm": Sample([data(*_ROWS), data(*_ROWS, high=3), data(5), data(5, low=0.5)]),
    "InplaceAddLayerNorm": Sample([data(*_ROWS), data(*_ROWS, high=3), data(5, low=0.5), data(5)]),
    "InplaceAddRmsNorm": Sample([data(*_ROWS), data(*_ROWS, high=3), data(5, low=0.5)]),
    "LayerNorm": Sample([data(*_ROWS), data(5, low=0.5), data(5)], {"begin_norm_axis": 1, "begin_params_axis": 1}),
    "LayerNormV3": Sample([data(*_ROWS), data(5, low=0.5), data(5)], {"begin_norm_axis": 1, "begin_params_axis": 1}),
    "LayerNormV4": Sample([data(*_ROWS), host([5], "int32"), data(5, low=0.5), data(5)]),
    "RmsNorm": Sample([data(*_ROWS), data(5, low=0.5)]),
}
