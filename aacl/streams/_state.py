"""The life of a command, as one table.

::

    QUEUED ──▶ RUNNING ──▶ DONE
      │           └──────▶ FAILED
      └─(dropped)────────▶ FAILED

A short command on an idle stream is made DONE, or DUE, at once. DUE is DONE
that owes the event loop a turn: the first await gives it and makes it DONE.
The order of the numbers is part of the design: everything from `DONE` on is
over. States are read without a lock; each is written by the one thread that
holds the stream's claim, or that took the command out of the queue.
"""

from __future__ import annotations

__all__ = ("DONE", "DUE", "FAILED", "NAMES", "QUEUED", "RUNNING")

QUEUED = 0
RUNNING = 1
DONE = 2
DUE = 3
FAILED = 4

NAMES = ("queued", "running", "done", "done", "failed")
