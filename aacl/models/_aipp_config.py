"""AIPP's configuration files, ``atc --insert_op_conf``: read, and checked against a model's inputs. Pure.

Source: the public guide on AIPP configuration, with its fields, defaults and limits.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from aacl.dtypes import DataType, Format
from aacl.errors import AclError, InvalidArgument
from aacl.models._aipp import SIZE_MOST, Aipp, AippFrame, AippMode, AippSettings, default_matrix
from aacl.models._aipp_bytes import BATCH_MOST
from aacl.models._aipp_format import AippFormat, layout_of
from aacl.models._aipp_pixels import check_settings
from aacl.models._aipp_text import Message, Word, parse_text
from aacl.models._signature import GearKind

if TYPE_CHECKING:
    from aacl.models._spec import TensorSpec

__all__ = ("AippConfigError", "parse_aipp")

T = TypeVar("T")
Shape = tuple[int, ...]

_TYPES = (DataType.FLOAT, DataType.FLOAT16, DataType.UINT8)
_TRUE, _FALSE = ("true", "True", "t", "1"), ("false", "False", "f", "0")
_MOST = 1 << 31


class AippConfigError(InvalidArgument):
    """An AIPP configuration cannot be, or does not fit the model.

    Attributes:
        report_code: the converter's code for it.
    """

    def __init__(self, text: str, report_code: str = "E10052") -> None:
        super().__init__(text)
        self.report_code = report_code


def _integer(word: str) -> int:
    try:
        return int(word, 0)
    except ValueError:
        return int(word)


def _boolean(word: str) -> bool:
    if word not in (*_TRUE, *_FALSE):
        raise ValueError(word)
    return word in _TRUE


def _format(word: str) -> AippFormat:
    return AippFormat(int(word)) if word.isdecimal() else AippFormat[word]


class _Kind(NamedTuple):
    """What a field's value is: how it is read, and what it is called."""

    read: Callable[[str], Any]
    what: str
    is_string: bool = False


_INTEGER, _FLOAT = _Kind(_integer, "a whole number"), _Kind(float, "a number")
_BOOLEAN = _Kind(_boolean, "true or false")
_KINDS: dict[str, _Kind] = {
    "aipp_mode": _Kind(AippMode, "static or dynamic"),
    "input_format": _Kind(_format, f"one of {', '.join(AippFormat.__members__)}"),
    "related_input_name": _Kind(str, "a text in quotes", is_string=True),
}
_KINDS |= dict.fromkeys(
    ("related_input_rank", "input_edge_idx", "max_src_image_size", "src_image_size_w", "src_image_size_h",
     "load_start_pos_w", "load_start_pos_h", "crop_size_w", "crop_size_h", "resize_output_w", "resize_output_h",
     "left_padding_size", "right_padding_size", "top_padding_size", "bottom_padding_size",
     *(f"matrix_r{row}c{column}" for row in range(3) for column in range(3)),
     *(f"input_bias_{place}" for place in range(3)), *(f"output_bias_{place}" for place in range(3)),
     *(f"mean_chn_{channel}" for channel in range(4))),
    _INTEGER,
)  # fmt: skip
_KINDS |= dict.fromkeys(("crop", "resize", "support_rotation", "padding", "csc_switch", "rbuv_swap_switch",
                         "ax_swap_switch", "single_line_mode"), _BOOLEAN)  # fmt: skip
_KINDS |= dict.fromkeys(("padding_value", "cpadding_value", *(f"min_chn_{channel}" for channel in range(4)),
                         *(f"var_reci_chn_{channel}" for channel in range(4))), _FLOAT)  # fmt: skip


class _Block:
    """One ``aipp_op``: the values of its fields by name."""

    def __init__(self, message: Message) -> None:
        self.line = message.line
        self._values: dict[str, Any] = {}
        for name, value in message.fields:
            if name not in _KINDS:
                raise AippConfigError(f"line {value.line}: aipp_op has no field {name!r}{_close_to(name)}")
            if name in self._values:
                raise AippConfigError(f"line {value.line}: {name} is given twice; it takes one value")
            self._values[name] = _read(name, value)

    def __contains__(self, name: str) -> bool:
        return name in self._values

    def get(self, name: str, default: T) -> T:
        """Return a value, or the default of a field that is not there."""
        found: T = self._values.get(name, default)
        return found

    def several(self, pattern: str, defaults: Sequence[T]) -> tuple[T, ...]:
        """Return the values of fields that are numbered."""
        return tuple(self.get(pattern.format(place), default) for place, default in enumerate(defaults))

    def size(self, name: str, most: int = SIZE_MOST) -> int:
        """Return a size, which is not negative."""
        value = self.get(name, 0)
        if not 0 <= value <= most:
            raise AippConfigError(f"line {self.line}: {name} goes from 0 to {most}; {value} was given")
        return value


def _read(name: str, value: Word | Message) -> Any:
    kind = _KINDS[name]
    if isinstance(value, Message) or value.is_string != kind.is_string:
        raise AippConfigError(f"line {value.line}: {name} is {kind.what}")
    try:
        return kind.read(value.text)
    except (ValueError, KeyError, OverflowError):
        raise AippConfigError(f"line {value.line}: {name} is {kind.what}, not {value.text!r}") from None


def _close_to(name: str) -> str:
    import difflib

    found = difflib.get_close_matches(name, _KINDS, n=1)
    return f" (is {found[0]} meant?)" if found else ""


def parse_aipp(
    text: str, inputs: Sequence[TensorSpec], gears: GearKind | None = None, shapes: Sequence[Sequence[Shape]] = ()
) -> tuple[Aipp, ...]:
    """Return the AIPP of a model's inputs.

    Args:
        text: the configuration: one ``aipp_op { ... }`` or more, in the text form of protocol buffers.
        inputs: what the model's graph takes, in order.
        gears: which dims its gears set, if it has gears.
        shapes: for each gear the shape of every input.

    Raises:
        AippConfigError: the text is none, a field or its value cannot be, or the settings do not fit an input; with
            the converter's code, E10052, or E19014 for an input without a layout.
    """
    try:
        message = parse_text(text)
    except InvalidArgument as error:
        raise AippConfigError(f"the AIPP configuration cannot be read: {error}") from None
    blocks = [_block(name, value) for name, value in message.fields]
    if not blocks:
        raise AippConfigError("the AIPP configuration has no aipp_op { ... }")
    found: list[Aipp] = []
    settings_place = len(inputs)
    for block, place in zip(blocks, _places(blocks, inputs), strict=True):
        aipp = _checked(block, place, inputs[place], gears, [each[place] for each in shapes], settings_place)
        settings_place += aipp.parameters is not None
        found.append(aipp)
    return tuple(found)


def _checked(
    block: _Block,
    place: int,
    spec: TensorSpec,
    gears: GearKind | None,
    shapes: Sequence[Shape],
    settings_place: int,
) -> Aipp:
    """Return the AIPP of a block, and say which block cannot be."""
    try:
        aipp = _aipp(block, place, spec, gears, settings_place)
        if aipp.settings is not None and gears is GearKind.SIZE:
            for shape in shapes:
                aipp.settings.check(*aipp.sizes(shape))
    except AippConfigError:
        raise
    except AclError as error:
        raise AippConfigError(f"the aipp_op of line {block.line} cannot be: {error}") from None
    return aipp


def _block(name: str, value: Word | Message) -> _Block:
    if name != "aipp_op" or not isinstance(value, Message):
        raise AippConfigError(f"line {value.line}: 'aipp_op {{ ... }}' is expected, not {name!r}")
    return _Block(value)


def _places(blocks: Sequence[_Block], inputs: Sequence[TensorSpec]) -> list[int]:
    """Return which input each block is for."""
    if len({"related_input_name" in block for block in blocks}) > 1:
        raise AippConfigError("one aipp_op names its input by related_input_name, another by related_input_rank")
    places = [_place(block, inputs) for block in blocks]
    for number, place in enumerate(places):
        if place in places[:number]:
            raise AippConfigError(f"two aipp_op are for input {place} ({inputs[place].name!r}); each input takes one")
    return places


def _place(block: _Block, inputs: Sequence[TensorSpec]) -> int:
    names = [spec.name for spec in inputs]
    listed = ", ".join(f"{place} ({name})" for place, name in enumerate(names)) or "none"
    if "related_input_name" in block:
        name = block.get("related_input_name", "")
        if "related_input_rank" in block:
            raise AippConfigError(f"line {block.line}: related_input_name and related_input_rank exclude each other")
        if name not in names:
            raise AippConfigError(f"related_input_name {name!r} is no input of the model; there are {listed}")
        place = names.index(name)
    else:
        place = block.get("related_input_rank", 0)
        if not 0 <= place < len(inputs):
            raise AippConfigError(f"related_input_rank {place} is no input of the model; there are {listed}")
    if block.get("input_edge_idx", 0):
        raise AippConfigError(
            f"input_edge_idx {block.get('input_edge_idx', 0)} asks for AIPP on some uses of an input; here it is in "
            "front of all of them: leave it out"
        )
    return place


def _aipp(block: _Block, place: int, spec: TensorSpec, gears: GearKind | None, settings_place: int) -> Aipp:
    if "aipp_mode" not in block:
        raise AippConfigError(f"the aipp_op of line {block.line} states no aipp_mode: static or dynamic")
    mode = block.get("aipp_mode", AippMode.STATIC)
    _check_input(spec, gears, mode)
    for name in ("resize", "support_rotation", "single_line_mode"):
        if block.get(name, False):
            raise AippConfigError(f"{name} is reserved, and no chip has it; leave it out")
    if mode is AippMode.DYNAMIC:
        return Aipp(place, spec, mode, max_nbytes=_max_nbytes(block), parameters=settings_place)
    return Aipp(place, spec, mode, _settings(block, spec))


def _check_input(spec: TensorSpec, gears: GearKind | None, mode: AippMode) -> None:
    what = f"input {spec.name!r} is {spec.dtype.name} of shape {list(spec.shape)}"
    if spec.format not in (Format.NCHW, Format.NHWC) or len(spec.shape) != 4:
        raise AippConfigError(
            f"{what} and format {spec.format.name}; AIPP is for four dims, and --input_format NCHW or NHWC", "E19014"
        )
    if spec.dtype not in _TYPES:
        raise AippConfigError(f"{what}; AIPP makes {', '.join(each.name for each in _TYPES)}")
    if gears is GearKind.DIMS:
        raise AippConfigError("AIPP and --dynamic_dims exclude each other", "E10001")
    batch, *sizes = spec.shape
    has_sizes = mode is AippMode.STATIC and gears is GearKind.SIZE
    if -1 in sizes and not has_sizes:
        raise AippConfigError(f"{what}; {mode.value} AIPP needs fixed sizes behind it, but for the batch")
    if mode is AippMode.DYNAMIC and batch == -1 and gears is None and not 0 < spec.ranges[0][1] <= BATCH_MOST:
        raise AippConfigError(f"{what}; dynamic AIPP needs a batch of at most {BATCH_MOST}: give a range 1~n, or gears")


def _max_nbytes(block: _Block) -> int:
    nbytes = block.size("max_src_image_size", _MOST)
    if not nbytes:
        raise AippConfigError(
            f"the dynamic aipp_op of line {block.line} needs max_src_image_size, the bytes of the largest pictures of a "
            "batch"
        )
    return nbytes


def _settings(block: _Block, spec: TensorSpec) -> AippSettings:
    if "input_format" not in block:
        raise AippConfigError(f"the static aipp_op of line {block.line} states no input_format")
    kind: AippFormat = block.get("input_format", AippFormat.YUV420SP_U8)
    channels, height, width = spec.shape[1:] if spec.format is Format.NCHW else (spec.shape[3], *spec.shape[1:3])
    frame = _frame(block, height, width)
    size = block.size("src_image_size_h") or max(height, 0), block.size("src_image_size_w") or max(width, 0)
    if -1 in (height, width):
        _check_sized(block, frame)
    elif 0 in (height, width):
        raise AippConfigError(f"input {spec.name!r} of shape {list(spec.shape)} takes no picture")
    settings = AippSettings(
        format=kind,
        width=size[1],
        height=size[0],
        frames=(frame,),
        swaps_colours=block.get("rbuv_swap_switch", False),
        moves_alpha=block.get("ax_swap_switch", False),
        padding_value=block.get("padding_value", 0.0),
        **(_conversion(block, kind) if block.get("csc_switch", False) else {}),
    )
    if -1 in (height, width):  # any even size: the gears' own are checked one by one
        height, width = size = 2, 2
    check_settings(settings, size, 1, (channels, height, width))
    return settings


def _check_sized(block: _Block, frame: AippFrame) -> None:
    """Refuse what cannot be with sizes that gears decide."""
    if frame.crop is not None or frame.padding is not None:
        raise AippConfigError(
            f"the aipp_op of line {block.line} has a crop or a border, which --dynamic_image_size excludes"
        )
    if block.size("src_image_size_w") or block.size("src_image_size_h"):
        raise AippConfigError(
            f"the aipp_op of line {block.line} states src_image_size; with --dynamic_image_size it is that of the gear"
        )


def _frame(block: _Block, height: int, width: int) -> AippFrame:
    names = ("top", "bottom", "left", "right")
    padding = tuple(block.size(f"{name}_padding_size") for name in names) if block.get("padding", False) else None
    crop = None
    if block.get("crop", False):
        top, bottom, left, right = padding or (0, 0, 0, 0)
        crop = (
            block.size("load_start_pos_w", SIZE_MOST - 1),
            block.size("load_start_pos_h", SIZE_MOST - 1),
            block.size("crop_size_w") or max(width - left - right, 1),
            block.size("crop_size_h") or max(height - top - bottom, 1),
        )
    return AippFrame(
        crop=crop,
        padding=padding,
        mean=block.several("mean_chn_{}", (0,) * 4),
        minimum=block.several("min_chn_{}", (0.0,) * 4),
        reciprocal=block.several("var_reci_chn_{}", (1.0,) * 4),
    )


def _conversion(block: _Block, kind: AippFormat) -> Mapping[str, Any]:
    names = [f"matrix_r{row}c{column}" for row in range(3) for column in range(3)]
    defaults = default_matrix(layout_of(kind))
    return {
        "matrix": tuple(block.get(name, default) for name, default in zip(names, defaults, strict=True)),
        "input_bias": block.several("input_bias_{}", (16, 128, 128)),
        "output_bias": block.several("output_bias_{}", (16, 128, 128)),
    }
