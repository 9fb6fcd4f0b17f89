"""Changes to the bytes of a file, decided by a number."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Sequence

__all__ = ("mutated",)

Change = Callable[[random.Random, bytes, Sequence[bytes]], bytes]

_EXTREMES = (0, 1, 0x7F, 0x80, 0xFF, 0x7FFF, 0xFFFF, 0x7FFFFFFF, 0xFFFFFFFF, 1 << 63, (1 << 64) - 1)
_WORDS = (
    b"0", b"-1", b"1", b"99999999999999999999", b"1e308", b"NaN", b"null", b"true", b'""', b"[]", b"{}", b"..",
    b"../../secret", b"/etc/passwd", b"\xff\xfe", b"static", b"dynamic",
)  # fmt: skip


def mutated(seeds: Sequence[bytes], key: str) -> bytes:
    """Return one of the seeds with one to six changes; the key decides which and where."""
    random_ = random.Random(key)
    data = random_.choice(seeds)
    for _ in range(random_.choice((1, 1, 1, 2, 3, 6))):
        data = random_.choice(_CHANGES)(random_, data, seeds)
    return data


def _place(random_: random.Random, data: bytes) -> int:
    """Return a position; often near the beginning, where headers are."""
    return random_.randrange(min(len(data), random_.choice((64, 512, 1 << 30))) or 1)


def _cut(random_: random.Random, data: bytes, _: Sequence[bytes]) -> bytes:
    return data[: _place(random_, data)]


def _flip(random_: random.Random, data: bytes, _: Sequence[bytes]) -> bytes:
    changed = bytearray(data or b"\0")
    changed[_place(random_, data)] ^= 1 << random_.randrange(8)
    return bytes(changed)


def _overwrite(random_: random.Random, data: bytes, _: Sequence[bytes]) -> bytes:
    place, size = _place(random_, data), random_.choice((1, 2, 4, 8))
    number = random_.choice(_EXTREMES) & ((1 << 8 * size) - 1)
    return data[:place] + number.to_bytes(size, "little") + data[place + size :]


def _drop(random_: random.Random, data: bytes, _: Sequence[bytes]) -> bytes:
    place = _place(random_, data)
    return data[:place] + data[place + random_.randrange(1, 64) :]


def _repeat(random_: random.Random, data: bytes, _: Sequence[bytes]) -> bytes:
    place, size = _place(random_, data), random_.randrange(1, 256)
    return data[: place + size] * random_.choice((1, 1, 2)) + data[place:]


def _splice(random_: random.Random, data: bytes, seeds: Sequence[bytes]) -> bytes:
    """Put a piece of another file in: two halves that do not belong together, or a foreign middle."""
    other, place = random_.choice(seeds), _place(random_, data)
    start = _place(random_, other)
    if random_.random() < 0.5:
        return data[:place] + other[start:]
    piece = other[start : start + random_.randrange(1, 512)]
    return data[:place] + piece + data[place + len(piece) :]


def _swap(random_: random.Random, data: bytes, _: Sequence[bytes]) -> bytes:
    first, second = sorted((_place(random_, data), _place(random_, data)))
    return data[second:] + data[first:second] + data[:first]


def _replace_word(random_: random.Random, data: bytes, seeds: Sequence[bytes]) -> bytes:
    """Replace a word or a number of text; binary files have names."""
    words = list(re.finditer(rb"-?[\w./]+", data))
    if not words:
        return _flip(random_, data, seeds)
    found = random_.choice(words)
    return data[: found.start()] + random_.choice((*_WORDS, random_.choice(words)[0])) + data[found.end() :]


_CHANGES: tuple[Change, ...] = (
    _cut, _flip, _flip, _overwrite, _overwrite, _drop, _repeat, _splice, _swap, _replace_word, _replace_word,
)  # fmt: skip
