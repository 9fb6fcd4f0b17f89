"""Samples of the Foreach operators: lists of two tensors."""

from __future__ import annotations

import numpy as np

from tests.helpers.samples import Sample, data, fixed

_X = [data(2, 3, low=0.2, high=0.9), data(3, low=0.2, high=0.9)]
_Y = [data(2, 3, low=1, high=3), data(3, low=1, high=3)]
_Z = [data(2, 3, low=1, high=2), data(3, low=1, high=2)]
_ONE, _TWO = data(1, low=1, high=2), data(2, low=1, high=2)

_NEW = {
    **{f"Foreach{name}": Sample(_X) for name in ("Abs", "ACos", "ASin", "ATan", "Cos", "Cosh", "Exp", "Expm1", "Log",
                                                 "Log10", "Log1p", "Log2", "Neg", "Reciprocal", "Sigmoid", "Sin",
                                                 "Sinh", "Sqrt", "Tan", "Tanh")},
    **{f"Foreach{name}List": Sample([*_X, *_Y]) for name in ("Div", "Maximum", "Minimum", "Mul", "Pow")},
    **{f"Foreach{name}List": Sample([*_X, *_Y, _ONE]) for name in ("Add", "Sub")},
    **{f"Foreach{name}{kind}": Sample([*_X, scalar], loose=2)
       for name in ("Add", "Div", "Maximum", "Minimum", "Mul", "Pow", "Sub")
       for kind, scalar in (("Scalar", _ONE), ("ScalarList", _TWO))},
    **{f"Foreach{name}{kind}": Sample([*_X, *_Y, *_Z, scalar]) for name in ("Addcdiv", "Addcmul")
       for kind, scalar in (("Scalar", _ONE), ("List", _TWO))},
    "ForeachLerpScalar": Sample([*_X, *_Y, data(1, low=0, high=1)], loose=2),
    "ForeachLerpList": Sample([*_X, *_Y, data(2, low=0, high=1)], loose=2),
}  # fmt: skip

SAMPLES = {
    **_NEW,
    **{f"{name}Inplace": sample for name, sample in _NEW.items()},
    "ForeachScalarPowTensor": Sample([_ONE, *_X]),
    "ForeachNonFiniteCheckAndUnscale": Sample([*_X, fixed([0], np.float32), fixed([0.25], np.float32)]),
    "ForeachZeroInplace": Sample(_X),
}
