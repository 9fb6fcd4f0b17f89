"""A model over many items: batches, remainders, order, errors, and what is left when the loop ends."""

from __future__ import annotations

import asyncio
import gc
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import aclosing
from pathlib import Path
from time import perf_counter
from typing import Any

import anyio
import numpy as np
import onnx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from onnx import TensorProto, helper

import aacl
from aacl.converter import convert
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

Until = Callable[[Callable[[], bool]], Awaitable[None]]
Make = Callable[..., Path]
F32, I64 = TensorProto.FLOAT, TensorProto.INT64


@pytest.fixture(scope="session")
def make(tmp_path_factory: pytest.TempPathFactory) -> Make:
    """Convert nodes whose values have these types and dims; names among them are free dims."""

    def build(nodes: list[onnx.NodeProto], inputs: dict[str, Any], outputs: dict[str, Any], **options: Any) -> Path:
        ins, outs = (
            [helper.make_tensor_value_info(name, *each) for name, each in side.items()] for side in (inputs, outputs)
        )
        graph = helper.make_graph(nodes, "net", list(ins), list(outs))
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
        return convert(model, tmp_path_factory.mktemp("mapped") / "net", **options)

    return build


@pytest.fixture(scope="session")
def twice(make: Make) -> Callable[..., Path]:
    """Y = 2x, x of a batch and 3 columns, for the sizes that the options ask for."""

    def build(batch: int | str, columns: int | str = 3, **options: Any) -> Path:
        dims = [batch, columns]
        return make([helper.make_node("Add", ["x", "x"], ["y"])], {"x": (F32, dims)}, {"y": (F32, dims)}, **options)

    return build


@pytest.fixture(scope="session")
def sized(make: Make) -> Callable[..., Path]:
    """The same, and in a second output, for each row, how many rows there are."""
    nodes = [
        helper.make_node("Add", ["x", "x"], ["y"]),
        helper.make_node("Shape", ["x"], ["s"], end=1),
        helper.make_node("Expand", ["s", "s"], ["n"]),
    ]

    def build(batch: int | str, **options: Any) -> Path:
        return make(nodes, {"x": (F32, [batch, 3])}, {"y": (F32, [batch, 3]), "n": (I64, [batch])}, **options)

    return build


@pytest.fixture(scope="session")
def by_four(twice: Callable[..., Path]) -> Path:
    """Y = 2x, float32 [4, 3]."""
    return twice(4)


@pytest.fixture(scope="session")
def by_gear(twice: Callable[..., Path]) -> Path:
    """The same in batches of 1, 4 and 8."""
    return twice("n", input_shape={"x": (-1, 3)}, dynamic_batch_size=[1, 4, 8])


@pytest.fixture(scope="session")
def by_range(twice: Callable[..., Path]) -> Path:
    """The same with any batch and up to 6 columns."""
    return twice("n", "m", input_shape={"x": (-1, "1~6")})


@pytest.fixture(scope="session")
def pick_each(make: Make) -> Path:
    """Y = x[i] for each of 4 items: a run fails when one index of them is out of range."""
    node = helper.make_node("GatherElements", ["x", "i"], ["y"], name="pick_each", axis=1)
    return make([node], {"x": (F32, [4, 3]), "i": (I64, [4, 1])}, {"y": (F32, [4, 1])})


def rows(number: int, columns: int = 3) -> list[Any]:
    """Return items with values of their own."""
    return [np.full(columns, each, np.float32) for each in range(number)]


async def lazily(items: list[Any], read: list[int] | None = None) -> AsyncIterator[Any]:
    """Yield items with turns of the loop between them, and note which were read, then -1."""
    read = [] if read is None else read
    try:
        for number, item in enumerate(items):
            await asyncio.sleep(0)
            read.append(number)
            yield item
    finally:
        read.append(-1)


def eagerly(items: list[Any], read: list[int]) -> Iterator[Any]:
    """Do the same without a loop."""
    try:
        for number, item in enumerate(items):
            read.append(number)
            yield item
    finally:
        read.append(-1)


async def drain(results: Any, into: list[Any] | None = None) -> list[Any]:
    """Take results to the end, into a list that shows what came before a failure."""
    into = [] if into is None else into
    async for pair in results:
        into.append(pair)
    return into


def check_doubled(pairs: list[tuple[Any, Any]], items: list[Any]) -> None:
    """Each item came out, itself, in order, with twice its values."""
    assert [id(item) for item, _ in pairs] == [id(item) for item in items]
    for item, result in pairs:
        assert type(result) is np.ndarray
        np.testing.assert_array_equal(result, 2 * item)


@pytest.mark.parametrize("number", [0, 1, 3, 4, 5, 8, 23])
async def test_order_is_kept_and_a_fixed_batch_is_padded(by_four: Path, number: int) -> None:
    """Whatever the number of items, each comes with its own result, in order; runs are as few as can be."""
    items = rows(number)
    async with aacl.Device(), Model(by_four) as model:
        for source in (items, lazily(items), iter(items), tuple(items)):
            pairs = [pair async for pair in model.map(source)]

            check_doubled(pairs, items)
        assert model.statistics().runs == 4 * -(-number // 4)


async def test_remainder_goes_into_the_smallest_gear_that_holds_it(sized: Callable[..., Path]) -> None:
    """11 items are a run of 8 and one of 4; 9 are 8 and 1; with batches of 3 they run in the gear of 4."""
    path = sized("n", input_shape={"x": (-1, 3)}, dynamic_batch_size=[1, 2, 4, 8])
    async with aacl.Device(), Model(path) as model:
        for number, batch, expected in [
            (11, None, [8] * 8 + [4] * 3),
            (9, 8, [8] * 8 + [1]),
            (6, 4, [4] * 4 + [2] * 2),
            (7, 3, [4] * 6 + [1]),
        ]:
            assert await run_sizes(model, rows(number), batch) == expected


async def test_remainder_of_a_free_batch_is_a_run_of_its_size(sized: Callable[..., Path]) -> None:
    """Nothing is padded where any batch runs; 8 is the batch unless another is asked for."""
    async with aacl.Device(), Model(sized("n", input_shape={"x": (-1, 3)})) as model:
        for batch, expected in [(None, [8] * 8 + [3] * 3), (5, [5] * 10 + [1]), (100, [11] * 11)]:
            assert await run_sizes(model, rows(11), batch) == expected


async def test_least_batch_of_a_range_is_padded_to(sized: Callable[..., Path]) -> None:
    """With batches of 3 to 5 a single item runs as 3 rows, and no run has more than 5."""
    async with aacl.Device(), Model(sized("n", input_shape={"x": ("3~5", 3)})) as model:
        assert await run_sizes(model, rows(6), None) == [5] * 5 + [3]


async def test_fixed_batch_is_always_whole(sized: Callable[..., Path]) -> None:
    """Fewer items a run than the model's batch may be asked for; it runs padded."""
    async with aacl.Device(), Model(sized(4)) as model:
        assert await run_sizes(model, rows(5), 2) == [4] * 5
        assert model.statistics().runs == 3


async def run_sizes(model: Model, items: list[Any], batch: int | None) -> list[int]:
    """Return how many rows the run had that each item was in; values and order are checked."""
    pairs = [pair async for pair in model.map(items, batch=batch)]
    check_doubled([(item, doubled) for item, (doubled, _) in pairs], items)
    return [int(size) for _, (_, size) in pairs]


async def test_batch_of_one(twice: Callable[..., Path]) -> None:
    """A model of batch 1 takes items without that axis, one a run."""
    async with aacl.Device(), Model(twice(1)) as model:
        items = rows(5)

        check_doubled([pair async for pair in model.map(items, batch=1)], items)

        assert model.statistics().runs == 5
        with pytest.raises(ModelInputMismatch, match=r"\[3\].*\[1, 3\].*was given"):
            [pair async for pair in model.map([items[0][None]])]


async def test_shapes_that_change_begin_a_new_run(by_range: Path) -> None:
    """A run holds items of one shape: the order stays, and each result has its item's shape."""
    items = [np.full(columns, number, np.float32) for number, columns in enumerate([2, 2, 3, 2, 6, 6, 6, 1])]
    async with aacl.Device(), Model(by_range) as model:
        check_doubled([pair async for pair in model.map(items)], items)

        assert model.statistics().runs == 5


async def test_gears_of_several_dims(twice: Callable[..., Path]) -> None:
    """The gears that take an item's shape are those that its run may have; a shape of none is that item's error."""
    gears = [(1, 2), (4, 2), (2, 5)]
    path = twice("n", "m", input_shape={"x": (-1, -1)}, dynamic_dims=gears, input_format="ND")
    async with aacl.Device(), Model(path) as model:
        items = [*rows(6, 2), *rows(3, 5)]

        check_doubled([pair async for pair in model.map(items)], items)

        assert model.statistics().runs == 4
        with pytest.raises(ModelInputMismatch, match=r"no gear of .* \[3\].*dynamic_dims"):
            [pair async for pair in model.map(rows(1, 3))]


async def test_several_inputs_and_outputs(make: Make) -> None:
    """Items are tuples in order or mappings by name; results are tuples of rows, and scalars stay arrays."""
    nodes = [helper.make_node("Mul", ["a", "k"], ["p"]), helper.make_node("Identity", ["k"], ["q"])]
    path = make(nodes, {"a": (F32, [4]), "k": (F32, [4])}, {"p": (F32, [4]), "q": (F32, [4])})
    pairs = [(np.float32(number), np.float32(number + 1)) for number in range(6)]
    async with aacl.Device(), Model(path) as model:
        for items in (pairs, [{"k": k, "a": a} for a, k in pairs]):
            results = [result async for _, result in model.map(items)]

            assert [(float(p), float(q)) for p, q in results] == [(n * (n + 1.0), n + 1.0) for n in range(6)]
            assert all(type(each) is np.ndarray and each.shape == () for result in results for each in result)
        with pytest.raises(ModelInputMismatch, match=r"2 inputs.*1 were given.*'k' missing"):
            [pair async for pair in model.map([pairs[0][:1]])]


async def test_lists_are_items(by_four: Path) -> None:
    """Plain numbers get the input's dtype, as in an inference."""
    async with aacl.Device(), Model(by_four) as model:
        results = [result.tolist() async for _, result in model.map([[1, 2, 3], [4, 5, 6]])]

        assert results == [[2, 4, 6], [8, 10, 12]]


@settings(max_examples=15, deadline=None)
@given(shapes=st.lists(st.integers(1, 6), max_size=25), batch=st.integers(1, 9), workers=st.integers(1, 3),
       is_async=st.booleans())  # fmt: skip
def test_any_items_come_out_in_order(
    by_range: Path, shapes: list[int], batch: int, workers: int, is_async: bool
) -> None:
    """Order, identity and values hold for every mix of shapes, batches and workers."""
    items = [np.full(columns, number, np.float32) for number, columns in enumerate(shapes)]

    async def check() -> None:
        async with aacl.Device(), Model(by_range) as model:
            source = lazily(items) if is_async else items
            check_doubled([pair async for pair in model.map(source, batch=batch, workers=workers)], items)

    asyncio.run(check())


# -- how far it reads --------------------------------------------------------------------------


@pytest.mark.parametrize("workers", [1, 2, 3])
async def test_reading_ahead_is_bounded(by_four: Path, until: Until, workers: int) -> None:
    """However slow the loop is, no more than ``workers + 1`` batches are read and not handed out wholly."""
    for source in (eagerly, lazily):
        read: list[int] = []
        taken = 0
        async with (
            aacl.Device(),
            Model(by_four) as model,
            aclosing(model.map(source(rows(60), read), workers=workers)) as results,
        ):
            async for _ in results:
                if taken == 0:
                    await until(lambda: len(read) == 4 * (workers + 1))  # noqa: B023 - called in this turn
                for _ in range(10):
                    await asyncio.sleep(0)
                assert len(read) - taken // 4 * 4 <= 4 * (workers + 1)
                taken += 1
        assert taken == 60


async def test_nothing_is_read_before_the_first_result_is_wanted(by_four: Path) -> None:
    """A loop that never begins reads nothing and leaves nothing."""
    read: list[int] = []
    async with aacl.Device(), Model(by_four) as model:
        results = model.map(eagerly(rows(4), read))
        await asyncio.sleep(0)

        assert read == []
        await results.aclose()


async def test_results_come_while_the_source_waits(by_four: Path) -> None:
    """What has run is handed out though the next item is not there yet."""
    more = asyncio.Event()

    async def items() -> AsyncIterator[Any]:
        for item in rows(4):
            yield item
        await more.wait()
        for item in rows(1):
            yield item

    taken = 0
    async with aacl.Device(), Model(by_four) as model:
        async for _ in model.map(items()):
            taken += 1
            if taken == 4:
                more.set()
    assert taken == 5


async def test_loop_gets_turns_from_a_slow_plain_iterable(by_range: Path) -> None:
    """A plain iterable that computes leaves the loop a turn between its items."""
    turns = 0

    async def count() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    def items() -> Iterator[Any]:
        for item in rows(16):
            until = perf_counter() + 0.001
            while perf_counter() < until:
                pass
            yield item

    counting = asyncio.create_task(count())
    async with aacl.Device(), Model(by_range) as model:
        async for _ in model.map(items(), batch=16):
            break
        counting.cancel()
    assert turns >= 16


# -- where it runs -----------------------------------------------------------------------------


async def test_workers_run_beside_each_other(make: Make, until: Until) -> None:
    """Two workers have two runs under way at once; the streams are closed at the end, and none becomes current."""
    async with (
        aacl.Device(),
        aacl.Stream() as mine,
        Model(make(_heavy(), {"x": (F32, [1, 512, 512])}, {"y": (F32, [1, 512, 512])})) as model,
    ):
        most = 0
        before = aacl.open_resources().get("stream", 0)
        items = [np.zeros((512, 512), np.float32) for _ in range(12)]
        results = model.map(items)
        async for _ in results:
            most = max(most, len(model._uses.pending))
            assert aacl.current_stream() is mine
            assert aacl.open_resources().get("stream", 0) == before + 2

        assert most == 2
        assert aacl.open_resources().get("stream", 0) == before


def _heavy() -> list[onnx.NodeProto]:
    return [
        helper.make_node("MatMul", [f"h{each}" if each else "x", "x"], ["y" if each == 5 else f"h{each + 1}"])
        for each in range(6)
    ]


async def test_streams_given_are_used_in_turn_and_left_open(by_four: Path) -> None:
    """Runs go to them in turn, behind what is queued there; they stay as they were."""
    async with aacl.Device(), Model(by_four) as model, aacl.Stream(limit=1) as one, aacl.Stream() as other:
        gates = [threading.Event(), threading.Event()]
        for stream, gate in zip((one, other), gates, strict=True):
            stream.call(gate.wait)
        items = rows(20)
        task = asyncio.create_task(drain(model.map(items, streams=[one, other])))
        for _ in range(10):
            await asyncio.sleep(0)
        assert model.statistics().runs == 0
        for gate in gates:
            gate.set()

        check_doubled(await task, items)
        await one.synchronize()
        assert (one.closed, other.closed) == (False, False)


# -- errors ------------------------------------------------------------------------------------


@pytest.mark.parametrize("bad", [0, 2, 3, 4, 9])
async def test_item_that_does_not_fit_is_raised_in_its_turn(by_four: Path, bad: int) -> None:
    """What is before it is handed out, nothing is read behind it; the error says which item it was and what is wanted."""
    items = rows(10)
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
    items: list[Any] = rows(10)
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
        for item in rows(number):
            yield item
        raise LookupError("no more")

    def at_once() -> Iterator[Any]:
        yield from rows(number)
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
        yield rows(1)[0]
        task = asyncio.create_task(asyncio.sleep(100))
        task.cancel()
        await task

    async with aacl.Device(), Model(by_four) as model:
        with pytest.raises(asyncio.CancelledError):
            await drain(model.map(items()), [])


async def test_no_room_on_the_device_is_raised(by_four: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run for which there is no memory raises OutOfMemory at its first item; with room the next loop works."""
    monkeypatch.setenv("AACL_DEVICE_MEMORY", "1M")
    items = rows(6)
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
                model.map(**{"items": rows(1), **arguments})
        async with aacl.Stream() as closed:
            pass
        with pytest.raises(ClosedResource):
            four.map(rows(1), streams=[closed, aacl.Stream()])
        async with aacl.Device(1), aacl.Stream() as elsewhere:
            with pytest.raises(WrongModelContext):
                four.map(rows(1), streams=[elsewhere])
    with pytest.raises(ClosedResource):
        four.map(rows(1))


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
            async for _ in model.map(rows(40)):
                await model.aclose()

        with pytest.raises(ClosedResource):
            await close()
        assert len(asyncio.all_tasks()) == 1


# -- the end -----------------------------------------------------------------------------------


async def test_leaving_early_leaves_nothing(by_four: Path) -> None:
    """After a break under aclosing no task and no stream is left, and the generator read from is closed."""
    async with aacl.Device(), Model(by_four) as model:
        before = aacl.open_resources().get("stream", 0)
        for source in (eagerly, lazily):
            read: list[int] = []
            async with aclosing(model.map(source(rows(100), read))) as results:
                async for _ in results:
                    break

            assert read[-1] == -1
            assert len(asyncio.all_tasks()) == 1
            assert aacl.open_resources().get("stream", 0) == before


async def test_leaving_early_without_aclosing_ends_soon(by_four: Path, until: Until) -> None:
    """A bare break lets the loop clean up behind it."""
    read: list[int] = []
    async with aacl.Device(), Model(by_four) as model:
        before = aacl.open_resources().get("stream", 0)
        async for _ in model.map(lazily(rows(100), read)):
            break
        gc.collect()

        await until(lambda: len(asyncio.all_tasks()) == 1)
        assert read[-1] == -1
        assert aacl.open_resources().get("stream", 0) == before


async def test_iterators_that_are_no_generators_are_left_alone(by_four: Path) -> None:
    """An iterator that somebody else may go on with is not closed."""

    class Closable:
        closed = False

        def __iter__(self) -> Closable:
            return self

        def __next__(self) -> Any:
            return rows(1)[0]

        def close(self) -> None:
            self.closed = True

    items = Closable()
    async with aacl.Device(), Model(by_four) as model, aclosing(model.map(items)) as results:
        async for _ in results:
            break
    assert not items.closed


@pytest.mark.parametrize("kind", ["asyncio", "anyio", "twice"])
async def test_cancelled_loop_leaves_nothing(by_four: Path, until: Until, kind: str) -> None:
    """Cancelled while it waits for a run or for an item, the loop closes all that is its own, and is cancelled."""
    gate = threading.Event()
    read: list[int] = []
    async with aacl.Device(), Model(by_four) as model, aacl.Stream() as stream:
        before = aacl.open_resources().get("stream", 0)
        for streams in (None, [stream]):
            stuck = asyncio.Event()
            if streams is not None:
                stream.call(gate.wait)

            async def items(stuck: asyncio.Event = stuck, whole: bool = streams is not None) -> AsyncIterator[Any]:
                try:
                    for item in rows(4 if whole else 3):
                        yield item
                    stuck.set()
                    await asyncio.Event().wait()
                finally:
                    await asyncio.sleep(0)
                    read.append(-1)

            async def work(source: Any = items, streams: Any = streams) -> None:
                async for _ in model.map(source(), streams=streams):
                    pass

            scope = anyio.CancelScope()
            task = asyncio.create_task(_in_scope(scope, work) if kind == "anyio" else work())
            await stuck.wait()
            if kind == "anyio":
                scope.cancel()
                await task
                assert scope.cancelled_caught
            else:
                task.cancel()
                if kind == "twice":
                    await asyncio.sleep(0)
                    task.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await task
            assert len(asyncio.all_tasks()) == 1
            assert aacl.open_resources().get("stream", 0) == before
        gate.set()
    assert len(read) <= 2
    assert read or kind == "twice"


async def _in_scope(scope: anyio.CancelScope, work: Callable[[], Awaitable[None]]) -> None:
    with scope:
        await work()


async def test_failure_of_the_items_end_is_raised(by_four: Path) -> None:
    """What a generator raises when it is closed early reaches whoever leaves the loop."""

    async def items() -> AsyncIterator[Any]:
        try:
            for item in rows(100):
                yield item
        finally:
            raise LookupError("could not close")

    async with aacl.Device(), Model(by_four) as model:
        results = model.map(items())
        await anext(results)
        with pytest.raises(LookupError, match="could not close"):
            await results.aclose()
        assert len(asyncio.all_tasks()) == 1


@pytest.mark.parametrize("is_given", [False, True])
async def test_failures_that_nobody_came_to_stay_silent(pick_each: Path, is_given: bool) -> None:
    """Runs that were read ahead, and fail behind a loop that was left, are reported by no stream and no block."""
    x = np.array([5, 6, 7], np.float32)
    items = [(x, np.array([0 if number < 4 else 9])) for number in range(12)]
    async with aacl.Device(), aacl.Stream() as stream, Model(pick_each) as model:
        async for _ in model.map(items, streams=[stream] if is_given else None):
            break
        await stream.synchronize()
