"""Bindings: a model tied to the addresses that it reads and writes, and a store of them.

Tying costs ten times what a short run costs. Fresh outputs mostly get the
addresses of those that just died, so bindings are kept by address; what lies
at an address has the dtype and the shape of its place in the model, always.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import TYPE_CHECKING

from aacl.errors import Aborted, ModelRunError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from aacl.abc import ModelEngine
    from aacl.models._uses import Uses
    from aacl.tensors._tensor import Tensor

__all__ = ("Binding", "Bindings")

_LIMIT = 256


class Binding:
    """A run of a model on fixed memory. One thread runs it at a time, others wait their turn.

    Bindings to different memory may run side by side.
    """

    __slots__ = ("_label", "_lock", "_run", "_uses")

    def __init__(self, run: Callable[[], object], uses: Uses, label: str) -> None:
        self._run, self._uses, self._label = run, uses, label
        self._lock = threading.Lock()

    def __call__(self) -> None:
        """Run the model.

        Raises:
            ModelRunError: it failed.
            Aborted: the model is closed in a hurry, and the run had not started.
            ClosedResource: the model is closed.
        """
        uses = self._uses
        with self._lock:
            try:
                uses.running.add(self)  # first: a closing sets `dropped`, then looks who runs
                if uses.dropped:
                    raise Aborted(f"a run of {self._label} was dropped by the end of its block before it started")
                self._run()
                uses.runs.step()
            except ModelRunError as error:
                uses.errors.step()
                raise ModelRunError(f"{self._label}: {error}") from error.__cause__
            finally:
                uses.running.discard(self)
                if uses.endings:
                    uses.look()


class Bindings:
    """The bindings of one model by the addresses of its tensors, those not used for longest let go first."""

    __slots__ = ("_engine", "_kept", "_label", "_lock", "_uses")

    def __init__(self, engine: ModelEngine, uses: Uses, label: str) -> None:
        self._engine, self._uses, self._label = engine, uses, label
        self._kept: OrderedDict[tuple[int, ...], Binding] = OrderedDict()
        self._lock = threading.Lock()

    def find(self, inputs: Sequence[Tensor], outputs: Sequence[Tensor]) -> Binding:
        """Return the binding to these tensors' memory; they fit the model.

        Raises:
            ClosedResource: the model is closed.
        """
        key = tuple([tensor.address for tensor in (*inputs, *outputs)])
        with self._lock:
            binding = self._kept.get(key)
            if binding is not None:
                self._kept.move_to_end(key)
                return binding
        arrays = [tensor._array for tensor in inputs], [tensor._array for tensor in outputs]
        binding = Binding(self._engine.bind(*arrays), self._uses, self._label)
        with self._lock:
            if len(self._kept) >= _LIMIT:
                self._kept.popitem(last=False)
            return self._kept.setdefault(key, binding)

    def close(self) -> None:
        """Let go of the engine."""
        with self._lock:
            self._kept.clear()
        self._engine.close()

    def __len__(self) -> int:
        return len(self._kept)
