"""Profiles of models: which nodes ran, for how long, and that nothing of it stays behind."""

from __future__ import annotations

import asyncio
import json
import shutil
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import helper

import aacl
from aacl.errors import ClosedResource, InvalidArgument
from aacl.models import Model, Profile, summarize

Build = Callable[..., Path]
Array = np.ndarray[Any, np.dtype[Any]]
A, B = np.arange(4, dtype=np.float32), np.full(4, 2, np.float32)


async def test_runs_in_the_block_are_recorded(sum_and_product: Path) -> None:
    """Each run adds the graph's nodes, with times within the run's; runs before and behind the block add nothing."""
    async with aacl.Device(0), aacl.Stream() as stream, Model(sum_and_product) as model:
        await model.infer(A, B)
        async with Profile(model) as profile:
            before = time.time_ns()
            for _ in range(3):
                total, product = await model.infer(A, B)
                np.testing.assert_array_equal(total, A + B)
                np.testing.assert_array_equal(product, A * B)
            tensors = await stream.to_device(A), await stream.to_device(B)
            await stream.execute(model(*tensors))
            after = time.time_ns()
        await model.infer(A, B)

    nodes = profile.nodes
    assert [node.run for node in nodes] == [0, 0, 1, 1, 2, 2, 3, 3]
    assert all({node.op_type for node in nodes if node.run == run} == {"Add", "Mul"} for run in range(4))
    # ONNX Runtime's clock counts whole microseconds.
    assert all(before - 1_000_000 <= node.start_ns <= node.end_ns <= after + 1_000_000 for node in nodes)
    assert all(node.duration == (node.end_ns - node.start_ns) / 1e9 for node in nodes)


async def test_long_nodes_take_long(slow: Path) -> None:
    """The matrix products' times make up most of the run's, and the summary puts them first."""
    x = np.ones((1024, 1024), np.float32)
    async with aacl.Device(0), aacl.Stream(), Model(slow) as model:
        async with Profile(model) as profile:
            began = time.perf_counter()
            await model.infer(x)
            elapsed = time.perf_counter() - began
        first = profile.summary()[0]

    assert first.op_type == "MatMul"
    assert first.executions == 5
    assert 0.3 * elapsed < first.total <= elapsed
    assert first.shortest <= first.mean <= first.longest <= first.total


async def test_a_prepared_run_is_recorded_too(add_one: Path) -> None:
    """A run that was tied to its memory before the profile began is seen while it goes on, and right throughout."""
    x = np.zeros((2, 3), np.float32)
    async with aacl.Device(0), aacl.Stream() as stream, Model(add_one) as model:
        source, target = await stream.to_device(x), await stream.to_device(x)
        run = model(source, out=target)
        await stream.execute(run)
        async with Profile(model) as profile:
            await stream.execute(run)
            await stream.execute(run)
            seen = len(profile.nodes)
        await stream.execute(run)
        result = await stream.to_host(target)

    assert (seen, len(profile.nodes)) == (2, 2)
    np.testing.assert_array_equal(result, x + 1)


async def test_nothing_is_in_the_way_without_a_profile(add_one: Path) -> None:
    """Before and behind a profile, runs go straight to the model's own engine."""
    x = np.zeros((2, 3), np.float32)
    async with aacl.Device(0), aacl.Stream(), Model(add_one) as model:
        own = model._bindings._engine
        async with Profile(model):
            await model.infer(x)
            assert model._bindings._engine is not own
        assert model._bindings._engine is own is model._loaded


async def test_many_items(build: Build) -> None:
    """`Model.map` is recorded, batch by batch."""
    path = build("mapped", [helper.make_node("Neg", ["x"], ["y"])], [("x", 1, [4, 3])], [("y", 1, [4, 3])])
    items = [np.full(3, number, np.float32) for number in range(10)]
    async with aacl.Device(0), aacl.Stream(), Model(path) as model, Profile(model) as profile:
        async for item, result in model.map(items):
            np.testing.assert_array_equal(result, -item)

    assert len(profile.nodes) == 3


async def test_taking_forgets(add_one: Path) -> None:
    """`take` gives each node once, and runs are numbered on."""
    x = np.zeros((2, 3), np.float32)
    async with aacl.Device(0), aacl.Stream(), Model(add_one) as model, Profile(model) as profile:
        await model.infer(x)
        first = profile.take()
        await model.infer(x)
        second = profile.take()
        rest = profile.take()

    assert [[node.run for node in nodes] for nodes in (first, second, rest)] == [[0], [1], []]


async def test_many_runs_between_two_looks(add_one: Path) -> None:
    """More runs than one session collects are all there, in order."""
    x = np.zeros((2, 3), np.float32)
    async with aacl.Device(0), aacl.Stream(), Model(add_one) as model, Profile(model) as profile:
        await asyncio.gather(*[model.infer(x) for _ in range(150)])

    assert [node.run for node in profile.nodes] == [*range(150)]
    assert [node.start_ns for node in profile.nodes] == sorted(node.start_ns for node in profile.nodes)


async def test_two_profiles_of_one_model(add_one: Path) -> None:
    """Each sees the runs between its own start and stop, numbered from 0."""
    x = np.zeros((2, 3), np.float32)
    async with aacl.Device(0), aacl.Stream(), Model(add_one) as model:
        outer, inner = Profile(model), Profile(model)
        outer.start()
        await model.infer(x)
        inner.start()
        await model.infer(x)
        outer.stop()
        await model.infer(x)
        inner.stop()

    assert [node.run for node in outer.nodes] == [0, 1]
    assert [node.run for node in inner.nodes] == [0, 1]


async def test_models_of_one_file_are_profiled_apart(add_one: Path) -> None:
    """The second load of a file is not recorded with the first."""
    x = np.zeros((2, 3), np.float32)
    async with aacl.Device(0), aacl.Stream(), Model(add_one) as one, Model(add_one) as other, Profile(one) as profile:
        await one.infer(x)
        await other.infer(x)

    assert len(profile.nodes) == 1


async def test_a_model_closed_under_its_profile(add_one: Path) -> None:
    """What was recorded stays; stopping is harmless, and nothing of the model is left."""
    before = aacl.open_resources().get("model", 0)
    x = np.zeros((2, 3), np.float32)
    async with aacl.Device(0), aacl.Stream():
        async with Model(add_one) as model:
            profile = Profile(model).start()
            await model.infer(x)
        profile.stop()
        with pytest.raises(ClosedResource, match="look into"):
            Profile(model).start()

    assert len(profile.nodes) == 1
    assert aacl.open_resources().get("model", 0) == before


async def test_the_trace_file(sum_and_product: Path, tmp_path: Path) -> None:
    """The file has one complete event a node, with the numbers in microseconds."""
    async with aacl.Device(0), aacl.Stream(), Model(sum_and_product) as model:
        with Profile(model) as profile:
            await model.infer(A, B)
    profile.save(tmp_path / "trace.json")

    events = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    assert [(event["name"], event["ph"], event["dur"]) for event in events] == [
        (node.name, "X", (node.end_ns - node.start_ns) / 1000) for node in profile.nodes
    ]


def _remove_profiles(path: Path) -> None:
    for folder in path.glob("aacl-profile-*"):
        shutil.rmtree(folder)


async def test_a_profile_whose_files_somebody_removed(
    add_one: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its times are lost, with a warning; the run, the end of the profile and that of the model are as ever."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    x = np.zeros((2, 3), np.float32)
    async with aacl.Device(0), aacl.Stream(), Model(add_one) as model:
        async with Profile(model) as profile:
            first = await model.infer(x)
            _remove_profiles(tmp_path)
            with pytest.warns(RuntimeWarning, match="the times of 1 runs are lost"):
                assert profile.nodes == ()
        second = await model.infer(x)

    np.testing.assert_array_equal(first, second)


async def test_what_is_refused(add_one: Path) -> None:
    """A profile is used once, of a model only."""
    with pytest.raises(InvalidArgument, match=r"aacl\.Model"):
        Profile("model")  # type: ignore[arg-type]
    async with aacl.Device(0), aacl.Stream(), Model(add_one) as model:
        profile = Profile(model).start()
        with pytest.raises(InvalidArgument, match="started"):
            profile.start()
        profile.stop()
        profile.stop()
        with pytest.raises(InvalidArgument, match="stopped"):
            profile.start()
        assert summarize(profile.nodes) == ()
        assert "stopped" in repr(profile)


async def test_a_failing_run_is_told_as_ever(pick: Path) -> None:
    """Under a profile a run fails with the same error, and the next one runs; each has its number."""
    x = np.arange(4, dtype=np.float32)
    async with aacl.Device(0), aacl.Stream(), Model(pick) as model, Profile(model) as profile:
        with pytest.raises(aacl.ModelRunError, match="pick"):
            await model.infer(x, np.array([9]))
        np.testing.assert_array_equal(await model.infer(x, np.array([2])), [2])

    assert [node.run for node in profile.nodes] == [0, 1]  # the operator ran until it failed
