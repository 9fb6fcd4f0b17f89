import gzip
import os
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
DEMO = EXAMPLES / "magika_demo.py"

pytest.importorskip("magika", reason="the demo's own dependencies, the extra 'demo', are not installed")

_LYING = """
import sys
sys.path.insert(0, sys.argv.pop(1))
import attrs, magika_demo
from labelling.labels import Labeller
honest = Labeller.identify
def identify(self, paths):
    first, *others = honest(self, paths)
    return [attrs.evolve(first, {change}), *others]
Labeller.identify = identify
sys.exit(magika_demo.main())
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Ten files of several kinds: a batch of eight and a remainder; one is empty and one too short for the model."""
    path = tmp_path / "files"
    (path / "deep").mkdir(parents=True)
    source = DEMO.read_text(encoding="utf-8")
    for number in range(5):
        (path / f"program{number}.py").write_text(source[number * 40 :], encoding="utf-8")
    (path / "deep" / "packed.gz").write_bytes(gzip.compress(source.encode()))
    (path / "deep" / "page.html").write_text(f"<html><body>{'<p>text</p>' * 40}</body></html>\n", encoding="utf-8")
    (path / "deep" / "interpreter").write_bytes(Path(sys.executable).read_bytes()[: 1 << 16])
    (path / "empty.txt").touch()
    (path / "tiny.txt").write_text("abc", encoding="utf-8")
    return path


def run(*arguments: str | Path, program: str | None = None) -> subprocess.CompletedProcess[str]:
    command = [str(DEMO)] if program is None else ["-c", program, str(EXAMPLES)]
    environment = {name: value for name, value in os.environ.items() if name != "COLUMNS"}
    return subprocess.run(
        [sys.executable, *command, *map(str, arguments)], capture_output=True, text=True, env=environment, check=False
    )


def test_the_three_ways_agree_on_a_folder(folder: Path, tmp_path: Path) -> None:
    """Every file gets one label three times; the timings, the picture's path and the picture itself are there."""
    output = tmp_path / "made" / "here"

    done = run("--folder", folder, "--output", output, "--rounds", "1")

    assert done.returncode == 0, done.stdout + done.stderr
    rows = {row.split("│")[1].strip(): row for row in done.stdout.splitlines() if row.startswith("│")}
    labels = {name: row.split("│")[2].strip() for name, row in rows.items()}
    assert labels["program0.py"] == labels["program4.py"] == "python"
    assert labels["deep/packed.gz"] == "gzip"
    assert labels["deep/page.html"] == "html"
    assert labels["empty.txt"] == "empty"
    assert labels["tiny.txt"] == "txt"
    assert sum(row.count("✓") for row in rows.values()) == 10
    assert "The three ways agree on all 10 files." in done.stdout
    assert all(way in rows for way in ("native", "acl", "magika"))
    picture = output / "timeline.png"
    assert str(picture) in done.stdout
    assert picture.read_bytes().startswith(b"\x89PNG\r\n\x1a\n")
    assert (output / "magika.om").stat().st_size > 1 << 20
    assert done.stderr == ""


@pytest.mark.parametrize("change", ["name='wrong'", "score=first.score - 0.01", "detected='wrong'"])
def test_a_way_that_disagrees_is_told(folder: Path, tmp_path: Path, change: str) -> None:
    """One file that one way labels or scores otherwise makes the status 1, and the file is named with what each said."""
    done = run("--folder", folder, "--output", tmp_path, "--rounds", "1", program=_LYING.format(change=change))

    assert done.returncode == 1, done.stdout + done.stderr
    assert "The three ways do not agree on 1 of 10 files:" in done.stdout
    told = next(line for line in done.stdout.splitlines() if "deep/interpreter: " in line)
    assert "native: elf" in told
    assert "magika: " in told


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--folder", "{tmp}/absent"), "there is no folder"),
        (("--folder", "{tmp}"), "no file below"),
        (("--limit", "0"), "0 is not positive"),
    ],
)
def test_a_wrong_command_line_says_what_is_wrong(tmp_path: Path, arguments: tuple[str, ...], words: str) -> None:
    """The status is 2, and nothing is converted."""
    done = run(*[argument.format(tmp=tmp_path) for argument in arguments], "--output", tmp_path)

    assert done.returncode == 2
    assert words in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_files_beyond_the_limit_are_counted(folder: Path, tmp_path: Path) -> None:
    """A limit takes the first files of the sorted folder, and says how many there are."""
    done = run("--folder", folder, "--output", tmp_path, "--rounds", "1", "--limit", "3")

    assert done.returncode == 0, done.stdout + done.stderr
    assert f"10 files below {folder}; the first 3 are labelled (--limit)" in done.stdout.replace("\n", " ")
    assert "agree on all 3 files" in done.stdout


def test_help_tells_the_options() -> None:
    """The help names the options and the exit status."""
    done = run("--help")

    assert done.returncode == 0
    assert all(word in done.stdout for word in ("--folder", "--output", "--limit", "--rounds", "exit status"))
