"""The direction that a program states of a copy, beside the one that the addresses have.

The addresses decide what is copied. On the real device a copy with the wrong kind fails, or reads an address of the
one side as one of the other; here it works, with one warning for each kind that is wrong in one way, so that a program
which was written for a board, where both memories are one, can be tried. With ``AACL_STRICT=1`` in the environment it
is refused.
"""

from __future__ import annotations

import aacl
from acl._log import warn_program
from acl._state import at_finalize
from acl._status import PARAM_INVALID, Refused

__all__ = ("ANY", "KINDS", "WAYS", "ahead", "check_ahead", "way_of", "wrong_way")

KINDS = range(8)
"""What an ``aclrtMemcpyKind`` may be."""
ANY = -1
WAYS = (0, 1, 2, 3, ANY, 1, 3, 3)
"""By kind: from host to host 0, to the device 1, to the host 2, on devices 3, or whatever the addresses say."""
_NAMES = ("from host to host memory", "from host to device memory", "from device to host memory", "on devices")

ahead = [True]
"""Whether a kind has to be looked at before the copy: in a strict environment, and where that is not known yet."""
_warned: set[tuple[int, int]] = set()


def _forget() -> None:
    ahead[0] = True


at_finalize(_forget)


def check_ahead(kind: int, dst: int, src: int) -> None:
    """Refuse what does not fit in a strict environment; else do nothing, and say so in `ahead`; raises as `wrong_way`."""
    ahead[0] = aacl.products.is_strict()
    if ahead[0]:
        wrong_way(kind, way_of(dst, src), dst, src)


def way_of(dst: int, src: int) -> int:
    """Return the direction that two addresses have."""
    is_device = aacl.memory.is_device_address
    return is_device(dst) + 2 * is_device(src)


def wrong_way(kind: int, way: int, dst: int, src: int) -> None:
    """Refuse, or warn of, a kind that does not fit the addresses.

    Raises:
        Refused: it does not, and the environment is strict (107000).
    """
    if WAYS[kind] in (way, ANY):
        return
    text = (
        f"copy kind {kind} is {_NAMES[WAYS[kind]]}, but {src:#x} to {dst:#x} is {_NAMES[way]}, kind {way}; kind 4 lets "
        "the addresses tell"
    )
    if aacl.products.is_strict():
        raise Refused(PARAM_INVALID, f"{text}; AACL_STRICT=0 lets the software device copy nevertheless")
    if (kind, way) not in _warned:
        _warned.add((kind, way))
        warn_program(f"{text}; the software device copies nevertheless")
