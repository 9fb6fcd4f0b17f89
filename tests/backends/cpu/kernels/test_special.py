"""Special functions, against SciPy, the math module, and identities."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest
import scipy.special
from hypothesis import given, settings
from hypothesis import strategies as st

from aacl.abc import Array
from aacl.errors import InvalidArgument, UnsupportedDataType

Run = Callable[..., list[Array]]
Close = Callable[..., None]
BF16 = np.dtype(ml_dtypes.bfloat16)

_EVERY = np.concatenate(
    [np.linspace(-12, 12, 193), [-300, -30.5, 30.25, 300, 1e-6, -1e-6, 0.0, np.inf, -np.inf, np.nan]]
)
_OPEN = np.concatenate([np.linspace(-1, 1, 65), [1e-6, 0.999, -1.5, np.nan]])
_UNIT = np.concatenate([np.linspace(0, 1, 65), [1e-6, 0.9999, -0.5, 1.5, np.nan]])

# Operator: the reference, where it is looked at, and below which size errors are absolute (its zeros).
_UNARY: dict[str, tuple[Callable[[Array], Array], Array, float]] = {
    "BesselI0e": (scipy.special.i0e, _EVERY, 0),
    "BesselI1e": (scipy.special.i1e, _EVERY, 0),
    "Dawsn": (scipy.special.dawsn, _EVERY, 0),
    "Digamma": (scipy.special.digamma, _EVERY[~np.isneginf(_EVERY)], 1),
    "Erfc": (np.vectorize(math.erfc, otypes=[np.float64]), _EVERY, 0),
    "Erfinv": (scipy.special.erfinv, _OPEN, 0),
    "Expint": (scipy.special.expi, _EVERY, 0.1),
    "FresnelCos": (lambda x: np.asarray(scipy.special.fresnel(x)[1]), _EVERY, 0),
    "FresnelSin": (lambda x: np.asarray(scipy.special.fresnel(x)[0]), _EVERY, 0),
    "Lgamma": (scipy.special.gammaln, _EVERY[~np.isneginf(_EVERY)], 1),
    "Ndtri": (scipy.special.ndtri, _UNIT, 0),
    "Spence": (scipy.special.spence, _EVERY[~np.isposinf(_EVERY)], 1e-3),
}
_NO_HALVES = {"Igamma", "Igammac", "Betainc", "Zeta"}
_NO_DOUBLE = {"Erfinv"}
_NO_BF16 = {"Digamma", "Lgamma"}


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16, BF16], ids=str)
@pytest.mark.parametrize("op_type", _UNARY)
def test_values(run: Run, op_type: str, dtype: Any) -> None:
    """A unit in the last place of float32 and less; 1e-13 in float64; nothing warns at poles and infinities."""
    reference, points, floor = _UNARY[op_type]
    if (dtype == np.float64 and op_type in _NO_DOUBLE) or (dtype == BF16 and op_type in _NO_BF16):
        with pytest.raises(UnsupportedDataType):
            run(op_type, [np.ones(1, dtype)])
        return
    x = points.astype(dtype)
    (found,) = run(op_type, [x])
    with np.errstate(all="ignore"):
        # Rounded as the kernel rounds, so that what overflows or vanishes does so in both.
        expected = np.asarray(reference(x.astype(np.float64)))
        rounded = expected.astype(np.float32).astype(dtype) if dtype != np.float64 else expected
    tolerance = 1e-13 if dtype == np.float64 else float(ml_dtypes.finfo(dtype).eps)  # type: ignore[no-untyped-call]

    np.testing.assert_allclose(
        found.astype(np.float64), rounded.astype(np.float64), rtol=tolerance, atol=tolerance * floor, equal_nan=True
    )
    assert run(op_type, [x], into=0)[0].tobytes() == found.tobytes()


@pytest.mark.parametrize("dtype", [np.float32, np.float64], ids=str)
@given(a=st.floats(0.01, 300), ratio=st.floats(0.05, 4))
@settings(max_examples=60, deadline=None)
def test_incomplete_gamma(run: Run, dtype: Any, a: float, ratio: float) -> None:
    """Both sides of the incomplete gamma function, and their sum."""
    first, second = np.array([a], dtype), np.array([a * ratio], dtype)
    (lower,), (upper,) = run("Igamma", [first, second]), run("Igammac", [first, second])
    rough = 1e-11 if dtype == np.float64 else 3e-7

    np.testing.assert_allclose(
        lower, scipy.special.gammainc(first.astype(float), second.astype(float)), rtol=rough, atol=1e-38
    )
    np.testing.assert_allclose(
        upper, scipy.special.gammaincc(first.astype(float), second.astype(float)), rtol=rough, atol=1e-38
    )
    assert abs(float(lower[0]) + float(upper[0]) - 1) < rough


def test_incomplete_gamma_of_large_parameters(run: Run) -> None:
    """Near the middle the uniform expansion holds, where a series would need very many terms."""
    a = np.geomspace(2e4, 1e9, 40)
    x = a + np.sqrt(a) * np.linspace(-3, 3, 40)

    np.testing.assert_allclose(run("Igamma", [a, x])[0], scipy.special.gammainc(a, x), rtol=1e-8)
    np.testing.assert_allclose(run("Igammac", [a, x])[0], scipy.special.gammaincc(a, x), rtol=1e-8)


def test_incomplete_gamma_at_its_ends(run: Run) -> None:
    """0 and 1 at 0 and infinity; NaN for parameters that it has not."""
    a, x = np.array([2.0, 2, 0, -1, 2, np.nan, np.inf]), np.array([0, np.inf, 1, 1, -1, 1, 1])

    np.testing.assert_array_equal(run("Igamma", [a, x])[0], [0, 1, np.nan, np.nan, np.nan, np.nan, 0])
    np.testing.assert_array_equal(run("Igammac", [a, x])[0], [1, 0, np.nan, np.nan, np.nan, np.nan, 1])


@given(a=st.floats(0.05, 200), b=st.floats(0.05, 200), x=st.integers(0, 1024).map(lambda whole: whole / 1024))
@settings(max_examples=80, deadline=None)
def test_incomplete_beta(run: Run, a: float, b: float, x: float) -> None:
    """Against SciPy, and mirrored."""
    first, second, place = (np.array([value]) for value in (a, b, x))
    (found,) = run("Betainc", [first, second, place])
    (mirrored,) = run("Betainc", [second, first, 1 - place])

    np.testing.assert_allclose(found, scipy.special.betainc(first, second, place), rtol=1e-10, atol=1e-300)
    assert abs(found[0] + mirrored[0] - 1) < 1e-9


def test_incomplete_beta_outside(run: Run) -> None:
    """NaN outside the unit interval and for parameters that are not positive; 0 and 1 at its ends."""
    (found,) = run("Betainc", [np.array([1.0, 1, 0, 2, 2], np.float32), np.full(5, 2, np.float32),
                               np.array([-0.1, 1.1, 0.5, 0, 1], np.float32)])  # fmt: skip

    np.testing.assert_array_equal(found, [np.nan, np.nan, np.nan, 0, 1])


@given(x=st.floats(1.001, 60), q=st.floats(0.01, 500))
@settings(max_examples=60, deadline=None)
def test_zeta(run: Run, x: float, q: float) -> None:
    """Against SciPy's Hurwitz zeta function, and the step from q to q + 1."""
    exponent, start = np.array([x]), np.array([q])
    (found,) = run("Zeta", [exponent, start])
    (next_,) = run("Zeta", [exponent, start + 1])

    np.testing.assert_allclose(found, scipy.special.zeta(exponent, start), rtol=1e-12)
    assert found[0] == pytest.approx(next_[0] + q**-x, rel=1e-12)


def test_zeta_at_its_poles(run: Run) -> None:
    """Infinite at 1 and at whole numbers up to 0; NaN below 1, and of a negative start to a power that is not whole."""
    (found,) = run("Zeta", [np.array([1, 2, 2, 0.5, 1.5, 2, np.inf]), np.array([3, 0, -4, 1, -0.5, -0.5, 2.0])])

    np.testing.assert_allclose(found, [np.inf, np.inf, np.inf, np.nan, np.nan, 4 + math.pi**2 / 2, 0], rtol=1e-14)


def test_tails(run: Run) -> None:
    """The error function's complement and the quantile keep their precision far out."""
    x, p = np.linspace(5, 26, 85), np.geomspace(1e-300, 1e-10, 60)

    np.testing.assert_allclose(run("Erfc", [x])[0], [math.erfc(value) for value in x.tolist()], rtol=1e-14)
    np.testing.assert_allclose(run("Ndtri", [p])[0], scipy.special.ndtri(p), rtol=1e-14)


def test_infinities_that_scipy_has_otherwise(run: Run) -> None:
    """As C's lgamma has it at -infinity, the limits elsewhere."""
    infinite = np.array([-np.inf, np.inf], np.float32)

    assert run("Lgamma", [infinite])[0].tolist() == [np.inf, np.inf]
    np.testing.assert_array_equal(run("Spence", [infinite])[0], [np.nan, -np.inf])
    np.testing.assert_array_equal(run("Digamma", [infinite])[0], [np.nan, np.inf])


def test_large_arrays_run_in_blocks(run: Run) -> None:
    """Block by block gives what one piece gives."""
    x = np.linspace(-5, 5, 70_001).astype(np.float32)
    (whole,) = run("Erfc", [x])

    assert whole[:100].tobytes() == run("Erfc", [x[:100]])[0].tobytes()
    assert whole[-100:].tobytes() == run("Erfc", [x[-100:]])[0].tobytes()


@pytest.mark.parametrize("op_type", ["Lgamma", "Erfinv", "Igamma"])
def test_scalars_and_empty(run: Run, op_type: str) -> None:
    """0-d and zero-size tensors."""
    count = 2 if op_type == "Igamma" else 1
    (scalar,) = run(op_type, [np.float32(0.5)] * count)
    (one,) = run(op_type, [np.full(1, 0.5, np.float32)] * count)

    assert scalar.tobytes() == one.tobytes()
    assert run(op_type, [np.zeros((0, 2), np.float32)] * count)[0].shape == (0, 2)


def test_bad_input(run: Run) -> None:
    """Unequal dtypes, shapes that do not broadcast."""
    with pytest.raises(UnsupportedDataType, match="must be equal"):
        run("Igamma", [np.ones(2), np.ones(2, np.float32)])
    with pytest.raises(InvalidArgument, match="do not broadcast"):
        run("Zeta", [np.ones(2), np.ones(3)])
    for op_type in sorted(_NO_HALVES):
        with pytest.raises(UnsupportedDataType, match=op_type):
            run(op_type, [np.ones(2, np.float16)] * (3 if op_type == "Betainc" else 2))
