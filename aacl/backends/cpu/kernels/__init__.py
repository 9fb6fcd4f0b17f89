"""The cpu device's kernels: one file a family, found by operator type."""

from __future__ import annotations

import functools
import importlib
import pkgutil
from typing import TYPE_CHECKING

import numpy as np

from aacl.errors import OperatorNotFound

if TYPE_CHECKING:
    from aacl.abc import Kernel, KernelRequest
    from aacl.backends.cpu.kernels._registry import Preparation

__all__ = ("find", "kernel_types")


def find(request: KernelRequest) -> Kernel:
    """Return the kernel that runs a request.

    Raises:
        OperatorNotFound: there is no kernel of that type.
        UnsupportedDataType: there is one, for other dtypes.
        InvalidArgument: attributes, shapes or constant inputs do not fit each other.
        NotSupported: an attribute asks for what this device does not do.
    """
    preparation = _preparations().get(request.op_type)
    if preparation is None:
        import difflib  # only for this text

        close = difflib.get_close_matches(request.op_type, _preparations(), n=3, cutoff=0.75)
        hint = f"; it has {', '.join(close)}" if close else ""
        raise OperatorNotFound(f"the cpu device has no kernel for operator {request.op_type}{hint}")
    for info in (*request.inputs, *request.outputs):
        if info is not None:
            _ = info.dtype.numpy_dtype  # refuses what NumPy cannot hold
    with np.errstate(all="ignore"):
        return preparation(request)


def kernel_types() -> tuple[str, ...]:
    """Return the operator types that have a kernel, sorted."""
    return tuple(sorted(_preparations()))


@functools.cache
def _preparations() -> dict[str, Preparation]:
    """Import every family (each public module here), which registers its kernels, at the first request."""
    from aacl.backends.cpu.kernels._registry import PREPARATIONS

    for family in pkgutil.iter_modules(__path__):
        if not family.name.startswith("_"):
            importlib.import_module(f"{__name__}.{family.name}")
    return PREPARATIONS
