"""What selectors are asked, and what they may answer."""

from __future__ import annotations

import gc
import threading
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from aacl import Device, InvalidArgument, KernelNotFound, Launch, Operation, Stream, TensorDesc, ops, register_operator
from tests.helpers import Boom
from tests.helpers.own_operators import by_k, same, scaling, zero


async def test_the_selector_is_asked_once_for_each_signature(stream: Stream) -> None:
    """Shape, dtype, attributes, presence of inputs and constants tell signatures apart; runs and devices do not."""
    asked: list[Any] = []

    def select(inputs: Any, outputs: Any, attributes: Any) -> Launch:
        asked.append((inputs, outputs, dict(attributes)))
        return by_k(inputs, outputs, attributes)

    a, b = await stream.to_device(np.ones(3)), await stream.to_device(np.ones(4))
    with scaling(selector=select):
        for _ in range(3):
            for inputs, attributes in (
                ([a], {"k": 2.0}),
                ([b], {"k": 2.0}),
                ([a], {"k": 3.0}),
                ([a], {"k": 2}),
                ([a, None], {"k": 2.0}),
                ([a, 1.0], {"k": 2.0}),
                ([a, 2.0], {"k": 2.0}),
                ([a], {"k": 2.0, "names": ["x", "y"]}),
            ):
                await stream.execute(Operation("ScaleBy", inputs, attributes))
        assert len(asked) == 8
        async with Device(1) as device, Stream(device) as other:
            await other.execute(Operation("ScaleBy", [await other.to_device(np.ones(3))], {"k": 2.0}))
        assert len(asked) == 8

    inputs, outputs, attributes = asked[0]
    assert inputs == outputs == (TensorDesc.of(np.float64, (3,)),)
    assert attributes == {"k": 2.0}
    assert asked[4][0][1] is None
    assert asked[5][0][1].value == 1.0
    assert asked[7][2]["names"] == ("x", "y")


async def test_two_threads_that_need_the_same_choice(stream: Stream) -> None:
    """One of them asks the selector, the other waits for its answer."""
    asked, threads = [], 4
    together = threading.Barrier(threads)

    def select(inputs: Any, outputs: Any, attributes: Any) -> Launch:
        asked.append(inputs)
        return by_k(inputs, outputs, attributes)

    x = await stream.to_device(np.ones(3))
    with scaling(selector=select):

        def run() -> None:
            together.wait(10)
            stream.execute(Operation("ScaleBy", [x])).wait()

        workers = [threading.Thread(target=run) for _ in range(threads)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
    assert len(asked) == 1


async def test_selectors_that_execute_each_others_operators(stream: Stream) -> None:
    """Two threads that choose for one signature each do not wait for each other's other choices."""
    both = threading.Barrier(2)
    x, y = await stream.to_device(np.ones(3)), await stream.to_device(np.ones(4))

    def after(other: str) -> Any:
        def select(inputs: Any, *_: Any) -> Launch:
            if inputs[0].shape == (3,):
                both.wait(10)
                stream.execute(Operation(other, [y]))
            return Launch("zero")

        return select

    done = []

    def run(name: str) -> None:
        stream.execute(Operation(name, [x]))
        done.append(name)

    kernels = {"zero": zero}
    with (
        register_operator("One", selector=after("Two"), kernels=kernels, infer=same),
        register_operator("Two", selector=after("One"), kernels=kernels, infer=same),
    ):
        threads = [threading.Thread(target=run, args=(name,), daemon=True) for name in ("One", "Two")]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(10)
        assert sorted(done) == ["One", "Two"]


async def test_a_selector_whose_exception_takes_no_notes(stream: Stream) -> None:
    """It is the exception that comes."""

    @dataclass(frozen=True)
    class Frozen(Exception):
        code: int

    def select(*_: Any) -> Launch:
        raise Frozen(3)

    x = await stream.to_device(np.ones(3))
    with scaling(selector=select), pytest.raises(Frozen):
        stream.execute(Operation("ScaleBy", [x]))


async def test_a_selector_that_fails(stream: Stream) -> None:
    """Its exception comes as it is from the submission, with a note; it is asked again, and the stream goes on."""
    answers: list[Any] = [Boom("no kernel for that"), Launch("scale", tiling=bytes(8))]

    def select(*_: Any) -> Launch:
        answer = answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer  # type: ignore[no-any-return]

    x = await stream.to_device(np.ones((2, 3), np.float32))
    with scaling(selector=select):
        operation = Operation("ScaleBy", [x, None])
        with pytest.raises(Boom, match="no kernel for that") as caught:
            stream.execute(operation)
        assert caught.value.__notes__ == [
            "raised by the selector of operator ScaleBy for inputs (FLOAT [2, 3], absent)"
        ]
        assert not (await stream.to_host(await stream.execute(operation))).any()
        assert (await stream.to_host(await stream.execute(ops.Add(x, x)))).tolist() == [[2] * 3] * 2


async def _late(*_: Any) -> Launch:
    return Launch("scale")


@pytest.mark.parametrize("answer", [None, "scale", ("scale", 1), {"kernel": "scale"}, Launch])
async def test_a_selector_that_returns_no_launch(stream: Stream, answer: Any) -> None:
    """One clear error that shows what it returned."""
    with scaling(selector=lambda *_: answer), pytest.raises(InvalidArgument, match=r"returned .*aacl\.Launch"):
        stream.execute(Operation("ScaleBy", [await stream.to_device(np.ones(3))]))


async def test_a_selector_that_returns_a_coroutine(stream: Stream) -> None:
    """It is told, and closed: no warning comes of it later."""
    with scaling(selector=lambda *_: _late()), pytest.raises(InvalidArgument, match="returned <coroutine"):
        stream.execute(Operation("ScaleBy", [await stream.to_device(np.ones(3))]))
    gc.collect()


async def test_a_launch_that_does_not_fit(stream: Stream) -> None:
    """An unknown kernel (the text lists those there are), a workspace beyond the memory, wrong blocks."""
    x = await stream.to_device(np.ones(3))
    for launch, kind, text in (
        (lambda: Launch("scales"), KernelNotFound, "chose kernel 'scales', which is not registered; there is scale"),
        (lambda: Launch("scale", workspaces=[1 << 60]), InvalidArgument, f"workspace 0 .* takes {1 << 60} bytes"),
        (lambda: Launch("scale", blocks=0), InvalidArgument, "1 to 65535 blocks"),
        (lambda: Launch("scale", workspaces=[-1]), InvalidArgument, "cannot have -1 bytes"),
    ):
        with scaling(selector=lambda *_, launch=launch: launch()), pytest.raises(kind, match=text):
            stream.execute(Operation("ScaleBy", [x]))
    assert stream.statistics().queued == 0


async def test_attributes_are_read_only(stream: Stream) -> None:
    """A selector cannot change what the operation was given."""

    def select(_inputs: Any, _outputs: Any, attributes: Any) -> Launch:
        attributes["k"] = 2.0
        return Launch("scale")

    with scaling(selector=select), pytest.raises(TypeError, match="item assignment"):
        stream.execute(Operation("ScaleBy", [await stream.to_device(np.ones(3))], {"k": 1.0}))
