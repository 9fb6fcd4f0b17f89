"""A worker's turn with a stream.

Whoever waits for a command is woken a little later where more work is behind it
that is known to be short, together with who waits for that: a loop that is woken
takes the GIL, and a core, from the stream. Before anything that may take long, or
that may wait for the program, all are woken.
"""

from __future__ import annotations

from time import perf_counter_ns, sleep
from typing import TYPE_CHECKING, Any

from aacl.streams._budget import STEP, TURN
from aacl.streams._company import Company, needs_no_turn
from aacl.streams._completion import tensors_in
from aacl.streams._ended import Ended
from aacl.streams._state import DONE, RUNNING
from aacl.streams._work import translated
from aacl.tensors._tensor import Tensor

if TYPE_CHECKING:
    from collections.abc import Callable

    from aacl.streams._claim import Box, Token
    from aacl.streams._completion import Completion
    from aacl.streams._queue import CommandQueue
    from aacl.streams._work import Work


__all__ = ("Drain",)

_SLICE = 10 * TURN  # a worker leaves a long queue to the others after this
_BREATH = 0.00002  # seconds that a worker sleeps to give the GIL away: letting go of it alone wakes nobody


class Drain:
    """Runs commands of one queue until none is left, or until others should have the worker."""

    __slots__ = ("_box", "_breathed", "_ended", "_queue")

    def __init__(self, queue: CommandQueue, box: Box) -> None:
        """Prepare a turn with the token in the box."""
        self._queue, self._box, self._ended = queue, box, Ended()
        self._breathed = 0

    def run(self) -> None:
        """Take the turn; on a worker, where no interrupt strikes."""
        try:
            token = self._box.pop()
        except IndexError:
            return  # an interrupt called it back
        queue, ended = self._queue, self._ended
        commands, waiting, spent = queue.commands, ended.commands, 0
        command: Completion[Any] | None
        taken: Completion[Any] | None = None  # out of the queue, and not run yet
        began = now = self._breathed = perf_counter_ns()
        while True:
            try:
                command, taken = taken or commands.popleft(), None
            except IndexError:
                if self._rest(token):
                    continue
                return
            if queue.on_room is not None:
                queue.on_room()
            work = command._work
            if waiting and ended.cannot_wait_for(work):
                ended.wake()
            if work is None:
                if queue.run_other(command, token):
                    return
            elif work._run_beside is not None and self._has_company():
                taken, command = self._run_beside(command, began + _SLICE), None
                now = self._breathed
            else:
                queue.executed += 1
                spent += work._cost.charge
                if spent <= STEP:
                    self._run(command, work, command._run)
                else:
                    spent = 0
                    now = self._run_measured(command, work)
            if command is not None and command._waiters and command.done():
                ended.add(command)
            if queue.halted is not None:
                if taken is not None:
                    commands.appendleft(taken)
                    taken = None
                if not queue.unhalt(token):
                    ended.wake()
                    return
            if taken is not None:
                continue
            if now - began > _SLICE and commands:
                ended.wake()
                queue.start_worker([token])  # behind what other streams have for the worker
                return
            if waiting and len(waiting) >= len(commands) and not self._rest(token):
                return

    def _rest(self, token: Token) -> bool:
        """Wake who waits; False if there was nothing left to do, and the claim is somebody else's.

        Who is woken finds the claim free if nothing is left to do. It would find the stream busy
        otherwise, queue what comes next, wait for a worker again, and so on for ever.
        """
        commands, claim = self._queue.commands, self._queue.claim
        if commands:
            self._ended.wake()
            return True
        claim.append(token)
        self._ended.wake()
        if commands:
            try:
                return claim.pop() is token  # there is only one
            except IndexError:
                pass
        return False

    def _run_measured(self, command: Completion[Any], work: Work[Any]) -> int:
        """Run work and learn from it; return the time, other threads having had theirs."""
        began = perf_counter_ns()
        self._run(command, work, command._run)
        now = perf_counter_ns()
        if command._state == DONE:
            work._cost.learn(now - began)
        if work.frees_gil:
            self._breathed = now
        elif now - self._breathed > TURN and self._queue.commands:
            sleep(_BREATH)
            self._breathed = now = perf_counter_ns()
        return now

    def _has_company(self) -> bool:
        """Whether the next command may run beside one that may."""
        queue = self._queue
        try:
            return queue.cores > 1 and not queue.stops_at_failure and needs_no_turn(queue.commands[0])
        except IndexError:
            return False

    def _run_beside(self, command: Completion[Any], until: int) -> Completion[Any] | None:
        """Run a command, and those behind it that need no turn, on all idle cores; return one that was taken too many."""
        company = Company(self._queue, command, until, self._run, self._ended)
        self._queue.parallel(company.run, self._queue.cores)
        self._breathed = perf_counter_ns()
        return company.left

    def _run(self, command: Completion[Any], work: Work[Any], run: Callable[..., object]) -> None:
        """Run device work and end its command."""
        queue = self._queue
        command._state = RUNNING
        try:
            fault = work.fault() if queue.stream._memory.unsettled else None
            if fault is not None:
                command._fail(fault)  # the cause surfaces where it arose
                return
            run()
        except BaseException as error:  # a worker has nobody to raise to
            queue.fail(command, translated(error, work))
            return
        result = command._value
        for tensor in (result,) if type(result) is Tensor else tensors_in(result):
            tensor.filled(command)  # also ends the cycle of a tensor and its producer
        for tensor in work._updates:
            tensor.filled(command)
        command._state = DONE
        work.ended(command)
        if command._callbacks:
            self._ended.wake()  # a callback may wait for them
            command._deliver(command._callbacks)
