"""``acl.himpi``: media functions of the second version; so far, their memory."""

from acl.himpi._memory import dvpp_free as dvpp_free
from acl.himpi._memory import dvpp_malloc as dvpp_malloc

__all__ = ("dvpp_free", "dvpp_malloc")


def __dir__() -> list[str]:
    return [*__all__]
