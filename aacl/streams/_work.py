"""Work that a stream can execute again and again: what an operation or a model run is to its stream."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

from aacl._note import text_of
from aacl.errors import AclError, KernelError
from aacl.tensors._tensor import Tensor

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from aacl.memory._space import DeviceMemory
    from aacl.streams._budget import Cost
    from aacl.streams._completion import Completion
    from aacl.streams._engine import StreamEngine

__all__ = ("Composite", "OwnError", "Work", "translated")

T_co = TypeVar("T_co", covariant=True)


class Work(Generic[T_co]):
    """Something with a result that runs on the device.

    A work is *bound* before its first run, and again whenever the memory's epoch
    has changed since: `bind` checks what it uses and sets the fields below, so
    that running it once more looks nothing up.

    A work belongs to one thread at a time: binding it anew while another thread executes it
    would give both the same result.
    """

    __slots__ = ("_cost", "_epoch", "_result", "_run")

    keeps_exceptions: ClassVar[bool] = False
    """Whether the code that runs is a program's own, whose exceptions are not translated."""

    frees_gil: ClassVar[bool] = False
    """Whether other threads run Python while this runs."""

    is_timed: ClassVar[bool] = False
    """Whether the `operator_timeout` of its stream bounds it."""

    _epoch: object
    """The memory epoch that the binding is good for."""
    _run: Callable[[], object]
    _run_beside: Callable[[], object] | None = None
    """What runs instead where others like it run at the same time; only of work that touches no device memory, and so
    needs no turn among others that do not either."""
    _result: Any
    """What awaiting the completion gives, fixed at binding. Where it is a tensor, or a tuple of
    tensors, these are what the work writes; their contents come with the run."""
    _cost: Cost
    _updates: tuple[Tensor, ...] = ()
    """Of what it reads, the tensors that it also writes; fixed at binding."""

    def __init__(self) -> None:
        self._epoch = None

    def bind(self, memory: DeviceMemory) -> None:
        """Check the work against a device and set `_run`, `_result`, `_cost` and `_epoch`.

        Raises:
            AclError: it cannot run there; nothing was changed.
        """
        raise NotImplementedError

    def reads(self) -> Iterable[Tensor]:
        """Return the tensors whose contents the work needs."""
        return ()

    def submitted(self, command: Completion[T_co]) -> None:
        """Take notice of a command that puts the work into a queue: what it writes learns who makes it."""
        result = self._result
        for tensor in result if type(result) is tuple else (result,):
            if type(tensor) is Tensor:
                tensor.to_be_filled(command)
        for tensor in self._updates:
            tensor.to_be_filled(command)

    def ended(self, command: Completion[T_co]) -> None:
        """Take notice that a command that had put the work into a queue is over, well or badly; quickly."""

    def name(self) -> str:
        """Return what the work is called in errors and reprs."""
        return type(self).__name__

    def fault(self) -> BaseException | None:
        """Return why an input has no contents, if a command that should have made them failed."""
        for tensor in self.reads():
            if tensor._fault is not None:
                return tensor._fault
        return None


class Composite(Work[T_co]):
    """Work that consists of other work: a stream lets it submit that, one command after the other.

    It is never bound, and has no epoch, which is how a stream tells it from other work.
    """

    __slots__ = ()

    def __init__(self) -> None:
        """Do nothing: an epoch would make this work of its own."""

    def submit_to(self, stream: StreamEngine) -> Completion[T_co]:
        """Submit the parts, and return the completion of the last one."""
        raise NotImplementedError


class OwnError(Exception):
    """Carries what a program's own kernel raised to where failures are told."""

    def __init__(self, error: Exception) -> None:
        self.error = error


def translated(error: BaseException, work: Work[Any]) -> BaseException:
    """Return a kernel's exception as the runtime's own; a program's kernels keep theirs."""
    if isinstance(error, OwnError):
        return error.error
    if isinstance(error, AclError) or work.keeps_exceptions or not isinstance(error, Exception):
        return error
    failure = KernelError(f"{work.name()} failed while it ran: {text_of(error)}")
    failure.__cause__ = error
    return failure
