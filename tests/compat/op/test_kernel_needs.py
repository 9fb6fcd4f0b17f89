"""Kernels that say what they take: a request with less is refused where it would have crashed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import acl
from tests.compat._programs import FLOAT, ND, get, ok, put
from tests.helpers import build_kernels

SOURCE = """
AACL_KERNEL(pair) { *(float *)outputs[0] = *(const float *)inputs[0] + *(const float *)inputs[1]; }
AACL_KERNEL_TAKES(pair, 2, 1, 0, sizeof(long))
AACL_KERNEL(three) { *(float *)outputs[0] = *(const float *)inputs[2]; }
AACL_KERNEL_TAKES(three, 3, 1, 0, 0)
AACL_KERNEL(room) { *(float *)workspaces[0] = *(float *)outputs[0] = 0; }
AACL_KERNEL_TAKES(room, 2, 1, 1, 0)
"""
BAD = 100000


@pytest.mark.parametrize(
    ("kernel", "tiling", "told"),
    [
        ("pair", 8, ""),
        ("pair", 7, "'pair' of operator needy (own kernel) takes 8 bytes of tiling; there are 7"),
        ("three", 8, "'three' of operator needy (own kernel) takes 3 inputs; there are 2"),
        ("room", 8, "'room' of operator needy (own kernel) takes 1 workspaces; there are 0"),
    ],
)
def test_a_kernel_that_says_what_it_takes(device: int, tmp_path: Path, kernel: str, tiling: int, told: str) -> None:
    """Too few inputs, workspaces or bytes of tiling are a code of the run, and the text says what is missing."""

    def choose(*arguments: Any) -> int:
        code: int = acl.op.set_kernel_args(arguments[-1], kernel, 1, acl.util.bytes_to_ptr(bytes(tiling)), tiling)
        return code

    image = build_kernels(tmp_path, SOURCE).read_bytes()
    ok(acl.op.register_compile_func("needy", choose))
    ok(acl.op.create_kernel("needy", kernel, kernel, acl.util.bytes_to_ptr(image), len(image), 1, 0))
    x = np.array([21], np.float32)
    pointers = [put(x) for _ in range(3)]
    descs = [acl.create_tensor_desc(FLOAT, [1], ND) for _ in range(3)]
    buffers = [acl.create_data_buffer(pointer, 4) for pointer in pointers]
    ok(acl.op.update_params("needy", descs[:2], descs[2:], 0))
    code = acl.op.execute_v2("needy", descs[:2], buffers[:2], descs[2:], buffers[2:], 0, 0)
    text = acl.get_recent_err_msg() or ""
    ok(acl.rt.synchronize_stream(0))

    assert (code, told in text) == (BAD if told else 0, True)
    assert get(pointers[2], x)[0] == (21 if told else 42)
