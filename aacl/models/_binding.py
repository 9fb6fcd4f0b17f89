"""Bindings: a model tied to the addresses that it reads and writes, and a store of them.

Tying costs ten times what a short run costs. Fresh outputs mostly get the
addresses of those that just died, so bindings are kept by variant and address:
what lies at an address has the dtype and the shape of its place in the variant.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import TYPE_CHECKING

from aacl.errors import Aborted, ModelRunError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from aacl.abc import Array, ModelEngine
    from aacl.memory._space import DeviceMemory
    from aacl.models._uses import Uses
    from aacl.models._variant import Variant
    from aacl.tensors._desc import TensorDesc
    from aacl.tensors._tensor import Tensor

__all__ = ("Binding", "Bindings")

_LIMIT = 128


class Binding:
    """A run of a model on fixed memory. One thread runs it at a time, others wait their turn.

    Bindings to different memory may run side by side, unless they were given one lock.
    """

    __slots__ = ("_label", "_lock", "_run", "_uses")

    def __init__(
        self, run: Callable[[], Sequence[Array]], uses: Uses, label: str, lock: threading.Lock | None = None
    ) -> None:
        self._run, self._uses, self._label = run, uses, label
        self._lock = lock or threading.Lock()

    def __call__(self) -> Sequence[Array]:
        """Run the model, and return the outputs that the engine made.

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
                    raise _dropped(self._label)
                made = self._run()
                uses.runs.step()
                return made
            except ModelRunError as error:
                uses.errors.step()
                raise ModelRunError(f"{self._label}: {error}") from error.__cause__
            finally:
                uses.running.discard(self)
                if uses.endings:
                    uses.look()


class Bindings:
    """The bindings of one model by the addresses of its tensors, those not used for longest let go first.

    Attributes:
        memory: of the device that the model is on.
    """

    __slots__ = ("_engine", "_kept", "_label", "_lock", "_turns", "_uses", "memory")

    def __init__(
        self, engine: ModelEngine, uses: Uses, label: str, memory: DeviceMemory, overlaps: bool = True
    ) -> None:
        self._engine, self._uses, self._label, self.memory = engine, uses, label, memory
        self._turns = None if overlaps else threading.Lock()
        self._kept: OrderedDict[tuple[object, ...], Binding] = OrderedDict()
        self._lock = threading.Lock()

    def beside(self, engine: ModelEngine) -> Bindings:
        """Return bindings to another engine of the same model, whose runs take turns with these if those do."""
        other = Bindings(engine, self._uses, self._label, self.memory)
        other._turns = self._turns
        return other

    def find(self, variant: Variant, inputs: Sequence[Tensor], outputs: Sequence[Tensor | None]) -> Binding:
        """Return the binding to these tensors' memory, which holds what the variant takes and gives.

        Args:
            variant: which shapes.
            inputs: of exactly these shapes.
            outputs: None for those that the engine makes.

        Raises:
            ClosedResource: the model is closed.
            Aborted: it is closed in a hurry.
        """
        if self._uses.dropped:
            raise _dropped(self._label)
        key = (variant, *[tensor.address for tensor in inputs],
               *[None if tensor is None else tensor.address for tensor in outputs])  # fmt: skip
        with self._lock:
            binding = self._kept.get(key)
            if binding is not None:
                self._kept.move_to_end(key)
                return binding
        arrays = [_array(tensor, desc) for tensor, desc in zip(inputs, variant.inputs, strict=True)]
        targets = [
            None if tensor is None else _array(tensor, desc)
            for tensor, desc in zip(outputs, variant.outputs, strict=True)
        ]
        binding = Binding(self._engine.bind(arrays, targets), self._uses, self._label, self._turns)
        with self._lock:
            if len(self._kept) >= _LIMIT:
                self._kept.popitem(last=False)
            return self._kept.setdefault(key, binding)

    @property
    def overlaps(self) -> bool:
        """Whether several runs on host arrays at a time are quicker than one after the other."""
        return self._turns is None and self._engine.overlaps

    def on_hosts(self, arrays: Sequence[Array], *, beside: bool) -> Binding | None:
        """Return a run on host arrays that gives new ones, None where the device has no such way.

        Args:
            arrays: of the model's dtypes and shapes.
            beside: whether others run at the same time.

        Raises:
            Aborted: the model is closed in a hurry.
        """
        if self._uses.dropped:
            raise _dropped(self._label)
        run = self._engine.on_hosts(arrays, beside=beside)
        return None if run is None else Binding(run, self._uses, self._label, self._turns)

    def close(self) -> None:
        """Let go of the engine."""
        with self._lock:
            self._kept.clear()
        self._engine.close()

    def __len__(self) -> int:
        return len(self._kept)


def _dropped(label: str) -> Aborted:
    return Aborted(f"a run of {label} was dropped by the end of its block before it started")


def _array(tensor: Tensor, desc: TensorDesc) -> Array:
    """Return a tensor's memory with the shape that a run was submitted for; another run may have told it another."""
    array = tensor._array
    if array.shape == desc.shape:
        return array
    return tensor._space.backend.view(tensor.address, desc.shape, desc.dtype.numpy_dtype)
