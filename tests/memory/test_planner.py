"""The arena planner: plain bookkeeping, tested as a plain object."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, initialize, invariant, rule

from aacl.memory._planner import ArenaPlanner, Block
from tests.helpers import interrupted_everywhere

BASE, CAPACITY = 1 << 20, 1 << 14
ALIGNMENTS = st.sampled_from([32, 64, 128, 512, 4096])
SIZES = st.integers(1, 3000)


class Taken:
    """Whoever receives an address."""

    address = 0


def take(planner: ArenaPlanner, reserved: int, alignment: int = 64, owner: Any = "test") -> int:
    """Return the address of a new block, 0 when nothing fits."""
    taken = Taken()
    done = planner.take(taken, reserved, alignment, owner)
    assert done == bool(taken.address)
    return taken.address


def fill(planner: ArenaPlanner, reserved: int) -> list[int]:
    """Take blocks of one size until nothing fits."""
    return list(iter(lambda: take(planner, reserved), 0))


def check(planner: ArenaPlanner) -> None:
    """Hold what holds at any time: blocks lie apart and inside, and are accounted for."""
    blocks = planner.blocks()
    assert blocks == sorted(blocks)
    for lower, upper in itertools.pairwise(blocks):
        assert lower.start + lower.reserved <= upper.start
    if blocks:
        assert blocks[0].start >= planner.base
        assert blocks[-1].start + blocks[-1].reserved <= planner.base + planner.capacity
    assert planner.used == sum(block.reserved for block in blocks) <= planner.peak
    assert len(planner) == len(blocks)


def check_whole(planner: ArenaPlanner) -> None:
    """Hold that nothing of the range is lost once everything is given back."""
    for block in planner.blocks():
        assert planner.give(block.start)
    assert (planner.used, len(planner)) == (0, 0)
    assert planner.largest_free() == planner.capacity
    assert take(planner, planner.capacity) == planner.base
    assert planner.give(planner.base)


class PlannerMachine(RuleBasedStateMachine):
    """Any order of taking, giving and looking up, against a dictionary."""

    blocks: Bundle[int] = Bundle("blocks")

    @initialize(tight=st.booleans())
    def begin(self, tight: bool) -> None:
        """Start with an empty range, of either kind."""
        self.planner = ArenaPlanner(BASE, CAPACITY, tight=tight)
        self.model: dict[int, tuple[int, str]] = {}
        self.peak = 0

    @rule(target=blocks, reserved=SIZES, alignment=ALIGNMENTS, owner=st.sampled_from("ab"))
    def take(self, reserved: int, alignment: int, owner: str) -> int:
        """A block is aligned and new, or there was no room for it."""
        start = take(self.planner, reserved, alignment, owner)
        if start:
            assert start % alignment == 0
            assert start not in self.model
            self.model[start] = (reserved, owner)
            self.peak = max(self.peak, sum(size for size, _ in self.model.values()))
        else:
            assert self.planner.largest_free() < reserved + max(alignment, 64)
        return start

    @rule(start=consumes(blocks))
    def give(self, start: int) -> None:
        """A live block is given back once; a second time, and 0, are refused."""
        assert self.planner.give(start) == (self.model.pop(start, None) is not None)
        assert not self.planner.give(start)

    @rule(start=blocks, offset=st.integers(-100, 5000))
    def find(self, start: int, offset: int) -> None:
        """Every address leads to the block whose reserved bytes hold it, others to none."""
        address = start + offset
        expected = [
            Block(first, size, owner) for first, (size, owner) in self.model.items() if first <= address < first + size
        ]
        assert self.planner.find(address) == (expected[0] if expected else None)

    @rule(start=blocks)
    def at(self, start: int) -> None:
        """Looking up a start is exact."""
        found = self.planner.at(start)
        assert (found is None) == (start not in self.model)

    @invariant()
    def holds(self) -> None:
        """Blocks lie apart, inside, and are accounted for."""
        check(self.planner)
        assert {block.start: (block.reserved, block.owner) for block in self.planner.blocks()} == self.model
        assert self.planner.peak == self.peak

    def teardown(self) -> None:
        """Everything given back, the range is whole again."""
        if hasattr(self, "planner"):
            check_whole(self.planner)


TestPlanner = PlannerMachine.TestCase
TestPlanner.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)


@given(st.lists(st.tuples(SIZES, ALIGNMENTS), max_size=30), st.booleans(), st.randoms(use_true_random=False))
@settings(max_examples=50, deadline=None)
def test_giving_in_any_order_makes_the_range_whole(requests: list[tuple[int, int]], tight: bool, random: Any) -> None:
    """Neighbours join again whatever the order in which they were given back."""
    planner = ArenaPlanner(BASE, CAPACITY, tight=tight)
    starts = [start for reserved, alignment in requests if (start := take(planner, reserved, alignment))]
    random.shuffle(starts)
    for start in starts:
        planner.give(start)

    check_whole(planner)


@pytest.mark.parametrize("tight", [False, True])
def test_an_exhausted_range_gives_nothing_and_recovers(tight: bool) -> None:
    """Full is full; one block given back makes room for exactly one."""
    planner = ArenaPlanner(BASE, CAPACITY, tight=tight)
    starts = fill(planner, 64)

    assert len(starts) == CAPACITY // 64
    assert planner.largest_free() == 0
    planner.give(starts[7])
    assert take(planner, 64) == starts[7]
    assert take(planner, 64) == 0
    check_whole(planner)


@pytest.mark.parametrize("tight", [False, True])
def test_holes_coalesce_when_nothing_else_fits(tight: bool) -> None:
    """Three freed neighbours serve a block as long as all of them."""
    planner = ArenaPlanner(BASE, CAPACITY, tight=tight)
    starts = fill(planner, 1024)
    for start in starts[3:6]:
        planner.give(start)

    assert planner.largest_free() == 3 * 1024
    assert take(planner, 3 * 1024) == starts[3]
    check(planner)


def test_a_failed_take_changes_nothing() -> None:
    """Asking for too much leaves the plan, its peak included, as it was."""
    planner = ArenaPlanner(BASE, CAPACITY)
    start = take(planner, 100)
    before = planner.blocks(), planner.used, planner.peak

    assert take(planner, CAPACITY) == 0
    assert (planner.blocks(), planner.used, planner.peak) == before
    assert planner.at(start) == Block(start, 100, "test")


def test_the_tail_of_a_slot_belongs_to_no_block() -> None:
    """A block of 100 bytes has 100: the rounding behind it is not found."""
    planner = ArenaPlanner(BASE, CAPACITY)
    start = take(planner, 100)

    assert planner.find(start + 99) is not None
    assert planner.find(start + 100) is None
    assert planner.find(start - 1) is None


def test_the_peak_outlives_what_made_it() -> None:
    """Giving back lowers what is used and not its maximum."""
    planner = ArenaPlanner(BASE, CAPACITY)
    starts = [take(planner, 1000) for _ in range(3)]
    for start in starts:
        planner.give(start)

    assert (planner.used, planner.peak) == (0, 3000)


@pytest.mark.parametrize("tight", [False, True])
def test_an_interrupt_anywhere_leaves_a_plan_that_holds(tight: bool) -> None:
    """Ctrl-C between any two steps neither loses bytes for good nor gives them out twice."""

    def act(planner: ArenaPlanner) -> None:
        starts = [take(planner, reserved, alignment) for reserved, alignment in ((100, 64), (64, 512), (200, 64))]
        planner.give(starts[0])
        planner.give(starts[2])
        for reserved, alignment in ((40, 64), (300, 128), (64, 64)):
            take(planner, reserved, alignment)

    wrong: dict[str, str] = {}
    for planner, place in interrupted_everywhere(lambda: ArenaPlanner(BASE, CAPACITY, tight=tight), act):
        try:
            check(planner)
            fill(planner, 64)
            check(planner)
            check_whole(planner)
        except AssertionError as error:
            wrong[place] = str(error)

    assert wrong == {}
