"""The products behind SoC names, and what AscendCL documents that they lack. Pure.

A program asks ``acl.get_soc_name``, ``device.properties.soc`` or atc's
``--soc_version`` for a name such as ``Ascend310P3``; the tables of the public
AscendCL reference speak of product families. This is the one table between the
two. The software device runs everything under every name: what follows here is
what a program would miss on the real product; ``AACL_STRICT=1`` asks for its refusals.
"""

from __future__ import annotations

import enum
import os
import re
from typing import NamedTuple

from aacl.errors import InvalidArgument

__all__ = ("Feature", "Product", "is_strict", "product_of")


class Feature(enum.Enum):
    """Something that not every product has; the value is how texts call it."""

    COMPILE_AND_EXECUTE = "compiling an operator while the program runs"
    SHAPE_RANGES = "models with ranges of shapes"


class Product(NamedTuple):
    """A product family.

    Attributes:
        family: as the public reference calls it.
        lacks: what is documented as not supported on it.
    """

    family: str
    lacks: frozenset[Feature] = frozenset()

    def has(self, feature: Feature) -> bool:
        """Return whether the family has a feature."""
        return feature not in self.lacks


_NO_RANGES = frozenset({Feature.SHAPE_RANGES})
_NO_COMPILER = frozenset({Feature.COMPILE_AND_EXECUTE})

# The first pattern that a name matches counts: the longer names stand before the shorter ones.
_PRODUCTS: tuple[tuple[re.Pattern[str], Product], ...] = tuple(
    (re.compile(pattern), Product(family, lacks))
    for pattern, family, lacks in (
        (r"Ascend310P\d*", "Atlas inference series (Ascend 310P)", frozenset[Feature]()),
        (r"Ascend310B\d*", "Atlas 200I/500 A2 inference products (Ascend 310B)", _NO_RANGES),
        (r"Ascend310", "Atlas 200/300/500 inference products (Ascend 310)", _NO_RANGES),
        (r"Ascend910B\d*(-\d+)?", "Atlas A2 training and inference series (Ascend 910B)", frozenset[Feature]()),
        (r"Ascend910_93\d*", "Atlas A3 training and inference series (Ascend 910C)", frozenset[Feature]()),
        (r"Ascend910(A|ProA|ProB|PremiumA)?", "Atlas training series (Ascend 910)", frozenset[Feature]()),
        (r"Ascend950(PR|DT)?(_\w+)?", "Ascend 950PR/950DT", _NO_COMPILER),
        (r"(Ascend)?IPV350", "IPV350", _NO_COMPILER),
    )
)


def product_of(soc: str) -> Product | None:
    """Return the product family of a SoC name, None if the table has no such name.

    Upper and lower case are told apart, as the tools of the real device do: the name is ``Ascend310P3``.
    """
    return next((product for pattern, product in _PRODUCTS if pattern.fullmatch(soc)), None)


def is_strict() -> bool:
    """Whether ``AACL_STRICT`` in the environment asks for the refusals of the real product.

    Raises:
        InvalidArgument: it is neither 0 nor 1.
    """
    text = os.environ.get("AACL_STRICT", "").strip() or "0"
    if text not in ("0", "1"):
        raise InvalidArgument(f"AACL_STRICT is {text!r}; set it to 0 or 1")
    return text == "1"
