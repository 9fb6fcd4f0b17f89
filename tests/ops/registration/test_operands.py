"""Inputs and outputs of the program's own operators: rules, ``out=``, and what a kernel may be given."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pytest

import aacl
from aacl import DataType, InvalidArgument, Launch, NotSupported, Operation, Stream, TensorDesc, ops
from tests.helpers import Boom, Hold
from tests.helpers.own_operators import scaling, zero


async def test_the_rule_says_what_the_outputs_are(stream: Stream) -> None:
    """Several outputs are a tuple; dtype, shape and format are the rule's."""

    def infer(inputs: Sequence[TensorDesc], attributes: Mapping[str, Any]) -> tuple[TensorDesc, ...]:
        rows = inputs[0].shape[0] * attributes["times"]
        return TensorDesc.of("float16", (rows, 2), aacl.Format.NCHW), TensorDesc.of(DataType.INT8, ())

    x = await stream.to_device(np.ones(3))
    with scaling(selector=lambda *_: Launch("zero"), kernels={"zero": zero}, infer=infer):
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

    with scaling(selector=lambda *_: Launch("look"), kernels={"look": look}, infer=lambda *_: []):
        assert await stream.execute(Operation("ScaleBy", [await stream.to_device(np.ones(3))])) == ()
    assert seen == [3.0]


async def test_a_constant_is_not_a_rules_answer(stream: Stream) -> None:
    """An output described as a constant input is: the contents are not taken over."""
    with scaling():
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

    with scaling(infer=lambda *_: answer, selector=select), pytest.raises(InvalidArgument, match=text):
        stream.execute(Operation("ScaleBy", [await stream.to_device(np.ones(3))]))


async def test_a_rule_that_fails(stream: Stream) -> None:
    """Its exception comes as it is, with a note."""

    def infer(*_: Any) -> Any:
        raise Boom("three inputs, please")

    with scaling(infer=infer), pytest.raises(Boom, match="three inputs") as caught:
        stream.execute(Operation("ScaleBy", [await stream.to_device(np.ones(3))]))
    assert caught.value.__notes__ == ["raised by the rule of operator ScaleBy for inputs (DOUBLE [3])"]


async def test_without_a_rule_out_says_it(stream: Stream) -> None:
    """The selector sees what is to be written; each kind of output is a signature of its own."""
    asked: list[Any] = []

    def select(inputs: Any, outputs: Any, _attributes: Any) -> Launch:
        asked.append(outputs)
        return Launch("zero")

    x = await stream.to_device(np.ones(3))
    with scaling(selector=select, kernels={"zero": zero}, infer=None):
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
    with scaling():
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
    with scaling(kernels={"scale": reverse}):
        await stream.execute(Operation("ScaleBy", [x], out=x))
    assert (await stream.to_host(x)).tolist() == [4, 3, 2, 1, 0]


async def test_inputs_of_every_kind(stream: Stream) -> None:
    """Completions, arrays, numbers, lists and None; what is nothing of these is refused with its place."""
    seen: list[Any] = []

    def look(_block: Any, inputs: Any, _outputs: Any, _workspaces: Any, _tiling: Any) -> None:
        seen.extend(None if each is None else each.tolist() for each in inputs)

    with scaling(selector=lambda *_: Launch("look"), kernels={"look": look}, infer=lambda *_: []):
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
    with scaling(kernels={"scale": zero}):
        with Hold(stream):
            found = stream.execute(ops.NonZero(await stream.to_device(np.array([0.0, 1.0, 2.0]))))
            with pytest.raises(InvalidArgument, match="exact shape of input 0 is known only when"):
                stream.execute(Operation("ScaleBy", [found]))
        places = await found
        y = await stream.execute(Operation("ScaleBy", [places]))
        assert (y.shape, y.dtype) == (places.shape, places.dtype)
