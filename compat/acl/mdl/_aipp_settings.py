"""Settings of AIPP: made, ended, and set for the whole batch."""

from __future__ import annotations

from operator import index

import aacl
from aacl.errors import InvalidArgument
from acl._handles import Handles
from acl._status import INVALID_PARAM, code_alone, plain, with_code

__all__ = (
    "aipps",
    "create_aipp",
    "destroy_aipp",
    "get_aipp_data_size",
    "keep",
    "set_aipp_ax_swap_switch",
    "set_aipp_csc_params",
    "set_aipp_input_format",
    "set_aipp_rbuv_swap_switch",
    "set_aipp_src_image_size",
    "switch_on",
    "whole",
)

_BATCH_MOST = 127  # the structure holds the batch in a signed byte

aipps: Handles[aacl.models.AippSettings] = Handles("AIPP", INVALID_PARAM)


@plain(0)
def create_aipp(batch_size: int, /) -> int:
    """Make settings for AIPP, all off.

    Args:
        batch_size: how many pictures, 1 to 127.

    Returns:
        The handle; 0 for another batch.

    Source: aclmdlCreateAIPP.
    """
    return aipps.add(_empty(batch_size))


def _empty(batch_size: int) -> aacl.models.AippSettings:
    batch = index(batch_size)
    if not 0 < batch <= _BATCH_MOST:
        raise InvalidArgument(f"AIPP is for a batch of 1 to {_BATCH_MOST} pictures; {batch} was given")
    return aacl.models.AippSettings(frames=[aacl.models.AippFrame()] * batch)


@code_alone
def destroy_aipp(aipp: int, /) -> int:
    """Destroy settings; what was written to a dataset stays.

    Args:
        aipp: the settings, of `create_aipp`.

    Returns:
        0; 100000 if they are none.

    Source: aclmdlDestroyAIPP.
    """
    aipps.take(aipp)
    return 0


@with_code(0)
def get_aipp_data_size(batch_size: int, /) -> tuple[int, int]:
    """Return how many bytes the settings for a batch take: 64, and 96 a picture.

    Args:
        batch_size: how many pictures, 1 to 127.

    Returns:
        (bytes, 0); (0, 100000) for a batch that cannot be.

    Source: aclmdlGetAippDataSize.
    """
    return _empty(batch_size).nbytes, 0


@code_alone
def set_aipp_input_format(aipp: int, input_format: int, /) -> int:
    """Set the format of the pictures.

    Args:
        aipp: the settings, of `create_aipp`.
        input_format: an ``aclAippInputFormat``.

    Returns:
        0; 100000 if there is no such format, or no such settings; 200006 for one that is not read here.

    Source: aclmdlSetAIPPInputFormat.
    """
    number = index(input_format)
    try:
        kind = aacl.models.AippFormat(number)
    except ValueError:
        raise InvalidArgument(f"there is no AIPP format {number}") from None
    settings = aipps.get(aipp).evolve(format=kind)
    settings.layout  # noqa: B018 - raises for one that is not read here
    return keep(aipp, settings)


@code_alone
def set_aipp_csc_params(
    aipp: int, csc_switch: int,
    r0c0: int, r0c1: int, r0c2: int, r1c0: int, r1c1: int, r1c2: int, r2c0: int, r2c1: int, r2c2: int,
    out_bias0: int, out_bias1: int, out_bias2: int, in_bias0: int, in_bias1: int, in_bias2: int, /,
) -> int:  # fmt: skip
    """Set the colour conversion: a matrix whose 256 is 1, and biases from 0 to 255.

    Args:
        aipp: the settings, of `create_aipp`.
        csc_switch: 0 for none, 1 for this one.
        r0c0: the matrix's first row, first column.
        r0c1: its second column.
        r0c2: its third column.
        r1c0: the second row.
        r1c1: its second column.
        r1c2: its third column.
        r2c0: the third row.
        r2c1: its second column.
        r2c2: its third column.
        out_bias0: what is added to the first channel after it.
        out_bias1: to the second one.
        out_bias2: to the third one.
        in_bias0: what is taken from the first channel before it.
        in_bias1: from the second one.
        in_bias2: from the third one.

    Returns:
        0; 100000 for a switch that is neither 0 nor 1, a number out of its range, or no such settings.

    Source: aclmdlSetAIPPCscParams.
    """
    matrix = whole(r0c0, r0c1, r0c2, r1c0, r1c1, r1c2, r2c0, r2c1, r2c2)
    settings = aipps.get(aipp).evolve(
        matrix=matrix,
        output_bias=whole(out_bias0, out_bias1, out_bias2),
        input_bias=whole(in_bias0, in_bias1, in_bias2),
    )
    return keep(aipp, settings if switch_on(csc_switch) else settings.evolve(matrix=None))


@code_alone
def set_aipp_rbuv_swap_switch(aipp: int, switch: int, /) -> int:
    """Set whether red and blue, or the two chroma channels, change places.

    Args:
        aipp: the settings, of `create_aipp`.
        switch: 0 for no, 1 for yes.

    Returns:
        0; 100000 for another switch, or no such settings.

    Source: aclmdlSetAIPPRbuvSwapSwitch.
    """
    return keep(aipp, aipps.get(aipp).evolve(swaps_colours=switch_on(switch)))


@code_alone
def set_aipp_ax_swap_switch(aipp: int, switch: int, /) -> int:
    """Set whether RGBA is read as ARGB, and YUVA as AYUV.

    Args:
        aipp: the settings, of `create_aipp`.
        switch: 0 for no, 1 for yes.

    Returns:
        0; 100000 for another switch, or no such settings.

    Source: aclmdlSetAIPPAxSwapSwitch.
    """
    return keep(aipp, aipps.get(aipp).evolve(moves_alpha=switch_on(switch)))


@code_alone
def set_aipp_src_image_size(aipp: int, width: int, height: int, /) -> int:
    """Set the size of the pictures.

    Args:
        aipp: the settings, of `create_aipp`.
        width: 1 to 4096 pixels.
        height: 1 to 4096 pixels.

    Returns:
        0; 100000 for another size, or no such settings.

    Source: aclmdlSetAIPPSrcImageSize.
    """
    wide, high = whole(width, height)
    if wide < 1 or high < 1:
        raise InvalidArgument(f"a picture is at least 1 x 1; {wide} x {high} was given")
    return keep(aipp, aipps.get(aipp).evolve(width=wide, height=high))


def keep(aipp: int, settings: aacl.models.AippSettings) -> int:
    """Put changed settings in the place of those of a handle; return 0."""
    aipps.replace(aipp, settings)
    return 0


def switch_on(switch: int) -> bool:
    """Return whether a switch is on."""
    number = index(switch)
    if number not in (0, 1):
        raise InvalidArgument(f"a switch is 0 or 1; {number} was given")
    return number == 1


def whole(*numbers: int) -> tuple[int, ...]:
    """Return whole numbers; raises `TypeError` for others."""
    return tuple([index(number) for number in numbers])
