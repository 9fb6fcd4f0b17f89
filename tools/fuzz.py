"""Give damaged files to everything that reads files, and any arguments to every call of the drop-in.

Usage: python -m tools.fuzz [CASES [SEED]]

Files are ``.om``, ONNX, AIPP, operator and configuration files. Without numbers, 10,000 cases of seed 0, shared out
over the kinds; and 20 calls for each case, in thousands: 200,000. Each finding is printed with the call that makes its
file, or its thousand calls, again. The exit status is 1 if there is one.
"""

from __future__ import annotations

import sys
from time import perf_counter

from tests.helpers.fuzz import KINDS, Finding, fuzz, fuzz_calls

_CASES = 10_000
_CALLS = 20  # for each case
_SHARES = {"om": 0.4, "onnx": 0.25, "aipp": 0.1, "operators": 0.15, "configuration": 0.1}


def main(arguments: list[str]) -> int:
    """Run the tool; return its exit status."""
    if len(arguments) > 2 or not all(argument.isdecimal() for argument in arguments):
        print(__doc__, file=sys.stderr)
        return 2
    cases, seed = int(arguments[0]) if arguments else _CASES, arguments[1] if len(arguments) > 1 else "0"
    total = 0
    for kind in KINDS:
        count, began = max(1, round(cases * _SHARES[kind])), perf_counter()
        findings = fuzz(kind, count, seed)
        total += len(findings)
        print(f"{kind}: {count} cases, {len(findings)} findings, {perf_counter() - began:.0f} s", flush=True)
        for finding in findings:
            print(f"  mutated(corpus({kind!r}), '{kind}:{seed}:{finding.number}'): {finding.fault}", flush=True)
    return 1 if _make_calls(max(1, cases * _CALLS // 1000), seed) or total else 0


def _make_calls(thousands: int, seed: str) -> list[Finding]:
    began = perf_counter()
    findings = fuzz_calls(thousands, seed)
    print(f"calls: {thousands},000, {len(findings)} findings, {perf_counter() - began:.0f} s", flush=True)
    for finding in findings:
        print(f"  fuzz_calls(1, {seed!r}, first={finding.number}): {finding.fault}", flush=True)
    return findings


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
