"""What is said on, and of, exceptions whose classes refuse it."""

from __future__ import annotations

from dataclasses import dataclass

from aacl._note import add_note, text_of


@dataclass(frozen=True)
class Frozen(Exception):
    """An exception that takes no notes."""


class Odd(Exception):
    """An exception whose notes are no list, and that gives no text."""

    __notes__ = "text"  # type: ignore[assignment] # that is what is odd

    def __str__(self) -> str:
        raise LookupError


def test_a_note_is_said_once() -> None:
    """The same text again is not added; another is."""
    error = ValueError("no")
    for text in ("here", "here", "there"):
        add_note(error, text)

    assert error.__notes__ == ["here", "there"]


def test_exceptions_that_take_no_notes() -> None:
    """They stay as they are, and nothing is raised."""
    for error in (Frozen(), Odd()):
        add_note(error, "here")

        assert getattr(error, "__notes__", "text") == "text"


def test_the_text_of_any_exception() -> None:
    """Where a class fails to give it, that is what is said."""
    assert text_of(ValueError("no")) == "no"
    assert text_of(Odd()) == "<no text: its __str__ raised LookupError>"
