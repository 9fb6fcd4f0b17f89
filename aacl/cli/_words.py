"""How the commands write sizes and counts."""

from __future__ import annotations

__all__ = ("counted", "size")


def size(nbytes: int) -> str:
    """Write a number of bytes in the largest binary unit that it fills.

    >>> size(1536), size(8 * 1024**3), size(12)
    ('1.5 KiB', '8.0 GiB', '12 bytes')
    """
    if nbytes < 1024:
        return counted(nbytes, "byte")
    number, units = nbytes / 1024, iter(("KiB", "MiB", "GiB"))
    for unit in units:
        if number < 1024:
            return f"{number:.1f} {unit}"
        number /= 1024
    return f"{number:.1f} TiB"


def counted(number: int, thing: str) -> str:
    """Write a number of things.

    >>> counted(1, "device"), counted(2, "entry"), counted(0, "box")
    ('1 device', '2 entries', '0 boxes')
    """
    if number == 1:
        return f"1 {thing}"
    if thing.endswith(("s", "x", "ch", "sh")):
        return f"{number} {thing}es"
    return f"{number} {thing[:-1]}ies" if thing.endswith("ry") else f"{number} {thing}s"
