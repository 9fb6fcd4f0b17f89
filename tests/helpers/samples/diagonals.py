"""Samples of operators on triangles and diagonals."""

from __future__ import annotations

import numpy as np

from tests.helpers.samples import Sample, data, host

_K = host([-1, 0], np.int32)
_ALL = host(-1, np.int32)
_PACKED = data(2, 3)
_PADDING = data(1)

SAMPLES = {
    "Tril": Sample([data(3, 4)], {"diagonal": 1}),
    "Triu": Sample([data(3, 4)]),
    "MatrixBandPart": Sample([data(3, 4), host(1), host(0)]),
    "Eye": Sample([], {"num_rows": 2, "num_columns": 3, "batch_shape": [2]}),
    "Diag": Sample([data(2, 2)]),
    "DiagD": Sample([data(3), data(3, 3)]),
    "DiagPart": Sample([data(2, 2, 2, 2)]),
    "DiagPartD": Sample([data(3, 3), data(3, 3)]),
    "DiagV2": Sample([data(3)], {"diagonal": -1}),
    "DiagFlat": Sample([data(2, 2)], {"diagonal": 1}),
    "FillDiagonal": Sample([data(4, 3)], {"fill_value": 2.0}),
    "Trace": Sample([data(3, 4)]),
    "MatrixDiag": Sample([_PACKED]),
    "MatrixDiagD": Sample([_PACKED, data(2, 3, 3)]),
    "MatrixDiagV2": Sample([_PACKED, _K, _ALL, _ALL, _PADDING]),
    "MatrixDiagV3": Sample([_PACKED, _K, _ALL, _ALL, _PADDING]),
    "MatrixDiagPart": Sample([data(3, 4)]),
    "MatrixDiagPartD": Sample([data(3, 4), data(3, 4)]),
    "MatrixDiagPartV2": Sample([data(3, 4), _K, _PADDING]),
    "MatrixDiagPartV3": Sample([data(3, 4), _K, _PADDING]),
    "MatrixSetDiag": Sample([data(3, 4), data(3)]),
    "MatrixSetDiagD": Sample([data(3, 4), data(3), data(3, 4)]),
    "MatrixSetDiagV2": Sample([data(3, 4), _PACKED, _K]),
    "MatrixSetDiagV3": Sample([data(3, 4), _PACKED, _K]),
}
