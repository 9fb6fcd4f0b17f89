"""The engine of a stream: a FIFO of commands with one claim.

Rules, each with the race that it closes:

- Append a command, then try the claim; release the claim, then look at the
  queue again. So a command is never left behind by a holder that just stopped.
- The claim changes hands with the token alone. "Parked" (the stream waits for
  an event or a host call) and "closed" are the claim being kept.
- Whoever takes a command out of the queue ends it: the holder of the claim, or
  ``drop``. `deque.popleft` decides between them.
- A command that cannot end at once returns `PARKED`: it took the claim along
  and calls `resume` when it is over. A stream goes on in a worker, never by a
  call nested in whoever resumed it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from functools import partial
from time import perf_counter_ns, sleep
from typing import TYPE_CHECKING, Any, Protocol

from aacl.errors import Aborted, AclError, KernelError
from aacl.streams._budget import LONG, STEP, TURN
from aacl.streams._claim import Claim, Token, new_claim
from aacl.streams._completion import Completion
from aacl.streams._state import DONE, FAILED, RUNNING

if TYPE_CHECKING:
    from aacl.streams._stream import Stream
    from aacl.streams._work import Work

__all__ = ("BARRIER", "DETACHED", "PARKED", "CommandQueue", "is_long", "translated")

PARKED: Any = object()
"""What a command's run returns when it goes on elsewhere and took the claim along."""

DETACHED: Any = object()
"""What a command's run returns when it goes on elsewhere while the stream goes on too."""

_SLICE = 10 * TURN  # a worker leaves a long queue to the others after this
_BREATH = 0.00002  # seconds that a worker sleeps to give the GIL away: letting go of it alone wakes nobody


class Parked(Protocol):
    """Something that a stream waits for in its place in the queue."""

    def abandon(self, cause: str) -> bool:
        """Stop waiting and let the stream go on; False when it is over already."""


class CommandQueue:
    """Commands of one stream and the right to run them.

    Attributes:
        commands: what is queued; its length is the stream's load.
        claim: where the token lies while nobody runs commands.
        failures: commands that failed and were not received yet.
        executed: device work that workers have run.
        halted: the failure after which the stream takes no more, if it stops at failures.
        sealed: whether the claim is kept for ever.
        parked: what the stream waits for and may stop waiting for.
    """

    __slots__ = ("_start", "_stream", "_token", "claim", "commands", "executed", "failures", "halted", "on_room",
                 "parked", "sealed", "stops_at_failure")  # fmt: skip

    def __init__(
        self, stream: Stream, start: Callable[[Callable[[], None]], None], *, stops_at_failure: bool = False
    ) -> None:
        self._stream, self._start = stream, start
        self.commands: deque[Completion[Any]] = deque()
        self.claim: Claim = new_claim()
        self.failures: deque[Completion[Any]] = deque()
        self.executed = 0
        self.sealed = False
        self.stops_at_failure = stops_at_failure
        self.halted: BaseException | None = None
        self.parked: Parked | None = None
        self.on_room: Callable[[], None] | None = None
        self._token: Token | None = None  # while parked or sealed

    @property
    def is_idle(self) -> bool:
        """Whether nothing is queued and nobody holds the claim."""
        return bool(self.claim) and not self.commands

    def put(self, command: Completion[Any]) -> None:
        """Queue a command and see that somebody runs it."""
        self.commands.append(command)
        self.kick()

    def kick(self) -> None:
        """Start a worker, if nobody holds the claim."""
        if not self.claim:
            return  # cheaper than the exception; whoever holds it looks at the queue after letting go
        try:
            token = self.claim.pop()
        except IndexError:
            return
        self._start(partial(self._drain, token))

    def put_with(self, token: Token, command: Completion[Any]) -> None:
        """Queue a command by the holder of the claim, which goes to a worker."""
        self.commands.append(command)
        self._start(partial(self._drain, token))

    def resume(self) -> None:
        """Go on after a command that had parked the stream."""
        token, self._token = self._token, None
        if token is None:
            return
        if self.commands:
            self._start(partial(self._drain, token))
        else:
            self.claim.append(token)
            if self.commands:
                self.kick()

    def seal(self, command: Completion[Any]) -> Any:
        """Run the last command: keep the claim for ever, and end the command."""
        self.sealed = True
        if self._token is not None:
            self._token.retire()
        command._finish(DONE, None)
        return PARKED

    def drop(self, cause: str) -> int:
        """Take out everything that has not started and fail it with `Aborted`; return how many commands that were.

        Barriers stay: they wait for what runs, and are not work.
        """
        dropped: int = self.parked is not None and self.parked.abandon(cause)
        barriers = []
        while self.commands:
            try:
                command = self.commands.popleft()
            except IndexError:
                break
            if command._value is BARRIER:
                barriers.append(command)
                continue
            dropped += 1
            self.fail(command, Aborted(f"{_named(command)} was dropped by {cause} before it started"), quiet=True)
        for command in barriers:
            self.put(command)
        return dropped

    def fail(self, command: Completion[Any], error: BaseException, *, quiet: bool = False) -> None:
        """End a command with an error; unless ``quiet`` it surfaces at the next synchronise if nobody receives it."""
        if not quiet and not isinstance(error, Aborted):
            command._note(error)
        if command._work is not None:
            command._work.failed(error)
        if not quiet:
            self.failures.append(command)
        command._finish(FAILED, error)
        if self.stops_at_failure and not quiet and self.halted is None:
            self.halted = error
            self.drop(f"the failure before it ({error})")

    def halt(self, token: Token) -> None:
        """Keep the claim after a failure, by its holder."""
        self._token = token

    def recover(self) -> None:
        """Take commands again after a failure that halted the stream."""
        if self.halted is not None:
            self.halted = None
            self.resume()

    def _drain(self, token: Token) -> None:
        """Run commands until none is left; on a worker."""
        commands, began, spent = self.commands, perf_counter_ns(), 0
        while True:
            try:
                command = commands.popleft()
            except IndexError:
                self.claim.append(token)
                if not commands:
                    return
                try:
                    token = self.claim.pop()
                except IndexError:
                    return
                continue
            if self.on_room is not None:
                self.on_room()
            work = command._work
            if work is None:
                self._token = token  # before the run: what parks the stream may be over at once
                if self._run_other(command):
                    return
                self._token = None
                continue
            spent += work._cost.charge
            if spent <= STEP:
                self._run_work(command, work)
            else:
                spent = 0
                self._run_measured(command, work)
                elapsed = perf_counter_ns() - began
                if elapsed > TURN:
                    if elapsed > _SLICE and commands:
                        self._start(partial(self._drain, token))
                        return
                    sleep(_BREATH)
            if self.halted is not None:
                self._token = token
                return

    def _halted(self) -> bool:
        return self.halted is not None

    def _run_measured(self, command: Completion[Any], work: Work[Any]) -> None:
        began = perf_counter_ns()
        self._run_work(command, work)
        if command._state == DONE:
            work._cost.learn(perf_counter_ns() - began)

    def _run_work(self, command: Completion[Any], work: Work[Any]) -> None:
        """Run device work and end its command."""
        command._state = RUNNING
        self.executed += 1
        has_faults = self._stream._memory.has_faults
        try:
            fault = work.fault() if has_faults else None
            if fault is not None:
                self.fail(command, fault, quiet=True)
                return
            command._run()
        except BaseException as error:  # a worker has nobody to raise to
            self.fail(command, translated(error, work))
            return
        if has_faults:
            work.succeeded()
        command._state = DONE  # its value stands there since the submission
        if command._waiters:
            command._deliver(command._waiters)

    def _run_other(self, command: Completion[Any]) -> bool:
        """Run a host call, a mark, a wait or a barrier; True when it took the claim along."""
        command._state = RUNNING
        try:
            value = command._run()
        except BaseException as error:
            self.fail(command, error)
            return self._halted()
        if value is PARKED:
            return True
        if value is not DETACHED:
            command._finish(DONE, value)
        return self._halted()


class _Barrier:
    """The value of a command that only waits for those before it."""

    def __repr__(self) -> str:
        return "barrier"


BARRIER: Any = _Barrier()


def is_long(work: Work[Any]) -> bool:
    """Whether work is too long for the thread that submits it."""
    return work._cost.estimate > LONG


def translated(error: BaseException, work: Work[Any]) -> BaseException:
    """Return a kernel's exception as the runtime's own; a program's kernels keep theirs."""
    if isinstance(error, AclError) or not work_is_ours(work) or not isinstance(error, Exception):
        return error
    failure = KernelError(f"{work.name()} failed while it ran: {error}")
    failure.__cause__ = error
    return failure


def work_is_ours(work: Work[Any]) -> bool:
    """Whether the code that runs is the runtime's, so that its exceptions are translated."""
    return not getattr(work, "keeps_exceptions", False)


def _named(command: Completion[Any]) -> str:
    return repr(command._work.name()) if command._work is not None else "a command"
