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
from typing import TYPE_CHECKING

from acl._log import logger
from acl._state import at_finalize, state
from acl._status import PROF_ALREADY_RUN, PROF_API_CONFLICT, PROF_NOT_RUN, PROFILING_FAILURE, Refused
from acl.mdl._models import models
from acl.mdl._watchers import watchers
from acl.prof._session import Masks, Session, Wanted

if TYPE_CHECKING:
    from acl.mdl._models import Loaded

__all__ = ("Control", "control")


class Control:
    """The profiles of this process.

    Attributes:
        sessions: what `start` began, by the configuration's handle; 0 is the one of ``acl.init``.
        subscribed: whether there are subscriptions.
    """

    def __init__(self) -> None:
        self.sessions: dict[int, Session] = {}
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
        try:
            session.finish()
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
        with self.lock:  # what another thread begins now has begun before, and ends here, or does not begin
            self._folder = None
            keys = [*self.sessions]
        for key in keys:
            try:
                self.end(key)
            except Refused as error:  # nobody is left who could be told by a code
                if error.code != PROF_NOT_RUN:  # another thread stopped it
                    logger().error("%s", error)

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

    def stamping(self) -> list[Session]:
        """Return where a program's own notes go now."""
        return [each for each in [*self.sessions.values()] if each.wanted.data & Masks.STAMPS]

    def _check_other_ways(self) -> None:
        if 0 in self.sessions or self.subscribed:
            way = "the configuration of acl.init" if 0 in self.sessions else "acl.prof.model_subscribe"
            raise Refused(PROF_API_CONFLICT, f"models are profiled by {way}; one way is taken at a time")

    def _begin(self, key: int, wanted: Wanted, folder: Path) -> None:
        name = f"PROF_{next(self._numbers):06}_{time.strftime('%Y%m%d%H%M%S')}_{os.getpid()}"
        session = Session(wanted, folder / name)
        try:
            for model_id, loaded in [*models.objects.items()]:
                session.look_at(model_id, loaded)
            session.begin()
        except BaseException:
            session.stop()
            raise
        self.sessions[key] = session


control = Control()
watchers.append(control)
at_finalize(control.finish)
