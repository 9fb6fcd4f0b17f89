"""Samples of operators that move cells between space, channels and batch."""

from __future__ import annotations

from tests.helpers.samples import Sample, data, host

__all__ = ("SAMPLES",)

SAMPLES = {
    "BatchToSpace": Sample([data(4, 2, 3, 2), host([[0, 1], [1, 0]])], {"block_size": 2}),
    "BatchToSpaceD": Sample([data(4, 2, 3, 2)], {"block_size": 2, "crops": [0, 1, 1, 0]}),
    "BatchToSpaceND": Sample([data(6, 2, 3, 2), host([2, 3]), host([[0, 1], [1, 0]])]),
    "BatchToSpaceNDD": Sample([data(6, 2, 3, 2)], {"block_shape": [2, 3], "crops": [0, 1, 1, 0]}),
    "DepthToSpace": Sample([data(1, 2, 3, 8)], {"block_size": 2}),
    "ShuffleChannel": Sample([data(2, 6, 3)], {"group": 2}),
    "SpaceToBatch": Sample([data(1, 3, 3, 2), host([[0, 1], [1, 0]])], {"block_size": 2}),
    "SpaceToBatchD": Sample([data(1, 3, 3, 2)], {"block_size": 2, "paddings": [0, 1, 1, 0]}),
    "SpaceToBatchND": Sample([data(1, 3, 5, 2), host([2, 3]), host([[0, 1], [1, 0]])]),
    "SpaceToBatchNDD": Sample([data(1, 3, 5, 2)], {"block_shape": [2, 3], "paddings": [0, 1, 1, 0]}),
    "SpaceToDepth": Sample([data(1, 4, 6, 2)], {"block_size": 2}),
}
