"""Grey-scale dilation and its gradients."""

from __future__ import annotations

from tests.helpers.samples._sample import Sample, data

_WINDOWS = {"strides": (1, 1, 1, 1), "rates": (1, 1, 1, 1)}
_X, _FILTER = data(1, 4, 4, 2), data(2, 2, 2)

SAMPLES = {
    "Dilation2D": Sample([_X, _FILTER], _WINDOWS),
    "Dilation2DBackpropInput": Sample([_X, _FILTER, data(1, 4, 4, 2, low=-1)], _WINDOWS),
    "Dilation2DBackpropFilter": Sample([_X, _FILTER, data(1, 4, 4, 2, low=-1)], _WINDOWS),
}
