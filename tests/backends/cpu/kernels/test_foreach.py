"""The Foreach operators, against the math module one element at a time."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from aacl.abc import Array
from aacl.errors import InvalidArgument, UnsupportedDataType
from aacl.ops._catalogue import schema_of
from aacl.ops._infer import infer_outputs
from aacl.tensors._desc import TensorDesc

Run = Callable[..., list[Array]]
Close = Callable[..., None]
SHAPES = [(2, 3), (), (0,), (4,)]

_UNARY: dict[str, Callable[[float], float]] = {
    "Abs": abs,
    "ACos": math.acos,
    "ASin": math.asin,
    "ATan": math.atan,
    "Cos": math.cos,
    "Cosh": math.cosh,
    "Exp": math.exp,
    "Expm1": math.expm1,
    "Log": math.log,
    "Log10": math.log10,
    "Log1p": math.log1p,
    "Log2": math.log2,
    "Neg": lambda x: -x,
    "Reciprocal": lambda x: 1 / x,
    "Sigmoid": lambda x: 1 / (1 + math.exp(-x)),
    "Sin": math.sin,
    "Sinh": math.sinh,
    "Sqrt": math.sqrt,
    "Tan": math.tan,
    "Tanh": math.tanh,
}
_BINARY: dict[str, Callable[[float, float], float]] = {
    "Add": lambda a, b: a + b,
    "Div": lambda a, b: a / b,
    "Maximum": max,
    "Minimum": min,
    "Mul": lambda a, b: a * b,
    "Pow": lambda a, b: float(a**b),
    "Sub": lambda a, b: a - b,
}


def _list(seed: int, dtype: Any, low: float = 0.1, high: float = 0.9) -> list[Array]:
    rng = np.random.default_rng(seed)
    return [rng.uniform(low, high, shape).astype(dtype) for shape in SHAPES]


def _loop(function: Callable[..., float], *arrays: Array) -> Array:
    flat = [function(*map(float, items)) for items in zip(*[array.ravel() for array in arrays], strict=True)]
    return np.array(flat, np.float64).reshape(arrays[0].shape)


# With new outputs, and with the first list updated: `run` gives what was written either way.
both = pytest.mark.parametrize("kind", ["", "Inplace"])


@both
@pytest.mark.parametrize("dtype", [np.float32, np.float16], ids=str)
@pytest.mark.parametrize("name", _UNARY)
def test_unary(run: Run, close: Close, name: str, dtype: Any, kind: str) -> None:
    """Each tensor of the list by itself, whatever its shape."""
    x = _list(1, dtype)

    for found, tensor in zip(run(f"Foreach{name}{kind}", x), x, strict=True):
        assert found.dtype == dtype
        close(found, _loop(_UNARY[name], tensor), units=4, floor=0.1)


@both
@pytest.mark.parametrize("dtype", [np.float32, np.float16], ids=str)
@pytest.mark.parametrize("name", _BINARY)
def test_binary(run: Run, close: Close, name: str, dtype: Any, kind: str) -> None:
    """Two lists, a list and a scalar, a list and a scalar for each; Add and Sub have a factor for the second list."""
    function, x, y = _BINARY[name], _list(1, dtype), _list(2, dtype, 1, 3)
    scalars = np.array([0.5, 1.5, 2.5, 0.25], dtype)
    alpha = [np.array([2], dtype)] if name in ("Add", "Sub") else []

    for found, a, b in zip(run(f"Foreach{name}List{kind}", [*x, *y, *alpha]), x, y, strict=True):
        close(found, _loop(lambda p, q: function(p, q * (2 if alpha else 1)), a, b), units=4, floor=2)
    for found, a in zip(run(f"Foreach{name}Scalar{kind}", [*x, scalars[1:2]]), x, strict=True):
        close(found, _loop(lambda p: function(p, 1.5), a), units=4, floor=1)
    for index, (found, a) in enumerate(zip(run(f"Foreach{name}ScalarList{kind}", [*x, scalars]), x, strict=True)):
        by = float(scalars[index])
        close(found, _loop(lambda p, by=by: function(p, by), a), units=4, floor=1)


@both
@pytest.mark.parametrize("name", ["Addcdiv", "Addcmul"])
def test_three_lists(run: Run, close: Close, name: str, kind: str) -> None:
    """``x1 + scalar * x2 * x3``, or ``/ x3``."""
    lists = [_list(seed, np.float32, 1, 3) for seed in range(3)]
    scalars = np.array([0.5, 1.5, 2.5, 0.25], np.float32)
    flat = [tensor for tensors in lists for tensor in tensors]
    for of, given in (("Scalar", scalars[:1]), ("List", scalars)):
        for index, found in enumerate(run(f"Foreach{name}{of}{kind}", [*flat, given])):
            by = float(given[index % given.size])
            one = (
                (lambda a, b, c, by=by: a + by * b / c)
                if name == "Addcdiv"
                else (lambda a, b, c, by=by: a + by * b * c)
            )
            close(found, _loop(one, *(tensors[index] for tensors in lists)), units=4, floor=2)


@both
def test_lerp(run: Run, close: Close, kind: str) -> None:
    """From the first list to the second; weight 1 gives the second one exactly."""
    x, y = _list(1, np.float32), _list(2, np.float32, 1, 3)
    for found, a, b in zip(run(f"ForeachLerpScalar{kind}", [*x, *y, np.array([0.25], np.float32)]), x, y, strict=True):
        close(found, _loop(lambda p, q: p + 0.25 * (q - p), a, b), units=2)
    weights = np.array([1, 0, 1, 0], np.float32)
    for found, a, b, weight in zip(run(f"ForeachLerpList{kind}", [*x, *y, weights]), x, y, weights, strict=True):
        np.testing.assert_array_equal(found, b if weight else a)


def test_zero(run: Run) -> None:
    """Every element of every tensor becomes 0, NaN too; the sign is plus."""
    found = run(
        "ForeachZeroInplace", [np.array([[-1, np.nan]], np.float32), np.array(3, np.float32), np.ones(0, np.float32)]
    )

    assert [out.tolist() for out in found] == [[[0, 0]], 0, []]
    assert not np.signbit(found[0]).any()


@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.dtype(ml_dtypes.bfloat16)], ids=str)
@pytest.mark.parametrize("wrong", [None, np.inf, np.nan])
def test_unscale(run: Run, close: Close, dtype: Any, wrong: float | None) -> None:
    """Every gradient times the factor; the flag is raised by what is not finite, and never lowered."""
    gradients = _list(3, dtype, -4, 4)
    if wrong is not None:
        gradients[0][1, 2] = wrong
    for flag in (0, 1):
        *found, raised = run("ForeachNonFiniteCheckAndUnscale",
                             [*gradients, np.array([flag], np.float32), np.array([0.3], np.float32)])  # fmt: skip
        assert raised.tolist() == [1 if wrong is not None else flag]
        for actual, scaled in zip(found, gradients, strict=True):
            assert actual.dtype == scaled.dtype
            close(actual, _loop(lambda x: x * float(np.float32(0.3)), scaled), units=1)
    with pytest.raises(InvalidArgument, match=r"inv_scale of shape .* must hold one element"):
        run("ForeachNonFiniteCheckAndUnscale", [*gradients, np.zeros(1, np.float32), np.zeros(2, np.float32)])


def test_integers_in_place(run: Run) -> None:
    """Exact; a division, which has no integer result, is none of the in-place operators'."""
    x = [np.array([7, -8], np.int32), np.array([2**30], np.int32)]

    assert [out.tolist() for out in run("ForeachMulScalarInplace", [*x, np.array([2], np.int32)])] == [
        [14, -16],
        [-(2**31)],
    ]
    assert [out.tolist() for out in run("ForeachPowScalarInplace", [x[0], np.array([2], np.int32)])] == [[49, 64]]
    with pytest.raises(UnsupportedDataType, match="ForeachDivScalarInplace"):
        run("ForeachDivScalarInplace", [*x, np.array([2], np.int32)])


def test_integers(run: Run) -> None:
    """Exact; a division gives float32; a negative power is truncated."""
    x, y = (
        [np.array([7, -8], np.int32), np.array([2**30], np.int32)],
        [np.array([2, 3], np.int32), np.array([3], np.int32)],
    )

    assert [out.tolist() for out in run("ForeachAddList", [*x, *y, np.array([2], np.int32)])] == [[11, -2], [2**30 + 6]]
    assert [out.tolist() for out in run("ForeachDivScalar", [*x, np.array([2], np.int32)])] == [[3.5, -4], [2**29]]
    assert run("ForeachDivScalar", [*x, np.array([2], np.int32)])[0].dtype == np.dtype(np.float32)
    assert run("ForeachPowScalar", [y[0], np.array([-1], np.int32)])[0].tolist() == [0, 0]
    assert run("ForeachScalarPowTensor", [np.array([3], np.int32), *y])[0].tolist() == [9, 27]


def test_bad_input(run: Run) -> None:
    """Lists of unequal shapes or dtypes, lists that cannot be shared out, a wrong number of scalars."""
    x, y = np.ones(2, np.float32), np.ones(3, np.float32)
    with pytest.raises(InvalidArgument, match="must have one shape"):
        run("ForeachMulList", [x, y])
    with pytest.raises(InvalidArgument, match="cannot be shared equally"):
        run("ForeachMulList", [x, x, x])
    with pytest.raises(UnsupportedDataType, match="must be equal"):
        run("ForeachMulList", [x, x, x, np.ones(2, np.float16)])
    with pytest.raises(InvalidArgument, match="must hold 2 elements, or one"):
        run("ForeachMulScalarList", [x, x, y])
    with pytest.raises(InvalidArgument, match="must hold one element"):
        run("ForeachMulScalar", [x, x, x])


def test_shapes_that_are_not_known() -> None:
    """Each output follows its own tensors."""
    schema = schema_of("ForeachMulList")
    descs = [TensorDesc.of(np.float32, shape) for shape in ((-1, 3), (-2,), (2, -1), (4,))]

    assert [out.shape for out in infer_outputs(schema, descs, {})] == [(2, 3), (4,)]
