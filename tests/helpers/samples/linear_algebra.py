"""Samples of decompositions, inverses, sums of products and distances."""

from __future__ import annotations

import attrs
import numpy as np

from tests.helpers.samples import Sample, data

_SQUARE = attrs.evolve(data(3, 3), array=np.array([[4.0, 1.0, -0.5], [1.0, 3.0, 0.5], [-0.5, 0.5, 2.0]]))
_ROWS = [data(3, 4), data(2, 4)]

SAMPLES = {
    "MatrixDeterminant": Sample([_SQUARE]),
    "LogMatrixDeterminant": Sample([_SQUARE]),
    "MatrixInverse": Sample([_SQUARE]),
    "MatrixSolve": Sample([_SQUARE, data(3, 2)]),
    "MatrixTriangularSolve": Sample([_SQUARE, data(3, 2)]),
    "MatrixSolveLs": Sample([data(4, 3), data(4, 2), attrs.evolve(data(low=0.5, high=0.5), follows=False)]),
    "TridiagonalSolve": Sample([data(3, 4, low=1, high=2), data(4, 2)]),
    "Cholesky": Sample([_SQUARE]),
    "Qr": Sample([data(4, 3)], loose=4),
    "Svd": Sample([data(4, 3)]),
    "SelfAdjointEig": Sample([_SQUARE]),
    "Lu": Sample([_SQUARE], {"output_idx_type": "INT32"}),
    "Einsum": Sample([data(2, 3), data(3, 4)], {"equation": "ij,jk->ik", "N": 2}),
    "Ger": Sample([data(3), data(4)]),
    "Cross": Sample([data(2, 3), data(2, 3, high=1)]),
    "AddMatMatElements": Sample([data(2, 3), data(2, 3, high=1), data(2, 3, low=0), data(1), data(1, low=1)]),
    "FullyConnection": Sample([data(2, 3, 1, 1), data(4, 3, 1, 1), None], {"num_output": 4}),
    "InnerProduct": Sample([data(2, 3), data(4, 3)], {"num_output": 4}),
    "Cdist": Sample(_ROWS),
    "Pdist": Sample([data(4, 3)], {"p": 1.0}),
}
