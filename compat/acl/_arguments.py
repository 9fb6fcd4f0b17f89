"""What many calls ask of an argument."""

from __future__ import annotations

__all__ = ("check_callable", "check_text")


def check_text(value: object, position: int) -> None:
    """Raise a `TypeError` for what is no str; ``position`` is that of the argument, from 1."""
    if not isinstance(value, str):
        raise TypeError(f"argument {position} must be str, not {type(value).__name__}")


def check_callable(function: object) -> None:
    """Raise a `TypeError` for what cannot be called."""
    if not callable(function):
        raise TypeError("parameter must be callable")
