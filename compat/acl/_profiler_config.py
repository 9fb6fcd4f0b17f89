"""The ``profiler`` section of a configuration. Pure, but for a look at the folder."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from acl._status import INVALID_PROFILING_CONFIG, Refused

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ("profiler_folder",)


def profiler_folder(document: Mapping[str, Any], path: str) -> Path | None:
    """Return where profiles are written, None if the section does not switch them on.

    Keys that steer hardware (``aic_metrics``, ``l2``, ``sys_hardware_mem_freq``, ...) make no difference here.
    Source: the page of ``acl.init``.

    Raises:
        Refused: a value is wrong, or the folder cannot be written (100010).
    """
    section = document.get("profiler")
    if section is None:
        return None
    if not isinstance(section, dict):
        raise Refused(INVALID_PROFILING_CONFIG, f"{path!r}: profiler must be an object, not {section!r}")
    switch, output = section.get("switch", "off"), section.get("output", "")
    if switch not in ("on", "off"):
        raise Refused(INVALID_PROFILING_CONFIG, f"{path!r}: profiler switch is {switch!r}; it must be on or off")
    if not isinstance(output, str) or "\0" in output:
        raise Refused(INVALID_PROFILING_CONFIG, f"{path!r}: profiler output is {output!r}; it must be a folder's path")
    if switch == "off":
        return None
    folder = Path(output or ".").absolute()
    if not folder.is_dir() or not os.access(folder, os.W_OK | os.X_OK):
        raise Refused(
            INVALID_PROFILING_CONFIG,
            f"{path!r}: profiler output {output!r} is no folder that can be written; make it first",
        )
    return folder
