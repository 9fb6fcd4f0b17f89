"""The software device: memory in this process, operators by NumPy, models by ONNX Runtime."""

from __future__ import annotations

from aacl.backends.cpu._device import CpuDevice
from aacl.backends.cpu._settings import device_count

__all__ = ("CpuBackend", "backend")


class CpuBackend:
    """Software devices; ``AACL_DEVICES`` says how many (default 2)."""

    name = "cpu"

    def device_count(self) -> int:
        """Return how many software devices there are."""
        return device_count()

    def open(self, index: int) -> CpuDevice:
        """Open one of them."""
        return CpuDevice(index)


backend = CpuBackend()
