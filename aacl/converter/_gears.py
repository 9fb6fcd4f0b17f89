"""Gears: the sizes that ``--dynamic_batch_size``, ``--dynamic_image_size`` and ``--dynamic_dims`` list. Pure.

Source: the public ATC pages of the three options, and the public error table for
the codes. The gears' numbers go where ``--input_shape`` has -1.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, SupportsIndex

import attrs

from aacl.converter._reports import InvalidOption
from aacl.converter._shapes import ANY, Dims, whole_number
from aacl.models._signature import GearKind

__all__ = ("GearList", "GivenGears", "check_gear_dims", "gear_list", "gear_shapes")

_HIDDEN_INPUT = "ascend_mbatch_shape_data"
"""``ACL_DYNAMIC_TENSOR_NAME``: the input that the runtime adds to models with gears."""
_FEWEST, _MOST = 2, 100
_LARGEST = 2**31 - 1  # programs give the gear of a run as 32 bits
_IMAGE_AXES = {"NCHW": (2, 3), "NHWC": (1, 2)}

GivenGears = str | Sequence[SupportsIndex] | Sequence[Sequence[SupportsIndex]]
"""Gears as a caller gives them: the option's text, or numbers (batches), or groups of numbers."""
Shape = tuple[int, ...]


@attrs.frozen
class GearList:
    """The gears of one option, in the order given."""

    kind: GearKind
    values: tuple[Shape, ...]

    @property
    def option(self) -> str:
        """The option's name."""
        return self.kind.value


def gear_list(given: Mapping[GearKind, GivenGears | None]) -> GearList | None:
    """Return the gears that one of the three options lists, None where none is given.

    Raises:
        InvalidOption: two of the options (E10009), text that is no number (E10014), a number beyond 32 bits
            (E10013), a pair that is none (E10020), fewer than 2 gears (E10035), more than 100 (E10036), different
            lengths (E10037), a number that is not above zero (E10038), or a gear given twice (E10039).
    """
    stated = [(kind, gears) for kind, gears in given.items() if gears is not None]
    if not stated:
        return None
    if len(stated) > 1:
        names = " and ".join(f"--{kind.value}" for kind, _ in stated)
        raise InvalidOption("E10009", f"{names} exclude each other")
    kind, gears = stated[0]
    found = GearList(kind, tuple(_groups(kind, gears)))
    _check_values(found)
    return found


def check_gear_dims(gears: GearList, dims: Mapping[str, Dims], input_format: str) -> None:
    """Check that the inputs' free dims are where the gears go.

    Raises:
        InvalidOption: an input with the name of the hidden one, or a range beside gears (E10001), no free dim (E10031, E10040), one in another place (E10018,
            E10019), a layout that the option does not take (E10001), or gears with another number of sizes than
            there are free dims (E10045, E10046).
    """
    if _HIDDEN_INPUT in dims:
        raise InvalidOption(
            "E10001",
            f"a model with gears has an input {_HIDDEN_INPUT!r} of its own, which tells the gear; rename the model's input",
        )
    for name, spans in dims.items():
        for axis, span in enumerate(spans):
            if not span.is_fixed and span != ANY:
                raise InvalidOption(
                    "E10001", f"dim {axis} of input {name!r} is the range {span}; with --{gears.option} it must be -1"
                )
    free = {name: [axis for axis, span in enumerate(spans) if not span.is_fixed] for name, spans in dims.items()}
    if not any(free.values()):
        code = "E10031" if gears.kind is GearKind.BATCH else "E10040"
        raise InvalidOption(code, f"--{gears.option} sets the dims that --input_shape gives as -1, and it gives none")
    _CHECKS[gears.kind](gears, dims, free, input_format)


def gear_shapes(gears: GearList, dims: Sequence[Dims]) -> tuple[tuple[Shape, ...], ...]:
    """Return for each gear the shape of every input, in the inputs' order."""
    return tuple(tuple(_shapes_of(gears.kind, gear, dims)) for gear in gears.values)


def _shapes_of(kind: GearKind, gear: Shape, dims: Sequence[Dims]) -> Iterator[Shape]:
    sizes = iter(gear)
    for spans in dims:
        if kind is not GearKind.DIMS:
            sizes = iter(gear)  # every input has the same batch, or picture
        yield tuple(span.low if span.is_fixed else next(sizes) for span in spans)


def _groups(kind: GearKind, gears: GivenGears) -> Iterator[Shape]:
    if isinstance(gears, str):
        text = gears.strip().rstrip(",;")
        groups = text.split("," if kind is GearKind.BATCH else ";")
        yield from (tuple(_number(kind, gears, word) for word in group.split(",")) for group in groups)
    else:
        groups_given: list[Sequence[Any]] = [gear if isinstance(gear, tuple | list) else [gear] for gear in gears]
        yield from (tuple(_number(kind, gears, size) for size in group) for group in groups_given)


def _number(kind: GearKind, gears: GivenGears, size: SupportsIndex | str) -> int:
    try:
        return whole_number(size)
    except (TypeError, ValueError):
        found = size.strip() if isinstance(size, str) else size
        raise InvalidOption("E10014", f"--{kind.value}={gears!r}: {found!r} is no whole number") from None


def _check_values(gears: GearList) -> None:
    values, option = gears.values, gears.option
    if gears.kind is not GearKind.DIMS:
        size, what = (1, "a batch") if gears.kind is GearKind.BATCH else (2, "height,width")
        wrong = next((gear for gear in values if len(gear) != size), None)
        if wrong is not None:
            raise InvalidOption("E10020", f"--{option} has the gear {_text(wrong)!r}; a gear is {what}")
    if len(values) < _FEWEST:
        raise InvalidOption("E10035", f"--{option} has {len(values)} gear; it takes {_FEWEST} to {_MOST}")
    if len(values) > _MOST:
        raise InvalidOption("E10036", f"--{option} has {len(values)} gears; it takes {_FEWEST} to {_MOST}")
    if len({len(gear) for gear in values}) > 1:
        lengths = ", ".join(f"{_text(gear)!r} has {len(gear)}" for gear in values)
        raise InvalidOption("E10037", f"--{option} has gears of different lengths: {lengths}")
    for place, gear in enumerate(values):
        if min(gear, default=0) <= 0:
            raise InvalidOption("E10038", f"--{option} has the gear {_text(gear)!r}; every number must be above zero")
        if max(gear) > _LARGEST:
            raise InvalidOption("E10013", f"--{option} has the gear {_text(gear)!r}; {_LARGEST} is the largest number")
        if gear in values[:place]:
            raise InvalidOption("E10039", f"--{option} has the gear {_text(gear)!r} twice")


def _check_batch(gears: GearList, dims: Mapping[str, Dims], free: Mapping[str, list[int]], _input_format: str) -> None:
    for name, axes in free.items():
        if axes not in ([], [0]):
            raise InvalidOption(
                "E10018",
                f"--input_shape gives input {name!r} [{', '.join(map(str, dims[name]))}]; with --{gears.option} only "
                "dim 0, the batch, may be -1",
            )


def _check_image(gears: GearList, dims: Mapping[str, Dims], free: Mapping[str, list[int]], input_format: str) -> None:
    if input_format not in _IMAGE_AXES:
        raise InvalidOption(
            "E10001", f"--{gears.option} needs --input_format NCHW or NHWC, and {input_format} was given"
        )
    wanted = _IMAGE_AXES[input_format]
    for name, axes in free.items():
        if axes and (len(dims[name]) != 4 or tuple(axes) != wanted):
            raise InvalidOption(
                "E10019",
                f"--input_shape gives input {name!r} [{', '.join(map(str, dims[name]))}]; with --{gears.option} an "
                f"input has 4 dims, and height and width, dims {wanted[0]} and {wanted[1]} in {input_format}, are -1",
            )


def _check_dims(gears: GearList, _dims: Mapping[str, Dims], free: Mapping[str, list[int]], input_format: str) -> None:
    if input_format != "ND":
        raise InvalidOption("E10001", f"--{gears.option} needs --input_format=ND, and {input_format} was given")
    count, given = sum(map(len, free.values())), len(gears.values[0])
    if given != count:
        places = ", ".join(f"{name} at {axis}" for name, axes in free.items() for axis in axes)
        code = "E10045" if given > count else "E10046"
        raise InvalidOption(
            code, f"--{gears.option} has {given} sizes a gear, and --input_shape has {count} dims of -1: {places}"
        )


_CHECKS = {GearKind.BATCH: _check_batch, GearKind.SIZE: _check_image, GearKind.DIMS: _check_dims}


def _text(gear: Shape) -> str:
    return ",".join(map(str, gear))
