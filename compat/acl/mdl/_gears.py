"""Gears: the sizes that a model was converted for, and which of them the next run has."""

from __future__ import annotations

from operator import index as whole
from typing import TYPE_CHECKING, Any

import numpy as np

import aacl
from aacl.errors import InvalidArgument
from acl import _blocks
from acl._data_buffers import data_buffers
from acl._status import (
    GEAR_ADDRESS_INVALID,
    GEAR_INVALID,
    GEAR_LENGTH_INVALID,
    MODEL_NOT_DYNAMIC,
    Refused,
    code_alone,
    with_code,
)
from acl.mdl._datasets import datasets
from acl.mdl._described import dims_of
from acl.mdl._descs import descs
from acl.mdl._hidden import GEARS_NAME, hidden_inputs
from acl.mdl._models import model_at

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from acl.mdl._datasets import Dataset
    from acl.mdl._models import Loaded

__all__ = (
    "get_dynamic_batch",
    "get_dynamic_hw",
    "get_input_dynamic_dims",
    "get_input_dynamic_gear_count",
    "set_dynamic_batch_size",
    "set_dynamic_hw_size",
    "set_input_dynamic_dims",
)

# What each kind of gears is called in texts, and the call that chooses one.
_BATCH, _SIZE, _DIMS = "dynamic_batch_size", "dynamic_image_size", "dynamic_dims"
_SETTERS = {_BATCH: "set_dynamic_batch_size", _SIZE: "set_dynamic_hw_size", _DIMS: "set_input_dynamic_dims"}


@with_code({})
def get_dynamic_batch(model_desc: int, /) -> tuple[dict[str, Any], int]:
    """Return the batch gears.

    Args:
        model_desc: a description that `get_desc`, or a sibling of it, filled.

    Returns:
        ({"batchCount", "batch"}, 0), empty for a model without batch gears; ({}, 100000) if it is no description.

    Source: aclmdlGetDynamicBatch.
    """
    batches = [gear[0] for gear in _values(model_desc, _BATCH)]
    return {"batchCount": len(batches), "batch": batches}, 0


@with_code({})
def get_dynamic_hw(model_desc: int, index: int, /) -> tuple[dict[str, Any], int]:
    """Return the image size gears.

    Args:
        model_desc: the description.
        index: of an input, or -1; it makes no difference.

    Returns:
        ({"hwCount", "hw"}, 0), ``hw`` being a list of [height, width], empty for a model without image size gears; ({},
        100000) if it is no description.

    Source: aclmdlGetDynamicHW.
    """
    whole(index)
    sizes = [list(gear) for gear in _values(model_desc, _SIZE)]
    return {"hwCount": len(sizes), "hw": sizes}, 0


@with_code(0)
def get_input_dynamic_gear_count(model_desc: int, index: int, /) -> tuple[int, int]:
    """Return how many gears of dims a model has.

    Args:
        model_desc: the description.
        index: -1; it makes no difference.

    Returns:
        (number, 0), 0 for a model without; (0, 100000) if it is no description.

    Source: aclmdlGetInputDynamicGearCount.
    """
    whole(index)
    return len(_values(model_desc, _DIMS)), 0


@with_code([])
def get_input_dynamic_dims(model_desc: int, index: int, gear_count: int, /) -> tuple[list[dict[str, Any]], int]:
    """Return the dims gears.

    Args:
        model_desc: the description.
        index: -1; it makes no difference.
        gear_count: how many there are, of `get_input_dynamic_gear_count`.

    Returns:
        ([{"name", "dimCount", "dims"} for each gear], 0), the dims being those of all inputs one after another; empty
        for a model without dims gears; ([], 100000) if it is no description, or for too small a count.

    Source: aclmdlGetInputDynamicDims.
    """
    whole(index)
    count, gears = whole(gear_count), descs.get(model_desc).gears
    if gears is None or gears.kind.value != _DIMS:
        return [], 0
    if count < len(gears.inputs):
        raise InvalidArgument(f"there are {len(gears.inputs)} gears; {count} were asked for")
    return [dims_of("", _joined(shapes)) for shapes in gears.inputs], 0


def _values(model_desc: int, kind: str) -> Sequence[tuple[int, ...]]:
    gears = descs.get(model_desc).gears
    return gears.values if gears is not None and gears.kind.value == kind else ()


def _joined(shapes: Sequence[tuple[int, ...]]) -> tuple[int, ...]:
    return tuple([dim for shape in shapes for dim in shape])


# A gear that a setter refuses leaves the one before in force.


@code_alone
def set_dynamic_batch_size(model_id: int, dataset: int, index: int, batch_size: int, /) -> int:
    """Choose the batch gear of a dataset's next runs.

    Args:
        model_id: the model.
        dataset: the inputs, the hidden one among them, to whose buffer the gear is written.
        index: the hidden input's position (`get_input_index_by_name` of ``ascend_mbatch_shape_data``).
        batch_size: the gear.

    Returns:
        0; 100019 if the model has no batch gears; 100000 for a batch below 1, another position, or no buffer there;
        145013 if it is no gear; 145011 and 145012 if the buffer is null or too small; 145003 and 107004 as `execute`.

    Source: aclmdlSetDynamicBatchSize.
    """
    wanted = _positive(batch_size)
    loaded, target, gears = _asked(model_id, dataset, _BATCH)
    return _choose(loaded, target, index, _gear(loaded, gears.values, wanted), model_id)


@code_alone
def set_dynamic_hw_size(model_id: int, dataset: int, index: int, height: int, width: int, /) -> int:
    """Choose the image size gear of a dataset's next runs.

    Args:
        model_id: the model.
        dataset: the inputs, the hidden one among them, to whose buffer the gear is written.
        index: the hidden input's position (`get_input_index_by_name` of ``ascend_mbatch_shape_data``).
        height: of the gear, in pixels.
        width: of the gear.

    Returns:
        0; 100019 if the model has no image size gears; other codes as `set_dynamic_batch_size`.

    Source: aclmdlSetDynamicHWSize.
    """
    wanted = _positive(height, width)
    loaded, target, gears = _asked(model_id, dataset, _SIZE)
    return _choose(loaded, target, index, _gear(loaded, gears.values, wanted), model_id)


@code_alone
def set_input_dynamic_dims(model_id: int, dataset: int, index: int, dims: Mapping[str, Any], /) -> int:
    """Choose the dims gear of a dataset's next runs; the rest as `set_dynamic_batch_size`.

    Args:
        model_id: the model.
        dataset: the inputs.
        index: the hidden input's position.
        dims: {"name", "dimCount", "dims"}, the dims of all inputs one after another, fixed ones too.

    Returns:
        As `set_dynamic_batch_size`; 100000 also for another number of dims than the inputs have.

    Source: aclmdlSetInputDynamicDims.
    """
    if not isinstance(dims, dict):
        raise TypeError(f"argument 4 must be dict, not {type(dims).__name__}")
    given = _dims(dims)
    loaded, target, gears = _asked(model_id, dataset, _DIMS)
    joined = [_joined(shapes) for shapes in gears.inputs]
    if len(given) != len(joined[0]):
        names = ", ".join(spec.name for spec in loaded.model.inputs)
        raise InvalidArgument(
            f"model {loaded.model.name!r} has {len(joined[0])} dims in all inputs together ({names}), and "
            f"{len(given)} were given: {list(given)}; give those of all inputs, fixed ones too"
        )
    return _choose(loaded, target, index, _gear(loaded, joined, given), model_id)


def _positive(*sizes: int) -> tuple[int, ...]:
    numbers = tuple([whole(size) for size in sizes])
    if min(numbers) < 1:
        raise InvalidArgument(f"a gear is at least 1; {', '.join(map(str, numbers))} was asked for")
    return numbers


def _dims(dims: Mapping[str, Any]) -> tuple[int, ...]:
    """Return the dims of a dictionary: programs may pass a longer list than it counts."""
    try:
        listed = [whole(dim) for dim in dims["dims"]]
        count = whole(dims.get("dimCount", len(listed)))
    except KeyError:
        raise InvalidArgument(f"dims are {{'name', 'dimCount', 'dims'}}; {dict(dims)!r} was given") from None
    if not 0 <= count <= len(listed):
        raise InvalidArgument(f"dimCount is {count}, and there are {len(listed)} dims: {listed}")
    return tuple(listed[:count])


def _asked(model_id: int, dataset: int, kind: str) -> tuple[Loaded, Dataset, aacl.models.Gears]:
    """Return what a call names; raises `Refused` (100019) if the model has no gears of the kind."""
    loaded, target = model_at(model_id), datasets.get(dataset)
    gears = loaded.model.gears
    if gears is None or gears.kind.value != kind:
        has = "has no gears" if gears is None else f"has gears of atc --{gears.kind.value}; call {_setter(gears)}"
        raise Refused(MODEL_NOT_DYNAMIC, f"model {loaded.model.name!r} was not converted with atc --{kind}; it {has}")
    return loaded, target, gears


def _setter(gears: aacl.models.Gears) -> str:
    return f"acl.mdl.{_SETTERS[gears.kind.value]}"


def _gear(loaded: Loaded, values: Sequence[tuple[int, ...]], wanted: tuple[int, ...]) -> int:
    """Return the position of a gear."""
    if wanted not in values:
        listed = ", ".join(str(list(each)) for each in values)
        raise Refused(GEAR_INVALID, f"{list(wanted)} is no gear of model {loaded.model.name!r}; its gears are {listed}")
    return [*values].index(wanted)


def _choose(loaded: Loaded, dataset: Dataset, position: int, gear: int, model_id: int) -> int:
    """Write a gear to the hidden input's buffer and let the dataset remember it; return 0."""
    signature = loaded.model.signature
    gears = signature.gears
    assert gears is not None, "a model with gears"
    names = [spec.name for spec in (*signature.inputs, *hidden_inputs(signature))]
    place = names.index(GEARS_NAME, len(signature.inputs))
    if whole(position) != place:
        raise InvalidArgument(
            f"input {position} of model {loaded.model.name!r} does not hold the gear; that is input {place} "
            f"({GEARS_NAME})"
        )
    if place >= len(dataset.buffers):
        raise InvalidArgument(
            f"the dataset has {len(dataset.buffers)} buffers, and none for input {place} ({GEARS_NAME})"
        )
    _write(data_buffers.get(dataset.buffers[place]), np.array(gears.values[gear], np.int32))
    dataset.gears[whole(model_id)] = loaded.choice.gear = gear
    return 0


def _write(span: tuple[int, int], numbers: aacl.abc.Array) -> None:
    address, nbytes = span
    if not address:
        raise Refused(GEAR_ADDRESS_INVALID, f"the buffer of {GEARS_NAME} is null; give it {numbers.nbytes} bytes")
    if nbytes < numbers.nbytes:
        raise Refused(
            GEAR_LENGTH_INVALID, f"the buffer of {GEARS_NAME} has {nbytes} bytes; the gear takes {numbers.nbytes}"
        )
    _blocks.check_host(address, numbers.nbytes)
    aacl.memory.copy(address, numbers.ctypes.data, numbers.nbytes)
