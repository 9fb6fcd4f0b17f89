"""Compiled kernels, and a stream of a device with two cores."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from aacl import Device, Stream
from tests.helpers import build_kernels

SOURCE = """
#include <stdint.h>
#include <string.h>
#include <time.h>
typedef struct { long count; double k; } tiling_t;
AACL_KERNEL(axpy) {
    const tiling_t *t = tiling;
    const double *x = inputs[0], *y = inputs[1];
    double *out = outputs[0];
    long share = (t->count + blocks - 1) / blocks, from = block * share, to = from + share;
    for (long i = from; i < to && i < t->count; ++i) out[i] = t->k * x[i] + (y ? y[i] : 0.0);
}
AACL_KERNEL(fail_from) {
    const long *first = tiling;
    if (block >= *first) AACL_FAIL(40 + (int)block);
}
AACL_KERNEL(meet) {  /* every block waits for all the others */
    static volatile long here;
    time_t end = time(0) + 10;
    __atomic_add_fetch(&here, 1, __ATOMIC_SEQ_CST);
    while (here < blocks) if (time(0) > end) AACL_FAIL(1);
    ((long *)outputs[0])[block] = here;
}
AACL_KERNEL(facts) {
    int64_t *out = outputs[0];
    out[0] = inputs[0] == 0; out[1] = (intptr_t)tiling % 64; out[2] = (intptr_t)workspaces[0] % 64;
    out[3] = workspaces[0] != workspaces[1]; out[4] = block; out[5] = blocks;
    memset(workspaces[0], 1, 100); memset(workspaces[1], 2, 200);
}
AACL_KERNEL(stray) {  /* writes a byte at an offset from an output, workspace or input */
    const struct { long what, offset; } *t = tiling;
    char *start = t->what == 0 ? outputs[0] : t->what == 1 ? workspaces[0] : (char *)(uintptr_t)inputs[0];
    memset(outputs[0], 0, 32);
    start[t->offset] ^= 0x55;
}
AACL_KERNEL(nothing) { }
"""


@pytest.fixture(scope="session")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The kernels above, compiled."""
    return build_kernels(tmp_path_factory.mktemp("kernels"), SOURCE)


@pytest.fixture
async def stream(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Stream]:
    """A stream of a device with two cores, both current."""
    monkeypatch.setenv("AACL_CORES", "2")
    async with Device(0), Stream() as opened:
        yield opened
