"""Names of the inputs and outputs of models."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aacl.errors import InvalidArgument
from acl._arguments import check_text
from acl._status import plain, with_code
from acl.mdl._descs import descs, input_at, output_at

if TYPE_CHECKING:
    from acl.mdl._described import Place

__all__ = (
    "get_input_index_by_name",
    "get_input_name_by_index",
    "get_output_index_by_name",
    "get_output_name_by_index",
    "get_tensor_real_name",
)


@plain("")
def get_input_name_by_index(model_desc: int, index: int, /) -> str:
    """Return the ONNX name of an input.

    Args:
        model_desc: a description that `get_desc`, or a sibling of it, filled.
        index: the input's position.

    Returns:
        The name; empty if there is no such input.

    Source: aclmdlGetInputNameByIndex.
    """
    return input_at(model_desc, index).name


@plain("")
def get_output_name_by_index(model_desc: int, index: int, /) -> str:
    """Return the name of an output.

    Args:
        model_desc: a description that `get_desc`, or a sibling of it, filled.
        index: the output's position.

    Returns:
        The name, ``node:index:ONNX name``; empty if there is no such output.

    Source: aclmdlGetOutputNameByIndex.
    """
    return output_at(model_desc, index).name


@with_code(0)
def get_input_index_by_name(model_desc: int, name: str, /) -> tuple[int, int]:
    """Return the position of an input.

    Args:
        model_desc: a description that `get_desc`, or a sibling of it, filled.
        name: its ONNX name.

    Returns:
        (position, 0); (0, 100000) if there is no such input, or it is no description.

    Source: aclmdlGetInputIndexByName.
    """
    return _position(descs.get(model_desc).inputs, name, "input"), 0


@with_code(0)
def get_output_index_by_name(model_desc: int, name: str, /) -> tuple[int, int]:
    """Return the position of an output.

    Args:
        model_desc: a description that `get_desc`, or a sibling of it, filled.
        name: its name, ``node:index:ONNX name``, or the ONNX name alone.

    Returns:
        (position, 0); (0, 100000) if there is no such output, or it is no description.

    Source: aclmdlGetOutputIndexByName.
    """
    return _position(descs.get(model_desc).outputs, name, "output"), 0


def _position(places: tuple[Place, ...], name: str, what: str) -> int:
    _check_name(name)
    for position, place in enumerate(places):
        if name in (place.name, place.spec.name):
            return position
    raise InvalidArgument(
        f"there is no {what} {name!r}; there are {', '.join(place.name for place in places) or 'none'}"
    )


def _check_name(name: object) -> None:
    check_text(name, 2)


@plain("")
def get_tensor_real_name(model_desc: int, name: str, /) -> str:
    """Return the name that a replaced one stands for, or the name itself.

    Args:
        model_desc: a description that `get_desc`, or a sibling of it, filled.
        name: of an input or an output.

    Returns:
        The name; empty if there is no such input or output.

    Source: aclmdlGetTensorRealName.
    """
    desc = descs.get(model_desc)
    _check_name(name)
    for place in (*desc.inputs, *desc.outputs):
        if name in (place.name, place.spec.name):
            return place.spec.name
    raise InvalidArgument(f"there is no input or output {name!r}")
