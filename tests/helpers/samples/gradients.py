"""Samples of gradients of arithmetic."""

from __future__ import annotations

from tests.helpers.samples import Sample, data

_GRADIENT = data(2, 3)

SAMPLES = {
    **{name: Sample([data(2, 3, low=0.2, high=0.9), _GRADIENT])
       for name in ("AbsGrad", "AcosGrad", "AcoshGrad", "AsinGrad", "AsinhGrad", "AtanGrad", "ReciprocalGrad",
                    "InvGrad", "RsqrtGrad", "SqrtGrad", "SigmoidGrad", "TanhGrad")},
    **{name: Sample([_GRADIENT, data(2, 3, high=3), data(2, 3, high=4)]) for name in ("MaximumGrad", "MinimumGrad")},
    "BiasAddGrad": Sample([data(2, 3, 4)], {"data_format": "NCHW"}),
    "SoftmaxGrad": Sample([data(2, 3, low=0.1, high=0.5), _GRADIENT], loose=4),
    "LogSoftmaxGrad": Sample([_GRADIENT, data(2, 3, low=-3, high=-0.5)], loose=4),
    "PReluGrad": Sample([data(2, 3, 4), data(2, 3, 4, high=3), data(3)], loose=2),
}  # fmt: skip
