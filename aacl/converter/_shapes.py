"""The dims that ``--input_shape`` states, and how they meet the model's own. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from aacl.converter._reports import InvalidOption, Unconvertible

__all__ = ("Dims", "ModelDims", "describe_dims", "fixed_shape", "normalized_shapes", "parse_input_shape")

_LARGEST = 2**63 - 1  # of a dim in an ONNX file

Dims = tuple[int, ...]
ModelDims = tuple[int | str | None, ...]
"""A model's dims: a number, a symbol, or None where nothing is stated."""


def parse_input_shape(text: str) -> dict[str, Dims]:
    """Read ``name:1,3,224,224;other:4``; the last ``:`` of an item splits, ``name:`` is a scalar.

    Blanks around names and numbers are dropped, and so is a ``;`` at the end.

    Raises:
        InvalidOption: an item without ``:``, a name given twice, or a dim that is no positive number.
        Unconvertible: a free dim (``-1`` or ``low~high``).
    """
    items = [item.strip() for item in text.strip().rstrip(";").split(";")]
    shapes: dict[str, Dims] = {}
    for item in items:
        name, colon, dims = item.rpartition(":")
        name = name.strip()
        if not colon or not name:
            raise InvalidOption("E10002", f"--input_shape={text!r}: item {item!r} is not of the form name:dim,dim,...")
        if name in shapes:
            raise InvalidOption("E10002", f"--input_shape={text!r} names input {name!r} twice; name it once")
        shapes[name] = _parse_dims(name, dims)
    return shapes


def normalized_shapes(shapes: str | Mapping[str, Sequence[int]] | None) -> dict[str, Dims]:
    """Return the dims by name from either form: the command line's text, or a mapping."""
    if shapes is None:
        return {}
    if isinstance(shapes, str):
        return parse_input_shape(shapes)
    return {name: tuple(_checked_dim(name, int(dim), str(dim)) for dim in dims) for name, dims in shapes.items()}


def fixed_shape(name: str, own: ModelDims | None, given: Dims | None) -> Dims | None:
    """Return an input's dims, or None when neither the model nor the option states them all.

    Raises:
        InvalidOption: the option's rank differs from the model's, or a dim from a fixed one.
    """
    if given is None:
        return None if own is None or not all(_is_fixed(dim) for dim in own) else tuple(int(dim or 0) for dim in own)
    if own is not None:
        _check_against_model(name, own, given)
    return given


def _check_against_model(name: str, own: ModelDims, given: Dims) -> None:
    stated = describe_dims(own)
    if len(own) != len(given):
        raise InvalidOption(
            "E10001",
            f"--input_shape gives input {name!r} {len(given)} dims {list(given)}, and the model states {len(own)}: {stated}",
        )
    for axis, (mine, theirs) in enumerate(zip(own, given, strict=True)):
        if _is_fixed(mine) and mine != theirs:
            raise InvalidOption(
                "E10001",
                f"--input_shape gives dim {axis} of input {name!r} as {theirs}, and the model fixes it at {mine}: {stated}",
            )


def describe_dims(dims: ModelDims | None) -> str:
    """Return dims as text, symbols by name and unknown ones as ``?``."""
    return "of unknown rank" if dims is None else "[" + ", ".join("?" if d is None else str(d) for d in dims) + "]"


def _is_fixed(dim: int | str | None) -> bool:
    return isinstance(dim, int) and dim > 0


def _parse_dims(name: str, text: str) -> Dims:
    words = [word.strip() for word in text.split(",")] if text.strip() else []
    return tuple(_parse_dim(name, word) for word in words)


def _parse_dim(name: str, word: str) -> int:
    if "~" in word:
        raise Unconvertible(
            "E10055", f"--input_shape gives input {name!r} the range {word}; ranges are not converted yet"
        )
    try:
        value = int(word)
    except ValueError:
        raise InvalidOption(
            "E10002", f"--input_shape gives input {name!r} the dim {word!r}, which is no whole number"
        ) from None
    return _checked_dim(name, value, word)


def _checked_dim(name: str, value: int, word: str) -> int:
    if value == -1:
        raise Unconvertible(
            "E10055", f"--input_shape leaves a dim of input {name!r} free (-1); free dims are not converted yet"
        )
    if value > _LARGEST:
        raise InvalidOption("E10013", f"--input_shape gives input {name!r} the dim {word}; {_LARGEST} is the largest")
    if value <= 0:
        raise InvalidOption("E10011", f"--input_shape gives input {name!r} the dim {word}, which is not above zero")
    return value
