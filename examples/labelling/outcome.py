"""What one way of labelling gave, and whether the ways agree."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

import attrs

if TYPE_CHECKING:
    from labelling.labels import Label
    from labelling.timeline import Span

__all__ = ("Outcome", "differences")

TOLERANCE = 1e-4
"""Scores may differ by this much: the ways cut the files into batches differently, and rounding follows the batch."""


@attrs.define
class Outcome:
    """What one way gave.

    Attributes:
        name: of the way.
        ready: seconds until it could label.
        labels: of every file, one list a round.
        seconds: of each round.
        spans: what the streams did in the latest round.
    """

    name: str
    ready: float = 0.0
    labels: list[list[Label]] = attrs.field(factory=list)
    seconds: list[float] = attrs.field(factory=list)
    spans: Sequence[Span] = ()

    def add(self, labels: list[Label], seconds: float, spans: Sequence[Span] = ()) -> None:
        """Take in a round."""
        self.labels.append(labels)
        self.seconds.append(seconds)
        self.spans = spans

    @property
    def typical_seconds(self) -> float:
        """The median round."""
        return median(self.seconds)


def differences(paths: Sequence[Path], outcomes: Sequence[Outcome]) -> dict[Path, str]:
    """Return, for every file on which the ways or their rounds do not agree, who said what."""
    rounds = [(outcome.name, labels) for outcome in outcomes for labels in outcome.labels]
    for name, labels in rounds:
        if len(labels) != len(paths):
            raise ValueError(f"{name} gave {len(labels)} labels for {len(paths)} files")
    said = {path: [(name, labels[place]) for name, labels in rounds] for place, path in enumerate(paths)}
    return {path: _words(given) for path, given in said.items() if not _agree([label for _, label in given])}


def _agree(labels: Sequence[Label]) -> bool:
    scores = [label.score for label in labels]
    same = len({(label.name, label.detected) for label in labels}) == 1
    return same and max(scores) - min(scores) <= TOLERANCE  # False for NaN, too


def _words(given: Sequence[tuple[str, Label]]) -> str:
    said = dict.fromkeys(f"{name}: {label.name} {label.score:.6f}" for name, label in given)
    return ", ".join(said)
