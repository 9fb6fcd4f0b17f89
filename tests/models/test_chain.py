"""Models applied to what other models make."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from onnx import TensorProto, helper

import aacl
from aacl.errors import ModelInputMismatch, ModelRunError, WouldBlock
from aacl.models import Model

Build = Callable[..., Path]

X = np.arange(6, dtype=np.float32).reshape(2, 3)


async def test_calls_nest(add_one: Path) -> None:
    """model_b(model_a(x)) runs both, in this order, by order or by name; the chain may run again, with new results."""
    async with aacl.Device(), aacl.Stream() as stream, Model(add_one) as a, Model(add_one) as b:
        x = await stream.to_device(X)
        chain = b(a(b(x)))

        first, second = await stream.execute(chain), await stream.execute(b(x=a(x=x)))
        again = await stream.execute(chain)

        np.testing.assert_array_equal(await stream.to_host(first), X + 3)
        np.testing.assert_array_equal(await stream.to_host(second), X + 2)
        np.testing.assert_array_equal(await stream.to_host(again), X + 3)
        assert again.address != first.address
        assert (a.statistics().runs, b.statistics().runs) == (3, 5)


async def test_nothing_waits_and_nothing_goes_through_the_host(add_one: Path) -> None:
    """A chain is queued whole behind what the stream does; what lies between is device memory of its own."""
    gate = threading.Event()
    async with aacl.Device() as device, aacl.Stream() as stream, Model(add_one) as a, Model(add_one) as b:
        x = await stream.to_device(X)
        out = aacl.empty((2, 3), np.float32)
        stream.call(gate.wait)
        before = device.memory().used

        done = stream.execute(b(a(x), out=out))

        assert (a.statistics().queued, b.statistics().queued) == (1, 1)
        assert device.memory().used > before
        assert done.output is out
        gate.set()
        np.testing.assert_array_equal(await stream.to_host(await done), X + 2)


async def test_run_beside_a_tensor(sum_and_product: Path, build: Build) -> None:
    """Inputs may be mixed; a run whose model makes several outputs has to be executed first."""
    four = [4]
    negative = build(
        "negative",
        [helper.make_node("Neg", ["x"], ["y"])],
        [("x", TensorProto.FLOAT, four)],
        [("y", TensorProto.FLOAT, four)],
    )
    values = np.arange(4, dtype=np.float32)
    async with aacl.Device(), aacl.Stream() as stream, Model(sum_and_product) as both, Model(negative) as minus:
        x = await stream.to_device(values)

        total, product = await stream.execute(both(minus(x), b=x))

        np.testing.assert_array_equal(await stream.to_host(total), values * 0)
        np.testing.assert_array_equal(await stream.to_host(product), -(values**2))
        with pytest.raises(ModelInputMismatch, match=r"'x'.* makes 2; execute that first"):
            minus(both(x, x))


async def test_chain_that_cannot_fit_is_refused_at_the_call(add_one: Path, pick: Path) -> None:
    """Shapes, types and counts are looked at before anything runs."""
    async with aacl.Device(), aacl.Stream() as stream, Model(add_one) as a, Model(pick) as other:
        x = await stream.to_device(X)
        for inputs, words in [
            ((a(x), a(x)), r"2 were given"),
            ((), r"'x' missing"),
        ]:
            with pytest.raises(ModelInputMismatch, match=words):
                a(*inputs)
        with pytest.raises(ModelInputMismatch, match=r"'x'.*FLOAT of shape \[4\].*FLOAT of shape \[2, 3\]"):
            other(a(x), x)
        with pytest.raises(ModelInputMismatch, match=r"'i'.*INT64 of shape \[1\].*FLOAT of shape \[2, 3\]"):
            other(x, a(x))
        assert a.statistics().runs == 0


async def test_failure_of_an_early_run_is_the_chains(pick: Path, build: Build) -> None:
    """The chain fails with what its first run failed with, and the later one does not run on garbage."""
    minus = build(
        "minus",
        [helper.make_node("Neg", ["x"], ["y"])],
        [("x", TensorProto.FLOAT, [1])],
        [("y", TensorProto.FLOAT, [1])],
    )
    async with aacl.Device(), aacl.Stream() as stream, Model(pick) as first, Model(minus) as second:
        x, i = await stream.to_device(np.ones(4, np.float32)), await stream.to_device(np.array([9]))

        with pytest.raises(ModelRunError, match="pick_one"):
            await stream.execute(second(first(x, i)))

        assert second.statistics().runs == 0
        await stream.synchronize()


@pytest.mark.parametrize("deep", [False, True])
async def test_failure_of_an_early_run_surfaces_once(pick: Path, build: Build, deep: bool) -> None:
    """Who received it from the chain hears no more of it; if nobody did, the next synchronise tells it, once."""
    nodes, one = [helper.make_node("Neg", ["x"], ["y"])], [1]
    minus = build("minus", nodes, [("x", TensorProto.FLOAT, one)], [("y", TensorProto.FLOAT, one)])
    async with aacl.Device(), aacl.Stream() as stream, Model(pick) as first, Model(minus) as second:
        x, i = await stream.to_device(np.ones(4, np.float32)), await stream.to_device(np.array([9]))

        for _ in range(20):  # the first ones run on a worker
            chain = second(second(first(x, i))) if deep else second(first(x, i))
            with pytest.raises(ModelRunError, match="pick_one"):
                await stream.execute(chain)
            await stream.synchronize()
            stream.execute(chain)
            with pytest.raises(aacl.StreamError, match="pick_one"):
                await stream.synchronize()
            await stream.synchronize()


async def test_bounded_stream_needs_room_for_each_run(add_one: Path) -> None:
    """Every run of a chain is a command."""
    gate = threading.Event()
    async with aacl.Device(), aacl.Stream(limit=2) as stream, Model(add_one) as a:
        x = await stream.to_device(X)
        stream.call(gate.wait)
        stream.call(gate.wait)
        try:
            with pytest.raises(WouldBlock):
                stream.execute(a(a(x)))
        finally:
            gate.set()
        await stream.synchronize()
        np.testing.assert_array_equal(await stream.to_host(await stream.execute(a(a(x)))), X + 2)


async def test_chain_is_no_awaitable(add_one: Path) -> None:
    """It says what runs it, and shows what it is made of."""
    async with aacl.Device(), aacl.Stream() as stream, Model(add_one) as a:
        chain = a(a(await stream.to_device(X)))

        assert repr(chain).startswith("<ModelChain of model")
        assert "<ModelRun of model" in repr(chain)
        with pytest.raises(TypeError, match=r"stream\.execute"):
            await chain
