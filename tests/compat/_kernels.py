"""Kernel functions that tests launch, and how programs put their arguments together."""

from __future__ import annotations

from typing import Any

import numpy as np

import acl
from tests.compat._programs import good, ok, put

SOURCE = """
#include <time.h>
typedef struct {
    AACL_ARGUMENT const float *x;
    AACL_ARGUMENT float *y;
    AACL_ARGUMENT int count;
    AACL_ARGUMENT float factor;
} scale_t;
AACL_GLOBAL(scale, scale_t) {
    for (long i = block; i < args->count; i += blocks) args->y[i] = args->factor * args->x[i];
}
typedef struct { AACL_ARGUMENT long *out; } only_t;
AACL_GLOBAL(blocks_of, only_t) { args->out[block] = 100 * blocks + block; }
AACL_GLOBAL(fail, only_t) { if (block == 2) AACL_FAIL(9); }
AACL_GLOBAL(slow, only_t) {
    struct timespec start, now;
    clock_gettime(CLOCK_MONOTONIC, &start);
    do clock_gettime(CLOCK_MONOTONIC, &now);
    while ((now.tv_sec - start.tv_sec) * 1000000000L + now.tv_nsec - start.tv_nsec < 2000000L);
    args->out[block] = 7;
}
AACL_GLOBAL(meet, only_t) {  /* every block waits for all the others */
    static volatile long here;
    time_t end = time(0) + 10;
    __atomic_add_fetch(&here, 1, __ATOMIC_SEQ_CST);
    while (here < blocks) if (time(0) > end) AACL_FAIL(1);
    args->out[block] = here;
}
typedef struct { AACL_ARGUMENT const long *list; AACL_ARGUMENT long *out; AACL_ARGUMENT const long *more; } inner_t;
AACL_GLOBAL(sums, inner_t) { args->out[0] = args->list[0] + args->list[1]; args->out[1] = args->more[0]; }
AACL_KERNEL(add) { *(float *)outputs[0] = 0; }
"""
BAD, SPAN, NO_HANDLE, UNSUPPORTED, NO_FUNCTION, TWICE = 100000, 107000, 107017, 207000, 507027, 507028
FAILED, TOO_LONG = 507018, 507014


def text() -> str:
    """Return what the latest failure said."""
    return acl.get_recent_err_msg() or ""


def host(value: bytes) -> int:
    """Return where bytes lie; they are kept for a while."""
    pointer: int = acl.util.bytes_to_ptr(value)
    return pointer


def append(args: int, value: Any) -> int:
    """Append a NumPy scalar, or an address."""
    data = value.tobytes() if isinstance(value, np.generic) else np.uint64(value).tobytes()
    handle: int = good(acl.rt.kernel_args_append(args, host(data), len(data)))
    return handle


def arguments(function: int, *values: Any) -> int:
    """Return final arguments of a function."""
    args: int = good(acl.rt.kernel_args_init(function))
    for value in values:
        append(args, value)
    ok(acl.rt.kernel_args_finalize(args))
    return args


def longs(count: int) -> int:
    """Return device memory for numbers, zeroed."""
    return put(np.zeros(count, np.int64))
