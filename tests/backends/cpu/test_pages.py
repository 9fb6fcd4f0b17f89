"""The files that physical memory is."""

from __future__ import annotations

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from aacl.backends.cpu._pages import MemoryFile
from aacl.errors import InvalidArgument, NotPermitted

PAGE = 2 << 20
NOBODY = 65534


def test_a_process_that_has_ended_exports_nothing() -> None:
    """Also while its number is not given back, and to users whom the system tells that they must not look."""
    ended = subprocess.Popen([sys.executable, "-c", ""])
    os.waitid(os.P_PID, ended.pid, os.WEXITED | os.WNOWAIT)
    handle = ended.pid << 42 | 3 << 22 | 1
    with pytest.raises(InvalidArgument, match="no process exports"):
        MemoryFile.imported(handle)
    assert _answer_to_nobody(handle) == "InvalidArgument"
    ended.wait()


def test_another_users_process() -> None:
    """Its descriptors are not looked at: it does not permit that."""
    if os.getuid():
        pytest.skip("only root can become another user")

    assert _answer_to_nobody(MemoryFile.of(PAGE).share(anybody=True)) == "NotPermitted"


def _answer_to_nobody(handle: int) -> str:
    """Return what an import raises in a process of a user without rights; root alone can become one."""
    reader, writer = os.pipe()
    child = os.fork()
    if not child:
        try:
            if not os.getuid():
                os.setgid(NOBODY)
                os.setuid(NOBODY)
            MemoryFile.imported(handle)
        except (InvalidArgument, NotPermitted) as error:
            os.write(writer, type(error).__name__.encode())
        finally:
            os._exit(0)
    os.close(writer)
    with open(reader, "rb") as file:
        answer = file.read().decode()
    os.waitpid(child, 0)
    return answer


def test_threads_that_allow_processes(nervous: None) -> None:
    """None is forgotten because another one is named at the same time."""
    pages = MemoryFile.of(PAGE)

    def allow(first: int) -> None:
        for number in range(first, first + 50):
            pages.allow([number])

    with ThreadPoolExecutor(4) as pool:
        assert [*pool.map(allow, (1, 101, 201, 301))] == [None] * 4
    assert sorted(pages._read_head()[3]) == [base + i for base in (1, 101, 201, 301) for i in range(50)]
