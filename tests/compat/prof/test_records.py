"""Records: what is packed is read back, and nothing beyond them is read."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

import acl
from aacl.abc import NodeTime
from acl.prof._records import packed
from tests.compat._programs import good

SIZE = good(acl.prof.get_op_desc_size())
times = st.integers(0, 2**62)
nodes = st.builds(NodeTime, st.text(max_size=300), st.text(max_size=80), st.just(0), st.just(1), times, times)


@settings(deadline=None, max_examples=40)
@given(st.lists(nodes.filter(lambda node: node.start_ns <= node.end_ns), min_size=1, max_size=3))
def test_what_is_packed_is_read_back(given: list[NodeTime]) -> None:
    """Numbers come back as they are, texts up to their first null byte and to 64 and 256 bytes."""
    data = b"".join(packed(7, node) for node in given)
    pointer = acl.util.bytes_to_ptr(data)

    assert len(data) == SIZE * len(given)
    assert acl.prof.get_op_num(pointer, len(data)) == (len(given), 0)
    for index, node in enumerate(given):
        place = pointer, len(data), index
        assert acl.prof.get_model_id(*place) == 7
        assert acl.prof.get_op_start(*place) == node.start_ns
        assert acl.prof.get_op_end(*place) == node.end_ns
        assert acl.prof.get_op_duration(*place) == node.end_ns - node.start_ns
        for text, most, read, length in (
            (node.op_type, 64, acl.prof.get_op_type_v2, acl.prof.get_op_type_len),
            (node.name, 256, acl.prof.get_op_name_v2, acl.prof.get_op_name_len),
        ):
            kept = text.encode()[:most].decode(errors="ignore").split("\0")[0]
            assert read(*place) == (kept, 0)
            assert length(*place) == (len(kept.encode()) + 1, 0)


def test_places_that_are_not_there() -> None:
    """Null, short and unmapped memory, and indices out of range, are codes and never reads beyond."""
    data = packed(1, NodeTime("plus", "Add", 0, 1, 5, 9))
    pointer = acl.util.bytes_to_ptr(data)

    assert acl.prof.get_op_num(0, SIZE) == (0, 100000)
    assert acl.prof.get_op_num(pointer, SIZE - 1) == (0, 100000)
    assert acl.prof.get_op_num(pointer, -SIZE) == (0, 100000)
    for index in (1, -1, 2**63):
        assert acl.prof.get_op_type(pointer, SIZE, index, 65) == ("", 100000)
        assert acl.prof.get_op_name_len(pointer, SIZE, index) == (0, 100000)
        assert acl.prof.get_op_duration(pointer, SIZE, index) == 0
    assert acl.prof.get_op_type(64, SIZE, 0, 65) == ("", 107000)
    assert acl.prof.get_model_id(64, SIZE, 0) == 0


def test_room_for_texts() -> None:
    """Too little room is refused with both sizes; exactly enough is good."""
    data = packed(1, NodeTime("plus", "Add", 0, 1, 5, 9))
    pointer = acl.util.bytes_to_ptr(data)

    assert acl.prof.get_op_name(pointer, SIZE, 0, 3) == ("", 100000)
    assert "4 bytes" in (acl.get_recent_err_msg() or "")
    assert acl.prof.get_op_name(pointer, SIZE, 0, 4) == ("plus", 0)
    assert acl.prof.get_op_type(pointer, SIZE, 0, 3) == ("Add", 0)
