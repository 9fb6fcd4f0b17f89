"""Random numbers: their distributions with fixed seeds, and what seeds do."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from aacl.abc import Array
from aacl.dtypes import DataType
from aacl.errors import InvalidArgument
from aacl.ops._catalogue import schema_of
from aacl.ops._infer import infer_outputs
from aacl.tensors._desc import TensorDesc

Run = Callable[..., list[Array]]
BF16 = np.dtype(ml_dtypes.bfloat16)
MANY = 20_000
KEY: list[Array] = [np.array([3], np.uint64), np.array([5, 0], np.uint64), np.array(1, np.int32)]
SEED: Array = np.array([3, 4])
FLOATS = [DataType.FLOAT, DataType.FLOAT16, DataType.DOUBLE]


def _follows(values: Array, distribution: Callable[[float], float]) -> None:
    """Compare with a continuous distribution: Kolmogorov and Smirnov's distance, exceeded once in a million."""
    ordered = np.sort(values.astype(np.float64).reshape(-1))
    expected = np.array([distribution(value) for value in ordered.tolist()])
    places = np.arange(ordered.size + 1) / ordered.size
    distance = max((expected - places[:-1]).max(), (places[1:] - expected).max())

    assert distance < 2.7 / math.sqrt(ordered.size)


def _counts(values: Array, chances: Sequence[float], first: int = 0) -> None:
    """Compare how often each whole number comes with its chance, to 5 deviations."""
    size = values.size
    for place, chance in enumerate(chances):
        found = int((values.astype(np.float64) == first + place).sum())
        assert abs(found - size * chance) <= 5 * math.sqrt(size * chance * (1 - chance)) + 1, place


def _normal(x: float) -> float:
    return 0.5 * math.erfc(-x / math.sqrt(2))


def _between(low: float, high: float, mean: float = 0, deviation: float = 1) -> Callable[[float], float]:
    """Return the distribution of a normal number between bounds; tails by erfc, for far ones."""
    least, most = (low - mean) / deviation, (high - mean) / deviation
    if least > 0:  # work in the lower tail, where differences keep their digits
        return lambda x: 1 - _between(-most, -least)(-(x - mean) / deviation)
    whole = _normal(most) - _normal(least)
    return lambda x: (_normal((x - mean) / deviation) - _normal(least)) / whole


def _limited(x: float) -> float:
    return min(max(x, 0), 1)


@pytest.mark.parametrize("dtype", FLOATS)
def test_uniform(run: Run, dtype: DataType) -> None:
    """Uniform in [0, 1): 1 itself never comes, in no dtype."""
    (found,) = run("RandomUniform", [[100, MANY // 100]], {"dtype": dtype, "seed": 7}, known=[0])

    assert found.shape == (100, MANY // 100)
    assert found.dtype == dtype.numpy_dtype
    assert found.min() >= 0
    assert found.max() < 1
    _follows(found + (2**-12 if dtype is DataType.FLOAT16 else 0), _limited)


@pytest.mark.parametrize("dtype", [*FLOATS, DataType.BF16])
def test_stateless_uniform(run: Run, dtype: DataType) -> None:
    """As RandomUniform, from a key and a counter."""
    (found,) = run("StatelessRandomUniformV2", [[MANY], *KEY], {"dtype": dtype}, known=[0])
    wide = found.astype(np.float64)

    assert (wide.min() >= 0, wide.max() < 1) == (True, True)
    _follows(wide + {DataType.FLOAT16: 2**-12, DataType.BF16: 2**-9}.get(dtype, 0), _limited)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("op_type", ["RandomStandardNormal", "StatelessRandomNormalV2"])
def test_normal(run: Run, op_type: str, dtype: DataType) -> None:
    """Mean 0, deviation 1."""
    is_seeded = op_type == "RandomStandardNormal"
    attributes = {"dtype": dtype, **({"seed": 5} if is_seeded else {})}
    (found,) = run(op_type, [[MANY], *([] if is_seeded else KEY)], attributes, known=[0])

    _follows(found, _normal)


@pytest.mark.parametrize("op_type", ["TruncatedNormal", "StatelessTruncatedNormalV2"])
def test_truncated_normal(run: Run, op_type: str) -> None:
    """Within two deviations."""
    is_seeded = op_type == "TruncatedNormal"
    (found,) = run(op_type, [[MANY], *([] if is_seeded else KEY)], {"seed": 5} if is_seeded else {}, known=[0])

    assert np.abs(found).max() <= 2
    _follows(found, _between(-2, 2))


@pytest.mark.parametrize(
    ("low", "high"), [(-1.0, 2.0), (-0.1, 0.1), (3.0, 9.0), (-9.0, -3.0), (1.0, 1.25), (-4.0, 0.5), (0.0, 50.0)]
)
@pytest.mark.parametrize("is_stateless", [False, True])
def test_parameterized(run: Run, low: float, high: float, is_stateless: bool) -> None:
    """Any mean, deviation and bounds, in the tails too."""
    mean, deviation = 0.5, 2.0
    bounds = [np.array(mean + deviation * bound) for bound in (low, high)]
    inputs: list[Any] = [[MANY], *([SEED] if is_stateless else []), np.array(mean), np.array(deviation), *bounds]
    prefix = "Stateless" if is_stateless else ""
    (found,) = run(f"{prefix}ParameterizedTruncatedNormal", inputs, {} if is_stateless else {"seed": 5}, known=[0])

    assert (found >= bounds[0]).all()
    assert (found <= bounds[1]).all()
    _follows((found - mean) / deviation, _between(low, high))


def test_parameterized_by_row(run: Run) -> None:
    """A parameter may have one element for each of the first axis."""
    inputs = [[2, MANY], np.array([0.0, 100.0]), np.array([1.0, 5.0]), np.array([-9.0, 95.0]), np.array([9.0, 105.0])]
    (found,) = run("ParameterizedTruncatedNormal", inputs, {"seed": 3}, known=[0])

    _follows(found[0], _between(-9, 9))
    _follows(found[1], _between(95, 105, 100, 5))


@pytest.mark.parametrize(
    ("mean", "deviation", "low", "expected"),
    [(0, 1, 1e9, 1e9), (0, 1e-30, 1.0, 1.0), (0, 1e-300, 1.0, 1.0), (np.inf, 1, 0, np.nan), (np.nan, 1, 0, np.nan)],
)
def test_parameterized_far_away(run: Run, mean: float, deviation: float, low: float, expected: float) -> None:
    """Far out in a tail every number is the bound; what is no number ends too, and gives none."""
    inputs = [[3], *map(np.array, (float(mean), float(deviation), float(low), 2e9))]
    (found,) = run("ParameterizedTruncatedNormal", inputs, {"seed": 3}, known=[0])
    np.testing.assert_allclose(found, [expected] * 3, rtol=1e-7)


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
@pytest.mark.parametrize("op_type", ["RandomUniformInt", "StatelessRandomUniformInt", "StatelessRandomUniformIntV2"])
def test_uniform_integers(run: Run, op_type: str, dtype: Any) -> None:
    """Every number from the least to before the other one comes as often."""
    given: dict[str, list[Array]] = {"StatelessRandomUniformInt": [SEED], "StatelessRandomUniformIntV2": KEY}
    seeds = given.get(op_type, [])
    attributes = {} if seeds else {"seed": 4}
    (found,) = run(op_type, [[MANY], *seeds, np.array(-2, dtype), np.array(3, dtype)], attributes, known=[0])

    assert found.dtype == dtype
    assert set(np.unique(found).tolist()) == {-2, -1, 0, 1, 2}
    _counts(found, [0.2] * 5, -2)


@pytest.mark.parametrize("dtype", [DataType.INT32, DataType.INT64, DataType.UINT32, DataType.UINT64])
@pytest.mark.parametrize("op_type", ["StatelessRandomUniformFullInt", "StatelessRandomUniformFullIntV2"])
def test_full_integers(run: Run, op_type: str, dtype: DataType) -> None:
    """All that the dtype holds, both signs."""
    seeds = KEY if op_type.endswith("V2") else [SEED]
    (found,) = run(op_type, [[MANY], *seeds], {"dtype": dtype}, known=[0])
    limits = np.iinfo(dtype.numpy_dtype)

    _follows((found.astype(np.float64) - float(limits.min)) / 2.0**limits.bits, _limited)


def test_like_an_input(run: Run) -> None:
    """Shape and dtype of the input, other numbers each run."""
    x = np.zeros((2, MANY // 2), np.float32)
    (found,) = run("Uniform", [x], {"from": -1.0, "to": 3.0})
    _follows((found + 1) / 4, _limited)
    assert run("Uniform", [x])[0].tobytes() != run("Uniform", [x])[0].tobytes()
    mean = np.array([[5], [-5]], np.float16)
    (found,) = run("Normal", [mean, np.full((1, MANY // 2), 2, np.float16)])
    assert found.shape == x.shape
    _follows((found.astype(float) - mean) / 2 + np.linspace(-1e-3, 1e-3, x.shape[1]), _normal)
    (found,) = run("Exponential", [x], {"lambda": 2.0, "seed": 3})
    _follows(found, lambda value: 1 - math.exp(-2 * value))
    (found,) = run("Geometric", [x], {"p": 0.25, "seed": 3})

    _counts(found, [0.25 * 0.75**place for place in range(12)], 1)


def _poisson(rate: float) -> list[float]:
    return [math.exp(-rate) * rate**place / math.factorial(place) for place in range(10)]


def test_poisson(run: Run) -> None:
    """Each rate has numbers of its own."""
    rates = np.array([0.5, 3], np.float32)
    (found,) = run("RandomPoisson", [[MANY], rates], {"seed": 3}, known=[0])
    assert (found.shape, found.dtype) == ((MANY, 2), np.dtype(np.int64))
    for place, rate in enumerate(rates.tolist()):
        _counts(found[:, place], _poisson(rate))
    (found,) = run("StatelessRandomPoisson", [[MANY, 2], SEED, rates], {"dtype": DataType.FLOAT16}, known=[0])
    assert (found.shape, found.dtype) == ((MANY, 2), np.dtype(np.float16))
    _counts(found[:, 1], _poisson(3))
    _counts(run("Poisson", [np.full(MANY, 2, np.float16)], {"seed": 3})[0], _poisson(2))


def test_gamma(run: Run) -> None:
    """With shape parameter 1 the exponential distribution, with 2 the sum of two of them."""
    shapes = np.array([1, 2], np.float64)
    for op_type, size, seeds in (("RandomGamma", [MANY], []), ("StatelessRandomGammaV2", [MANY, 2], [SEED])):
        attributes = {} if seeds else {"seed": 9}
        (found,) = run(op_type, [size, *seeds, shapes], attributes, known=[0])
        assert found.shape == (MANY, 2)
        _follows(found[:, 0], lambda x: 1 - math.exp(-x))
        _follows(found[:, 1], lambda x: 1 - math.exp(-x) * (1 + x))


@pytest.mark.parametrize("dtype", [DataType.INT32, DataType.FLOAT])
def test_binomial(run: Run, dtype: DataType) -> None:
    """Successes among trials."""
    inputs = [[MANY, 2], SEED, np.array([4.0, 2.0]), np.array([0.25, 1.0])]
    (found,) = run("StatelessRandomBinomial", inputs, {"dtype": dtype}, known=[0])

    assert found.dtype == dtype.numpy_dtype
    _counts(found[:, 0], [math.comb(4, place) * 0.25**place * 0.75 ** (4 - place) for place in range(5)])
    assert (found[:, 1] == 2).all()


@pytest.mark.parametrize("names", [("seed",), ("seed2",), ("seed", "seed2")])
def test_seeds(run: Run, names: tuple[str, ...]) -> None:
    """Equal seeds, equal numbers; other seeds, or none, other ones; sizes do not change how a stream begins."""

    def drawn(size: int, **seeds: int) -> bytes:
        found: bytes = run("RandomUniform", [[size]], {"dtype": DataType.FLOAT, **seeds}, known=[0])[0].tobytes()
        return found

    seeds = dict.fromkeys(names, 6)
    assert drawn(9, **seeds) == drawn(9, **seeds)
    assert drawn(9, **seeds) == drawn(99, **seeds)[:36]
    assert drawn(9, **seeds) != drawn(9, **dict.fromkeys(names, 7))
    assert drawn(9) != drawn(9)
    assert drawn(9, seed=-1) == drawn(9, seed=-1)


def test_stateless_seeds(run: Run) -> None:
    """Seeds that are inputs count as they are: 0 too; a counter starts elsewhere in the same stream."""

    def drawn(key: int, counter: int) -> bytes:
        words = [np.array([key], np.uint64), np.array([counter, 0], np.uint64), KEY[2]]
        found: bytes = run("StatelessRandomUniformFullIntV2", [[16], *words], {"dtype": DataType.UINT64}, known=[0])[
            0
        ].tobytes()
        return found

    assert drawn(0, 0) == drawn(0, 0)
    assert drawn(1, 0) != drawn(0, 0)
    assert drawn(0, 1)[:96] == drawn(0, 0)[32:]


def test_key_and_counter(run: Run) -> None:
    """Two seeds as a key and a counter, and the algorithm Philox, 1."""
    key, counter, algorithm = run("StatelessRandomGetKeyCounterAlg", [np.array([-1, 2])])

    assert (key.tolist(), counter.tolist(), algorithm.tolist()) == ([2**64 - 1], [2, 0], 1)
    assert [out.tolist() for out in run("StatelessRandomGetKeyCounter", [np.array([5, 6], np.int32)])] == [[5], [6, 0]]
    assert run("StatelessRandomGetAlg", [])[0].tolist() == 1


@pytest.mark.parametrize("shape", [(), (0,), (2, 0, 3), (1,)])
def test_small_shapes(run: Run, shape: tuple[int, ...]) -> None:
    """No element, and one without dims."""
    size = np.array(shape, np.int64)
    assert run("RandomUniform", [size], {"dtype": DataType.FLOAT}, known=[0])[0].shape == shape
    assert run("TruncatedNormal", [size], {}, known=[0])[0].shape == shape
    assert run("RandomUniformInt", [size, np.array(0), np.array(2)], {}, known=[0])[0].shape == shape
    assert run("Uniform", [np.zeros(shape, np.float16)])[0].shape == shape


def test_shape_at_the_run(run: Run) -> None:
    """A shape that turns out otherwise than prepared is refused."""
    from aacl.abc import KernelRequest
    from aacl.backends.cpu.kernels import find

    attributes = schema_of("RandomUniform").complete({"dtype": DataType.FLOAT})
    out = TensorDesc.of(np.float32, (3,))
    kernel = find(KernelRequest("RandomUniform", (TensorDesc.of(np.int64, (1,)),), (out,), attributes))
    kernel.body(np.array([3]), np.empty(3, np.float32))
    with pytest.raises(ValueError, match=r"ask for shape \(4,\); the output has \(3,\)"):
        kernel.body(np.array([4]), np.empty(3, np.float32))


def test_bad_input(run: Run) -> None:
    """Parameters that make no distribution are named."""
    x = np.zeros(3, np.float32)
    with pytest.raises(InvalidArgument, match="has a negative dim"):
        run("RandomUniform", [[-1]], {"dtype": DataType.FLOAT}, known=[0])
    with pytest.raises(
        InvalidArgument, match=r"dtype is INT8 \(2\); it takes FLOAT \(0\), FLOAT16 \(1\), DOUBLE \(11\)"
    ):
        run("RandomUniform", [[1]], {"dtype": DataType.INT8}, known=[0])
    with pytest.raises(ValueError, match="the minimum 3 must lie below the maximum 3"):
        run("RandomUniformInt", [[1], np.array(3), np.array(3)], {}, known=[0])
    with pytest.raises(InvalidArgument, match="lambda is 0"):
        run("Exponential", [x], {"lambda": 0.0})
    with pytest.raises(InvalidArgument, match="p is 0"):
        run("Geometric", [x], {"p": 0.0})
    with pytest.raises(InvalidArgument, match=r"from 2.0 lies above to 1.0"):
        run("Uniform", [x], {"from": 2.0})
    with pytest.raises(ValueError, match="a rate is negative"):
        run("Poisson", [x - 1])
    with pytest.raises(ValueError, match="counts must not be negative"):
        run("StatelessRandomBinomial", [[1], SEED, np.array(-1.0), np.array(0.5)], {}, known=[0])
    with pytest.raises(ValueError, match="deviations must be above 0"):
        run("ParameterizedTruncatedNormal", [[1], *map(np.array, (0.0, 0.0, -1.0, 1.0))], {}, known=[0])
    with pytest.raises(InvalidArgument, match="does not broadcast to the shape asked for"):
        run("StatelessRandomGammaV2", [[1, 3], SEED, np.ones(2)], {}, known=[0])


def test_free_dims() -> None:
    """A shape known at the run only leaves its dims free."""
    schema = schema_of("RandomGamma")
    (found,) = infer_outputs(
        schema, [TensorDesc.of(np.int64, (2,)), TensorDesc.of(np.float32, (3,))], schema.complete({})
    )

    assert found.shape == (-1, -1, 3)
