"""AIPP: the settings of models that take pictures."""

from __future__ import annotations

from operator import index
from typing import TYPE_CHECKING, Any

import numpy as np

import aacl
from aacl.errors import InvalidArgument
from acl import _blocks
from acl._data_buffers import data_buffers
from acl._status import (
    AIPP_MODE_INVALID,
    AIPP_NOT_EXIST,
    NOT_STATIC_AIPP,
    Refused,
    code_alone,
    with_code,
)
from acl.mdl._aipp_info import first_info
from acl.mdl._aipp_settings import aipps
from acl.mdl._datasets import datasets
from acl.mdl._models import model_at
from acl.mdl._pictures import aipp_at

if TYPE_CHECKING:
    from acl.mdl._models import Loaded

__all__ = (
    "get_aipp_type",
    "get_first_aipp_info",
    "set_aipp_by_input_index",
    "set_input_aipp",
)

# aclmdlInputAippType
_WITHOUT, _STATIC, _DYNAMIC, _SETTINGS = range(4)
_NO_INDEX = 0xFFFFFFFF


@code_alone
def set_input_aipp(model_id: int, dataset: int, index: int, aipp: int, /) -> int:
    """Write settings into a dataset, for the runs that follow.

    Args:
        model_id: a model with dynamic AIPP.
        dataset: its inputs.
        index: the position of the input for settings (``ascend_dynamic_aipp_data``).
        aipp: the settings, for as many pictures as the model's batch, or its gears' largest at most.

    Returns:
        0; 145015 if the input is none for settings, 145016 if it has static AIPP; 145003 if there is no such model;
        100000 for settings that cannot be or fit another batch, an input that is not there, a buffer that is null or
        too small, or a handle that is none.

    Source: aclmdlSetInputAIPP.
    """
    loaded = model_at(model_id)
    place = _checked_place(loaded, index)
    found = next((each for each in loaded.model.signature.aipp if each.parameters == place), None)
    return _write(loaded, dataset, _dynamic(loaded, place, found), aipp)


@code_alone
def set_aipp_by_input_index(model_id: int, dataset: int, index: int, aipp: int, /) -> int:
    """Write settings into a dataset, as `set_input_aipp` does, by the position of the pictures.

    Args:
        model_id: a model with dynamic AIPP.
        dataset: its inputs.
        index: the position of the input that takes the pictures.
        aipp: as for `set_input_aipp`.

    Returns:
        0; 145015 if the input has no AIPP, 145016 if it is static; other codes as `set_input_aipp`.

    Source: aclmdlSetAIPPByInputIndex.
    """
    loaded = model_at(model_id)
    place = _checked_place(loaded, index)
    return _write(loaded, dataset, _dynamic(loaded, place, aipp_at(loaded.model.signature, place)), aipp)


def _dynamic(loaded: Loaded, place: int, found: aacl.models.Aipp | None) -> aacl.models.Aipp:
    """Return dynamic AIPP, which a call asked for."""
    name = f"input {place} ({loaded.model.inputs[place].name}) of model {loaded.model.name!r}"
    at_place = aipp_at(loaded.model.signature, place) if found is None else found
    if at_place is not None and at_place.settings is not None:
        raise Refused(AIPP_MODE_INVALID, f"{name} has static AIPP; its settings are in the model")
    if found is None:
        raise Refused(AIPP_NOT_EXIST, f"{name} takes no settings of dynamic AIPP")
    return found


def _checked_place(loaded: Loaded, position: int) -> int:
    place = index(position)
    if not 0 <= place < len(loaded.model.inputs):
        raise InvalidArgument(f"model {loaded.model.name!r} has no input {place}; it has {len(loaded.model.inputs)}")
    return place


def _write(loaded: Loaded, dataset: int, dynamic: aacl.models.Aipp, aipp: int) -> int:
    target, settings = datasets.get(dataset), aipps.get(aipp)
    place = dynamic.parameters
    assert place is not None, "dynamic AIPP has an input for settings"
    spec = loaded.model.inputs[place]
    what = f"input {place} ({spec.name}) of model {loaded.model.name!r}"
    _check_batch(what, loaded.model, dynamic, spec, settings)
    settings.check(settings.height, settings.width)
    if place >= len(target.buffers):
        raise InvalidArgument(f"the dataset has {len(target.buffers)} buffers, and none for {what}")
    address, nbytes = data_buffers.get(target.buffers[place])
    data = np.asarray(settings)
    if not address or nbytes < data.nbytes:
        raise InvalidArgument(
            f"the settings for {what} take {data.nbytes} bytes; its buffer has {nbytes} at {address:#x}"
        )
    _blocks.check_host(address, data.nbytes)
    aacl.memory.copy(address, data.ctypes.data, data.nbytes)
    return 0


def _check_batch(
    what: str,
    model: aacl.Model,
    dynamic: aacl.models.Aipp,
    spec: aacl.models.TensorSpec,
    settings: aacl.models.AippSettings,
) -> None:
    batch = model.inputs[dynamic.input].shape[0]
    if settings.nbytes > spec.nbytes or (batch > 0 and batch != len(settings.frames)):
        raise InvalidArgument(
            f"{what} takes settings for {batch if batch > 0 else 'fewer'} pictures; they are for {len(settings.frames)}"
        )


@with_code(0, 0)
def get_aipp_type(model_id: int, index: int, /) -> tuple[int, int, int]:
    """Return what AIPP an input has.

    Args:
        model_id: the model.
        index: the input's position.

    Returns:
        (an ``aclmdlInputAippType``: 0 none, 1 static, 2 dynamic, 3 an input for settings; the position of the input
        that takes the settings of dynamic AIPP, 0xFFFFFFFF for other inputs; 0); (0, 0, code): 145003 if there is no
        such model, 100000 if there is no such input.

    Source: aclmdlGetAippType.
    """
    loaded = model_at(model_id)
    place, signature = _checked_place(loaded, index), loaded.model.signature
    if any(each.parameters == place for each in signature.aipp):
        return _SETTINGS, _NO_INDEX, 0
    aipp = aipp_at(signature, place)
    if aipp is None:
        return _WITHOUT, _NO_INDEX, 0
    return (_STATIC, _NO_INDEX, 0) if aipp.parameters is None else (_DYNAMIC, aipp.parameters, 0)


@with_code({})
def get_first_aipp_info(model_id: int, index: int, /) -> tuple[dict[str, Any], int]:
    """Return the settings of static AIPP.

    Args:
        model_id: the model.
        index: the input's position.

    Returns:
        (the fields of ``aclAippInfo`` by their names, 0); ({}, code): 100038 if the input has no static AIPP, 145003 if
        there is no such model, 100000 if there is no such input.

    Source: aclmdlGetFirstAippInfo.
    """
    loaded = model_at(model_id)
    place = _checked_place(loaded, index)
    aipp = aipp_at(loaded.model.signature, place)
    if aipp is None or aipp.settings is None:
        raise Refused(
            NOT_STATIC_AIPP,
            f"input {place} ({loaded.model.inputs[place].name}) of model {loaded.model.name!r} has no static AIPP",
        )
    return first_info(aipp, loaded.model.signature), 0
