"""Steps of training: variables and their slots, updated by a gradient.

The outputs are named like the inputs that they update; give ``out=`` those tensors to update them where they
lie. Operators whose name has no D at the end, and SGD, have the variable as their only output: they update its
slots, the inputs behind it, where those lie. The formulas are those of TensorFlow's raw operators of the same names (tf.raw_ops.ApplyAdam and so on),
which the prototype headers follow. Half precision computes in float32 and each output is rounded once.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from aacl.backends.cpu.kernels._precision import FLOATS
from aacl.backends.cpu.kernels._quiet import quiet
from aacl.backends.cpu.kernels._registry import elements, given, kernel, prepared, refuse_dtype
from aacl.backends.cpu.kernels._terms import spans, wide
from aacl.errors import NotSupported

if TYPE_CHECKING:
    from aacl.abc import Array, Kernel, KernelRequest

__all__ = ("Step", "stepped")

Step: TypeAlias = "Callable[..., tuple[Array, ...]]"

# How many slots, the inputs after the variable, an operator updates that has no outputs for them.
_SLOTS = {
    "ApplyMomentum": 1,
    "ApplyKerasMomentum": 1,
    "ApplyAdam": 2,
    "ApplyAdamWithAmsgrad": 3,
    "ApplyAdaMax": 2,
    "ApplyAdadelta": 2,
    "ApplyAdagrad": 1,
    "ApplyAdagradV2": 1,
    "ApplyAdagradDA": 2,
    "ApplyRMSProp": 2,
    "ApplyCenteredRMSProp": 3,
    "ApplyFtrl": 2,
    "ApplyFtrlV2": 2,
    "ApplyProximalAdagrad": 1,
    "ApplyAddSign": 1,
    "ApplyPowerSign": 1,
}


def _slots(request: KernelRequest) -> tuple[int, ...]:
    return tuple(range(1, 1 + _SLOTS.get(request.op_type, 0)))


def stepped(request: KernelRequest, step: Step, operations: int, updates: tuple[int, ...] | None = None) -> Kernel:
    """Return the kernel of a step: block by block, all new values from the old ones, then written.

    Args:
        request: the request to prepare.
        step: makes one array an output, then one an updated input, from the inputs, those of one element being NumPy
            scalars.
        operations: what an element costs.
        updates: positions of the updated inputs, by default the slots that have no outputs.

    Raises:
        UnsupportedDataType: an input is no float.
    """
    count, places = len(request.inputs), _slots(request) if updates is None else updates
    if any(info is not None and info.dtype not in FLOATS for info in request.inputs):
        raise refuse_dtype(request, "FLOAT16, BF16, FLOAT and DOUBLE")

    def body(*arrays: Any) -> None:
        # An element depends on that element alone: blocks may lie where they were read.
        for parts in spans(arrays):
            results = step(*(_scalar(wide(part)) for part in parts[:count]))
            for out, result in zip((*parts[count:], *(parts[place] for place in places)), results, strict=True):
                np.copyto(out, result, casting="same_kind")

    out = request.outputs[0]
    same = all(i is None or elements(i) == 1 or (i.shape, i.dtype) == (out.shape, out.dtype) for i in request.inputs)
    is_apart = all((info.shape, info.dtype) == (out.shape, out.dtype) for info in request.outputs)
    in_place = same and is_apart and elements(out) > 1
    work = operations * elements(out)
    return prepared(request, quiet(body, count + len(request.outputs)), work, in_place=in_place, updates=places)


def _scalar(array: Any) -> Any:
    """Return one element as a scalar of its dtype, which broadcasts and keeps float32 float32."""
    return array.reshape(())[()] if array is not None and array.size == 1 else array


@kernel("ApplyGradientDescent")
def _gradient_descent(request: KernelRequest) -> Kernel:
    """``var -= alpha * delta``."""
    return stepped(request, lambda var, alpha, delta: (var - alpha * delta,), 2)


@kernel("ApplyMomentum", "ApplyMomentumD", "FusedMulApplyMomentum")
def _momentum(request: KernelRequest) -> Kernel:
    """``accum = momentum accum + grad``, ``var -= lr accum``; Nesterov's ``var -= lr (grad + momentum accum)``."""
    nesterov = request.attributes["use_nesterov"]

    def step(var: Any, accum: Any, lr: Any, grad: Any, momentum: Any) -> tuple[Array, ...]:
        accum = accum * momentum + grad
        return var - (grad * lr + accum * momentum * lr if nesterov else accum * lr), accum

    return stepped(request, _fused(request, step), 6)


@kernel("ApplyKerasMomentum", "ApplyKerasMomentumD", "FusedMulApplyKerasMomentum")
def _keras_momentum(request: KernelRequest) -> Kernel:
    """``accum = momentum accum - lr grad``, ``var += accum``; Nesterov's ``var += momentum accum - lr grad``."""
    nesterov = request.attributes["use_nesterov"]

    def step(var: Any, accum: Any, lr: Any, grad: Any, momentum: Any) -> tuple[Array, ...]:
        accum = accum * momentum - grad * lr
        return var + (accum * momentum - grad * lr if nesterov else accum), accum

    return stepped(request, _fused(request, step), 6)


def _fused(request: KernelRequest, step: Step) -> Step:
    """Return the step whose gradient is a product, for the operators that are fused with Mul."""
    if not request.op_type.startswith("FusedMul"):
        return step
    return lambda var, accum, lr, x1, momentum, x2: step(var, accum, lr, x1 * x2, momentum)


@kernel("ApplyAdam", "ApplyAdamD")
def _adam(request: KernelRequest) -> Kernel:
    """``m += (1 - beta1)(g - m)``, ``v += (1 - beta2)(g^2 - v)``, ``var -= lr_t m / (sqrt(v) + epsilon)``."""
    nesterov = request.attributes["use_nesterov"]

    def step(
        var: Any, m: Any, v: Any, power1: Any, power2: Any, lr: Any, beta1: Any, beta2: Any, epsilon: Any, grad: Any
    ) -> tuple[Array, ...]:
        m, v = _moments(m, v, beta1, beta2, grad)
        rate = lr * np.sqrt(1 - power2) / (1 - power1)
        ahead = m * beta1 + (1 - beta1) * grad if nesterov else m
        return var - rate * ahead / (np.sqrt(v) + epsilon), m, v

    return stepped(request, step, 20)


def _moments(m: Any, v: Any, beta1: Any, beta2: Any, grad: Any) -> tuple[Any, Any]:
    return m + (grad - m) * (1 - beta1), v + (grad * grad - v) * (1 - beta2)


@kernel("ApplyAdamWithAmsgrad", "ApplyAdamWithAmsgradD", "ApplyAdamWithAmsgradV2")
def _adam_amsgrad(request: KernelRequest) -> Kernel:
    """As ApplyAdamD, divided by the root of the largest ``v`` so far, which is ``vhat``."""
    named = [request.attributes.get(name) for name in ("beta1", "beta2", "epsilon")]

    def step(var: Any, m: Any, v: Any, vhat: Any, power1: Any, power2: Any, lr: Any, *others: Any) -> tuple[Array, ...]:
        beta1, beta2, epsilon = others[:-1] or named
        m, v = _moments(m, v, beta1, beta2, others[-1])
        vhat = np.maximum(vhat, v)
        rate = lr * np.sqrt(1 - power2) / (1 - power1)
        return var - rate * m / (np.sqrt(vhat) + epsilon), m, v, vhat

    return stepped(request, step, 22)


@kernel("ApplyAdamW")
def _adam_w(request: KernelRequest) -> Kernel:
    """As torch.optim.AdamW: decay first, then Adam with corrected moments.

    ``beta1_power`` and ``beta2_power`` are the betas to the power of the steps before this one, as the operator
    documentation's formula multiplies them by the betas.
    """
    if request.attributes["amsgrad"]:
        raise NotSupported("operator ApplyAdamW: amsgrad is not supported; use ApplyAdamWithAmsgradV2")
    sign = -1 if request.attributes["maximize"] else 1

    def step(
        var: Any, m: Any, v: Any, power1: Any, power2: Any, lr: Any, decay: Any, beta1: Any, beta2: Any, epsilon: Any,
        grad: Any, _: Any = None,
    ) -> tuple[Array, ...]:  # fmt: skip
        m, v = _moments(m, v, beta1, beta2, sign * grad)
        root = np.sqrt(v / (1 - power2 * beta2)) + epsilon
        return var * (1 - lr * decay) - lr * (m / (1 - power1 * beta1)) / root, m, v

    return stepped(request, step, 24)


@kernel("ApplyAdaMax", "ApplyAdaMaxD")
def _adamax(request: KernelRequest) -> Kernel:
    """``v = max(beta2 v, |g|)``, ``var -= lr / (1 - beta1_power) m / (v + epsilon)``."""

    def step(
        var: Any, m: Any, v: Any, power1: Any, lr: Any, beta1: Any, beta2: Any, epsilon: Any, grad: Any
    ) -> tuple[Array, ...]:
        m, v = m + (grad - m) * (1 - beta1), np.maximum(beta2 * v, np.abs(grad))
        return var - lr / (1 - power1) * (m / (v + epsilon)), m, v

    return stepped(request, step, 10)


@kernel("ApplyAdadelta", "ApplyAdadeltaD")
def _adadelta(request: KernelRequest) -> Kernel:
    """``var -= lr g sqrt(accum_update + epsilon) / sqrt(accum + epsilon)``, both averages with ``rho``."""

    def step(var: Any, accum: Any, moved: Any, lr: Any, rho: Any, epsilon: Any, grad: Any) -> tuple[Array, ...]:
        accum = accum * rho + grad * grad * (1 - rho)
        update = np.sqrt(moved + epsilon) / np.sqrt(accum + epsilon) * grad
        return var - update * lr, accum, moved * rho + update * update * (1 - rho)

    return stepped(request, step, 25)


@kernel("ApplyAdagrad", "ApplyAdagradD")
def _adagrad(request: KernelRequest) -> Kernel:
    """``accum += g^2`` (unless ``update_slots`` is false), ``var -= lr g / sqrt(accum)``."""
    updates = request.attributes["update_slots"]

    def step(var: Any, accum: Any, lr: Any, grad: Any) -> tuple[Array, ...]:
        accum = accum + grad * grad if updates else accum
        return var - grad * lr / np.sqrt(accum), accum

    return stepped(request, step, 12)


@kernel("ApplyAdagradV2", "ApplyAdagradV2D")
def _adagrad_v2(request: KernelRequest) -> Kernel:
    """As ApplyAdagradD, divided by ``sqrt(accum) + epsilon``."""
    updates, named = request.attributes["update_slots"], [request.attributes.get("epsilon")]

    def step(var: Any, accum: Any, lr: Any, *others: Any) -> tuple[Array, ...]:
        grad, (epsilon,) = others[-1], others[:-1] or named
        accum = accum + grad * grad if updates else accum
        return var - grad * lr / (np.sqrt(accum) + epsilon), accum

    return stepped(request, step, 13)


@kernel("ApplyRMSProp", "ApplyRMSPropD")
def _rms_prop(request: KernelRequest) -> Kernel:
    """``ms`` averages g^2; ``mom = momentum mom + lr g / sqrt(ms + epsilon)``; ``var -= mom``."""
    named: list[Any] = [request.attributes.get(name) for name in ("rho", "momentum", "epsilon")]

    def step(var: Any, ms: Any, mom: Any, lr: Any, *others: Any) -> tuple[Array, ...]:
        grad, (rho, momentum, epsilon) = others[-1], others[:-1] or named
        ms = ms + (grad * grad - ms) * (1 - rho)
        mom = mom * momentum + grad * lr / np.sqrt(ms + epsilon)
        return var - mom, ms, mom

    return stepped(request, step, 18)


@kernel("ApplyCenteredRMSProp", "ApplyCenteredRMSPropD")
def _centred_rms_prop(request: KernelRequest) -> Kernel:
    """As ApplyRMSPropD with the variance ``ms - mg^2`` of the gradient in place of ``ms``."""

    def step(
        var: Any, mg: Any, ms: Any, mom: Any, lr: Any, rho: Any, momentum: Any, epsilon: Any, grad: Any
    ) -> tuple[Array, ...]:
        ms, mg = ms + (grad * grad - ms) * (1 - rho), mg + (grad - mg) * (1 - rho)
        mom = mom * momentum + lr * grad / np.sqrt(ms - mg * mg + epsilon)
        return var - mom, mg, ms, mom

    return stepped(request, step, 24)


@kernel("ApplyFtrl", "ApplyFtrlD", "ApplyFtrlV2", "ApplyFtrlV2D")
def _ftrl(request: KernelRequest) -> Kernel:
    """Follow the regularised leader; V2 adds ``2 l2_shrinkage var`` to the gradient in ``linear``."""

    def step(
        var: Any, accum: Any, linear: Any, grad: Any, lr: Any, l1: Any, l2: Any, *others: Any
    ) -> tuple[Array, ...]:
        power, shrunk = others[-1], grad + 2 * others[0] * var if len(others) > 1 else grad
        new = accum + grad * grad
        rate = new ** (-power)
        linear = linear + shrunk - (rate - accum ** (-power)) / lr * var
        found = np.where(np.abs(linear) > l1, (np.sign(linear) * l1 - linear) / (rate / lr + 2 * l2), 0)
        return found, new, linear

    return stepped(request, step, 60)


@kernel("ApplyProximalGradientDescent")
def _proximal_gradient_descent(request: KernelRequest) -> Kernel:
    """``prox = var - alpha delta``; ``sign(prox) max(|prox| - alpha l1, 0) / (1 + alpha l2)``."""

    def step(var: Any, alpha: Any, l1: Any, l2: Any, delta: Any) -> tuple[Array, ...]:
        return (_shrunk(var - alpha * delta, alpha, l1, l2),)

    return stepped(request, step, 9)


@kernel("ApplyProximalAdagrad", "ApplyProximalAdagradD")
def _proximal_adagrad(request: KernelRequest) -> Kernel:
    """As ApplyProximalGradientDescent with the rate ``lr / sqrt(accum)``."""

    def step(var: Any, accum: Any, lr: Any, l1: Any, l2: Any, grad: Any) -> tuple[Array, ...]:
        accum = accum + grad * grad
        rate = lr / np.sqrt(accum)
        return _shrunk(var - grad * rate, rate, l1, l2), accum

    return stepped(request, step, 22)


def _shrunk(near: Any, rate: Any, l1: Any, l2: Any) -> Array:
    found: Array = np.sign(near) * np.maximum(np.abs(near) - rate * l1, 0) / (1 + rate * l2)
    return found


@kernel("ApplyAddSign", "ApplyAddSignD")
def _add_sign(request: KernelRequest) -> Kernel:
    """``m`` averages g; ``var -= lr (alpha + sign_decay sign(g) sign(m)) g``."""

    def step(var: Any, m: Any, lr: Any, alpha: Any, decay: Any, beta: Any, grad: Any) -> tuple[Array, ...]:
        m = m * beta + grad * (1 - beta)
        return var - lr * (alpha + decay * np.sign(grad) * np.sign(m)) * grad, m

    return stepped(request, step, 10)


@kernel("ApplyPowerSign", "ApplyPowerSignD")
def _power_sign(request: KernelRequest) -> Kernel:
    """``m`` averages g; ``var -= lr exp(logbase sign_decay sign(g) sign(m)) g``."""

    def step(var: Any, m: Any, lr: Any, base: Any, decay: Any, beta: Any, grad: Any) -> tuple[Array, ...]:
        m = m * beta + grad * (1 - beta)
        return var - lr * np.exp(base * decay * np.sign(grad) * np.sign(m)) * grad, m

    return stepped(request, step, 20)


@kernel("ApplyAdagradDA", "ApplyAdagradDAD")
def _adagrad_dual_averaging(request: KernelRequest) -> Kernel:
    """Adagrad with dual averaging: the step is taken from 0, over ``global_step`` steps."""
    steps, places = given(request, 7), _slots(request)
    floats = request._replace(inputs=request.inputs[:7])  # the number of steps is an integer

    def body(var: Any, total: Any, squares: Any, grad: Any, lr: Any, l1: Any, l2: Any, count: Any, *outs: Any) -> None:
        _ = var
        targets = outs if len(outs) > 1 else (*outs, total, squares)
        rate, first, second = (_scalar(wide(part)) for part in (lr, l1, l2))
        slope, step = wide(grad), float(count.reshape(())[()])
        sums, powers = wide(total) + slope, wide(squares) + slope * slope
        near = np.sign(sums) * np.maximum(np.abs(sums) - first * step, 0) if first > 0 else sums
        found = -rate * near / (second * rate * step + np.sqrt(powers))
        for out, result in zip(targets, (found, sums, powers), strict=True):
            np.copyto(out, result, casting="same_kind")

    if any(info is not None and info.dtype not in FLOATS for info in floats.inputs) or elements(steps) != 1:
        raise refuse_dtype(request, "FLOAT16, BF16, FLOAT and DOUBLE, and one number of steps")
    work = 20 * elements(request.outputs[0])
    return prepared(request, quiet(body, 8 + len(request.outputs)), work, updates=places)


@kernel("SGD")
def _sgd(request: KernelRequest) -> Kernel:
    """As torch.optim.SGD, the steps before an element's first one being told by ``stat``, which is above 0 there.

    ``accum`` is the gradient at the first step, and ``momentum accum + (1 - dampening) g`` later; ``stat`` becomes 0.
    """
    dampening, decay, nesterov = (request.attributes[name] for name in ("dampening", "weight_decay", "nesterov"))

    def step(var: Any, grad: Any, lr: Any, accum: Any, momentum: Any, stat: Any) -> tuple[Array, ...]:
        grad = grad + var * decay
        if not momentum:
            return var - lr * grad, accum, stat
        is_first = stat > 0
        accum = np.where(is_first, grad, accum * momentum + grad * (1 - dampening))
        return var - lr * (grad + accum * momentum if nesterov else accum), accum, np.where(is_first, 0, stat)

    return stepped(request, step, 12, (3, 5))
