"""Label files with magika's model, converted by ``atc``, in three ways, and compare them.

The model (2048 int32 features in, 214 content types out) is converted for batches of 8.
Then every file is labelled by aacl on two streams, by a pyACL-style script through acl,
and by the magika package itself. The three must agree for every file.

The exit status is 0 if they agree, 1 if they do not, 2 for a wrong command line.
"""

from __future__ import annotations

import argparse
import asyncio
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from time import perf_counter

from labelling import files, report, timeline
from labelling.labels import BATCH, Labeller
from labelling.legacy import label_by_acl
from labelling.native import label_natively
from labelling.outcome import Outcome, differences
from rich.console import Console

LIMIT = 100
WIDTH = 120
ABOUT = {
    "native": f"aacl: 2 streams, batches of {BATCH}",
    "acl": f"pyACL calls: 1 stream, batches of {BATCH}",
    "magika": "the package itself: one batch",
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return the exit status."""
    parser = _parser()
    options = parser.parse_args(arguments)
    console = Console()
    if not console.is_terminal:
        console = Console(width=WIDTH)
    paths = _chosen(parser, options, console)
    labeller = Labeller()
    om = _converted(labeller, options.output, console)
    outcomes = _label(labeller, om, paths, options.rounds)
    wrong = differences(paths, outcomes)
    report.show_files(console, paths, outcomes, wrong, options.folder)
    report.show_agreement(console, len(paths), wrong)
    report.show_timings(console, outcomes, ABOUT)
    _draw(options.output / "timeline.png", outcomes, console)
    return 1 if wrong else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter, prog="magika_demo.py"
    )
    parser.add_argument("--folder", type=Path, help="label the files below this folder; by default some of this "
                        "repository's, of the installed packages' and of the system's")  # fmt: skip
    parser.add_argument("--output", type=Path, default=Path("out"),
                        help="folder for the converted model and the picture (default: %(default)s)")  # fmt: skip
    parser.add_argument("--limit", type=_positive, default=LIMIT, help="at most so many files (default: %(default)s)")
    parser.add_argument("--rounds", type=_positive, default=3, help="how often each way runs (default: %(default)s)")
    return parser


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{number} is not positive")
    return number


def _chosen(parser: argparse.ArgumentParser, options: argparse.Namespace, console: Console) -> list[Path]:
    """Return the files to label, and say which were left out."""
    if options.folder is None:
        return files.mixed_files(options.limit)
    if not options.folder.is_dir():
        parser.error(f"--folder: there is no folder {options.folder}")
    paths = files.files_in(options.folder)
    if not paths:
        parser.error(f"--folder: no file below {options.folder} can be read")
    if len(paths) > options.limit:
        console.print(f"{len(paths)} files below {options.folder}; the first {options.limit} are labelled (--limit)")
    return paths[: options.limit]


def _converted(labeller: Labeller, folder: Path, console: Console) -> Path:
    """Convert the package's ONNX model with ``atc``, as a user does, and return the ``.om`` file."""
    atc = Path(sys.executable).with_name("atc")
    command = [
        str(atc) if atc.exists() else "atc", f"--model={labeller.model}", "--framework=5", f"--output={folder}/magika",
        f"--input_shape=bytes:{BATCH},{labeller.width}", "--soc_version=Ascend310P3",
    ]  # fmt: skip
    began = perf_counter()
    subprocess.run(command, check=True)
    om = folder / "magika.om"
    console.print(f"{labeller.model.name} → {om} ({om.stat().st_size / 2**20:.1f} MiB) in {perf_counter() - began:.1f} s",
                  highlight=False)  # fmt: skip
    return om


def _label(labeller: Labeller, om: Path, paths: Sequence[Path], rounds: int) -> list[Outcome]:
    native = asyncio.run(label_natively(labeller, om, paths, rounds))
    by_acl = label_by_acl(labeller, om, paths, rounds)
    return [native, by_acl, _label_by_magika(paths, rounds)]


def _label_by_magika(paths: Sequence[Path], rounds: int) -> Outcome:
    outcome, began = Outcome("magika"), perf_counter()
    reference = Labeller()
    outcome.ready = perf_counter() - began
    for _ in range(rounds):
        began = perf_counter()
        labels = reference.identify(paths)
        outcome.add(labels, perf_counter() - began)
    return outcome


def _draw(path: Path, outcomes: Sequence[Outcome], console: Console) -> None:
    timeline.draw(path, {ABOUT[outcome.name]: outcome.spans for outcome in outcomes if outcome.spans})
    console.print(f"timeline of the streams: {path.resolve()}", soft_wrap=True, highlight=False)


if __name__ == "__main__":
    sys.exit(main())
