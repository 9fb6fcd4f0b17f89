"""The bytes of dynamic AIPP's settings."""

from __future__ import annotations

import struct

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aacl.errors import InvalidArgument, ModelInputMismatch, NotSupported
from aacl.models import AippFormat, AippFrame, AippSettings
from aacl.models._aipp_bytes import pack_settings, settings_nbytes

FULL = AippSettings(
    format=AippFormat.YUV420SP_U8,
    width=640,
    height=480,
    frames=[
        AippFrame(crop=(2, 4, 224, 222), padding=(1, 2, 3, 5), mean=(104, 117, 123, 9), minimum=(0.5, 0, -1, 0)),
        AippFrame(reciprocal=(0.25, 0.5, 1, 2)),
    ],
    matrix=(298, 516, 0, 298, -100, -208, 298, 0, 409),
    output_bias=(1, 2, 3),
    input_bias=(16, 128, 129),
    swaps_colours=True,
)


def test_where_every_field_lies() -> None:
    """The head of 64 bytes and the 96 bytes of each picture have their fields at the documented offsets."""
    data = pack_settings(FULL)

    assert len(data) == settings_nbytes(2) == 64 + 2 * 96
    assert struct.unpack_from("<B4b", data) == (1, 1, 1, 0, 2)
    assert struct.unpack_from("<2i", data, 8) == (640, 480)
    assert struct.unpack_from("<9h", data, 16) == FULL.matrix
    assert [*data[40:46]] == [1, 2, 3, 16, 128, 129]
    assert not any(data[46:64])
    assert struct.unpack_from("<4b", data, 64) == (1, 0, 1, 0)
    assert struct.unpack_from("<12i", data, 72) == (2, 4, 224, 222, 0, 0, 0, 0, 1, 2, 3, 5)
    assert struct.unpack_from("<4h", data, 120) == (104, 117, 123, 9)
    assert struct.unpack_from("<4e4e", data, 128) == (0.5, 0, -1, 0, 1, 1, 1, 1)
    assert struct.unpack_from("<4b", data, 160) == (0, 0, 0, 0)
    assert struct.unpack_from("<4e", data, 232) == (0.25, 0.5, 1, 2)


def test_settings_are_an_array() -> None:
    """NumPy sees the bytes; every time new ones."""
    array = np.asarray(FULL)

    assert array.dtype == np.uint8
    assert array.shape == (256,) == (FULL.nbytes,)
    assert array.tobytes() == pack_settings(FULL)
    with pytest.raises(ValueError, match="new bytes"):
        np.array(FULL, copy=False)


@given(
    st.sampled_from([AippFormat.YUV420SP_U8, AippFormat.RGB888_U8, AippFormat.AYUV444_U8]),
    st.integers(1, 4096),
    st.lists(st.tuples(st.booleans(), st.integers(0, 255), st.floats(-60000, 60000, width=16)), min_size=1, max_size=4),
    st.booleans(),
)
@settings(deadline=None, max_examples=50)
def test_bytes_come_back_as_settings(
    kind: AippFormat, size: int, frames: list[tuple[bool, int, float]], converts: bool
) -> None:
    """What is packed is what is unpacked."""
    made = AippSettings(
        format=kind,
        width=size,
        height=4097 - size,
        frames=[
            AippFrame(
                crop=(0, 2, size, 7) if crops else None,
                padding=None if crops else (1, 0, 2, mean),
                mean=(mean, 0, 1, 2),
                minimum=(half, 0, 0, 1),
                reciprocal=(1, half, 0, 1),
            )
            for crops, mean, half in frames
        ],
        matrix=(-32768, 32767, size, 0, 1, 2, 3, 4, 5) if converts else None,
        moves_alpha=converts,
    )

    assert AippSettings.from_bytes(pack_settings(made)) == made


@given(st.binary(max_size=400))
@settings(deadline=None, max_examples=200)
def test_any_bytes_are_settings_or_an_error(data: bytes) -> None:
    """Bytes that nobody packed give settings that hold together, or a typed error."""
    try:
        found = AippSettings.from_bytes(data)
    except (ModelInputMismatch, NotSupported):
        return

    assert 0 < len(found.frames) <= (len(data) - 64) // 96


@pytest.mark.parametrize(
    ("data", "error", "text"),
    [
        (bytes(63), ModelInputMismatch, "64 bytes and more; 63 were given"),
        (bytes(256), ModelInputMismatch, "they were not filled"),
        (pack_settings(FULL)[:255], ModelInputMismatch, "for 2 pictures, 256 bytes; 255 were given"),
        (b"\x63" + pack_settings(FULL)[1:], ModelInputMismatch, "99 is not a valid AippFormat"),
        (pack_settings(FULL)[:8] + b"\xff" * 4 + pack_settings(FULL)[12:], ModelInputMismatch, "width .* -1 was given"),
        (
            pack_settings(FULL)[:65] + b"\x01" + pack_settings(FULL)[66:],
            NotSupported,
            "resize 1, rotation 0 and border 1",
        ),
        (pack_settings(FULL)[:66] + b"\x04" + pack_settings(FULL)[67:], NotSupported, "border 4"),
    ],
)
def test_bytes_that_are_no_settings(data: bytes, error: type[Exception], text: str) -> None:
    """Too few bytes, none that were filled, and steps that this device has not: refused with what was found."""
    with pytest.raises(error, match=text):
        AippSettings.from_bytes(data)


def test_settings_that_the_bytes_have_no_place_for() -> None:
    """A border of another value, and more pictures than a byte counts, are refused."""
    with pytest.raises(InvalidArgument, match="border has the value 0"):
        pack_settings(FULL.evolve(padding_value=1))
    with pytest.raises(InvalidArgument, match="up to 127 pictures; there are 128"):
        pack_settings(FULL.evolve(frames=[AippFrame()] * 128))
