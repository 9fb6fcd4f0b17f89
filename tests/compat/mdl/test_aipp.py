"""AIPP: static and dynamic settings, as pyACL programs use them."""

from __future__ import annotations

import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper

import acl
from tests.compat._models import save
from tests.compat._programs import Dataset, good, ok, untyped

Make = Callable[..., int]

NO_INDEX = 0xFFFFFFFF
RGB888, YUV420SP, RAW10 = 3, 1, 11
NCHW, NHWC, UINT8, FLOAT = 0, 1, 4, 0
STATIC = """aipp_op {
    aipp_mode: static input_format: YUV420SP_U8 src_image_size_w: 8 src_image_size_h: 6
    crop: true load_start_pos_w: 2 crop_size_w: 4 crop_size_h: 4 csc_switch: true
    mean_chn_0: 7 var_reci_chn_2: 0.5
}"""
DYNAMIC = "aipp_op { aipp_mode: dynamic max_src_image_size: 600 }"


@pytest.fixture
def load(device: int, tmp_path: Path) -> Make:
    """Convert and load a model that gives its input, float32 [batch, 3, 4, 4], back."""

    def make(config: str | None, dims: tuple[int | str, ...] = (1, 3, 4, 4), **options: Any) -> int:
        if config is not None:
            options["insert_op_conf"] = tmp_path / "aipp.cfg"
            options["insert_op_conf"].write_text(config)
        values = [(name, TensorProto.FLOAT, list(dims)) for name in "xy"]
        node = helper.make_node("Identity", ["x"], ["y"], name="same")
        model: int = good(acl.mdl.load_from_file(save(tmp_path, "net", [node], values[:1], values[1:], **options)))
        return model

    return make


def _desc(model: int) -> int:
    desc: int = acl.mdl.create_desc()
    ok(acl.mdl.get_desc(desc, model))
    return desc


def _settings(batch: int, width: int = 4, height: int = 4) -> int:
    """Return settings for RGB pictures."""
    aipp: int = acl.mdl.create_aipp(batch)
    assert aipp
    ok(acl.mdl.set_aipp_input_format(aipp, RGB888))
    ok(acl.mdl.set_aipp_src_image_size(aipp, width, height))
    return aipp


def _bytes(count: int) -> np.ndarray[Any, np.dtype[np.uint8]]:
    return np.random.default_rng(7).integers(0, 256, count, np.uint8)


def test_static(load: Make) -> None:
    """A model with static AIPP takes the bytes of a picture; descriptions give its dims, and those behind AIPP."""
    model = load(STATIC)
    desc = _desc(model)
    given, wanted = Dataset(np.full(72, 128, np.uint8)), Dataset(np.zeros((1, 3, 4, 4), np.float32))

    assert acl.mdl.get_num_inputs(desc) == 1
    assert acl.mdl.get_input_size_by_index(desc, 0) == 8 * 6 * 3 // 2
    assert acl.mdl.get_input_data_type(desc, 0) == UINT8
    assert acl.mdl.get_input_format(desc, 0) == NHWC
    assert acl.mdl.get_input_dims(desc, 0) == ({"name": "x", "dimCount": 4, "dims": [1, 6, 8, 3]}, 0)
    assert acl.mdl.get_input_dims_v2(desc, 0) == ({"name": "x", "dimCount": 4, "dims": [1, 3, 4, 4]}, 0)
    assert acl.mdl.get_aipp_type(model, 0) == (1, NO_INDEX, 0)
    ok(acl.mdl.execute(model, given.handle, wanted.handle))
    grey = 298 * (128 - 16) >> 8
    assert [set(wanted.read()[0, channel].ravel().tolist()) for channel in range(3)] == [{grey - 7}, {grey}, {grey / 2}]


def test_first_info(load: Make) -> None:
    """The settings of static AIPP come with the names of the C structure."""
    info, ret = acl.mdl.get_first_aipp_info(load(STATIC), 0)

    assert ret == 0
    assert (info["inputFormat"], info["srcImageSizeW"], info["srcImageSizeH"]) == (YUV420SP, 8, 6)
    assert [info[key] for key in ("cropSwitch", "loadStartPosW", "loadStartPosH", "cropSizeW", "cropSizeH")] == [
        1,
        2,
        0,
        4,
        4,
    ]
    assert [info[key] for key in ("resizeSwitch", "paddingSwitch", "cscSwitch", "rbuvSwapSwitch")] == [0, 0, 1, 0]
    assert [info[f"matrixR{row}C{column}"] for row in range(3) for column in range(3)] == [
        298,
        516,
        0,
        298,
        -100,
        -208,
        298,
        0,
        409,
    ]
    assert [info[f"inputBias{place}"] for place in range(3)] == [16, 128, 128]
    assert [info[f"meanChn{place}"] for place in range(4)] == [7, 0, 0, 0]
    assert [info[f"varReciChn{place}"] for place in range(4)] == [1, 1, 0.5, 1]
    assert (info["srcFormat"], info["srcDatatype"], info["srcDimNum"], info["shapeCount"]) == (NCHW, FLOAT, 4, 1)
    assert info["outDims"] == [
        {
            "srcDims": {"name": "x", "dimCount": 4, "dims": [1, 6, 8, 3]},
            "srcSize": 72,
            "aippOutdims": {"name": "x", "dimCount": 4, "dims": [1, 3, 4, 4]},
            "aippOutSize": 192,
        }
    ]  # fmt: skip


def test_first_info_with_gears(load: Make) -> None:
    """With batch gears there are dims for each."""
    config = "aipp_op { aipp_mode: static input_format: RGB888_U8 }"
    model = load(config, ("n", 3, 4, 4), input_shape="x:-1,3,4,4", dynamic_batch_size="1,2")
    info = good(acl.mdl.get_first_aipp_info(model, 0))

    assert info["shapeCount"] == 2
    assert [(each["srcSize"], each["aippOutdims"]["dims"]) for each in info["outDims"]] == [
        (48, [1, 3, 4, 4]),
        (96, [2, 3, 4, 4]),
    ]
    assert acl.mdl.get_input_size_by_index(_desc(model), 0) == 96
    assert acl.mdl.get_input_dims(_desc(model), 0)[0]["dims"] == [-1, 4, 4, 3]


def test_dynamic(load: Make) -> None:
    """The hidden input takes the settings; picture sizes may change from run to run, below the largest."""
    model = load(DYNAMIC)
    desc = _desc(model)
    place, ret = acl.mdl.get_input_index_by_name(desc, "ascend_dynamic_aipp_data")
    size = acl.mdl.get_input_size_by_index(desc, place)
    pictures = _bytes(600)
    given, wanted = Dataset(pictures, np.zeros(size, np.uint8)), Dataset(np.zeros((1, 3, 4, 4), np.float32))

    assert (place, ret) == (1, 0)
    assert acl.mdl.get_num_inputs(desc) == 2
    assert size == good(acl.mdl.get_aipp_data_size(1)) == 160
    assert acl.mdl.get_input_size_by_index(desc, 0) == 600
    assert (
        acl.mdl.get_input_dims(desc, 0)[0]["dims"] == acl.mdl.get_input_dims_v2(desc, 0)[0]["dims"] == [1, -1, -1, -1]
    )
    assert acl.mdl.get_cur_output_dims(desc, 0)[0]["dims"] == [1, 3, 4, 4]
    assert acl.mdl.get_input_dims_range(desc, 0) == ({"rangeCount": 0, "range": []}, 0)
    assert acl.mdl.get_aipp_type(model, 0) == (2, 1, 0)
    assert acl.mdl.get_aipp_type(model, 1) == (3, NO_INDEX, 0)
    for width, height in ((4, 4), (12, 10)):
        aipp = _settings(1, width, height)
        ok(acl.mdl.set_aipp_crop_params(aipp, 1, 0, 0, 4, 4, 0))
        ok(acl.mdl.set_aipp_by_input_index(model, given.handle, 0, aipp))
        ok(acl.mdl.destroy_aipp(aipp))
        ok(acl.mdl.execute(model, given.handle, wanted.handle))
        picture = pictures[: width * height * 3].reshape(1, height, width, 3)[:, :4, :4]
        np.testing.assert_array_equal(wanted.read(), picture.transpose(0, 3, 1, 2))


def test_a_buffer_of_just_the_pictures(load: Make) -> None:
    """A buffer that holds this run's pictures is enough; one that does not is refused, and the model runs on."""
    model = load(DYNAMIC)
    wanted = Dataset(np.zeros((1, 3, 4, 4), np.float32))
    aipp = _settings(1)
    for count, code in ((47, 100017), (48, 0), (900, 0)):
        given = Dataset(_bytes(count), np.zeros(160, np.uint8))
        ok(acl.mdl.set_input_aipp(model, given.handle, 1, aipp))
        assert acl.mdl.execute(model, given.handle, wanted.handle) == code

    np.testing.assert_array_equal(wanted.read(), _bytes(900)[:48].reshape(1, 4, 4, 3).transpose(0, 3, 1, 2))


def test_settings_of_each_picture(load: Make) -> None:
    """Conversion and exchanges are the batch's; crop, border, mean, minimum and variance each picture's own."""
    model = load(DYNAMIC, (2, 3, 4, 4))
    aipp = _settings(2, 6, 5)
    ok(acl.mdl.set_aipp_rbuv_swap_switch(aipp, 1))
    ok(acl.mdl.set_aipp_ax_swap_switch(aipp, 0))
    ok(acl.mdl.set_aipp_scf_params(aipp, 0, 0, 0, 0, 0, 1))
    ok(acl.mdl.set_aipp_crop_params(aipp, 1, 1, 0, 4, 4, 0))
    ok(acl.mdl.set_aipp_crop_params(aipp, 1, 2, 1, 3, 2, 1))
    ok(acl.mdl.set_aipp_padding_params(aipp, 1, 2, 0, 0, 1, 1))
    ok(acl.mdl.set_aipp_dtc_pixel_mean(aipp, 1, 2, 3, 4, 0))
    ok(acl.mdl.set_aipp_dtc_pixel_min(aipp, 0.5, 0, 0, 0, 1))
    ok(acl.mdl.set_aipp_pixel_var_reci(aipp, 1, 0.25, 1, 1, 1))
    x = _bytes(2 * 6 * 5 * 3)
    given, wanted = Dataset(x, np.zeros(256, np.uint8)), Dataset(np.zeros((2, 3, 4, 4), np.float32))
    ok(acl.mdl.set_input_aipp(model, given.handle, 1, aipp))
    ok(acl.mdl.execute(model, given.handle, wanted.handle))

    bgr = x.reshape(2, 5, 6, 3)[..., ::-1].transpose(0, 3, 1, 2).astype(np.float32)
    right = np.zeros((2, 3, 4, 4), np.float32)
    right[0] = bgr[0, :, :4, 1:5] - np.array([1, 2, 3], np.float32)[:, None, None]
    right[1, :, 2:, :3] = bgr[1, :, 1:3, 2:5] - np.array([0.5, 0, 0], np.float32)[:, None, None]
    right[1, 1] *= np.float32(0.25)
    np.testing.assert_array_equal(wanted.read(), right)


def test_what_lies_in_the_dataset(load: Make) -> None:
    """`set_input_aipp` writes the documented structure into the buffer, the conversion's numbers in place."""
    model = load(DYNAMIC)
    aipp = _settings(1, 8, 6)
    ok(acl.mdl.set_aipp_input_format(aipp, YUV420SP))
    ok(acl.mdl.set_aipp_csc_params(aipp, 1, 298, 0, 409, 298, -100, -208, 298, 516, 0, 1, 2, 3, 16, 128, 129))
    given = Dataset(_bytes(72), np.zeros(160, np.uint8))
    ok(acl.mdl.set_input_aipp(model, given.handle, 1, aipp))
    data = given.read(1).tobytes()

    assert struct.unpack_from("<B4b3x2i9h6x6B", data) == (
        YUV420SP, 1, 0, 0, 1, 8, 6, 298, 0, 409, 298, -100, -208, 298, 516, 0, 1, 2, 3, 16, 128, 129,
    )  # fmt: skip
    ok(acl.mdl.set_aipp_csc_params(aipp, 0, *[0] * 15))
    ok(acl.mdl.set_input_aipp(model, given.handle, 1, aipp))
    assert given.read(1)[1] == 0


def test_dynamic_with_batch_gears(load: Make) -> None:
    """Both hidden inputs are there; a gear's run reads as many pictures."""
    model = load(DYNAMIC, ("n", 3, 4, 4), input_shape="x:-1,3,4,4", dynamic_batch_size="1,2")
    desc = _desc(model)
    names = [acl.mdl.get_input_name_by_index(desc, place) for place in range(acl.mdl.get_num_inputs(desc))]
    sizes = [acl.mdl.get_input_size_by_index(desc, place) for place in range(3)]
    x = _bytes(600)
    given = Dataset(x, np.zeros(256, np.uint8), np.zeros(1, np.int32))
    wanted = Dataset(np.zeros((2, 3, 4, 4), np.float32))

    assert names == ["x", "ascend_dynamic_aipp_data", "ascend_mbatch_shape_data"]
    assert sizes == [600, 256, 4]
    for batch in (1, 2):
        ok(acl.mdl.set_dynamic_batch_size(model, given.handle, 2, batch))
        ok(acl.mdl.set_input_aipp(model, given.handle, 1, _settings(batch)))
        ok(acl.mdl.execute(model, given.handle, wanted.handle))
        right = x[: batch * 48].reshape(batch, 4, 4, 3).transpose(0, 3, 1, 2)
        np.testing.assert_array_equal(wanted.read()[:batch], right)


def test_models_that_take_no_settings(load: Make) -> None:
    """C135: settings for an input without AIPP are 145015, for one with static AIPP 145016; the models still run."""
    aipp = _settings(1)
    plain, static = load(None), load(STATIC)
    for model, given, code in (
        (plain, Dataset(np.ones((1, 3, 4, 4), np.float32)), 145015),
        (static, Dataset(_bytes(72)), 145016),
    ):
        wanted = Dataset(np.zeros((1, 3, 4, 4), np.float32))
        assert acl.mdl.set_input_aipp(model, given.handle, 0, aipp) == code
        assert acl.mdl.set_aipp_by_input_index(model, given.handle, 0, aipp) == code
        assert acl.mdl.set_input_aipp(model, given.handle, 1, aipp) == 100000
        ok(acl.mdl.execute(model, given.handle, wanted.handle))
    assert acl.mdl.get_aipp_type(plain, 0) == (0, NO_INDEX, 0)
    assert acl.mdl.get_aipp_type(plain, 1) == (0, 0, 100000)
    assert acl.mdl.get_first_aipp_info(plain, 0) == ({}, 100038)
    assert acl.mdl.get_first_aipp_info(load(DYNAMIC), 0) == ({}, 100038)
    assert acl.mdl.get_first_aipp_info(static, 3) == ({}, 100000)
    assert acl.mdl.get_aipp_type(99, 0) == (0, 0, 145003)


def test_settings_that_a_dataset_cannot_take(load: Make) -> None:
    """C135: settings that do not hold together or fit another batch, and buffers that are not there, are 100000."""
    model = load(DYNAMIC, (2, 3, 4, 4))
    good_aipp, other = _settings(2), _settings(1)
    given = Dataset(_bytes(96), np.zeros(256, np.uint8))
    unset = acl.mdl.create_aipp(2)
    crop = _settings(2)
    ok(acl.mdl.set_aipp_crop_params(crop, 1, 2, 0, 4, 4, 1))
    for aipp in (other, unset, crop, 0, 12345):
        assert acl.mdl.set_input_aipp(model, given.handle, 1, aipp) == 100000
    assert acl.mdl.set_input_aipp(model, given.handle, 0, good_aipp) == 145015
    assert acl.mdl.set_aipp_by_input_index(model, given.handle, 1, good_aipp) == 145015
    assert acl.mdl.set_input_aipp(model, given.handle, 2, good_aipp) == 100000
    assert acl.mdl.set_input_aipp(model, 0, 1, good_aipp) == 100000
    assert acl.mdl.set_input_aipp(99, given.handle, 1, good_aipp) == 145003
    assert acl.mdl.set_input_aipp(model, Dataset(_bytes(96)).handle, 1, good_aipp) == 100000
    assert acl.mdl.set_input_aipp(model, Dataset(_bytes(96), np.zeros(255, np.uint8)).handle, 1, good_aipp) == 100000
    assert not given.read(1).any()
    assert acl.mdl.execute(model, given.handle, Dataset(np.zeros((2, 3, 4, 4), np.float32)).handle) == 100017
    assert "they were not filled" in str(acl.get_recent_err_msg())


@pytest.mark.parametrize(
    ("name", "arguments", "code"),
    [
        ("set_aipp_input_format", (0,), 100000),
        ("set_aipp_input_format", (65535,), 100000),
        ("set_aipp_input_format", (RAW10,), 200006),
        ("set_aipp_csc_params", (2, *[0] * 15), 100000),
        ("set_aipp_csc_params", (1, 32768, *[0] * 14), 100000),
        ("set_aipp_csc_params", (1, *[0] * 9, 256, 0, 0, 0, 0, 0), 100000),
        ("set_aipp_csc_params", (1, *[0] * 12, 0, 0, -1), 100000),
        ("set_aipp_rbuv_swap_switch", (2,), 100000),
        ("set_aipp_ax_swap_switch", (-1,), 100000),
        ("set_aipp_src_image_size", (0, 4), 100000),
        ("set_aipp_src_image_size", (4, 4097), 100000),
        ("set_aipp_scf_params", (1, 16, 16, 8, 8, 0), 200001),
        ("set_aipp_scf_params", (0, 0, 0, 0, 0, 1), 100000),
        ("set_aipp_scf_params", (7, 0, 0, 0, 0, 0), 100000),
        ("set_aipp_crop_params", (1, -1, 0, 4, 4, 0), 100000),
        ("set_aipp_crop_params", (1, 0, 0, 0, 4, 0), 100000),
        ("set_aipp_crop_params", (1, 0, 0, 4, 4, 1), 100000),
        ("set_aipp_crop_params", (2, 0, 0, 4, 4, 0), 100000),
        ("set_aipp_padding_params", (1, -1, 0, 0, 0, 0), 100000),
        ("set_aipp_padding_params", (1, 0, 0, 0, 0, -1), 100000),
        ("set_aipp_dtc_pixel_mean", (0, 0, 256, 0, 0), 100000),
        ("set_aipp_dtc_pixel_mean", (0, 0, 0, 0, 9), 100000),
        ("set_aipp_dtc_pixel_min", (float("nan"), 0, 0, 0, 0), 100000),
        ("set_aipp_pixel_var_reci", (0, 0, 0, 70000.0, 0), 100000),
    ],
)
def test_bad_parameters(load: Make, name: str, arguments: tuple[float, ...], code: int) -> None:
    """C135: a number out of its range, a switch, a picture or settings that are not there change nothing."""
    model, aipp = load(DYNAMIC), _settings(1)
    call = getattr(untyped.mdl, name)
    before, after = (Dataset(_bytes(48), np.zeros(160, np.uint8)) for _ in range(2))
    ok(acl.mdl.set_input_aipp(model, before.handle, 1, aipp))

    assert call(aipp, *arguments) == code
    assert call(0, *arguments) == 100000
    ok(acl.mdl.set_input_aipp(model, after.handle, 1, aipp))
    np.testing.assert_array_equal(after.read(1), before.read(1))


def test_handles(device: int) -> None:
    """Settings are made for 1 to 127 pictures; a handle is dead once destroyed."""
    assert acl.mdl.create_aipp(0) == acl.mdl.create_aipp(128) == 0
    assert acl.mdl.get_aipp_data_size(0) == (0, 100000)
    assert acl.mdl.get_aipp_data_size(4) == (64 + 4 * 96, 0)
    aipp = acl.mdl.create_aipp(1)
    ok(acl.mdl.destroy_aipp(aipp))
    assert acl.mdl.destroy_aipp(aipp) == acl.mdl.destroy_aipp(0) == 100000
    assert acl.mdl.set_aipp_input_format(aipp, RGB888) == 100000
