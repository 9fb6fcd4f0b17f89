"""Random numbers.

What is drawn follows the distributions of TensorFlow's or torch's operators of the same names; which numbers,
say `_generator` and `_drawing`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from aacl.backends.cpu.kernels._distributions import truncated_normal
from aacl.backends.cpu.kernels._drawing import drawn
from aacl.backends.cpu.kernels._generator import below_one, normal, store
from aacl.backends.cpu.kernels._registry import TRANSCENDENTAL, kernel, prepared
from aacl.backends.cpu.kernels._terms import wide
from aacl.errors import InvalidArgument

if TYPE_CHECKING:
    from aacl.abc import Array, Kernel, KernelRequest

__all__ = ()


@kernel("RandomUniform", "StatelessRandomUniformV2")
def _uniform(request: KernelRequest) -> Kernel:
    """Uniform in [0, 1)."""
    return drawn(request, _fill_uniform, 3, sized=True)


def _fill_uniform(random: np.random.Generator, out: Array) -> None:
    if out.dtype.itemsize > 2 and out.ndim and out.flags.c_contiguous:
        random.random(dtype=out.dtype.type, out=out)
    else:
        store(below_one(random, out.shape, out.dtype), out)


@kernel("RandomStandardNormal", "StatelessRandomNormalV2")
def _standard_normal(request: KernelRequest) -> Kernel:
    """Normal with mean 0 and deviation 1."""
    return drawn(request, _fill_normal, sized=True)


def _fill_normal(random: np.random.Generator, out: Array) -> None:
    if out.dtype.itemsize > 2 and out.ndim and out.flags.c_contiguous:
        random.standard_normal(dtype=out.dtype.type, out=out)
    else:
        store(normal(random, out.shape, out.dtype), out)


@kernel("TruncatedNormal", "StatelessTruncatedNormalV2")
def _truncated(request: KernelRequest) -> Kernel:
    """Normal, what lies more than two deviations from the mean drawn again."""
    return drawn(request, _fill_truncated, 2 * TRANSCENDENTAL, sized=True)


def _fill_truncated(random: np.random.Generator, out: Array) -> None:
    found = normal(random, out.shape, out.dtype).reshape(-1)
    rest = np.nonzero(np.abs(found) > 2)[0]
    while rest.size:
        found[rest] = normal(random, rest.shape, out.dtype)
        rest = rest[np.abs(found[rest]) > 2]
    store(found.reshape(out.shape), out)


@kernel("ParameterizedTruncatedNormal", "StatelessParameterizedTruncatedNormal")
def _parameterized(request: KernelRequest) -> Kernel:
    """Normal between bounds; each parameter is one element, or one for each of the first axis."""

    def fill(random: np.random.Generator, *arrays: Array) -> None:
        out = arrays[-1]
        mean, deviation, low, high = (_leading(array.astype(np.float64), out) for array in arrays[:-1])
        if not ((deviation > 0) & (low < high)).all():
            raise ValueError(f"operator {request.op_type}: deviations must be above 0 and min below max")
        bounds = ((bound - mean) / deviation for bound in (low, high))
        store(truncated_normal(random, *bounds) * deviation + mean, out)

    return drawn(request, fill, 4 * TRANSCENDENTAL, sized=True)


def _leading(values: Array, out: Array) -> Array:
    shaped = values.reshape(()) if values.size == 1 else values.reshape(-1, *(1,) * (out.ndim - 1))
    return np.broadcast_to(shaped, out.shape)


@kernel("RandomUniformInt", "StatelessRandomUniformInt", "StatelessRandomUniformIntV2")
def _uniform_integer(request: KernelRequest) -> Kernel:
    """Integers uniform in [min, max)."""

    def fill(random: np.random.Generator, low: Array, high: Array, out: Array) -> None:
        least, past = int(low.reshape(())), int(high.reshape(()))
        if least >= past:
            raise ValueError(f"operator {request.op_type}: the minimum {least} must lie below the maximum {past}")
        store(random.integers(least, past, out.shape, out.dtype.type), out)

    return drawn(request, fill, 4, sized=True)


@kernel("StatelessRandomUniformFullInt", "StatelessRandomUniformFullIntV2")
def _full_integer(request: KernelRequest) -> Kernel:
    """Integers uniform over all that their dtype holds."""

    def fill(random: np.random.Generator, out: Array) -> None:
        limits = np.iinfo(out.dtype)
        store(random.integers(limits.min, limits.max, out.shape, out.dtype.type, endpoint=True), out)

    return drawn(request, fill, 4, sized=True)


@kernel("Uniform")
def _uniform_like(request: KernelRequest) -> Kernel:
    """Uniform in [from, to), of the input's shape; new numbers each run."""
    low, high = request.attributes["from"], request.attributes["to"]
    if not low <= high:
        raise InvalidArgument(f"operator Uniform: from {low} lies above to {high}")

    def fill(random: np.random.Generator, _: Array, out: Array) -> None:
        store(low + (high - low) * wide(below_one(random, out.shape, out.dtype)), out)

    return drawn(request, fill, 4)


@kernel("Normal")
def _normal(request: KernelRequest) -> Kernel:
    """Normal with a mean and a deviation an element; new numbers each run."""

    def fill(random: np.random.Generator, mean: Array, deviation: Array, out: Array) -> None:
        store(normal(random, out.shape, out.dtype) * wide(deviation) + wide(mean), out)

    return drawn(request, fill)


@kernel("Exponential")
def _exponential(request: KernelRequest) -> Kernel:
    """Exponential with rate ``lambda``, of the input's shape."""
    rate = request.attributes["lambda"]
    if not rate > 0:
        raise InvalidArgument(f"operator Exponential: lambda is {rate}; it must be above 0")
    return drawn(request, lambda random, _, out: store(random.standard_exponential(out.shape) / rate, out))


@kernel("Geometric")
def _geometric(request: KernelRequest) -> Kernel:
    """The number of trials up to the first success, 1 at least, as torch counts them."""
    chance = request.attributes["p"]
    if not 0 < chance <= 1:
        raise InvalidArgument(f"operator Geometric: p is {chance}; it must lie in (0, 1]")
    return drawn(request, lambda random, _, out: store(random.geometric(chance, out.shape), out))


@kernel("Poisson")
def _poisson_like(request: KernelRequest) -> Kernel:
    """Poisson with the input as rates."""
    return drawn(request, lambda random, x, out: store(random.poisson(_rates(request, x), out.shape), out))


@kernel("RandomPoisson", "StatelessRandomPoisson")
def _poisson(request: KernelRequest) -> Kernel:
    """Poisson; each rate gets numbers of the shape asked for (TensorFlow's stateless form broadcasts the rates)."""
    return drawn(request, lambda random, x, out: store(random.poisson(_rates(request, x), out.shape), out), sized=True)


@kernel("RandomGamma", "StatelessRandomGammaV2")
def _gamma(request: KernelRequest) -> Kernel:
    """Gamma with scale 1 and a shape parameter an element."""
    return drawn(
        request, lambda random, x, out: store(random.standard_gamma(_rates(request, x), out.shape), out), sized=True
    )


@kernel("StatelessRandomBinomial")
def _binomial(request: KernelRequest) -> Kernel:
    """The number of successes in ``counts`` trials of chance ``probs``; both broadcast to the shape."""

    def fill(random: np.random.Generator, counts: Array, chances: Array, out: Array) -> None:
        trials, odds = counts.astype(np.float64), chances.astype(np.float64)
        if not ((trials >= 0) & np.isfinite(trials)).all() or not ((odds >= 0) & (odds <= 1)).all():
            raise ValueError(f"operator {request.op_type}: counts must not be negative, and probs lie in [0, 1]")
        store(random.binomial(trials.astype(np.int64), odds, out.shape), out)

    return drawn(request, fill, sized=True)


def _rates(request: KernelRequest, rates: Array) -> Array:
    found = rates.astype(np.float64)
    if not (found >= 0).all():
        raise ValueError(f"operator {request.op_type}: a rate is negative or no number")
    return found


@kernel("StatelessRandomGetKeyCounter", "StatelessRandomGetKeyCounterAlg", "StatelessRandomGetAlg")
def _key(request: KernelRequest) -> Kernel:
    """The key and the counter that two seeds stand for, and the algorithm: 1, Philox."""

    def body(*arrays: Array) -> None:
        if request.inputs:
            first, second = arrays[0].reshape(-1).astype(np.int64).view(np.uint64).tolist()
            arrays[1].fill(first)
            arrays[2][...] = second, 0
        for out in arrays[3:] if request.inputs else arrays:
            out.fill(1)

    return prepared(request, body)
