"""A stream for operators of the program's own."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from aacl import Device, Stream


@pytest.fixture
async def stream() -> AsyncIterator[Stream]:
    """A stream of an open device, both current."""
    async with Device(0), Stream() as opened:
        yield opened
