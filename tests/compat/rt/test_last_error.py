"""The last error of a thread, as a code."""

from __future__ import annotations

import acl
from tests.compat._programs import in_thread, ok


def test_peeking_keeps_and_getting_clears(device: int) -> None:
    """set_device(-1) fails; the code stays for a second look, and is gone after get_last_error."""
    assert acl.rt.peek_at_last_error(0) == 0
    assert acl.rt.set_device(-1) == 107001

    assert (acl.rt.peek_at_last_error(0), acl.rt.peek_at_last_error(0)) == (107001, 107001)
    ok(acl.rt.set_device(0))  # success does not clear it
    assert acl.rt.get_last_error(0) == 107001
    assert (acl.rt.get_last_error(0), acl.rt.peek_at_last_error(0)) == (0, 0)


def test_each_thread_has_its_own(device: int) -> None:
    """C044: what fails in one thread is not another thread's last error."""
    assert in_thread(lambda: (acl.rt.set_device(-1), acl.rt.peek_at_last_error(0))) == (107001, 107001)
    assert acl.rt.peek_at_last_error(0) == 0


def test_other_levels_are_unknown() -> None:
    """The thread's level is the only one; asking another is an error itself."""
    assert acl.rt.peek_at_last_error(1) == 100000
    assert acl.rt.get_last_error(0) == 100000


def test_calls_that_give_plain_values_leave_an_error_too() -> None:
    """A call that returns no code, such as create_tensor_desc, leaves one for the thread."""
    assert acl.create_tensor_desc(99, [1], 2) == 0
    assert acl.rt.get_last_error(0) == 100026
    assert "data type 99" in (acl.get_recent_err_msg() or "")
