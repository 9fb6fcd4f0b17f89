"""Outputs of gradients of normalisations."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aacl.dtypes import DataType
from aacl.ops._infer._agreement import equal_shapes
from aacl.ops._infer._channel_normalisation import named_axis, per_channel
from aacl.ops._infer._dims import Dim, Shape, fixed
from aacl.ops._infer._normalisation import check_scale
from aacl.ops._infer._rules import Call, Output, rule

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ()


@rule("LayerNormGrad", "LayerNormGradV3")
def layer_norm_gradient(call: Call) -> Sequence[Output]:
    """The gradient of ``x``, as it, and those of scale and shift, as the scale."""
    gamma = call.shape(4)
    return [call.like(1, _rows(call, 4)), call.like(4, gamma, 1), call.like(4, gamma, 2)]


@rule("LayerNormXBackprop")
def layer_norm_x(call: Call) -> Sequence[Output]:
    """The gradient of ``x``, as it."""
    return [call.like(1, _rows(call, 4))]


@rule("LayerNormXBackpropV2", "LayerNormXBackpropV3")
def layer_norm_x_and_rest(call: Call) -> Sequence[Output]:
    """The gradient of ``x``, and what LayerNormBetaGammaBackpropV2 wants, float, as it."""
    shape = _rows(call, 4)
    return [call.like(1, shape), Output(DataType.FLOAT, shape, call.desc(1).format)]


@rule("LayerNormBetaGammaBackprop")
def layer_norm_scale(call: Call) -> Sequence[Output]:
    """Two outputs of shape ``shape_gamma``."""
    return _scale(call, _rows(call, None))


@rule("LayerNormBetaGammaBackpropV2")
def layer_norm_scale_from_rest(call: Call) -> Sequence[Output]:
    """Two outputs of shape ``shape_gamma``."""
    return _scale(call, equal_shapes(call, (0, 1)))


@rule("RmsNormGrad")
def rms_norm_gradient(call: Call) -> Sequence[Output]:
    """The gradient of ``x``, as it, and that of the scale, float."""
    shape, gamma = equal_shapes(call, (0, 1)), call.shape(3)
    if shape is not None and gamma is not None:
        _check_tail(call, 3, shape, gamma)
        _check_statistic(call, 2, shape)
    return [call.like(1, shape), Output(DataType.FLOAT, gamma, call.desc(3).format)]


@rule("GroupNormGrad")
def group_norm_gradient(call: Call) -> Sequence[Output]:
    """The gradient of ``x``, as it, and those of scale and shift, as the scale."""
    shape, groups = equal_shapes(call, (0, 3)), call.attributes["num_groups"]
    if groups < 1:
        raise call.error(f"num_groups is {groups}; it must be at least 1")
    if shape is not None:
        if len(shape) < 2:
            raise call.error(f"{call.titled(3)} needs batch and channels")
        channel = named_axis(call, len(shape))
        if shape[channel].is_fixed and shape[channel].least % groups:
            raise call.error(f"{shape[channel]} channels of {call.titled(3)} are no multiple of num_groups {groups}")
        per_channel(call, 4, shape, channel)
        for index in (1, 2):
            found = call.shape(index)
            if found is not None and not (
                len(found) == 2 and found[0].meets(shape[0]) and found[1].meets(Dim(groups, groups))
            ):
                raise call.error(f"{call.titled(index)} must be [batch, num_groups]")
    gamma = call.shape(4)
    return [call.like(3, shape), call.like(4, gamma, 1), call.like(4, gamma, 2)]


@rule("L2NormalizeGrad", "LRNGrad")
def as_x(call: Call) -> Sequence[Output]:
    """The gradient of ``x``; all inputs have its shape."""
    shape = equal_shapes(call, (0, 1, 2))
    if shape is not None:
        for axis in call.attributes.get("dim", ()):
            call.axis(axis, len(shape), "dim")
        if call.schema.op_type == "LRNGrad" and len(shape) != 4:
            raise call.error(f"{call.titled(1)} must have four dims")
    return [call.like(0, shape)]


def _rows(call: Call, gamma: int | None) -> Shape:
    """Return the shape of slope and ``x``; the statistics broadcast to it, and the scale is how it ends."""
    shape = equal_shapes(call, (0, 1))
    if shape is None:
        return None
    for index in (2, 3):
        _check_statistic(call, index, shape)
    if gamma is not None:
        scale = call.shape(gamma)
        if scale is not None:
            _check_tail(call, gamma, shape, scale)
    return shape


def _check_tail(call: Call, index: int, shape: tuple[Dim, ...], scale: tuple[Dim, ...]) -> None:
    lead = len(shape) - len(scale)
    check_scale(call, index, shape[lead:] if lead >= 0 else ())


def _check_statistic(call: Call, index: int, shape: tuple[Dim, ...]) -> None:
    found = call.shape(index)
    if found is None:
        return
    one = Dim(1, 1)
    if len(found) != len(shape) or any(not (a.meets(b) or a.meets(one)) for a, b in zip(found, shape, strict=True)):
        raise call.mismatch(0, index, "do not fit: a statistic has 1 on the axes that were normalised")


def _scale(call: Call, shape: Shape) -> Sequence[Output]:
    sizes = tuple(call.attributes["shape_gamma"])
    if any(size < 0 for size in sizes):
        raise call.error(f"shape_gamma {sizes} must not be negative")
    if shape is not None:
        lead = len(shape) - len(sizes)
        if lead < 0 or any(not dim.meets(own) for dim, own in zip(shape[lead:], fixed(*sizes), strict=True)):
            raise call.error(f"shape_gamma {sizes} is not how {call.titled(0)} ends")
    return [call.like(0, fixed(*sizes)), call.like(0, fixed(*sizes), 1)]
