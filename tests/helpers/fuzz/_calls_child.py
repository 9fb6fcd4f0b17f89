"""One process that makes calls of the drop-in, and says after each thousand what was wrong with them.

Usage: python -m tests.helpers.fuzz._calls_child KIND SEED FIRST COUNT FOLDER

A case is a thousand calls, in series of which each has a world of its own. Lines go to the standard output as those of
the process for damaged files do; the calls themselves are told to the standard error before they are made,
so that the last one there is the one that ended, or stopped, the process.
"""

from __future__ import annotations

import faulthandler
import os
import sys
import threading
import traceback
import warnings
from pathlib import Path
from time import monotonic
from typing import IO

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from tests.helpers.fuzz._call_values import SOURCES
from tests.helpers.fuzz._call_world import World, make_files, start_reporter
from tests.helpers.fuzz._calls import Call, Verdicts

__all__ = ("CALLS", "main")

CALLS = 1000
"""Calls of a case."""
_SERIES = 40  # calls in one world
_SECONDS = 5.0


def main(arguments: list[str]) -> int:
    """Run cases."""
    key, first, count, folder = arguments[1], int(arguments[2]), int(arguments[3]), Path(arguments[4], "calls")
    os.environ |= {"AACL_DEVICE_MEMORY": "64M", "AACL_DEVICES": "2"}
    warnings.simplefilter("ignore")
    folder.mkdir()
    os.chdir(folder)
    make_files(folder)
    faulthandler.enable()
    threading.excepthook = lambda _: None
    # Calls may write to the standard output, and to numbers that they take for files.
    out = os.fdopen(os.dup(1), "w")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    watchdog = _Watchdog()
    world = World(folder, start_reporter())
    verdicts = Verdicts(world, watchdog.begin)
    for number in range(first, first + count):
        print(number, file=out, flush=True)
        faults = _case(verdicts, watchdog, f"{key}:{number}")
        watchdog.rest()
        print(f"{number}\t{'; '.join(dict.fromkeys(faults))}".replace("\n", " "), file=out, flush=True)
    return _leave(out)


def _leave(out: IO[str]) -> int:
    """End without waiting for the reporting thread."""
    out.flush()
    os._exit(0)


class _Watchdog:
    """Ends the process when a call lasts too long, with what every thread does then."""

    def __init__(self) -> None:
        self._began: float | None = None
        self.call = ""
        threading.Thread(target=self._watch, daemon=True).start()

    def begin(self, call: str) -> None:
        """Note that a call begins."""
        os.write(2, call.encode() + b"\n")
        self.call, self._began = call, monotonic()

    def rest(self) -> None:
        """Note that no call is being made."""
        self._began = None

    def _watch(self) -> None:
        while True:
            threading.Event().wait(0.25)
            began = self._began
            if began is not None and monotonic() - began > _SECONDS:
                faulthandler.dump_traceback()
                os.write(2, f"{self.call} was not over after {_SECONDS:g} s\n".encode())
                os._exit(70)


def _with(good: list[tuple[str, int]], others: list[tuple[int, str, int]]) -> list[tuple[str, int]]:
    """Return the recipes of arguments that are good, but for some."""
    recipes = [*good]
    for place, source, number in others:
        recipes[place] = source, number
    return recipes


def _case(verdicts: Verdicts, watchdog: _Watchdog, key: str) -> list[str]:
    """Make a thousand calls; return the faults."""
    faults: list[str] = []
    number = st.integers(0, 999)

    def calls_of(name: str) -> st.SearchStrategy[Call]:
        count = verdicts.arity(name)
        good = st.lists(st.tuples(st.just("good"), number), min_size=count, max_size=count)
        any_ = st.tuples(st.integers(0, max(0, count - 1)), st.sampled_from(SOURCES), number)
        recipes = st.builds(_with, good, st.lists(any_, min_size=0, max_size=min(count, 3)))
        return st.tuples(st.just(name), st.sampled_from((0,) * 30 + (-1, 1)), recipes)

    @seed(key)
    @settings(
        max_examples=CALLS // _SERIES,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=[*HealthCheck],
    )
    @given(st.lists(st.sampled_from(verdicts.names).flatmap(calls_of), min_size=_SERIES, max_size=_SERIES))
    def run(calls: list[Call]) -> None:
        try:
            faults.extend(verdicts.run(calls))
        except Exception:  # the series cannot go on: what was done to it shows in the last call
            faults.append(f"after {watchdog.call}: {traceback.format_exc()[-1500:]}")

    run()
    return faults


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
