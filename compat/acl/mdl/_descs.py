"""Descriptions of models: what they take and give."""

from __future__ import annotations

from operator import index
from typing import TYPE_CHECKING, Any, NamedTuple

from aacl.errors import InvalidArgument
from acl._handles import Handles
from acl._status import API_NOT_SUPPORTED, INVALID_PARAM, Refused, code_alone, plain, with_code
from acl.mdl._load import read_file, read_memory, read_signature
from acl.mdl._models import models

if TYPE_CHECKING:
    import aacl

__all__ = (
    "check_desc",
    "create_desc",
    "destroy_desc",
    "get_cur_output_dims",
    "get_desc",
    "get_desc_from_file",
    "get_desc_from_mem",
    "get_input_data_type",
    "get_input_dims",
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

_NAME_MOST = 127  # ACL_MAX_TENSOR_NAME_LEN counts the null byte


class _Place(NamedTuple):
    """One input or output, by the name that programs get: one that is too long for them is replaced."""

    spec: aacl.models.TensorSpec
    name: str

    @classmethod
    def of(cls, spec: aacl.models.TensorSpec, model_id: int, what: str, position: int) -> _Place:
        name = spec.name
        if len(name.encode()) > _NAME_MOST:
            import hashlib

            name = f"acl_modelId_{model_id}_{what}_{position}_{hashlib.sha256(name.encode()).hexdigest()[:8]}"
        return cls(spec, name)

    def dims(self) -> dict[str, Any]:
        shape = list(self.spec.shape)
        return {"name": self.name, "dimCount": len(shape), "dims": shape}


class _Desc(NamedTuple):
    """A description; without places until it is filled."""

    inputs: tuple[_Place, ...] = ()
    outputs: tuple[_Place, ...] = ()

    @classmethod
    def of(cls, signature: aacl.models.ModelSignature, model_id: int = 0) -> _Desc:
        return cls(
            tuple(_Place.of(spec, model_id, "input", position) for position, spec in enumerate(signature.inputs)),
            tuple(_Place.of(spec, model_id, "output", position) for position, spec in enumerate(signature.outputs)),
        )


_descs: Handles[_Desc] = Handles("model desc", INVALID_PARAM)


@plain(0)
def create_desc() -> int:
    """Return the handle of a new description, to be filled by `get_desc`."""
    return _descs.add(_Desc())


@code_alone
def destroy_desc(model_desc: int) -> int:
    """Destroy a description. Returns 0; 100000 if it is none."""
    _descs.take(model_desc)
    return 0


@code_alone
def get_desc(model_desc: int, model_id: int) -> int:
    """Fill a description with what a loaded model takes and gives; it stays good after the model was unloaded.

    Returns:
        0; 100000 if it is no description; 145003 if there is no such model (any more).
    """
    _descs.get(model_desc)
    _descs.replace(model_desc, _Desc.of(models.get(model_id).model.signature, index(model_id)))
    return 0


@code_alone
def get_desc_from_file(model_desc: int, model_path: str) -> int:
    """Fill a description from an ``.om`` file. Returns 0; 100000 if it is none; else as ``load_from_file``."""
    _descs.get(model_desc)
    _descs.replace(model_desc, _Desc.of(read_signature(read_file(model_path))))
    return 0


@code_alone
def get_desc_from_mem(model_desc: int, model_ptr: int, model_size: int) -> int:
    """Fill a description from a model in memory. Returns 0; 100000 if it is none; else as ``load_from_mem``."""
    _descs.get(model_desc)
    _descs.replace(model_desc, _Desc.of(read_signature(read_memory(model_ptr, model_size))))
    return 0


def _input(handle: int, position: int) -> _Place:
    return _place(_descs.get(handle).inputs, position, "input")


def _output(handle: int, position: int) -> _Place:
    return _place(_descs.get(handle).outputs, position, "output")


def _place(places: tuple[_Place, ...], position: int, what: str) -> _Place:
    place = index(position)
    if not 0 <= place < len(places):
        raise InvalidArgument(f"there is no {what} {place}; the description has {len(places)} of them")
    return places[place]


@plain(0)
def get_num_inputs(model_desc: int) -> int:
    """Return how many inputs there are; 0 if it is no description, or not filled."""
    return len(_descs.get(model_desc).inputs)


@plain(0)
def get_num_outputs(model_desc: int) -> int:
    """Return how many outputs there are; 0 if it is no description, or not filled."""
    return len(_descs.get(model_desc).outputs)


@plain(0)
def get_input_size_by_index(model_desc: int, index: int) -> int:
    """Return the bytes of an input; 0 where a dim is free, or if there is no such input."""
    return _input(model_desc, index).spec.nbytes


@plain(0)
def get_output_size_by_index(model_desc: int, index: int) -> int:
    """Return the bytes of an output; 0 where a dim is free, or if there is no such output."""
    return _output(model_desc, index).spec.nbytes


@with_code({})
def get_input_dims(model_desc: int, index: int) -> tuple[dict[str, Any], int]:
    """Return ({"name", "dimCount", "dims"}, 0) of an input, -1 where a dim is free; ({}, 100000) if there is none."""
    return _input(model_desc, index).dims(), 0


@with_code({})
def get_input_dims_v2(model_desc: int, index: int) -> tuple[dict[str, Any], int]:
    """Return what `get_input_dims` does: the two differ for static AIPP only, which this device has not yet."""
    return _input(model_desc, index).dims(), 0


@with_code({})
def get_output_dims(model_desc: int, index: int) -> tuple[dict[str, Any], int]:
    """Return ({"name", "dimCount", "dims"}, 0) of an output, -1 where a dim is free; ({}, 100000) if there is none."""
    return _output(model_desc, index).dims(), 0


@with_code({})
def get_cur_output_dims(model_desc: int, index: int) -> tuple[dict[str, Any], int]:
    """Return the dims of an output in the next run, as `get_output_dims` gives them.

    Returns:
        ({}, 200001) where they depend on the run; ({}, 100000) if there is no such output.
    """
    place = _output(model_desc, index)
    if not place.spec.is_static:
        raise Refused(API_NOT_SUPPORTED, f"the dims of output {index} ({place.name}) are known after a run only")
    return place.dims(), 0


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
    return _position(_descs.get(model_desc).inputs, name, "input"), 0


@with_code(0)
def get_output_index_by_name(model_desc: int, name: str) -> tuple[int, int]:
    """Return (position, 0) of the output of a name; (0, 100000) if there is none."""
    return _position(_descs.get(model_desc).outputs, name, "output"), 0


def _position(places: tuple[_Place, ...], name: str, what: str) -> int:
    if not isinstance(name, str):
        raise TypeError(f"argument 2 must be str, not {type(name).__name__}")
    for position, place in enumerate(places):
        if name in (place.name, place.spec.name):
            return position
    raise InvalidArgument(
        f"there is no {what} {name!r}; there are {', '.join(place.name for place in places) or 'none'}"
    )


@plain("")
def get_tensor_real_name(model_desc: int, name: str) -> str:
    """Return the name that a replaced one stands for, or the name itself; empty if there is no such input or output."""
    desc = _descs.get(model_desc)
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


def check_desc(model_desc: int) -> None:
    """Raise `Refused` if it is no description."""
    _descs.get(model_desc)
