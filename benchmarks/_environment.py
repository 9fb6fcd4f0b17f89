"""What the figures were measured on."""

from __future__ import annotations

import os
import platform
from datetime import UTC, datetime
from pathlib import Path

from benchmarks import _peers

__all__ = ("describe",)


def describe() -> dict[str, str]:
    """Return the machine, its load and the versions, for the head of the table and the JSON file."""
    cores, load = len(os.sched_getaffinity(0)), os.getloadavg()
    busy = "; others are at work here, which slows and scatters the figures" if load[0] > cores / 4 else ""
    return {
        "when": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": f"{_processor()}, {cores} cores, {platform.system()} {platform.machine()}",
        "load": f"{' '.join(f'{each:.2f}' for each in load)} (1, 5, 15 minutes){busy}",
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        **_peers.versions(),
    }


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or "unknown processor"
