"""Threads that programs start."""

from __future__ import annotations

import threading
import time

import pytest

import acl
from tests.compat._programs import good, ok, untyped


def test_arguments_are_checked_as_in_a_c_extension() -> None:
    """The texts that the vendor's own suite tests."""
    with pytest.raises(TypeError, match=r"function takes exactly 2 arguments \(0 given\)"):
        untyped.util.start_thread()
    with pytest.raises(TypeError, match="parameter must be callable"):
        untyped.util.start_thread("", "")


def test_the_function_gets_the_list_as_its_one_argument() -> None:
    """func([a, b]) is called once, in a thread whose identifier start_thread returns."""
    arguments: list[object] = ["a", 2]
    got: list[object] = []

    def work(given: list[object]) -> None:
        got.extend([given, threading.get_ident()])

    thread = good(acl.util.start_thread(work, arguments))
    ok(acl.util.stop_thread(thread))

    assert got[0] is arguments
    assert got[1] == thread


def test_stop_waits_for_the_end() -> None:
    """C038: stop_thread returns when the function has; unknown and stopped threads are codes."""
    done: list[bool] = []

    def work(_arguments: object) -> None:
        time.sleep(0.05)
        done.append(True)

    thread = good(acl.util.start_thread(work, []))

    assert acl.util.stop_thread(thread) == 0
    assert done == [True]
    assert acl.util.stop_thread(thread) == 100000
    assert acl.util.stop_thread(12345) == 100000


def test_a_thread_cannot_stop_itself() -> None:
    """A thread that waits for its own end gets a code instead of a deadlock."""
    codes: list[int] = []
    thread = good(acl.util.start_thread(lambda _: codes.append(acl.util.stop_thread(threading.get_ident())), []))
    ok(acl.util.stop_thread(thread))

    assert codes == [100000]


def test_a_function_that_raises_ends_its_thread_cleanly(monkeypatch: pytest.MonkeyPatch) -> None:
    """C038: the exception goes where those of threads go, and stop_thread is 0."""
    caught: list[type[BaseException]] = []
    monkeypatch.setattr(threading, "excepthook", lambda args: caught.append(args.exc_type))

    def work(_arguments: object) -> None:
        raise RuntimeError("camera gone")

    assert acl.util.stop_thread(good(acl.util.start_thread(work, []))) == 0
    assert caught == [RuntimeError]


def test_identifiers_are_used_again() -> None:
    """Many threads after one another, which mostly get the same identifier, are all stopped well."""
    for _ in range(50):
        assert acl.util.stop_thread(good(acl.util.start_thread(lambda _: acl.rt.process_report(1), []))) == 0


def test_no_more_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    """A system that gives no thread is code 207005 with a text, and nothing is left behind."""

    def refuse(_thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as patched:
        patched.setattr(threading.Thread, "start", refuse)
        assert acl.util.start_thread(print, []) == (0, 207005)
        assert "can't start new thread" in (acl.get_recent_err_msg() or "")
    ok(acl.util.stop_thread(good(acl.util.start_thread(id, []))))


def test_any_object_is_an_argument() -> None:
    """What is given needs not be a list: the function gets that very object."""
    got: list[object] = []
    for thing in (None, (1, 2), "text", object()):
        ok(acl.util.stop_thread(good(acl.util.start_thread(got.append, thing))))
        assert got.pop() is thing


def test_many_threads_stop_one_another() -> None:
    """Threads that stop other threads, and one that two stop at once, all end, and each is stopped once."""
    release = threading.Event()
    target = good(acl.util.start_thread(lambda _: release.wait(10), []))
    codes: list[int] = []
    stoppers = [good(acl.util.start_thread(lambda _: codes.append(acl.util.stop_thread(target)), [])) for _ in range(4)]
    release.set()
    for stopper in stoppers:
        ok(acl.util.stop_thread(stopper))

    assert set(codes) <= {0, 100000}
    assert 0 in codes
    assert acl.util.stop_thread(target) == 100000
