"""How windows slide: the attributes that ONNX's convolutions and pools share."""

from __future__ import annotations

from collections.abc import Sequence

import attrs

from tests.helpers.onnx_nodes._node import Node

__all__ = ("Geometry", "geometry")


@attrs.frozen
class Geometry:
    """Windows along the spatial axes.

    Attributes:
        kernel: their sizes.
        strides: the steps between them.
        dilations: the steps between the elements of one.
        pads: what is added before and behind each axis.
    """

    kernel: tuple[int, ...]
    strides: tuple[int, ...]
    dilations: tuple[int, ...]
    pads: tuple[tuple[int, int], ...]

    @property
    def rank(self) -> int:
        """The number of spatial axes."""
        return len(self.kernel)

    @property
    def flat_pads(self) -> list[int]:
        """The pads in the order of the operators: both of an axis, then those of the next."""
        return [number for pair in self.pads for number in pair]

    @property
    def is_dilated(self) -> bool:
        """Whether the elements of a window lie apart."""
        return any(step != 1 for step in self.dilations)

    def widened(self) -> Geometry:
        """Return the same windows with an axis of length one put before a single one."""
        if self.rank != 1:
            return self
        return Geometry((1, *self.kernel), (1, *self.strides), (1, *self.dilations), ((0, 0), *self.pads))


def geometry(node: Node, spatial: Sequence[int], kernel: Sequence[int]) -> Geometry:
    """Read the attributes of a node; ``auto_pad`` becomes numbers.

    Args:
        node: whose attributes.
        spatial: the input's sizes along the spatial axes.
        kernel: those of the windows.
    """
    ones = [1] * len(kernel)
    strides, dilations = node.attribute("strides", ones), node.attribute("dilations", ones)
    flat, mode = node.attribute("pads", [0] * 2 * len(kernel)), node.attribute("auto_pad", "NOTSET")
    pads = list(zip(flat[: len(kernel)], flat[len(kernel) :], strict=True))
    if mode.startswith("SAME"):
        sizes = zip(spatial, kernel, strides, dilations, strict=True)
        pads = [_same(*numbers, is_upper=mode == "SAME_UPPER") for numbers in sizes]
    return Geometry(tuple(kernel), tuple(strides), tuple(dilations), tuple(pads))


def _same(size: int, kernel: int, stride: int, dilation: int, *, is_upper: bool) -> tuple[int, int]:
    """Return the pads that leave ``ceil(size / stride)`` windows; the odd one stands behind, or before."""
    total = max((-(-size // stride) - 1) * stride + (kernel - 1) * dilation + 1 - size, 0)
    less, more = total // 2, total - total // 2
    return (less, more) if is_upper else (more, less)
