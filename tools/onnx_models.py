"""Write ``docs/onnx_models.md``: which ONNX node tests pass as models, through both faces.

Usage: python -m tools.onnx_models [OUTPUT.md]

The exit status is 1 if a case fails that the converter takes and ONNX Runtime passes; the page is written
all the same. The same runtime gives the same bytes.
"""

from __future__ import annotations

import sys
from pathlib import Path

from tests.helpers.onnx_models import Status, collect, report, run_cases

_OUTPUT = Path(__file__).parents[1] / "docs" / "onnx_models.md"


def main(arguments: list[str]) -> int:
    """Run the tool; return its exit status."""
    if len(arguments) > 1:
        print(__doc__, file=sys.stderr)
        return 2
    outcomes = run_cases(collect())
    output = Path(arguments[0]) if arguments else _OUTPUT
    output.write_text(report(outcomes), encoding="utf-8")
    failed = [outcome for outcome in outcomes if outcome.status is Status.FAILED]
    for outcome in failed:
        print(f"{outcome.name}: {outcome.reason}", file=sys.stderr)
    passed = sum(outcome.status is Status.PASSED for outcome in outcomes)
    print(f"{output}: {passed} of {len(outcomes)} cases pass")
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
