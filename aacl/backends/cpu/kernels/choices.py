"""Random choices: hits, classes, orders, places.

Which numbers are drawn, say `_generator` and `_drawing`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from aacl.backends.cpu.kernels._distributions import chosen, without_replacement
from aacl.backends.cpu.kernels._drawing import drawn
from aacl.backends.cpu.kernels._generator import generator, store
from aacl.backends.cpu.kernels._registry import TRANSCENDENTAL, elements, given, kernel, prepared, require_shape
from aacl.errors import InvalidArgument

if TYPE_CHECKING:
    from aacl.abc import Array, Kernel, KernelRequest
    from aacl.backends.cpu.kernels._drawing import Fill

__all__ = ()


@kernel("Bernoulli")
def _bernoulli(request: KernelRequest) -> Kernel:
    """1 with chance ``p``, else 0, of the first input's shape; a seed of -1 means none."""
    if request.attributes["seed"] == -1:
        request = request._replace(attributes={})
    return drawn(request, lambda random, _, p, out: _store_hits(request, random, p, out), 4)


@kernel("StatelessBernoulli")
def _stateless_bernoulli(request: KernelRequest) -> Kernel:
    """1 with chance ``prob``, else 0."""
    return drawn(request, lambda random, p, out: _store_hits(request, random, p, out), 4, sized=True)


@kernel("StatelessBernoulliV2")
def _stateless_bernoulli_v2(request: KernelRequest) -> Kernel:
    """1 with the chance that the input holds, else 0."""
    return drawn(request, lambda random, p, out: _store_hits(request, random, p, out), 4)


def _store_hits(request: KernelRequest, random: np.random.Generator, chance: Array, out: Array) -> None:
    limit = chance.astype(np.float64)
    if not ((limit >= 0) & (limit <= 1)).all():
        raise ValueError(f"operator {request.op_type}: a chance lies outside [0, 1]")
    store(random.random(out.shape) < limit, out)


@kernel("Multinomial", "StatelessMultinomial")
def _multinomial(request: KernelRequest) -> Kernel:
    """Classes drawn from each row of unnormalised logarithms of chances."""

    def fill(random: np.random.Generator, logits: Array, _: Array, out: Array) -> None:
        store(chosen(random, logits, out.shape[1]), out)

    return _classes(request, fill)


@kernel("MultinomialFuss")
def _multinomial_attribute(request: KernelRequest) -> Kernel:
    """As Multinomial, with the number of samples an attribute and a seed that is a float."""
    seed = int(np.float32(request.attributes["seed"]).view(np.uint32))

    def fill(_: np.random.Generator, logits: Array, out: Array) -> None:
        store(chosen(generator(seed), logits, out.shape[1]), out)

    return _classes(request._replace(attributes={}), fill)


@kernel("MultinomialWithReplacement")
def _multinomial_weights(request: KernelRequest) -> Kernel:
    """As torch.multinomial: from weights, and all different unless ``replacement`` is true."""
    count, replaces = request.attributes["numsamples"], request.attributes["replacement"]

    def fill(random: np.random.Generator, weights: Array, out: Array) -> None:
        rows = np.atleast_2d(weights).astype(np.float64)
        if not ((rows >= 0) & np.isfinite(rows)).all() or not ((rows > 0).sum(1) >= (1 if replaces else count)).all():
            raise ValueError(
                f"operator {request.op_type}: weights must be finite and not negative, "
                f"{1 if replaces else count} of each row above 0"
            )
        found = chosen(random, np.log(rows), count) if replaces else without_replacement(random, rows, count)
        store(found.reshape(out.shape), out)

    return _classes(request, fill)


def _classes(request: KernelRequest, fill: Fill) -> Kernel:
    info = given(request, 0)
    if elements(request.outputs[0]) and not info.shape[-1]:
        raise InvalidArgument(f"operator {request.op_type}: there is no class to draw in shape {info.shape}")
    return drawn(request, fill, 2 * TRANSCENDENTAL)


@kernel("RandomShuffle")
def _shuffle(request: KernelRequest) -> Kernel:
    """The elements along axis 0 in another order."""
    return drawn(request, lambda random, x, out: store(x[random.permutation(len(x))], out) if x.ndim else store(x, out))


@kernel("Randperm")
def _permutation(request: KernelRequest) -> Kernel:
    """The numbers 0 to n - 1 in another order each run."""
    return drawn(request, lambda random, out: store(random.permutation(len(out)), out))


@kernel("StatelessRandperm")
def _stateless_permutation(request: KernelRequest) -> Kernel:
    """The numbers 0 to n - 1 in an order that seed and offset decide."""

    def fill(random: np.random.Generator, n: Array, out: Array) -> None:
        require_shape(request.op_type, (int(n.reshape(())),), out)
        store(random.permutation(len(out)), out)

    return drawn(request, fill)


@kernel("RandomChoiceWithMask")
def _choice(request: KernelRequest) -> Kernel:
    """Coordinates of ``count`` elements that are true, in any order, and which rows hold one."""
    attributes = request.attributes

    def body(x: Array, places: Array, mask: Array) -> None:
        found = np.argwhere(x)
        random = generator(attributes["seed"], attributes["seed2"])
        picked = found[random.permutation(len(found))[: len(places)]]
        places.fill(0)
        places[: len(picked)] = picked
        np.copyto(mask, np.arange(len(mask)) < len(picked))

    return prepared(request, body, 4 * elements(given(request, 0)))
