"""Samples of arithmetic of more than one step."""

from __future__ import annotations

from tests.helpers.samples import Sample, data

_PAIR = Sample([data(2, 3), data(2, 3, low=1, high=3)])
_LEFT, _RIGHT = data(2, 3), data(2, 3, low=1, high=3)

SAMPLES = {
    **dict.fromkeys(("Multiply", "PtAdd", "PtMuls", "PtSub", "Gcd", "NextAfter", "Xdivy", "Xlogy", "Xlog1py",
                     "LogAddExp", "Sxpy"), _PAIR),
    **{name: Sample([_LEFT, _RIGHT, data(3, low=1, high=2), data(1, low=2, high=2.5)]) for name in ("Addcmul", "Addcdiv")},
    "Lerp": Sample([_LEFT, _RIGHT, data(3, low=0, high=1)], loose=4),
    "Power": Sample([_RIGHT], {"power": 2.0, "scale": 0.5, "shift": 1.0}),
    "AxpyV2": Sample([_LEFT, _RIGHT, data(1, low=1, high=2)]),
    "FusedMulAdd": Sample([_LEFT, _RIGHT, data(3)]),
    "FusedMulAddAdd": Sample([_LEFT, _RIGHT, data(3), data(1)]),
    "FusedMulAddN": Sample([_LEFT, _RIGHT, data(1)]),
    "Eltwise": Sample([_LEFT, _RIGHT], {"N": 2, "coeff": [0.5, -1.0]}, loose=2),
    "MaxN": Sample([_LEFT, data(3), data(2, 1)]),
    "MinN": Sample([_LEFT, data(3), data(2, 1)]),
    "Bias": Sample([data(2, 3, 4), data(3)], {"axis": 1}),
    "Inv": Sample([_RIGHT]),
    "NanToNum": Sample([_LEFT], {"nan": 0.0, "posinf": 1.0, "neginf": -1.0}),
    "LeftShift": Sample([_LEFT, data(3, low=0, high=3)]),
    "RightShift": Sample([_LEFT, data(3, low=0, high=3)]),
    "PopulationCount": Sample([_LEFT]),
    "ClipByValueV2": Sample([_LEFT, data(1, low=-1, high=-0.5), data(1, low=0.5, high=1)]),
    "ClipByNormNoDivSum": Sample([_LEFT, data(2, 3, low=0, high=0.1), data(2, 3, low=1, high=1.5),
                                  data(2, 3, low=0.5, high=1)]),
    "StrideAdd": Sample([data(1, 3, 2, 2, 4), data(1, 4, 2, 2, 4)],
                        {"x1_c1_offset": 1, "x2_c1_offset": 0, "c1_len": 2}),
    "SquareSumV2": Sample([_LEFT], {"axis": [1], "keep_dims": True}),
    "ConfusionMulGrad": Sample([_LEFT, _RIGHT, data(2, 3, high=3)], {"axes": [1]}, loose=2),
}  # fmt: skip
