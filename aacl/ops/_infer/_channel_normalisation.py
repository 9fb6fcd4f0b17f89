"""Outputs of normalisations over channels, groups of them, or listed axes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aacl.ops._infer._dims import FREE, Dim, Shape
from aacl.ops._infer._rules import Call, Output, rule

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ("named_axis", "per_channel")


@rule("InstanceNorm")
def instance_norm(call: Call) -> Sequence[Output]:
    """``y`` as ``x``; the statistics keep batch and channels and have 1 elsewhere."""
    shape = call.shape(0)
    if shape is None:
        return [call.like(0, None, output) for output in range(3)]
    if len(shape) < 2:
        raise call.error(f"{call.titled(0)} needs batch and channels")
    channel = named_axis(call, len(shape))
    for index in (1, 2):
        per_channel(call, index, shape, channel)
    reduced = tuple(dim if axis in (0, channel) else Dim(1, 1) for axis, dim in enumerate(shape))
    return [call.like(0, shape), call.like(0, reduced, 1), call.like(0, reduced, 2)]


@rule("GroupNorm", "GroupNormV2", "GroupNormSilu")
def group_norm(call: Call) -> Sequence[Output]:
    """``y`` as ``x``; the statistics are ``[batch, num_groups]``."""
    shape = _grouped(call)
    groups = call.attributes["num_groups"]
    reduced = (FREE if shape is None else shape[0], Dim(groups, groups))
    return [call.like(0, shape), call.like(0, reduced, 1), call.like(0, reduced, 2)]


@rule("GroupNormRelu")
def group_norm_relu(call: Call) -> Sequence[Output]:
    """``y`` as ``x``."""
    return [call.like(0, _grouped(call))]


@rule("L2Normalize", "Renorm")
def along_axes(call: Call) -> Sequence[Output]:
    """As ``x``; the axes lie within its rank."""
    shape, attributes = call.shape(0), call.attributes
    if shape is not None:
        axes = attributes["axis"] if "axis" in attributes else (attributes["dim"],)
        for axis in axes:
            call.axis(axis, len(shape), "axis" if "axis" in attributes else "dim")
    return [call.like(0, shape)]


@rule("MVNV2")
def mean_variance_axes(call: Call) -> Sequence[Output]:
    """As ``x``; the axes lie within its rank."""
    shape = call.shape(0)
    if shape is not None:
        for axis in call.attributes["axes"]:
            call.axis(axis, len(shape), "axis")
    return [call.like(0, shape)]


@rule("MVN", "LRN")
def picture(call: Call) -> Sequence[Output]:
    """As ``x``, which has four dims."""
    shape = call.shape(0)
    if shape is not None and len(shape) != 4:
        raise call.error(f"{call.titled(0)} must have four dims")
    return [call.like(0, shape)]


@rule("Scale")
def scale(call: Call) -> Sequence[Output]:
    """As ``x``; ``scale`` and ``bias`` lie along the axes from ``axis``."""
    shape = call.shape(0)
    if shape is None:
        return [call.like(0, None)]
    axis = call.axis(call.attributes["axis"], len(shape), "axis")
    for index in (1, 2):
        if call.has(index):
            _check_along(call, index, shape, axis)
    return [call.like(0, shape)]


def _check_along(call: Call, index: int, shape: tuple[Dim, ...], axis: int) -> None:
    found = call.shape(index)
    if found is None or all(dim.is_fixed and dim.least == 1 for dim in found):
        return
    count = call.attributes["num_axes"]
    is_blob = call.attributes["scale_from_blob"]
    wanted = shape[axis:] if is_blob and count == -1 else shape[axis : axis + (count if is_blob else len(found))]
    if len(found) != len(wanted) or any(not a.meets(b) for a, b in zip(found, wanted, strict=True)):
        raise call.mismatch(0, index, f"do not fit: {call.names[index]} needs shape {tuple(wanted)} from axis {axis}")


def _grouped(call: Call) -> Shape:
    shape, groups = call.shape(0), call.attributes["num_groups"]
    if groups < 1:
        raise call.error(f"num_groups is {groups}; it must be at least 1")
    if shape is None:
        return None
    if len(shape) < 2:
        raise call.error(f"{call.titled(0)} needs batch and channels")
    channel = named_axis(call, len(shape))
    channels = shape[channel]
    if channels.is_fixed and channels.least % groups:
        raise call.error(f"{channels.least} channels of {call.titled(0)} are no multiple of num_groups {groups}")
    for index in (1, 2):
        if call.has(index):
            per_channel(call, index, shape, channel)
    return shape


def named_axis(call: Call, rank: int) -> int:
    """Return the channel axis that the attribute ``data_format`` names; axis 1 where there is no such attribute."""
    layout = call.attributes.get("data_format", "NCHW")
    if layout in ("NCHW", "NCDHW", "NCL", "ND"):
        return 1 if rank > 1 else 0
    if layout in ("NHWC", "NDHWC", "NLC"):
        return max(rank - 1, 0)
    raise call.error(f"data_format is {layout!r}; it must name a layout such as 'NCHW'")


def per_channel(call: Call, index: int, shape: tuple[Dim, ...], channel: int) -> None:
    """Refuse an input that does not hold one element for each channel of the first one."""
    found = call.shape(index)
    if found is None:
        return
    total = Dim(1, 1)
    for dim in found:
        total = total.times(dim)
    if len(found) not in (1, len(shape)) or not total.meets(shape[channel]):
        raise call.mismatch(0, index, f"do not fit: there are {shape[channel]} channels, along axis {channel}")
