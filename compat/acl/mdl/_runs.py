"""Runs of a model on datasets, prepared once and kept by the memory that they use."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import aacl
from aacl.errors import ClosedResource, InvalidArgument, ModelInputMismatch, ModelOutputMismatch
from acl import _blocks

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ("Runs",)

Spans = tuple[tuple[int, int], ...]
_MOST = 256


class Runs:
    """The prepared runs of one model."""

    __slots__ = ("_inputs", "_model", "_outputs", "_runs")

    def __init__(self, model: aacl.Model) -> None:
        self._model = model
        self._inputs = tuple(map(_desc, model.inputs))
        self._outputs = tuple(map(_desc, model.outputs))
        self._runs: dict[tuple[Spans, Spans], aacl.Work[Any]] = {}

    def submit(self, stream: aacl.Stream, inputs: Spans, outputs: Spans) -> aacl.Completion[Any]:
        """Submit a run, prepared before or now.

        Raises:
            InvalidArgument: fewer buffers than the model has places, or a null one.
            ModelInputMismatch, ModelOutputMismatch: a buffer is too small; the text has both sizes.
            InvalidMemoryRange: memory is not mapped.
        """
        key = (inputs, outputs)
        run = self._runs.get(key)
        if run is not None:
            try:
                return stream.execute(run)
            except ClosedResource:  # memory that it was bound to: bind to what is there now
                self._runs.pop(key, None)
        run, is_lasting = self._prepare(inputs, outputs)
        completion = stream.execute(run)
        if is_lasting:
            if len(self._runs) >= _MOST:
                self._runs.clear()
            self._runs[key] = run
        return completion

    def clear(self) -> None:
        """Let go of all of them."""
        self._runs.clear()

    def _prepare(self, inputs: Spans, outputs: Spans) -> tuple[aacl.Work[Any], bool]:
        """Return a run, and whether it may be kept: not if it uses host memory."""
        model = self._model
        given = _tensors(f"input of model {model.name!r}", self._inputs, inputs, model.inputs, ModelInputMismatch)
        wanted = _tensors(f"output of model {model.name!r}", self._outputs, outputs, model.outputs, ModelOutputMismatch)
        is_lasting = all(tensor.device_index >= 0 for tensor in (*given, *wanted))
        return model(*given, out=wanted), is_lasting


def _desc(spec: aacl.models.TensorSpec) -> aacl.TensorDesc:
    return aacl.TensorDesc.of(spec.dtype, spec.shape, spec.format)


def _tensors(
    what: str,
    descs: Sequence[aacl.TensorDesc],
    spans: Spans,
    specs: Sequence[aacl.models.TensorSpec],
    mismatch: type[ModelInputMismatch | ModelOutputMismatch],
) -> list[aacl.Tensor]:
    """Return tensors on the buffers of a dataset; buffers beyond the model's places are left alone."""
    if len(spans) < len(descs):
        names = ", ".join(spec.name for spec in specs)
        raise InvalidArgument(
            f"the dataset has {len(spans)} buffers; there are {len(descs)} places: {names}. First {what}"
        )
    tensors = []
    for position, (desc, (address, nbytes)) in enumerate(zip(descs, spans, strict=False)):
        if not address and desc.nbytes:
            raise InvalidArgument(f"the buffer of {what}, place {position} ({specs[position].name}), is null")
        if nbytes < desc.nbytes:
            raise mismatch(
                f"{what}, place {position} ({specs[position].name}), takes {desc.nbytes} bytes; its buffer has {nbytes}"
            )
        tensors.append(_blocks.tensor_at(desc, address))
    return tensors
