"""What is being profiled, and by which of the three ways, of which one is taken at a time.

The configuration given to ``acl.init``, `start`, and subscriptions: while one
is in use the others are refused.
"""

from __future__ import annotations

import os
import threading
import time
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import aacl
from acl._state import at_finalize, state
from acl._status import PROF_ALREADY_RUN, PROF_API_CONFLICT, PROF_NOT_RUN, PROFILING_FAILURE, Refused
from acl.mdl._models import models
from acl.mdl._watchers import watchers
from acl.prof._report import ModelTimes, Stamp, StepTime, write_marks, write_times

if TYPE_CHECKING:
    from acl.mdl._models import Loaded

__all__ = ("Control", "Masks", "Wanted", "control")


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


class _Session:
    """What goes on between `start` and `stop`.

    Attributes:
        wanted: what is profiled.
        stamps: what the program noted down.
        steps: its steps.
    """

    def __init__(self, wanted: Wanted, folder: Path) -> None:
        self.wanted, self._folder = wanted, folder
        self.stamps: list[Stamp] = []
        self.steps: list[StepTime] = []
        self._entries: list[_Entry] = []

    def look_at(self, model_id: int, loaded: Loaded) -> None:
        """Profile a model, if its device is one of those."""
        device = loaded.context.device.index
        if self.wanted.has_times and self.wanted.has_device(device):
            profile = aacl.models.Profile(loaded.model).start()
            self._entries.append(_Entry(model_id, loaded.model.name, device, profile))

    def leave(self, model_id: int) -> None:
        """Take what was recorded of a model that is unloaded."""
        for entry in self._entries:
            if entry.model_id == model_id:
                entry.profile.stop()

    def stop(self) -> None:
        """Record nothing more."""
        for entry in self._entries:
            entry.profile.stop()

    def write(self) -> None:
        """Write the files; raises OSError."""
        by_device: dict[int, list[ModelTimes]] = {number: [] for number in sorted(self.wanted.devices or ())}
        for entry in self._entries:
            times = ModelTimes(entry.model_id, entry.name, entry.profile.nodes)
            by_device.setdefault(entry.device, []).append(times)
        for device, times_of in by_device.items():
            write_times(self._folder / f"device_{device}", times_of)
        write_marks(self._folder / "host", self.stamps, self.steps)


class Control:
    """The profiles of this process.

    Attributes:
        sessions: what `start` began, by the configuration's handle; 0 is the one of ``acl.init``.
        subscribed: whether there are subscriptions.
    """

    def __init__(self) -> None:
        self.sessions: dict[int, _Session] = {}
        self.subscribed = False
        self._folder: Path | None = None
        self._numbers = count(1)
        self.lock = threading.RLock()

    def open(self, path: str) -> None:
        """Take a folder for the files of `start`.

        Raises:
            Refused: there is one (100042), it cannot be made (500005), or another way is in use (148047).
        """
        with self.lock:
            self._check_other_ways()
            if self._folder is not None:
                raise Refused(PROF_ALREADY_RUN, "acl.prof.init was called before; call acl.prof.finalize first")
            folder = Path(path).absolute()
            try:
                folder.mkdir(parents=True, exist_ok=True)
            except (OSError, ValueError) as error:
                raise Refused(PROFILING_FAILURE, f"cannot make the folder {path!r} for profiles: {error}") from None
            if not os.access(folder, os.W_OK | os.X_OK):
                raise Refused(PROFILING_FAILURE, f"the folder {path!r} for profiles cannot be written")
            self._folder = folder

    def begin(self, key: int, wanted: Wanted) -> None:
        """Profile devices; raises `Refused` without a folder (100043), or if one of them is profiled (100042)."""
        with self.lock:
            self._check_other_ways()
            if self._folder is None:
                raise Refused(PROF_NOT_RUN, "there is no folder for profiles; call acl.prof.init first")
            taken = {number for session in self.sessions.values() for number in session.wanted.devices or ()}
            if key in self.sessions or not taken.isdisjoint(wanted.devices or ()):
                raise Refused(PROF_ALREADY_RUN, "one of the devices is profiled already; call acl.prof.stop first")
            self._begin(key, wanted, self._folder)

    def begin_from_start(self) -> None:
        """Profile everything into the folder that the configuration of ``acl.init`` names."""
        folder = state.config.profiles
        assert folder is not None, "asked for by the configuration"
        with self.lock:
            self._begin(0, Wanted(None, Masks.TASK_TIME | Masks.STAMPS), folder)

    def end(self, key: int) -> None:
        """Stop profiling and write the files.

        Raises:
            Refused: that was not begun (100043), or the files cannot be written (500005).
        """
        with self.lock:
            session = self.sessions.pop(key, None)
        if session is None:
            raise Refused(PROF_NOT_RUN, "this was not started, or stopped before; call acl.prof.start first")
        session.stop()
        try:
            session.write()
        except OSError as error:
            raise Refused(PROFILING_FAILURE, f"cannot write the profile: {error}") from None

    def close(self) -> None:
        """Stop everything that `start` began, and give the folder back; raises as `end` does, or if there is none."""
        with self.lock:
            if self._folder is None:
                raise Refused(PROF_NOT_RUN, "acl.prof.init was not called, or acl.prof.finalize was before")
            self._folder = None
            keys = [key for key in self.sessions if key]
        failures = []
        for key in keys:
            try:
                self.end(key)
            except Refused as error:
                failures.append(error)
        if failures:
            raise failures[0]

    def finish(self) -> None:
        """Stop everything, as the runtime ends."""
        self._folder = None
        for key in [*self.sessions]:
            try:
                self.end(key)
            except Refused as error:  # nobody is left who could be told by a code
                import logging

                logging.getLogger("acl").error("%s", error)

    def check_free(self) -> None:
        """Raise `Refused` (148047) if models are profiled into files."""
        if self._folder is not None or self.sessions:
            raise Refused(
                PROF_API_CONFLICT,
                "models cannot be subscribed to while acl.prof.init, or the configuration of acl.init, profiles them",
            )

    def loaded(self, model_id: int, loaded: Loaded) -> None:
        """Profile a model that is loaded meanwhile."""
        with self.lock:
            for session in self.sessions.values():
                session.look_at(model_id, loaded)

    def unloading(self, model_id: int) -> None:
        """Take what was recorded of a model that ends."""
        with self.lock:
            for session in self.sessions.values():
                session.leave(model_id)

    def stamping(self) -> list[_Session]:
        """Return where a program's own notes go now."""
        return [each for each in [*self.sessions.values()] if each.wanted.data & Masks.STAMPS]

    def _check_other_ways(self) -> None:
        if 0 in self.sessions or self.subscribed:
            way = "the configuration of acl.init" if 0 in self.sessions else "acl.prof.model_subscribe"
            raise Refused(PROF_API_CONFLICT, f"models are profiled by {way}; one way is taken at a time")

    def _begin(self, key: int, wanted: Wanted, folder: Path) -> None:
        name = f"PROF_{next(self._numbers):06}_{time.strftime('%Y%m%d%H%M%S')}_{os.getpid()}"
        session = _Session(wanted, folder / name)
        try:
            for model_id, loaded in [*models.objects.items()]:
                session.look_at(model_id, loaded)
        except BaseException:
            session.stop()
            raise
        self.sessions[key] = session


control = Control()
watchers.append(control)
at_finalize(control.finish)
