"""Compiled kernels, and a compile function that chooses among them."""

from __future__ import annotations

import pytest

import acl
from tests.compat._programs import ok
from tests.compat.op.kernels._choices import Chooser, create
from tests.helpers import build_kernels

SOURCE = """
typedef struct { long count; double k; } tiling_t;
AACL_KERNEL(scaled_add) {
    const tiling_t *t = tiling;
    const float *a = inputs[0], *b = inputs[1];
    float *y = outputs[0];
    long share = (t->count + blocks - 1) / blocks, from = block * share, to = from + share;
    for (long i = from; i < to && i < t->count; ++i) y[i] = a[i] + (float)t->k * (b ? b[i] : 0);
}
AACL_KERNEL(zero) { *(float *)outputs[0] = 0; }
AACL_KERNEL(use) { ((char *)workspaces[0])[0] = 1; ((char *)workspaces[1])[63] = 1; *(float *)outputs[0] = 8; }
AACL_KERNEL(fail) { if (block == 2) AACL_FAIL(9); }
"""


@pytest.fixture(scope="session")
def image(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """The kernels above, compiled."""
    return build_kernels(tmp_path_factory.mktemp("kernels"), SOURCE).read_bytes()


@pytest.fixture
def chooser(device: int, image: bytes) -> Chooser:
    """A compile function of operator "scaled", registered, with its kernels."""
    chooser = Chooser()
    ok(acl.op.register_compile_func("scaled", chooser))
    for name in ("scaled_add", "zero", "use", "fail"):
        ok(create(image, name))
    return chooser
