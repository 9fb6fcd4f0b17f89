"""Normalisations."""

from __future__ import annotations

import numpy as np

from aacl import Tensor
from tests.helpers.onnx_nodes._mapping import NotMapped, mapping
from tests.helpers.onnx_nodes._node import Node

__all__ = ()


@mapping("BatchNormalization")
def _batch_normalization(node: Node) -> Tensor:
    if node.attribute("training_mode", 0):
        raise NotMapped("the converter takes BatchNormalization of inference only")
    x, numbers = node.tensor(0), [node.tensor(index) for index in range(1, 5)]
    return node.run("BNInfer", x, *numbers, epsilon=node.attribute("epsilon", 1e-5))


@mapping("InstanceNormalization")
def _instance_normalization(node: Node) -> Tensor:
    inputs = [node.tensor(index) for index in range(3)]
    y, _, _ = node.run_several("InstanceNorm", *inputs, data_format="NCHW", epsilon=node.attribute("epsilon", 1e-5))
    return y


@mapping("GroupNormalization")
def _group_normalization(node: Node) -> Tensor:
    inputs = [node.tensor(index) for index in range(3)]
    eps, groups = node.attribute("epsilon", 1e-5), node.attribute("num_groups")
    y, _, _ = node.run_several("GroupNorm", *inputs, data_format="NCHW", eps=eps, num_groups=groups)
    return y


@mapping("LayerNormalization")
def _layer_normalization(node: Node) -> tuple[Tensor, ...]:
    """The third output is the reciprocal of the deviation in both."""
    inputs, axis = [node.tensor(index) for index in range(3)], node.axis(-1)
    epsilon = node.attribute("epsilon", 1e-5)
    outputs = node.run_several("LayerNormV3", *inputs, begin_norm_axis=axis, begin_params_axis=axis, epsilon=epsilon)
    return outputs[: len(node.case.outputs)]


@mapping("RMSNormalization")
def _rms_normalization(node: Node) -> Tensor:
    """RmsNorm goes over the axes that the scale has."""
    x, scale = node.tensor(0), node.tensor(1)
    if scale.shape != x.shape[node.axis(-1) :]:
        raise NotMapped("RmsNorm takes its axes from the scale, which broadcasts here")
    y, _ = node.run_several("RmsNorm", x, scale, epsilon=node.attribute("epsilon", 1e-5))
    return y


@mapping("LRN")
def _lrn(node: Node) -> Tensor:
    """ONNX divides alpha by the size of the window, the operator does not."""
    size = node.attribute("size")
    if size % 2 == 0:
        raise NotMapped("LRN has a radius, so that its windows are of odd size")
    alpha, beta = node.attribute("alpha", 1e-4) / size, node.attribute("beta", 0.75)
    return node.run(
        "LRN", node.tensor(0), depth_radius=size // 2, alpha=alpha, beta=beta, bias=node.attribute("bias", 1.0)
    )


@mapping("LpNormalization")
def _lp_normalization(node: Node) -> Tensor:
    """A norm of zero divides nothing: the quotient is zero there."""
    x, p = node.tensor(0), float(node.attribute("p", 2))
    norm = node.run("LpNormV2", x, p=p, axes=[node.axis(-1)], keepdim=True)
    return node.run("DivNoNan" if _has_zero_norm(node) else "RealDiv", x, norm)


def _has_zero_norm(node: Node) -> bool:
    return not np.abs(node.value(0)).sum(axis=node.axis(-1)).all()


@mapping("MeanVarianceNormalization")
def _mean_variance_normalization(node: Node) -> Tensor:
    return node.run("MVNV2", node.tensor(0), axes=node.attribute("axes", [0, 2, 3]), eps=1e-9)
