"""What is current: the contexts, in which streams are opened, and the streams."""

from __future__ import annotations

from typing import Any

from aacl._current import Current

__all__ = ("contexts", "streams")

contexts: Current[Any] = Current("device")
streams: Current[Any] = Current("stream")
