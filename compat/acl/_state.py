"""Whether the runtime is initialised, with what configuration, and what ends with it."""

from __future__ import annotations

import os
import threading
from typing import TYPE_CHECKING, Any

from aacl.errors import AclError, AlreadyInitialized, InvalidArgument, NotInitialized, NotSupported
from acl._config import Config, read_config
from acl._handles import clear_handles
from acl._status import REPEAT_FINALIZE, STREAM_NOT_COMPLETE, Refused, refuse_calls, share_texts
from acl._threads import here

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = ("State", "at_finalize", "before_finalize", "require_init", "state")


_FORKED = (
    "this process was forked from one in which acl was initialised, and has none of its threads; start processes with "
    "the method 'spawn', or initialise acl in the children alone"
)


def _refuse(*_arguments: object) -> None:
    raise NotSupported(_FORKED)


class State:
    """The runtime of this process.

    Attributes:
        references: how often it was initialised since it last was not.
        config: what the configuration file of the first of these said.
    """

    def __init__(self) -> None:
        self.references = 0
        self.config = Config()
        self._lock = threading.Lock()
        self._first: Mapping[str, Any] | None = None  # the first configuration given in this process

    def initialize(self, path: str) -> None:
        """Begin, or count one more user.

        Raises:
            AlreadyInitialized: it was initialised before; the reference is counted, and all goes on.
            InvalidFile: the file cannot be used; nothing has begun.
            InvalidArgument: the configuration is another one than that of an earlier initialisation.
        """
        with self._lock:
            if self.references:
                self.references += 1
                raise AlreadyInitialized(f"acl was initialised before; {self.references} references are counted now")
            config = read_config(path)
            self._remember(config, path)
            self.config, self.references = config, 1
        share_texts(config.shares_texts)

    def _remember(self, config: Config, path: str) -> None:
        if not path:
            return
        if self._first is None:
            self._first = config.document
        elif self._first != config.document:
            raise InvalidArgument(
                f"{path!r} differs from the configuration that this process was initialised with first; "
                "give the same again, or none"
            )

    def finalize(self, references: int | None = None) -> int:
        """Give references back, by default all, and end with the last one; return how many are left.

        Raises:
            Refused: it is not initialised; or a callback asks, and would wait for itself. Nothing has ended then.
            StreamError: queued work failed and nobody had asked; all is released nevertheless.
        """
        with self._lock:
            left = self._left(references)
        if not left:
            for wait in _before_finalize:  # an interrupt leaves from here, and all is as it was
                wait()
        with self._lock:
            self.references = self._left(references)
            if self.references:
                return self.references
        errors = [error for release in _at_finalize if (error := _failure_of(release)) is not None]
        clear_handles()
        share_texts(False)
        if errors:
            raise errors[0]
        return 0

    def _left(self, references: int | None) -> int:
        """Return how many references are left without some, or without all; raises as `finalize` does."""
        if not self.references:
            raise Refused(REPEAT_FINALIZE, "acl is not initialised, or was finalised before")
        left = 0 if references is None else self.references - references
        if not left and here.callbacks:
            raise Refused(
                STREAM_NOT_COMPLETE, "a callback cannot finalise acl: it would wait for itself; use another thread"
            )
        return left

    def limit_operators(self, number: int) -> None:
        """Bound how many prepared operators are kept."""
        self.config = self.config._replace(operator_models=number)

    def require(self) -> None:
        """Raise `NotInitialized` before the first initialisation and after the end."""
        if not self.references:
            raise NotInitialized("acl is not initialised; call acl.init() first")

    def after_fork(self) -> None:
        """Forget everything: threads and locks of the parent do not exist here; what it had begun cannot go on."""
        self._lock = threading.Lock()
        if self.references:
            self.references = 0
            refuse_calls(_refuse)
        clear_handles()


def _failure_of(release: Callable[[], object]) -> AclError | None:
    """Release something; return what went wrong."""
    try:
        release()
    except AclError as error:
        return error
    return None


_at_finalize: list[Callable[[], object]] = []
_before_finalize: list[Callable[[], object]] = []


def before_finalize(wait: Callable[[], object]) -> None:
    """Call ``wait()`` before the runtime begins to end, for what may take long."""
    _before_finalize.append(wait)


def at_finalize(release: Callable[[], object]) -> None:
    """Call ``release()`` when the runtime ends; the first registered first."""
    _at_finalize.append(release)


state = State()
require_init = state.require
os.register_at_fork(after_in_child=state.after_fork)
