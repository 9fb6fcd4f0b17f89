"""What a model is called with, checked against its signature."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from aacl.errors import InvalidArgument, ModelInputMismatch, ModelOutputMismatch
from aacl.models._late import is_late
from aacl.models._shapes import described, exact, fits
from aacl.streams._completion import Completion
from aacl.tensors._tensor import Tensor

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from aacl.abc import Array
    from aacl.memory._space import DeviceMemory
    from aacl.models._signature import ModelSignature, TensorSpec
    from aacl.models._variant import Variant, Variants
    from aacl.tensors._desc import TensorDesc

__all__ = ("Arguments",)

_HOST = -1
"""The device number of tensors on host memory."""


class Arguments:
    """The places for a model's inputs and outputs."""

    __slots__ = ("_label", "_memory", "_names", "_signature", "_variants")

    def __init__(self, signature: ModelSignature, label: str, memory: DeviceMemory, variants: Variants) -> None:
        self._signature, self._label, self._memory, self._variants = signature, label, memory, variants
        self._names = tuple(spec.name for spec in signature.inputs)

    def tensors(self, given: tuple[Any, ...], named: Mapping[str, object]) -> tuple[tuple[Tensor, ...], Variant | None]:
        """Return the input tensors in order, and the variant for their shapes.

        Completions stand for what their commands make. The variant is None while an exact shape is not known.

        Raises:
            ModelInputMismatch: one is missing, too many, of another dtype or shape, no tensor, or not on the device.
        """
        if named or len(given) != len(self._names):
            given = self.in_order(given, named)
        memory, variant = self._memory, self._variants.only
        if variant is not None:
            for tensor, wanted in zip(given, variant.inputs, strict=True):
                if type(tensor) is not Tensor or tensor._space is not memory:
                    break
                desc = tensor.desc
                if desc is not wanted and (desc.shape != wanted.shape or desc.dtype is not wanted.dtype):
                    break
            else:
                if not memory.unsettled or not any(map(is_late, given)):
                    return given, variant
        tensors = tuple([self._checked_input(index, each) for index, each in enumerate(given)])
        if any(map(is_late, tensors)):
            return tensors, None
        return tensors, variant or self._variants.find(tuple([each.desc.shape for each in tensors]))

    def results(
        self, out: Tensor | Sequence[Tensor | None], inputs: Sequence[Tensor], variant: Variant | None
    ) -> tuple[Tensor | None, ...]:
        """Return the output tensors given, in order; None among them stands for a new one.

        Raises:
            ModelOutputMismatch: one is missing, too many, of another dtype or shape, too small, no tensor, or not
                on the device; or its memory is also an input's or another output's.
        """
        specs = self._signature.outputs
        if not isinstance(out, (Tensor, tuple, list)):
            raise ModelOutputMismatch(
                f"out= of {self._label} is a tensor, or a list or tuple with one for each output ({_listed(specs)}), "
                f"not a {type(out).__name__}"
            )
        tensors = (out,) if isinstance(out, Tensor) else tuple(out)
        if len(tensors) != len(specs):
            raise ModelOutputMismatch(
                f"{self._label} has {len(specs)} outputs ({_listed(specs)}); {len(tensors)} were given to write"
            )
        descs = self._variants.late if variant is None else variant.outputs
        taken = list(inputs)
        for index, (desc, tensor) in enumerate(zip(descs, tensors, strict=True)):
            if tensor is None:
                continue
            if not isinstance(tensor, Tensor) or tensor.dtype is not desc.dtype or not self._has_room(tensor, desc):
                raise ModelOutputMismatch(self._wrong("output", index, desc, tensor))
            self._check_place(f"output {index} ({specs[index].name!r})", tensor, ModelOutputMismatch)
            self._check_apart(index, tensor, taken)
            taken.append(tensor)
        return tensors

    def _has_room(self, tensor: Tensor, desc: TensorDesc) -> bool:
        """Whether a tensor may be written: of the exact shape, or, of a model with several, as large at least."""
        if self._variants.is_fixed:
            return tensor.shape == desc.shape
        return tensor.capacity >= desc.nbytes

    def arrays(self, given: tuple[Any, ...], named: Mapping[str, object]) -> tuple[Sequence[Array], Variant]:
        """Return host arrays in order, and the variant for their shapes.

        Plain numbers and lists get the dtype of their place.

        Raises:
            ModelInputMismatch: one is missing, too many, no array, or of another dtype or shape.
        """
        if named or len(given) != len(self._names):
            given = self.in_order(given, named)
        variant = self._variants.only
        if variant is not None:
            for array, (shape, dtype) in zip(given, variant.arrays, strict=True):
                if type(array) is not np.ndarray or array.shape != shape or array.dtype != dtype:
                    break
            else:
                return given, variant
        arrays = self.hosts(given)
        return arrays, variant or self._variants.find(tuple([each.shape for each in arrays]))

    def hosts(self, given: tuple[Any, ...], named: Mapping[str, object] | None = None) -> list[Array]:
        """Return host arrays in order, of any shapes within the inputs' ranges; raises what `arrays` raises."""
        if named or len(given) != len(self._names):
            given = self.in_order(given, named or {})
        return [self._array(index, each) for index, each in enumerate(given)]

    def shapes(self, given: Sequence[Sequence[int]]) -> tuple[tuple[int, ...], ...]:
        """Return exact shapes, one an input in order.

        Raises:
            ModelInputMismatch: one is missing, too many, or no shape.
        """
        if len(given) != len(self._names):
            raise ModelInputMismatch(f"{self._label} has {len(self._names)} inputs; {len(given)} shapes were given")
        return tuple([exact(shape, self._label) for shape in given])

    def in_order(self, given: tuple[Any, ...], named: Mapping[str, object]) -> tuple[Any, ...]:
        """Return what was given by order and by name in the model's order.

        Raises:
            ModelInputMismatch: one is missing, or too many.
        """
        left = dict(named)
        placed = list(given)
        placed += [left.pop(name) for name in self._names[len(given) :] if name in left]
        for name in left:
            why = "was given by order too" if name in self._names else "is none of them"
            raise ModelInputMismatch(f"{self._label} takes {_listed(self._signature.inputs)}; {name!r} {why}")
        if len(placed) != len(self._names):
            missing = [name for name in self._names[len(given) :] if name not in named]
            lacking = f", {', '.join(map(repr, missing))} missing" if missing else ""
            raise ModelInputMismatch(
                f"{self._label} takes {len(self._names)} inputs ({_listed(self._signature.inputs)}); "
                f"{len(placed)} were given{lacking}"
            )
        return tuple(placed)

    def _checked_input(self, index: int, given: object) -> Tensor:
        tensor, spec = self._tensor(index, given), self._signature.inputs[index]
        if not fits(spec, tensor.shape) or tensor.dtype is not spec.dtype:
            raise ModelInputMismatch(self._wrong("input", index, spec, tensor))
        self._check_place(f"input {index} ({self._names[index]!r})", tensor, ModelInputMismatch)
        return tensor

    def _tensor(self, index: int, given: object) -> Tensor:
        place = f"input {index} ({self._names[index]!r}) of {self._label}"
        if isinstance(given, Tensor):
            return given
        if isinstance(given, Completion):
            try:
                return given.output
            except AttributeError as error:
                raise ModelInputMismatch(f"{place} is a tensor, or the completion that makes one: {error}") from None
        raise ModelInputMismatch(
            f"{place} is a tensor, not a {type(given).__name__}; copy a host array there first "
            "(await stream.to_device(array)), or pass host arrays to 'await model.infer(...)'"
        )

    def _array(self, index: int, given: object) -> Array:
        spec = self._signature.inputs[index]
        if isinstance(given, (Tensor, Completion)):
            raise ModelInputMismatch(
                f"infer() of {self._label} takes host arrays; input {index} ({spec.name!r}) is a "
                f"{type(given).__name__}: pass device tensors to 'stream.execute(model(...))'"
            )
        try:
            array = np.asarray(given)
            if not isinstance(given, (np.ndarray, np.generic)) and not hasattr(given, "__array__"):
                array = _converted(array, spec.dtype.numpy_dtype)
        except (TypeError, ValueError, OverflowError) as error:
            raise ModelInputMismatch(
                f"input {index} ({spec.name!r}) of {self._label} is no array of {spec.dtype.name}: {error}"
            ) from None
        if not fits(spec, array.shape) or array.dtype != spec.dtype.numpy_dtype:
            raise ModelInputMismatch(self._wrong("input", index, spec, array))
        return array

    def _check_place(self, place: str, tensor: Tensor, mismatch: type[InvalidArgument]) -> None:
        if tensor.device_index not in (self._memory.index, _HOST):
            raise mismatch(
                f"{place} of {self._label} is on device {tensor.device_index}; copy it to device {self._memory.index} "
                "with stream.copy"
            )

    def _check_apart(self, index: int, written: Tensor, others: Sequence[Tensor]) -> None:
        """Refuse memory that is also read, or written twice: a model reads inputs after it wrote outputs."""
        start, end = written.address, written.address + written.capacity
        for other in others:
            if start < other.address + other.capacity and other.address < end:
                raise ModelOutputMismatch(
                    f"{self._label} would write output {index} ({self._signature.outputs[index].name!r}) over "
                    f"{other!r}, which it uses too; give each input and output memory of its own"
                )

    def _wrong(self, role: str, index: int, wanted: TensorSpec | TensorDesc, given: Any) -> str:
        found = (
            f"{_dtype_name(given.dtype)} of shape {list(given.shape)} ({given.nbytes} bytes)"
            if hasattr(given, "nbytes")
            else f"a {type(given).__name__}"
        )
        gears = self._signature.gears if role == "input" else None
        size = f" ({wanted.nbytes} bytes)" if wanted.is_static else ""
        spec = (self._signature.inputs if role == "input" else self._signature.outputs)[index]
        return (
            f"{role} {index} ({spec.name!r}) of {self._label} is {wanted.dtype.name} of "
            f"{described(wanted, gears)}{size}; {found} was given"
        )


def _listed(specs: Sequence[TensorSpec]) -> str:
    return ", ".join(f"{spec.name} {spec.dtype.name} {list(spec.shape)}" for spec in specs) or "none"


def _dtype_name(dtype: Any) -> str:
    order = "" if getattr(dtype, "isnative", True) else " in foreign byte order"
    return getattr(dtype, "name", str(dtype)) + order


def _converted(array: Array, dtype: np.dtype[Any]) -> Array:
    """Return plain numbers as a dtype; floating-point types round them, others have each exactly.

    Raises:
        TypeError: they are no numbers.
        OverflowError, ValueError: the dtype does not have one of them.
    """
    if array.dtype == dtype:
        return array
    is_complex = dtype.kind == "c"
    # V: the small floats, which NumPy does not know
    if array.size and array.dtype.kind not in ("biufcV" if is_complex else "biufV"):
        raise TypeError(f"it comes out as {array.dtype}, which it does not take")
    with np.errstate(all="ignore"):
        found = array.astype(dtype)
        if dtype.kind in "biu":
            kept = found.astype(array.dtype) == array
        else:
            wide = np.complex128 if is_complex else np.float64
            kept = np.isfinite(found.astype(wide)) == np.isfinite(array.astype(wide))
    if not np.all(kept):
        raise ValueError(f"{array[~kept].flat[0]} is none of its values")
    return found
