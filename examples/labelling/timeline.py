"""When the streams did what, as a picture."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import attrs

__all__ = ("Span", "draw")

COLOURS = {"read": "#9ecae1", "copy in": "#31a354", "model": "#e6550d", "copy out": "#756bb1"}


@attrs.frozen
class Span:
    """Something that a stream did.

    Attributes:
        stream: the name of its row.
        kind: what was done, a key of `COLOURS`.
        batch: its number.
        begin: seconds.
        end: seconds.
    """

    stream: str
    kind: str
    batch: int
    begin: float
    end: float


def draw(path: Path, parts: Mapping[str, Sequence[Span]]) -> None:
    """Draw one panel a part, all on one scale, each starting at 0, and write the picture as PNG."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt
    from matplotlib.patches import Patch

    rows = {title: sorted({span.stream for span in spans}) for title, spans in parts.items()}
    heights = [len(names) + 0.6 for names in rows.values()]
    figure, panels = plt.subplots(
        len(parts), figsize=(13, 1.4 + 0.75 * sum(heights)), sharex=True, squeeze=False,
        gridspec_kw={"height_ratios": heights}, layout="constrained",
    )  # fmt: skip
    for panel, (title, spans) in zip(panels.flat, parts.items(), strict=True):
        _draw_panel(panel, title, rows[title], spans)
    panels.flat[-1].set_xlabel("milliseconds")
    handles = [Patch(color=colour, label=kind) for kind, colour in COLOURS.items()]
    figure.legend(handles=handles, loc="outside upper right", ncols=len(handles), frameon=False)
    figure.savefig(path, dpi=110)
    plt.close(figure)


def _draw_panel(panel: object, title: str, rows: Sequence[str], spans: Sequence[Span]) -> None:
    from matplotlib.axes import Axes

    assert isinstance(panel, Axes)
    start = min(span.begin for span in spans)
    for span in spans:
        begin, width, row = (span.begin - start) * 1e3, (span.end - span.begin) * 1e3, rows.index(span.stream)
        panel.broken_barh([(begin, width)], (row - 0.4, 0.8), facecolors=COLOURS[span.kind])
        if span.kind == "model":
            panel.text(begin + width / 2, row, str(span.batch), ha="center", va="center", fontsize=8)
    panel.set_yticks(range(len(rows)), rows)
    panel.set_ylim(len(rows) - 0.5, -0.5)
    panel.set_title(title, loc="left", fontsize=10)
    panel.grid(axis="x", alpha=0.3)
    panel.set_axisbelow(True)
