"""Profiles and dumps of models that are not of one fixed shape, take pictures, loop, or pass sequences on."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

import aacl
from aacl.abc import NodeValue
from aacl.converter import convert
from aacl.models import Model, Profile, TensorDump

Array = np.ndarray[Any, np.dtype[Any]]


def _save(
    folder: Path,
    nodes: Sequence[onnx.NodeProto],
    gives: onnx.ValueInfoProto,
    dims: Sequence[int | str],
    kind: int = TensorProto.FLOAT,
    **options: Any,
) -> Path:
    takes = helper.make_tensor_value_info("x", kind, list(dims))
    graph = helper.make_graph(list(nodes), "g", [takes], [gives])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    return convert(model, folder / "net", **options)


def _doubling(folder: Path, dims: Sequence[int | str], **options: Any) -> Path:
    nodes = [
        helper.make_node("Add", ["x", "x"], ["h"], name="twice"),
        helper.make_node("Neg", ["h"], ["y"], name="neg"),
    ]
    return _save(folder, nodes, helper.make_tensor_value_info("y", TensorProto.FLOAT, list(dims)), dims, **options)


class Seen:
    """The shapes of what each run's nodes gave."""

    def __init__(self) -> None:
        self.shapes: list[list[tuple[int, ...]]] = []

    def __call__(self, _number: int, values: Sequence[NodeValue]) -> None:
        self.shapes.append([value.array.shape for value in values])


@pytest.mark.parametrize(
    "options",
    [{"input_shape": "x:-1,3", "dynamic_batch_size": "1,2,4"}, {"input_shape": "x:1~9,3"}],
    ids=["gears", "ranges"],
)
async def test_every_shape(tmp_path: Path, options: dict[str, str]) -> None:
    """Each run's results, and what is told of it, have the run's own shape."""
    seen = Seen()
    async with aacl.Device(0), aacl.Stream() as stream, Model(_doubling(tmp_path, ["n", 3], **options)) as model:
        dump, profile = TensorDump(model, seen), Profile(model)
        async with dump, profile:
            for rows in (2, 4, 1, 2):
                x = np.full((rows, 3), rows, np.float32)
                np.testing.assert_array_equal(await model.infer(x), -2 * x)
                y = await stream.execute(model(await stream.to_device(x)))
                np.testing.assert_array_equal(await stream.to_host(y), -2 * x)

    assert seen.shapes == [[(rows, 3)] * 2 for rows in (2, 2, 4, 4, 1, 1, 2, 2)]
    assert [node.op_type for node in profile.nodes] == ["Add", "Neg"] * 8


async def test_pictures(tmp_path: Path) -> None:
    """What a model with AIPP takes is made into what its graph takes, which is what is told."""
    (tmp_path / "aipp.cfg").write_text(
        "aipp_op { aipp_mode: static input_format: RGB888_U8 src_image_size_w: 4 src_image_size_h: 2 mean_chn_0: 3 }"
    )
    seen: list[Array] = []
    x = np.arange(24, dtype=np.uint8).reshape(1, 2, 4, 3)
    path = _doubling(tmp_path, [1, 3, 2, 4], insert_op_conf=tmp_path / "aipp.cfg", input_format="NCHW")
    async with aacl.Device(0), aacl.Stream(), Model(path) as model:
        plain = await model.infer(x)
        keep = TensorDump(
            model, lambda _n, values: seen.extend(v.array.copy() for v in values), nodes=["twice"], inputs=True
        )
        async with keep, Profile(model) as profile:
            looked = await model.infer(x)
        np.testing.assert_array_equal(await model.infer(x), plain)

    entering = x.transpose(0, 3, 1, 2).astype(np.float32) - np.array([3, 0, 0], np.float32).reshape(3, 1, 1)
    np.testing.assert_array_equal(looked, plain)
    np.testing.assert_array_equal(plain, -2 * entering)
    for array, wanted in zip(seen, (entering, entering, 2 * entering), strict=True):
        np.testing.assert_array_equal(array, wanted)
    assert {"Add", "Neg"} <= {node.op_type for node in profile.nodes}


async def test_a_branch(tmp_path: Path) -> None:
    """The nodes of the branch that ran are in the profile, within the branch's time; a dump has the node If alone."""
    then, other = (
        helper.make_graph(
            [helper.make_node(kind, ["x"], [kind], name=f"the_{kind}")],
            kind,
            [],
            [helper.make_tensor_value_info(kind, TensorProto.FLOAT, [3])],
        )
        for kind in ("Exp", "Neg")
    )
    nodes = [
        helper.make_node("ReduceSum", ["x"], ["sum"], keepdims=0, name="sum_up"),
        helper.make_node("Cast", ["sum"], ["flag"], to=TensorProto.BOOL, name="flag_it"),
        helper.make_node("If", ["flag"], ["y"], then_branch=then, else_branch=other, name="choose"),
    ]
    seen = Seen()
    path = _save(tmp_path, nodes, helper.make_tensor_value_info("y", TensorProto.FLOAT, [3]), [3])
    async with aacl.Device(0), aacl.Stream(), Model(path) as model:
        dump, profile = TensorDump(model, seen), Profile(model)
        async with dump, profile:
            x = np.array([1, 2, 3], np.float32)
            np.testing.assert_allclose(await model.infer(x), np.exp(x), rtol=1e-6)

    assert seen.shapes == [[(), (), (3,)]]
    by_type = {node.op_type: node for node in profile.nodes}
    assert "Neg" not in by_type
    # Whole microseconds, each rounded down for itself.
    assert by_type["If"].start_ns <= by_type["Exp"].start_ns + 1000
    assert by_type["Exp"].end_ns <= by_type["If"].end_ns + 2000


async def test_sequences_are_left_out(tmp_path: Path) -> None:
    """What is no tensor is not told; the tensors around it are."""
    nodes = [
        helper.make_node("SequenceConstruct", ["x", "x"], ["s"], name="pack"),
        helper.make_node("ConcatFromSequence", ["s"], ["y"], axis=0, name="join"),
    ]
    names: list[str] = []
    path = _save(tmp_path, nodes, helper.make_tensor_value_info("y", TensorProto.FLOAT, [4]), [2])
    async with aacl.Device(0), aacl.Stream(), Model(path) as model:
        dump = TensorDump(model, lambda _n, values: names.extend(v.name for v in values), inputs=True)
        async with dump:
            result = await model.infer(np.array([1, 2], np.float32))

    np.testing.assert_array_equal(result, [1, 2, 1, 2])
    assert names == ["x", "x", "y"]


async def test_runs_from_many_streams(tmp_path: Path) -> None:
    """Runs that would overlap take turns, and each is recorded and right."""
    path = _doubling(tmp_path, [3])
    async with aacl.Device(0), aacl.Stream() as one, aacl.Stream() as other, Model(path) as model:
        profile = Profile(model)
        async with profile:
            inputs = [np.full(3, number, np.float32) for number in range(60)]
            streams = (one, other)
            results = await asyncio.gather(
                *[model.infer(x, stream=streams[number % 2]) for number, x in enumerate(inputs)]
            )

    for x, result in zip(inputs, results, strict=True):
        np.testing.assert_array_equal(result, -2 * x)
    assert [node.run for node in profile.nodes] == [run for run in range(60) for _ in range(2)]
    ends = [node.end_ns for node in profile.nodes]
    assert all(after.start_ns >= end - 1000 for after, end in zip(profile.nodes[1:], ends, strict=False))


async def test_a_wait_that_is_cancelled_leaves_nothing_begun(tmp_path: Path) -> None:
    """Cancelled while it begins, a profile sees nothing of the model's runs, which go on as ever."""
    async with aacl.Device(0), aacl.Stream(), Model(_doubling(tmp_path, [3])) as model:
        profile = Profile(model)
        task = asyncio.create_task(profile.__aenter__())
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        profile.stop()  # waits for whoever stops it already
        x = np.ones(3, np.float32)
        np.testing.assert_array_equal(await model.infer(x), -2 * x)

    assert profile.nodes == ()
