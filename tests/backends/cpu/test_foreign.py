"""The end of a process while ONNX Runtime works on other threads: it waits for that, and nobody aborts."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

SIZE = 1024
PROLOGUE = """
    import os, sys, threading
    import numpy as np
    from aacl.backends.cpu.models import load_model

    graph = open(sys.argv[1], "rb").read()
    x, outputs = np.ones((1024, 1024), np.float32), [np.empty((1024, 1024), np.float32) for _ in range(4)]

    def started(target, *arguments):
        begun = threading.Event()

        def run():
            begun.set()
            target(*arguments)

        threading.Thread(target=run, daemon=True).start()
        begun.wait()
"""
RUN = """
    def run_on_and_on(run):
        while True:
            run()

    engine = load_model(graph)
    for output in outputs:
        started(run_on_and_on, engine.bind([x], [output]))
    outputs[0].fill(0)
    while not outputs[0].any():
        pass
"""
LOAD = """
    for _ in range(3):
        started(load_model, graph)
"""
FORK = """
    import atexit, warnings
    warnings.simplefilter("ignore")
    started(load_model(graph).bind([x], [outputs[0]]))
    pid = os.fork()
    if pid:
        sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
    atexit._run_exitfuncs()
    os._exit(0)  # ONNX Runtime itself does not end in a forked child
"""
HANDLER = """
    import atexit

    def last():
        with open(sys.argv[2], "w") as file:
            thread = threading.Thread(target=run)
            thread.start()
            thread.join()
            file.write(str(outputs[1][0, 0]))

    atexit.unregister(last)
    run = load_model(graph).bind([x], [outputs[1]])
"""


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Some tens of milliseconds of matrix products that leave a float32 [1024, 1024] as it is."""
    shape, identity = [SIZE, SIZE], numpy_helper.from_array(np.eye(SIZE, dtype=np.float32), "w")
    nodes = [helper.make_node("MatMul", [f"h{index}", "w"], [f"h{index + 1}"]) for index in range(3)]
    made = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info("h0", TensorProto.FLOAT, shape)],
        [helper.make_tensor_value_info("h3", TensorProto.FLOAT, shape)],
        [identity],
    )
    path = tmp_path_factory.mktemp("graph") / "slow.onnx"
    onnx.save(helper.make_model(made, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), path)
    return path


def _exit_of(source: str, *arguments: object) -> tuple[int, str]:
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(source), *map(str, arguments)],
        check=False,
        capture_output=True,
        text=True,
        timeout=15,
    )
    return done.returncode, done.stderr


@pytest.mark.parametrize("work", [RUN, LOAD, FORK], ids=["runs", "loads", "a fork"])
def test_a_process_ends_while_models_run_or_load(graph: Path, work: str) -> None:
    """Its status is the program's own, and nothing is printed, whatever daemon threads are at."""
    for _ in range(2):
        assert _exit_of(PROLOGUE + work, graph) == (0, "")


def test_an_exit_handler_that_comes_later_gets_its_run(graph: Path, tmp_path: Path) -> None:
    """What runs on another thread behind that moment, because a handler waits for it, runs."""
    result = tmp_path / "result"
    early = """
    import atexit
    atexit.register(lambda: last())
    """

    assert _exit_of(early + PROLOGUE + HANDLER, graph, result) == (0, "")
    assert float(result.read_text()) == 1.0
