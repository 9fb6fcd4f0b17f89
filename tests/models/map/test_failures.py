"""Errors of items, runs, sources and arguments, each in its turn."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import aclosing
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper

import aacl
from aacl.errors import (
    ClosedResource,
    InvalidArgument,
    ModelInputMismatch,
    ModelOutputMismatch,
    ModelRunError,
    OutOfMemory,
    WrongModelContext,
)
from aacl.models import Model
from tests.helpers.items import check_doubled, drain, eagerly, item_rows

Make = Callable[..., Path]
F32 = TensorProto.FLOAT


@pytest.mark.parametrize("bad", [0, 2, 3, 4, 9])
async def test_item_that_does_not_fit_is_raised_in_its_turn(by_four: Path, bad: int) -> None:
    """What is before it is handed out, nothing is read behind it; the error says which item it was and what is wanted."""
    items = item_rows(10)
    items[bad] = np.zeros(3, np.float64)
    taken: list[Any] = []
    read: list[int] = []
    async with aacl.Device(), Model(by_four) as model:
        with pytest.raises(ModelInputMismatch, match=r"'x'.*FLOAT of shape \[3\].*float64") as caught:
            await drain(model.map(eagerly(items, read)), taken)

        check_doubled(taken, items[:bad])
        assert read == [*range(bad + 1), -1]
        assert any(f"item {bad} of map()" in note for note in caught.value.__notes__)


async def test_run_that_fails_costs_only_the_items_that_fail(pick_each: Path) -> None:
    """Of a run that one item's values fail, the others have results; the error is that item's alone."""
    x = np.array([5, 6, 7], np.float32)
    items = [(x, np.array([index])) for index in (0, 1, 9, 2, 1, 8)]
    async with aacl.Device(), Model(pick_each) as model:
        found = [result async for _, result in model.map(items, return_exceptions=True)]

        kinds = [float(each[0]) if isinstance(each, np.ndarray) else type(each) for each in found]
        assert kinds == [5, 6, ModelRunError, 7, 6, ModelRunError]
        assert any("item 5 of map()" in note for note in found[5].__notes__)
        taken: list[Any] = []
        with pytest.raises(ModelRunError, match="pick_each") as caught:
            await drain(model.map(items), taken)
        assert [float(result[0]) for _, result in taken] == [5, 6]
        assert any("item 2 of map()" in note for note in caught.value.__notes__)


async def test_errors_may_be_results(by_four: Path) -> None:
    """With ``return_exceptions`` the loop goes on; items that do not fit take no row, and do not let reading run away."""
    items: list[Any] = item_rows(10)
    items[1] = items[6] = "text"
    read: list[int] = []
    async with aacl.Device(), Model(by_four) as model:
        pairs = [pair async for pair in model.map(items, return_exceptions=True)]

        errors = {number for number, (_, result) in enumerate(pairs) if isinstance(result, ModelInputMismatch)}
        assert errors == {1, 6}
        check_doubled(
            [pair for number, pair in enumerate(pairs) if number not in errors], [*items[:1], *items[2:6], *items[7:]]
        )

        async with aclosing(model.map(eagerly(["text"] * 50, read), return_exceptions=True)) as results:
            async for _, result in results:
                assert isinstance(result, ModelInputMismatch)
                break
        assert len(read) - 1 <= 12


@pytest.mark.parametrize("number", [0, 3, 4, 6])
@pytest.mark.parametrize("keeps", [False, True])
async def test_error_of_the_source_comes_behind_the_items_before_it(by_four: Path, number: int, keeps: bool) -> None:
    """What the iterable raises is raised once all that it gave has been handed out, and nothing is left behind."""

    async def slowly() -> AsyncIterator[Any]:
        for item in item_rows(number):
            yield item
        raise LookupError("no more")

    def at_once() -> Iterator[Any]:
        yield from item_rows(number)
        raise LookupError("no more")

    async with aacl.Device(), Model(by_four) as model:
        for source in (slowly(), at_once()):
            taken: list[Any] = []
            with pytest.raises(LookupError, match="no more"):
                await drain(model.map(source, return_exceptions=keeps), taken)
            assert len(taken) == number
        assert len(asyncio.all_tasks()) == 1


async def test_source_that_is_cancelled_by_itself_does_not_hang(by_four: Path) -> None:
    """A CancelledError out of the iterable comes out of the loop."""

    async def items() -> AsyncIterator[Any]:
        yield item_rows(1)[0]
        task = asyncio.create_task(asyncio.sleep(100))
        task.cancel()
        await task

    async with aacl.Device(), Model(by_four) as model:
        with pytest.raises(asyncio.CancelledError):
            await drain(model.map(items()), [])


async def test_no_room_on_the_device_is_raised(by_four: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run for which there is no memory raises OutOfMemory at its first item; with room the next loop works."""
    monkeypatch.setenv("AACL_DEVICE_MEMORY", "1M")
    items = item_rows(6)
    async with aacl.Device() as device, Model(by_four) as model:
        taken = device.allocate(device.memory().free - 64)
        with pytest.raises(OutOfMemory):
            await drain(model.map(items))
        taken.free()

        check_doubled(await drain(model.map(items)), items)


async def test_what_cannot_be_mapped_is_refused_at_once(by_four: Path, by_gear: Path, by_range: Path) -> None:
    """Before anything is read: wrong numbers, objects, and streams of another device or closed."""
    async with aacl.Device(), Model(by_four) as four, Model(by_gear) as gear, Model(by_range) as free:
        table: list[tuple[Model, dict[str, Any], str]] = [
            (four, {"batch": 5}, "holds 1 to 4 items; a batch of 5"),
            (four, {"batch": 0}, "1 to 4 items; a batch of 0"),
            (gear, {"batch": 9}, "1 to 8 items"),
            (free, {"batch": -1}, "a batch of -1"),
            (four, {"batch": 1.5}, "whole number"),
            (four, {"workers": 0}, "at least 1 worker"),
            (four, {"workers": "two"}, "whole number"),
            (four, {"streams": []}, "1 stream"),
            (four, {"streams": ["s"]}, "not on a str"),
            (four, {"items": 7}, "iterable"),
        ]
        for model, arguments, words in table:
            with pytest.raises(InvalidArgument, match=words):
                model.map(**{"items": item_rows(1), **arguments})
        async with aacl.Stream() as closed:
            pass
        with pytest.raises(ClosedResource):
            four.map(item_rows(1), streams=[closed, aacl.Stream()])
        async with aacl.Device(1), aacl.Stream() as elsewhere:
            with pytest.raises(WrongModelContext):
                four.map(item_rows(1), streams=[elsewhere])
    with pytest.raises(ClosedResource):
        four.map(item_rows(1))


async def test_models_without_a_batch_axis_are_refused(make: Make) -> None:
    """Scalars, inputs with batches of their own and outputs without a row an item: the name and the shape are told."""
    add = [helper.make_node("Add", ["a", "b"], ["y"])]
    total = [helper.make_node("ReduceSum", ["a"], ["y"], keepdims=0)]
    table = [
        (make(add, {"a": (F32, [4]), "b": (F32, [])}, {"y": (F32, [4])}), r"input 1 \('b'\).*\[\]"),
        (make(add, {"a": (F32, [4, 3]), "b": (F32, [1, 3])}, {"y": (F32, [4, 3])}), r"no batch in common"),
        (make(total, {"a": (F32, [4, 3])}, {"y": (F32, [])}), r"output 0 \(.*\[\]"),
        (make([helper.make_node("Concat", ["a", "a"], ["y"], axis=0)], {"a": (F32, [4])}, {"y": (F32, [8])}),
         r"\[8\] where the inputs have 4 rows"),
    ]  # fmt: skip
    async with aacl.Device():
        for path, words in table:
            async with Model(path) as model:
                with pytest.raises(InvalidArgument, match=words):
                    model.map([])


async def test_outputs_that_turn_out_to_have_no_rows_are_an_error(make: Make) -> None:
    """Where only the run tells an output's shape, fewer rows than items are found then."""
    path = make([helper.make_node("Compress", ["x", "c"], ["y"], axis=0)],
                {"x": (F32, [4, 2]), "c": (TensorProto.BOOL, [4])}, {"y": (F32, ["k", 2])})  # fmt: skip
    items = [(np.ones(2, np.float32), np.array(keep)) for keep in (True, False, True, True)]
    async with aacl.Device(), Model(path) as model:
        with pytest.raises(ModelOutputMismatch, match=r"\[3, 2\] for 4 items"):
            await drain(model.map(items))


async def test_model_that_is_closed_meanwhile(by_four: Path) -> None:
    """The loop ends with ClosedResource, and its streams and task are gone."""
    async with aacl.Device():
        model = await Model(by_four).open()

        async def close() -> None:
            async for _ in model.map(item_rows(40)):
                await model.aclose()

        with pytest.raises(ClosedResource):
            await close()
        assert len(asyncio.all_tasks()) == 1


# -- the end -----------------------------------------------------------------------------------
