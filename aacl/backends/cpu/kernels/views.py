"""Operators that hand several inputs on, or one as another dtype."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from aacl.backends.cpu.kernels._registry import given, kernel, prepared
from aacl.errors import NotSupported

if TYPE_CHECKING:
    from aacl.abc import Array, Kernel, KernelRequest

__all__ = ()


@kernel("IdentityN")
def _identities(request: KernelRequest) -> Kernel:
    count = len(request.inputs)

    def body(*arrays: Array) -> None:
        for x, out in zip(arrays[:count], arrays[count:], strict=True):
            np.copyto(out, x)

    return prepared(request, body)


@kernel("Bitcast")
def _bitcast(request: KernelRequest) -> Kernel:
    """The same bytes as another dtype; a bool is 0 or 1 in any case."""
    source, result = given(request, 0).dtype, request.outputs[0].dtype
    if min(source.bits, result.bits) < 8:
        raise NotSupported(
            f"operator Bitcast: {source.name} to {result.name}: 4-bit elements have no bytes of their own"
        )

    def body(x: Array, out: Array) -> None:
        given_bytes, made = x.reshape(-1).view(np.uint8), out.reshape(-1).view(np.uint8)
        if out.dtype == np.bool_:
            np.not_equal(given_bytes, 0, out=made.view(np.bool_))
        else:
            made[...] = given_bytes

    return prepared(request, body)
