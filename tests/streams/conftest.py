"""An open device with a stream, for every test of streams."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from aacl import Device, Stream


@pytest.fixture
async def device() -> AsyncIterator[Device]:
    """A device."""
    async with Device(0) as opened:
        yield opened


@pytest.fixture
async def stream(device: Device) -> AsyncIterator[Stream]:
    """A stream of that device."""
    async with Stream(device) as opened:
        yield opened


@pytest.fixture
async def other(device: Device) -> AsyncIterator[Stream]:
    """Another one."""
    async with Stream(device) as opened:
        yield opened
