"""The page of figures, made from outcomes."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence

from tests.helpers.onnx_nodes._outcome import Outcome, Status

__all__ = ("report",)

_MOST_ROUTES = 7
"""How many routes of one operator are told apart."""


def report(total: int, outcomes: Sequence[Outcome]) -> str:
    """Return the page, in Markdown; the same outcomes give the same text.

    Args:
        total: how many cases there are, those of several nodes among them.
        outcomes: of the cases with one node.
    """
    return "\n".join([*_head(total, outcomes), *_table(outcomes), *_reasons(outcomes), *_failures(outcomes)]) + "\n"


def _head(total: int, outcomes: Sequence[Outcome]) -> list[str]:
    counts = Counter(outcome.status for outcome in outcomes)
    mapped = len(outcomes) - counts[Status.UNMAPPED]
    run = counts[Status.PASSED] + counts[Status.FAILED]
    return [
        "# ONNX node tests through Ascend operators",
        "",
        "The `onnx` package makes test cases for every operator of its specification. Those of one node are run here",
        "through the operators that a converter would put in the node's place, and their outputs are compared with",
        "the expected ones: whole numbers exactly, others within the case's own tolerance (1e-3 relative) or four",
        "units in the last place of the coarsest type on the way, whichever is more. Cases of several nodes are the",
        "same ones written with other ONNX operators, and are not counted. `make docs` makes this page; a test holds",
        "it to what the tests find.",
        "",
        "| cases | |",
        "|---|---:|",
        f"| made by the package | {total} |",
        f"| of one node | {len(outcomes)} |",
        f"| of mapped ONNX operators | {mapped} |",
        f"| run | {run} |",
        f"| **passed** | **{counts[Status.PASSED]}** |",
        f"| failed | {counts[Status.FAILED]} |",
        f"| refused by the mapping | {counts[Status.REFUSED]} |",
        f"| of ONNX operators without a mapping | {counts[Status.UNMAPPED]} |",
        "",
    ]


def _table(outcomes: Iterable[Outcome]) -> list[str]:
    by_type: dict[str, list[Outcome]] = defaultdict(list)
    for outcome in outcomes:
        by_type[outcome.op_type].append(outcome)
    return [
        "## By ONNX operator",
        "",
        "A route lists the operators that a case ran, each once; routes of different cases are apart. Where there",
        f"are more than {_MOST_ROUTES}, the operators stand by name.",
        "",
        "| ONNX operator | route | cases | run | passed | refused |",
        "|---|---|---:|---:|---:|---:|",
        *(_row(onnx_type, by_type[onnx_type]) for onnx_type in sorted(by_type)),
        "",
    ]


def _row(onnx_type: str, outcomes: Sequence[Outcome]) -> str:
    counts = Counter(outcome.status for outcome in outcomes)
    run = counts[Status.PASSED] + counts[Status.FAILED]
    refused = counts[Status.REFUSED] + counts[Status.UNMAPPED]
    return f"| {onnx_type} | {_routes(outcomes)} | {len(outcomes)} | {run} | {counts[Status.PASSED]} | {refused} |"


def _routes(outcomes: Iterable[Outcome]) -> str:
    routes = sorted({outcome.route for outcome in outcomes if outcome.route}, key=lambda route: (len(route), route))
    if len(routes) <= _MOST_ROUTES:
        return " \\| ".join(routes) or "-"
    return "some of " + ", ".join(sorted({operator for route in routes for operator in route.split("+")}))


def _reasons(outcomes: Iterable[Outcome]) -> list[str]:
    cases: dict[str, Counter[str]] = defaultdict(Counter)
    for outcome in outcomes:
        if outcome.status in (Status.REFUSED, Status.UNMAPPED):
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


def _failures(outcomes: Iterable[Outcome]) -> list[str]:
    failed = [outcome for outcome in outcomes if outcome.status is Status.FAILED]
    if not failed:
        return []
    rows = [f"| {each.name} | {each.route} |" for each in sorted(failed, key=lambda each: each.name)]
    return ["## Cases that fail", "", "| case | route |", "|---|---|", *rows, ""]
