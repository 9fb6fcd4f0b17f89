"""The page of figures, made from outcomes."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence

from tests.helpers.onnx_models._outcome import Outcome, Status

__all__ = ("report",)


def report(outcomes: Sequence[Outcome]) -> str:
    """Return the page, in Markdown; the same outcomes give the same text."""
    parts = [_head(outcomes), _reasons(outcomes), _differing(outcomes), _failures(outcomes), _table(outcomes)]
    return "\n".join(line for part in parts for line in part)


def _head(outcomes: Sequence[Outcome]) -> list[str]:
    counts = Counter(outcome.status for outcome in outcomes)
    return [
        "# ONNX node tests as models",
        "",
        "The `onnx` package makes test cases for every operator of its specification, each a small model with inputs",
        "and expected outputs. Here every one is converted as `atc` does without any option, loaded, and run by",
        "`await model.infer` and by `acl.mdl.execute`. It passes if both give the expected outputs: whole numbers",
        "exactly, others within the case's own tolerance (1e-3 relative) or four units in the last place, whichever",
        "is more. `make docs` makes this page; a test holds it to what the tests find.",
        "",
        "| cases | |",
        "|---|---:|",
        f"| made by the package | {len(outcomes)} |",
        f"| **passed** | **{counts[Status.PASSED]}** |",
        f"| refused by the converter | {counts[Status.REFUSED]} |",
        f"| in which ONNX Runtime itself differs from the specification | {counts[Status.DIFFERS]} |",
        f"| failed | {counts[Status.FAILED]} |",
        "",
    ]


def _reasons(outcomes: Iterable[Outcome]) -> list[str]:
    cases: dict[str, Counter[str]] = defaultdict(Counter)
    for outcome in outcomes:
        if outcome.status is Status.REFUSED:
            cases[outcome.reason][outcome.op_type] += 1
    rows = sorted(cases.items(), key=lambda item: (-item[1].total(), item[0]))
    return [
        "## Why cases are refused",
        "",
        "| reason | ONNX operators | cases |",
        "|---|---|---:|",
        *(f"| {reason} | {', '.join(sorted(types))} | {types.total()} |" for reason, types in rows),
        "",
    ]


def _differing(outcomes: Iterable[Outcome]) -> list[str]:
    return _named("## Where ONNX Runtime differs", outcomes, Status.DIFFERS)


def _failures(outcomes: Iterable[Outcome]) -> list[str]:
    return _named("## Cases that fail", outcomes, Status.FAILED)


def _named(title: str, outcomes: Iterable[Outcome], status: Status) -> list[str]:
    some = sorted((outcome for outcome in outcomes if outcome.status is status), key=lambda outcome: outcome.name)
    if not some:
        return []
    return [
        title,
        "",
        "| case | reason |",
        "|---|---|",
        *(f"| {each.name} | {_line(each.reason)} |" for each in some),
        "",
    ]


def _line(text: str) -> str:
    return " ".join(text.replace("|", "\\|").split())


def _table(outcomes: Iterable[Outcome]) -> list[str]:
    by_type: dict[str, Counter[Status]] = defaultdict(Counter)
    for outcome in outcomes:
        by_type[outcome.op_type][outcome.status] += 1
    return [
        "## By ONNX operator",
        "",
        "Cases that write an operator with others are counted with it.",
        "",
        "| ONNX operator | cases | passed | refused | ONNX Runtime differs | failed |",
        "|---|---:|---:|---:|---:|---:|",
        *(_row(onnx_type, by_type[onnx_type]) for onnx_type in sorted(by_type)),
        "",
    ]


def _row(onnx_type: str, counts: Counter[Status]) -> str:
    parts = (Status.PASSED, Status.REFUSED, Status.DIFFERS, Status.FAILED)
    return f"| {onnx_type} | {counts.total()} | {' | '.join(str(counts[part]) for part in parts)} |"
