"""Records that wait for a slow reader."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from acl.prof._backlog import Backlog

UNIT = 4


def _record(number: int) -> bytes:
    return number.to_bytes(UNIT, "big")


@given(
    most=st.integers(1, 8),
    steps=st.lists(
        st.one_of(st.integers(0, 12).map(lambda n: ("add", n)), st.integers(0, 60).map(lambda n: ("send", n)))
    ),
)
def test_what_is_sent_can_be_read(most: int, steps: list[tuple[str, int]]) -> None:
    """However it is cut, whole records arrive in order; what is missing was dropped, and was older than what waits."""
    backlog, sent, added = Backlog(UNIT, most), bytearray(), 0
    for act, number in steps:
        if act == "add":
            backlog.add(b"".join(map(_record, range(added, added + number))))
            added += number
            assert len(backlog) <= max(most, number) + 1
        else:
            head = backlog.head(5)[:number]
            sent += head
            backlog.sent(len(head))
    while backlog:
        head = backlog.head(3)
        sent += head
        backlog.sent(len(head))

    assert len(sent) % UNIT == 0
    arrived = [int.from_bytes(sent[place : place + UNIT], "big") for place in range(0, len(sent), UNIT)]
    assert arrived == sorted(set(arrived))
    assert len(arrived) + backlog.dropped == added


def test_the_oldest_make_room() -> None:
    """Five wait at most: of three and four the two oldest are dropped, and one that was begun is sent to its end."""
    backlog = Backlog(UNIT, 5)
    backlog.add(b"".join(map(_record, range(3))))
    backlog.sent(1)
    backlog.add(b"".join(map(_record, range(3, 7))))

    assert backlog.dropped == 2
    assert backlog.head(9) == _record(0)[1:] + b"".join(map(_record, range(3, 7)))


def test_what_comes_at_once_stays() -> None:
    """More than may wait, at once, is not cut: a quick reader gets all of it."""
    backlog = Backlog(UNIT, 5)
    backlog.add(b"".join(map(_record, range(9))))

    assert (len(backlog), backlog.dropped) == (9, 0)
