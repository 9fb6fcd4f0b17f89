"""What descriptions of models hold."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

from aacl.errors import InvalidArgument
from acl.mdl._hidden import hidden_inputs
from acl.mdl._pictures import as_described

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import aacl

__all__ = ("Choice", "Described", "Place", "dims_of", "place_at")

_NAME_MOST = 127  # ACL_MAX_TENSOR_NAME_LEN counts the null byte


class Choice:
    """Which gear of a model was chosen last; the model and the descriptions made from it share one.

    Attributes:
        gear: its position; None before one was chosen.
    """

    __slots__ = ("gear",)

    def __init__(self) -> None:
        self.gear: int | None = None


class Place(NamedTuple):
    """One input or output.

    Attributes:
        spec: what it is.
        name: the one that programs get: one that is too long for them is replaced.
        nbytes: how many bytes it takes at most; 0 where that depends on the run.
    """

    spec: aacl.models.TensorSpec
    name: str
    nbytes: int


class Described(NamedTuple):
    """A description; without places until it is filled.

    Attributes:
        inputs: the model's own, then the hidden ones.
        outputs: in order.
        signature: of the model; None until it is filled.
        model_id: of the model; 0 for one that was only looked at.
        choice: which gear was chosen last.
    """

    inputs: tuple[Place, ...] = ()
    outputs: tuple[Place, ...] = ()
    signature: aacl.models.ModelSignature | None = None
    model_id: int = 0
    choice: Choice | None = None

    @classmethod
    def of(cls, signature: aacl.models.ModelSignature, model_id: int = 0, choice: Choice | None = None) -> Described:
        """Describe a model."""
        signature = as_described(signature)
        gears = signature.gears
        inputs = _places(signature.inputs, None if gears is None else gears.inputs, model_id, "input")
        outputs = _places(signature.outputs, None if gears is None else gears.outputs, model_id, "output")
        hidden = [Place(spec, spec.name, spec.nbytes) for spec in hidden_inputs(signature)]
        return cls((*inputs, *hidden), tuple(outputs), signature, model_id, choice)

    @property
    def gears(self) -> aacl.models.Gears | None:
        """The model's gears."""
        return None if self.signature is None else self.signature.gears

    @property
    def is_ranged(self) -> bool:
        """Whether shapes depend on the run, and not on gears."""
        signature = self.signature
        return signature is not None and signature.gears is None and not signature.is_static

    def gear(self) -> int:
        """Return the position of the gear that was chosen last: the largest before one was; 0 without gears."""
        if self.gears is None:
            return 0
        chosen = None if self.choice is None else self.choice.gear
        return self.gears.largest if chosen is None else chosen


def dims_of(name: str, shape: Sequence[int]) -> dict[str, Any]:
    """Return dims as programs get them; they may write to it."""
    return {"name": name, "dimCount": len(shape), "dims": list(shape)}


def _places(
    specs: Sequence[aacl.models.TensorSpec],
    gears: Sequence[Sequence[tuple[int, ...]]] | None,
    model_id: int,
    what: str,
) -> Iterator[Place]:
    for position, spec in enumerate(specs):
        nbytes = spec.nbytes if gears is None else _most(spec, [gear[position] for gear in gears])
        yield Place(spec, _given_name(spec.name, model_id, what, position), nbytes)


def _most(spec: aacl.models.TensorSpec, shapes: Sequence[tuple[int, ...]]) -> int:
    """Return the bytes that are enough in every gear; 0 where a run decides."""
    if any(dim < 0 for shape in shapes for dim in shape):
        return 0
    return max(map(math.prod, shapes)) * spec.dtype.itemsize


def _given_name(name: str, model_id: int, what: str, position: int) -> str:
    if len(name.encode()) <= _NAME_MOST:
        return name
    import hashlib

    return f"acl_modelId_{model_id}_{what}_{position}_{hashlib.sha256(name.encode()).hexdigest()[:8]}"


def place_at(places: tuple[Place, ...], place: int, what: str) -> Place:
    """Return an input or output by position; raises `InvalidArgument` if there is none."""
    if not 0 <= place < len(places):
        raise InvalidArgument(f"there is no {what} {place}; the description has {len(places)} of them")
    return places[place]
