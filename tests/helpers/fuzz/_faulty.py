"""A child process that does what the harness must notice: kinds say what, and case 2 does it."""

from __future__ import annotations

import os
import signal
import sys
import threading

__all__ = ("main",)


def main(arguments: list[str]) -> int:
    """Pretend to run cases."""
    kind, first, count = arguments[0], int(arguments[2]), int(arguments[3])
    for number in range(first, first + count):
        print(number, flush=True)
        if number == 2 and kind == "crash":
            os.kill(os.getpid(), signal.SIGSEGV)
        if number == 2 and kind == "hang":
            threading.Event().wait()
        if number == 2 and kind == "noise":
            print("something is printed", flush=True)
        print(f"{number}\t{'wrong' if number == 2 and kind == 'fault' else ''}", flush=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
