"""`aacl run --report`: the tables of what a script left open, and of what was closed for it."""

from __future__ import annotations

import re
import subprocess
import sysconfig
from collections.abc import Callable
from pathlib import Path

import pytest

from aacl.cli._leaks import Leak, left_open_table, swept_tables
from tests.compat._programs import add1

COMMAND = Path(sysconfig.get_path("scripts")) / "aacl"
NOTHING = ["aacl run: nothing left open"]
START = "import acl\nacl.init()\nacl.rt.set_device(0)\n"

Report = Callable[..., tuple[int, list[str]]]


@pytest.fixture
def report(tmp_path: Path) -> Report:
    """Runs a script with --report in a folder of the test's own; returns its status and the lines on stderr."""

    def call(source: str, *words: str) -> tuple[int, list[str]]:
        (tmp_path / "script.py").write_text(source)
        done = subprocess.run(
            [str(COMMAND), "run", "--report", *(words or ("script.py",))],
            cwd=tmp_path, capture_output=True, text=True, check=False,
        )  # fmt: skip
        return done.returncode, done.stderr.splitlines()

    return call


def row(line: str) -> list[str]:
    """Return the cells of a line of a table."""
    return re.split(r" {2,}", line.strip())


def test_nothing_left_is_one_line(report: Report) -> None:
    """A script that ends what it made has no tables, and its own status."""
    status, lines = report(f"{START}acl.rt.reset_device(0)\nacl.finalize()\nraise SystemExit(7)\n")

    assert (status, lines) == (7, NOTHING)


def test_every_leak_has_kind_handle_size_and_line(report: Report) -> None:
    """A row a thing: its number as the script saw it, memory by address and size, and the line that made it."""
    status, lines = report(f"""{START}pointer, _ = acl.rt.malloc(100, 0)
host, _ = acl.rt.malloc_host(2048)
stream, _ = acl.rt.create_stream()
context, _ = acl.rt.create_context(0)
dataset = acl.mdl.create_dataset()
import sys
print(hex(pointer), hex(host), stream, context, dataset, file=sys.stderr)
raise SystemExit(3)
""")
    pointer, host, stream, context, dataset = lines[0].split()

    assert status == 3
    assert lines[1] == "aacl run: left open:"
    assert row(lines[2]) == ["kind", "number", "handle", "size", "made at"]
    assert {tuple(row(line)[:-1]) for line in lines[3:-1]} == {
        ("device", "1", "0", "script.py:3"),
        ("context", "1", context, "script.py:7"),
        ("stream", "1", stream, "script.py:6"),
        ("dataset", "1", dataset, "script.py:8"),
        ("device block", "1", pointer, "160 bytes", "script.py:4"),
        ("host block", "1", host, "2.0 KiB", "script.py:5"),
    }
    assert lines[-1].startswith("aacl run: left open: ")
    assert "1 dataset" in lines[-1]
    assert "acl.rt.set_device(0)" in [row(line)[-1] for line in lines]


def test_what_one_line_made_is_one_row(report: Report) -> None:
    """A loop's leaks are counted, with the first handle and the size of all."""
    _, lines = report(f"{START}for _ in range(500):\n    acl.rt.malloc(1000, 0)\n    acl.create_data_buffer(0, 0)\n")

    blocks, buffers = (
        next(line for line in lines if line.startswith(f"  {kind}")) for kind in ("device block", "data")
    )
    assert row(blocks)[1] == row(buffers)[1] == "500"
    assert row(blocks)[2].endswith(", ...")
    assert row(blocks)[3:] == ["515.6 KiB", "script.py:5", "acl.rt.malloc(1000, 0)"]


def test_the_line_is_the_first_outside_of_our_packages(report: Report, tmp_path: Path) -> None:
    """A helper of the script's own is named, and so is the with statement of a block that was not left."""
    (tmp_path / "helper.py").write_text("import acl\ndef make():\n    return acl.rt.malloc(64, 0)\n")
    _, lines = report(
        f"{START}import helper\nfrom aacl.compat_tools import acl_memory\nhelper.make()\nacl_memory(32).__enter__()\n"
    )

    places = [row(line)[4] for line in lines if line.startswith("  device block")]
    assert places == ["helper.py:3", "script.py:7"]


@pytest.mark.parametrize(
    ("call", "kinds"),
    [
        ("acl.finalize()", {"device", "context", "stream", "event", "device block", "host block", "tensor desc"}),
        ("acl.rt.reset_device(0)", {"context", "stream", "device block"}),
        ("acl.rt.reset_device_force(0)", {"context", "stream", "device block"}),
        ("acl.rt.destroy_context(context)", {"stream"}),
    ],
)
def test_what_a_call_ended_for_the_script_is_told(report: Report, call: str, kinds: set[str]) -> None:
    """What finalize, reset_device and destroy_context swept stands under the call and its line; not what they are for."""
    _, lines = report(f"""{START}context, _ = acl.rt.create_context(0)
acl.rt.create_stream()
acl.rt.create_event()
acl.rt.malloc(64, 0)
acl.rt.malloc_host(64)
acl.create_tensor_desc(0, [1], 2)
{call}
""")
    end = lines.index("aacl run: left open:") if "aacl run: left open:" in lines else -1

    assert {row(line)[0] for line in lines[:end] if line.startswith("  ") and "made at" not in line} == kinds
    heads = [line for line in lines[:end] if not line.startswith(" ")]
    assert heads == [f"aacl run: {call.partition('(')[0]} at script.py:10 ended what was still open:"]
    if call == "acl.finalize()":
        assert lines[-1:] == NOTHING


def test_models_and_physical_memory_end_with_what_they_are_in(report: Report, tmp_path: Path) -> None:
    """A model that its context took along is told, and so is physical memory that went with its device."""
    (tmp_path / "net.om").write_bytes(Path(add1(tmp_path)).read_bytes())
    _, lines = report(f"""{START}acl.mdl.load_from_file("net.om")
acl.rt.malloc_physical(2 << 20, {{"memAttr": 4, "location": {{"id": 0, "type": 1}}}}, 0)
context, _ = acl.rt.create_context(0)
acl.mdl.load_from_file("net.om")
acl.rt.destroy_context(context)
acl.rt.set_device(0)
acl.rt.reset_device_force(0)
""")

    told = [row(line)[-2] if line.startswith("  ") else line for line in lines if "made at" not in line]
    assert told[:2] == ["aacl run: acl.rt.destroy_context at script.py:8 ended what was still open:", "script.py:7"]
    assert told[2] == "aacl run: acl.rt.reset_device_force at script.py:10 ended what was still open:"
    assert (sorted(told[3:-1]), told[-1:]) == (["script.py:4", "script.py:5"], NOTHING)


def test_registered_host_memory_ends_with_the_runtime(report: Report) -> None:
    """What was not unregistered before finalize is told, with its size."""
    _, lines = report(f"""{START}import mmap, numpy
page = numpy.frombuffer(mmap.mmap(-1, 8192), numpy.uint8)
acl.rt.host_register(page.ctypes.data, 8192, 0)
acl.finalize()
""")

    assert [row(line)[1:5:2] for line in lines if line.startswith("  registered")] == [["1", "8.0 KiB"]]


def test_what_a_global_ends_at_its_own_end_is_not_open(report: Report) -> None:
    """A __del__ that runs with the module counts; what it leaves is told, and its own globals are there yet."""
    script = f"""{START}class Net:
    def __init__(self): self.stream, _ = acl.rt.create_stream()
    def __del__(self): helper(acl.rt.destroy_stream(self.stream), acl.rt.reset_device(0), acl.finalize())
def helper(*codes): print(codes, file=sys.stderr)
import sys
net = Net()
net.itself = net
"""
    assert report(script) == (0, ["(0, 0, 0)", *NOTHING])

    _, lines = report(script.replace("acl.finalize()", "0") + "acl.rt.create_event()\n")

    assert [line for line in lines if "run: left" in line][-1:] == ["aacl run: left open: 1 event"]


def test_a_global_that_waits_for_ever_at_its_end(report: Report) -> None:
    """A __del__ that waits for work that never ends is interrupted, and what is left is told."""
    status, lines = report(f"""{START}import threading
class Net:
    def __init__(self):
        self.stream, _ = acl.rt.create_stream()
        acl.rt.launch_host_func(self.stream, lambda _: threading.Event().wait(), None)
    def __del__(self): acl.rt.synchronize_stream(self.stream)
net = Net()
""")

    assert status == 0
    assert any("left open" in line and "1 stream" in line for line in lines)


def test_native_objects_of_a_global_are_open(report: Report) -> None:
    """A device that a global holds is not closed by looking."""
    _, lines = report("import aacl\ndevice = aacl.blocking.open_resource(aacl.Device(0))\n")

    assert lines[-1] == "aacl run: left open: 1 device, 1 context"


def test_what_the_script_ended_itself_is_not_swept(report: Report) -> None:
    """A callback that frees memory while finalize waits for it has ended it."""
    _, lines = report(f"""{START}import threading
stream, _ = acl.rt.create_stream()
pointer, _ = acl.rt.malloc(64, 0)
kept, _ = acl.rt.malloc(64, 0)
acl.rt.subscribe_report(threading.get_ident(), stream)
acl.rt.launch_callback(acl.rt.free, pointer, 1, stream)
acl.rt.destroy_stream(stream)
acl.rt.reset_device(0)
acl.finalize()
""")

    assert [row(line)[4] for line in lines if line.startswith("  device block")] == ["script.py:7"]


def test_an_exception_and_an_interrupt_keep_their_end(report: Report) -> None:
    """The tables come after the traceback, and the status is Python's for it."""
    for body, status, last in (
        ("1 / 0", 1, "ZeroDivisionError"),
        ("raise KeyboardInterrupt", 130, "KeyboardInterrupt"),
    ):
        code, lines = report(f"{START}{body}\n")

        assert code == status
        assert next(line for line in lines if line.startswith(last)) == lines[lines.index("aacl run: left open:") - 1]


def test_a_script_without_acl(report: Report) -> None:
    """Native things are counted by kind."""
    _, lines = report("import aacl\naacl.blocking.open_resource(aacl.Device(0))\n")

    assert "aacl run: left open:" in lines
    assert ["device", "1"] in [row(line) for line in lines]


def test_module_and_code_are_reported_too(report: Report) -> None:
    """The option stands before -m and -c; code has no lines to show."""
    _, lines = report("", "-c", "import acl\nacl.init()\nacl.rt.set_device(0)")

    assert [row(line) for line in lines if line.startswith("  device")] == [["device", "1", "0", "<string>:3"]]


def test_long_runs_forget_what_is_gone(report: Report) -> None:
    """The places of what was freed are dropped from time to time; those of what is live stay."""
    status, lines = report(f"""{START}kept, _ = acl.rt.malloc(64, 0)
for _ in range(25000):
    acl.destroy_data_buffer(acl.create_data_buffer(0, 0))
import sys
print(len(sys.modules["acl._origins"].origins._places) < 15000, file=sys.stderr)
""")

    assert (status, lines[0]) == (0, "True")
    assert [row(line)[4] for line in lines if line.startswith("  device block")] == ["script.py:4"]


def test_without_the_option_nothing_is_noted(tmp_path: Path) -> None:
    """No place is taken, and the hooks are empty."""
    code = (
        f"{START}acl.rt.malloc(64, 0)\nfrom acl import _handles, _origins\n"
        "print(_handles.hooks.made, _handles.hooks.swept, _origins.origins._places)"
    )
    done = subprocess.run([str(COMMAND), "run", "-c", code], capture_output=True, text=True, check=False)

    assert done.stdout == "None None {}\n"
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize("words", [["--report"], ["--report", "-m"], ["--report", "-x", "script.py"]])
def test_a_wrong_command_line_is_told(words: list[str]) -> None:
    """It ends with status 2 and the usage."""
    done = subprocess.run([str(COMMAND), "run", *words], capture_output=True, text=True, check=False)

    assert done.returncode == 2
    assert done.stderr.startswith("usage: aacl run [-h] [--report] {SCRIPT")


# The tables


def test_columns_stand_under_each_other() -> None:
    """Numbers and sizes stand to the right, everything else to the left."""
    leaks = [
        Leak("stream", 16, None, "/x/a.py", 3),
        *[Leak("device block", 4096 * n, 512, "/x/a.py", 12) for n in (1, 2)],
    ]

    assert left_open_table(leaks, {"stream": 1, "device block": 2, "device block bytes": 1024}) == [
        "left open:",
        "  kind          number  handle          size  made at",
        "  stream             1  16                    /x/a.py:3",
        "  device block       2  0x1000, ...  1.0 KiB  /x/a.py:12",
    ]


def test_what_cannot_be_listed_is_counted() -> None:
    """A kind of which only the number is known has a row of its own; more than is known one by one, too."""
    leaks = [Leak("event", 16, None, "", 1), Leak("stream", 32, None, "", 0)]
    lines = left_open_table(leaks, {"event": 3, "group": 2, "group bytes": 9})

    assert [row(line) for line in lines[2:]] == [
        ["event", "1", "16", "the runtime, for the program"],
        ["stream", "1", "32", "not known"],
        ["event", "2"],
        ["group", "2"],
    ]


def test_no_leaks_make_no_table() -> None:
    """Nothing is nothing."""
    assert left_open_table([], {"stream": 0}) == []
    assert swept_tables([]) == []


def test_every_sweep_has_a_table() -> None:
    """Calls in different lines are told apart; one that no line of the program made has no place."""
    leak = Leak("stream", 16, None, "/x/a.py", 3)

    lines = swept_tables([(leak, "acl.finalize", "/x/a.py", 8), (leak, "acl.finalize", "", 0)])

    assert [line for line in lines if not line.startswith(" ")] == [
        "acl.finalize at /x/a.py:8 ended what was still open:",
        "acl.finalize ended what was still open:",
    ]
