"""A runtime that is not initialised before each test, and holds nothing after it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import acl
from acl._handles import open_handles


@pytest.fixture(autouse=True)
def clean_runtime() -> Iterator[None]:
    """Begin with a runtime that is not initialised, and see that the blocks left nothing."""
    _end()
    yield
    left = open_handles()
    _end()
    assert left == {}


def _end() -> None:
    acl.init()
    acl.finalize()
    acl.get_recent_err_msg()
    acl.rt.get_last_error(0)
