"""Samples of operators that give the same elements another shape or order."""

from __future__ import annotations

from tests.helpers.samples import Sample, data, host

SAMPLES = {
    **{name: Sample([data(2, 3)]) for name in ("Identity", "StopGradient", "TensorMove", "TensorRedirect")},
    "Copy": Sample([data(2, 3)], {"N": 2}),
    "Reshape": Sample([data(2, 3), host([3, 2])]),
    "ExpandDims": Sample([data(2, 3), host([1])]),
    "Squeeze": Sample([data(2, 1, 3)]),
    "Unsqueeze": Sample([data(2, 3)], {"axes": [0]}),
    "Flatten": Sample([data(2, 3, 2)]),
    "FlattenV2": Sample([data(2, 3, 2)]),
    "Transpose": Sample([data(2, 3), host([1, 0])]),
    "TransposeD": Sample([data(2, 3)], {"perm": [1, 0]}),
    "Permute": Sample([data(2, 3)], {"order": [1, 0]}),
    "BroadcastTo": Sample([data(1, 3), host([2, 3])]),
    "BroadcastToD": Sample([data(1, 3)], {"shape": [2, 3]}),
    "Expand": Sample([data(1, 3), host([2, 1])]),
    "Tile": Sample([data(2, 3), host([2, 1])]),
    "TileD": Sample([data(2, 3)], {"multiples": [2, 1]}),
}
