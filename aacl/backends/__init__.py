"""Kinds of devices; each is a module here, loaded by name."""

__all__ = ()
