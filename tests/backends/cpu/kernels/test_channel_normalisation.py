"""Normalisation over channels and groups: ONNX's reference, or the documented formula in plain Python."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aacl.abc import Array
from aacl.dtypes import Format
from aacl.errors import InvalidArgument, NotSupported, UnsupportedDataType
from tests.helpers.onnx_reference import onnx_reference

Run = Callable[..., list[Array]]
Close = Callable[..., None]
FLOATS: list[np.dtype[Any]] = [np.dtype(np.float32), np.dtype(np.float16)]


def _data(shape: tuple[int, ...], dtype: Any = np.float32, low: float = -2, high: float = 3) -> Array:
    return np.random.default_rng(len(shape) + shape[0]).uniform(low, high, shape).astype(dtype)


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("layout", ["NCHW", "NHWC"])
def test_instance_norm(run: Run, close: Close, dtype: np.dtype[Any], layout: str) -> None:
    """As ONNX's InstanceNormalization; the statistics keep batch and channels."""
    x, gamma, beta = _data((2, 3, 4, 5), dtype), _data((3,), dtype, 0.5), _data((3,), dtype)
    wide = [each.astype(np.float64) for each in (x, gamma, beta)]
    (exact,) = onnx_reference("InstanceNormalization", wide, epsilon=1e-5)
    turn = (0, 2, 3, 1) if layout == "NHWC" else (0, 1, 2, 3)
    y, mean, variance = run("InstanceNorm", [x.transpose(turn), gamma, beta], {"data_format": layout, "epsilon": 1e-5})

    close(y, exact.transpose(turn), units=16, floor=1)
    for n, c in np.ndindex(2, 3):
        values = wide[0][n, c].reshape(-1).tolist()
        middle = math.fsum(values) / 20
        place = (n, 0, 0, c) if layout == "NHWC" else (n, c, 0, 0)
        close(mean[place].reshape(()), middle, units=8, floor=1)
        close(variance[place].reshape(()), math.fsum((v - middle) ** 2 for v in values) / 20, units=8)


def _grouped(x: Array, groups: int) -> tuple[Array, Array, Array]:
    """Return what group_norm gives without scale, the means and the variances, group by group."""
    y = np.empty(x.shape)
    statistics = np.empty((2, x.shape[0], groups))
    size = x.shape[1] // groups
    for n, g in np.ndindex(x.shape[0], groups):
        part = slice(g * size, (g + 1) * size)
        values = x[n, part].astype(np.float64).reshape(-1).tolist()
        mean = math.fsum(values) / len(values)
        variance = math.fsum((v - mean) ** 2 for v in values) / len(values)
        statistics[:, n, g] = mean, variance
        y[n, part] = (x[n, part].astype(np.float64) - mean) / math.sqrt(variance + 0.1)
    return y, statistics[0], statistics[1]


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@settings(max_examples=10, deadline=None)
@given(data=st.data())
def test_group_norm(run: Run, close: Close, dtype: np.dtype[Any], data: st.DataObject) -> None:
    """As torch's group_norm for pictures of any rank and either layout."""
    groups, size = data.draw(st.integers(1, 3)), data.draw(st.integers(1, 3))
    spatial = data.draw(st.lists(st.integers(2, 4), min_size=1, max_size=3))
    is_last = data.draw(st.booleans())
    x = _data((2, groups * size, *spatial), dtype)
    gamma, beta = _data((groups * size,), dtype, 0.5), _data((groups * size,), dtype)
    y, mean, variance = _grouped(x, groups)
    wide = [each.astype(np.float64).reshape(-1, *[1] * len(spatial)) for each in (gamma, beta)]
    exact = y * wide[0] + wide[1]

    given_x = np.moveaxis(x, 1, -1) if is_last else x
    attributes = {"num_groups": groups, "eps": 0.1, "data_format": "NHWC" if is_last else "NCHW"}
    for op_type in ("GroupNorm", "GroupNormV2"):
        found, found_mean, third = run(op_type, [given_x, gamma, beta], attributes)
        close(np.moveaxis(found, -1, 1) if is_last else found, exact, units=64, floor=2)
        close(found_mean, mean, units=4, floor=1)
        close(third, variance if op_type == "GroupNorm" else (variance + 0.1) ** -0.5, units=64)


@pytest.mark.parametrize("has_scale", [True, False])
@pytest.mark.parametrize("is_silu", [True, False])
def test_group_norm_activated(run: Run, close: Close, has_scale: bool, is_silu: bool) -> None:
    """GroupNormSilu multiplies by the sigmoid, GroupNormRelu cuts off what is negative."""
    x, gamma, beta = _data((2, 4, 3)), _data((4,), low=0.5), _data((4,))
    y, mean, variance = _grouped(x, 2)
    scaled = y * gamma[:, None].astype(np.float64) + beta[:, None] if has_scale else y
    exact = np.array([v / (1 + math.exp(-v)) for v in scaled.reshape(-1).tolist()]).reshape(y.shape)

    inputs = [x, gamma, beta] if has_scale else [x]
    found, found_mean, root = run("GroupNormSilu", inputs, {"num_groups": 2, "eps": 0.1, "activate_silu": is_silu})
    close(found, exact if is_silu else scaled, units=32, floor=1)
    close(found_mean, mean, units=8, floor=1)
    close(root, (variance + 0.1) ** -0.5, units=16)
    if has_scale:
        (cut,) = run("GroupNormRelu", inputs, {"num_groups": 2, "eps": 0.1})
        close(cut, np.where(scaled > 0, scaled, 0), units=32, floor=1)


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("axes", [[], [0], [1, -1]], ids=str)
def test_l2_normalize(run: Run, close: Close, dtype: np.dtype[Any], axes: list[int]) -> None:
    """``eps`` is the least norm, so that small vectors stay small; no axes are all axes."""
    x = _data((2, 3, 4), dtype)
    x[0] *= dtype.type(1e-3)
    places = {axis % 3 for axis in axes} or {0, 1, 2}
    exact = np.empty(x.shape)
    for index in np.ndindex(x.shape):
        around = itertools.product(*(range(n) if axis in places else [index[axis]] for axis, n in enumerate(x.shape)))
        norm = math.sqrt(math.fsum(float(x[each]) ** 2 for each in around))
        exact[index] = float(x[index]) / max(norm, 0.5)

    close(run("L2Normalize", [x], {"axis": axes, "eps": 0.5})[0], exact, units=4)


@pytest.mark.parametrize("across", [False, True])
def test_mvn(run: Run, close: Close, across: bool) -> None:
    """Caffe's and ONNX's agree where they overlap; without the variance only the mean is taken off."""
    x = _data((2, 3, 4, 2))
    axes = [1, 2, 3] if across else [2, 3]
    (exact,) = onnx_reference("MeanVarianceNormalization", [x], axes=axes, opset=13)

    close(run("MVN", [x], {"across_channels": across})[0], exact, units=64, floor=1)
    close(run("MVNV2", [x], {"axes": axes})[0], exact, units=64, floor=1)
    (centred,) = run("MVN", [x], {"across_channels": across, "normalize_variance": False})
    for n, c in np.ndindex(2, 3):
        part = x[n].reshape(-1) if across else x[n, c].reshape(-1)
        middle = math.fsum(part.tolist()) / part.size
        close(centred[n, c], x[n, c].astype(np.float64) - middle, units=8, floor=1)


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("layout", [Format.NCHW, Format.ND, Format.NHWC])
@pytest.mark.parametrize("radius", [0, 1, 2, 9])
def test_lrn(run: Run, close: Close, dtype: np.dtype[Any], layout: Format, radius: int) -> None:
    """The squares of the channels at most a radius away; the channels are last unless the format is NCHW."""
    x = _data((2, 5, 3, 2), dtype)
    exact = np.empty(x.shape)
    for n, c, h, w in np.ndindex(x.shape):
        around = x[n, max(c - radius, 0) : c + radius + 1, h, w].astype(np.float64).tolist()
        exact[n, c, h, w] = float(x[n, c, h, w]) / (1.5 + 0.3 * math.fsum(v * v for v in around)) ** 0.7
    turn = (0, 1, 2, 3) if layout is Format.NCHW else (0, 2, 3, 1)
    attributes = {"depth_radius": radius, "alpha": 0.3, "beta": 0.7, "bias": 1.5}

    close(run("LRN", [x.transpose(turn)], attributes, formats={0: layout})[0], exact.transpose(turn), units=8)


@pytest.mark.parametrize("p", [0.5, 1.0, 2.0, 3.0, math.inf])
def test_renorm(run: Run, close: Close, p: float) -> None:
    """Parts along ``dim`` whose norm is too large are scaled down to it, others stay as they are."""
    x = _data((3, 4, 2))
    x[:, 0] *= 0.01
    exact = x.astype(np.float64)
    for part in range(4):
        sizes = [abs(v) for v in exact[:, part].reshape(-1).tolist()]
        norm = max(sizes) if p == math.inf else math.fsum(v**p for v in sizes) ** (1 / p)
        exact[:, part] *= 2.5 / (norm + 1e-7) if norm > 2.5 else 1

    close(run("Renorm", [x], {"p": p, "dim": -2, "maxnorm": 2.5})[0], exact, units=8)
    (turned,) = run("Renorm", [x * np.complex64(1j)], {"p": p, "dim": 1, "maxnorm": 2.5})
    close(turned, exact * 1j, units=8)


@pytest.mark.parametrize(
    ("shape", "attributes"),
    [
        ((3,), {}),
        ((3, 4), {"num_axes": 2}),
        ((3, 4, 2), {"num_axes": -1}),
        ((1,), {"num_axes": 0}),
        ((2, 3), {"axis": 0, "num_axes": 2}),
        ((4,), {"axis": -2}),
        ((4, 2), {"axis": 2, "scale_from_blob": False}),
        ((), {"scale_from_blob": False}),
    ],
)
def test_scale(run: Run, close: Close, shape: tuple[int, ...], attributes: dict[str, Any]) -> None:
    """Scale and bias run along the axes from ``axis``."""
    x, scale, bias = (
        _data((2, 3, 4, 2)),
        np.asarray(_data((*shape, 1))[..., 0]),
        np.asarray(_data((*shape, 1))[..., 0] + 1),
    )
    axis = attributes.get("axis", 1) % 4
    exact, plain = np.empty(x.shape), np.empty(x.shape)
    for index in np.ndindex(x.shape):
        place = index[axis : axis + len(shape)] if scale.size > 1 else (0,) * len(shape)
        plain[index] = float(x[index]) * float(scale[place])
        exact[index] = plain[index] + float(bias[place])

    close(run("Scale", [x, scale, bias], attributes)[0], exact, units=2, floor=4)
    close(run("Scale", [x, scale], attributes)[0], plain, units=2)


def test_bad_input(run: Run) -> None:
    """What does not fit is refused by name before anything runs."""
    x, three = np.zeros((2, 4, 3, 2), np.float32), np.zeros(3, np.float32)
    for op_type, inputs, attributes, text in (
        ("GroupNorm", [x, three, three], {"num_groups": 2, "data_format": "NCHW"}, "there are 4 channels"),
        ("GroupNorm", [x, three, three], {"num_groups": 3, "data_format": "NCHW"}, "no multiple of num_groups 3"),
        ("GroupNorm", [x, three, three], {"num_groups": 0}, "num_groups is 0"),
        ("GroupNorm", [x, three, three], {"num_groups": 1, "data_format": "CHWN"}, "data_format is 'CHWN'"),
        ("InstanceNorm", [x, three, three], {"data_format": "NCHW"}, "there are 4 channels"),
        ("L2Normalize", [x], {"axis": [4]}, "axis 4 lies outside"),
        ("MVN", [x[0]], {}, "four dims"),
        ("MVNV2", [x[0]], {}, "axis 3 lies outside"),
        ("LRN", [x[0]], {}, "four dims"),
        ("LRN", [x], {"depth_radius": -1}, "depth_radius is -1"),
        ("Renorm", [x], {"p": 0.0, "dim": 0, "maxnorm": 1.0}, "p is 0"),
        ("Renorm", [x], {"p": 1.0, "dim": 4, "maxnorm": 1.0}, "dim 4 lies outside"),
        ("Scale", [x, three], {}, "scale needs shape"),
        ("Scale", [x, three], {"axis": 4}, "axis 4 lies outside"),
    ):
        with pytest.raises(InvalidArgument, match=text):
            run(op_type, inputs, attributes)
    with pytest.raises(NotSupported, match="WITHIN_CHANNEL"):
        run("LRN", [x], {"norm_region": "WITHIN_CHANNEL"})
    with pytest.raises(UnsupportedDataType, match="float and complex"):
        run("Renorm", [x.astype(np.int32)], {"p": 1.0, "dim": 0, "maxnorm": 1.0})
