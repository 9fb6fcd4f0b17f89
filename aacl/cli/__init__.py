"""The commands: `aacl` (`aacl.cli.main`) and `atc` (`aacl.cli.atc`)."""

from __future__ import annotations

__all__ = ()
