"""Descriptions of models: what they take and give."""

from __future__ import annotations

from operator import index
from typing import TYPE_CHECKING, Any

from aacl.errors import InvalidArgument
from acl._handles import Handles
from acl._status import API_NOT_SUPPORTED, INVALID_PARAM, Refused, code_alone, plain, with_code
from acl.mdl._described import Described, Place, dims_of, place_at
from acl.mdl._load import read_file, read_memory, read_signature
from acl.mdl._models import models
from acl.mdl._pictures import aipp_at, picture_dims

if TYPE_CHECKING:
    import aacl

__all__ = (
    "create_desc",
    "descs",
    "destroy_desc",
    "get_cur_output_dims",
    "get_desc",
    "get_desc_from_file",
    "get_desc_from_mem",
    "get_input_data_type",
    "get_input_dims",
    "get_input_dims_range",
    "get_input_dims_v2",
    "get_input_format",
    "get_input_index_by_name",
    "get_input_name_by_index",
    "get_input_size_by_index",
    "get_num_inputs",
    "get_num_outputs",
    "get_output_data_type",
    "get_output_dims",
    "get_output_format",
    "get_output_index_by_name",
    "get_output_name_by_index",
    "get_output_size_by_index",
    "get_tensor_real_name",
)

descs: Handles[Described] = Handles("model desc", INVALID_PARAM)


@plain(0)
def create_desc() -> int:
    """Return the handle of a new description, to be filled by `get_desc`."""
    return descs.add(Described())


@code_alone
def destroy_desc(model_desc: int) -> int:
    """Destroy a description. Returns 0; 100000 if it is none."""
    descs.take(model_desc)
    return 0


@code_alone
def get_desc(model_desc: int, model_id: int) -> int:
    """Fill a description with what a loaded model takes and gives; it stays good after the model was unloaded.

    Returns:
        0; 100000 if it is no description; 145003 if there is no such model (any more).
    """
    descs.get(model_desc)
    loaded = models.get(model_id)
    descs.replace(model_desc, Described.of(loaded.model.signature, index(model_id), loaded.choice))
    return 0


@code_alone
def get_desc_from_file(model_desc: int, model_path: str) -> int:
    """Fill a description from an ``.om`` file. Returns 0; 100000 if it is none; else as ``load_from_file``."""
    descs.get(model_desc)
    descs.replace(model_desc, Described.of(read_signature(read_file(model_path))))
    return 0


@code_alone
def get_desc_from_mem(model_desc: int, model_ptr: int, model_size: int) -> int:
    """Fill a description from a model in memory. Returns 0; 100000 if it is none; else as ``load_from_mem``."""
    descs.get(model_desc)
    descs.replace(model_desc, Described.of(read_signature(read_memory(model_ptr, model_size))))
    return 0


def _input(handle: int, position: int) -> Place:
    return place_at(descs.get(handle).inputs, index(position), "input")


def _output(handle: int, position: int) -> Place:
    return place_at(descs.get(handle).outputs, index(position), "output")


@plain(0)
def get_num_inputs(model_desc: int) -> int:
    """Return how many inputs there are, hidden ones too; 0 if it is no description, or not filled."""
    return len(descs.get(model_desc).inputs)


@plain(0)
def get_num_outputs(model_desc: int) -> int:
    """Return how many outputs there are; 0 if it is no description, or not filled."""
    return len(descs.get(model_desc).outputs)


@plain(0)
def get_input_size_by_index(model_desc: int, index: int) -> int:
    """Return the bytes of an input, enough for every gear; 0 where a dim is free, or if there is no such input."""
    return _input(model_desc, index).nbytes


@plain(0)
def get_output_size_by_index(model_desc: int, index: int) -> int:
    """Return the bytes of an output, enough for every gear; 0 where a dim is free, or if there is no such output."""
    return _output(model_desc, index).nbytes


@with_code({})
def get_input_dims(model_desc: int, index: int) -> tuple[dict[str, Any], int]:
    """Return the dims of an input.

    Returns:
        ({"name", "dimCount", "dims"}, 0), -1 where a dim is free; of an input with AIPP the pictures' batch, height,
        width and channels, of which all but the batch are -1 for dynamic AIPP; ({}, 100000) if there is no such input.
    """
    aipp, place = _aipp(model_desc, index), _input(model_desc, index)
    return dims_of(place.name, place.spec.shape if aipp is None else picture_dims(aipp, place.spec)), 0


@with_code({})
def get_input_dims_v2(model_desc: int, index: int) -> tuple[dict[str, Any], int]:
    """Return what `get_input_dims` does; but of an input with static AIPP the dims that come out of AIPP."""
    aipp = _aipp(model_desc, index)
    if aipp is None or aipp.settings is None:
        return get_input_dims(model_desc, index)
    return dims_of(_input(model_desc, index).name, aipp.spec.shape), 0


def _aipp(handle: int, position: int) -> aacl.models.Aipp | None:
    """Return the AIPP of an input, None if it has none."""
    signature, place = descs.get(handle).signature, index(position)
    return None if signature is None else aipp_at(signature, place)


@with_code({})
def get_output_dims(model_desc: int, index: int) -> tuple[dict[str, Any], int]:
    """Return ({"name", "dimCount", "dims"}, 0) of an output.

    Dims are those of the largest gear; -1 where the run decides; ({}, 100000) if there is no such output.
    """
    return _dims(_output(model_desc, index)), 0


def _dims(place: Place) -> dict[str, Any]:
    return dims_of(place.name, place.spec.shape)


@with_code({})
def get_cur_output_dims(model_desc: int, index: int) -> tuple[dict[str, Any], int]:
    """Return the dims of an output in the gear that was chosen last, the largest if none was.

    Returns:
        ({"name", "dimCount", "dims"}, 0), of a model with fixed shapes too; ({}, 200001) of one with free dims, which
        are known after a run only (`get_dataset_tensor_desc`); ({}, 100000) if there is no such output.
    """
    desc, place = descs.get(model_desc), _output(model_desc, index)
    if desc.is_ranged:
        raise Refused(
            API_NOT_SUPPORTED,
            f"the dims of output {index} ({place.name}) are known after a run only; the output dataset has them then "
            "(acl.mdl.get_dataset_tensor_desc)",
        )
    gears = desc.gears
    shape = place.spec.shape if gears is None else gears.outputs[desc.gear()][index]
    return dims_of(place.name, shape), 0


@with_code({})
def get_input_dims_range(model_desc: int, index: int) -> tuple[dict[str, Any], int]:
    """Return between which sizes the dims of an input may be, where the model takes ranges.

    Returns:
        ({"rangeCount", "range"}, 0): a [min, max] for every dim, max -1 without limit, both the same where the dim is
        fixed; none for a model of fixed shapes or with gears; ({}, 100000) if there is no such input.
    """
    desc, spec = descs.get(model_desc), _input(model_desc, index).spec
    pairs = _ranges(spec) if desc.is_ranged else []
    return {"rangeCount": len(pairs), "range": pairs}, 0


def _ranges(spec: aacl.models.TensorSpec) -> list[list[int]]:
    ranges = spec.ranges or ((0, -1),) * len(spec.shape)
    return [[dim, dim] if dim >= 0 else list(pair) for dim, pair in zip(spec.shape, ranges, strict=True)]


@plain("")
def get_input_name_by_index(model_desc: int, index: int) -> str:
    """Return an input's name, its ONNX name; empty if there is no such input."""
    return _input(model_desc, index).name


@plain("")
def get_output_name_by_index(model_desc: int, index: int) -> str:
    """Return an output's name, ``node:index:ONNX name``; empty if there is no such output."""
    return _output(model_desc, index).name


@with_code(0)
def get_input_index_by_name(model_desc: int, name: str) -> tuple[int, int]:
    """Return (position, 0) of the input of a name; (0, 100000) if there is none."""
    return _position(descs.get(model_desc).inputs, name, "input"), 0


@with_code(0)
def get_output_index_by_name(model_desc: int, name: str) -> tuple[int, int]:
    """Return (position, 0) of the output of a name; (0, 100000) if there is none."""
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
    if not isinstance(name, str):
        raise TypeError(f"argument 2 must be str, not {type(name).__name__}")


@plain("")
def get_tensor_real_name(model_desc: int, name: str) -> str:
    """Return the name that a replaced one stands for, or the name itself; empty if there is no such input or output."""
    desc = descs.get(model_desc)
    _check_name(name)
    for place in (*desc.inputs, *desc.outputs):
        if name in (place.name, place.spec.name):
            return place.spec.name
    raise InvalidArgument(f"there is no input or output {name!r}")


@plain(-1)
def get_input_format(model_desc: int, index: int) -> int:
    """Return an input's ``aclFormat``; -1 if there is no such input."""
    return int(_input(model_desc, index).spec.format)


@plain(-1)
def get_output_format(model_desc: int, index: int) -> int:
    """Return an output's ``aclFormat``; -1 if there is no such output."""
    return int(_output(model_desc, index).spec.format)


@plain(-1)
def get_input_data_type(model_desc: int, index: int) -> int:
    """Return an input's ``aclDataType``; -1 if there is no such input."""
    return int(_input(model_desc, index).spec.dtype)


@plain(-1)
def get_output_data_type(model_desc: int, index: int) -> int:
    """Return an output's ``aclDataType``; -1 if there is no such output."""
    return int(_output(model_desc, index).spec.dtype)
