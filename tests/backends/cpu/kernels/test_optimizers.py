"""Training steps, against the documentation's formulas for one element."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from aacl.abc import Array, KernelRequest
from aacl.backends.cpu.kernels import find
from aacl.errors import InvalidArgument, NotSupported, UnsupportedDataType
from aacl.ops._catalogue import schema_of
from aacl.ops._infer import infer_outputs
from aacl.tensors._desc import TensorDesc

Run = Callable[..., list[Array]]
Close = Callable[..., None]
BF16 = np.dtype(ml_dtypes.bfloat16)
FLOATS = [np.dtype(np.float32), np.dtype(np.float64), np.dtype(np.float16), BF16]


def _sign(x: float) -> float:
    return math.copysign(1, x) if x else 0.0


def _momentum(var: float, accum: float, lr: float, grad: float, momentum: float, nesterov: bool = False) -> Any:
    accum = accum * momentum + grad
    if nesterov:
        return var - lr * (grad + momentum * accum), accum
    return var - lr * accum, accum


def _keras(var: float, accum: float, lr: float, grad: float, momentum: float, nesterov: bool = False) -> Any:
    accum = accum * momentum - lr * grad
    return (var + momentum * accum - lr * grad if nesterov else var + accum), accum


def _adam(
    var: float, m: float, v: float, b1p: float, b2p: float, lr: float, b1: float, b2: float, eps: float, g: float,
    nesterov: bool = False,
) -> Any:  # fmt: skip
    m, v = b1 * m + (1 - b1) * g, b2 * v + (1 - b2) * g * g
    top = b1 * m + (1 - b1) * g if nesterov else m
    return var - lr * math.sqrt(1 - b2p) / (1 - b1p) * top / (math.sqrt(v) + eps), m, v


def _amsgrad(
    var: float, m: float, v: float, vhat: float, b1p: float, b2p: float, lr: float, b1: float, b2: float, eps: float,
    g: float,
) -> Any:  # fmt: skip
    m, v = b1 * m + (1 - b1) * g, b2 * v + (1 - b2) * g * g
    vhat = max(v, vhat)
    return var - lr * math.sqrt(1 - b2p) / (1 - b1p) * m / (math.sqrt(vhat) + eps), m, v, vhat


def _adam_w(
    var: float, m: float, v: float, b1p: float, b2p: float, lr: float, decay: float, b1: float, b2: float, eps: float,
    g: float, maximize: bool = False,
) -> Any:  # fmt: skip
    g = -g if maximize else g
    var *= 1 - lr * decay
    m, v = b1 * m + (1 - b1) * g, b2 * v + (1 - b2) * g * g
    corrected, spread = m / (1 - b1p * b1), v / (1 - b2p * b2)
    return var - lr * corrected / (math.sqrt(spread) + eps), m, v


def _adamax(var: float, m: float, v: float, b1p: float, lr: float, b1: float, b2: float, eps: float, g: float) -> Any:
    m, v = b1 * m + (1 - b1) * g, max(b2 * v, abs(g))
    return var - lr / (1 - b1p) * m / (v + eps), m, v


def _adadelta(var: float, accum: float, moved: float, lr: float, rho: float, eps: float, g: float) -> Any:
    accum = rho * accum + (1 - rho) * g**2
    update = math.sqrt(moved + eps) / math.sqrt(accum + eps) * g
    return var - lr * update, accum, rho * moved + (1 - rho) * update**2


def _adagrad(var: float, accum: float, lr: float, g: float, slots: bool = True, eps: float = 0) -> Any:
    accum += g * g if slots else 0
    return var - lr * g / (math.sqrt(accum) + eps), accum


def _rms(var: float, ms: float, mom: float, lr: float, g: float, rho: float, momentum: float, eps: float) -> Any:
    ms = rho * ms + (1 - rho) * g * g
    mom = momentum * mom + lr * g / math.sqrt(ms + eps)
    return var - mom, ms, mom


def _centred(
    var: float, mg: float, ms: float, mom: float, lr: float, rho: float, momentum: float, eps: float, g: float
) -> Any:
    mg, ms = rho * mg + (1 - rho) * g, rho * ms + (1 - rho) * g * g
    mom = momentum * mom + lr * g / math.sqrt(ms - mg * mg + eps)
    return var - mom, mg, ms, mom


def _ftrl(var: float, accum: float, linear: float, g: float, lr: float, l1: float, l2: float, *others: float) -> Any:
    power, shrunk = others[-1], g + (2 * others[0] * var if len(others) == 2 else 0)
    new = accum + g * g
    linear += shrunk - (new**-power - accum**-power) / lr * var
    quadratic = new**-power / lr + 2 * l2
    return ((_sign(linear) * l1 - linear) / quadratic if abs(linear) > l1 else 0), new, linear


def _proximal(var: float, alpha: float, l1: float, l2: float, delta: float) -> Any:
    near = var - alpha * delta
    return (_sign(near) / (1 + alpha * l2) * max(abs(near) - alpha * l1, 0),)


def _proximal_adagrad(var: float, accum: float, lr: float, l1: float, l2: float, g: float) -> Any:
    accum += g * g
    return (*_proximal(var, lr / math.sqrt(accum), l1, l2, g), accum)


def _add_sign(var: float, m: float, lr: float, alpha: float, decay: float, beta: float, g: float) -> Any:
    m = beta * m + (1 - beta) * g
    return var - lr * (alpha + decay * _sign(g) * _sign(m)) * g, m


def _power_sign(var: float, m: float, lr: float, base: float, decay: float, beta: float, g: float) -> Any:
    m = beta * m + (1 - beta) * g
    return var - lr * math.exp(base * decay * _sign(g) * _sign(m)) * g, m


def _sgd(
    var: float, g: float, lr: float, accum: float, momentum: float, stat: float,
    dampening: float = 0.0, decay: float = 0.0, nesterov: bool = False,
) -> Any:  # fmt: skip
    g += decay * var
    if momentum == 0:
        return var - lr * g, accum, stat
    accum = g if stat > 0 else momentum * accum + (1 - dampening) * g
    return var - lr * (g + momentum * accum if nesterov else accum), accum, 0 if stat > 0 else stat


# A kind a letter: v variable or gradient of any sign, s positive slot, r rate of one element, n negative power, z zero.
STEPS: dict[str, tuple[str, Callable[..., Any], dict[str, Any]]] = {
    "ApplyGradientDescent": ("vrv", lambda var, alpha, delta: (var - alpha * delta,), {}),
    "ApplyMomentumD": ("vvrvr", _momentum, {}),
    "ApplyMomentumD nesterov": ("vvrvr", partial(_momentum, nesterov=True), {"use_nesterov": True}),
    "ApplyKerasMomentumD": ("vvrvr", _keras, {}),
    "ApplyKerasMomentumD nesterov": ("vvrvr", partial(_keras, nesterov=True), {"use_nesterov": True}),
    "FusedMulApplyMomentum": ("vvrvrr", lambda v, a, lr, x1, m, x2: _momentum(v, a, lr, x1 * x2, m), {}),
    "FusedMulApplyKerasMomentum": ("vvrvrv", lambda v, a, lr, x1, m, x2: _keras(v, a, lr, x1 * x2, m), {}),
    "ApplyAdamD": ("vvsrrrrrrv", _adam, {}),
    "ApplyAdamD nesterov": ("vvsrrrrrrv", partial(_adam, nesterov=True), {"use_nesterov": True}),
    "ApplyAdamWithAmsgradD": (
        "vvssrrrv",
        lambda v, m, s, h, p, q, lr, g: _amsgrad(v, m, s, h, p, q, lr, 0.5, 0.75, 0.125, g),
        {"beta1": 0.5, "beta2": 0.75, "epsilon": 0.125},
    ),
    "ApplyAdamWithAmsgradV2": ("vvssrrrrrrv", _amsgrad, {}),
    "ApplyAdamW": ("vvsrrrrrrrv", _adam_w, {}),
    "ApplyAdamW maximize": ("vvsrrrrrrrv", partial(_adam_w, maximize=True), {"maximize": True}),
    "ApplyAdaMaxD": ("vvsrrrrrv", _adamax, {}),
    "ApplyAdadeltaD": ("vssrrrv", _adadelta, {}),
    "ApplyAdagradD": ("vsrv", _adagrad, {}),
    "ApplyAdagradD fixed": ("vsrv", partial(_adagrad, slots=False), {"update_slots": False}),
    "ApplyAdagradV2D": ("vsrv", partial(_adagrad, eps=0.25), {"epsilon": 0.25}),
    "ApplyRMSPropD": (
        "vsvrv",
        partial(_rms, rho=0.5, momentum=0.75, eps=0.25),
        {"rho": 0.5, "momentum": 0.75, "epsilon": 0.25},
    ),
    "ApplyCenteredRMSPropD": ("vvsvrrrrv", lambda v, mg, ms, *x: _centred(v, mg, ms, *x), {}),
    "ApplyFtrlD": ("vsvvrrrn", _ftrl, {}),
    "ApplyFtrlV2D": ("vsvvrrrrn", _ftrl, {}),
    "ApplyProximalGradientDescent": ("vrrrv", _proximal, {}),
    "ApplyProximalAdagradD": ("vsrrrv", _proximal_adagrad, {}),
    "ApplyAddSignD": ("vvrrrrv", _add_sign, {}),
    "ApplyPowerSignD": ("vvrrrrv", _power_sign, {}),
    "SGD": ("vvrvrv", partial(_sgd, dampening=0.25, decay=0.5), {"dampening": 0.25, "weight_decay": 0.5}),
    "SGD nesterov": ("vvrvrv", partial(_sgd, nesterov=True), {"nesterov": True}),
    "SGD plain": ("vvrvzv", partial(_sgd, decay=0.5), {"weight_decay": 0.5}),
}
_ALIKE = {"ApplyMomentumD", "ApplyMomentumD nesterov", "ApplyKerasMomentumD", "ApplyKerasMomentumD nesterov",
          "ApplyAdamD", "ApplyAdamD nesterov", "ApplyAdaMaxD", "ApplyAdadeltaD", "ApplyAdagradD", "ApplyAdagradD fixed",
          "ApplyCenteredRMSPropD", "ApplyFtrlD", "ApplyFtrlV2D", "ApplyProximalAdagradD", "ApplyAddSignD",
          "ApplyPowerSignD"}  # fmt: skip
# Without the D the variable is the only output, and the slots are updated where they lie.
STEPS |= {
    **{name.replace("D ", " ").removesuffix("D"): STEPS[name] for name in sorted(_ALIKE)},
    "ApplyAdagradV2": ("vsrrv", lambda v, a, lr, eps, g: _adagrad(v, a, lr, g, eps=eps), {}),
    "ApplyRMSProp": ("vsvrrrrv", lambda v, s, m, lr, rho, mu, eps, g: _rms(v, s, m, lr, g, rho, mu, eps), {}),
    "ApplyAdamWithAmsgrad": ("vvssrrrrrrv", _amsgrad, {}),
}


def _inputs(kinds: str, shape: tuple[int, ...], dtype: np.dtype[Any], seed: int) -> list[Array]:
    random = np.random.default_rng(seed)
    bounds = {"v": (-1, 1), "s": (2, 4), "r": (0.1, 0.8), "n": (-0.6, -0.4), "z": (0, 0)}
    return [random.uniform(*bounds[kind], shape if kind in "vs" else ()).astype(dtype) for kind in kinds]


def _exact(formula: Callable[..., Any], inputs: list[Array], shape: tuple[int, ...]) -> list[Array]:
    wide = [np.broadcast_to(item.astype(np.float64), shape) for item in inputs]
    rows = [formula(*(float(item[place]) for item in wide)) for place in np.ndindex(shape)]
    count = len(rows[0]) if rows else len(formula(*(0.5 for _ in inputs)))
    return [np.array([row[index] for row in rows], np.float64).reshape(shape) for index in range(count)]


def _usable(name: str) -> list[np.dtype[Any]]:
    allowed = schema_of(name.split(maxsplit=1)[0]).inputs[0].dtypes
    return [dtype for dtype in FLOATS if TensorDesc.of(dtype).dtype in allowed]


@pytest.mark.parametrize(
    ("name", "dtype"), [(name, dtype) for name in STEPS for dtype in _usable(name)], ids=lambda each: str(each)
)
@settings(max_examples=5, deadline=None)
@given(shape=hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4), seed=st.integers(0, 99))
def test_steps(run: Run, close: Close, name: str, dtype: np.dtype[Any], shape: tuple[int, ...], seed: int) -> None:
    """Variable and slots after one step, each rounded once."""
    kinds, formula, attributes = STEPS[name]
    inputs = _inputs(kinds, shape, dtype, seed)
    found = run(name.split(maxsplit=1)[0], inputs, attributes)

    for actual, exact in zip(found, _exact(formula, inputs, shape), strict=True):
        assert actual.dtype == dtype
        close(actual, exact, units=32 if dtype.itemsize > 2 else 2, floor=1)


@pytest.mark.parametrize("name", sorted(STEPS))
def test_several_steps(run: Run, close: Close, name: str) -> None:
    """What one step leaves is what the next one takes, with a new gradient each time."""
    kinds, formula, attributes = STEPS[name]
    op_type, shape = name.split(maxsplit=1)[0], (3,)
    inputs = _inputs(kinds, shape, np.dtype(np.float32), 7)
    exact: list[Any] = list(inputs)
    names = [parameter.name for parameter in schema_of(op_type).inputs]
    gradients = [index for index, each in enumerate(names) if each in ("grad", "gradient", "delta", "x1")]
    for step in range(4):
        for index in gradients:
            inputs[index] = exact[index] = np.cos(inputs[index] + step, dtype=np.float32)
        found, wanted = run(op_type, inputs, attributes), _exact(formula, exact, shape)
        places = (0, 3, 5) if op_type == "SGD" else range(len(found))
        for place, actual, reference in zip(places, found, wanted, strict=True):
            close(actual, reference, units=200, floor=1)
            inputs[place], exact[place] = actual, reference


@pytest.mark.parametrize("name", sorted(STEPS))
def test_in_place(run: Run, name: str) -> None:
    """Outputs may be the tensors that they are named like, of more elements than a block too."""
    kinds, _, attributes = STEPS[name]
    op_type, shape = name.split(maxsplit=1)[0], (2, 20_011)
    inputs = _inputs(kinds, shape, np.dtype(np.float32), 5)
    expected = run(op_type, inputs, attributes)
    schema = schema_of(op_type)
    descs = tuple(TensorDesc.of(item.dtype, item.shape) for item in inputs)
    complete = schema.complete(attributes)
    kernel = find(KernelRequest(op_type, descs, infer_outputs(schema, descs, complete), complete))
    outs = [inputs[[parameter.name for parameter in schema.inputs].index(out.name)] for out in schema.outputs]
    assert kernel.in_place
    kernel.body(*inputs, *outs)

    for actual, exact in zip([*outs, *(inputs[place] for place in kernel.updates)], expected, strict=True):
        assert actual.tobytes() == exact.tobytes()


@pytest.mark.parametrize("op_type", ["ApplyAdagradDA", "ApplyAdagradDAD"])
def test_dual_averaging(run: Run, close: Close, op_type: str) -> None:
    """The step from 0 with all gradients so far, without and with ``l1``."""
    var, total, squares, grad = _inputs("vvsv", (5,), np.dtype(np.float32), 3)
    for l1 in (0.0, 0.1):
        rates = [np.array(value, np.float32) for value in (0.5, l1, 0.25)]
        found = run(op_type, [var, total, squares, grad, *rates, np.array(4)])
        first = float(rates[1])
        for index in range(5):
            sums = float(total[index]) + float(grad[index])
            powers = float(squares[index]) + float(grad[index]) ** 2
            near = _sign(sums) * max(abs(sums) - first * 4, 0) if l1 else sums
            exact = -0.5 * near / (0.25 * 4 * 0.5 + math.sqrt(powers))
            close(np.array([out[index] for out in found]), [exact, sums, powers], units=8, floor=1)


def test_bad_input(run: Run) -> None:
    """Shapes, dtypes and rates that do not fit are named."""
    x, rate = np.ones((2, 3), np.float32), np.float32(0.1)
    with pytest.raises(InvalidArgument, match=r"inputs var of shape \(2, 3\) and delta of shape \(3,\) must have one"):
        run("ApplyGradientDescent", [x, rate, x[0]])
    with pytest.raises(InvalidArgument, match=r"input alpha of shape \(2, 3\) must have one element"):
        run("ApplyGradientDescent", [x, x, x])
    with pytest.raises(UnsupportedDataType, match="takes FLOAT16, BF16, FLOAT and DOUBLE"):
        run("ApplyGradientDescent", [x.astype(np.int32), np.int32(1), x.astype(np.int32)])
    with pytest.raises(UnsupportedDataType, match="they must be equal"):
        run("ApplyGradientDescent", [x, np.float64(1), x])
    with pytest.raises(NotSupported, match="amsgrad is not supported"):
        run("ApplyAdamW", [x, x, x, *[rate] * 7, x], {"amsgrad": True})
    with pytest.raises(InvalidArgument, match=r"x1 of shape \(3,\) must have one shape"):
        run("FusedMulApplyMomentum", [x, x, rate, x[0], rate, rate])
