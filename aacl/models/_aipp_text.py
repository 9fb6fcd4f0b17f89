"""The text form of protocol buffers, as far as AIPP's configuration files use it. Pure.

``name: value``, ``name { ... }``, ``#`` to the end of the line; commas and
semicolons between fields; lists in brackets. Source: the public specification of
the text format.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from aacl.errors import InvalidArgument

__all__ = ("Message", "Word", "parse_text")

_TOKEN = re.compile(
    r"""(?P<blank>\s+|\#[^\n]*)
    |(?P<string>"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*')
    |(?P<word>[-+]?[A-Za-z0-9_.][A-Za-z0-9_.+-]*)
    |(?P<sign>[:{}<>\[\],;])""",
    re.VERBOSE,
)
_CLOSING = {"{": "}", "<": ">"}
_DEEPEST = 8
"""Messages within messages; AIPP's files have one level."""


class Word(NamedTuple):
    """A value as it was written."""

    text: str
    line: int
    is_string: bool = False


class Message(NamedTuple):
    """Fields in order; a name may come more than once."""

    fields: tuple[Field, ...]
    line: int


Field = tuple[str, Word | Message]


class _Token(NamedTuple):
    kind: str
    text: str
    line: int


def parse_text(text: str) -> Message:
    """Return the message that a text is.

    Raises:
        InvalidArgument: it is none; the error has the line.
    """
    tokens = [*_tokens(text)]
    fields, rest = _fields(tokens, 0, "", 0)
    assert rest == len(tokens), "a message without an end reads all"
    return Message(fields, 1)


def _tokens(text: str) -> Iterator[_Token]:
    place, line = 0, 1
    while place < len(text):
        found = _TOKEN.match(text, place)
        if found is None:
            raise InvalidArgument(f"line {line}: {text[place]!r} is not expected here")
        kind, part = str(found.lastgroup), found.group()
        if kind != "blank":
            yield _Token(kind, part, line)
        line += part.count("\n")
        place = found.end()
    yield _Token("end", "the end of the text", line)


def _fields(tokens: Sequence[_Token], place: int, closing: str, depth: int) -> tuple[tuple[Field, ...], int]:
    """Return the fields up to a closing sign (or the end), and the place behind it."""
    if depth > _DEEPEST:
        raise InvalidArgument(f"line {tokens[place].line}: messages are nested more than {_DEEPEST} deep")
    fields: list[Field] = []
    while True:
        token = tokens[place]
        if token.text == closing or (token.kind == "end" and not closing):
            return tuple(fields), place + 1
        if token.kind != "word":
            raise InvalidArgument(f"line {token.line}: the name of a field is expected, not {token.text!r}")
        values, place = _values(tokens, place + 1, depth)
        fields += [(token.text, value) for value in values]
        if tokens[place].text in (",", ";"):
            place += 1


def _values(tokens: Sequence[_Token], place: int, depth: int) -> tuple[list[Word | Message], int]:
    """Return what is behind a field's name: a value, a list of them, or a message."""
    if tokens[place].text == ":":
        place += 1
    elif tokens[place].text not in _CLOSING:
        raise InvalidArgument(f"line {tokens[place].line}: ':' is expected, not {tokens[place].text!r}")
    if tokens[place].text != "[":
        value, place = _value(tokens, place, depth)
        return [value], place
    values: list[Word | Message] = []
    place += 1
    while tokens[place].text != "]":
        value, place = _value(tokens, place, depth)
        values.append(value)
        if tokens[place].text == ",":
            place += 1
        elif tokens[place].text != "]":
            raise InvalidArgument(f"line {tokens[place].line}: ',' or ']' is expected, not {tokens[place].text!r}")
    return values, place + 1


def _value(tokens: Sequence[_Token], place: int, depth: int) -> tuple[Word | Message, int]:
    token = tokens[place]
    if token.text in _CLOSING:
        fields, place = _fields(tokens, place + 1, _CLOSING[token.text], depth + 1)
        return Message(fields, token.line), place
    if token.kind == "word":
        return Word(token.text, token.line), place + 1
    if token.kind == "string":
        return Word(re.sub(r"\\(.)", r"\1", token.text[1:-1]), token.line, is_string=True), place + 1
    raise InvalidArgument(f"line {token.line}: a value is expected, not {token.text!r}")
