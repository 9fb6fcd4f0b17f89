"""Descriptions of models: what they take and give."""

from __future__ import annotations

from operator import index
from typing import TYPE_CHECKING, Any

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
    "get_input_size_by_index",
    "get_num_inputs",
    "get_num_outputs",
    "get_output_data_type",
    "get_output_dims",
    "get_output_format",
    "get_output_size_by_index",
    "input_at",
    "output_at",
)

descs: Handles[Described] = Handles("model desc", INVALID_PARAM)


@plain(0)
def create_desc() -> int:
    """Make a description, to be filled by `get_desc`.

    Returns:
        The handle.

    Source: aclmdlCreateDesc.
    """
    return descs.add(Described())


@code_alone
def destroy_desc(model_desc: int, /) -> int:
    """Destroy a description.

    Args:
        model_desc: the description.

    Returns:
        0; 100000 if it is none.

    Source: aclmdlDestroyDesc.
    """
    descs.take(model_desc)
    return 0


@code_alone
def get_desc(model_desc: int, model_id: int, /) -> int:
    """Fill a description with what a loaded model takes and gives; it stays good after the model was unloaded.

    Args:
        model_desc: of `create_desc`; what was in it is replaced.
        model_id: the model.

    Returns:
        0; 100000 if it is no description; 145003 if there is no such model (any more).

    Source: aclmdlGetDesc.
    """
    descs.get(model_desc)
    loaded = models.get(model_id)
    descs.replace(model_desc, Described.of(loaded.model.signature, index(model_id), loaded.choice))
    return 0


@code_alone
def get_desc_from_file(model_desc: int, model_path: str, /) -> int:
    """Fill a description from an ``.om`` file, which is not loaded.

    Args:
        model_desc: of `create_desc`; what was in it is replaced.
        model_path: the ``.om`` file.

    Returns:
        0; 100000 if it is no description; other codes as ``load_from_file``.

    Source: aclmdlGetDescFromFile.
    """
    descs.get(model_desc)
    descs.replace(model_desc, Described.of(read_signature(read_file(model_path))))
    return 0


@code_alone
def get_desc_from_mem(model_desc: int, model_ptr: int, model_size: int, /) -> int:
    """Fill a description from a model in memory, which is not loaded.

    Args:
        model_desc: of `create_desc`; what was in it is replaced.
        model_ptr: address of the model in memory of the host or the device.
        model_size: bytes there.

    Returns:
        0; 100000 if it is no description; other codes as ``load_from_mem``.

    Source: aclmdlGetDescFromMem.
    """
    descs.get(model_desc)
    descs.replace(model_desc, Described.of(read_signature(read_memory(model_ptr, model_size))))
    return 0


def input_at(handle: int, position: int) -> Place:
    """Return an input of a description by its position."""
    return place_at(descs.get(handle).inputs, index(position), "input")


def output_at(handle: int, position: int) -> Place:
    """Return an output of a description by its position."""
    return place_at(descs.get(handle).outputs, index(position), "output")


@plain(0)
def get_num_inputs(model_desc: int, /) -> int:
    """Return how many inputs there are, hidden ones too.

    Args:
        model_desc: a description that `get_desc`, or a sibling of it, filled.

    Returns:
        The number; 0 if it is no description, or not filled.

    Source: aclmdlGetNumInputs.
    """
    return len(descs.get(model_desc).inputs)


@plain(0)
def get_num_outputs(model_desc: int, /) -> int:
    """Return how many outputs there are.

    Args:
        model_desc: a description that `get_desc`, or a sibling of it, filled.

    Returns:
        The number; 0 if it is no description, or not filled.

    Source: aclmdlGetNumOutputs.
    """
    return len(descs.get(model_desc).outputs)


@plain(0)
def get_input_size_by_index(model_desc: int, index: int, /) -> int:
    """Return how many bytes an input takes, enough for every gear.

    Args:
        model_desc: a description that `get_desc`, or a sibling of it, filled.
        index: the input's position.

    Returns:
        The bytes; 0 where a dim is free, or if there is no such input.

    Source: aclmdlGetInputSizeByIndex.
    """
    return input_at(model_desc, index).nbytes


@plain(0)
def get_output_size_by_index(model_desc: int, index: int, /) -> int:
    """Return how many bytes an output takes, enough for every gear.

    Args:
        model_desc: a description that `get_desc`, or a sibling of it, filled.
        index: the output's position.

    Returns:
        The bytes; 0 where a dim is free, or if there is no such output.

    Source: aclmdlGetOutputSizeByIndex.
    """
    return output_at(model_desc, index).nbytes


@with_code({})
def get_input_dims(model_desc: int, index: int, /) -> tuple[dict[str, Any], int]:
    """Return the dims of an input.

    Args:
        model_desc: a description that `get_desc`, or a sibling of it, filled.
        index: the input's position.

    Returns:
        ({"name", "dimCount", "dims"}, 0), -1 where a dim is free; of an input with AIPP the pictures' batch, height,
        width and channels, of which all but the batch are -1 for dynamic AIPP; ({}, 100000) if there is no such input.

    Source: aclmdlGetInputDims.
    """
    aipp, place = _aipp(model_desc, index), input_at(model_desc, index)
    return dims_of(place.name, place.spec.shape if aipp is None else picture_dims(aipp, place.spec)), 0


@with_code({})
def get_input_dims_v2(model_desc: int, index: int, /) -> tuple[dict[str, Any], int]:
    """Return what `get_input_dims` does; but of an input with static AIPP the dims that come out of AIPP.

    Args:
        model_desc: a description that `get_desc`, or a sibling of it, filled.
        index: the input's position.

    Returns:
        ({"name", "dimCount", "dims"}, 0); ({}, 100000) if there is no such input.

    Source: aclmdlGetInputDimsV2.
    """
    aipp = _aipp(model_desc, index)
    if aipp is None or aipp.settings is None:
        return get_input_dims(model_desc, index)
    return dims_of(input_at(model_desc, index).name, aipp.spec.shape), 0


def _aipp(handle: int, position: int) -> aacl.models.Aipp | None:
    """Return the AIPP of an input, None if it has none."""
    signature, place = descs.get(handle).signature, index(position)
    return None if signature is None else aipp_at(signature, place)


@with_code({})
def get_output_dims(model_desc: int, index: int, /) -> tuple[dict[str, Any], int]:
    """Return the dims of an output.

    Args:
        model_desc: a description that `get_desc`, or a sibling of it, filled.
        index: the output's position.

    Returns:
        ({"name", "dimCount", "dims"}, 0), the dims those of the largest gear, -1 where the run decides; ({}, 100000) if
        there is no such output.

    Source: aclmdlGetOutputDims.
    """
    return _dims(output_at(model_desc, index)), 0


def _dims(place: Place) -> dict[str, Any]:
    return dims_of(place.name, place.spec.shape)


@with_code({})
def get_cur_output_dims(model_desc: int, index: int, /) -> tuple[dict[str, Any], int]:
    """Return the dims of an output in the gear that was chosen last, the largest if none was.

    Args:
        model_desc: a description that `get_desc`, or a sibling of it, filled.
        index: the output's position.

    Returns:
        ({"name", "dimCount", "dims"}, 0), of a model with fixed shapes too; ({}, 200001) of one with free dims, which
        are known after a run only (`get_dataset_tensor_desc`); ({}, 100000) if there is no such output.

    Source: aclmdlGetCurOutputDims.
    """
    desc, place = descs.get(model_desc), output_at(model_desc, index)
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
def get_input_dims_range(model_desc: int, index: int, /) -> tuple[dict[str, Any], int]:
    """Return between which sizes the dims of an input may be, where the model takes ranges.

    Args:
        model_desc: a description that `get_desc`, or a sibling of it, filled.
        index: the input's position.

    Returns:
        ({"rangeCount", "range"}, 0): a [min, max] for every dim, max -1 without limit, both the same where the dim is
        fixed; none for a model of fixed shapes or with gears; ({}, 100000) if there is no such input.

    Source: aclmdlGetInputDimsRange.
    """
    desc, spec = descs.get(model_desc), input_at(model_desc, index).spec
    pairs = _ranges(spec) if desc.is_ranged else []
    return {"rangeCount": len(pairs), "range": pairs}, 0


def _ranges(spec: aacl.models.TensorSpec) -> list[list[int]]:
    ranges = spec.ranges or ((0, -1),) * len(spec.shape)
    return [[dim, dim] if dim >= 0 else list(pair) for dim, pair in zip(spec.shape, ranges, strict=True)]


@plain(-1)
def get_input_format(model_desc: int, index: int, /) -> int:
    """Return the format of an input.

    Args:
        model_desc: a description that `get_desc`, or a sibling of it, filled.
        index: the input's position.

    Returns:
        An ``aclFormat``; -1 if there is no such input.

    Source: aclmdlGetInputFormat.
    """
    return int(input_at(model_desc, index).spec.format)


@plain(-1)
def get_output_format(model_desc: int, index: int, /) -> int:
    """Return the format of an output.

    Args:
        model_desc: a description that `get_desc`, or a sibling of it, filled.
        index: the output's position.

    Returns:
        An ``aclFormat``; -1 if there is no such output.

    Source: aclmdlGetOutputFormat.
    """
    return int(output_at(model_desc, index).spec.format)


@plain(-1)
def get_input_data_type(model_desc: int, index: int, /) -> int:
    """Return the data type of an input.

    Args:
        model_desc: a description that `get_desc`, or a sibling of it, filled.
        index: the input's position.

    Returns:
        An ``aclDataType``; -1 if there is no such input.

    Source: aclmdlGetInputDataType.
    """
    return int(input_at(model_desc, index).spec.dtype)


@plain(-1)
def get_output_data_type(model_desc: int, index: int, /) -> int:
    """Return the data type of an output.

    Args:
        model_desc: a description that `get_desc`, or a sibling of it, filled.
        index: the output's position.

    Returns:
        An ``aclDataType``; -1 if there is no such output.

    Source: aclmdlGetOutputDataType.
    """
    return int(output_at(model_desc, index).spec.dtype)
