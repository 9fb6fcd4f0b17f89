"""Samples of operators that work where a mask is set."""

from __future__ import annotations

import numpy as np

from tests.helpers.samples import Sample, data, fixed

_MASK = fixed([[True, False, True], [False, False, True]], np.bool_)

SAMPLES = {
    "MaskedFill": Sample([data(2, 3), _MASK, data(1)]),
    "MaskedSelect": Sample([data(2, 3), _MASK]),
    "MaskedSelectV2": Sample([data(2, 3), _MASK]),
    "MaskedScatter": Sample([data(2, 3), _MASK, data(4)]),
    "MaskedFillRange": Sample([data(2, 4), fixed([[0, 2]], np.int32), fixed([[2, 3]], np.int32), data(1)], {"axis": 1}),
    "MaskedScale": Sample([data(2, 3), fixed([[1, 0, 1], [0, 1, 1]], np.int8)], {"value": 1.5}),
}
