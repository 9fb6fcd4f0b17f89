import asyncio
import json
import math
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from benchmarks import _groups, _report
from benchmarks._groups import GROUPS
from benchmarks._harness import Samples, Spread, alternate, first_decile, percentile, timed
from benchmarks._result import Result, at_least, at_most, compared, failed, missing

SPREAD = Spread(2.0, 1.5, 3.0)

finite = st.floats(-1e6, 1e6)


def test_percentile_lies_between_neighbours() -> None:
    """A share that falls between two values is taken in proportion, and the order given does not matter."""
    assert percentile([4.0, 1.0, 2.0, 3.0], 0.5) == 2.5
    assert percentile([10.0, 0.0], 0.25) == 2.5
    assert (percentile([7.0], 0.0), percentile([7.0], 1.0)) == (7.0, 7.0)


def test_percentile_of_nothing_is_refused() -> None:
    """There is no percentile of no values."""
    with pytest.raises(ValueError, match="no values"):
        percentile([], 0.5)


@given(st.lists(finite, min_size=1), st.floats(0, 1))
def test_percentile_stays_within_the_values(values: list[float], share: float) -> None:
    """A percentile is never outside the values."""
    assert min(values) - 1e-6 <= percentile(values, share) <= max(values) + 1e-6


@given(st.lists(finite, min_size=1))
def test_spread_is_ordered(values: list[float]) -> None:
    """The quartiles lie on both sides of the median."""
    spread = Spread.of(values)

    assert spread.low <= spread.value <= spread.high


def test_first_decile_ignores_what_noise_adds() -> None:
    """Nine slow rounds in eleven do not move the first decile of the two fast ones."""
    assert first_decile([1.0, 1.0, *[50.0] * 9]) == 1.0


def test_ratios_are_taken_within_a_round() -> None:
    """A machine that is ten times slower in one round changes neither the ratio nor its quartiles."""
    samples = Samples({"ours": [2.0, 20.0, 2.0], "bare": [1.0, 10.0, 1.0]})

    assert samples.ratio("ours", "bare") == Spread(2.0, 2.0, 2.0)


def test_a_ratio_to_several_takes_the_fastest_of_each_round() -> None:
    """With two bare sides each round counts the faster one."""
    samples = Samples({"ours": [4.0, 4.0], "copyto": [2.0, 1.0], "memmove": [1.0, 2.0]})

    assert samples.ratio("ours", "copyto", "memmove") == Spread(4.0, 4.0, 4.0)
    assert samples.inverse_ratio("ours", "copyto", "memmove") == Spread(0.25, 0.25, 0.25)


def test_the_inverse_ratio_keeps_its_quartiles_in_order() -> None:
    """Turning a ratio round swaps its quartiles."""
    inverse = Samples({"ours": [1.0, 2.0, 4.0], "bare": [1.0, 1.0, 1.0]}).inverse_ratio("ours", "bare")

    assert inverse.low < inverse.value == 0.5 < inverse.high


def test_a_decile_difference_compares_the_fast_rounds() -> None:
    """The value is the difference of the two deciles, not a quantile of the differences."""
    samples = Samples({"ours": [3.0, 9.0, 3.0, 9.0], "bare": [1.0, 1.0, 8.0, 8.0]})

    assert samples.decile_difference("ours", "bare").value == 2.0


async def test_every_side_runs_once_a_round_and_takes_every_place() -> None:
    """Rounds turn the order, so that no side always follows the same one; warm-up rounds do not count."""
    order: list[str] = []

    def side(name: str) -> float:
        order.append(name)
        return float(len(order))

    samples = await alternate({name: lambda name=name: side(name) for name in "abc"}, 3, warm_up=1)  # type: ignore[misc]

    rounds = ["".join(order[start : start + 3]) for start in range(0, 12, 3)]
    assert rounds[1:] == ["abc", "bca", "cab"]
    assert samples.rounds == {"a": [4.0, 9.0, 11.0], "b": [5.0, 7.0, 12.0], "c": [6.0, 8.0, 10.0]}


async def test_sides_may_be_coroutines() -> None:
    """A side that awaits is awaited, and other tasks run meanwhile."""
    ran = asyncio.Event()
    other = asyncio.create_task(_set(ran))

    async def side() -> float:
        await ran.wait()
        return 1.0

    assert (await alternate({"side": side}, 1, warm_up=0)).rounds == {"side": [1.0]}
    await other


async def _set(event: asyncio.Event) -> None:
    event.set()


async def test_timed_divides_by_the_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """A timed function loops as often as asked, and its side gives the clock's seconds a step."""
    clock = iter([10.0, 18.0, 20.0, 24.0])
    monkeypatch.setattr("benchmarks._harness.perf_counter", lambda: next(clock))
    seen: list[None] = []

    blocking = timed(4)(seen.extend)

    @timed(2)
    async def waiting(steps: object) -> None:
        await asyncio.sleep(0)

    assert (blocking(), seen) == (2.0, [None] * 4)
    value = waiting()
    assert not isinstance(value, float)
    assert await value == 2.0


@pytest.mark.parametrize(
    ("result", "status"),
    [
        (at_most("a", SPREAD, 2.0), "met"),
        (at_most("a", SPREAD, 1.9), "missed"),
        (at_least("a", SPREAD, 2.0), "met"),
        (at_least("a", SPREAD, 2.1), "missed"),
        (at_least("a", SPREAD, 2.1, ceiling=2.2), "missed"),
        (at_least("a", SPREAD, 2.1, ceiling=2.05), "machine"),
        (at_most("a", Spread(math.nan, 0, 0), 2.0), "missed"),
        (compared("a", SPREAD), "compared"),
        (missing("a", "no torch here"), "missing"),
        (failed("a", "it broke"), "missed"),
    ],
)
def test_status_follows_the_bar(result: Result, status: str) -> None:
    """A bar that the machine itself cannot meet is told apart from one that is missed; a broken one is missed."""
    assert result.status == status


def test_only_missed_bars_are_failures() -> None:
    """What the machine forbids, a missing peer and a plain comparison do not fail the run."""
    results = [at_most("slow", SPREAD, 1.0), at_least("machine", SPREAD, 3.0, ceiling=2.5), missing("peer", "absent"),
               compared("beside", SPREAD), failed("broken", "why")]  # fmt: skip

    assert [result.name for result in _report.failures(results)] == ["slow", "broken"]


def test_the_file_holds_what_the_table_shows(tmp_path: Path) -> None:
    """The JSON file has the environment and every line with its figures and status; its folder is made."""
    path = tmp_path / "deep" / "results.json"

    _report.write(path, {"machine": "a"}, {"group": [at_least("fast", SPREAD, 1.8, detail="why", ceiling=1.9)]})

    document = json.loads(path.read_text(encoding="utf-8"))
    line = document["groups"]["group"][0]
    assert document["environment"] == {"machine": "a"}
    assert line["spread"] == {"value": 2.0, "low": 1.5, "high": 3.0}
    assert (line["name"], line["limit"], line["is_floor"], line["status"]) == ("fast", 1.8, True, "met")


def test_the_table_names_figures_bars_and_what_is_missing() -> None:
    """A line shows its value, its bar and whether it is met; a missing peer is named with the reason."""
    console = Console(width=160, record=True, file=None, force_terminal=False, quiet=False, no_color=True)
    groups = {"group": [at_most("slow", SPREAD, 1.5), missing("peer", "torch is not installed")]}

    with console.capture() as captured:
        _report.show(console, {"machine": "this one"}, groups)

    text = captured.get()
    for part in ("this one", "slow", "2.00", "1.50 … 3.00", "≤ 1.5", "MISSED", "torch is not installed",
                 "0 bars met, 1 missed, 0 that this machine cannot meet, 1 not measured"):  # fmt: skip
        assert part in text


def test_every_group_is_a_module_that_measures() -> None:
    """The command line's groups are the modules of the package that are not private."""
    folder = Path(_report.__file__).parent

    assert sorted(GROUPS) == sorted(path.stem for path in folder.glob("*.py") if not path.stem.startswith("_"))


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("raise RuntimeError('no such device')", "RuntimeError: no such device"),
        ("import os; os._exit(3)", "its process ended with status 3"),
        ("import threading; threading.Event().wait()", "it was not over after 2 s"),
    ],
)
def test_a_group_that_breaks_is_one_missed_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, body: str, words: str
) -> None:
    """A group that raises, dies or hangs is told in a line that counts as missed, and leaves no process behind."""
    (tmp_path / "broken.py").write_text(f"def measure():\n    {body}\n", encoding="utf-8")
    package = f"import benchmarks; benchmarks.__path__.append({str(tmp_path)!r})\n"
    (tmp_path / "sitecustomize.py").write_text(package, encoding="utf-8")
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path}:{Path(_report.__file__).parents[1]}")
    monkeypatch.setitem(GROUPS, "broken", "a broken group")
    monkeypatch.setattr(_groups, "LIMIT_SECONDS", 2 if "wait" in body else 15)

    (line,) = _groups.run("broken")

    assert (line.name, line.status) == ("a broken group", "missed")
    assert words in line.detail
