"""Samples of arithmetic element by element."""

from __future__ import annotations

from tests.helpers.samples import Sample, data

_PAIR = Sample([data(2, 3), data(2, 3, low=1, high=3)])

SAMPLES = {
    **dict.fromkeys(("Add", "AddV2", "Sub", "Mul", "Maximum", "Minimum", "Mod", "TruncateMod", "Atan2", "BitwiseAnd", "BitwiseOr", "BitwiseXor", "MulNoNan", "SquaredDifference"), _PAIR),
    **{name: Sample([data(2, 3)]) for name in ("Abs", "Neg", "Sign", "Floor", "Ceil", "Trunc", "Rint", "Square",
                                               "Expm1", "Sin", "Cos", "Tan", "Atan", "Sinh", "Cosh", "Asinh",
                                               "Tanh", "Invert", "Round")},
    **{name: Sample([data(2, 3, low=0.5, high=3)]) for name in ("Sqrt", "Log1p")},
    **{name: Sample([data(2, 3, low=-0.9, high=0.9)]) for name in ("Asin", "Acos", "Atanh")},
    "Acosh": Sample([data(2, 3, low=1.5, high=4)]),
    "Adds": Sample([data(2, 3)], {"value": 1.5}),
    "Muls": Sample([data(2, 3)], {"value": 1.5}),
    "Axpy": Sample([data(2, 3), data(2, 3, high=3)], {"alpha": 0.5}),
    "AddN": Sample([data(2, 3), data(2, 3, high=3), data(2, 3, high=4)], {"N": 3}),
    "AccumulateNV2": Sample([data(2, 3), data(2, 3, high=3)], {"N": 2}),
    "ClipByValue": Sample([data(2, 3), data(1, low=-1, high=-0.5), data(1, low=0.5, high=1)]),
}  # fmt: skip
