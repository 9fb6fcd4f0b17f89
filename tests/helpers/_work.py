"""Device work that is a Python function."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from aacl import Tensor, Work
from aacl.memory._space import DeviceMemory
from aacl.streams._budget import UNKNOWN, Cost


class Boom(Exception):
    """What the tests' own functions fail with."""


def fail(text: str = "boom") -> None:
    """Raise `Boom`."""
    raise Boom(text)


class PythonWork(Work[Any]):
    """Work that calls a function; it starts on a worker unless a shorter estimate is given.

    A result that is a tensor counts as what it writes.
    """

    def __init__(
        self,
        function: Callable[[], object],
        *,
        result: Any = None,
        reads: Iterable[Tensor] = (),
        estimate: int = UNKNOWN,
    ) -> None:
        super().__init__()
        self._function, self._given_result, self._cost = function, result, Cost(estimate)
        self._reads = tuple(reads)

    def bind(self, memory: DeviceMemory) -> None:
        self._run, self._result, self._epoch = self._function, self._given_result, memory.epoch

    def reads(self) -> Iterable[Tensor]:
        return self._reads
