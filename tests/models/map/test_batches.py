"""The batches that items run in: order, remainders, shapes, inputs and outputs."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from onnx import TensorProto, helper

import aacl
from aacl.errors import (
    ModelInputMismatch,
)
from aacl.models import Model
from tests.helpers.items import check_doubled, item_rows, lazily, run_sizes

Make = Callable[..., Path]
F32 = TensorProto.FLOAT


@pytest.mark.parametrize("number", [0, 1, 3, 4, 5, 8, 23])
async def test_order_is_kept_and_a_fixed_batch_is_padded(by_four: Path, number: int) -> None:
    """Whatever the number of items, each comes with its own result, in order; runs are as few as can be."""
    items = item_rows(number)
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
            assert await run_sizes(model, item_rows(number), batch) == expected


async def test_remainder_of_a_free_batch_is_a_run_of_its_size(sized: Callable[..., Path]) -> None:
    """Nothing is padded where any batch runs; 8 is the batch unless another is asked for."""
    async with aacl.Device(), Model(sized("n", input_shape={"x": (-1, 3)})) as model:
        for batch, expected in [(None, [8] * 8 + [3] * 3), (5, [5] * 10 + [1]), (100, [11] * 11)]:
            assert await run_sizes(model, item_rows(11), batch) == expected


async def test_least_batch_of_a_range_is_padded_to(sized: Callable[..., Path]) -> None:
    """With batches of 3 to 5 a single item runs as 3 rows, and no run has more than 5."""
    async with aacl.Device(), Model(sized("n", input_shape={"x": ("3~5", 3)})) as model:
        assert await run_sizes(model, item_rows(6), None) == [5] * 5 + [3]


async def test_fixed_batch_is_always_whole(sized: Callable[..., Path]) -> None:
    """Fewer items a run than the model's batch may be asked for; it runs padded."""
    async with aacl.Device(), Model(sized(4)) as model:
        assert await run_sizes(model, item_rows(5), 2) == [4] * 5
        assert model.statistics().runs == 3


async def test_batch_of_one(twice: Callable[..., Path]) -> None:
    """A model of batch 1 takes items without that axis, one a run."""
    async with aacl.Device(), Model(twice(1)) as model:
        items = item_rows(5)

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
        items = [*item_rows(6, 2), *item_rows(3, 5)]

        check_doubled([pair async for pair in model.map(items)], items)

        assert model.statistics().runs == 4
        with pytest.raises(ModelInputMismatch, match=r"no gear of .* \[3\].*dynamic_dims"):
            [pair async for pair in model.map(item_rows(1, 3))]


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
