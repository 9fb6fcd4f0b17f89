"""Tensors in fresh device memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aacl.devices._current import current_device
from aacl.dtypes import Format
from aacl.tensors._desc import TensorDesc
from aacl.tensors._tensor import Tensor
from aacl.tensors._tensor import empty as _empty

if TYPE_CHECKING:
    from collections.abc import Sequence

    from aacl.devices._device import Device
    from aacl.dtypes import DTypeLike

__all__ = ("empty",)


def empty(
    shape: Sequence[int],
    dtype: DTypeLike,
    format: Format = Format.ND,  # noqa: A002 - the field's own name
    *,
    device: Device | None = None,
) -> Tensor:
    """Return a tensor whose contents are arbitrary.

    Args:
        shape: dims, all at least 0.
        dtype: of the elements.
        format: the layout of the dims.
        device: where, by default the current device.

    Raises:
        InvalidArgument: a negative dim.
        OutOfMemory: the device is full.
        NotCurrent: no device was given, and none is current.
    """
    place = device or current_device()
    place._check_open("allocate on")
    desc = TensorDesc.of(dtype, shape, format)
    return _empty(place._shared.memory, desc)
