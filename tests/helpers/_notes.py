"""What was noted on an exception."""

from __future__ import annotations


def notes_of(error: BaseException | None) -> str:
    """Return the notes of an exception, a line each."""
    return "\n".join(getattr(error, "__notes__", []))
