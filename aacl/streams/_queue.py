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
- Whoever waits for a command is woken a little later where more work is behind it that is known to be
  short, together with who waits for that: a loop that is woken takes the GIL, and a core, from the stream. Before
  anything that may take long, or that may wait for the program, all are woken.
- An interrupt may lose the token between two steps of its holder; whoever
  waits, or finds the claim taken, looks for a lost one.
"""

from __future__ import annotations

import threading
from collections import deque
from contextlib import suppress
from functools import partial
from sys import getrefcount
from time import perf_counter_ns, sleep
from typing import TYPE_CHECKING, Any, Protocol

from aacl._note import text_of
from aacl.errors import Aborted, ClosedResource
from aacl.streams._budget import LONG, STEP, TURN
from aacl.streams._claim import LOST_BY_ATTRIBUTE, LOST_BY_VARIABLE, Token
from aacl.streams._completion import tensors_in
from aacl.streams._state import DONE, RUNNING
from aacl.streams._work import translated
from aacl.tensors._tensor import Tensor

if TYPE_CHECKING:
    from collections.abc import Callable

    from aacl.streams._claim import Box, Claim
    from aacl.streams._completion import Completion
    from aacl.streams._engine import StreamEngine
    from aacl.streams._work import Work

__all__ = ("BARRIER", "DETACHED", "PARKED", "CommandQueue")

PARKED: Any = object()
"""What a command's run returns when it goes on elsewhere and kept the token."""

DETACHED: Any = object()
"""What a command's run returns when it goes on elsewhere while the stream goes on too."""

_SLICE = 10 * TURN  # a worker leaves a long queue to the others after this
_BREATH = 0.00002  # seconds that a worker sleeps to give the GIL away: letting go of it alone wakes nobody


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
        detached: host calls under way that the stream does not wait for.
        failures: commands that failed, and whose errors were not received when `fail` looked last.
        executed: device work that workers have run.
        halted: the failure after which the stream takes no more, if it stops at failures.
        sealed: whether the claim is kept for ever.
        most_failures: how many there may be before those that were received go.
        parked: what the stream waits for and may stop waiting for.
        on_room: called when a command left the queue.
    """

    __slots__ = ("_kept", "_lock", "_start", "_stream", "_token", "claim", "commands", "detached", "executed",
                 "failures", "halted", "most_failures", "on_room", "parked", "sealed", "stops_at_failure")  # fmt: skip

    _start: Callable[[Callable[[], None]], None]

    def __init__(self, stream: StreamEngine, *, stops_at_failure: bool = False) -> None:
        self._stream = stream
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

    def begin(self, start: Callable[[Callable[[], None]], None]) -> None:
        """Take commands from now on; ``start`` runs a task on a worker."""
        self._start = start
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
        elif self.halted is not None and self._kept:
            self._go_on()  # which halts again, behind the barriers
        if not self.commands or not self.claim:
            return  # whoever holds the claim looks at the queue after letting go
        try:
            box = [self.claim.pop()]
        except IndexError:
            return
        self._start_worker(box)

    def resume(self, token: Token) -> None:
        """Go on after a command that had parked the stream and kept the token."""
        if self.halted is not None and not self._unhalt(token):
            return
        if self.commands:
            self._start_worker([token])
        else:
            self.claim.append(token)
            if self.commands:
                self.kick()

    def _start_worker(self, box: Box) -> None:
        try:
            self._start(partial(self._drain, box))
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
            command._fail(ClosedResource(f"{_named(command)} came too late: {self._stream._describe()} is closed"))
            command._wake()

    def recover(self) -> None:
        """Take commands again after a failure that halted the stream."""
        self.halted = None
        self._go_on()

    def _go_on(self) -> None:
        try:
            token = self._kept.pop()
        except IndexError:
            return  # the holder has not come to its halt yet, and looks at `halted` there
        self.resume(token)

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
            command._fail(Aborted(f"{_named(command)} was dropped by {cause} before it started"))
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

    def _unhalt(self, token: Token) -> bool:
        """Keep the token while the stream is halted; True when it was recovered meanwhile and goes on."""
        if self._pass_barriers(token):
            return False
        self._kept.append(token)
        if self.halted is not None:
            return False
        try:
            self._kept.pop()
        except IndexError:
            return False  # `recover` took it
        return True

    def _pass_barriers(self, token: Token) -> bool:
        """End the barriers of a halted stream, which have nothing to wait for; True when one kept the token."""
        while self.commands:
            try:
                command = self.commands.popleft()
            except IndexError:
                break
            if command._value is BARRIER:
                if self._run_other(command, token):
                    return True
                if command.done():
                    command._wake()
            else:
                cause = "" if self.halted is None else f" ({text_of(self.halted)})"
                command._fail(Aborted(f"{_named(command)} was dropped by the failure before it{cause}"))
                command._wake()
        return False

    def _find_token(self) -> None:
        with self._lock:
            token = self._token
            if token is not None and getrefcount(token) <= LOST_BY_VARIABLE:
                self.claim.append(token)

    def _drain(self, box: Box) -> None:
        """Run commands until none is left; on a worker, where no interrupt strikes."""
        try:
            token = box.pop()
        except IndexError:
            return  # an interrupt called it back
        commands, spent, ended = self.commands, 0, _Ended()
        began = breathed = perf_counter_ns()
        while True:
            try:
                command = commands.popleft()
            except IndexError:
                if not self._rest(ended, token):
                    return
                continue
            if self.on_room is not None:
                self.on_room()
            work = command._work
            if ended.commands and ended.cannot_wait_for(work):
                ended.wake()
            if work is None:
                if self._run_other(command, token):
                    return
            else:
                spent += work._cost.charge
                if spent <= STEP:
                    self._run_work(command, work, ended)
                else:
                    spent = 0
                    self._run_measured(command, work, ended)
                    now = perf_counter_ns()
                    if now - began > _SLICE and commands and self.halted is None:
                        ended.add(command)
                        ended.wake()
                        self._start(partial(self._drain, [token]))
                        return
                    if work.frees_gil:
                        breathed = now
                    elif now - breathed > TURN and commands:
                        sleep(_BREATH)
                        breathed = perf_counter_ns()
            if command._waiters and command.done():
                ended.add(command)
            if self.halted is not None and not self._unhalt(token):
                ended.wake()
                return
            if ended.commands and len(ended.commands) >= len(commands) and not self._rest(ended, token):
                return

    def _rest(self, ended: _Ended, token: Token) -> bool:
        """Wake who waits; False if there was nothing left to do, and the claim is somebody else's.

        Who is woken finds the claim free if nothing is left to do. It would find the stream busy
        otherwise, queue what comes next, wait for a worker again, and so on for ever.
        """
        if self.commands:
            ended.wake()
            return True
        self.claim.append(token)
        ended.wake()
        if self.commands:
            try:
                return self.claim.pop() is token  # there is only one
            except IndexError:
                pass
        return False

    def _run_measured(self, command: Completion[Any], work: Work[Any], ended: _Ended) -> None:
        began = perf_counter_ns()
        self._run_work(command, work, ended)
        if command._state == DONE:
            work._cost.learn(perf_counter_ns() - began)

    def _run_work(self, command: Completion[Any], work: Work[Any], ended: _Ended) -> None:
        """Run device work and end its command."""
        command._state = RUNNING
        self.executed += 1
        try:
            fault = work.fault() if self._stream._memory.unsettled else None
            if fault is not None:
                command._fail(fault)  # the cause surfaces where it arose
                return
            command._run()
        except BaseException as error:  # a worker has nobody to raise to
            self.fail(command, translated(error, work))
            return
        result = command._value
        for tensor in (result,) if type(result) is Tensor else tensors_in(result):
            tensor.filled(command)  # also ends the cycle of a tensor and its producer
        for tensor in work._updates:
            tensor.filled(command)
        command._state = DONE
        work.ended(command)
        if command._callbacks:
            ended.wake()  # a callback may wait for them
            command._deliver(command._callbacks)

    def _run_other(self, command: Completion[Any], token: Token) -> bool:
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


class _Ended:
    """Commands that are over, and whose waiters are to be woken.

    Attributes:
        commands: in their order.
    """

    __slots__ = ("_due", "commands")

    def __init__(self) -> None:
        self.commands: list[Completion[Any]] = []
        self._due = 0

    def add(self, command: Completion[Any]) -> None:
        """Let a command's waiters wait for those of others."""
        if not self.commands:
            self._due = perf_counter_ns() + TURN
        self.commands.append(command)

    def cannot_wait_for(self, work: Work[Any] | None) -> bool:
        """Whether what is to run next may keep the waiters too long."""
        if work is None or work.keeps_exceptions:  # a program's own code may wait for one of them
            return True
        estimate = work._cost.estimate
        return estimate > LONG or perf_counter_ns() + estimate > self._due

    def wake(self) -> None:
        """Wake all waiters."""
        for command in self.commands:
            command._wake()
        self.commands.clear()


class _Barrier:
    """The value of a command that only waits for those before it."""

    def __repr__(self) -> str:
        return "barrier"


BARRIER: Any = _Barrier()


def _named(command: Completion[Any]) -> str:
    return repr(command._work.name()) if command._work is not None else "a command"
