"""Cases run by child processes that are watched."""

from __future__ import annotations

import queue
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import IO

import attrs

__all__ = ("Finding", "fuzz", "fuzz_calls")

_CHILD = "tests.helpers.fuzz._child"
_START_SECONDS = 60.0
_CASE_SECONDS = 20.0
_CALLS_CHILD = "tests.helpers.fuzz._calls_child"
_CALLS_SECONDS = 180.0  # for a thousand calls; the process looks itself at how long each of them lasts


@attrs.frozen
class Finding:
    """A case that did not end as it should.

    Attributes:
        kind: of the file.
        number: of the case.
        fault: what is wrong.
    """

    kind: str
    number: int
    fault: str


def fuzz(
    kind: str, count: int, seed: str, *, first: int = 0, child: str = _CHILD, seconds: float = _CASE_SECONDS
) -> list[Finding]:
    """Run cases, in a new process after each one that ends or stops its process.

    Args:
        kind: of the files, one of `KINDS`.
        count: how many cases.
        seed: what they are made of.
        first: the number of the first one.
        child: the module that runs them.
        seconds: for which a case may last.

    Raises:
        AssertionError: the process ends before the first case, or leaves one out.
    """
    findings, number, end = [], first, first + count
    while number < end:
        done, finding = _run((child, kind, seed, str(number), str(end - number)), kind, seconds)
        findings += [finding] if finding else []
        findings += [each for each in done if each.fault]
        number = finding.number + 1 if finding else number + len(done)
        assert done or finding, f"no case of {kind} ran"
    return findings


def fuzz_calls(thousands: int, seed: str, *, first: int = 0) -> list[Finding]:
    """Make calls of the drop-in with any arguments; a case is a thousand of them. Arguments as for `fuzz`."""
    return fuzz("calls", thousands, seed, first=first, child=_CALLS_CHILD, seconds=_CALLS_SECONDS)


def _run(arguments: tuple[str, ...], kind: str, seconds: float) -> tuple[list[Finding], Finding | None]:
    """Return what became of cases, and the one in which the process ended early, if any."""
    with tempfile.TemporaryDirectory() as folder, (Path(folder) / "errors").open("w+") as errors:
        command = [sys.executable, "-m", *arguments, folder]
        root = Path(__file__).parents[3]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, text=True, cwd=root) as child:
            assert child.stdout is not None
            done, noise, current = [], list[str](), None
            try:
                for line in _lines(child.stdout, seconds):
                    number, tab, fault = line.rstrip("\n").partition("\t")
                    if not number.isdecimal():
                        noise.append(line.strip())
                        continue
                    current = int(number)
                    if tab:
                        done.append(Finding(kind, current, fault or _printed(noise)))
                        noise.clear()
                status = child.wait(_START_SECONDS)
            except TimeoutError:
                child.kill()
                assert current is not None, f"the process for {kind} did not begin"
                return done, Finding(kind, current, f"it was not over after {seconds:g} s")
        if status == 0:
            return done, None
        errors.seek(0)
        text = errors.read()[-6000:]
        assert current is not None, text
        return done, Finding(kind, current, f"the process ended with status {status}: {text}")


def _printed(noise: list[str]) -> str:
    return f"this was printed: {' '.join(noise)}" if noise else ""


def _lines(stream: IO[str], seconds: float) -> Iterator[str]:
    """Yield lines as they come.

    Raises:
        TimeoutError: none came for too long.
    """
    lines: queue.SimpleQueue[str] = queue.SimpleQueue()
    thread = threading.Thread(target=_feed, args=(stream, lines), daemon=True)
    thread.start()
    patience = _START_SECONDS
    while True:
        try:
            line = lines.get(timeout=patience)
        except queue.Empty:
            raise TimeoutError from None
        if not line:
            return
        yield line
        patience = seconds


def _feed(stream: IO[str], lines: queue.SimpleQueue[str]) -> None:
    with suppress(ValueError):  # the stream was closed under it: nobody waits any more
        for line in stream:
            lines.put(line)
    lines.put("")
