"""Maximum or minimum with one number, quickly.

NumPy goes through two arrays with the processor's vectors, through an array and a number without. So many
elements are compared with a row of the number that stays in the cache.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from aacl.abc import Array
    from aacl.backends.cpu.kernels._registry import Body

__all__ = ("limited",)

_ROW = 1 << 14
"""Elements of the row. NumPy copies shorter ones again and again."""


def limited(ufunc: np.ufunc, number: float, dtype: np.dtype[Any], count: int) -> Body:
    """Return a body that compares each element of its array with a number.

    Args:
        ufunc: ``np.maximum`` or ``np.minimum``.
        number: what to compare with.
        dtype: of the arrays.
        count: how many elements there are at most.
    """
    single = np.asarray(number).astype(dtype)
    row = np.full(min(count, _ROW), single, dtype)

    def body(x: Array, out: Array) -> None:
        size = x.size
        if size <= len(row):
            ufunc(x, row[:size].reshape(x.shape), out=out)
        elif x.flags.c_contiguous and out.flags.c_contiguous:
            source, target, behind = x.reshape(-1), out.reshape(-1), size % _ROW
            whole = size - behind
            ufunc(source[:whole].reshape(-1, _ROW), row, out=target[:whole].reshape(-1, _ROW))
            ufunc(source[whole:], row[:behind], out=target[whole:])
        else:
            ufunc(x, single, out=out)

    return body
