"""The operator types that a program has registered, by name; what they are is `_registration`'s business."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from aacl.ops._registration import Registration

__all__ = ("in_force", "registered")

in_force: dict[str, Registration] = {}
"""Changed by registrations alone."""

registered = in_force.get
"""Return the registration of an operator type, or None."""
