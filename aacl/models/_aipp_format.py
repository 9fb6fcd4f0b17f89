"""Picture formats that AIPP reads: their numbers, the shape of their bytes, and their channels. Pure.

Numbers and names follow the public AIPP configuration and ``aclAippInputFormat``.
A picture's array has the dims (rows, columns, bytes of an element), so that its
bytes are counted by its shape; NV12 has the shape that video software gives it,
the chroma rows below the others.
"""

from __future__ import annotations

import enum
from collections.abc import Sequence
from typing import NamedTuple

from aacl.errors import NotSupported

__all__ = ("AippFormat", "Layout", "layout_of")


class AippFormat(enum.IntEnum):
    """How a picture's bytes are laid out."""

    YUV420SP_U8 = 1
    XRGB8888_U8 = 2
    RGB888_U8 = 3
    YUV400_U8 = 4
    NC1HWC0DI_FP16 = 5
    NC1HWC0DI_S8 = 6
    ARGB8888_U8 = 7
    YUYV_U8 = 8
    YUV422SP_U8 = 9
    AYUV444_U8 = 10
    RAW10 = 11
    RAW12 = 12
    RAW16 = 13
    RAW24 = 14
    RGB16 = 15
    RGB20 = 16
    RGB24 = 17
    RGB8_IR = 18
    RGB16_IR = 19
    RGB24_IR = 20


class Layout(NamedTuple):
    """What is known of a format.

    Attributes:
        channels: of a pixel.
        element: bytes of an element of the picture's array.
        half_rows: rows of the array, in halves of the picture's height.
        is_yuv: whether it holds luma and chroma.
        step_w: what the width, and where a crop begins, are multiples of.
        step_h: the same of the height.
    """

    channels: int
    element: int
    half_rows: int = 2
    is_yuv: bool = False
    step_w: int = 1
    step_h: int = 1

    def array_shape(self, height: int, width: int) -> tuple[int, int, int]:
        """Return the dims of a picture's array; -1 stands for a size that is not known."""
        return (height * self.half_rows // 2 if height >= 0 else -1), width, self.element

    def picture_size(self, shape: Sequence[int]) -> tuple[int, int]:
        """Return (height, width) of the picture whose array has these dims."""
        rows, columns, _element = shape
        return rows * 2 // self.half_rows, columns

    def nbytes(self, height: int, width: int) -> int:
        """Return the bytes of a picture."""
        rows, columns, element = self.array_shape(height, width)
        return rows * columns * element


_LAYOUTS = {
    AippFormat.YUV420SP_U8: Layout(3, 1, half_rows=3, is_yuv=True, step_w=2, step_h=2),
    AippFormat.XRGB8888_U8: Layout(4, 4),
    AippFormat.RGB888_U8: Layout(3, 3),
    AippFormat.YUV400_U8: Layout(1, 1, is_yuv=True),
    AippFormat.ARGB8888_U8: Layout(4, 4),
    AippFormat.YUYV_U8: Layout(3, 2, is_yuv=True, step_w=2),
    AippFormat.YUV422SP_U8: Layout(3, 1, half_rows=4, is_yuv=True, step_w=2),
    AippFormat.AYUV444_U8: Layout(4, 4, is_yuv=True),
}


def layout_of(kind: AippFormat) -> Layout:
    """Return what is known of a format.

    Raises:
        NotSupported: the format is read by cards only.
    """
    try:
        return _LAYOUTS[kind]
    except KeyError:
        raise NotSupported(
            f"AIPP does not read {kind.name} here; it reads {', '.join(each.name for each in _LAYOUTS)}"
        ) from None
