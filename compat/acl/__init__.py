"""The drop-in for pyACL: blocking, handle-style calls on the runtime of aacl."""

from __future__ import annotations

__all__ = ()
