"""Devices, contexts, streams and events for the length of a block."""

from __future__ import annotations

import os
import threading
from typing import TYPE_CHECKING, Any, final
from weakref import WeakSet

from aacl.compat_tools._calls import acl_module, check, failure, release
from aacl.compat_tools._held import (
    Held,
    current_context,
    disown,
    is_initialised,
    own_context,
    own_device,
    owner_of_context,
)

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ("acl_context", "acl_device", "acl_event", "acl_stream")

_REPEATED_INIT = 100002


class _Runtime:
    """The initialisation that all device blocks of a process share."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._blocks: WeakSet[object] = WeakSet()  # one that was never left counts no more
        self._made = False

    def enter(self, block: object, config: str) -> None:
        with self._lock:
            if not self._blocks or not is_initialised():  # a body may finalise
                code = _initialise(config)
                if code not in (0, _REPEATED_INIT):
                    raise failure(code, "acl.init")
                self._made = code == 0
            self._blocks.add(block)

    def leave(self, block: object, acl: Any) -> None:
        with self._lock:
            if block not in self._blocks:
                return
            try:
                self._blocks.remove(block)
            finally:  # an interrupt there does not keep the runtime
                if not self._blocks:
                    self._end(acl)

    def _end(self, acl: Any) -> None:
        if self._made:
            release(acl.finalize(), "acl.finalize")
        elif hasattr(acl, "finalize_reference"):  # our init was counted as one more
            release(acl.finalize_reference()[1], "acl.finalize_reference")

    def forget(self) -> None:
        """After a fork: the child is not initialised."""
        self.__init__()  # type: ignore[misc] # as new


def _initialise(config: str) -> int:
    acl, was = acl_module(), is_initialised()
    try:
        code: int = acl.init(config) if config else acl.init()
    except BaseException:
        if not was and is_initialised():  # an interrupt came between the call and its answer
            acl.finalize()
        raise
    return code


_runtime = _Runtime()
os.register_at_fork(after_in_child=_runtime.forget)


@final
class acl_device(Held[int]):  # noqa: N801 # read as a verb in a with statement
    """Use a device in a block: ``with acl_device(0) as device:`` gives its number.

    Initialises the runtime if nobody has, and makes the device's default context current. Leaving the block waits for
    the device's work, ends what other blocks of this module made on it and have not ended, calls ``reset_device``,
    gives the thread the context back that it had, and finalises the runtime with the last such block if the first one
    initialised it.

    Args:
        device: its number.
        config: the path of a configuration file for ``acl.init``; none if empty. It counts where this block is the
            one that initialises.

    Raises:
        AclError: a call failed, on entry or on leaving; everything is released nevertheless. Where the body raises
            too, its exception goes on, with a note of what failed.
    """

    def __init__(self, device: int = 0, config: str = "") -> None:
        super().__init__()
        self._device, self._config = device, config
        self._before: int | None = None
        self._is_set = self._was_asked = False

    def _make(self, acl: Any) -> int:
        self._before = current_context()
        _runtime.enter(self, self._config)
        self._was_asked = True
        check(acl.rt.set_device(self._device), "acl.rt.set_device")
        self._is_set = True
        self._context = current_context()
        own_context(self._context, self)
        own_device(self._device, self)
        return self._device

    def _find_owner(self) -> None:
        return None

    def _steps(self, acl: Any) -> list[Callable[[], object]]:
        if not self._is_set and self._was_asked:  # an interrupt came between the call and its answer
            self._is_set = current_context() != self._before
        reset: list[Callable[[], object]] = [
            lambda: release(acl.rt.synchronize_device(), "acl.rt.synchronize_device"),
            lambda: release(acl.rt.reset_device(self._device), "acl.rt.reset_device"),
            lambda: self._before and acl.rt.set_context(self._before),
        ]
        return [lambda: disown(self), *(reset if self._is_set else ()), lambda: _runtime.leave(self, acl)]


@final
class acl_context(Held[int]):  # noqa: N801
    """Make a context in a block and make it current: ``with acl_context(0) as context:`` gives its handle.

    Leaving the block ends the streams that `acl_stream` made in it, destroys the context and gives the thread the one
    back that it had.

    Args:
        device: the device's number.

    Raises:
        AclError: as `acl_device`.
    """

    def __init__(self, device: int = 0) -> None:
        super().__init__()
        self._device = device
        self._before: int | None = None

    def _make(self, acl: Any) -> int:
        self._before = current_context()
        context: int = check(acl.rt.create_context(self._device), "acl.rt.create_context")
        self._context = context
        own_context(context, self)
        return context

    def _steps(self, acl: Any) -> list[Callable[[], object]]:
        if self._context is None:
            return []
        return [
            lambda: disown(self),
            lambda: release(acl.rt.destroy_context(self._context), "acl.rt.destroy_context"),
            lambda: self._before and acl.rt.set_context(self._before),
        ]


@final
class acl_stream(Held[int]):  # noqa: N801
    """Make a stream in a block: ``with acl_stream() as stream:`` gives its handle.

    Leaving the block waits for the stream's work, of which a failure is raised, and destroys the stream; also in
    another thread, or with another context current. Ctrl-C in this wait drops what has not started.

    Raises:
        AclError: as `acl_device`; also for work that failed and that nobody had synchronised.
    """

    _stream = 0

    def _make(self, acl: Any) -> int:
        self._context = current_context()
        self._stream = check(acl.rt.create_stream(), "acl.rt.create_stream")
        return self._stream

    def _find_owner(self) -> Held[Any] | None:
        return owner_of_context()

    def _steps(self, acl: Any) -> list[Callable[[], object]]:
        if not self._stream:
            return []
        return [
            lambda: self._wait(acl),
            lambda: release(acl.rt.destroy_stream(self._stream), "acl.rt.destroy_stream"),
        ]

    def _wait(self, acl: Any) -> None:
        try:
            release(acl.rt.synchronize_stream(self._stream), "acl.rt.synchronize_stream")
        except KeyboardInterrupt:
            abort: Callable[[int], int] | None = getattr(acl.rt, "stream_abort", None)
            if abort is not None:
                abort(self._stream)
            raise


@final
class acl_event(Held[int]):  # noqa: N801
    """Make an event in a block: ``with acl_event() as event:`` gives its handle; leaving the block destroys it.

    Args:
        flag: for ``acl.rt.create_event_with_flag``; None makes it with ``acl.rt.create_event``.

    Raises:
        AclError: as `acl_device`.
    """

    def __init__(self, flag: int | None = None) -> None:
        super().__init__()
        self._flag, self._event = flag, 0

    def _make(self, acl: Any) -> int:
        self._context = current_context()
        if self._flag is None:
            self._event = check(acl.rt.create_event(), "acl.rt.create_event")
        else:
            self._event = check(acl.rt.create_event_with_flag(self._flag), "acl.rt.create_event_with_flag")
        return self._event

    def _steps(self, acl: Any) -> list[Callable[[], object]]:
        if not self._event:
            return []
        return [lambda: release(acl.rt.destroy_event(self._event), "acl.rt.destroy_event")]
