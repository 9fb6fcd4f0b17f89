"""Random programs of allocations, copies and frees against a model in plain Python."""

from __future__ import annotations

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import acl
from tests.compat._programs import DEFAULT, good, ok

STEPS = st.lists(
    st.tuples(
        st.sampled_from(["malloc", "media", "host", "free", "free", "set", "copy", "copy", "bad"]),
        st.integers(0, 2**16),
        st.integers(0, 2**16),
    ),
    max_size=60,
)
FREE = {"malloc": acl.rt.free, "media": acl.media.dvpp_free, "host": acl.rt.free_host}


def _make(kind: str, size: int) -> int:
    makers = {"malloc": lambda: acl.rt.malloc(size, 0), "media": lambda: acl.media.dvpp_malloc(size)}
    pointer: int = good(makers.get(kind, lambda: acl.rt.malloc_host(size))())
    ok(acl.rt.memset(pointer, size, 0, size))
    return pointer


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=STEPS)
def test_memory_holds_what_was_written(device: int, steps: list[tuple[str, int, int]]) -> None:
    """Whatever is allocated, copied at offsets, set and freed in whatever order: every live block holds its own bytes."""
    blocks: dict[int, tuple[str, bytearray]] = {}
    for act, one, two in steps:
        live = sorted(blocks)
        if act in FREE:
            size = one % 5000 + 1
            pointer = _make(act, size)
            assert pointer not in blocks
            blocks[pointer] = (act, bytearray(size))
        elif not live:
            continue
        elif act == "free":
            kind, _ = blocks.pop(live[one % len(live)])
            ok(FREE[kind](live[one % len(live)]))
            assert FREE[kind](live[one % len(live)]) == 100000
        elif act == "set":
            pointer = live[one % len(live)]
            data = blocks[pointer][1]
            offset = two % len(data)
            ok(acl.rt.memset(pointer + offset, len(data) - offset, two, len(data) - offset))
            data[offset:] = bytes([two & 0xFF]) * (len(data) - offset)
        elif act == "copy":
            target, source = live[one % len(live)], live[two % len(live)]
            to, of = blocks[target][1], blocks[source][1]
            start, begin = one % len(to), two % len(of)
            count = min(len(to) - start, len(of) - begin)
            way = ("host" not in blocks[target][0]) + 2 * ("host" not in blocks[source][0])
            ok(acl.rt.memcpy(target + start, len(to) - start, source + begin, count, (way, DEFAULT)[one % 2]))
            to[start : start + count] = of[begin : begin + count]
        else:
            pointer = live[one % len(live)]
            assert acl.rt.memset(pointer, 1 << 40, 1, 1 << 33) == 107000
            assert acl.rt.memcpy(pointer, 8, live[two % len(live)], 9, DEFAULT) == 107000
    for pointer, (kind, data) in blocks.items():
        assert acl.util.ptr_to_bytes(pointer, len(data)) == bytes(data)
        ok(FREE[kind](pointer))
    assert acl.rt.get_mem_info(1)[0] == acl.rt.get_mem_info(1)[1]
