"""Results whose number depends on the values: they fill the start of an output that is as large as it may get."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from aacl.abc import Array

__all__ = ("leading",)


def leading(found: Sequence[Array], outs: Sequence[Array]) -> tuple[tuple[int, ...], ...]:
    """Write each result without a gap into the first elements of its output; return the exact shapes.

    Raises:
        ValueError: an output cannot hold its result; nothing is written then.
    """
    for result, out in zip(found, outs, strict=True):
        if result.size > out.size:
            raise ValueError(f"the result has shape {result.shape}; the output {out.shape} cannot hold it")
    for result, out in zip(found, outs, strict=True):
        out.reshape(-1)[: result.size] = result.reshape(-1)
    return tuple(result.shape for result in found)
