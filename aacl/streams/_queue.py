"""The engine of a stream: a FIFO of commands with one claim.

Rules, each with the race that it closes:

- Append a command, then try the claim; release the claim, then look at the
  queue again. So a command is never left behind by a holder that just stopped.
- The claim changes hands with the token alone. "Parked" (the stream waits for
  an event or a host call), "halted" (it stopped at a failure) and "closed" are
  the token being kept.
- Whoever takes a command out of the queue ends it: the holder of the claim, or
  `drop`. `deque.popleft` decides between them.
- A command that is not device work is called with the token. If it cannot end
  at once it keeps the token, returns `PARKED`, and calls `resume` when it is
  over. A stream goes on in a worker, never by a call nested in who resumed it.
- An interrupt may lose the token between two steps of its holder; whoever
  waits, or finds the claim taken, looks for a lost one.
"""

from __future__ import annotations

import threading
from collections import deque
from contextlib import suppress
from sys import getrefcount
from typing import TYPE_CHECKING, Any, Protocol

from aacl._note import text_of
from aacl.errors import Aborted, ClosedResource
from aacl.streams._claim import LOST_BY_ATTRIBUTE, LOST_BY_VARIABLE, Token
from aacl.streams._drain import Drain
from aacl.streams._state import RUNNING

if TYPE_CHECKING:
    from collections.abc import Callable

    from aacl.abc import DeviceBackend
    from aacl.streams._claim import Box, Claim
    from aacl.streams._completion import Completion
    from aacl.streams._engine import StreamEngine

__all__ = ("BARRIER", "DETACHED", "PARKED", "CommandQueue", "named")

PARKED: Any = object()
"""What a command's run returns when it goes on elsewhere and kept the token."""

DETACHED: Any = object()
"""What a command's run returns when it goes on elsewhere while the stream goes on too."""


class Parked(Protocol):
    """Something that a stream waits for in its place in the queue."""

    def abandon(self, cause: str) -> bool:
        """Stop waiting and let the stream go on; False when it is over already."""


_FEW_FAILURES = 16


class CommandQueue:
    """Commands of one stream and the right to run them.

    Attributes:
        commands: what is queued; its length is the stream's load.
        claim: where the token lies while nobody runs commands.
        cores: how many the device has.
        detached: host calls under way that the stream does not wait for.
        failures: commands that failed, and whose errors were not received when `fail` looked last.
        executed: device work that workers have run.
        halted: the failure after which the stream takes no more, if it stops at failures.
        sealed: whether the claim is kept for ever.
        most_failures: how many there may be before those that were received go.
        parked: what the stream waits for and may stop waiting for.
        on_room: called when a command left the queue.
        parallel: `DeviceBackend.parallel`.
        stream: whose commands they are.
    """

    __slots__ = ("_kept", "_lock", "_start", "_token", "claim", "commands", "cores", "detached", "executed",
                 "failures", "halted", "most_failures", "on_room", "parallel", "parked", "sealed", "stops_at_failure", "stream")  # fmt: skip

    _start: Callable[[Callable[[], None]], None]
    parallel: Callable[[Callable[[int], object], int], None]
    cores: int

    def __init__(self, stream: StreamEngine, *, stops_at_failure: bool = False) -> None:
        self.stream = stream
        self.commands: deque[Completion[Any]] = deque()
        self.detached: set[Completion[Any]] = set()
        self.claim: Claim = deque()  # nobody can take it until `begin`
        self._token: Token | None = None
        self._lock = threading.Lock()
        self._kept: Claim = deque()  # the token's place while halted
        self.failures: deque[Completion[Any]] = deque()
        self.most_failures = _FEW_FAILURES
        self.executed = 0
        self.sealed = False
        self.stops_at_failure = stops_at_failure
        self.halted: BaseException | None = None
        self.parked: Parked | None = None
        self.on_room: Callable[[], None] | None = None

    def begin(self, backend: DeviceBackend) -> None:
        """Take commands from now on, for workers of a device."""
        self._start, self.parallel = backend.start, backend.parallel
        self.cores = backend.properties.cores
        self._token = Token()
        self.claim.append(self._token)
        if self.commands:  # its context was closed while it opened: a seal waits
            self.kick()

    @property
    def is_idle(self) -> bool:
        """Whether nothing is queued and nobody holds the claim."""
        return bool(self.claim) and not self.commands

    def put(self, command: Completion[Any]) -> None:
        """Queue a command and see that somebody runs it."""
        self.commands.append(command)
        self.kick()

    def kick(self) -> None:
        """See that somebody is at work if there is any."""
        if not self.claim and getrefcount(self._token) <= LOST_BY_ATTRIBUTE:
            self._find_token()
        if self.sealed:
            self.refuse_late()
        elif self._kept:
            self._go_on()  # behind the barriers, where it halts again unless it recovers
        if not self.commands or not self.claim:
            return  # whoever holds the claim looks at the queue after letting go
        try:
            box = [self.claim.pop()]
        except IndexError:
            return
        self.start_worker(box)

    def resume(self, token: Token) -> None:
        """Go on after a command that had parked the stream and kept the token."""
        if self.halted is not None and not self.unhalt(token):
            return
        if self.commands:
            self.start_worker([token])
        else:
            self.claim.append(token)
            if self.commands:
                self.kick()

    def start_worker(self, box: Box) -> None:
        """Have a worker run commands with the token in the box."""
        try:
            self._start(Drain(self, box).run)
        except BaseException:
            # The worker may have it all the same: the token is whose pop succeeds.
            with suppress(IndexError):
                self.claim.append(box.pop())
            raise

    def refuse_late(self) -> None:
        """Fail what was submitted in the moment of the close: it stands behind the seal."""
        while self.commands:
            try:
                command = self.commands.popleft()
            except IndexError:
                return
            command._fail(ClosedResource(f"{named(command)} came too late: {self.stream._describe()} is closed"))
            command._wake()

    def drop(self, cause: str) -> int:
        """Take out everything that has not started and fail it with `Aborted`; return how many commands that were.

        Barriers stay: they wait for what runs, and are not work. A parked wait is abandoned last:
        until then nothing that comes after it can start.
        """
        work = [command for command in tuple(self.commands) if command._value is not BARRIER]
        parked = self.parked
        try:
            dropped = sum([self._drop_one(command, cause) for command in work])
            return dropped + (parked is not None and parked.abandon(cause))
        finally:
            if self.on_room is not None:
                self.on_room()

    def _drop_one(self, command: Completion[Any], cause: str) -> bool:
        """Fail a queued command; False if its holder has taken it. After an interrupt it is queued, or over."""
        try:
            self.commands.remove(command)
            command._fail(Aborted(f"{named(command)} was dropped by {cause} before it started"))
            command._wake()
        except ValueError:
            return False
        except BaseException:
            if not command.done():
                self.commands.appendleft(command)
            raise
        return True

    def fail(self, command: Completion[Any], error: BaseException) -> None:
        """End a command with an error of its own, which surfaces at the next synchronise if nobody receives it.

        `Completion._wake` is to follow.
        """
        command._note(error)
        if self.stops_at_failure and self.halted is None:
            self.halted = error
        command._error = error  # before it is listed: an interrupt may end this anywhere
        self.failures.append(command)
        if len(self.failures) > self.most_failures:
            self._forget_received()
        command._fail(error)
        if self.halted is error:
            self.drop(f"the failure before it ({text_of(error)})")

    def _forget_received(self) -> None:
        """Let go of failures whose errors were received: a stream may live long and never be synchronised."""
        for command in list(self.failures):
            if command._received:
                with suppress(ValueError, IndexError):  # a synchronise takes them at the same time
                    self.failures.remove(command)
        self.most_failures = max(_FEW_FAILURES, 2 * len(self.failures))

    def unhalt(self, token: Token) -> bool:
        """Keep the token while the queue is halted; True when it was recovered meanwhile and goes on."""
        raise NotImplementedError

    def _go_on(self) -> None:
        """Take the token out of its place, and go on if the queue is not halted."""
        raise NotImplementedError

    def _find_token(self) -> None:
        with self._lock:
            token = self._token
            if token is not None and getrefcount(token) <= LOST_BY_VARIABLE:
                self.claim.append(token)

    def run_other(self, command: Completion[Any], token: Token) -> bool:
        """Run a host call, a mark, a wait or a barrier; True when it kept the token."""
        command._state = RUNNING
        try:
            value = command._run(token)
        except BaseException as error:
            self.fail(command, error)
            return False
        if value is not DETACHED and value is not PARKED:
            command._succeed(value)
        return value is PARKED


class _Barrier:
    """The value of a command that only waits for those before it."""

    def __repr__(self) -> str:
        return "barrier"


BARRIER: Any = _Barrier()


def named(command: Completion[Any]) -> str:
    """Return what a command is called in errors."""
    return repr(command._work.name()) if command._work is not None else "a command"
