"""What a model keeps between runs: its bindings by address, and its counts."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import aacl
from aacl.models import Model
from aacl.models._binding import Bindings
from aacl.models._uses import Tally, Uses
from aacl.models._variant import Variant

X = np.arange(6, dtype=np.float32).reshape(2, 3)


class FakeEngine:
    """Counts the bindings it makes."""

    def __init__(self) -> None:
        self.bound = 0
        self.arrays: tuple[Any, ...] = ()

    def bind(self, *arrays: Any) -> Callable[[], object]:
        self.bound += 1
        self.arrays = arrays
        return lambda: None

    def close(self) -> None:
        self.bound = -1


async def test_bindings_are_kept_by_address_and_bounded() -> None:
    """The same addresses are bound once; of many, those not used for longest are bound anew."""
    engine: Any = FakeEngine()
    async with aacl.Device() as device:
        bindings = Bindings(engine, Uses(), "model", device._shared.memory)
        x = aacl.empty((4,), np.float32)
        outputs = [aacl.empty((4,), np.float32) for _ in range(300)]
        variant = Variant(x._space, (x.desc,), (x.desc,))

        first = bindings.find(variant, (x,), (outputs[0],))
        assert bindings.find(variant, (x,), (outputs[0],)) is first
        for output in outputs[1:]:
            bindings.find(variant, (x,), (output,))
            bindings.find(variant, (x,), (outputs[0],))

        assert bindings.find(variant, (x,), (outputs[0],)) is first
        assert engine.bound == 300
        assert len(bindings) == 128
        bindings.find(variant, (x,), (outputs[1],))
        assert engine.bound == 301


async def test_another_shape_on_the_same_memory_is_another_binding() -> None:
    """Memory that was bound as one shape is bound anew as another, whatever the tensors say by then."""
    engine: Any = FakeEngine()
    async with aacl.Device() as device:
        bindings = Bindings(engine, Uses(), "model", device._shared.memory)
        x, y = aacl.empty((4,), np.float32), aacl.empty((4,), np.float32)
        half = aacl.TensorDesc.of(np.float32, (2,))
        whole = bindings.find(Variant(x._space, (x.desc,), (y.desc,)), (x,), (y,))

        assert bindings.find(Variant(x._space, (half,), (half,)), (x,), (y,)) is not whole
        assert [[each.shape for each in arrays] for arrays in engine.arrays] == [[(2,)], [(2,)]]


async def test_fresh_outputs_find_their_bindings_again(add_one: Path) -> None:
    """C170: runs that make new outputs get memory back that was used before, and bind hardly anything anew."""
    async with aacl.Device() as device, aacl.Stream() as stream, Model(add_one) as model:
        x = await stream.to_device(X)
        for _ in range(50):
            await stream.execute(model(x))
        bound, used = len(model._bindings), device.memory().used

        for _ in range(500):
            await stream.execute(model(x))

        assert len(model._bindings) <= bound + 2
        assert device.memory().used <= used + 128


def test_tally_counts_steps_from_many_threads() -> None:
    """No step is lost, and looking does not count."""
    tally = Tally()

    def step() -> None:
        for _ in range(5000):
            tally.step()

    threads = [threading.Thread(target=step) for _ in range(4)]
    for thread in threads:
        thread.start()
    looked = [tally.value for _ in range(10)]
    for thread in threads:
        thread.join()

    assert looked == sorted(looked)
    assert (tally.value, tally.value) == (20000, 20000)
