"""Quantisation, against formulas in exact fractions or one element at a time."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aacl.abc import Array, KernelRequest
from aacl.backends.cpu.kernels import find
from aacl.dtypes import DataType, Format
from aacl.errors import InvalidArgument, NotSupported, UnsupportedDataType
from aacl.ops._catalogue import schema_of
from aacl.ops._infer import infer_outputs
from aacl.tensors._desc import TensorDesc

Run = Callable[..., list[Array]]
Close = Callable[..., None]
BF16 = np.dtype(ml_dtypes.bfloat16)
ROUNDINGS: dict[str, Callable[[Fraction], int]] = {
    "Round": round,
    "Floor": math.floor,
    "Ceil": math.ceil,
    "Trunc": math.trunc,
}


def _f(values: Any) -> Array:
    """Return an array of float32."""
    return np.array(values, np.float32)


def _integers(x: Array, of: Callable[[Fraction], int], least: int = -128, most: int = 127) -> Array:
    """Apply an exact rule to every element and limit what it gives."""
    found = [min(max(of(Fraction(float(item))), least), most) for item in x.astype(np.float64).flat]
    return np.array(found, np.int64).reshape(x.shape)


@pytest.mark.parametrize("dtype", [np.float32, np.float16])
@settings(max_examples=15, deadline=None)
@given(mode=st.sampled_from(sorted(ROUNDINGS)), twice=st.booleans(), data=st.data())
def test_quant(run: Run, dtype: Any, mode: str, twice: bool, data: st.DataObject) -> None:
    """``round(x * scale + offset)``, limited to 8 or 4 bits."""
    shape = data.draw(st.sampled_from([(), (0, 2), (3,), (2, 3)]))
    x = (np.random.default_rng(3).integers(-400, 400, shape) / 8).astype(dtype)
    scale, offset = data.draw(st.sampled_from([0.5, 2.0, -4.0])), data.draw(st.sampled_from([0.0, 0.5, -3.25]))
    factor = Fraction(scale) * (Fraction(scale) if twice else 1)
    rounded = ROUNDINGS[mode]
    attributes = {"scale": scale, "offset": offset, "sqrt_mode": twice, "round_mode": mode}

    def rule(item: Fraction) -> int:
        return rounded(item * factor + Fraction(offset))

    (found,) = run("AscendQuant", [x], attributes)
    assert found.dtype == np.int8
    assert found.tolist() == _integers(x, rule).tolist()
    (small,) = run("AscendQuant", [x], {**attributes, "dst_type": DataType.INT4})
    assert small.astype(np.int8).tolist() == _integers(x, rule, -8, 7).tolist()


def test_quant_of_nothing_finite(run: Run) -> None:
    """Infinities become the limits, NaN becomes 0."""
    x = _f([np.inf, -np.inf, np.nan, 1e30])

    assert run("AscendQuant", [x], {"scale": 1, "offset": 0})[0].tolist() == [127, -128, 0, 127]


def test_quant_of_many_elements(run: Run) -> None:
    """Work in blocks gives the same."""
    x = _f(np.random.default_rng(2).integers(-100, 100, (3, 40_000)))

    assert np.array_equal(run("AscendQuant", [x], {"scale": 1, "offset": 5})[0], np.minimum(x + 5, 127))
    assert np.array_equal(run("AscendAntiQuant", [x.astype(np.int8)], {"scale": 2, "offset": 5})[0], 2 * x + 10)


@pytest.mark.parametrize("dtype", [np.dtype(np.float32), np.dtype(np.float16), BF16], ids=str)
@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("has_offset", [False, True])
def test_quant_by_axis(run: Run, dtype: np.dtype[Any], axis: int, has_offset: bool) -> None:
    """A scale and an offset for each element of an axis."""
    x = (np.random.default_rng(1).integers(-80, 80, (2, 3, 4)) / 4).astype(dtype)
    size = x.shape[axis]
    scale = np.array([0.5, 2, 4, 0.25][:size]).astype(dtype)
    offset = np.array([1, -2.5, 3, 0][:size]).astype(dtype)
    exact = np.empty(x.shape, int)
    for place in np.ndindex(x.shape):
        channel = place[axis % 3]
        shift = float(offset[channel]) if has_offset else 0
        exact[place] = min(max(round(float(x[place]) * float(scale[channel]) + shift), -128), 127)
    inputs = [x, scale, *([offset] if has_offset else [])]

    assert run("AscendQuantV2", inputs, {"axis": axis})[0].tolist() == exact.tolist()


def test_quant_by_one_scale(run: Run) -> None:
    """A single scale serves all; ``sqrt_mode`` squares it."""
    x = _f([[1, 2], [3, 4]])

    assert run("AscendQuantV2", [x, _f([3])], {"sqrt_mode": True})[0].tolist() == [[9, 18], [27, 36]]


def _words(scales: Any, offsets: Any = ()) -> Array:
    """Return 64-bit scales as the documentation lays them out."""
    words = [int(np.float32(scale).view(np.uint32)) for scale in scales]
    return np.array([word | ((offset & 511) << 37) for word, offset in zip(words, offsets or [0] * len(words),
                                                                           strict=True)], np.uint64)  # fmt: skip


@pytest.mark.parametrize("dtype", [DataType.FLOAT, DataType.FLOAT16])
@pytest.mark.parametrize("is_word", [False, True])
@pytest.mark.parametrize("twice", [False, True])
@pytest.mark.parametrize("is_positive", [False, True])
def test_dequant(run: Run, dtype: DataType, is_word: bool, twice: bool, is_positive: bool) -> None:
    """``x * scale`` by the last axis, from a float16 or a 64-bit scale."""
    x = np.array([[-5, 2, 7], [3, -1, 100]], np.int32)
    scales = [0.5, 4, 0.25]
    inputs = [x, _words(scales) if is_word else np.array(scales, np.float16)]
    (found,) = run("AscendDequant", inputs, {"dtype": dtype, "sqrt_mode": twice, "relu_flag": is_positive})
    exact = [
        [value * scale ** (2 if twice else 1) for value, scale in zip(row, scales, strict=True)] for row in x.tolist()
    ]

    assert found.dtype == dtype.numpy_dtype
    assert found.tolist() == [[max(item, 0) if is_positive else item for item in row] for row in exact]


def test_dequant_by_channel() -> None:
    """The channel is axis 1 of NCHW, and two axes of NC1HWC0."""
    schema, attributes = schema_of("AscendDequant"), schema_of("AscendDequant").complete({})
    x = np.arange(12, dtype=np.int32)
    for shape, layout, scales in (
        ((1, 3, 2, 2), Format.NCHW, [1, 2, 4]),
        ((1, 2, 3, 1, 2), Format.NC1HWC0, [1, 2, 4, 8]),
        ((1, 2, 2, 3), Format.NHWC, [1, 2, 4]),
    ):
        descs = (TensorDesc.of(np.int32, shape, layout), TensorDesc.of(np.uint64, (len(scales),)))
        outputs = infer_outputs(schema, descs, attributes)
        assert outputs[0].format is layout
        out = np.empty(shape, np.float32)
        find(KernelRequest("AscendDequant", descs, outputs, attributes)).body(x.reshape(shape), _words(scales), out)
        for place in np.ndindex(shape):
            channel = {"NCHW": place[1], "NHWC": place[-1]}.get(layout.name, place[1] * 2 + place[-1])
            assert out[place] == x.reshape(shape)[place] * scales[channel]
    descs = (TensorDesc.of(np.int32, (1, 3), Format.FRACTAL_NZ), TensorDesc.of(np.uint64, (3,)))
    outputs = infer_outputs(schema, descs, attributes)
    with pytest.raises(NotSupported, match="FRACTAL_NZ"):
        find(KernelRequest("AscendDequant", descs, outputs, attributes))


def test_requant(run: Run) -> None:
    """``round(x * scale) + offset``, limited; the offset is signed, 9 bits wide."""
    x = np.array([[-5, 2, 7], [3, -1, 1000]], np.int32)
    scales, offsets = [0.5, 4, 0.25], [0, -3, 200]
    exact = [
        [min(max(round(Fraction(value) * Fraction(scale)) + offset, -128), 127)
         for value, scale, offset in zip(row, scales, offsets, strict=True)]
        for row in x.tolist()
    ]  # fmt: skip

    assert run("AscendRequant", [x, _words(scales, offsets)])[0].tolist() == exact
    assert run("AscendRequant", [x, _words([1])], {"relu_flag": True})[0].tolist() == [[0, 2, 7], [3, 0, 127]]


def test_parameters(run: Run) -> None:
    """19 bits of the scale, bit 46, and the offset in bits 37 to 45."""
    (found,) = run("TransQuantParamV2", [_f([1.5, 1.5]), _f([-3, 300])])
    word = 0x3FC00000 | 1 << 46
    assert found.tolist() == [word | (509 << 37), word | (255 << 37)]
    rough = int(run("TransQuantParamV2", [_f([0.1])])[0][0])

    assert rough == (int(_f(0.1).view(np.uint32)) & 0xFFFFE000) | 1 << 46
    x = np.array([10, -10], np.int32)
    assert run("AscendRequant", [x, found[:1]])[0].tolist() == [12, -18]


@pytest.mark.parametrize("name", ["FLOAT16", "FLOAT"])
def test_anti_quant(run: Run, name: str) -> None:
    """``(x + offset) * scale``, the scale squared in ``sqrt_mode``."""
    x, dtype = np.array([[-128, 127, 3]], np.int8), DataType[name]
    attributes = {"scale": 0.5, "offset": 3.0, "dtype": dtype}

    assert run("AscendAntiQuant", [x], attributes)[0].tolist() == [[-62.5, 65, 3]]
    assert run("AscendAntiQuant", [x], {**attributes, "sqrt_mode": True})[0].tolist() == [[-31.25, 32.5, 1.5]]


@pytest.mark.parametrize("dtype", [DataType.FLOAT16, DataType.BF16])
def test_anti_quant_by_axis(run: Run, dtype: DataType) -> None:
    """The scale, and the offset if there is one, run along the last axis; int4 too."""
    x = np.array([[-8, 7, 3]], np.int8)
    scale, offset = _f([0.5, 2, 4]), _f([1, -1, 0])
    attributes = {"dst_type": dtype}
    (found,) = run("AscendAntiQuantV2", [x, scale, offset], attributes)

    assert (found.dtype, found.tolist()) == (dtype.numpy_dtype, [[-3.5, 12, 12]])
    assert run("AscendAntiQuantV2", [x, scale], attributes)[0].tolist() == [[-4, 14, 12]]
    small = x.astype(ml_dtypes.int4)
    assert run("AscendAntiQuantV2", [small, scale], {**attributes, "sqrt_mode": True})[0].tolist() == [[-2, 28, 48]]


@pytest.mark.parametrize(
    ("name", "least", "most"), [("qint8", -128, 127), ("quint8", 0, 255), ("qint32", -(2**31), 2**31 - 1)]
)
def test_quantize(run: Run, name: str, least: int, most: int) -> None:
    """``round(x / scale) + zero_point`` by channel."""
    x = _f([[[1.25, -700], [3, 4]], [[5, 6e9], [0.125, 0.375]]])
    scales, zeros = [0.5, 0.25], [3, -1]
    exact = np.empty(x.shape, int)
    for place in np.ndindex(x.shape):
        value = round(Fraction(float(x[place])) / Fraction(scales[place[1]])) + zeros[place[1]]
        exact[place] = min(max(value, least), most)
    (found,) = run("Quantize", [x, _f(scales), np.array(zeros, np.int32)], {"dtype": f"torch.{name}"})

    assert found.tolist() == exact.tolist()
    (plain,) = run("Quantize", [_f([1, 2]), _f([0.5])], {"dtype": name, "axis": 0})
    assert plain.tolist() == [2, 4]


@pytest.mark.parametrize("dtype", [np.dtype(np.float16), BF16], ids=str)
def test_dynamic_quant(run: Run, close: Close, dtype: np.dtype[Any]) -> None:
    """A scale a row, from its largest magnitude; rows of zeros stay zeros."""
    x = np.random.default_rng(3).uniform(-5, 5, (2, 3, 8)).astype(dtype)
    x[0, 0] = 0
    smooth = np.random.default_rng(4).uniform(0.5, 2, 8).astype(dtype)
    for inputs in ([x], [x, smooth]):
        y, scale = run("DynamicQuant", inputs)
        wide = x.astype(np.float64) * (smooth.astype(np.float64) if len(inputs) > 1 else 1)
        close(scale, np.abs(wide).max(-1) / 127, units=4)
        assert y.dtype == np.int8
        assert y[0, 0].tolist() == [0] * 8
        # Within half a step, and the largest magnitude is hit.
        assert (np.abs(y * scale.astype(float)[..., None] - wide) <= scale[..., None] * 0.5001).all()
        assert (np.abs(y.astype(int)).max(-1) == 127).sum() == 5


@pytest.mark.parametrize(("target", "least", "most"), [(DataType.INT8, -128, 127), (DataType.INT4, -8, 7)])
def test_dynamic_quant_with_offset(run: Run, close: Close, target: DataType, least: int, most: int) -> None:
    """The range of a row fills the integers."""
    x = np.random.default_rng(3).uniform(-1, 5, (3, 8)).astype(np.float16)
    y, scale, offset = run("DynamicQuantV2", [x], {"dst_type": target})
    wide = x.astype(np.float64)
    step = (wide.max(-1) - wide.min(-1)) / (most - least)

    close(scale, step, units=4)
    close(offset, most - wide.max(-1) / step, units=64, floor=16)
    assert (y.astype(int).max(-1) == most).all()
    assert (y.astype(int).min(-1) == least).all()
    again = (y.astype(float) - offset[:, None]) * scale[:, None]
    assert (np.abs(again - wide) <= 0.51 * step[:, None]).all()


def test_bad_input(run: Run) -> None:
    """Modes, dtypes and scales that do not fit are named."""
    x = np.zeros((2, 3), np.float32)
    attributes = {"scale": 1.0, "offset": 0.0}
    with pytest.raises(InvalidArgument, match="round_mode is 'Up'; it is one of round, floor, ceil, trunc"):
        run("AscendQuant", [x], {**attributes, "round_mode": "Up"})
    with pytest.raises(UnsupportedDataType, match=r"dst_type is 4; it takes INT8 \(2\), INT4 \(29\)"):
        run("AscendQuant", [x], {**attributes, "dst_type": DataType.UINT8})
    with pytest.raises(InvalidArgument, match="one for each of axis 1"):
        run("AscendQuantV2", [x, np.zeros(2, np.float32)])
    with pytest.raises(InvalidArgument, match="axis 2 lies outside"):
        run("AscendQuantV2", [x, np.zeros(3, np.float32)], {"axis": 2})
    with pytest.raises(InvalidArgument, match=r"dtype is 'torch.float'"):
        run("Quantize", [x, np.zeros(3, np.float32)], {"dtype": "torch.float"})
    with pytest.raises(NotSupported, match="group_index is not supported"):
        run("DynamicQuant", [x.astype(np.float16), None, np.zeros(1, np.int32)])
    with pytest.raises(InvalidArgument, match="one for each of axis 1"):
        run("AscendDequant", [x.astype(np.int32), _words([1, 2])])
