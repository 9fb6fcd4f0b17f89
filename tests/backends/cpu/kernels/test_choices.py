"""Random choices: how often each comes with fixed seeds, and what never comes."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from aacl.abc import Array
from aacl.dtypes import DataType
from aacl.errors import InvalidArgument

Run = Callable[..., list[Array]]
MANY = 20_000
SEEDS = [np.array([3]), np.array([0])]
WEIGHTS = [[0.1, 0.2, 0.3, 0.4], [0.7, 0.0, 0.2, 0.1]]


def _counts(values: Array, chances: Sequence[float]) -> None:
    """Compare how often each class comes with its chance, to 5 deviations; chance 0 means never."""
    size = values.size
    for place, chance in enumerate(chances):
        found = int((values == place).sum())
        assert abs(found - size * chance) <= 5 * math.sqrt(size * chance * (1 - chance)), place


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize("op_type", ["Multinomial", "StatelessMultinomial", "MultinomialFuss"])
def test_multinomial(run: Run, op_type: str, dtype: Any) -> None:
    """Classes of each row as often as their unnormalised logarithms say."""
    with np.errstate(divide="ignore"):
        logits = (np.log(WEIGHTS) + 2).astype(dtype)
    if op_type == "MultinomialFuss":
        (found,) = run(op_type, [logits], {"sample_size": MANY, "seed": 0.5})
        assert found.dtype == np.int32
    elif op_type == "Multinomial":
        (found,) = run(op_type, [logits, np.int32(MANY)], {"seed": 3, "dtype": DataType.INT32}, known=[1])
        assert found.dtype == np.int32
    else:
        (found,) = run(op_type, [logits, np.int32(MANY), [3, 4]], {}, known=[1])
        assert found.dtype == np.int64

    assert found.shape == (2, MANY)
    for row, chances in zip(found, WEIGHTS, strict=True):
        _counts(row, chances)


def test_multinomial_weights(run: Run) -> None:
    """Weights need no sum of 1; with replacement a class may come again."""
    attributes = {"numsamples": MANY, "replacement": True}
    (found,) = run("MultinomialWithReplacement", [np.array(WEIGHTS[1]) * 5, *SEEDS], attributes)

    assert found.shape == (MANY,)
    _counts(found, WEIGHTS[1])


def test_multinomial_without_replacement(run: Run) -> None:
    """All classes of a row differ; the second one follows from what is left."""
    rows = np.tile(np.array(WEIGHTS[1], np.float32), (MANY, 1))
    (found,) = run("MultinomialWithReplacement", [rows, *SEEDS], {"numsamples": 2})
    pairs = {(0, 2): 0.7 * 0.2 / 0.3, (2, 0): 0.2 * 0.7 / 0.8, (3, 2): 0.1 * 0.2 / 0.9}

    assert (found[:, 0] != found[:, 1]).all()
    _counts(found[:, 0], WEIGHTS[1])
    for (first, second), chance in pairs.items():
        _counts(np.where((found[:, 0] == first) & (found[:, 1] == second), 0, 1), [chance])


@pytest.mark.parametrize("dtype", [np.float32, np.int8, np.bool_])
def test_bernoulli(run: Run, dtype: Any) -> None:
    """1 as often as asked for; the chance broadcasts."""
    x, chance = np.zeros((MANY, 2), dtype), np.array([0.25, 1.0])
    (found,) = run("Bernoulli", [x, chance], {"seed": 3})

    assert found.dtype == dtype
    _counts(found[:, 0], [0.75, 0.25])
    assert found[:, 1].all()
    assert run("Bernoulli", [x, chance])[0].tobytes() != run("Bernoulli", [x, chance])[0].tobytes()


@pytest.mark.parametrize("dtype", [DataType.FLOAT, DataType.BOOL, DataType.UINT16, DataType.BF16])
def test_stateless_bernoulli(run: Run, dtype: DataType) -> None:
    """The chance is an input, for all or an element, and the dtype is free."""
    (found,) = run("StatelessBernoulli", [[MANY], np.float32(0.3), *SEEDS], {"dtype": dtype}, known=[0])
    assert found.dtype == dtype.numpy_dtype
    _counts(found.astype(int), [0.7, 0.3])
    chances = np.full((MANY, 2), [0.0, 0.3], np.float32)
    (found,) = run("StatelessBernoulliV2", [chances, *SEEDS], {"dtype": dtype})
    assert not found[:, 0].any()
    _counts(found[:, 1].astype(int), [0.7, 0.3])

    assert run("StatelessBernoulliV2", [chances, *SEEDS])[0].dtype == np.float32


@pytest.mark.parametrize("dtype", [np.float32, np.complex64, np.bool_, np.int64])
def test_shuffle(run: Run, dtype: Any) -> None:
    """Whole rows change places; equal seeds, equal order."""
    x = np.arange(30).reshape(15, 2).astype(dtype)
    (found,) = run("RandomShuffle", [x], {"seed": 4})

    assert sorted(found.tolist(), key=str) == sorted(x.tolist(), key=str)
    assert found.tobytes() == run("RandomShuffle", [x], {"seed": 4})[0].tobytes()
    if dtype is np.float32:
        assert found.tolist() != x.tolist()
        assert run("RandomShuffle", [np.float32(3)])[0].tolist() == 3
        assert run("RandomShuffle", [x[:0]])[0].shape == (0, 2)


def test_permutations(run: Run) -> None:
    """Every number once, every order as often; other ones each run without a seed."""
    firsts = [
        run("StatelessRandperm", [4, np.array([seed]), SEEDS[1]], {"dtype": DataType.INT32}, known=[0])[0]
        for seed in range(600)
    ]
    assert all(sorted(each.tolist()) == [0, 1, 2, 3] for each in firsts)
    _counts(np.array([each[0] for each in firsts]), [0.25] * 4)
    (found,) = run("Randperm", [], {"n": 50, "dtype": DataType.FLOAT16})

    assert sorted(found.tolist()) == list(range(50))
    assert found.tolist() != run("Randperm", [], {"n": 50})[0].tolist()
    assert run("Randperm", [], {"n": 0})[0].shape == (0,)


def test_choice(run: Run) -> None:
    """Different true elements; what is missing to the count is told by the mask, its rows being 0."""
    x = np.zeros((3, 4), bool)
    x[[0, 1, 2, 2], [3, 0, 1, 2]] = True
    rows, mask = run("RandomChoiceWithMask", [x], {"count": 3, "seed": 4})
    assert (mask.tolist(), rows.dtype) == ([True] * 3, np.dtype(np.int32))
    assert len({tuple(row) for row in rows.tolist()}) == 3
    assert all(x[tuple(row)] for row in rows)
    rows, mask = run("RandomChoiceWithMask", [x], {"count": 6, "seed": 4})

    assert mask.tolist() == [True] * 4 + [False] * 2
    assert rows[4:].tolist() == [[0, 0]] * 2
    found = [run("RandomChoiceWithMask", [x], {"count": 1, "seed": seed + 1})[0][0].tolist() for seed in range(400)]
    _counts(np.array([[[0, 3], [1, 0], [2, 1], [2, 2]].index(each) for each in found]), [0.25] * 4)


def test_bad_input(run: Run) -> None:
    """What cannot be drawn is named."""
    x = np.ones((2, 3), np.float32)
    with pytest.raises(InvalidArgument, match="must have two dims: rows and classes"):
        run("Multinomial", [x[0], np.int32(1)], {}, known=[1])
    with pytest.raises(InvalidArgument, match="-1 numbers are asked for"):
        run("Multinomial", [x, np.int32(-1)], {}, known=[1])
    with pytest.raises(InvalidArgument, match="there is no class to draw"):
        run("Multinomial", [x[:, :0], np.int32(1)], {}, known=[1])
    with pytest.raises(InvalidArgument, match="4 different classes are asked for"):
        run("MultinomialWithReplacement", [x, *SEEDS], {"numsamples": 4})
    with pytest.raises(ValueError, match="2 of each row above 0"):
        run("MultinomialWithReplacement", [x * [1, 0, 0], *SEEDS], {"numsamples": 2})
    with pytest.raises(ValueError, match=r"a chance lies outside \[0, 1\]"):
        run("Bernoulli", [x, np.array(1.5)])
    with pytest.raises(InvalidArgument, match="dtype is 1; it is 6 for INT32"):
        run("MultinomialFuss", [x], {"dtype": 1})
