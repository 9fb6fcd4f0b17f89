"""Compile functions that choose kernels, and requests that are served by them."""

from __future__ import annotations

import struct
from functools import partial
from typing import Any

import numpy as np

import aacl
import acl
from acl.op import _own
from tests.compat._programs import FLOAT, ND, Array, get, ok, put

X = np.arange(6, dtype=np.float32).reshape(2, 3)
BAD, RAISED, NO_FUNCTION, NO_KERNEL, TWICE, KERNEL_TWICE, NOT_LOADED, NOT_FOUND = (
    100000, 500001, 100028, 100029, 100030, 100031, 100025, 100024,
)  # fmt: skip


def create(image: bytes, name: str, op: str = "scaled", kernel_id: str = "", deallocator: int = 0) -> int:
    """Load a kernel from bytes."""
    pointer = acl.util.bytes_to_ptr(image)
    code: int = acl.op.create_kernel(op, kernel_id or name, name, pointer, len(image), 1, deallocator)
    return code


class Chooser:
    """A compile function that chooses a kernel, and keeps what it was called with."""

    def __init__(
        self, kernel: str = "scaled_add", blocks: int = 3, workspaces: tuple[int, ...] = (), k: float = 2
    ) -> None:
        self.kernel, self.blocks, self.workspaces, self.k = kernel, blocks, workspaces, k
        self.calls: list[tuple[Any, ...]] = []

    def __call__(self, *arguments: Any) -> int:
        in_num, in_desc, out_num, _, _, kernel_desc = arguments
        count = acl.get_tensor_desc_element_count(in_desc[0])
        self.calls.append((in_num, out_num, count))
        self.last = arguments
        ok(acl.op.set_kernel_workspace_sizes(kernel_desc, len(self.workspaces), list(self.workspaces)))
        tiling = struct.pack("<qd", count, self.k)
        code: int = acl.op.set_kernel_args(
            kernel_desc, self.kernel, self.blocks, acl.util.bytes_to_ptr(tiling), len(tiling)
        )
        return code


class Request:
    """Two inputs and an output of one shape, on the device."""

    def __init__(self, array: Array = X, attr: int = 0) -> None:
        self.array, self.attr = array, attr
        self.pointers = [put(array), put(array), put(np.zeros_like(array))]
        self.descs = [acl.create_tensor_desc(FLOAT, list(array.shape), ND) for _ in range(3)]
        self.buffers = [acl.create_data_buffer(pointer, array.nbytes) for pointer in self.pointers]

    def update(self, op: str = "scaled") -> int:
        """Ask the compile function."""
        code: int = acl.op.update_params(op, self.descs[:2], self.descs[2:], self.attr)
        return code

    def run(self, op: str = "scaled", stream: int = 0) -> int:
        """Submit the operator."""
        code: int = acl.op.execute_v2(
            op, self.descs[:2], self.buffers[:2], self.descs[2:], self.buffers[2:], self.attr, stream
        )
        return code

    def result(self, stream: int = 0) -> Array:
        """Wait, and return what the output holds."""
        ok(acl.rt.synchronize_stream(stream))
        return get(self.pointers[2], self.array)


def create_for_other() -> int:
    """Let operator "other" have the kernels of "scaled"."""
    for name, kernel in _own._kernels["scaled"].items():
        _own.add_kernel("other", name, partial(_itself, kernel))
    return 0


def _itself(kernel: aacl.SharedKernel) -> aacl.SharedKernel:
    return kernel
