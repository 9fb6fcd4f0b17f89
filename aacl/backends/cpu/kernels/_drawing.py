"""How an operator that draws random numbers is prepared: its generator from its seeds, then its numbers.

Equal seeds give equal numbers in every run. Operators without a seed, and seeds of 0 in attributes, give new
numbers each time; a seed that is an input is taken as it is.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeAlias

from aacl.backends.cpu.kernels._generator import generator, keyed
from aacl.backends.cpu.kernels._quiet import quiet
from aacl.backends.cpu.kernels._registry import TRANSCENDENTAL, elements, integers, prepared, require_shape

if TYPE_CHECKING:
    import numpy as np

    from aacl.abc import Array, Kernel, KernelRequest

__all__ = ("Fill", "drawn")

Fill: TypeAlias = "Callable[..., None]"


def drawn(request: KernelRequest, fill: Fill, operations: int = TRANSCENDENTAL, *, sized: bool = False) -> Kernel:
    """Return a kernel of ``fill(generator, *inputs, out)``.

    Args:
        request: its seeds decide the generator: attributes, or inputs named seed, offset, key and counter.
        fill: gets the inputs that are no seeds, nor a shape.
        operations: what an element costs.
        sized: whether the first input is the shape of the output.
    """
    attributes, seeds = request.attributes, _SEEDS.get(request.op_type)
    seed = attributes.get("seed", 0)
    places = [place for place in range(sized, len(request.inputs)) if seeds is None or place not in seeds[1]]

    def body(*arrays: Array) -> None:
        out = arrays[-1]
        if sized:
            require_shape(request.op_type, (*integers(arrays[0]), *out.shape[arrays[0].size :]), out)
        if seeds is None:
            random = generator(seed, attributes.get("seed2", 0))
        else:
            random = seeds[0](*(arrays[place].reshape(-1).tolist() for place in seeds[1]))
        fill(random, *(arrays[place] for place in places), out)

    count = len(request.inputs) + len(request.outputs)
    return prepared(request, quiet(body, count), operations * elements(request.outputs[0]))


def _by_seed(seed: list[int]) -> np.random.Generator:
    if len(seed) != 2:
        raise ValueError(f"a seed is two numbers, not {len(seed)}")
    return keyed(*seed)


def _by_key(key: list[int], counter: list[int], algorithm: list[int]) -> np.random.Generator:
    _ = algorithm  # Philox whatever is asked for: the numbers are this device's own
    return keyed(key[0], 0, sum(word << 64 * place for place, word in enumerate(counter[:2])))


def _by_offset(seed: list[int], offset: list[int]) -> np.random.Generator:
    return keyed(seed[0], 0, max(offset[0], 0))


# Of operators whose seeds are inputs: how a generator is made, and of which inputs.
_SEEDS: dict[str, tuple[Callable[..., np.random.Generator], tuple[int, ...]]] = {
    **dict.fromkeys(("MultinomialWithReplacement", "StatelessBernoulliV2", "StatelessRandperm"), (_by_offset, (1, 2))),
    "StatelessBernoulli": (_by_offset, (2, 3)),
    "StatelessMultinomial": (_by_seed, (2,)),
    **dict.fromkeys(
        (
            *("StatelessParameterizedTruncatedNormal", "StatelessRandomBinomial", "StatelessRandomGammaV2"),
            *("StatelessRandomPoisson", "StatelessRandomUniformFullInt", "StatelessRandomUniformInt"),
        ),
        (_by_seed, (1,)),
    ),
    **dict.fromkeys(
        (
            *("StatelessRandomNormalV2", "StatelessRandomUniformFullIntV2", "StatelessRandomUniformIntV2"),
            *("StatelessRandomUniformV2", "StatelessTruncatedNormalV2"),
        ),
        (_by_key, (1, 2, 3)),
    ),
}
