"""What goes on between the beginning and the end of a profile in files.

What is recorded is written every few seconds, so that a program may be profiled as long as it lives: memory holds
what came since, and the disk the rest.
"""

from __future__ import annotations

import threading
from collections import deque
from contextlib import suppress
from time import monotonic
from typing import TYPE_CHECKING, NamedTuple, TypeVar

import aacl
from acl.prof._report import MarksFiles, ModelTimes, Stamp, StepTime, TimesFiles

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from acl.mdl._models import Loaded

__all__ = ("Masks", "Session", "Wanted")

T = TypeVar("T")

_PAUSE = 5.0  # seconds between two times of writing
_SHARE = 20  # writing costs the next run a new session of the device: at most a twentieth of the time goes there


class Masks:
    """Bits of ``data_type_config`` that make a difference here."""

    TASK_TIME = 0x2
    STAMPS = 0x80
    TASK_TIME_L0 = 0x800
    KNOWN = 0x59FF


class Wanted(NamedTuple):
    """What `start` is to profile.

    Attributes:
        devices: their numbers; None for all.
        data: bits of `Masks`.
    """

    devices: frozenset[int] | None
    data: int

    @property
    def has_times(self) -> bool:
        """Whether operators are recorded."""
        return bool(self.data & (Masks.TASK_TIME | Masks.TASK_TIME_L0))

    def has_device(self, number: int) -> bool:
        """Whether a device's models are."""
        return self.devices is None or number in self.devices


class _Entry(NamedTuple):
    """A model that is profiled."""

    model_id: int
    name: str
    device: int
    profile: aacl.models.Profile


class Session:
    """One profile.

    Attributes:
        wanted: what is profiled.
        stamps: what the program noted down, and was not written yet.
        steps: its steps, likewise.
    """

    def __init__(self, wanted: Wanted, folder: Path) -> None:
        self.wanted, self._folder = wanted, folder
        self.stamps: deque[Stamp] = deque()
        self.steps: deque[StepTime] = deque()
        self._entries: dict[int, _Entry] = {}
        self._left: set[int] = set()  # the models of these that were unloaded
        self._files: dict[int, TimesFiles] = {}
        self._marks = MarksFiles(folder / "host")
        self._pause = _PAUSE
        self._failure: OSError | None = None
        self._lock = threading.Lock()  # held while something is written, or models come and go
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._work, name="acl-prof-files", daemon=True)

    def begin(self) -> None:
        """Write what is recorded from time to time."""
        self._thread.start()

    def look_at(self, model_id: int, loaded: Loaded) -> None:
        """Profile a model, if its device is one of those."""
        device = loaded.context.device.index
        if self.wanted.has_times and self.wanted.has_device(device):
            began = monotonic()
            profile = aacl.models.Profile(loaded.model).start()
            with self._lock:
                self._entries[model_id] = _Entry(model_id, loaded.model.name, device, profile)
                self._files_of(device)
                self._pause = max(self._pause, _SHARE * (monotonic() - began))

    def leave(self, model_id: int) -> None:
        """Take what was recorded of a model that is unloaded; it is written with the others, and forgotten then."""
        with self._lock:
            entry = self._entries.get(model_id)
            if entry is not None:
                entry.profile.stop()
                self._left.add(model_id)

    def stop(self) -> None:
        """Record nothing more."""
        for entry in [*self._entries.values()]:
            entry.profile.stop()

    def finish(self) -> None:
        """Record nothing more, and write what is left; raises OSError if something could not be written."""
        self.stop()
        self._over.set()
        self._thread.join()
        with self._lock:
            for device in sorted(self.wanted.devices or ()):
                self._files_of(device)
            self._write()
            self._try(self._marks.finish)
            for files in self._files.values():
                self._try(files.finish)
        if self._failure is not None:
            raise self._failure

    def _work(self) -> None:
        while not self._over.wait(self._pause):
            with self._lock:
                self._write()

    def _write(self) -> None:
        for entry in self._entries.values():
            self._write_times(entry)
        while self._left:
            del self._entries[self._left.pop()]
        stamps, steps = _taken(self.stamps), _taken(self.steps)
        self._try(lambda: self._marks.add(stamps, steps))

    def _write_times(self, entry: _Entry) -> None:
        nodes = entry.profile.take()
        if nodes:
            times = ModelTimes(entry.model_id, entry.name, nodes)
            self._try(lambda: self._files_of(entry.device).add(times))

    def _files_of(self, device: int) -> TimesFiles:
        return self._files.setdefault(device, TimesFiles(self._folder / f"device_{device}"))

    def _try(self, write: Callable[[], None]) -> None:
        """Write; after a failure, which the end tells, nothing more: a table with a gap would not show it."""
        if self._failure is None:
            try:
                write()
            except OSError as error:
                self._failure = error


def _taken(notes: deque[T]) -> list[T]:
    """Return the notes, and forget them; other threads add some meanwhile."""
    taken = []
    with suppress(IndexError):
        while True:
            taken.append(notes.popleft())
    return taken
