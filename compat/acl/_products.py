"""What the product that the device stands for lacks.

AscendCL documents which product families have not which call. The software
device has them all: such a call works, with one warning, so that a program can
be tried; with ``AACL_STRICT=1`` in the environment it is refused as there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import aacl
from acl._log import warn_program
from acl._status import Refused

if TYPE_CHECKING:
    from acl._contexts import Context

__all__ = ("require_feature",)

_warned: set[tuple[str, aacl.products.Feature]] = set()


def require_feature(context: Context, feature: aacl.products.Feature, what: str, code: int) -> None:
    """Refuse, or warn of, what the product of a context's device lacks.

    Args:
        context: where it is asked for.
        feature: what is needed.
        what: the call or the thing that needs it, for the text.
        code: what to refuse it with.

    Raises:
        Refused: the product lacks it, and the environment is strict.
    """
    soc = context.device.device.properties.soc
    product = aacl.products.product_of(soc)
    if product is None or product.has(feature):
        return
    text = f"{what}: {feature.value} is not supported on {product.family}, which {soc} is"
    if aacl.products.is_strict():
        raise Refused(code, f"{text}; AACL_STRICT=0 lets the software device do it")
    if (soc, feature) not in _warned:
        _warned.add((soc, feature))
        warn_program(f"{text}; the software device does it nevertheless")
