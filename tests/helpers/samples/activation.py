"""Samples of activations."""

from __future__ import annotations

from tests.helpers.samples import Sample, data

SAMPLES = {
    name: Sample([data(2, 3)])
    for name in ("Relu", "Relu6", "Sigmoid", "Softplus", "Softsign", "LogSigmoid", "Mish", "LeakyRelu", "Elu", "Gelu",
                 "GeluV2", "FastGelu", "Swish", "HardSwish", "HardSigmoid", "Erf", "BNLL", "Hardswish", "Celu", "CeluV2", "Selu", "SoftplusV2",
                 "FastGeluV2")
}  # fmt: skip
