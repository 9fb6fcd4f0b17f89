"""Variants: a model at exact input shapes, as a run needs it.

A model of fixed shapes has one variant, a model with gears one a gear, a model
with ranges one a shape that it was given; of those the ones not used for
longest are let go. What a run costs is learned a variant.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import TYPE_CHECKING

from aacl.models._shapes import check_shapes, fits
from aacl.streams._budget import UNKNOWN, Cost
from aacl.tensors._desc import TensorDesc
from aacl.tensors._tensor import Maker

if TYPE_CHECKING:
    from collections.abc import Sequence

    from aacl.abc import ModelEngine
    from aacl.memory._space import DeviceMemory
    from aacl.models._signature import ModelSignature, TensorSpec

__all__ = ("Variant", "Variants")

_LIMIT = 128

Shape = tuple[int, ...]
Shapes = tuple[Shape, ...]


class Variant:
    """A model at exact input shapes.

    Attributes:
        inputs: a description each.
        arrays: the shape and the NumPy dtype of each input.
        outputs: a description each, with free dims where only a run tells.
        input_makers: make new inputs.
        output_makers: make new outputs; None where only a run tells the shape.
        is_exact: whether every output's shape is known.
        cost: of a run from tensors to tensors.
        inference_cost: of a run from host arrays to host arrays.
    """

    __slots__ = ("arrays", "cost", "inference_cost", "input_makers", "inputs", "is_exact", "output_makers", "outputs")

    def __init__(self, memory: DeviceMemory, inputs: tuple[TensorDesc, ...], outputs: tuple[TensorDesc, ...]) -> None:
        self.inputs, self.outputs = inputs, outputs
        self.arrays = tuple([(desc.shape, desc.dtype.numpy_dtype) for desc in inputs])
        self.is_exact = all(desc.is_static for desc in outputs)
        self.input_makers = tuple([_maker(memory, desc) for desc in inputs])
        self.output_makers = tuple([_maker(memory, desc) if desc.is_static else None for desc in outputs])
        self.cost, self.inference_cost = Cost(UNKNOWN), Cost(UNKNOWN)


class Variants:
    """The variants of one model.

    Attributes:
        only: the variant of a model whose inputs are all fixed, else None.
        is_fixed: whether its outputs are fixed too.
        late: descriptions of the outputs while the inputs' exact shapes are not known yet.
        late_cost: of a run whose inputs' exact shapes are not known when it is submitted.
    """

    __slots__ = ("_engine", "_known", "_label", "_lock", "_memory", "_signature", "is_fixed", "late", "late_cost",
                 "only")  # fmt: skip

    def __init__(self, signature: ModelSignature, engine: ModelEngine, label: str, memory: DeviceMemory) -> None:
        self._signature, self._engine, self._label, self._memory = signature, engine, label, memory
        self._lock = threading.Lock()
        self._known: OrderedDict[Shapes, Variant] = OrderedDict()
        self.late, self.late_cost = _late(signature), Cost(UNKNOWN)
        self.only: Variant | None = None
        if all(spec.is_static for spec in signature.inputs):
            self.only = self.find(tuple([spec.shape for spec in signature.inputs]))
        self.is_fixed = self.only is not None and self.only.is_exact

    def find(self, shapes: Shapes) -> Variant:
        """Return the variant for inputs of these shapes.

        Raises:
            ModelInputMismatch: the model was not converted for them.
        """
        variant = self._known.get(shapes)
        if variant is None:
            variant = self._made(shapes)
        with self._lock:
            variant = self._known.setdefault(shapes, variant)
            self._known.move_to_end(shapes)
            if len(self._known) > _LIMIT:
                self._known.popitem(last=False)
        return variant

    def early(self, variant: Variant) -> list[TensorDesc]:
        """Return the outputs whose shapes the model leaves open and a variant knows before it runs."""
        places = zip(variant.outputs, self.late, strict=True)
        return [desc for desc, free in places if desc.is_static and not free.is_static]

    def _made(self, shapes: Shapes) -> Variant:
        signature = self._signature
        gear = check_shapes(signature, shapes, self._label)
        inputs = tuple([_desc(spec, shape) for spec, shape in zip(signature.inputs, shapes, strict=True)])
        found = self._found(gear, shapes)
        outputs = tuple([_output(spec, shape) for spec, shape in zip(signature.outputs, found, strict=True)])
        return Variant(self._memory, inputs, outputs)

    def _found(self, gear: int | None, shapes: Shapes) -> Sequence[Shape | None]:
        """Return the outputs' shapes, None where only a run tells."""
        signature = self._signature
        if signature.gears is not None and gear is not None:
            return signature.gears.outputs[gear]
        if all(spec.is_static for spec in signature.outputs):
            return [spec.shape for spec in signature.outputs]
        return self._engine.shapes(shapes)


def _maker(memory: DeviceMemory, desc: TensorDesc) -> Maker:
    """Return what makes tensors in blocks at most an eighth too large, of sizes that many shapes share.

    So runs of ever new shapes find blocks again.
    """
    step = 1 << max(desc.nbytes.bit_length() - 4, 0)
    return Maker(memory, desc, max(-(-desc.nbytes // step) * step, 1))


def _desc(spec: TensorSpec, shape: Shape) -> TensorDesc:
    return TensorDesc.of(spec.dtype, shape, spec.format)


def _output(spec: TensorSpec, shape: Shape | None) -> TensorDesc:
    """Return the description of an output; what is known beforehand is believed where it agrees with the signature."""
    if shape is None or -1 in shape or (not spec.is_static and not fits(spec, shape)):
        return TensorDesc.of(spec.dtype, spec.shape, spec.format, ranges=spec.ranges)
    return _desc(spec, shape)


def _late(signature: ModelSignature) -> tuple[TensorDesc, ...]:
    """Return what is known of the outputs before the inputs' shapes are."""
    gears = signature.gears
    if gears is None:
        return tuple([_output(spec, spec.shape) for spec in signature.outputs])
    places = zip(signature.outputs, zip(*gears.outputs, strict=True), strict=True)
    return tuple([_hull(spec, shapes) for spec, shapes in places])


def _hull(spec: TensorSpec, shapes: Sequence[Shape]) -> TensorDesc:
    """Return the description that has an output of any gear within its ranges."""
    sizes = list(zip(*shapes, strict=True))
    dims = tuple([each[0] if len(set(each)) == 1 else -1 for each in sizes])
    ranges = tuple([(max(min(each), 0), -1 if -1 in each else max(each)) for each in sizes])
    return TensorDesc.of(spec.dtype, dims, spec.format, ranges=() if -1 not in dims else ranges)
