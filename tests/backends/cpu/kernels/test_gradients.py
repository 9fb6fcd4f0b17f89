"""Gradients, against central differences of the forward definitions in float64."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aacl.abc import Array
from aacl.errors import InvalidArgument, UnsupportedDataType
from aacl.ops._catalogue import schema_of
from aacl.ops._infer import infer_outputs
from aacl.tensors._desc import TensorDesc

Run = Callable[..., list[Array]]
Close = Callable[..., None]
BF16 = np.dtype(ml_dtypes.bfloat16)
SELU_SCALE, SELU_ALPHA = 1.0507009873554805, 1.6732632423543772


def _softplus(x: float) -> float:
    return max(x, 0) + math.log1p(math.exp(-abs(x)))


def _sigmoid(x: float) -> float:
    return 1 / (1 + math.exp(-x))


def _slope(function: Callable[[float], float], x: float) -> float:
    """Return the derivative by a central difference with Richardson's correction."""
    step = 1e-3
    wide, narrow = ((function(x + h) - function(x - h)) / (2 * h) for h in (2 * step, step))
    return (4 * narrow - wide) / 3


class Case(NamedTuple):
    """A gradient: the forward function, and which of its numbers the operator is given.

    Attributes:
        forward: of one number.
        order: the inputs by letter: d the gradient, x the forward input, y its result.
        points: where to look, away from bends.
        attributes: of the gradient.
    """

    forward: Callable[[float], float]
    order: str
    points: tuple[float, ...] = (-4.2, -2.1, -0.7, -0.2, 0.3, 0.8, 2.3, 5.1)
    attributes: dict[str, object] = {}  # noqa: RUF012 - never written


_OPEN, _ABOVE = (-0.9, -0.3, 0.2, 0.7), (0.3, 0.9, 1.7, 4.2)
_CASES: dict[str, Case] = {
    "AbsGrad": Case(abs, "xd"),
    "AcosGrad": Case(math.acos, "xd", _OPEN),
    "AsinGrad": Case(math.asin, "xd", _OPEN),
    "AtanGrad": Case(math.atan, "xd"),
    "AcoshGrad": Case(math.acosh, "yd", (1.2, 1.9, 3.4)),
    "AsinhGrad": Case(math.asinh, "yd"),
    "ReciprocalGrad": Case(lambda x: 1 / x, "yd"),
    "InvGrad": Case(lambda x: 1 / x, "yd"),
    "RsqrtGrad": Case(lambda x: x**-0.5, "yd", _ABOVE),
    "SqrtGrad": Case(math.sqrt, "yd", _ABOVE),
    "SigmoidGrad": Case(_sigmoid, "yd"),
    "TanhGrad": Case(math.tanh, "yd"),
    "ReluGrad": Case(lambda x: max(x, 0), "dx"),
    "Relu6Grad": Case(lambda x: min(max(x, 0), 6), "dx", (-1, 0.5, 5.5, 7)),
    "LeakyReluGrad": Case(lambda x: x if x > 0 else 0.25 * x, "dx", attributes={"negative_slope": 0.25}),
    "EluGrad": Case(lambda x: x if x > 0 else math.expm1(x), "dy"),
    "SeluGrad": Case(lambda x: SELU_SCALE * (x if x > 0 else SELU_ALPHA * math.expm1(x)), "dy"),
    "GeluGrad": Case(lambda x: x * 0.5 * math.erfc(-x / math.sqrt(2)), "dxy"),
    "GeluGradV2": Case(lambda x: x * 0.5 * math.erfc(-x / math.sqrt(2)), "dx"),
    "FastGeluGrad": Case(lambda x: x * _sigmoid(1.702 * x), "dx"),
    "SoftplusGrad": Case(_softplus, "dx"),
    "SoftplusV2Grad": Case(lambda x: x if 2 * x > 4 else _softplus(2 * x) / 2, "dx",
                           attributes={"beta": 2.0, "threshold": 4.0}),
    "SoftsignGrad": Case(lambda x: x / (1 + abs(x)), "dx"),
    "SiluGrad": Case(lambda x: x * _sigmoid(x), "dx"),
    "SwishGrad": Case(lambda x: x * _sigmoid(0.5 * x), "dxy", attributes={"scale": 0.5}),
    "MishGrad": Case(lambda x: x * math.tanh(_softplus(x)), "dx"),
    "HardSwishGrad": Case(lambda x: x * min(max(x + 3, 0), 6) / 6, "dx"),
    "HardSigmoidGrad": Case(lambda x: min(max(0.2 * x + 0.4, 0), 1), "dx", attributes={"alpha": 0.2, "beta": 0.4}),
    "HardtanhGrad": Case(lambda x: min(max(x, -1.5), 2), "xd", attributes={"min_val": -1.5, "max_val": 2.0}),
    "HardShrinkGrad": Case(lambda x: 0 if abs(x) <= 0.5 else x, "dx"),
    "SoftShrinkGrad": Case(lambda x: 0 if abs(x) <= 0.5 else x - math.copysign(0.5, x), "dx"),
    "LogSigmoidGrad": Case(lambda x: -_softplus(-x), "dx"),
}  # fmt: skip


@pytest.mark.parametrize("op_type", _CASES)
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16, BF16], ids=str)
def test_against_central_differences(run: Run, op_type: str, dtype: Any) -> None:
    """Every float dtype of the schema, apart and where the gradient is written over."""
    case, known = _CASES[op_type], schema_of(op_type).inputs[0].dtypes
    if TensorDesc.of(dtype, ()).dtype not in known:
        with pytest.raises(UnsupportedDataType):
            run(op_type, [np.ones(1, dtype)] * len(case.order), case.attributes)
        return
    x = np.array(case.points).astype(dtype)
    back = np.linspace(-2, 3, x.size).astype(dtype)
    results = np.array([case.forward(float(value)) for value in x]).astype(dtype)
    inputs: list[Array | None] = [{"x": x, "y": results, "d": back}[letter] for letter in case.order]
    inputs += [None] * (len(schema_of(op_type).inputs) - len(inputs))
    (found,) = run(op_type, inputs, case.attributes)

    expected = [_slope(case.forward, float(value)) * float(d) for value, d in zip(x, back, strict=True)]
    rough = 1e-7 if dtype == np.float64 else 2 * float(ml_dtypes.finfo(dtype).eps)  # type: ignore[no-untyped-call]
    # A result y that was rounded tells less of its x where the function is flat.
    rough *= 8 if "y" in case.order else 1
    np.testing.assert_allclose(found.astype(np.float64), expected, rtol=rough, atol=rough)
    (same,) = run(op_type, inputs, case.attributes, into=case.order.index("d"))
    assert same.tobytes() == found.tobytes()


def test_exact_float32(run: Run, close: Close) -> None:
    """Some slopes to the last places, from their formulas."""
    x, d = np.linspace(-6, 6, 49).astype(np.float32), np.linspace(1, 2, 49).astype(np.float32)
    pairs = list(zip(x.tolist(), d.tolist(), strict=True))

    close(run("TanhGrad", [x / 7, d])[0], [g * (1 - float(np.float32(v / 7)) ** 2) for v, g in pairs], units=3, floor=1)
    close(run("SoftsignGrad", [d, x])[0], [g / (1 + abs(v)) ** 2 for v, g in pairs], units=4)
    close(run("LogSigmoidGrad", [d, x])[0], [g * _sigmoid(-v) for v, g in pairs], units=4)
    density = [math.exp(-v * v / 2) / math.sqrt(2 * math.pi) for v, _ in pairs]
    gelu = [g * (0.5 * math.erfc(-v / math.sqrt(2)) + v * p) for (v, g), p in zip(pairs, density, strict=True)]
    close(run("GeluGradV2", [d, x])[0], gelu, units=8, floor=1)


@pytest.mark.parametrize("is_result", [False, True])
def test_elu_with_scales(run: Run, is_result: bool) -> None:
    """From the input or from the result."""
    alpha, scale, inner = 1.5, 2.0, 0.5

    def forward(x: float) -> float:
        return scale * x if x > 0 else alpha * scale * math.expm1(inner * x)

    x = np.array([-3, -0.5, 0.5, 2], np.float32)
    given_ = np.array([forward(v) for v in x.tolist()], np.float32) if is_result else x
    attributes = {"alpha": alpha, "scale": scale, "input_scale": inner, "is_result": is_result}
    (found,) = run("EluGradV2", [np.ones(4, np.float32), given_], attributes)

    np.testing.assert_allclose(found, [_slope(forward, v) for v in x.tolist()], rtol=1e-5)


def test_gelu_forms(run: Run) -> None:
    """The tanh form's own slope; a form that there is not is refused."""
    x = np.array([-2, -0.3, 0.7, 3], np.float32)

    def forward(v: float) -> float:
        return 0.5 * v * (1 + math.tanh(math.sqrt(2 / math.pi) * (v + 0.044715 * v**3)))

    (found,) = run("GeluGradV2", [np.ones(4, np.float32), x], {"approximate": "tanh"})
    np.testing.assert_allclose(found, [_slope(forward, v) for v in x.tolist()], rtol=1e-5)
    with pytest.raises(InvalidArgument, match="approximate is 'erf'"):
        run("GeluGradV2", [x, x], {"approximate": "erf"})


@pytest.mark.parametrize("op_type", ["GeluGradV2", "FastGeluGrad", "SiluGrad", "MishGrad", "SoftplusGrad"])
def test_infinities(run: Run, op_type: str) -> None:
    """The slope at the infinities is 0 and 1, and no warning is given."""
    x = np.array([np.inf, -np.inf, np.nan], np.float32)
    (found,) = run(op_type, [np.ones(3, np.float32), x, *([None] if op_type == "MishGrad" else [])])

    np.testing.assert_array_equal(found, [1, 0, np.nan])


def test_integers(run: Run) -> None:
    """Relu's gradients and InvGrad stay exact; what has no integer form is refused."""
    d, x = np.array([5, 6, 7], np.int32), np.array([-1, 0, 3], np.int32)

    assert run("ReluGrad", [d, x])[0].tolist() == [0, 0, 7]
    assert run("Relu6Grad", [d, x])[0].tolist() == [0, 0, 7]
    assert run("ThresholdGradV2D", [d, x], {"threshold": -1.0})[0].tolist() == [0, 6, 7]
    assert run("InvGrad", [x, d])[0].tolist() == [-5, 0, -63]
    assert run("RsqrtGrad", [x, d])[0].tolist() == [2, 0, -94]
    with pytest.raises(UnsupportedDataType, match="AsinGrad"):
        run("AsinGrad", [x, d])


def test_complex(run: Run, close: Close) -> None:
    """The conjugate of the factor, as TensorFlow has it; SigmoidGrad and TanhGrad only where asked."""
    y, d = np.array([0.5 + 0.25j], np.complex64), np.array([2 - 1j], np.complex64)

    close(run("SqrtGrad", [y, d])[0], d * np.conj(0.5 / y), units=4)
    close(run("ReciprocalGrad", [y, d])[0], -d * np.conj(y * y), units=4)
    close(run("TanhGrad", [y, d])[0], d * (1 - y * y), units=4)
    close(run("TanhGrad", [y, d], {"complex_conj": True})[0], d * np.conj(1 - y * y), units=4)


@pytest.mark.parametrize("op_type", ["MaximumGrad", "MinimumGrad"])
def test_extremes(run: Run, op_type: str) -> None:
    """The gradient goes to the one that was chosen, of equal ones to the first; an unwanted one is 0."""
    d, x1, x2 = (np.array(v, np.int32) for v in ([1, 2, 3], [5, 5, 5], [4, 5, 6]))
    first = [1, 2, 0] if op_type == "MaximumGrad" else [0, 2, 3]
    second = [a - b for a, b in zip([1, 2, 3], first, strict=True)]

    assert [out.tolist() for out in run(op_type, [d, x1, x2])] == [first, second]
    assert [out.tolist() for out in run(op_type, [d, x1, x2], {"grad_y": False})] == [first, [0, 0, 0]]
    with pytest.raises(InvalidArgument, match="must have one shape"):
        run(op_type, [d, x1[:1], x2])


@given(st.lists(st.integers(1, 4), min_size=2, max_size=5), st.sampled_from(["NHWC", "NCHW"]))
@settings(max_examples=20, deadline=None)
def test_bias(run: Run, shape: list[int], layout: str) -> None:
    """The sum over everything but the channels."""
    x = np.random.default_rng(1).integers(-9, 9, shape).astype(np.int32)
    axis = 1 if layout == "NCHW" else len(shape) - 1
    expected = [sum(np.take(x, channel, axis).ravel().tolist()) for channel in range(shape[axis])]

    assert run("BiasAddGrad", [x], {"data_format": layout})[0].tolist() == expected


def test_bias_in_half_precision(run: Run) -> None:
    """Sums in float32; one dim is too few."""
    (found,) = run("BiasAddGrad", [np.full((5000, 2), 1.0009765625, np.float16)])

    assert found.tolist() == [float(np.float16(5000 * 1.0009765625))] * 2
    with pytest.raises(InvalidArgument, match="two dims or more"):
        run("BiasAddGrad", [np.ones(2, np.float32)])


@pytest.mark.parametrize("axes", [[-1], [0], [0, 1]])
def test_softmax(run: Run, axes: list[int]) -> None:
    """Against differences of the softmax over these axes, and of its logarithm."""
    x, d = np.random.default_rng(1).normal(size=(2, 3, 4)), np.random.default_rng(2).normal(size=(2, 3, 4))

    def softmax(v: Array) -> Array:
        e = np.exp(v)
        return np.asarray(e / e.sum(tuple(axes), keepdims=True))

    def difference(function: Callable[[Array], Array]) -> Array:
        found = np.empty_like(x)
        for place in np.ndindex(*x.shape):
            step = np.zeros_like(x)
            step[place] = 1e-5
            found[place] = ((function(x + step) - function(x - step)) * d).sum() / 2e-5
        return found

    y = softmax(x).astype(np.float32)
    narrow = d.astype(np.float32)
    np.testing.assert_allclose(run("SoftmaxGrad", [y, narrow], {"axes": axes})[0], difference(softmax), atol=2e-6)
    logs = np.log(softmax(x)).astype(np.float32)
    (found,) = run("LogSoftmaxGrad", [narrow, logs], {"axis": axes})
    np.testing.assert_allclose(found, difference(lambda v: np.log(softmax(v))), atol=1e-5)
    assert run("SoftmaxGrad", [y, narrow], {"axes": axes}, into=1)[0].shape == x.shape
    with pytest.raises(InvalidArgument, match="no axes of 3 dims"):
        run("SoftmaxGrad", [y, narrow], {"axes": [3]})


@pytest.mark.parametrize("shared", [False, True])
def test_prelu(run: Run, close: Close, shared: bool) -> None:
    """To the input, and to each weight the sum over all that it weighs."""
    rng = np.random.default_rng(3)
    d, x = (rng.normal(size=(2, 3, 4)).astype(np.float32) for _ in range(2))
    weights = np.array([0.5] if shared else [0.5, -1, 2], np.float32)
    dx, da = run("PReluGrad", [d, x, weights])
    wanted_dx, wanted_da = np.empty(x.shape), np.zeros(weights.size)
    for place in np.ndindex(*x.shape):
        channel = 0 if shared else place[1]
        above = x[place] > 0
        wanted_dx[place] = float(d[place]) * (1.0 if above else float(weights[channel]))
        wanted_da[channel] += 0.0 if above else float(x[place]) * float(d[place])

    close(dx, wanted_dx, units=1)
    close(da, wanted_da, units=4, floor=4)
    with pytest.raises(InvalidArgument, match="one value a channel"):
        run("PReluGrad", [d, x, np.ones(2, np.float32)])


@pytest.mark.parametrize("op_type", ["GLU", "SwiGlu", "GeGluV2"])
@pytest.mark.parametrize("left", [False, True])
def test_gates(run: Run, op_type: str, left: bool) -> None:
    """Against differences of the forward definition, along the first axis."""
    forwards: dict[str, Callable[[Array, Array], Array]] = {
        "GLU": lambda a, b: a / (1 + np.exp(-b)),
        "SwiGlu": lambda a, b: a / (1 + np.exp(-a)) * b,
        "GeGluV2": (lambda a, b: _gelu(a) * b) if left else (lambda a, b: a * _gelu(b)),
    }
    x = np.random.default_rng(4).normal(size=(4, 3))
    d = np.random.default_rng(5).normal(size=(2, 3))
    expected = np.empty_like(x)
    for place in np.ndindex(*x.shape):
        step = np.zeros_like(x)
        step[place] = 1e-5
        up, down = (forwards[op_type](*np.split(x + sign * step, 2)) for sign in (1, -1))
        expected[place] = ((up - down) * d).sum() / 2e-5
    inputs = [d.astype(np.float32), x.astype(np.float32)]
    attributes: dict[str, object] = {"dim": 0}
    name = f"{op_type}Grad"
    if op_type == "GeGluV2":
        attributes |= {"activate_left": left, "approximate": 0}
        inputs.append(_gelu(x[:2] if left else x[2:]).astype(np.float32))
        name = "GeGluGradV2"

    np.testing.assert_allclose(run(name, inputs, attributes)[0], expected, atol=3e-6)


def _gelu(x: Array) -> Array:
    return np.asarray([v * 0.5 * math.erfc(-v / math.sqrt(2)) for v in x.ravel().tolist()]).reshape(x.shape)


def test_shapes_that_are_not_known() -> None:
    """What one input says of a dim counts for the output; shapes that differ are refused."""
    schema = schema_of("TanhGrad")
    half, known = TensorDesc.of(np.float32, (-1, 3)), TensorDesc.of(np.float32, (2, -1))

    assert infer_outputs(schema, [half, known], {})[0].shape == (2, 3)
    assert infer_outputs(schema_of("BiasAddGrad"), [TensorDesc.of(np.float32, (-2,))], {"data_format": "NHWC"})[
        0
    ].shape == (-1,)
    with pytest.raises(InvalidArgument, match="must have one shape"):
        infer_outputs(schema, [half, TensorDesc.of(np.float32, (2, 4))], {})


@pytest.mark.parametrize("dtype", [np.float32, np.float16])
def test_bias_gradients_of_many_rows(run: Run, dtype: type) -> None:
    """Nothing is lost beside a sum that has grown large."""
    x: Array = np.ones((60_000, 3), dtype)
    x[0] = 2**15
    x = np.concatenate([x, np.full((512, 3), 2**15, dtype)])
    (found,) = run("BiasAddGrad", [x.astype(np.float32)])

    np.testing.assert_allclose(found, 513 * 2**15 + 59_999, rtol=1e-6)
    (total,) = run("BiasAddGrad", [np.ones((60_000, 3), dtype)])
    assert total.tolist() == [np.asarray(60_000).astype(dtype)] * 3
