"""Loaded models with free dims."""

from __future__ import annotations

from pathlib import Path

import pytest

import acl
from tests.compat._models import nonzero, ranged
from tests.compat._programs import good


@pytest.fixture
def model(device: int, tmp_path: Path) -> int:
    """Y = x + 1, float32 [n, 4], n being 1 to 1000."""
    handle: int = good(acl.mdl.load_from_file(ranged(tmp_path, "x:1~1000,4")))
    return handle


@pytest.fixture
def values(device: int, tmp_path: Path) -> int:
    """Y = x + 1 and where = NonZero(x), int64 [2, k]."""
    handle: int = good(acl.mdl.load_from_file(nonzero(tmp_path)))
    return handle
