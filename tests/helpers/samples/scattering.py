"""Samples of operators that write updates at indices."""

from __future__ import annotations

import numpy as np

from tests.helpers.samples import Sample, data, fixed, host

_ROWS = [data(4, 3), fixed([2, 0, 2], np.int32), data(3, 3)]
_COLUMNS = [data(4, 3), fixed([[0, 2], [1, 1]], np.int32), data(2, 2)]
_TUPLES = [data(4, 3), fixed([[2, 1], [0, 0], [2, 1]], np.int32), data(3, high=1)]
_INPLACE = [data(4, 3), fixed([2, 0], np.int32), data(2, 3)]
_TAKEN = [data(4, 3), fixed([2, 0, 1, 1], np.int32), data(4, high=1)]

SAMPLES = {
    **{f"Scatter{name}": Sample(_ROWS) for name in ("Update", "Add", "Sub", "Mul", "Max", "Min")},
    "ScatterDiv": Sample([data(4, 3), fixed([2, 0, 2], np.int32), data(3, 3, low=1, high=3)]),
    "ScatterAddWithAxis": Sample(_COLUMNS, {"axis": 1}),
    "ScatterElements": Sample(_COLUMNS, {"axis": 1, "reduction": "add"}),
    "ScatterElementsV2": Sample(_COLUMNS),
    **{f"ScatterNd{name}": Sample(_TUPLES) for name in ("Update", "Add", "Sub", "Max", "Min")},
    **{f"TensorScatter{name}": Sample(_TUPLES) for name in ("Update", "Add", "Sub", "Max", "Min")},
    "ScatterNonAliasingAdd": Sample(_TUPLES),
    "ScatterNd": Sample([fixed([[2, 1], [0, 0]], np.int32), data(2), host([4, 3])]),
    "ScatterNdD": Sample([fixed([[2], [0]], np.int32), data(2, 3)], {"shape": [4, 3]}),
    "Scatter": Sample([data(2, 5, 3), fixed([3, 0], np.int32), data(2, 2, 3)], {"reduce": "update", "axis": -2}),
    **{f"Inplace{name}": Sample(_INPLACE) for name in ("Update", "Add", "Sub")},
    **{f"Inplace{name}D": Sample([data(4, 3), data(2, 3)], {"indices": [2, 0]}) for name in ("Update", "Add", "Sub")},
    "IndexAdd": Sample([data(4, 3), fixed([2, 0], np.int32), data(4, 2)], {"axis": 1}),
    "InplaceIndexAdd": Sample([data(4, 3), fixed([2, 0], np.int32), data(2, 3), data(1, low=2)], {"axis": 0}),
    "ArgMaxGrad": Sample(_TAKEN, {"dimension": 1}),
    "ArgMaxGradD": Sample([*_TAKEN, fixed([[0, 1, 2]] * 4, np.int32)], {"dimension": 1}),
    "IndexFillD": Sample([data(2, 3), data(2, 3, low=1, high=1), data(2, 3, low=0, high=0)], {"dim": 1}),
    "Index": Sample([data(4, 3), host([1, 0]), host([3, 1]), fixed([[2], [-1]], np.int64)]),
    "IndexByTensor": Sample([data(4, 3), fixed([2, 0, -1], np.int64)], {"indices_mask": [1, 0]}),
    "IndexPutV2": Sample(
        [data(4, 3), data(3), host([1, 0]), host([3, 1]), fixed([2, 2], np.int64)], {"accumulate": True}
    ),
}
