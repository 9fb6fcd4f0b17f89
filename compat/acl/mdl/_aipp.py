"""AIPP: the settings of models that take pictures."""

from __future__ import annotations

from operator import index
from typing import TYPE_CHECKING, Any

import numpy as np

import aacl
from aacl.errors import InvalidArgument
from acl import _blocks
from acl._data_buffers import data_buffers
from acl._handles import Handles
from acl._status import (
    AIPP_MODE_INVALID,
    AIPP_NOT_EXIST,
    API_NOT_SUPPORTED,
    INVALID_PARAM,
    NOT_STATIC_AIPP,
    Refused,
    code_alone,
    plain,
    with_code,
)
from acl.mdl._aipp_info import first_info
from acl.mdl._datasets import datasets
from acl.mdl._models import model_at
from acl.mdl._pictures import aipp_at

if TYPE_CHECKING:
    from acl.mdl._models import Loaded

__all__ = (
    "create_aipp",
    "destroy_aipp",
    "get_aipp_data_size",
    "get_aipp_type",
    "get_first_aipp_info",
    "set_aipp_ax_swap_switch",
    "set_aipp_by_input_index",
    "set_aipp_crop_params",
    "set_aipp_csc_params",
    "set_aipp_dtc_pixel_mean",
    "set_aipp_dtc_pixel_min",
    "set_aipp_input_format",
    "set_aipp_padding_params",
    "set_aipp_pixel_var_reci",
    "set_aipp_rbuv_swap_switch",
    "set_aipp_scf_params",
    "set_aipp_src_image_size",
    "set_input_aipp",
)

# aclmdlInputAippType
_WITHOUT, _STATIC, _DYNAMIC, _SETTINGS = range(4)
_NO_INDEX = 0xFFFFFFFF
_BATCH_MOST = 127  # the structure holds the batch in a signed byte

_aipps: Handles[aacl.models.AippSettings] = Handles("AIPP", INVALID_PARAM)


@plain(0)
def create_aipp(batch_size: int) -> int:
    """Return the handle of new settings for a batch of 1 to 127 pictures; 0 for another batch."""
    return _aipps.add(_empty(batch_size))


def _empty(batch_size: int) -> aacl.models.AippSettings:
    batch = index(batch_size)
    if not 0 < batch <= _BATCH_MOST:
        raise InvalidArgument(f"AIPP is for a batch of 1 to {_BATCH_MOST} pictures; {batch} was given")
    return aacl.models.AippSettings(frames=[aacl.models.AippFrame()] * batch)


@code_alone
def destroy_aipp(aipp: int) -> int:
    """Destroy settings; what was written to a dataset stays. Returns 0; 100000 if they are none."""
    _aipps.take(aipp)
    return 0


@with_code(0)
def get_aipp_data_size(batch_size: int) -> tuple[int, int]:
    """Return (bytes of the settings for a batch, 0), 64 and 96 a picture; (0, 100000) for a batch that cannot be."""
    return _empty(batch_size).nbytes, 0


# -- settings of the batch ------------------------------------------------------------------------


@code_alone
def set_aipp_input_format(aipp: int, input_format: int) -> int:
    """Set the format of the pictures, an ``aclAippInputFormat``.

    Returns:
        0; 100000 if there is no such format, or no such settings; 200006 for one that is not read here.
    """
    number = index(input_format)
    try:
        kind = aacl.models.AippFormat(number)
    except ValueError:
        raise InvalidArgument(f"there is no AIPP format {number}") from None
    settings = _aipps.get(aipp).evolve(format=kind)
    settings.layout  # noqa: B018 - raises for one that is not read here
    return _keep(aipp, settings)


@code_alone
def set_aipp_csc_params(
    aipp: int, csc_switch: int,
    r0c0: int, r0c1: int, r0c2: int, r1c0: int, r1c1: int, r1c2: int, r2c0: int, r2c1: int, r2c2: int,
    out_bias0: int, out_bias1: int, out_bias2: int, in_bias0: int, in_bias1: int, in_bias2: int,
) -> int:  # fmt: skip
    """Set the colour conversion: a matrix whose 256 is 1, and biases from 0 to 255.

    Returns:
        0; 100000 for a switch that is neither 0 nor 1, a number out of its range, or no such settings.
    """
    matrix = _whole(r0c0, r0c1, r0c2, r1c0, r1c1, r1c2, r2c0, r2c1, r2c2)
    settings = _aipps.get(aipp).evolve(
        matrix=matrix,
        output_bias=_whole(out_bias0, out_bias1, out_bias2),
        input_bias=_whole(in_bias0, in_bias1, in_bias2),
    )
    return _keep(aipp, settings if _switch(csc_switch) else settings.evolve(matrix=None))


@code_alone
def set_aipp_rbuv_swap_switch(aipp: int, switch: int) -> int:
    """Set whether red and blue, or the two chroma channels, change places. Returns 0; 100000 for another switch."""
    return _keep(aipp, _aipps.get(aipp).evolve(swaps_colours=_switch(switch)))


@code_alone
def set_aipp_ax_swap_switch(aipp: int, switch: int) -> int:
    """Set whether RGBA is read as ARGB, and YUVA as AYUV. Returns 0; 100000 for another switch."""
    return _keep(aipp, _aipps.get(aipp).evolve(moves_alpha=_switch(switch)))


@code_alone
def set_aipp_src_image_size(aipp: int, width: int, height: int) -> int:
    """Set the size of the pictures, 1 to 4096 each way. Returns 0; 100000 for another size, or no such settings."""
    wide, high = _whole(width, height)
    if wide < 1 or high < 1:
        raise InvalidArgument(f"a picture is at least 1 x 1; {wide} x {high} was given")
    return _keep(aipp, _aipps.get(aipp).evolve(width=wide, height=high))


# -- settings of a picture ------------------------------------------------------------------------


@code_alone
def set_aipp_scf_params(
    aipp: int, scf_switch: int, in_w: int, in_h: int, out_w: int, out_h: int, batch_index: int
) -> int:
    """Set the resize of a picture, which no chip that is documented has.

    Returns:
        0 for the switch 0; 200001 for 1; 100000 for another switch, no such picture or no such settings.
    """
    _whole(in_w, in_h, out_w, out_h)
    _aipps.get(aipp).with_frame(index(batch_index))
    if _switch(scf_switch):
        raise Refused(API_NOT_SUPPORTED, "AIPP does not resize; resize the picture before, with acl.media")
    return 0


@code_alone
def set_aipp_crop_params(
    aipp: int, crop_switch: int, start_w: int, start_h: int, size_w: int, size_h: int, batch_index: int
) -> int:
    """Set the crop of a picture.

    Returns:
        0; 100000 for a switch that is neither 0 nor 1, a place or size out of 0 to 4096, an empty crop, no such picture
        or no such settings.
    """
    crop = _whole(start_w, start_h, size_w, size_h)
    return _frame(aipp, batch_index, crop=crop if _switch(crop_switch) else None)


@code_alone
def set_aipp_padding_params(
    aipp: int, padding_switch: int, top: int, bottom: int, left: int, right: int, batch_index: int
) -> int:
    """Set the border of a picture, of the value 0, in pixels. Returns as `set_aipp_crop_params`."""
    padding = _whole(top, bottom, left, right)
    return _frame(aipp, batch_index, padding=padding if _switch(padding_switch) else None)


@code_alone
def set_aipp_dtc_pixel_mean(aipp: int, chn0: int, chn1: int, chn2: int, chn3: int, batch_index: int) -> int:
    """Set the mean of each channel of a picture, 0 to 255. Returns 0; 100000 for one out of that range."""
    return _frame(aipp, batch_index, mean=_whole(chn0, chn1, chn2, chn3))


@code_alone
def set_aipp_dtc_pixel_min(aipp: int, chn0: float, chn1: float, chn2: float, chn3: float, batch_index: int) -> int:
    """Set the minimum of each channel of a picture, kept as float16. Returns 0; 100000 for one that float16 has not."""
    return _frame(aipp, batch_index, minimum=(chn0, chn1, chn2, chn3))


@code_alone
def set_aipp_pixel_var_reci(aipp: int, chn0: float, chn1: float, chn2: float, chn3: float, batch_index: int) -> int:
    """Set the reciprocal of each channel's variance, kept as float16. Returns as `set_aipp_dtc_pixel_min`."""
    return _frame(aipp, batch_index, reciprocal=(chn0, chn1, chn2, chn3))


def _frame(aipp: int, picture: int, **changes: Any) -> int:
    return _keep(aipp, _aipps.get(aipp).with_frame(index(picture), **changes))


def _keep(aipp: int, settings: aacl.models.AippSettings) -> int:
    _aipps.replace(aipp, settings)
    return 0


def _switch(switch: int) -> bool:
    number = index(switch)
    if number not in (0, 1):
        raise InvalidArgument(f"a switch is 0 or 1; {number} was given")
    return number == 1


def _whole(*numbers: int) -> tuple[int, ...]:
    return tuple([index(number) for number in numbers])


# -- settings and models --------------------------------------------------------------------------


@code_alone
def set_input_aipp(model_id: int, dataset: int, index: int, aipp: int) -> int:
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
    """
    loaded = model_at(model_id)
    place = _checked_place(loaded, index)
    found = next((each for each in loaded.model.signature.aipp if each.parameters == place), None)
    return _write(loaded, dataset, _dynamic(loaded, place, found), aipp)


@code_alone
def set_aipp_by_input_index(model_id: int, dataset: int, index: int, aipp: int) -> int:
    """Write settings into a dataset; ``index`` is the position of the pictures. The rest as `set_input_aipp`."""
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
    target, settings = datasets.get(dataset), _aipps.get(aipp)
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
def get_aipp_type(model_id: int, index: int) -> tuple[int, int, int]:
    """Return what AIPP an input has.

    Args:
        model_id: the model.
        index: the input's position.

    Returns:
        (an ``aclmdlInputAippType``: 0 none, 1 static, 2 dynamic, 3 an input for settings; the position of the input
        that takes the settings of dynamic AIPP, 0xFFFFFFFF for other inputs; 0); (0, 0, code): 145003 if there is no
        such model, 100000 if there is no such input.
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
def get_first_aipp_info(model_id: int, index: int) -> tuple[dict[str, Any], int]:
    """Return the settings of static AIPP.

    Args:
        model_id: the model.
        index: the input's position.

    Returns:
        (the fields of ``aclAippInfo`` by their names, 0); ({}, code): 100038 if the input has no static AIPP, 145003 if
        there is no such model, 100000 if there is no such input.
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
