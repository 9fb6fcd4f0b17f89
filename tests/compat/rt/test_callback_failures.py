"""Callbacks that raise: who is told, what goes on, and how things end with work pending."""

from __future__ import annotations

import threading

import pytest

import acl
from tests.compat._programs import Reporter, good, ok, run_program


@pytest.mark.parametrize("block", [0, 1])
def test_one_of_ten_callbacks_raises(
    stream: int, reporter: Reporter, capfd: pytest.CaptureFixture[str], block: int
) -> None:
    """C149: the third of ten raises: the wait covers all ten, its error surfaces once, and the others are done."""
    ran: list[int] = []

    def call(number: int) -> None:
        ran.append(number)
        if number == 3:
            raise RuntimeError("the third")

    ok(acl.rt.subscribe_report(reporter.thread, stream))
    for number in range(1, 11):
        ok(acl.rt.launch_callback(call, number, block, stream))
    code = acl.rt.synchronize_stream(stream)
    text = acl.get_recent_err_msg() or ""
    ok(acl.rt.unsubscribe_report(reporter.thread, stream))
    codes = [acl.rt.synchronize_stream(stream), acl.rt.synchronize_device(), acl.rt.destroy_stream(stream)]

    assert sorted(ran) == [*range(1, 11)]
    assert [code, *codes].count(500001) == 1
    assert [code, *codes].count(0) == 3
    if block:
        assert code == 500001
        assert "the third" in text
    assert capfd.readouterr().err.count("RuntimeError: the third") == 1


def test_the_end_with_callbacks_pending(stream: int, reporter: Reporter) -> None:
    """C149: destroying the stream while callbacks wait lets them run, and then ends; nothing is dropped or hangs."""
    ran: list[int] = []
    begun, go = threading.Event(), threading.Event()

    def first(_: object) -> None:
        begun.set()
        assert go.wait(10)

    ok(acl.rt.subscribe_report(reporter.thread, stream))
    ok(acl.rt.launch_callback(first, None, 1, stream))
    for number in range(9):
        ok(acl.rt.launch_callback(ran.append, number, 1, stream))
    assert begun.wait(10)
    threading.Timer(0.05, go.set).start()

    ok(acl.rt.destroy_stream(stream))

    assert ran == [*range(9)]
    assert acl.rt.synchronize_stream(stream) == 107017


def test_a_program_that_forgets_to_close() -> None:
    """C149: a script that ends with callbacks pending and nothing closed ends at once, with its own status."""
    out = run_program(
        """
        import acl, sys, threading
        acl.init(); acl.rt.set_device(0)
        stream, _ = acl.rt.create_stream()
        acl.rt.subscribe_report(threading.get_ident(), stream)
        for number in range(10):
            assert acl.rt.launch_callback(print, number, 1, stream) == 0
        print("end", flush=True)
        sys.exit(7)
        """,
        status=7,
    )

    assert out == "end\n"


def test_streams_in_processes_that_are_started_meanwhile(stream: int) -> None:
    """C160: programs are started fifty times while copies run on a stream; the data is right all the same."""
    import subprocess
    import sys

    import numpy as np

    size = 1 << 20
    given, taken = good(acl.rt.malloc_host(size)), good(acl.rt.malloc_host(size))
    middle = good(acl.rt.malloc(size, 0))
    there, back = (acl.util.ptr_to_numpy(pointer, (size,), 2) for pointer in (given, taken))
    for turn in range(50):
        there[:] = np.arange(size, dtype=np.uint32).astype(np.uint8) + turn
        ok(acl.rt.memcpy_async(middle, size, given, size, 1, stream))
        ok(acl.rt.memcpy_async(taken, size, middle, size, 2, stream))
        assert subprocess.run(["/bin/true"] if turn else [sys.executable, "-c", ""], check=False).returncode == 0
        ok(acl.rt.synchronize_stream(stream))
        assert np.array_equal(back, there)
