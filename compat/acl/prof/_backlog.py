"""Records that wait for a slow reader. Pure."""

from __future__ import annotations

__all__ = ("Backlog",)


class Backlog:
    """Records that were not sent yet, up to a number; when more come, the oldest are dropped.

    Attributes:
        dropped: how many were.
    """

    def __init__(self, unit: int, most: int) -> None:
        """Make an empty one.

        Args:
            unit: bytes of a record.
            most: records that are kept.
        """
        self.dropped = 0
        self._unit, self._most = unit, most
        self._waiting = bytearray()
        self._begun = (
            0  # bytes of the first record that were sent: the rest of it must follow, or no other could be read
        )

    def __bool__(self) -> bool:
        return bool(self._waiting)

    def __len__(self) -> int:
        """Return how many records wait, one that was sent in part counted."""
        return (len(self._waiting) + self._unit - 1) // self._unit

    def add(self, records: bytes) -> None:
        """Let whole records wait behind the others, of which the oldest make room; those that come now all stay."""
        excess = len(self) + len(records) // self._unit - self._most
        first = self._unit - self._begun if self._begun else 0
        whole = (len(self._waiting) - first) // self._unit
        if excess > 0 and whole > 0:
            gone = min(excess, whole)
            del self._waiting[first : first + gone * self._unit]
            self.dropped += gone
        self._waiting += records

    def head(self, count: int) -> bytes:
        """Return the first records: what is left of the first, and up to ``count`` whole ones."""
        first = self._unit - self._begun if self._begun else 0
        return bytes(self._waiting[: first + count * self._unit])

    def sent(self, nbytes: int) -> None:
        """Take note that the first bytes were sent."""
        del self._waiting[:nbytes]
        self._begun = (self._begun + nbytes) % self._unit
