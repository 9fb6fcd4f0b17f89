"""The end of a script, in any state of its devices: soon, with its own exit status, and without a word of ours."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

from tests.compat._programs import add1

LIMIT = 5.0
BEGIN = """
import atexit, os, signal, sys, threading, time
import numpy as np, acl
acl.init(); acl.rt.set_device(0)
context, stream, other = acl.rt.get_context()[0], acl.rt.create_stream()[0], acl.rt.create_stream()[0]
ever = threading.Event()
def report(_):
    acl.rt.set_context(context)
    while True:
        acl.rt.process_report(-1)
def reporting():
    thread = acl.util.start_thread(report, [])[0]
    assert acl.rt.subscribe_report(thread, stream) == 0
def launch(function, block=1):
    assert acl.rt.launch_callback(function, None, block, stream) == 0
def under_way():
    reporting()
    began = threading.Event()
    launch(lambda _: (began.set(), ever.wait()))
    began.wait()
def leave(owner):  # in a module that no frame of a thread keeps alive
    module = sys.modules["owners"] = type(sys)("owners")
    module.owner = owner
"""
STATES = {
    "live objects": """
        acl.rt.malloc(64, 0), acl.rt.malloc_host(64), acl.rt.create_event(), acl.rt.create_context(1)
        acl.rt.set_context(context)
        model = acl.mdl.load_from_file("add1.om")[0]
        array = acl.util.ptr_to_numpy(acl.rt.malloc(64, 0)[0], (16,), 11)
        """,
    "report threads": """
        reporting()
        threading.Thread(target=report, args=[0], daemon=True).start()
        launch(lambda _: None)
        """,
    "a callback under way": "under_way(); launch(print)",
    "a failed callback": """
        reporting()
        sys.stderr = open(os.devnull, "w")  # where a callback's own exception goes
        launch(lambda _: 1 / 0)
        acl.rt.synchronize_stream_with_timeout(stream, 2000) and None
        sys.stderr = sys.__stderr__
        """,
    "parked streams": """
        under_way()
        event = acl.rt.create_event()[0]
        acl.rt.record_event(event, stream), acl.rt.stream_wait_event(other, event)
        acl.rt.memset_async(acl.rt.malloc(64, 0)[0], 64, 1, 64, other)
        """,
    "queued models": """
        model = acl.mdl.load_from_file("add1.om")[0]
        sets = [acl.mdl.create_dataset() for _ in range(2)]
        for each in sets:
            acl.mdl.add_dataset_buffer(each, acl.create_data_buffer(acl.rt.malloc(16, 0)[0], 16))
        for _ in range(2000):
            acl.mdl.execute_async(model, *sets, stream)
        """,
    "threads that submit": """
        memory = acl.rt.malloc(1 << 20, 0)[0]
        def submit(own):
            acl.rt.set_context(context)
            while True:
                acl.rt.memset_async(memory, 1 << 20, 7, 1 << 20, own)
                acl.rt.synchronize_stream(own)
        for own in (stream, other, stream):
            threading.Thread(target=submit, args=[own], daemon=True).start()
        time.sleep(0.02)
        """,
}
ENDINGS = {
    "return": ("", 0),
    "sys.exit": ("sys.exit(7)", 7),
    "exception": ("raise ValueError('own')", 1),
    "SIGTERM": ("os.kill(os.getpid(), signal.SIGTERM); ever.wait()", -signal.SIGTERM),
    "SIGINT in a wait": (
        """
        threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGINT)).start()
        acl.rt.synchronize_device(), ever.wait(20)
        """,
        -signal.SIGINT,
    ),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a model."""
    path = tmp_path_factory.mktemp("exits")
    add1(path)
    return path


def run(source: str, folder: Path) -> tuple[int, str, str]:
    """Run a script; return its exit status and what it printed; it must end in time."""
    plain = {name: value for name, value in os.environ.items() if not name.startswith("AACL_")}
    began = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-c", source],
        check=False,
        capture_output=True,
        text=True,
        timeout=15,
        env=plain | {"AACL_DEVICES": "2"},
        cwd=folder,
    )
    assert time.perf_counter() - began < LIMIT, (done.stdout, done.stderr)
    return done.returncode, done.stdout.strip(), done.stderr.strip()


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("state", STATES)
def test_a_script_ends_in_any_state(folder: Path, state: str, ending: str) -> None:
    """Its own status, in under 5 s, and on the standard error at most the script's own exception."""
    last, wanted = ENDINGS[ending]
    status, _, errors = run(BEGIN + textwrap.dedent(STATES[state]) + "\n" + textwrap.dedent(last), folder)

    assert status == wanted, errors
    if ending in ("exception", "SIGINT in a wait"):
        assert errors.count("Traceback") == 1, errors
        assert errors.splitlines()[-1] in ("ValueError: own", "KeyboardInterrupt")
    else:
        assert errors == ""


LATE = {
    "finalize in atexit": ("atexit.register(lambda: print(acl.finalize()))", "0"),
    "finalize twice in atexit": ("atexit.register(acl.finalize); atexit.register(acl.finalize)", ""),
    "reset in atexit": ("atexit.register(lambda: print(acl.rt.reset_device(0), acl.finalize()))", "0 0"),
    "work in atexit": (
        """
        def late():
            memory = acl.rt.malloc(64, 0)[0]
            print(acl.rt.memset_async(memory, 64, 1, 64, stream), acl.rt.synchronize_stream(stream), acl.finalize())
        atexit.register(late)
        """,
        "0 0 0",
    ),
    "a callback in atexit": (
        """
        reporting()
        atexit.register(lambda: (launch(lambda _: print("called", flush=True)), print(acl.rt.synchronize_stream(stream))))
        """,
        "called\n0",
    ),
    "__del__ of a global": (
        """
        class Owner:
            def __init__(self): self.acl, self.stream = acl, stream
            def __del__(self):
                print(self.acl.rt.synchronize_stream(self.stream), self.acl.rt.destroy_stream(self.stream),
                      self.acl.rt.reset_device(0), self.acl.finalize(), flush=True)
        leave(Owner())
        """,
        "0 0 0 0",
    ),
    "__del__ of a global that unmaps memory": (
        """
        class Owner:
            def __init__(self):
                self.acl, self.page = acl, 2 << 20
                self.address, self.memory = acl.rt.reserve_mem_address(self.page, 0, 0, 0)[0], acl.rt.malloc_physical(self.page, {}, 0)[0]
                acl.rt.map_mem(self.address, self.page, 0, self.memory, 0)
            def __del__(self):
                print(self.acl.rt.unmap_mem(self.address), self.acl.rt.free_physical(self.memory),
                      self.acl.rt.release_mem_address(self.address), flush=True)
        leave(Owner())
        """,
        "0 0 0",
    ),
    "__del__ that waits for a thread that runs no more": (
        """
        under_way()
        class Owner:
            def __init__(self): self.acl, self.stream = acl, stream
            def __del__(self):
                print([code != 0 for code in (
                    self.acl.rt.synchronize_stream(self.stream), self.acl.rt.destroy_stream(self.stream),
                    self.acl.rt.synchronize_device(), self.acl.rt.reset_device(0), self.acl.finalize())],
                    "interpreter ends" in self.acl.get_recent_err_msg(), flush=True)
        leave(Owner())
        """,
        "[True, True, True, True, True] True",
    ),
    "__del__ that stops a thread": (
        """
        class Owner:
            def __init__(self): self.acl, self.thread = acl, acl.util.start_thread(lambda _: ever.wait(), [])[0]
            def __del__(self): print(type(self.acl.util.stop_thread(self.thread)), flush=True)
        leave(Owner())
        """,
        "<class 'int'>",
    ),
    "__del__ that runs a model": (
        """
        model = acl.mdl.load_from_file("add1.om")[0]
        sets = [acl.mdl.create_dataset() for _ in range(2)]
        for each in sets:
            acl.mdl.add_dataset_buffer(each, acl.create_data_buffer(acl.rt.malloc(16, 0)[0], 16))
        class Owner:
            def __init__(self): self.acl, self.model, self.sets, self.stream = acl, model, sets, stream
            def __del__(self):
                print(self.acl.mdl.execute(self.model, *self.sets),
                      self.acl.mdl.execute_async(self.model, *self.sets, self.stream),
                      self.acl.rt.synchronize_stream(self.stream), self.acl.mdl.unload(self.model), flush=True)
        acl.mdl.execute(model, *sets)
        leave(Owner())
        """,
        "0 0 0 0",
    ),
    "__del__ that calls what was never called": (
        """
        model = acl.mdl.load_from_file("add1.om")[0]
        sets = [acl.mdl.create_dataset() for _ in range(2)]
        for each in sets:
            acl.mdl.add_dataset_buffer(each, acl.create_data_buffer(acl.rt.malloc(16, 0)[0], 16))
        class Owner:
            def __init__(self): self.acl, self.model, self.sets = acl, model, sets
            def __del__(self):
                print(self.acl.mdl.execute(self.model, *self.sets) != 0,
                      "the interpreter ends" in self.acl.get_recent_err_msg(), flush=True)
        leave(Owner())
        """,
        "True True",
    ),
    "__del__ in a cycle": (
        """
        class Owner:
            def __init__(self): self.itself, self.free, self.memory = self, acl.rt.free, acl.rt.malloc(64, 0)[0]
            def __del__(self): print(self.free(self.memory), flush=True)
        leave(Owner())
        """,
        "0",
    ),
    "__del__ after finalize": (
        """
        class Owner:
            def __init__(self): self.acl, self.stream = acl, stream
            def __del__(self): print(self.acl.rt.destroy_stream(self.stream) != 0, self.acl.finalize(), flush=True)
        leave(Owner())
        acl.finalize()
        """,
        "True 100037",
    ),
    "an exception callback that is left": (
        """
        acl.rt.set_exception_info_callback(lambda info: None)
        """,
        "",
    ),
}


@pytest.mark.parametrize("late", LATE)
def test_calls_at_the_end_of_the_interpreter(folder: Path, late: str) -> None:
    """Handlers of atexit and finalizers may call; what they call works, or is a code, as ever."""
    source, output = LATE[late]

    assert run(BEGIN + textwrap.dedent(source), folder) == (0, output, "")


def test_os_exit_with_all_states_at_once(folder: Path) -> None:
    """os._exit ends the process at once, with its status."""
    states = [textwrap.dedent(STATES[name]) for name in ("live objects", "a callback under way", "threads that submit")]

    assert run("\n".join((BEGIN, *states, "os._exit(3)")), folder) == (3, "", "")


def test_sigterm_with_a_handler_that_finalizes(folder: Path) -> None:
    """A handler may end the runtime and then the process, with a stream at work."""
    source = """
        memory = acl.rt.malloc(1 << 20, 0)[0]
        def end(*_):
            print(acl.rt.reset_device(0), acl.finalize(), flush=True)
            sys.exit(5)
        signal.signal(signal.SIGTERM, end)
        for _ in range(100):
            acl.rt.memset_async(memory, 1 << 20, 7, 1 << 20, stream)
        os.kill(os.getpid(), signal.SIGTERM)
        ever.wait(20)
        """

    assert run(BEGIN + textwrap.dedent(source), folder) == (5, "0 0", "")


def test_an_exception_in_a_callback_is_printed_once(folder: Path) -> None:
    """The script learns it from its standard error and from the code; the end adds nothing."""
    source = "reporting(); launch(lambda _: 1 / 0); print(acl.rt.synchronize_stream(stream), acl.finalize())"
    status, output, errors = run(BEGIN + source, folder)

    assert (status, output) == (0, "500001 0")
    assert errors.count("Traceback") == 1
    assert errors.splitlines()[-1] == "ZeroDivisionError: division by zero"
