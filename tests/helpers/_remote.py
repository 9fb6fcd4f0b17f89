"""A function for processes of their own, which import it."""

from __future__ import annotations

import numpy as np

from aacl import blocking, ops


def double(value: int) -> int:
    """Add a value to itself on a device."""
    with blocking.Device(0), blocking.Stream() as stream:
        a = stream.to_device(np.array([value]))
        return int(stream.to_host(stream.execute(ops.Add(a, a)))[0])
