"""Items read one at a time from a plain or an asynchronous iterable."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterable, Generator, Iterable
from time import perf_counter
from typing import Any, Generic, TypeVar

from aacl.errors import InvalidArgument

__all__ = ("Source", "check_items")

T = TypeVar("T")
_TURN = 0.0005
"""Seconds after which the loop gets a turn between items of a plain iterable."""


class Source(Generic[T]):
    """The items of an iterable, in order. One task reads it and closes it."""

    __slots__ = ("_is_async", "_items", "_turned")

    _items: Any

    def __init__(self, items: AsyncIterable[T] | Iterable[T]) -> None:
        """Begin to iterate; raises what the iterable's ``__iter__`` or ``__aiter__`` raises."""
        self._is_async = isinstance(items, AsyncIterable)
        self._items = aiter(items) if isinstance(items, AsyncIterable) else iter(items)
        self._turned = perf_counter()

    async def read(self) -> T:
        """Return the next item.

        Raises:
            StopAsyncIteration: there is none.
        """
        if self._is_async:
            item: T = await anext(self._items)
            return item
        if perf_counter() - self._turned > _TURN:
            await asyncio.sleep(0)
            self._turned = perf_counter()
        try:
            item = next(self._items)
        except StopIteration:
            raise StopAsyncIteration from None
        return item

    async def aclose(self) -> None:
        """Close a generator. Other iterators may be anything, an open file say, and are left to who made them."""
        if isinstance(self._items, AsyncGenerator):
            await self._items.aclose()
        elif isinstance(self._items, Generator):
            self._items.close()


def check_items(items: Any) -> None:
    """Refuse what cannot be iterated over.

    Raises:
        InvalidArgument: it is neither a plain nor an asynchronous iterable.
    """
    if not isinstance(items, (AsyncIterable, Iterable)) and not hasattr(items, "__getitem__"):
        raise InvalidArgument(f"a model is mapped over an iterable or asynchronous iterable, not {items!r}")
