"""Which shapes a model takes: all fixed, those of its gears, or any within its ranges. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aacl._number import whole
from aacl.errors import InvalidArgument, ModelInputMismatch

if TYPE_CHECKING:
    from collections.abc import Sequence

    from aacl.models._signature import Gears, ModelSignature, Range, TensorSpec
    from aacl.tensors._desc import TensorDesc

__all__ = ("check_shapes", "described", "exact", "fits", "gear_of", "listed_gears")

Shape = tuple[int, ...]


def check_shapes(signature: ModelSignature, shapes: Sequence[Shape], label: str) -> int | None:
    """Return the position of the gear that these input shapes are, None for a model without gears.

    Args:
        signature: the model's.
        shapes: of every input, in order.
        label: what the model is called in errors.

    Raises:
        ModelInputMismatch: the model was not converted for them; the text has the input's name, the shape, and
            the gears or the range.
    """
    gears = signature.gears
    for index, (spec, shape) in enumerate(zip(signature.inputs, shapes, strict=True)):
        if not fits(spec, shape) or (gears is not None and all(shape != each[index] for each in gears.inputs)):
            raise ModelInputMismatch(
                f"input {index} ({spec.name!r}) of {label} takes {described(spec, gears)}; {list(shape)} was given"
            )
    return None if gears is None else gear_of(signature, gears, shapes, label)


def gear_of(signature: ModelSignature, gears: Gears, shapes: Sequence[Shape], label: str) -> int:
    """Return the position of the gear whose inputs have these shapes, all of them together.

    Raises:
        ModelInputMismatch: there is none.
    """
    wanted = tuple(shapes)
    for position, each in enumerate(gears.inputs):
        if each == wanted:
            return position
    given = ", ".join(f"{spec.name!r} {list(shape)}" for spec, shape in zip(signature.inputs, shapes, strict=True))
    raise ModelInputMismatch(
        f"the inputs of {label} are of no gear together: {given} were given; {listed_gears(gears)}"
    )


def fits(spec: TensorSpec, shape: Shape) -> bool:
    """Whether a shape has the fixed dims of a place, and free ones within their ranges; -1 in it may be any."""
    if len(shape) != len(spec.shape):
        return False
    ranges = spec.ranges or ((0, -1),) * len(shape)
    return all(
        dim == -1 or (dim == wanted if wanted >= 0 else low <= dim and (high < 0 or dim <= high))
        for dim, wanted, (low, high) in zip(shape, spec.shape, ranges, strict=True)
    )


def exact(shape: object, label: str) -> Shape:
    """Return an exact shape that a program gave; ``label`` is what the model is called in errors.

    Raises:
        ModelInputMismatch: it is no sequence of whole numbers from 0 on.
    """
    try:
        dims = tuple([whole(dim, "a dim") for dim in shape])  # type: ignore[attr-defined]
        if min(dims, default=0) >= 0:
            return dims
    except (TypeError, InvalidArgument):
        pass
    raise ModelInputMismatch(
        f"an exact shape of an input of {label} is a sequence of whole numbers from 0 on; {shape!r} was given"
    )


def described(spec: TensorSpec | TensorDesc, gears: Gears | None) -> str:
    """Return what shapes a place takes, in words."""
    text = f"shape {list(spec.shape)}"
    if gears is not None:
        return f"{text}; {listed_gears(gears)}"
    free = [
        f"dim {place} from {_range(pair)}"
        for place, (dim, pair) in enumerate(zip(spec.shape, spec.ranges, strict=False))
        if dim < 0
    ]
    return f"{text} ({', '.join(free)})" if free else text


def _range(pair: Range) -> str:
    low, high = pair
    return f"{low} to {high}" if high >= 0 else f"{low} on"


def listed_gears(gears: Gears) -> str:
    """Return the gears, in words."""
    listed = [str(each[0]) if len(each) == 1 else str(list(each)) for each in gears.values]
    return f"its gears are {', '.join(listed)} ({gears.kind.value})"
