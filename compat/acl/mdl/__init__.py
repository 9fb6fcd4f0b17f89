"""``acl.mdl``: models."""

__all__ = ()
