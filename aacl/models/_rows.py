"""How many items one run of a model holds. Pure.

An item has what every input takes, without the batch axis, which is axis 0 of
every input and every output. A run has a number of rows that the model was
converted for; what is left over of them is padded.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import attrs

from aacl.errors import InvalidArgument, ModelInputMismatch
from aacl.models._shapes import listed_gears

if TYPE_CHECKING:
    from collections.abc import Iterator

    from aacl.models._signature import ModelSignature, TensorSpec

__all__ = ("Rows", "item_signature")

_USUAL = 8
"""Items a run where the model takes any number: the batch of AscendCL's own examples."""

Shape = tuple[int, ...]
Counts = Sequence[int]


class Rows:
    """How many rows the runs of one model may have, by the shapes of an item.

    Attributes:
        batch: the most items a run.
    """

    __slots__ = ("_counts", "_gears", "_label", "batch")

    def __init__(self, signature: ModelSignature, batch: int | None, label: str) -> None:
        """Look at what a model was converted for.

        Args:
            signature: the model's.
            batch: the most items a run; None for what the model was converted for.
            label: what the model is called in errors.

        Raises:
            InvalidArgument: an input or output has no batch axis, not all of them have the same, or ``batch`` is
                below 1, or more than one run takes.
        """
        self._gears, self._label = signature.gears, label
        if not signature.inputs:
            raise InvalidArgument(f"{label} has no inputs, so it has no batches")
        for role, specs in (("input", signature.inputs), ("output", signature.outputs)):
            _check_axes(role, specs, label)
        self._counts: Counts = self._gear_counts(None) if self._gears else _counts(signature.inputs, label)
        _check_outputs(signature, self._counts, label)
        self.batch = self._usual() if batch is None else batch
        if not 1 <= self.batch <= self._counts[-1]:
            raise InvalidArgument(
                f"a run of {label} holds 1 to {self._counts[-1]} items; a batch of {self.batch} was asked for"
            )

    def _usual(self) -> int:
        low, high = self._counts[0], self._counts[-1]
        return min(high, max(_USUAL, low)) if isinstance(self._counts, range) else high

    def limit(self, shapes: Sequence[Shape]) -> int:
        """Return the most items of these shapes, one an input, in a run.

        Raises:
            ModelInputMismatch: no gear takes any.
        """
        return min(self.batch, self._of(shapes)[-1])

    def fit(self, items: int, shapes: Sequence[Shape]) -> int:
        """Return the fewest rows of a run that holds so many items of these shapes."""
        counts = self._of(shapes)
        if isinstance(counts, range):
            return max(items, counts[0])
        return next(count for count in counts if count >= items)

    def _of(self, shapes: Sequence[Shape]) -> Counts:
        if self._gears is None:
            return self._counts
        counts = self._gear_counts(shapes)
        if not counts:
            given = ", ".join(str(list(shape)) for shape in shapes)
            raise ModelInputMismatch(f"no gear of {self._label} takes items of {given}; {listed_gears(self._gears)}")
        return counts

    def _gear_counts(self, shapes: Sequence[Shape] | None) -> Counts:
        """Return the batches of the gears that take items of these shapes, or any, ascending."""
        assert self._gears is not None, "only models with gears get here"
        found = {
            inputs[0][0]
            for inputs in self._gears.inputs
            if _is_common(inputs) and (shapes is None or all(map(_is_of, inputs, shapes)))
        }
        if not found and shapes is None:
            raise InvalidArgument(f"no gear of {self._label} has one batch for all inputs; {listed_gears(self._gears)}")
        return sorted(found)


def item_signature(signature: ModelSignature) -> ModelSignature:
    """Return what one item is: the inputs without their batch axis."""
    inputs = tuple([attrs.evolve(spec, shape=spec.shape[1:], ranges=spec.ranges[1:]) for spec in signature.inputs])
    return attrs.evolve(signature, inputs=inputs, gears=None)


def _check_axes(role: str, specs: Sequence[TensorSpec], label: str) -> None:
    for index, spec in enumerate(specs):
        if not spec.shape or spec.shape[0] == 0:
            raise InvalidArgument(
                f"{role} {index} ({spec.name!r}) of {label} has shape {list(spec.shape)}, so it has no batch axis; "
                "run the model on whole inputs with infer()"
            )


def _counts(specs: Sequence[TensorSpec], label: str) -> Counts:
    """Return the numbers of rows that all inputs of a model without gears take."""
    limits = list(map(_limits, specs))
    low, high = max(pair[0] for pair in limits), min(pair[1] for pair in limits)
    if low > high:
        listed = ", ".join(f"{spec.name} {list(spec.shape)}" for spec in specs)
        raise InvalidArgument(f"the inputs of {label} ({listed}) have no batch in common; run it with infer()")
    return [low] if any(spec.shape[0] > 0 for spec in specs) else range(low, high + 1)


def _limits(spec: TensorSpec) -> tuple[int, int]:
    size = spec.shape[0]
    low, high = (size, size) if size > 0 else spec.ranges[0] if spec.ranges else (1, -1)
    return max(low, 1), high if high >= 0 else 1 << 31


def _check_outputs(signature: ModelSignature, counts: Counts, label: str) -> None:
    """Refuse outputs of which it is known that they do not have a row an item."""
    for rows, shapes in _known_outputs(signature, counts):
        for spec, shape in zip(signature.outputs, shapes, strict=True):
            if not shape or shape[0] not in (rows, -1):
                raise InvalidArgument(
                    f"output {spec.name!r} of {label} has shape {list(shape)} where the inputs have {rows} rows, so it "
                    "has no row an item; run the model on whole inputs with infer()"
                )


def _known_outputs(signature: ModelSignature, counts: Counts) -> Iterator[tuple[int, Sequence[Shape]]]:
    gears, shapes = signature.gears, [spec.shape for spec in signature.outputs]
    if gears is None:
        yield from ((rows, shapes) for rows in dict.fromkeys((counts[0], counts[-1])))
    else:
        pairs = zip(gears.inputs, gears.outputs, strict=True)
        yield from ((inputs[0][0], outputs) for inputs, outputs in pairs if _is_common(inputs))


def _is_common(inputs: Sequence[Shape]) -> bool:
    return all(shape[:1] == inputs[0][:1] for shape in inputs) and inputs[0][0] > 0


def _is_of(shape: Shape, item: Shape) -> bool:
    return shape[1:] == item
