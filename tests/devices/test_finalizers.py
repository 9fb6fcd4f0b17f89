"""Finalizers that run when the interpreter ends, and processes forked from one with models: nothing waits for ever."""

from __future__ import annotations

import time
from pathlib import Path

from tests.compat._programs import slow
from tests.helpers import run_python

LIMIT = 5.0
OWNER = """
    class Owner:
        def __init__(self, *things): self.things, self.close, self.wait = things, blocking.close, blocking.wait
    module = sys.modules["owners"] = type(sys)("owners")  # which no frame of a thread keeps alive
"""


def test_a_finalizer_closes_what_is_idle() -> None:
    """No worker runs any more; the closing thread does what they would do."""
    done = run_python(
        OWNER
        + """
    def close(self):
        for thing in self.things:
            self.close(thing)
        print("closed", flush=True)
    Owner.__del__ = close
    device = blocking.open_resource(aacl.Device(0))
    stream = blocking.open_resource(aacl.Stream(device))
    stream.call(int).wait()
    module.owner = Owner(stream, device)
    del stream, device
    """,
        warnings="",
    )

    assert (done.status, done.output, done.errors) == (0, "closed", "")


def test_a_finalizer_does_not_wait_for_a_thread_that_runs_no_more() -> None:
    """What a worker was at when the interpreter ended is never over: WouldBlock says so, soon."""
    began = time.monotonic()
    done = run_python(
        OWNER
        + """
    def wait(self):
        try:
            self.wait(*self.things)
        except Exception as error:
            print(type(error).__name__, "interpreter ends" in str(error), flush=True)
    Owner.__del__ = wait
    device = blocking.open_resource(aacl.Device(0))
    stream = blocking.open_resource(aacl.Stream(device))
    started = threading.Event()
    completion = stream.call(lambda: (started.set(), threading.Event().wait()))
    started.wait()
    module.owner = Owner(completion)
    """,
        warnings="",
    )

    assert (done.status, done.output, done.errors) == (0, "WouldBlock True", "")
    assert time.monotonic() - began < LIMIT


def test_a_child_forked_beside_a_model_ends(tmp_path: Path) -> None:
    """It has the sessions of ONNX Runtime without their threads, lets go of them, and ends by itself."""
    path = slow(tmp_path, steps=2, size=256)
    done = run_python(
        f"""
        device = blocking.open_resource(aacl.Device(0))
        stream = blocking.open_resource(aacl.Stream(device))
        model = blocking.open_resource(aacl.Model({path!r}, device=device))
        stream.execute(model(stream.to_device(np.ones((256, 256), np.float32)).result())).wait()
        child = os.fork()
        if not child:
            del model, stream, device
            sys.exit(4)
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
        """,
        warnings="",
    )

    assert (done.status, done.output, done.errors) == (0, "4", "")
