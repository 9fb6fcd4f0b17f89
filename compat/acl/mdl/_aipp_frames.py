"""Settings of AIPP for single pictures of a batch."""

from __future__ import annotations

from operator import index
from typing import Any

from acl._status import API_NOT_SUPPORTED, Refused, code_alone
from acl.mdl._aipp_settings import aipps, keep, switch_on, whole

__all__ = (
    "set_aipp_crop_params",
    "set_aipp_dtc_pixel_mean",
    "set_aipp_dtc_pixel_min",
    "set_aipp_padding_params",
    "set_aipp_pixel_var_reci",
    "set_aipp_scf_params",
)


@code_alone
def set_aipp_scf_params(
    aipp: int, scf_switch: int, in_w: int, in_h: int, out_w: int, out_h: int, batch_index: int, /
) -> int:
    """Set the resize of a picture, which no chip that is documented has.

    Args:
        aipp: the settings, of `create_aipp`.
        scf_switch: 0; 1 asks for a resize.
        in_w: the width before, in pixels.
        in_h: the height before.
        out_w: the width after.
        out_h: the height after.
        batch_index: which picture of the batch, from 0.

    Returns:
        0 for the switch 0; 200001 for 1; 100000 for another switch, no such picture or no such settings.

    Source: aclmdlSetAIPPScfParams.
    """
    whole(in_w, in_h, out_w, out_h)
    aipps.get(aipp).with_frame(index(batch_index))
    if switch_on(scf_switch):
        raise Refused(API_NOT_SUPPORTED, "AIPP does not resize; resize the picture before, with acl.media")
    return 0


@code_alone
def set_aipp_crop_params(
    aipp: int, crop_switch: int, start_w: int, start_h: int, size_w: int, size_h: int, batch_index: int, /
) -> int:
    """Set the crop of a picture.

    Args:
        aipp: the settings, of `create_aipp`.
        crop_switch: 0 for none, 1 for this one.
        start_w: the left edge, in pixels.
        start_h: the upper edge.
        size_w: the width.
        size_h: the height.
        batch_index: which picture of the batch, from 0.

    Returns:
        0; 100000 for a switch that is neither 0 nor 1, a place or size out of 0 to 4096, an empty crop, no such picture
        or no such settings.

    Source: aclmdlSetAIPPCropParams.
    """
    crop = whole(start_w, start_h, size_w, size_h)
    return _frame(aipp, batch_index, crop=crop if switch_on(crop_switch) else None)


@code_alone
def set_aipp_padding_params(
    aipp: int, padding_switch: int, top: int, bottom: int, left: int, right: int, batch_index: int, /
) -> int:
    """Set the border of a picture, of the value 0.

    Args:
        aipp: the settings, of `create_aipp`.
        padding_switch: 0 for none, 1 for this one.
        top: pixels.
        bottom: pixels.
        left: pixels.
        right: pixels.
        batch_index: which picture of the batch, from 0.

    Returns:
        0; 100000 for a switch that is neither 0 nor 1, a border out of its range, no such picture or no such settings.

    Source: aclmdlSetAIPPPaddingParams.
    """
    padding = whole(top, bottom, left, right)
    return _frame(aipp, batch_index, padding=padding if switch_on(padding_switch) else None)


@code_alone
def set_aipp_dtc_pixel_mean(aipp: int, chn0: int, chn1: int, chn2: int, chn3: int, batch_index: int, /) -> int:
    """Set the mean of each channel of a picture, 0 to 255.

    Args:
        aipp: the settings, of `create_aipp`.
        chn0: of the first channel.
        chn1: of the second channel.
        chn2: of the third channel.
        chn3: of the fourth channel.
        batch_index: which picture of the batch, from 0.

    Returns:
        0; 100000 for one out of that range, no such picture or no such settings.

    Source: aclmdlSetAIPPDtcPixelMean.
    """
    return _frame(aipp, batch_index, mean=whole(chn0, chn1, chn2, chn3))


@code_alone
def set_aipp_dtc_pixel_min(aipp: int, chn0: float, chn1: float, chn2: float, chn3: float, batch_index: int, /) -> int:
    """Set the minimum of each channel of a picture, kept as float16.

    Args:
        aipp: the settings, of `create_aipp`.
        chn0: of the first channel.
        chn1: of the second channel.
        chn2: of the third channel.
        chn3: of the fourth channel.
        batch_index: which picture of the batch, from 0.

    Returns:
        0; 100000 for one that float16 has not, no such picture or no such settings.

    Source: aclmdlSetAIPPDtcPixelMin.
    """
    return _frame(aipp, batch_index, minimum=(chn0, chn1, chn2, chn3))


@code_alone
def set_aipp_pixel_var_reci(aipp: int, chn0: float, chn1: float, chn2: float, chn3: float, batch_index: int, /) -> int:
    """Set the reciprocal of each channel's variance, kept as float16.

    Args:
        aipp: the settings, of `create_aipp`.
        chn0: of the first channel.
        chn1: of the second channel.
        chn2: of the third channel.
        chn3: of the fourth channel.
        batch_index: which picture of the batch, from 0.

    Returns:
        0; 100000 for one that float16 has not, no such picture or no such settings.

    Source: aclmdlSetAIPPPixelVarReci.
    """
    return _frame(aipp, batch_index, reciprocal=(chn0, chn1, chn2, chn3))


def _frame(aipp: int, picture: int, **changes: Any) -> int:
    return keep(aipp, aipps.get(aipp).with_frame(index(picture), **changes))
