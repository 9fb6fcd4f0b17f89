"""The product that a model is converted for, and what it lacks."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

from aacl.converter._reports import Unconvertible
from aacl.products import Feature, is_strict, product_of

if TYPE_CHECKING:
    from aacl.models._signature import ModelSignature

__all__ = ("require_free_shapes", "warn_of_unknown")


def warn_of_unknown(soc_version: str, depth: int) -> None:
    """Warn of a SoC name that the table of products has not: it may be misspelt, or newer than the table.

    Args:
        soc_version: the name.
        depth: calls between this one and the program, whose line the warning names.
    """
    if product_of(soc_version) is None:
        warnings.warn(
            f"--soc_version={soc_version!r} is no SoC that aacl.products knows, such as Ascend310P3; it is recorded as "
            "it is, and everything is taken to be supported there",
            RuntimeWarning,
            stacklevel=depth + 2,
        )


def require_free_shapes(signature: ModelSignature) -> None:
    """Warn of a model with free dims for a product that is documented not to take them.

    Raises:
        Unconvertible: the environment says ``AACL_STRICT=1``.
    """
    if signature.is_static or signature.gears is not None:
        return
    product = product_of(signature.soc_version)
    if product is None or product.has(Feature.SHAPE_RANGES):
        return
    text = f"{Feature.SHAPE_RANGES.value} are not supported on {product.family}, which {signature.soc_version} is"
    if is_strict():
        raise Unconvertible(
            "E10055",
            f"{text}; free: {_free(signature)}",
            solution="Fix the dims with --input_shape, or list gears; AACL_STRICT=0 converts the model nevertheless.",
        )
    warnings.warn(f"{text}; the software device runs them nevertheless", RuntimeWarning, stacklevel=5)


def _free(signature: ModelSignature) -> str:
    specs = (*signature.inputs, *signature.outputs)
    return ", ".join(f"{spec.name} {list(spec.shape)}" for spec in specs if not spec.is_static)
