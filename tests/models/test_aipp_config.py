"""AIPP's configuration files."""

from __future__ import annotations

import random
from contextlib import suppress
from typing import Any

import pytest

from aacl.dtypes import DataType, Format
from aacl.models import Aipp, AippFormat, AippFrame, AippMode, AippSettings, GearKind, TensorSpec
from aacl.models._aipp_config import AippConfigError, parse_aipp

NCHW = TensorSpec("data", DataType.FLOAT, (1, 3, 224, 200), Format.NCHW)
NHWC = TensorSpec("other", DataType.FLOAT16, (2, 224, 224, 3), Format.NHWC)
SIZED = TensorSpec("data", DataType.FLOAT, (1, 3, -1, -1), Format.NCHW, ((1, 1), (3, 3), (32, 64), (32, 64)))

TEMPLATE = """
# A picture from a camera.
aipp_op {
    aipp_mode: static            # or dynamic
    related_input_rank: 0
    input_format : YUV420SP_U8
    src_image_size_w: 1920
    src_image_size_h: 1080
    crop: true
    load_start_pos_w: 2, load_start_pos_h: 0x4;
    crop_size_w: 190
    crop_size_h: 220
    padding: true
    left_padding_size: 4
    right_padding_size: 6
    top_padding_size: 1
    bottom_padding_size: 3
    padding_value: 2.5
    csc_switch: true
    rbuv_swap_switch: true
    ax_swap_switch: false
    matrix_r0c0: 256 matrix_r0c1: 0 matrix_r0c2: 359
    matrix_r1c0: 256 matrix_r1c1: -88 matrix_r1c2: -183
    matrix_r2c0: 256 matrix_r2c1: 454 matrix_r2c2: 0
    input_bias_0: 0 input_bias_1: 128 input_bias_2: 128
    mean_chn_0: 104 mean_chn_1: 117 mean_chn_2: 123
    min_chn_0: 0.5
    var_reci_chn_0: 0.00392157
    var_reci_chn_1: [1e-2]
}
"""


def _one(text: str, spec: TensorSpec = NCHW, gears: GearKind | None = None) -> Aipp:
    (aipp,) = parse_aipp(text, [spec], gears)
    return aipp


def _static(text: str, spec: TensorSpec = NCHW, gears: GearKind | None = None) -> AippSettings:
    found = _one(f"aipp_op {{ aipp_mode: static {text} }}", spec, gears).settings
    assert found is not None
    return found


def test_every_field() -> None:
    """A file with all fields gives settings with all of them, and these a JSON form that gives them back."""
    aipp = _one(TEMPLATE)

    assert aipp.settings == AippSettings(
        AippFormat.YUV420SP_U8,
        1920,
        1080,
        (
            AippFrame(
                crop=(2, 4, 190, 220),
                padding=(1, 3, 4, 6),
                mean=(104, 117, 123, 0),
                minimum=(0.5, 0, 0, 0),
                reciprocal=(0.00392157, 0.01, 1, 1),
            ),
        ),
        matrix=(256, 0, 359, 256, -88, -183, 256, 454, 0),
        input_bias=(0, 128, 128),
        output_bias=(16, 128, 128),
        swaps_colours=True,
        padding_value=2.5,
    )
    assert Aipp.from_json(aipp.to_json()) == aipp


def test_defaults() -> None:
    """Nothing but the format: pictures of the model's size, as they are."""
    assert _static("input_format: RGB888_U8") == AippSettings(AippFormat.RGB888_U8, 200, 224)
    assert _static("input_format: 3", NHWC) == AippSettings(AippFormat.RGB888_U8, 224, 224)


def test_conversion_defaults() -> None:
    """A conversion without a matrix makes BGR of YUV, and YUV of RGB, with the narrow range's biases."""
    yuv = _static("input_format: YUV420SP_U8 csc_switch: true")
    rgb = _static("input_format: XRGB8888_U8 csc_switch: true matrix_r0c0: 76")

    assert yuv.matrix == (298, 516, 0, 298, -100, -208, 298, 0, 409)
    assert yuv.input_bias == yuv.output_bias == (16, 128, 128)
    assert rgb.matrix == (76, 129, 25, -38, -74, 112, 112, -94, -18)


def test_crop_sizes_left_out_are_what_the_model_and_the_border_leave() -> None:
    """A crop without a size takes the model's; with a border, what is within the border."""
    sizes = "src_image_size_w: 400 src_image_size_h: 400 input_format: RGB888_U8 crop: true"

    assert _static(sizes).frames[0].crop == (0, 0, 200, 224)
    padded = _static(f"{sizes} padding: true left_padding_size: 8 top_padding_size: 4")
    assert padded.frames[0].crop == (0, 0, 192, 220)


def test_dynamic() -> None:
    """Dynamic AIPP keeps the size of the largest pictures, and takes its settings from an input behind the others."""
    text = """
    aipp_op { aipp_mode: dynamic related_input_name: "other" max_src_image_size: 752640 }
    aipp_op: < aipp_mode: dynamic related_input_name: 'data' max_src_image_size: 9 >"""

    first, second = parse_aipp(text, [NCHW, NHWC])

    assert (first.input, first.mode, first.settings) == (1, AippMode.DYNAMIC, None)
    assert (first.max_nbytes, first.parameters) == (752640, 2)
    assert (second.input, second.max_nbytes, second.parameters) == (0, 9, 3)
    assert Aipp.from_json(first.to_json()) == first


def test_sizes_by_gears() -> None:
    """C134: with image size gears the picture's size is the gear's; a crop, a border or a size are refused."""
    base = "input_format: YUV420SP_U8"
    found = _static(f"{base} csc_switch: true", SIZED, GearKind.SIZE)

    assert (found.width, found.height, found.frames) == (0, 0, (AippFrame(),))
    for more, text in [
        ("crop: true crop_size_w: 32 crop_size_h: 32", "a crop or a border, which --dynamic_image_size excludes"),
        ("padding: true left_padding_size: 1", "a crop or a border"),
        ("src_image_size_w: 64", "src_image_size; with --dynamic_image_size it is that of the gear"),
    ]:
        with pytest.raises(AippConfigError, match=text) as caught:
            _static(f"{base} {more}", SIZED, GearKind.SIZE)
        assert caught.value.report_code == "E10052"


def test_gears_that_the_format_has_not() -> None:
    """A gear of an odd size is refused for a format whose chroma stands for pairs of pixels."""
    text = "aipp_op { aipp_mode: static input_format: YUV420SP_U8 }"
    shapes = [[(1, 3, 32, 64)], [(1, 3, 33, 64)]]

    assert parse_aipp(text, [SIZED], GearKind.SIZE, shapes[:1])[0].settings is not None
    with pytest.raises(AippConfigError, match="height of a YUV420SP_U8 picture is at least 2, and even; 33 was given"):
        parse_aipp(text, [SIZED], GearKind.SIZE, shapes)


WRONG: list[tuple[str, str]] = [
    ("", "has no aipp_op"),
    ("aipp_op", "line 1: ':' is expected, not 'the end of the text'"),
    ("aipp_op { aipp_mode: static", "line 1: the name of a field is expected, not 'the end of the text'"),
    ("aipp_op { aipp_mode static }", "line 1: ':' is expected, not 'static'"),
    ("aipp_op { aipp_mode: }", "line 1: a value is expected, not '}'"),
    ("\n\naipp_op { % }", "line 3: '%' is not expected here"),
    ("model { }", "line 1: 'aipp_op { ... }' is expected, not 'model'"),
    ("aipp_op: 3", "'aipp_op { ... }' is expected"),
    ("aipp_op " + "{ a " * 20, "nested more than 8 deep"),
    ("aipp_op { aipp_mod: static }", "no field 'aipp_mod' .is aipp_mode meant"),
    ("aipp_op { input_format: RGB888_U8 }", "states no aipp_mode"),
    ("aipp_op { aipp_mode: often }", "aipp_mode is static or dynamic, not 'often'"),
    ("aipp_op { aipp_mode: { } }", "aipp_mode is static or dynamic"),
    ("aipp_op { aipp_mode: static }", "states no input_format"),
    ("aipp_op { aipp_mode: static input_format: RGB }", "input_format is one of YUV420SP_U8, .*, not 'RGB'"),
    ("aipp_op { aipp_mode: static input_format: RAW10 }", "AIPP does not read RAW10 here"),
    ("aipp_op { aipp_mode: static input_format: NC1HWC0DI_S8 csc_switch: true }", "does not read NC1HWC0DI_S8"),
    ("aipp_op { aipp_mode: static crop: yes }", "crop is true or false, not 'yes'"),
    ("aipp_op { aipp_mode: static mean_chn_0: 1.5 }", "mean_chn_0 is a whole number, not '1.5'"),
    ("aipp_op { aipp_mode: static mean_chn_0: 1 mean_chn_0: 2 }", "mean_chn_0 is given twice"),
    ("aipp_op { aipp_mode: static var_reci_chn_0: [1, 2] }", "var_reci_chn_0 is given twice"),
    ("aipp_op { aipp_mode: static related_input_name: data }", "related_input_name is a text in quotes"),
    ("aipp_op { aipp_mode: static related_input_rank: 2 }", "rank 2 is no input of the model; there are 0 .data."),
    ('aipp_op { aipp_mode: static related_input_name: "x" }', "'x' is no input of the model; there are 0 .data."),
    ('aipp_op { related_input_name: "data" related_input_rank: 0 }', "exclude each other"),
    ("aipp_op { aipp_mode: static input_edge_idx: 1 }", "input_edge_idx 1 asks for AIPP on some uses"),
    ("aipp_op { aipp_mode: static resize: true }", "resize is reserved"),
    ("aipp_op { aipp_mode: dynamic }", "needs max_src_image_size"),
    ("aipp_op { aipp_mode: dynamic max_src_image_size: -1 }", "max_src_image_size goes from 0 to"),
    ("aipp_op { aipp_mode: static input_format: RGB888_U8 src_image_size_w: 4097 }", "src_image_size_w goes from 0 to 4096"),
    ("aipp_op { aipp_mode: static input_format: RGB888_U8 mean_chn_1: 256 }", "mean goes from 0 to 255; 256"),
    ("aipp_op { aipp_mode: static input_format: RGB888_U8 csc_switch: true matrix_r0c0: 40000 }", "40000 was given"),
    ("aipp_op { aipp_mode: static input_format: RGB888_U8 min_chn_1: nan }", "minimum is finite"),
    ("aipp_op { aipp_mode: static input_format: RGB888_U8 src_image_size_w: 100 }", "3 channels of 100 x 224 .* 200 x 224"),
    ("aipp_op { aipp_mode: static input_format: YUV400_U8 }", "makes 1 channels .* takes 3 channels"),
    ("aipp_op { aipp_mode: static input_format: YUV420SP_U8 src_image_size_w: 201 }", "width of a YUV420SP_U8 picture"),
    ("aipp_op { aipp_mode: static input_format: RGB888_U8 crop: true load_start_pos_w: 1 }", "ends outside picture 0 of 200"),
    ("aipp_op { aipp_mode: static input_format: RGB888_U8 padding: true left_padding_size: 1 }", "201 x 224 of picture"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "message"), WRONG)
def test_what_cannot_be(text: str, message: str) -> None:
    """Text that is none, fields, values and settings that do not fit: E10052, with line, name, value or sizes."""
    with pytest.raises(AippConfigError, match=message) as caught:
        parse_aipp(text, [NCHW])

    assert caught.value.report_code == "E10052"


def test_two_blocks() -> None:
    """Two blocks are for different inputs, and name them in the same way."""
    fields = "aipp_mode: dynamic max_src_image_size: 9"

    with pytest.raises(AippConfigError, match=r"two aipp_op are for input 0 \('data'\)"):
        parse_aipp(f"aipp_op {{ {fields} }} aipp_op {{ {fields} }}", [NCHW, NHWC])
    with pytest.raises(AippConfigError, match="another by related_input_rank"):
        parse_aipp(f'aipp_op {{ {fields} }} aipp_op {{ {fields} related_input_name: "other" }}', [NCHW, NHWC])


@pytest.mark.parametrize(
    ("spec", "gears", "code", "text"),
    [
        (TensorSpec("x", DataType.FLOAT, (1, 3, 8, 8)), None, "E19014", "format ND; AIPP is for four dims"),
        (TensorSpec("x", DataType.FLOAT, (3, 8, 8), Format.NCHW), None, "E19014", "AIPP is for four dims"),
        (
            TensorSpec("x", DataType.INT32, (1, 3, 8, 8), Format.NCHW),
            None,
            "E10052",
            "AIPP makes FLOAT, FLOAT16, UINT8",
        ),
        (NCHW, GearKind.DIMS, "E10001", "--dynamic_dims exclude"),
        (SIZED, None, "E10052", "dynamic AIPP needs fixed sizes behind it"),
        (SIZED, GearKind.SIZE, "E10052", "dynamic AIPP needs fixed sizes behind it"),
        (
            TensorSpec("x", DataType.FLOAT, (-1, 3, 8, 8), Format.NCHW, ((1, -1), (3, 3), (8, 8), (8, 8))),
            None,
            "E10052",
            "batch of at most 127",
        ),
    ],
)
def test_inputs_that_take_no_pictures(spec: TensorSpec, gears: GearKind | None, code: str, text: str) -> None:
    """An input without a layout, of another type, or with free dims that nobody fixes, is refused with its code."""
    with pytest.raises(AippConfigError, match=text) as caught:
        _one("aipp_op { aipp_mode: dynamic max_src_image_size: 9 }", spec, gears)

    assert caught.value.report_code == code


def test_mutations_are_configurations_or_errors() -> None:
    """Damaged files give settings or the typed error, never another exception."""
    dice = random.Random(5)
    for _ in range(1500):
        text = list(TEMPLATE)
        for _ in range(dice.randint(1, 6)):
            place = dice.randrange(len(text))
            text[place : place + dice.randint(0, 3)] = [dice.choice([*"{}[]:<>\"'#,;-e0195.\n \\é", *TEMPLATE[:40]])]
        with suppress(AippConfigError):
            _one("".join(text))


@pytest.mark.parametrize(
    "damage", [{"mode": "often"}, {"settings": None}, {"spec": {}}, {"input": "x"}, {"parameters": 1}]
)
def test_json_that_is_none(damage: dict[str, Any]) -> None:
    """A JSON form with a value that cannot be raises what readers of files expect."""
    with pytest.raises((KeyError, TypeError, ValueError)):
        Aipp.from_json(_one(TEMPLATE).to_json() | damage)
