"""Loaded models to run."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import acl
from tests.compat._programs import Array, Dataset, add1, good, slow, two_in


@pytest.fixture
def model(device: int, tmp_path: Path) -> int:
    """Y = x + 1, float32 [1, 4]."""
    handle: int = good(acl.mdl.load_from_file(add1(tmp_path)))
    return handle


@pytest.fixture
def pair(device: int, tmp_path: Path) -> int:
    """A [2, 3] and b [2, 4] → a · 2 and b · 3."""
    handle: int = good(acl.mdl.load_from_file(two_in(tmp_path)))
    return handle


@pytest.fixture
def long(device: int, tmp_path: Path) -> tuple[int, Dataset, Dataset, Array]:
    """A model that runs for some hundred milliseconds, with datasets."""
    x = np.random.default_rng(3).standard_normal((512, 512)).astype(np.float32)
    return good(acl.mdl.load_from_file(slow(tmp_path))), Dataset(x), Dataset(np.zeros_like(x)), x
