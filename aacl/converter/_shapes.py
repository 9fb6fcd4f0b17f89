"""The dims that ``--input_shape`` and ``--input_shape_range`` state, and how they meet the model's own. Pure.

Source: the public ATC pages of both options. A dim is a number, ``-1`` (any size
from 0 on) or ``low~high``; inputs are named, or stand in the model's order.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from operator import index
from typing import Any, NamedTuple, NoReturn, SupportsIndex

import attrs

from aacl.converter._reports import InvalidOption

__all__ = (
    "Dims",
    "GivenShapes",
    "ModelDims",
    "Span",
    "StatedShapes",
    "describe_dims",
    "normalized_shapes",
    "stated_dims",
    "whole_number",
)

_LARGEST = 2**63 - 1  # of a dim in an ONNX file
_WHOLE = re.compile("-?[0-9]+")


class Span(NamedTuple):
    """The sizes that one dim may have.

    Attributes:
        low: the smallest size.
        high: the largest size; -1 without limit.
    """

    low: int
    high: int

    @property
    def is_fixed(self) -> bool:
        """Whether there is one size only."""
        return self.low == self.high

    def __str__(self) -> str:
        if self.is_fixed:
            return str(self.low)
        return "-1" if self == ANY else f"{self.low}~{self.high}"


ANY = Span(0, -1)

Dims = tuple[Span, ...]
ModelDims = tuple[int | str | None, ...]
"""A model's dims: a number, a symbol, or None where nothing is stated."""
GivenDims = Sequence[SupportsIndex | str | Sequence[SupportsIndex]]
GivenShapes = str | Mapping[str, GivenDims] | Sequence[GivenDims]
"""Shapes as a caller gives them: the option's text, or dims by name, or in the inputs' order."""


@attrs.frozen
class StatedShapes:
    """What an option states.

    Attributes:
        option: the option's name, for texts.
        named: the dims of inputs by name.
        ordered: the dims of the first inputs, where no names are given.
    """

    option: str
    named: Mapping[str, Dims] = attrs.field(factory=dict)
    ordered: tuple[Dims, ...] = ()

    def by_name(self, inputs: Sequence[str]) -> dict[str, Dims]:
        """Return the dims by name.

        Raises:
            InvalidOption: there are more shapes than inputs.
        """
        if len(self.ordered) > len(inputs):
            raise InvalidOption(
                "E10002",
                f"--{self.option} gives {len(self.ordered)} shapes without names, and the model has {len(inputs)} "
                f"inputs: {', '.join(map(repr, inputs))}",
            )
        return dict(self.named) | dict(zip(inputs, self.ordered, strict=False))


@attrs.frozen
class _Option:
    """One of the two options: its name, and the codes of its errors."""

    name: str
    syntax: str
    rank: str
    fixed: str


_OPTIONS = {
    option.name: option
    for option in (
        _Option("input_shape", syntax="E10002", rank="E10001", fixed="E10001"),
        _Option("input_shape_range", syntax="E10048", rank="E10049", fixed="E10050"),
    )
}


def normalized_shapes(shapes: GivenShapes | None, name: str = "input_shape") -> StatedShapes:
    """Return the dims of either option in any form.

    As text: ``name:1,3,224,224;other:4``, or without any name. The last ``:`` of an item splits,
    ``name:`` is a scalar, blanks around names and numbers are dropped, and so is a ``;`` at the end;
    ``--input_shape_range`` writes dims in brackets.

    Raises:
        InvalidOption: an item that is none, a name given twice, or a dim that is neither a positive
            number, -1 nor a range.
    """
    option = _OPTIONS[name]
    if shapes is None:
        return StatedShapes(name)
    if isinstance(shapes, str):
        return _parse(option, shapes)
    if isinstance(shapes, Mapping):
        return StatedShapes(name, {key: _dims(option, f"input {key!r}", dims) for key, dims in shapes.items()})
    return StatedShapes(name, ordered=tuple(_dims(option, f"input {place}", dims) for place, dims in enumerate(shapes)))


def stated_dims(option: str, name: str, own: ModelDims | None, given: Dims | None) -> Dims | None:
    """Return an input's dims, or None when neither the model nor the option states them all.

    Raises:
        InvalidOption: the option's rank differs from the model's, or a dim from a fixed one.
    """
    if given is None:
        fixed = [dim for dim in own or () if isinstance(dim, int) and dim > 0]
        return None if own is None or len(fixed) < len(own) else tuple(Span(dim, dim) for dim in fixed)
    if own is not None:
        _check_against_model(_OPTIONS[option], name, own, given)
    return given


def describe_dims(dims: ModelDims | None) -> str:
    """Return dims as text, symbols by name and unknown ones as ``?``."""
    return "of unknown rank" if dims is None else "[" + ", ".join("?" if d is None else str(d) for d in dims) + "]"


def _parse(option: _Option, text: str) -> StatedShapes:
    stripped = text.strip().rstrip(";")
    if ":" not in stripped:
        items = re.split(_separator(option), stripped)
        return StatedShapes(option.name, ordered=tuple(_ordered(option, text, item.strip()) for item in items))
    named: dict[str, Dims] = {}
    for item in stripped.split(";"):
        name, colon, dims = item.strip().rpartition(":")
        name = name.strip()
        if not colon or not name:
            _refuse_item(option, text, item)
        if name in named:
            raise InvalidOption(option.syntax, f"--{option.name}={text!r} names input {name!r} twice; name it once")
        named[name] = _dims(option, f"input {name!r}", _words(option, text, dims.strip()))
    return StatedShapes(option.name, named)


def _separator(option: _Option) -> str:
    """What lies between shapes without names: those in brackets may also follow one another after a comma."""
    return ";" if option.name == "input_shape" else r";|(?<=\])\s*,"


def _ordered(option: _Option, text: str, item: str) -> Dims:
    if not item:
        _refuse_item(option, text, item)
    return _dims(option, f"the input at {item!r}", _words(option, text, item))


def _words(option: _Option, text: str, dims: str) -> list[str]:
    if option.name == "input_shape_range":
        if not (dims.startswith("[") and dims.endswith("]")):
            _refuse_item(option, text, dims)
        dims = dims[1:-1]
    return dims.split(",") if dims.strip() else []


def _refuse_item(option: _Option, text: str, item: str) -> NoReturn:
    form = "dim,dim,..." if option.name == "input_shape" else "[low~high,dim,...]"
    raise InvalidOption(
        option.syntax,
        f"--{option.name}={text!r}: item {item!r} is not of the form name:{form}; give every input's name, or none",
    )


def _dims(option: _Option, where: str, dims: GivenDims) -> Dims:
    return tuple(_dim(option, where, dim) for dim in dims)


def _dim(option: _Option, where: str, dim: SupportsIndex | str | Sequence[SupportsIndex]) -> Span:
    bounds: Sequence[Any] = dim.split("~", 1) if isinstance(dim, str) else [dim]
    if isinstance(dim, tuple | list):
        bounds = dim
    numbers = [_number(option, where, bound) for bound in bounds]
    return _span(option, f"--{option.name} gives {where}", numbers, dim)


def whole_number(given: SupportsIndex | str) -> int:
    """Return a number, or that of a text: digits after at most one minus, as the real tool reads it, not as Python does.

    Raises:
        TypeError, ValueError: it is none.
    """
    if isinstance(given, str) and not _WHOLE.fullmatch(given.strip()):
        raise ValueError(given)
    return int(given) if isinstance(given, str) else index(given)


def _number(option: _Option, where: str, given: SupportsIndex | str) -> int:
    try:
        return whole_number(given)
    except (TypeError, ValueError):
        found = given.strip() if isinstance(given, str) else given
        raise InvalidOption(
            option.syntax, f"--{option.name} gives {where} the dim {found!r}, which is no whole number"
        ) from None


def _span(option: _Option, start: str, bounds: Sequence[int], given: object) -> Span:
    if max(bounds, default=0) > _LARGEST:
        raise InvalidOption("E10013", f"{start} the dim {given}; {_LARGEST} is the largest")
    if list(bounds) == [-1]:
        return ANY
    if len(bounds) == 1 or (len(bounds) == 2 and bounds[0] == bounds[1]):
        if bounds[0] <= 0:
            raise InvalidOption("E10011", f"{start} the dim {given}, which is not above zero")
        return Span(bounds[0], bounds[0])
    if len(bounds) != 2 or bounds[0] < 0 or (bounds[1] != -1 and bounds[1] < bounds[0]):
        raise InvalidOption(
            option.syntax, f"{start} the range {given}; it takes low~high with 0 <= low <= high, or low~-1"
        )
    return Span(*bounds)


def _check_against_model(option: _Option, name: str, own: ModelDims, given: Dims) -> None:
    stated = describe_dims(own)
    if len(own) != len(given):
        raise InvalidOption(
            option.rank,
            f"--{option.name} gives input {name!r} {len(given)} dims [{', '.join(map(str, given))}], and the model "
            f"states {len(own)}: {stated}",
        )
    for axis, (mine, theirs) in enumerate(zip(own, given, strict=True)):
        if isinstance(mine, int) and mine > 0 and theirs != Span(mine, mine):
            raise InvalidOption(
                option.fixed,
                f"--{option.name} gives dim {axis} of input {name!r} as {theirs}, and the model fixes it at {mine}: "
                f"{stated}; a dim must be free in the model to be free here",
            )
