"""How near a computed array is to an expected one."""

from __future__ import annotations

from collections.abc import Sequence

import ml_dtypes
import numpy as np

from aacl.abc import Array

__all__ = ("difference",)


def difference(
    arrays: Sequence[Array], expected: Sequence[Array], *, rtol: float, atol: float, epsilon: float = 0.0
) -> str:
    """Say how outputs differ from those expected; empty where they do not.

    Args:
        arrays: what came.
        expected: what was asked for.
        rtol: the relative tolerance of what is not whole numbers.
        atol: the absolute one.
        epsilon: the unit of the coarsest type on the way.
    """
    if len(arrays) != len(expected):
        return f"{len(arrays)} outputs, {len(expected)} expected"
    for index, (array, wanted) in enumerate(zip(arrays, expected, strict=True)):
        if array.shape != wanted.shape or array.dtype != wanted.dtype:
            return f"output {index} is {array.dtype} of shape {array.shape}, expected {wanted.dtype} of {wanted.shape}"
        if not _are_close(array, wanted, rtol, atol, epsilon):
            return f"output {index} is {array.ravel()[:8]}, expected {wanted.ravel()[:8]}"
    return ""


def _are_close(array: Array, expected: Array, rtol: float, atol: float, epsilon: float) -> bool:
    """Compare: whole numbers exactly, others within the tolerances or some units of the types on the way.

    The units are relative to each value, and, where values cancel, to the largest of them.
    """
    if array.dtype.kind in "biuO" or not array.size or array.dtype.name in ("int4", "uint4", "int2", "uint2"):
        return bool(np.array_equal(array, expected))
    wide = np.complex128 if array.dtype.kind == "c" else np.float64
    found, wanted = array.astype(wide), expected.astype(wide)
    units = 4 * max(epsilon, float(ml_dtypes.finfo(expected.dtype).eps))  # type: ignore[no-untyped-call]
    finite = np.abs(wanted[np.isfinite(wanted)])
    most = max(atol, units * float(finite.max(initial=0)))
    return bool(np.allclose(found, wanted, rtol=max(rtol, units), atol=most, equal_nan=True))
