"""``acl.media``: media functions of the first version; so far, their memory."""

from acl.media._memory import dvpp_free as dvpp_free
from acl.media._memory import dvpp_malloc as dvpp_malloc

__all__ = ("dvpp_free", "dvpp_malloc")


def __dir__() -> list[str]:
    return [*__all__]
