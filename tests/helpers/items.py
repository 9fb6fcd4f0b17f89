"""Items to map a model over: sources that note what was read of them, and what is done with the results."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from typing import Any

import numpy as np

from aacl.models import Model


def item_rows(number: int, columns: int = 3) -> list[Any]:
    """Return items with values of their own."""
    return [np.full(columns, each, np.float32) for each in range(number)]


async def lazily(items: list[Any], read: list[int] | None = None) -> AsyncIterator[Any]:
    """Yield items with turns of the loop between them, and note which were read, then -1."""
    read = [] if read is None else read
    try:
        for number, item in enumerate(items):
            await asyncio.sleep(0)
            read.append(number)
            yield item
    finally:
        read.append(-1)


def eagerly(items: list[Any], read: list[int]) -> Iterator[Any]:
    """Do the same without a loop."""
    try:
        for number, item in enumerate(items):
            read.append(number)
            yield item
    finally:
        read.append(-1)


async def drain(results: Any, into: list[Any] | None = None) -> list[Any]:
    """Take results to the end, into a list that shows what came before a failure."""
    into = [] if into is None else into
    async for pair in results:
        into.append(pair)
    return into


def check_doubled(pairs: list[tuple[Any, Any]], items: list[Any]) -> None:
    """Each item came out, itself, in order, with twice its values."""
    assert [id(item) for item, _ in pairs] == [id(item) for item in items]
    for item, result in pairs:
        assert type(result) is np.ndarray
        np.testing.assert_array_equal(result, 2 * item)


async def run_sizes(model: Model, items: list[Any], batch: int | None) -> list[int]:
    """Return how many rows the run had that each item was in; values and order are checked."""
    pairs = [pair async for pair in model.map(items, batch=batch)]
    check_doubled([(item, doubled) for item, (doubled, _) in pairs], items)
    return [int(size) for _, (_, size) in pairs]
