"""Give damaged files to everything that reads files: ``.om``, ONNX, AIPP, operator and configuration files.

Usage: python -m tools.fuzz [CASES [SEED]]

Without numbers, 10,000 cases of seed 0, shared out over the kinds. Each finding is printed with the call that
makes its file again. The exit status is 1 if there is one.
"""

from __future__ import annotations

import sys
from time import perf_counter

from tests.helpers.fuzz import KINDS, fuzz

_CASES = 10_000
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
    return 1 if total else 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
