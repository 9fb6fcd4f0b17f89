"""AIPP configuration files, --insert_op_conf."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from aacl.converter import InvalidOption, convert, inspect_om
from aacl.dtypes import DataType, Format
from aacl.models._package import ModelPackage

Save = Callable[..., Path]
Read = Callable[[Path], ModelPackage]
Run = Callable[..., list[Any]]

STATIC = (
    "aipp_op { aipp_mode: static input_format: RGB888_U8 src_image_size_w: 8 src_image_size_h: 8 var_reci_chn_0: 0.5 }"
)
DYNAMIC = "aipp_op { aipp_mode: dynamic max_src_image_size: 4096 }"
FIXED = {"input_shape": "image:1,3,8,8"}


def configured(source: Path, text: str) -> Path:
    path = source.with_name("aipp.cfg")
    path.write_text(text)
    return path


def test_input_becomes_pictures(conv_net: Save, read: Read, compute: Run) -> None:
    """The model takes bytes of pictures, the graph what it took; the settings are in the file."""
    source = conv_net()

    path = convert(source, source.with_name("o"), insert_op_conf=configured(source, STATIC), **FIXED)  # type: ignore[arg-type]

    signature = read(path).signature
    (spec,) = signature.inputs
    assert (spec.name, spec.dtype, spec.shape, spec.format) == ("image", DataType.UINT8, (1, 8, 8, 3), Format.NHWC)
    assert [aipp.spec.shape for aipp in signature.aipp] == [(1, 3, 8, 8)]
    assert signature.aipp[0].settings is not None
    assert signature.aipp[0].settings.frames[0].reciprocal[0] == 0.5
    assert compute(path, np.zeros((1, 3, 8, 8), np.float32))[0].shape == (1, 8)
    assert inspect_om(path).inputs == ("image UINT8 [1, 8, 8, 3] NHWC",)


def test_batches_of_pictures(conv_net: Save, read: Read) -> None:
    """With batch gears, every gear's pictures have its batch."""
    source = conv_net()

    path = convert(
        source, source.with_name("o"), input_shape="image:-1,3,8,8", dynamic_batch_size="1,4",
        insert_op_conf=configured(source, STATIC),
    )  # fmt: skip

    gears = read(path).signature.gears
    assert gears is not None
    assert gears.inputs == (((1, 8, 8, 3),), ((4, 8, 8, 3),))


def test_dynamic_settings_have_an_input(conv_net: Save, read: Read) -> None:
    """Dynamic AIPP adds the input for settings, behind all others, and frees the pictures' sizes."""
    source = conv_net()

    path = convert(source, source.with_name("o"), insert_op_conf=configured(source, DYNAMIC), **FIXED)  # type: ignore[arg-type]

    assert [(spec.name, spec.shape) for spec in read(path).signature.inputs] == [
        ("image", (1, -1, -1, -1)), ("ascend_dynamic_aipp_data", (160,)),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "options", "code", "words"),
    [
        ("aipp_op { aipp_mode: sideways }", FIXED, "E10052", "aipp.cfg.*aipp_mode"),
        (STATIC + STATIC, FIXED, "E10052", "two aipp_op"),
        (STATIC, FIXED | {"input_format": "ND"}, "E19014", "format ND"),
        (STATIC, FIXED | {"input_fp16_nodes": "image"}, "E10034", "'image' is in --input_fp16_nodes"),
        (STATIC, {"input_shape": "-1,3,8,8", "dynamic_dims": "1;2", "input_format": "ND"}, "E10001", "exclude"),
        (None, FIXED, "E10410", "does not exist"),
    ],
)
def test_wrong_configurations(conv_net: Save, text: str | None, options: dict[str, Any], code: str, words: str) -> None:
    """What is no configuration, or does not fit, is refused with its code, and nothing is written."""
    source = conv_net()
    path = source.with_name("aipp.cfg") if text is None else configured(source, text)

    with pytest.raises(InvalidOption, match=words) as caught:
        convert(source, source.with_name("o"), insert_op_conf=path, **options)
    assert caught.value.report.code == code
    assert not source.with_name("o.om").exists()
