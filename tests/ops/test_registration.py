"""Operator types of the program's own: what is registered, chosen, prepared and forgotten."""

from __future__ import annotations

import gc
import struct
import threading
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import aacl
from aacl import (
    AlreadyRegistered,
    ClosedResource,
    DataType,
    Device,
    InvalidArgument,
    KernelNotFound,
    KernelRegistered,
    Launch,
    NotSupported,
    Operation,
    OperatorNotFound,
    Stream,
    TensorDesc,
    ops,
    register_operator,
)
from tests.helpers import Boom, Hold


@pytest.fixture
async def stream() -> AsyncIterator[Stream]:
    """A stream of an open device, both current."""
    async with Device(0), Stream() as opened:
        yield opened


def scale(_block: aacl.Block, inputs: Any, outputs: Any, _workspaces: Any, tiling: bytes) -> None:
    """Write the first input times the number in the tiling."""
    np.multiply(inputs[0], struct.unpack("<d", tiling)[0], out=outputs[0])


def zero(_block: aacl.Block, _inputs: Any, outputs: Any, _workspaces: Any, _tiling: bytes) -> None:
    """Write zeros."""
    for output in outputs:
        output[...] = 0


def by_k(_inputs: Any, _outputs: Any, attributes: Mapping[str, Any]) -> Launch:
    """Choose `scale` with attribute k."""
    return Launch("scale", tiling=struct.pack("<d", attributes.get("k", 1.0)))


def same(inputs: Any, _attributes: Any) -> list[Any]:
    """Say that the output is as the first input."""
    return [inputs[0]]


def _scaling(**changes: Any) -> aacl.Registration:
    return register_operator("ScaleBy", **{"selector": by_k, "kernels": {"scale": scale}, "infer": same, **changes})


# -- registering ------------------------------------------------------------------------------


async def test_an_operator_of_ones_own(stream: Stream) -> None:
    """Registered it is executed by name, in every shape; after the block there is no such operator."""
    with _scaling() as registration:
        for shape in ((3,), (2, 5), (), (0, 4)):
            x = np.random.default_rng(1).standard_normal(shape)
            y = await stream.execute(Operation("ScaleBy", [await stream.to_device(x)], {"k": 2.0}))
            assert y.dtype is DataType.DOUBLE
            np.testing.assert_array_equal(await stream.to_host(y), 2 * x)
        assert repr(registration) == "<Registration of ScaleBy with kernels scale>"
    assert repr(registration) == "<closed Registration of ScaleBy with kernels scale>"
    with pytest.raises(OperatorNotFound, match="'ScaleBy'"):
        await stream.execute(Operation("ScaleBy", [await stream.to_device(np.ones(3))]))


def test_registering_twice() -> None:
    """The second is refused with AscendCL's code, and the first stays; closing is harmless when repeated."""
    with _scaling() as first:
        with pytest.raises(AlreadyRegistered, match="ScaleBy is registered already") as caught:
            _scaling()
        assert caught.value.code == 100030
        assert not first.closed
    assert first.closed
    with _scaling() as second:
        first.close()  # not the second's business
        assert not second.closed


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"selector": None}, "selector of operator ScaleBy is no function"),
        ({"selector": lambda _inputs: None}, r"called as \(inputs, outputs, attributes\)"),
        ({"infer": 3}, "rule of operator ScaleBy is no function"),
        ({"infer": lambda _inputs: []}, r"called as \(inputs, attributes\)"),
        ({"kernels": [scale]}, "kernels are a dict"),
        ({"kernels": {"": scale}}, "a kernel has a name"),
        ({"kernels": {3: scale}}, "a kernel has a name"),
        ({"kernels": {"scale": "scale"}}, "kernel 'scale' of operator ScaleBy is no function"),
        (
            {"kernels": {"scale": lambda _block, _inputs: None}},
            r"called as \(block, inputs, outputs, workspaces, tiling\)",
        ),
    ],
)
def test_what_cannot_be_registered(changes: dict[str, Any], text: str) -> None:
    """Each part is checked at once, and nothing is half-registered."""
    with pytest.raises(InvalidArgument, match=text):
        _scaling(**changes)
    _scaling().close()


def test_coroutine_functions_are_refused() -> None:
    """Nobody would await them."""

    async def late(*_: Any) -> None:
        """Never run."""

    for changes in ({"selector": late}, {"infer": late}, {"kernels": {"scale": late}}):
        with pytest.raises(InvalidArgument, match="coroutine function"):
            _scaling(**changes)


@pytest.mark.parametrize("name", ["", None, 3])
def test_a_type_has_a_name(name: Any) -> None:
    """An empty one, or something else, is refused."""
    with pytest.raises(InvalidArgument, match="an operator type has a name"):
        register_operator(name, selector=by_k, kernels={})


async def test_kernels_may_be_added(stream: Stream) -> None:
    """A kernel that comes later is found; a name that is taken, or a closed registration, is refused."""
    x = await stream.to_device(np.ones(3))
    with _scaling(kernels={}) as registration:
        with pytest.raises(KernelNotFound, match="chose kernel 'scale', which is not registered; there is none"):
            await stream.execute(Operation("ScaleBy", [x]))
        registration.add_kernel("scale", scale)
        assert registration.kernels == ("scale",)
        assert (await stream.to_host(await stream.execute(Operation("ScaleBy", [x], {"k": 3.0})))).tolist() == [3, 3, 3]
        with pytest.raises(KernelRegistered, match="has a kernel 'scale' already") as caught:
            registration.add_kernel("scale", zero)
        assert caught.value.code == 100031
        with pytest.raises(InvalidArgument, match="no function"):
            registration.add_kernel("other", 3)  # type: ignore[arg-type]
    with pytest.raises(ClosedResource, match="register the operator again"):
        registration.add_kernel("other", zero)


# -- choosing ---------------------------------------------------------------------------------


async def test_the_selector_is_asked_once_for_each_signature(stream: Stream) -> None:
    """Shape, dtype, attributes, presence of inputs and constants tell signatures apart; runs and devices do not."""
    asked: list[Any] = []

    def select(inputs: Any, outputs: Any, attributes: Any) -> Launch:
        asked.append((inputs, outputs, dict(attributes)))
        return by_k(inputs, outputs, attributes)

    a, b = await stream.to_device(np.ones(3)), await stream.to_device(np.ones(4))
    with _scaling(selector=select):
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
    with _scaling(selector=select):

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
    with _scaling(selector=select), pytest.raises(Frozen):
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
    with _scaling(selector=select):
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
    with _scaling(selector=lambda *_: answer), pytest.raises(InvalidArgument, match=r"returned .*aacl\.Launch"):
        stream.execute(Operation("ScaleBy", [await stream.to_device(np.ones(3))]))


async def test_a_selector_that_returns_a_coroutine(stream: Stream) -> None:
    """It is told, and closed: no warning comes of it later."""
    with _scaling(selector=lambda *_: _late()), pytest.raises(InvalidArgument, match="returned <coroutine"):
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
        with _scaling(selector=lambda *_, launch=launch: launch()), pytest.raises(kind, match=text):
            stream.execute(Operation("ScaleBy", [x]))
    assert stream.statistics().queued == 0


async def test_attributes_are_read_only(stream: Stream) -> None:
    """A selector cannot change what the operation was given."""

    def select(_inputs: Any, _outputs: Any, attributes: Any) -> Launch:
        attributes["k"] = 2.0
        return Launch("scale")

    with _scaling(selector=select), pytest.raises(TypeError, match="item assignment"):
        stream.execute(Operation("ScaleBy", [await stream.to_device(np.ones(3))], {"k": 1.0}))


# -- outputs ----------------------------------------------------------------------------------


async def test_the_rule_says_what_the_outputs_are(stream: Stream) -> None:
    """Several outputs are a tuple; dtype, shape and format are the rule's."""

    def infer(inputs: Sequence[TensorDesc], attributes: Mapping[str, Any]) -> tuple[TensorDesc, ...]:
        rows = inputs[0].shape[0] * attributes["times"]
        return TensorDesc.of("float16", (rows, 2), aacl.Format.NCHW), TensorDesc.of(DataType.INT8, ())

    x = await stream.to_device(np.ones(3))
    with _scaling(selector=lambda *_: Launch("zero"), kernels={"zero": zero}, infer=infer):
        operation = Operation("ScaleBy", [x], {"times": 2})
        assert [each.shape for each in operation.infer()] == [(6, 2), ()]
        assert ops.infer("ScaleBy", [x.desc], {"times": 3})[0].shape == (9, 2)
        big, small = await stream.execute(operation)
        assert (big.shape, big.dtype, big.format) == ((6, 2), DataType.FLOAT16, aacl.Format.NCHW)
        assert (small.shape, small.dtype) == ((), DataType.INT8)
        assert not (await stream.to_host(big)).any()


async def test_no_outputs(stream: Stream) -> None:
    """An operator that only looks gives an empty tuple."""
    seen: list[float] = []

    def look(_block: Any, inputs: Any, outputs: Any, _workspaces: Any, _tiling: Any) -> None:
        seen.append(float(inputs[0].sum()))
        assert outputs == ()

    with _scaling(selector=lambda *_: Launch("look"), kernels={"look": look}, infer=lambda *_: []):
        assert await stream.execute(Operation("ScaleBy", [await stream.to_device(np.ones(3))])) == ()
    assert seen == [3.0]


async def test_a_constant_is_not_a_rules_answer(stream: Stream) -> None:
    """An output described as a constant input is: the contents are not taken over."""
    with _scaling():
        y = await stream.execute(Operation("ScaleBy", [np.ones(2)], {"k": 5.0}))
        assert y.desc.value is None
        assert (await stream.to_host(y)).tolist() == [5, 5]


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        (None, "returned None; it returns a list of TensorDescs"),
        (TensorDesc.of(np.float32, (3,)), "returned TensorDesc"),
        ([np.ones(3)], "a list of TensorDescs"),
        ([(3,)], "a list of TensorDescs"),
        ([TensorDesc.of(np.float32, (-1, 3))], r"leaves dims of output 0 open: \[-1, 3\]"),
        ([TensorDesc.of(np.float32, aacl.UNKNOWN_RANK)], "leaves dims of output 0 open"),
    ],
)
async def test_a_rule_that_gives_no_descriptions(stream: Stream, answer: Any, text: str) -> None:
    """One clear error, and the selector is not asked."""

    def select(*_: Any) -> Launch:
        raise AssertionError("not asked")

    with _scaling(infer=lambda *_: answer, selector=select), pytest.raises(InvalidArgument, match=text):
        stream.execute(Operation("ScaleBy", [await stream.to_device(np.ones(3))]))


async def test_a_rule_that_fails(stream: Stream) -> None:
    """Its exception comes as it is, with a note."""

    def infer(*_: Any) -> Any:
        raise Boom("three inputs, please")

    with _scaling(infer=infer), pytest.raises(Boom, match="three inputs") as caught:
        stream.execute(Operation("ScaleBy", [await stream.to_device(np.ones(3))]))
    assert caught.value.__notes__ == ["raised by the rule of operator ScaleBy for inputs (DOUBLE [3])"]


async def test_without_a_rule_out_says_it(stream: Stream) -> None:
    """The selector sees what is to be written; each kind of output is a signature of its own."""
    asked: list[Any] = []

    def select(inputs: Any, outputs: Any, _attributes: Any) -> Launch:
        asked.append(outputs)
        return Launch("zero")

    x = await stream.to_device(np.ones(3))
    with _scaling(selector=select, kernels={"zero": zero}, infer=None):
        with pytest.raises(InvalidArgument, match=r"registered without infer=.*pass out="):
            stream.execute(Operation("ScaleBy", [x]))
        with pytest.raises(NotSupported, match="registered without infer="):
            Operation("ScaleBy", [x]).infer()
        for shape in ((2,), (5, 2), (2,)):
            out = await stream.to_device(np.ones(shape, np.int32))
            assert await stream.execute(Operation("ScaleBy", [x], out=out)) is out
            assert not (await stream.to_host(out)).any()
    assert [[each.shape for each in outputs] for outputs in asked] == [[(2,)], [(5, 2)]]


async def test_out_must_be_what_the_rule_says(stream: Stream) -> None:
    """Another shape, dtype or number of outputs is refused."""
    x = await stream.to_device(np.ones(3))
    with _scaling():
        for out in (np.ones(4), np.ones(3, np.float32)):
            with pytest.raises(InvalidArgument, match="operator ScaleBy gives DOUBLE of shape"):
                stream.execute(Operation("ScaleBy", [x], out=await stream.to_device(out)))
        with pytest.raises(InvalidArgument, match="has 1 outputs; 2 were given"):
            stream.execute(Operation("ScaleBy", [x], out=[x, await stream.to_device(np.ones(3))]))


async def test_an_input_may_be_the_output(stream: Stream) -> None:
    """The kernel reads a copy of it, so that it may write before it has read."""

    def reverse(_block: Any, inputs: Any, outputs: Any, _workspaces: Any, _tiling: Any) -> None:
        for index in range(len(outputs[0])):
            outputs[0][index] = inputs[0][-1 - index]

    x = await stream.to_device(np.arange(5.0))
    with _scaling(kernels={"scale": reverse}):
        await stream.execute(Operation("ScaleBy", [x], out=x))
    assert (await stream.to_host(x)).tolist() == [4, 3, 2, 1, 0]


async def test_inputs_of_every_kind(stream: Stream) -> None:
    """Completions, arrays, numbers, lists and None; what is nothing of these is refused with its place."""
    seen: list[Any] = []

    def look(_block: Any, inputs: Any, _outputs: Any, _workspaces: Any, _tiling: Any) -> None:
        seen.extend(None if each is None else each.tolist() for each in inputs)

    with _scaling(selector=lambda *_: Launch("look"), kernels={"look": look}, infer=lambda *_: []):
        with Hold(stream):
            made = stream.execute(ops.Add(await stream.to_device(np.ones(2)), 1.0))
            run = stream.execute(Operation("ScaleBy", [made, np.array([1], ">i4"), 2, [1.5, 2.5], None]))
        await run
        assert seen == [[2.0, 2.0], [1], 2, [1.5, 2.5], None]
        for wrong in ("text", object(), [[1], [2, 3]], {"a": 1}):
            with pytest.raises(InvalidArgument, match="operator ScaleBy: input 1 is"):
                Operation("ScaleBy", [made, wrong])


async def test_a_result_whose_shape_is_not_known_yet(stream: Stream) -> None:
    """A selector needs exact shapes: the command that tells them is to be awaited."""
    with _scaling(kernels={"scale": zero}):
        with Hold(stream):
            found = stream.execute(ops.NonZero(await stream.to_device(np.array([0.0, 1.0, 2.0]))))
            with pytest.raises(InvalidArgument, match="exact shape of input 0 is known only when"):
                stream.execute(Operation("ScaleBy", [found]))
        places = await found
        y = await stream.execute(Operation("ScaleBy", [places]))
        assert (y.shape, y.dtype) == (places.shape, places.dtype)


# -- what is registered changes ---------------------------------------------------------------


async def test_nothing_stale_runs(stream: Stream) -> None:
    """After the registration's end neither a prepared operation nor a bound one runs; registered anew both change."""
    x, out = await stream.to_device(np.ones(3)), await stream.to_device(np.zeros(3))
    loose, bound = Operation("ScaleBy", [x], {"k": 2.0}), Operation("ScaleBy", [x], {"k": 2.0}, out=out)
    with _scaling():
        for operation in (loose, bound):
            assert (await stream.to_host(await stream.execute(operation))).tolist() == [2, 2, 2]
    for operation in (loose, bound):
        with pytest.raises(OperatorNotFound):
            stream.execute(operation)
    with _scaling(kernels={"scale": zero}):
        for operation in (loose, bound):
            assert (await stream.to_host(await stream.execute(operation))).tolist() == [0, 0, 0]


async def test_what_was_submitted_before_the_end_runs(stream: Stream) -> None:
    """Leaving the registration's block disturbs no queued command."""
    x = await stream.to_device(np.ones(3))
    with Hold(stream), _scaling():
        queued = stream.execute(Operation("ScaleBy", [x], {"k": 4.0}))
    assert (await stream.to_host(await queued)).tolist() == [4, 4, 4]


async def test_a_catalogue_type_is_stood_in_for(stream: Stream) -> None:
    """While it is registered the program's own runs, without the catalogue's checks; then the catalogue's again."""
    x = await stream.to_device(np.ones(3))
    operation = ops.Relu(x)
    assert (await stream.to_host(await stream.execute(operation))).tolist() == [1, 1, 1]
    with register_operator("Relu", selector=by_k, kernels={"scale": scale}, infer=same):
        assert (await stream.to_host(await stream.execute(operation))).tolist() == [1, 1, 1]
        y = await stream.execute(Operation("Relu", [x, None], {"k": 7.0}))
        assert (await stream.to_host(y)).tolist() == [7, 7, 7]
    assert (await stream.to_host(await stream.execute(operation))).tolist() == [1, 1, 1]
    with pytest.raises(InvalidArgument):
        stream.execute(Operation("Relu", [x, None], {"k": 7.0}))


async def test_a_registration_that_ends_while_it_is_asked(stream: Stream) -> None:
    """What is being prepared runs once; nothing of it is kept."""
    registration = None

    def select(inputs: Any, outputs: Any, attributes: Any) -> Launch:
        assert registration is not None
        registration.close()
        return by_k(inputs, outputs, attributes)

    x, out = await stream.to_device(np.ones(3)), await stream.to_device(np.zeros(3))
    for operation in (Operation("ScaleBy", [x]), Operation("ScaleBy", [x], out=out)):
        registration = _scaling(selector=select)
        assert (await stream.to_host(await stream.execute(operation))).tolist() == [1, 1, 1]
        with pytest.raises(OperatorNotFound):
            stream.execute(operation)


async def test_other_operators_keep_their_plans(stream: Stream) -> None:
    """Registering drops the plans of its own type alone."""
    x = await stream.to_device(np.ones(3))
    await stream.execute(ops.Relu(x))
    plans = stream._memory.plans
    kept = {key: plan for key, plan in plans.items() if isinstance(key, tuple) and key[0] == "Relu"}
    with _scaling():
        await stream.execute(Operation("ScaleBy", [x]))
    assert kept
    assert all(plans[key] is plan for key, plan in kept.items())
    assert not [key for key in plans if isinstance(key, tuple) and key[0] == "ScaleBy"]
