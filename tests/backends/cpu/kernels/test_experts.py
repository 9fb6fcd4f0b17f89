"""Mixtures of experts, row by row."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from aacl.abc import Array
from aacl.errors import InvalidArgument, UnsupportedDataType

Run = Callable[..., list[Array]]
Close = Callable[..., None]
BF16 = np.dtype(ml_dtypes.bfloat16)
DTYPES = [np.dtype(np.float32), np.dtype(np.float16), BF16]
ROWS, EXPERTS, K, SIZE = 5, 4, 2, 3


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("lead", [(ROWS,), (2, 3)], ids=str)
@pytest.mark.parametrize("has_flags", [False, True])
def test_gating(run: Run, close: Close, dtype: np.dtype[Any], lead: tuple[int, ...], has_flags: bool) -> None:
    """The likeliest experts of each row; a finished row gets the expert behind the last one."""
    x = np.random.default_rng(3).uniform(-2, 2, (*lead, EXPERTS)).astype(dtype)
    finished = np.arange(math.prod(lead)).reshape(lead) % 2 == 1
    y, experts, rows = run("MoeGatingTopKSoftmax", [x, *([finished] if has_flags else [])], {"k": K})

    assert experts.dtype == rows.dtype == np.int32
    for number, place in enumerate(np.ndindex(lead)):
        row = x[place].astype(float).tolist()
        total = math.fsum(map(math.exp, row))
        best = sorted(range(EXPERTS), key=lambda expert: -row[expert])[:K]
        close(y[place], [math.exp(row[expert]) / total for expert in best], units=16)
        assert experts[place].tolist() == ([EXPERTS] * K if has_flags and finished[place] else best)
        assert rows[place].tolist() == [number, number + math.prod(lead)]


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("active", [ROWS, 2, 9])
def test_there_and_back(run: Run, close: Close, dtype: np.dtype[Any], active: int) -> None:
    """Rows sorted by expert, and each one's place in that order; bringing them back weighs and adds them."""
    random = np.random.default_rng(5)
    x = random.uniform(-2, 2, (ROWS, SIZE)).astype(dtype)
    experts = np.array([[1, 3], [0, 1], [3, 0], [1, 0], [2, 3]], np.int32)
    numbers = np.arange(ROWS * K, dtype=np.int32).reshape(K, ROWS).T.copy()
    expanded, places, ordered = run("MoeInitRouting", [x, numbers, experts], {"active_num": active})
    assert ordered.tolist() == sorted(experts.reshape(-1).tolist())
    assert expanded.shape == (min(active, ROWS) * K, SIZE)
    for row in range(ROWS):
        for place in range(K):
            target = places[place * ROWS + row]
            assert ordered[target] == experts[row, place]
            if target < len(expanded):
                assert expanded[target].tolist() == x[row].tolist()
    if active < ROWS:
        return
    first, bias = (
        random.uniform(-1, 1, (ROWS, SIZE)).astype(dtype),
        random.uniform(-1, 1, (EXPERTS, SIZE)).astype(dtype),
    )
    scales = random.uniform(0, 1, (ROWS, K)).astype(dtype)
    for second in (None, x):
        (found,) = run("MoeFinalizeRouting", [expanded, first, second, bias, scales, places, experts])
        for row, column in np.ndindex(ROWS, SIZE):
            exact = float(first[row, column]) + (0 if second is None else float(second[row, column]))
            for place in range(K):
                exact += float(scales[row, place]) * (float(x[row, column]) + float(bias[experts[row, place], column]))
            close(found[row, column], np.array(exact), units=4, floor=1)


def test_expert_tokens(run: Run) -> None:
    """The rows up to and with each expert; experts without rows repeat the number."""
    found = np.array([0, 0, 2, 2, 2, 5], np.int32)

    assert run("MoeComputeExpertTokens", [found], {"num_experts": 6})[0].tolist() == [2, 2, 5, 5, 5, 6]


def test_bad_input(run: Run) -> None:
    """Counts, places and flags that do not fit are named."""
    x, experts = np.zeros((2, 3), np.float32), np.zeros((2, 2), np.int32)
    with pytest.raises(InvalidArgument, match="holding k, 4, experts"):
        run("MoeGatingTopKSoftmax", [x], {"k": 4})
    with pytest.raises(InvalidArgument, match="one flag a row"):
        run("MoeGatingTopKSoftmax", [x, np.zeros(3, bool)], {"k": 1})
    with pytest.raises(ValueError, match="each number below 4 once"):
        run("MoeInitRouting", [x, experts, experts], {"active_num": 2})
    with pytest.raises(InvalidArgument, match="there are k experts a row"):
        run("MoeInitRouting", [x[:1], experts, experts], {"active_num": 2})
    scales = np.zeros((2, 2), np.float32)
    with pytest.raises(IndexError, match=r"an expert lies outside \[0, 2\)"):
        run(
            "MoeFinalizeRouting",
            [np.zeros((4, 3), np.float32), x, None, x, scales, np.arange(4, dtype=np.int32), experts + 2],
        )
    with pytest.raises(UnsupportedDataType, match="they must be equal"):
        run("MoeFinalizeRouting", [x.astype(np.float16), x, None, x, scales, np.arange(4, dtype=np.int32), experts])
    with pytest.raises(InvalidArgument, match="num_experts is 0"):
        run("MoeComputeExpertTokens", [np.zeros(1, np.int32)], {"num_experts": 0})
