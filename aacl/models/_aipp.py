"""AIPP: what is done to pictures in front of a model. Pure values with a JSON form.

The order of the steps: channels exchanged, cropped, colours converted,
normalised, bordered. Sources: the public guide on AIPP configuration, and the
public pages of the ``acl.mdl.set_aipp_*`` calls.
"""

from __future__ import annotations

import enum
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, SupportsIndex

import attrs
import numpy as np

from aacl.dtypes import Format
from aacl.errors import AclError, InvalidArgument, ModelInputMismatch
from aacl.models._aipp_bytes import pack_settings, settings_nbytes, unpack_fields
from aacl.models._aipp_format import AippFormat, Layout, layout_of
from aacl.models._spec import TensorSpec

__all__ = ("Aipp", "AippFrame", "AippMode", "AippSettings")

Four = tuple[int, int, int, int]
FourFloats = tuple[float, float, float, float]
Three = tuple[int, int, int]
Matrix = tuple[int, int, int, int, int, int, int, int, int]

SIZE_MOST = 4096
_HALF_MOST = 65504.0  # the largest number of float16
_YUV_TO_BGR = (298, 516, 0, 298, -100, -208, 298, 0, 409)
_RGB_TO_YUV = (66, 129, 25, -38, -74, 112, 112, -94, -18)


class AippMode(enum.Enum):
    """Where the settings are: in the model, or in an input of their own."""

    STATIC = "static"
    DYNAMIC = "dynamic"


def _integers(low: int, high: int, count: int) -> Any:
    def check(_owner: object, field: attrs.Attribute[Any], value: Any) -> None:
        if value is None:
            return
        if len(value) != count:
            raise InvalidArgument(f"AIPP's {field.name} has {count} numbers; {len(value)} were given")
        for each in value:
            if not isinstance(each, SupportsIndex) or not low <= each.__index__() <= high:
                raise InvalidArgument(f"AIPP's {field.name} goes from {low} to {high}; {each!r} was given")

    return check


def _halves(_owner: object, field: attrs.Attribute[Any], value: Any) -> None:
    if len(value) != 4:
        raise InvalidArgument(f"AIPP's {field.name} has 4 numbers; {len(value)} were given")
    for each in value:
        if not math.isfinite(each) or abs(each) > _HALF_MOST:
            raise InvalidArgument(f"AIPP's {field.name} is finite and within {_HALF_MOST} of 0; {each!r} was given")


def _size(_owner: object, field: attrs.Attribute[Any], value: int) -> None:
    if not 0 <= value <= SIZE_MOST:
        raise InvalidArgument(f"AIPP's {field.name} of a picture goes to {SIZE_MOST}; {value} was given")


def _floats(value: Sequence[float]) -> tuple[Any, ...]:
    return tuple(float(+each) for each in value)  # a text is no number


def _numbers(value: Sequence[int] | None) -> tuple[Any, ...]:
    return value if value is None else tuple(value)  # type: ignore[return-value] # None where the field may be None


def _frames(value: Iterable[AippFrame]) -> tuple[AippFrame, ...]:
    return tuple(value)


@attrs.frozen
class AippFrame:
    """How one picture of a batch is cut, normalised and bordered.

    Attributes:
        crop: (left, top, width, height) in pixels; None for all of the picture.
        padding: (top, bottom, left, right) in pixels; None for no border.
        mean: of each channel, 0 to 255; channels are those behind the colour conversion.
        minimum: of each channel.
        reciprocal: of each channel's variance: a value becomes (value - mean - minimum) * reciprocal.
    """

    crop: Four | None = attrs.field(default=None, converter=_numbers, validator=_integers(0, SIZE_MOST, 4))
    padding: Four | None = attrs.field(default=None, converter=_numbers, validator=_integers(0, SIZE_MOST, 4))
    mean: Four = attrs.field(default=(0, 0, 0, 0), converter=_numbers, validator=_integers(0, 255, 4))
    minimum: FourFloats = attrs.field(default=(0.0, 0.0, 0.0, 0.0), converter=_floats, validator=_halves)
    reciprocal: FourFloats = attrs.field(default=(1.0, 1.0, 1.0, 1.0), converter=_floats, validator=_halves)

    @crop.validator
    def _check_crop(self, _field: object, crop: Four | None) -> None:
        if crop is not None and 0 in crop[2:]:
            raise InvalidArgument(f"AIPP's crop takes at least a pixel; {crop[2]} x {crop[3]} was given")

    def to_json(self) -> dict[str, Any]:
        """Return the JSON form."""
        return attrs.asdict(self)

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> AippFrame:
        """Return the value of a JSON form; raises as `AippSettings.from_json` does."""
        return cls(**document)


@attrs.frozen
class AippSettings:
    """What is done to the pictures of a batch.

    With no colour conversion the channels go to the model as they are. From luma and chroma a conversion is
    ``(matrix @ (pixel - input_bias)) >> 8``, from red, green and blue ``((matrix @ pixel) >> 8) + output_bias``, both
    cut to 0 .. 255. A first channel A or X has no part in it.

    It is an array too, of the ``64 + 96 * batch`` bytes in which settings are given to a model with dynamic
    AIPP, with a frame for each picture of the batch: ``await model.infer(pictures, settings)``.

    Attributes:
        format: of the pictures; None while it was not set.
        width: of the pictures, in pixels; 0 for what the pictures' shape says.
        height: the same.
        frames: one for all pictures of a batch, or one each.
        matrix: of the colour conversion, row by row, 256 being 1; None for no conversion.
        input_bias: taken from luma and chroma, 0 to 255.
        output_bias: added to luma and chroma, 0 to 255.
        swaps_colours: whether red and blue, or the two chroma channels, change places first.
        moves_alpha: whether the fourth channel comes first: RGBA is read as ARGB, YUVA as AYUV.
        padding_value: of the border, in the model's own numbers.
    """

    format: AippFormat | None = None
    width: int = attrs.field(default=0, validator=_size)
    height: int = attrs.field(default=0, validator=_size)
    frames: tuple[AippFrame, ...] = attrs.field(default=(AippFrame(),), converter=_frames)
    matrix: Matrix | None = attrs.field(
        default=None, converter=_numbers, validator=_integers(-(1 << 15), (1 << 15) - 1, 9)
    )
    input_bias: Three = attrs.field(default=(0, 0, 0), converter=_numbers, validator=_integers(0, 255, 3))
    output_bias: Three = attrs.field(default=(0, 0, 0), converter=_numbers, validator=_integers(0, 255, 3))
    swaps_colours: bool = False
    moves_alpha: bool = False
    padding_value: float = attrs.field(default=0.0, converter=float)

    def __attrs_post_init__(self) -> None:
        if not self.frames:
            raise InvalidArgument("AIPP settings are for a batch of one picture or more; there is no frame")

    def check(self, height: int, width: int) -> None:
        """Check the settings together, for pictures of a size.

        Raises:
            InvalidArgument: no format was set; a size is 0, or odd where chroma stands for two pixels; a crop begins
                at an odd place there, or ends outside the picture.
            NotSupported: the format is read by cards only.
        """
        layout, name = self.layout, self.format.name if self.format else ""
        for what, size, step in (("width", width, layout.step_w), ("height", height, layout.step_h)):
            if size < 1 or size % step:
                raise InvalidArgument(
                    f"the {what} of a {name} picture is at least {step}{', and even' * (step > 1)}; {size} was given"
                )
        for number, frame in enumerate(self.frames):
            left, top, wide, high = frame.crop or (0, 0, width, height)
            if left % layout.step_w or top % layout.step_h:
                raise InvalidArgument(f"a crop of a {name} picture begins at even places; {left}, {top} was given")
            if left + wide > width or top + high > height:
                raise InvalidArgument(
                    f"the crop of {wide} x {high} at {left}, {top} ends outside picture {number} of {width} x {height}"
                )

    @property
    def layout(self) -> Layout:
        """What is known of the format.

        Raises:
            InvalidArgument: it was not set.
            NotSupported: it is read by cards only.
        """
        if self.format is None:
            raise InvalidArgument("the AIPP settings state no format; set one of " + ", ".join(AippFormat.__members__))
        return layout_of(self.format)

    @property
    def nbytes(self) -> int:
        """Bytes of the array that it is for a model with dynamic AIPP."""
        return settings_nbytes(len(self.frames))

    def frame(self, picture: int) -> AippFrame:
        """Return the frame of a picture of the batch, by its position."""
        return self.frames[0] if len(self.frames) == 1 else self.frames[picture]

    def channels(self, wanted: int) -> int:
        """Return how many channels come of a picture for a model that wants so many.

        Four channels become three in a colour conversion, and for a model that wants three; of a conversion
        a model may take the first channel alone.
        """
        found = self.layout.channels
        if self.matrix is not None:
            return 1 if wanted == 1 and found > 1 else min(found, 3)
        return wanted if (found, wanted) == (4, 3) else found

    def result_size(self, frame: AippFrame, height: int, width: int) -> tuple[int, int]:
        """Return (height, width) of what comes of a picture of this size."""
        if frame.crop is not None:
            width, height = frame.crop[2:]
        top, bottom, left, right = frame.padding or (0, 0, 0, 0)
        return height + top + bottom, width + left + right

    def evolve(self, **changes: Any) -> AippSettings:
        """Return settings with other values; raises `InvalidArgument` for those that cannot be."""
        return attrs.evolve(self, **changes)

    def with_frame(self, picture: int, **changes: Any) -> AippSettings:
        """Return settings with other values for one picture of the batch.

        Raises:
            InvalidArgument: there is no such picture, or a value cannot be.
        """
        if not 0 <= picture < len(self.frames):
            raise InvalidArgument(f"picture {picture} is not of the batch, which has {len(self.frames)}")
        frames = list(self.frames)
        frames[picture] = attrs.evolve(frames[picture], **changes)
        return self.evolve(frames=frames)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, np.dtype[Any]]:
        """Return the bytes that a model with dynamic AIPP takes."""
        if copy is False:
            raise ValueError("AIPP settings are packed into new bytes; ask for a copy")
        return np.frombuffer(bytearray(pack_settings(self)), dtype=np.uint8).astype(dtype or np.uint8, copy=False)

    @classmethod
    def from_bytes(cls, data: bytes | bytearray | memoryview) -> AippSettings:
        """Return the settings that a model with dynamic AIPP was given; bytes behind the last picture's are left alone.

        Raises:
            ModelInputMismatch: they are none: too few, never filled, or with numbers that cannot be.
            NotSupported: they ask for a resize, a rotation, or a border of another kind than this device has.
        """
        fields, frames = unpack_fields(data)
        try:
            fields["format"] = AippFormat(fields["format"])
            return cls(**fields, frames=[AippFrame(**frame) for frame in frames])
        except (InvalidArgument, ValueError) as error:
            raise ModelInputMismatch(f"dynamic AIPP's settings cannot be: {error}") from error

    def to_json(self) -> dict[str, Any]:
        """Return the JSON form."""
        document = attrs.asdict(self)
        return document | {"format": None if self.format is None else self.format.name}

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> AippSettings:
        """Return the value of a JSON form; KeyError, TypeError, ValueError or AclError when it is not one."""
        kind = document["format"]
        frames = tuple(AippFrame.from_json(frame) for frame in document["frames"])
        changes = {"format": None if kind is None else AippFormat[kind], "frames": frames}
        return cls(**{**document, **changes})


def default_matrix(layout: Layout) -> Matrix:
    """Return the matrix of a conversion that states none: to blue, green, red, or to luma and chroma."""
    return _YUV_TO_BGR if layout.is_yuv else _RGB_TO_YUV


@attrs.frozen
class Aipp:
    """AIPP in front of one input of a model.

    Attributes:
        input: the input's position.
        spec: what the model's own graph takes there.
        mode: where the settings are.
        settings: of static AIPP; of dynamic AIPP None.
        max_nbytes: of dynamic AIPP the most bytes of all pictures of a batch.
        parameters: of dynamic AIPP the position of the input that takes the settings.
    """

    input: int
    spec: TensorSpec
    mode: AippMode
    settings: AippSettings | None = None
    max_nbytes: int = 0
    parameters: int | None = None

    def graph_shape(self, shape: Sequence[int]) -> tuple[int, ...]:
        """Return the shape that the graph takes for a shape of the model's input."""
        height, width = self.sizes(self.spec.shape)
        if self.settings is not None and -1 in (height, width):
            height, width = self.settings.layout.picture_size(shape[1:])
        if self.spec.format is Format.NCHW:
            return (shape[0], self.spec.shape[1], height, width)
        return (shape[0], height, width, self.spec.shape[3])

    def sizes(self, shape: Sequence[int]) -> tuple[int, int]:
        """Return (height, width) in a shape of the graph's input."""
        first = 2 if self.spec.format is Format.NCHW else 1
        return shape[first], shape[first + 1]

    def to_json(self) -> dict[str, Any]:
        """Return the JSON form."""
        return {
            "input": self.input,
            "spec": self.spec.to_json(),
            "mode": self.mode.value,
            "settings": None if self.settings is None else self.settings.to_json(),
            "max_nbytes": self.max_nbytes,
            "parameters": self.parameters,
        }

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Aipp:
        """Return the value of a JSON form; KeyError, TypeError or ValueError when it is not one."""
        settings, parameters = document["settings"], document["parameters"]
        aipp = cls(
            input=int(document["input"]),
            spec=TensorSpec.from_json(document["spec"]),
            mode=AippMode(document["mode"]),
            settings=None if settings is None else _settings(settings),
            max_nbytes=int(document["max_nbytes"]),
            parameters=None if parameters is None else int(parameters),
        )
        if (aipp.settings is None) != (aipp.mode is AippMode.DYNAMIC) or (aipp.settings is None) == (
            parameters is None
        ):
            raise ValueError("static AIPP has settings, dynamic AIPP an input for them")
        return aipp


def _settings(document: Mapping[str, Any]) -> AippSettings:
    try:
        return AippSettings.from_json(document)
    except AclError as error:
        raise ValueError(str(error)) from error
