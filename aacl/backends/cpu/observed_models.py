"""Models on the CPU that are looked into while they run: times of nodes, and the tensors between them.

They are slower than plain ones: runs take turns and bind their arrays anew,
and nodes whose tensors are told cannot be fused.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, final

import numpy as np

from aacl.abc import NodeValue, ObservedModel
from aacl.backends.cpu._foreign import foreign
from aacl.backends.cpu._recorder import Recorder
from aacl.backends.cpu._watched import Watched
from aacl.backends.cpu.models import Slot, array_of, bind_arrays, open_session, output_shapes, take_apart
from aacl.errors import AclError, ClosedResource, ModelDataError, ModelRunError

if TYPE_CHECKING:
    from aacl.abc import Array, NodeTime

__all__ = ("CpuObservedModel", "observe_model")

Wants = Callable[[str, str], bool]
Tell = Callable[[Sequence[NodeValue]], object]


def observe_model(
    graph: bytes | memoryview, *, times: bool, wants: Wants | None = None, tell: Tell | None = None
) -> CpuObservedModel:
    """Make a model that tells what its nodes do; arguments and errors as `DeviceBackend.observe_model`."""
    return CpuObservedModel(graph, times, wants, tell)


@final
class CpuObservedModel(ObservedModel):
    """One ONNX Runtime session after the other: each ends with the profile that it recorded."""

    def __init__(self, graph: bytes | memoryview, times: bool, wants: Wants | None, tell: Tell | None) -> None:
        parts = take_apart(graph)
        self._watched = None if wants is None else Watched(parts, wants)
        self._tell = tell
        if self._watched is not None:
            parts = self._watched.graph
        self._lock = threading.Lock()
        self._recorder = Recorder(parts) if times else None
        self._plain: Any = None if times else open_session(parts)
        session = self._session()
        self._inputs = [Slot(node) for node in session.get_inputs()]
        nodes, added = session.get_outputs(), [] if self._watched is None else self._watched.added
        self._outputs = [Slot(node) for node in nodes[: len(nodes) - len(added)]]
        self._added = [slot for node in nodes[len(self._outputs) :] if (slot := _slot_of(node)) is not None]
        self._is_closed = False

    def shapes(self, inputs: Sequence[tuple[int, ...]]) -> tuple[tuple[int, ...] | None, ...]:
        """Return the outputs' shapes as far as the names of the model's free dims tell them."""
        return output_shapes(self._inputs, inputs, self._outputs)

    def bind(self, inputs: Sequence[Array], outputs: Sequence[Array | None]) -> Callable[[], Sequence[Array]]:
        """Return a call that runs the model straight on these arrays; errors as `CpuModelEngine.bind`."""
        with self._lock:
            bind_arrays(self._session(), self._inputs, inputs, self._outputs, outputs)  # what does not fit fails now
        return lambda: self._run(inputs, outputs)

    def take_times(self, *, last: bool = False) -> list[NodeTime]:
        with self._lock:
            return [] if self._recorder is None else self._recorder.take(last=last)

    def close(self) -> None:
        """Let go of the session; calls bound before then raise ClosedResource."""
        with self._lock:
            self._is_closed = True
            if self._recorder is not None:
                self._recorder.take(last=True)
            self._recorder = self._plain = None

    def _session(self) -> Any:
        if self._recorder is not None:
            return self._recorder.session()
        if self._plain is None:
            raise ClosedResource("the model is closed; load it again before running it")
        return self._plain

    def _run(self, inputs: Sequence[Array], outputs: Sequence[Array | None]) -> Sequence[Array]:
        with self._lock:
            session = self._session()
            slots, targets = [*self._outputs, *self._added], [*outputs, *[None] * len(self._added)]
            binding, made = bind_arrays(session, self._inputs, inputs, slots, targets)
            try:
                with foreign():
                    session.run_with_iobinding(binding)
            except Exception as error:
                raise ModelRunError(f"the model failed while it ran: {error}") from error
            finally:
                if self._recorder is not None:
                    self._recorder.ran()
            results = binding.get_outputs()
            fresh = {position: array_of(results[position], slot.dtype) for position, slot in made}
            if self._watched is not None and self._tell is not None:
                whole = [fresh.get(place) if array is None else array for place, array in enumerate(targets)]
                self._tell_values(self._tell, self._watched, [*self._inputs, *slots], [*inputs, *whole])
            return [fresh[position] for position, _ in made if position < len(self._outputs)]

    def _tell_values(self, tell: Tell, watched: Watched, slots: Sequence[Slot], arrays: Sequence[Any]) -> None:
        named = {slot.name: np.asarray(array) for slot, array in zip(slots, arrays, strict=True)}
        try:
            tell(watched.values(named))
        except AclError:
            raise
        except Exception as error:
            raise ModelRunError(f"the run is good, but what its nodes did could not be kept: {error}") from error


def _slot_of(node: Any) -> Slot | None:
    """Return what is known of an output, None if it is no tensor of numbers."""
    try:
        return Slot(node)
    except ModelDataError:
        return None
