"""Models that take pictures."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

import aacl
from aacl.converter import InvalidOption, convert
from aacl.dtypes import DataType, Format
from aacl.errors import InvalidArgument, ModelDataError, ModelInputMismatch
from aacl.models import AippFormat, AippFrame, AippSettings, GearKind, ModelPackage, ModelSignature, read_package
from aacl.models._package import package_pieces

Make = Callable[..., Path]
Array = np.ndarray[Any, np.dtype[Any]]

RGB = "aipp_mode: static input_format: RGB888_U8"
DYNAMIC = "aipp_op { aipp_mode: dynamic max_src_image_size: 600 }"


@pytest.fixture
def make(tmp_path: Path) -> Make:
    """Convert a model that gives its input x, float32 unless said, back as y."""

    def build(
        config: str, dims: list[int | str], *, layout: str = "NCHW", kind: int = TensorProto.FLOAT, **options: Any
    ) -> Path:
        path = tmp_path / "aipp.cfg"
        path.write_text(config)
        value = [helper.make_tensor_value_info(name, kind, dims) for name in "xy"]
        graph = helper.make_graph([helper.make_node("Identity", ["x"], ["y"])], "g", value[:1], value[1:])
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
        onnx.checker.check_model(model)
        return convert(model, tmp_path / "net", insert_op_conf=path, input_format=layout, **options)

    return build


@pytest.fixture
async def stream() -> AsyncIterator[aacl.Stream]:
    """A stream of a device."""
    async with aacl.Device(), aacl.Stream() as opened:
        yield opened


def _pictures(*shape: int) -> Array:
    return np.random.default_rng(3).integers(0, 256, shape, np.uint8)


async def test_static(stream: aacl.Stream, make: Make) -> None:
    """The input is the pictures' bytes, NHWC; the model behind gets what the settings make of them."""
    config = f"aipp_op {{ {RGB} src_image_size_w: 6 src_image_size_h: 5 crop: true load_start_pos_w: 1 mean_chn_1: 9 }}"
    x = _pictures(2, 5, 6, 3)
    async with aacl.Model(make(config, [2, 3, 4, 4])) as model:
        (spec,) = model.inputs
        y = await model.infer(x)
        z = await stream.execute(model(await stream.to_device(x)))

        assert (spec.dtype, spec.shape, spec.format) == (DataType.UINT8, (2, 5, 6, 3), Format.NHWC)
        wanted = x[:, :4, 1:5].transpose(0, 3, 1, 2).astype(np.float32) - np.array([0, 9, 0], np.float32)[:, None, None]
        np.testing.assert_array_equal(y, wanted)
        np.testing.assert_array_equal(await stream.to_host(z), wanted)


async def test_layouts_and_types_behind(stream: aacl.Stream, make: Make) -> None:
    """A graph that takes NHWC, half floats or bytes gets that."""
    config = "aipp_op { aipp_mode: static input_format: XRGB8888_U8 var_reci_chn_0: 0.5 }"
    x = _pictures(1, 4, 4, 4)
    for kind, dtype in ((TensorProto.FLOAT16, np.float16), (TensorProto.UINT8, np.uint8)):
        async with aacl.Model(make(config, [1, 4, 4, 3], layout="NHWC", kind=kind)) as model:
            y = await model.infer(x)

        scaled = x[..., 1:].astype(np.float32) * np.array([0.5, 1, 1], np.float32)
        assert y.dtype == dtype
        np.testing.assert_array_equal(y, np.rint(scaled) if dtype is np.uint8 else scaled)


async def test_nv12_shape(make: Make, stream: aacl.Stream) -> None:
    """A picture of two planes has the rows of both, as video software gives it, and half as many bytes again."""
    config = "aipp_op { aipp_mode: static input_format: YUV420SP_U8 csc_switch: true }"
    async with aacl.Model(make(config, [1, 3, 4, 6])) as model:
        assert model.inputs[0].shape == (1, 6, 6, 1)
        assert model.inputs[0].nbytes == 4 * 6 * 3 // 2
        grey = np.full((1, 6, 6, 1), 128, np.uint8)
        assert set((await model.infer(grey)).ravel().tolist()) == {298 * 112 >> 8}
        with pytest.raises(ModelInputMismatch, match=r"UINT8 of shape \[1, 6, 6, 1\]"):
            await model.infer(grey[:, :4])


async def test_batch_gears(stream: aacl.Stream, make: Make) -> None:
    """C134: with batch gears the pictures are a gear's many, and no others."""
    path = make(f"aipp_op {{ {RGB} }}", ["n", 3, 2, 2], input_shape="x:-1,3,2,2", dynamic_batch_size="1,4")
    async with aacl.Model(path) as model:
        assert model.inputs[0].shape == (-1, 2, 2, 3)
        assert model.gears is not None
        assert model.gears.inputs == (((1, 2, 2, 3),), ((4, 2, 2, 3),))
        for batch in (4, 1):
            x = _pictures(batch, 2, 2, 3)
            np.testing.assert_array_equal(await model.infer(x), x.transpose(0, 3, 1, 2))
        with pytest.raises(ModelInputMismatch, match="its gears are 1, 4"):
            await model.infer(_pictures(2, 2, 2, 3))


async def test_size_gears(stream: aacl.Stream, make: Make) -> None:
    """C134: with image size gears the pictures have the gear's size; a crop beside them is refused by the converter."""
    config = "aipp_op { aipp_mode: static input_format: YUV420SP_U8 csc_switch: true %s }"
    options = {"input_shape": "x:1,3,-1,-1", "dynamic_image_size": "2,4;4,2"}
    async with aacl.Model(make(config % "", [1, 3, "h", "w"], **options)) as model:
        assert model.gears is not None
        assert model.gears.kind is GearKind.SIZE
        assert [shapes[0] for shapes in model.gears.inputs] == [(1, 3, 4, 1), (1, 6, 2, 1)]
        assert (await model.infer(_pictures(1, 6, 2, 1))).shape == (1, 3, 4, 2)
    with pytest.raises(InvalidOption, match=r"E10052.*crop or a border, which --dynamic_image_size excludes"):
        make(config % "crop: true crop_size_w: 2 crop_size_h: 2", [1, 3, "h", "w"], **options)


async def test_dynamic(stream: aacl.Stream, make: Make) -> None:
    """Dynamic AIPP takes pictures of any size and format, and settings as an array, from run to run."""
    async with aacl.Model(make(DYNAMIC, [2, 3, 4, 4])) as model:
        assert [spec.name for spec in model.inputs] == ["x", "ascend_dynamic_aipp_data"]
        assert [spec.shape for spec in model.inputs] == [(2, -1, -1, -1), (64 + 2 * 96,)]
        x, wide = _pictures(2, 4, 4, 3), _pictures(2, 7, 9, 3)
        plain = AippSettings(AippFormat.RGB888_U8, frames=[AippFrame()] * 2)
        crops = plain.evolve(width=9, height=7, frames=[AippFrame(crop=(k, 2, 4, 4), mean=(k,) * 4) for k in (1, 5)])
        np.testing.assert_array_equal(await model.infer(x, plain), x.transpose(0, 3, 1, 2))
        first, second = await asyncio.gather(
            model.infer(wide, crops), model.infer(x, ascend_dynamic_aipp_data=plain.evolve(swaps_colours=True))
        )
        for number, left in enumerate((1, 5)):
            cut = wide[number, 2:6, left : left + 4].transpose(2, 0, 1).astype(np.float32) - left
            np.testing.assert_array_equal(first[number], cut)
        np.testing.assert_array_equal(second, x[..., ::-1].transpose(0, 3, 1, 2))


async def test_dynamic_settings_that_do_not_fit(stream: aacl.Stream, make: Make) -> None:
    """C135: settings that were never filled, or do not fit the pictures, fail that run alone; the model runs on."""
    async with aacl.Model(make(DYNAMIC, [1, 3, 4, 4])) as model:
        x, plain = _pictures(1, 4, 4, 3), AippSettings(AippFormat.RGB888_U8)
        for given, settings, error, text in [
            (x, np.zeros(160, np.uint8), ModelInputMismatch, "they were not filled"),
            (x, plain.evolve(width=5, height=4), ModelInputMismatch, "3 channels of 5 x 4"),
            (x, plain.evolve(width=0, height=0, format=AippFormat.YUYV_U8), ModelInputMismatch, "last dim is 2"),
            (x, plain.evolve(format=None), ModelInputMismatch, "format 0"),
            (x, plain.with_frame(0, crop=(3, 3, 4, 4)), InvalidArgument, "ends outside picture 0"),
            (x[:, :2], plain.evolve(width=4, height=4), ModelInputMismatch, "48 bytes each; 24 bytes were given"),
            (_pictures(1, 20, 20, 3), plain, ModelInputMismatch, "up to 600 bytes in all"),
        ]:
            with pytest.raises(error, match=text):
                await model.infer(given, settings)
            np.testing.assert_array_equal(await model.infer(x, plain), x.transpose(0, 3, 1, 2))


async def test_dynamic_with_batch_gears(stream: aacl.Stream, make: Make) -> None:
    """With batch gears a buffer of the largest pictures' bytes goes in, and settings for the largest batch."""
    path = make(DYNAMIC, ["n", 3, 4, 4], input_shape="x:-1,3,4,4", dynamic_batch_size="1,2")
    async with aacl.Model(path) as model:
        assert model.gears is not None
        assert model.gears.inputs == (((1, 1, 1, 300), (256,)), ((2, 1, 1, 300), (256,)))
        buffer = _pictures(1, 1, 1, 300)
        settings = AippSettings(AippFormat.RGB888_U8, 4, 4, [AippFrame()] * 2)
        wanted = buffer.ravel()[:48].reshape(1, 4, 4, 3).transpose(0, 3, 1, 2)
        np.testing.assert_array_equal(await model.infer(buffer, settings), wanted)


async def test_runs_that_overlap_do_not_mix(make: Make) -> None:
    """Many runs of one model on several streams, from and to memory of their own, each give their own picture."""
    config = "aipp_op { aipp_mode: static input_format: RGB888_U8 var_reci_chn_0: 2 }"
    pictures = [np.full((1, 64, 64, 3), number, np.uint8) for number in range(24)]
    async with (
        aacl.Device(),
        aacl.Stream() as first,
        aacl.Stream() as second,
        aacl.Model(make(config, [1, 3, 64, 64])) as model,
    ):
        runs = [model.infer(picture, stream=(first, second)[number % 2]) for number, picture in enumerate(pictures)]
        results = await asyncio.gather(*runs)

    assert [set(result[0, 0].ravel().tolist()) for result in results] == [{2 * number} for number in range(24)]


def test_the_file_holds_it(make: Make) -> None:
    """The settings go with the file, beside the graph's own input."""
    package = read_package(make(f"aipp_op {{ {RGB} csc_switch: true }}", [1, 3, 4, 4]).read_bytes())

    assert isinstance(package, ModelPackage)
    (aipp,) = package.signature.aipp
    assert aipp.spec.shape == (1, 3, 4, 4)
    assert aipp.settings is not None
    assert aipp.settings.matrix == (66, 129, 25, -38, -74, 112, 112, -94, -18)
    assert type(package.signature).from_json(package.signature.to_json()) == package.signature


@pytest.mark.parametrize("gears", [{}, {"input_shape": "x:-1,3,4,4", "dynamic_batch_size": "1,2"}])
@pytest.mark.parametrize(
    "damage",
    [
        {"input": 1},
        {"input": -7},
        {"parameters": 0},
        {"spec": {"name": "x", "dtype": "FLOAT", "shape": [1, 3, 9999, 4], "format": "NCHW"}},
        {"spec": {"name": "x", "dtype": "FLOAT", "shape": [3, 4], "format": "NCHW"}},
        {"settings": "padding"},
        {"settings": {"format": "RGB888_U8", "frames": [{"mean": "abcd"}]}},
        {"settings": {"format": "RGB888_U8", "frames": [{}], "width": "4", "height": 4}},
        {"settings": {"format": "RGB888_U8", "frames": [], "width": 4, "height": 4}},
        {"settings": {"format": "RAW10", "frames": [{}], "width": 4, "height": 4}},
        {"settings": {"format": "RGB888_U8", "frames": [{"crop": [0, 0, 4, 5]}], "width": 4, "height": 4}},
    ],
)
def test_files_that_do_not_hold_together(
    make: Make, monkeypatch: pytest.MonkeyPatch, gears: dict[str, str], damage: dict[str, Any]
) -> None:
    """AIPP that does not make the model's inputs of the graph's is refused when the file is read."""
    path = make(f"aipp_op {{ {RGB} }}", ["n" if gears else 1, 3, 4, 4], **gears)
    package = read_package(path.read_bytes())
    assert isinstance(package, ModelPackage)
    document = package.signature.to_json()
    document["aipp"][0] |= damage
    monkeypatch.setattr(ModelSignature, "to_json", lambda _self: document)
    damaged = b"".join(package_pieces(package))

    with pytest.raises(ModelDataError, match=r"the \.om file's description is damaged"):
        read_package(damaged)


def test_settings_without_a_frame() -> None:
    """Settings are for one picture at least, and a frame that is not there cannot be changed."""
    with pytest.raises(InvalidArgument, match="no frame"):
        AippSettings(frames=())
    with pytest.raises(InvalidArgument, match="picture 1 is not of the batch, which has 1"):
        AippSettings().with_frame(1)
