"""What is said on, and of, exceptions of a program's own: their classes may refuse both."""

from __future__ import annotations

from contextlib import suppress

__all__ = ("add_note", "text_of")


def add_note(error: BaseException, text: str) -> None:
    """Say something on an exception, once; nothing where it takes no notes, as one of a frozen dataclass does not."""
    with suppress(Exception):
        if text not in getattr(error, "__notes__", ()):
            error.add_note(text)


def text_of(error: BaseException) -> str:
    """Return an exception's text, or what stands for it where its class fails to give one."""
    try:
        return str(error)
    except Exception as second:
        return f"<no text: its __str__ raised {type(second).__name__}>"
