"""The `aacl` command, run as a user runs it."""

from __future__ import annotations

import json
import os
import pty
import re
import signal
import subprocess
import sys
import sysconfig
import time
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TypeAlias

import pytest

from aacl.cli import _words, run
from aacl.cli.main import main

Finished: TypeAlias = "subprocess.CompletedProcess[str]"
Command: TypeAlias = "Callable[..., Finished]"

COMMAND = Path(sysconfig.get_path("scripts")) / "aacl"
NOTHING = "aacl run: nothing left open\n"


@pytest.fixture
def aacl(tmp_path: Path) -> Command:
    """Runs `aacl` with some words in a folder of the test's own."""

    def call(*words: str, **environment: str) -> Finished:
        return subprocess.run(
            [str(COMMAND), *words],
            cwd=tmp_path,
            env={**os.environ, **environment},
            capture_output=True,
            text=True,
            check=False,
        )

    return call


@pytest.fixture
def python(tmp_path: Path) -> Command:
    """Runs the Python interpreter the same way, to compare with."""

    def call(*words: str) -> Finished:
        return subprocess.run([sys.executable, *words], cwd=tmp_path, capture_output=True, text=True, check=False)

    return call


# --help, --version, usage


@pytest.mark.parametrize(("words", "expected"), [(["--version"], "aacl 0.1.0\n"), (["--help"], "usage: aacl")])
def test_help_and_version_answer_at_once(aacl: Command, words: list[str], expected: str) -> None:
    """They print to stdout within 0.3 s (the best of five runs: the machine may be busy)."""
    seconds = []
    for _ in range(5):
        start = time.perf_counter()
        finished = aacl(*words)
        seconds.append(time.perf_counter() - start)

        assert (finished.returncode, finished.stderr) == (0, "")
        assert finished.stdout.startswith(expected)

    assert min(seconds) < 0.3


def test_help_names_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    """--help lists info and run."""
    with pytest.raises(SystemExit, match="0"):
        main(["--help"])

    assert re.findall(r"^    (\w+)  ", capsys.readouterr().out, re.MULTILINE) == ["info", "run"]


def test_help_names_every_variable(capsys: pytest.CaptureFixture[str]) -> None:
    """What the sources read from the environment is named by --help and by the README."""
    with pytest.raises(SystemExit):
        main(["--help"])
    shown = " ".join(capsys.readouterr().out.split())
    root = Path(__file__).parents[2]
    sources = "".join(path.read_text() for room in ("aacl", "compat") for path in (root / room).rglob("*.py"))
    names = set(re.findall(r"""[("'](AACL_[A-Z_]+)["']""", sources))

    assert len(names) == 8
    assert names == set(re.findall(r"AACL_[A-Z_]+", shown))
    assert names == set(re.findall(r"^\| `(AACL_[A-Z_]+)` \|", (root / "README.md").read_text(), re.MULTILINE))
    theirs = set(re.findall(r"""[("'](ASCEND_[A-Z_]+)["']""", sources))
    assert theirs
    assert theirs == set(re.findall(r"ASCEND_[A-Z_]+", shown))
    assert theirs == set(re.findall(r"^\| `(ASCEND_[A-Z_]+)` \|", (root / "README.md").read_text(), re.MULTILINE))


def test_help_imports_nothing_heavy(python: Command) -> None:
    """The command's own module brings neither a loop nor the packages that models and tables need."""
    code = "import sys, aacl.cli.main; print(*{'asyncio', 'onnx', 'onnxruntime', 'rich'} & sys.modules.keys())"

    finished = python("-c", code)

    assert (finished.returncode, finished.stdout, finished.stderr) == (0, "\n", "")


@pytest.mark.parametrize("words", [[], ["--nonsense"], ["nonsense"], ["info", "more"], ["--vers"]])
def test_words_that_make_no_command_are_refused(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """They end with status 2 and a usage line on stderr."""
    with pytest.raises(SystemExit, match="2"):
        main(words)

    assert capsys.readouterr().err.startswith("usage: aacl")


# aacl info


def test_info_is_plain_text_in_a_pipe(aacl: Command) -> None:
    """It tells versions and one line a device, in columns, without colours or frames."""
    finished = aacl("info")

    assert (finished.returncode, finished.stderr) == (0, "")
    versions, devices = finished.stdout.split("\n\n")
    assert [line.split()[0] for line in versions.splitlines()] == ["python", "aacl", "numpy", "onnx", "onnxruntime"]
    assert devices.splitlines()[0].split() == ["device", "backend", "name", "SoC", "cores", "memory"]
    first = devices.splitlines()[1]
    assert first.startswith("0       cpu ")
    assert re.search(rf" {len(os.sched_getaffinity(0))} +[\d.]+ [GM]iB$", first)
    assert finished.stdout.isascii()


def test_info_is_a_table_on_a_terminal() -> None:
    """On a terminal the same facts stand in frames."""
    master, slave = pty.openpty()
    process = subprocess.Popen(
        [str(COMMAND), "info"], stdout=slave, env={**os.environ, "TERM": "xterm", "COLUMNS": "120"}
    )
    os.close(slave)
    shown = b""
    try:
        while chunk := os.read(master, 65536):
            shown += chunk
    except OSError:  # how Linux says that the other end closed
        pass
    os.close(master)

    assert process.wait() == 0
    assert "│" in shown.decode()
    assert "onnxruntime" in shown.decode()


def test_info_says_why_the_devices_cannot_be_asked(aacl: Command) -> None:
    """A backend that does not exist is an error in one line, with status 1, and nothing on stdout."""
    finished = aacl("info", AACL_BACKEND="nowhere")

    assert (finished.returncode, finished.stdout) == (1, "")
    assert finished.stderr.startswith("aacl info: the devices cannot be asked: there is no backend 'nowhere'")
    assert finished.stderr.count("\n") == 1


# aacl run


FACTS = """
import json, sys
print(json.dumps([__name__, globals().get("__file__"), sys.argv, sys.path[0], __builtins__.__name__, __spec__ is None]))
"""


@pytest.mark.parametrize(
    "words", [["script.py", "a", "--help", "-m"], ["folder/script.py"], ["link.py"], ["-c", FACTS, "x"]]
)
def test_the_program_sees_what_python_shows_it(
    aacl: Command, python: Command, tmp_path: Path, words: list[str]
) -> None:
    """Name, file, arguments and the first entry of the path are those of a run by Python itself."""
    (tmp_path / "folder").mkdir()
    for path in (tmp_path / "script.py", tmp_path / "folder" / "script.py"):
        path.write_text(FACTS)
    (tmp_path / "link.py").symlink_to("folder/script.py")

    ours, theirs = aacl("run", *words), python(*words)

    assert (theirs.returncode, theirs.stderr) == (0, "")
    assert (ours.returncode, ours.stdout, ours.stderr) == (0, theirs.stdout, NOTHING)


@pytest.mark.parametrize(
    "words", [["-m", "package.tool", "a", "-x"], ["-m", "folder"], ["folder"], ["program.zip", "a"]]
)
def test_modules_folders_and_zip_files_run(aacl: Command, python: Command, tmp_path: Path, words: list[str]) -> None:
    """What Python runs by name, from a folder or from an archive runs the same way."""
    for folder, name in (("package", "tool.py"), ("folder", "__main__.py")):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / name).write_text(
            "import sys; print(__name__, __package__, __spec__.name, __file__, sys.argv, sys.path[0])"
        )
    with zipfile.ZipFile(tmp_path / "program.zip", "w") as archive:
        archive.write(tmp_path / "folder" / "__main__.py", "__main__.py")

    ours, theirs = aacl("run", *words), python(*words)

    assert (theirs.returncode, theirs.stderr) == (0, "")
    assert (ours.returncode, ours.stdout, ours.stderr) == (0, theirs.stdout, NOTHING)


def test_acl_is_ours_whatever_the_path_says(aacl: Command, tmp_path: Path) -> None:
    """Neither PYTHONPATH nor the script's own folder brings another acl in."""
    for folder in (tmp_path / "other" / "acl", tmp_path / "acl"):
        folder.mkdir(parents=True)
        (folder / "__init__.py").write_text("raise RuntimeError('the wrong acl')")
    (tmp_path / "script.py").write_text("import acl, aacl; print(acl.__file__)")

    finished = aacl("run", "script.py", PYTHONPATH=str(tmp_path / "other"))

    assert (finished.returncode, finished.stderr) == (0, NOTHING)
    assert finished.stdout == f"{run._acl_folder()}/__init__.py\n"


@pytest.mark.parametrize(
    ("code", "status", "text"),
    [
        ("pass", 0, ""),
        ("raise SystemExit", 0, ""),
        ("import sys; sys.exit(7)", 7, ""),
        ("import sys; sys.exit(True)", 1, ""),
        ("import sys; sys.exit('the text')", 1, "the text\n"),
        ("import sys; sys.exit((1, 2))", 1, "(1, 2)\n"),
    ],
)
def test_the_exit_status_is_the_programs(aacl: Command, code: str, status: int, text: str) -> None:
    """Its end by SystemExit is passed through: nothing, a number, or a text on stderr."""
    finished = aacl("run", "-c", code)

    assert (finished.returncode, finished.stdout, finished.stderr) == (status, "", text + NOTHING)


@pytest.mark.parametrize(
    "source",
    [
        "def f():\n    raise ValueError('boom')\nf()\n",
        "def f(:\n",
        "try:\n    1 / 0\nexcept ZeroDivisionError as error:\n    raise KeyError('x') from error\n",
        "import sys\nsys.excepthook = lambda kind, error, traceback: print('hook', error, traceback.tb_lineno)\n1 / 0\n",
        "raise ExceptionGroup('two', [ValueError(1), TypeError(2)])\n",
        "import asyncio\nraise asyncio.CancelledError\n",
        "raise BaseException('base')\n",
    ],
    ids=["function", "syntax", "cause", "hook", "group", "cancelled", "base"],
)
def test_tracebacks_show_the_programs_frames_only(aacl: Command, python: Command, tmp_path: Path, source: str) -> None:
    """A failing script prints, letter by letter, what Python prints for it, and ends with 1."""
    (tmp_path / "script.py").write_text(source)

    ours, theirs = aacl("run", "script.py"), python("script.py")

    assert theirs.returncode == 1
    assert (ours.returncode, ours.stdout, ours.stderr) == (1, theirs.stdout, theirs.stderr + NOTHING)


def test_an_interrupt_ends_with_130(tmp_path: Path) -> None:
    """Ctrl-C ends the program as it ends Python programs: a traceback, and the status of SIGINT."""
    code = "import signal; print('ready', flush=True); signal.pause()"
    command = [str(COMMAND), "run", "-c", code]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=tmp_path) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate()

    assert process.returncode == 130
    assert errors.endswith(f"KeyboardInterrupt\n{NOTHING}")
    assert "cli/run.py" not in errors


def test_the_main_module_outlives_the_script(aacl: Command, tmp_path: Path) -> None:
    """Threads and exit functions find the script's names, and the report comes after both."""
    (tmp_path / "script.py").write_text(
        "import atexit, pickle, sys, threading\n"
        "class Thing: pass\n"
        "go = threading.Event()\n"
        "def late():\n"
        "    go.wait()\n"
        "    print(type(pickle.loads(pickle.dumps(Thing()))).__name__, file=sys.stderr)\n"
        "threading.Thread(target=late).start()\n"
        "atexit.register(lambda: print('exit', Thing.__name__, file=sys.stderr))\n"
        "threading.Thread(target=lambda: (threading.main_thread().join(), go.set())).start()\n"
    )

    assert aacl("run", "script.py").stderr == f"Thing\nexit Thing\n{NOTHING}"


def test_what_the_program_left_open_is_told(aacl: Command, tmp_path: Path) -> None:
    """Its last line names each kind with its count; the exit status stays the program's."""
    (tmp_path / "script.py").write_text(
        "import asyncio, sys, aacl\n"
        "async def main():\n"
        "    device = await aacl.Device(0).open()\n"
        "    for _ in range(2):\n"
        "        await aacl.Stream(await aacl.Context(device).open()).open()\n"
        "asyncio.run(main())\n"
        "sys.exit(3)\n"
    )

    finished = aacl("run", "script.py")

    last = finished.stderr.splitlines()[-1]
    assert finished.returncode == 3
    assert last.startswith("aacl run: left open: ")
    assert {"1 device", "2 streams"} <= set(last.removeprefix("aacl run: left open: ").split(", "))


@pytest.mark.parametrize(
    ("counts", "text"),
    [
        ({}, "nothing left open"),
        ({"device": 0}, "nothing left open"),
        (
            {"device": 1, "stream": 2, "buffer": 3, "buffer bytes": 1536},
            "left open: 1 device, 2 streams, 3 buffers (1.5 KiB)",
        ),
    ],
)
def test_left_open_is_put_in_words(counts: Mapping[str, int], text: str) -> None:
    """Counts become words, sizes stand behind what they are of."""
    assert run._left_open(counts) == text


@pytest.mark.parametrize(
    ("words", "status", "error"),
    [
        ([], 2, "usage: aacl run"),
        (["-x", "script.py"], 2, "unknown option '-x'"),
        (["-m"], 2, "-m needs a value"),
        (["nofile.py"], 2, "can't open file '{folder}/nofile.py': No such file or directory"),
        (["-m", "nomodule"], 1, "No module named nomodule"),
    ],
)
def test_run_says_what_it_cannot_run(aacl: Command, tmp_path: Path, words: list[str], status: int, error: str) -> None:
    """A wrong use ends with 2 and a sentence, without a traceback of ours."""
    finished = aacl("run", *words)

    assert finished.returncode == status
    assert error.format(folder=tmp_path) in finished.stderr
    assert "Traceback" not in finished.stderr


def test_help_of_run_goes_to_stdout_only_before_the_program(aacl: Command) -> None:
    """`aacl run --help` is ours; after the program it is the program's."""
    assert aacl("run", "--help").stdout.startswith("usage: aacl run")
    assert json.loads(aacl("run", "-c", "import sys, json; print(json.dumps(sys.argv))", "--help").stdout) == [
        "-c",
        "--help",
    ]


# Words


@pytest.mark.parametrize(
    ("nbytes", "text"),
    [
        (0, "0 bytes"),
        (1, "1 byte"),
        (1023, "1023 bytes"),
        (1024, "1.0 KiB"),
        (8 << 30, "8.0 GiB"),
        (5 << 40, "5.0 TiB"),
    ],
)
def test_sizes_use_the_largest_unit_they_fill(nbytes: int, text: str) -> None:
    """Bytes below 1024 are counted, above that one decimal of a binary unit is shown."""
    assert _words.size(nbytes) == text


@pytest.mark.parametrize(
    ("number", "thing", "text"), [(1, "entry", "1 entry"), (2, "entry", "2 entries"), (2, "box", "2 boxes")]
)
def test_counts_take_the_plural(number: int, thing: str, text: str) -> None:
    """One thing is written as it is named, several in the plural."""
    assert _words.counted(number, thing) == text
