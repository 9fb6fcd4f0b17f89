"""The blocks on another `acl` module than ours, with fewer calls; after a fork; under Ctrl-C."""

from __future__ import annotations

import sys
from types import SimpleNamespace
from typing import Any

import pytest

from aacl.compat_tools import acl_device, acl_memory, acl_stream
from aacl.errors import AclError, OutOfMemory
from tests.helpers import run_python


class Recorder:
    """An old module: no error texts, no counted ends, no abort; it notes the calls."""

    def __init__(self, **answers: Any) -> None:
        self.calls: list[str] = []
        self._answers = {
            "get_context": (7, 0),
            "get_device": (0, 0),
            "create_stream": (40, 0),
            "malloc": (50, 0),
        } | answers
        self.init, self.finalize = self._call("init"), self._call("finalize")
        names = ("get_context", "set_context", "get_device", "set_device", "reset_device", "synchronize_device",
                 "create_stream", "synchronize_stream", "destroy_stream", "malloc", "free")  # fmt: skip
        self.rt = SimpleNamespace(**{name: self._call(name) for name in names})

    def _call(self, name: str) -> Any:
        def call(*_arguments: object) -> Any:
            if not name.startswith("get_"):
                self.calls.append(name)
            return self._answers.get(name, 0)

        return call


@pytest.fixture
def module(monkeypatch: pytest.MonkeyPatch) -> Recorder:
    """The module that ``import acl`` finds."""
    recorder = Recorder()
    monkeypatch.setitem(sys.modules, "acl", recorder)
    return recorder


def test_the_calls_come_in_order(module: Recorder) -> None:
    """Only calls that every version has are made: memory, stream, device, runtime, each once."""
    with acl_device(0), acl_stream(), acl_memory(8):
        assert module.calls == ["init", "set_device", "create_stream", "malloc"]
        module.calls.clear()

    assert module.calls == [
        "free", "synchronize_stream", "destroy_stream", "synchronize_device", "reset_device", "set_context", "finalize"
    ]  # fmt: skip


def test_an_init_of_the_scripts_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """100002 says that somebody else initialised; without counted ends nothing is to be given back."""
    module = Recorder(init=100002)
    monkeypatch.setitem(sys.modules, "acl", module)

    with acl_device(0):
        pass

    assert "finalize" not in module.calls


def test_a_failure_without_text_is_told_by_its_code(monkeypatch: pytest.MonkeyPatch) -> None:
    """Call and code make the text where the module has none to give; the device is released."""
    module = Recorder(malloc=(0, 207001))
    monkeypatch.setitem(sys.modules, "acl", module)

    with pytest.raises(OutOfMemory, match=r"^acl\.rt\.malloc failed with 207001$"), acl_device(0), acl_memory(8):
        pass

    assert module.calls[-4:] == ["synchronize_device", "reset_device", "set_context", "finalize"]


def test_a_failing_release_does_not_stop_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first failure is raised after all is released; the later ones are its notes."""
    module = Recorder(synchronize_stream=507018, destroy_stream=507000, reset_device=507001)
    monkeypatch.setitem(sys.modules, "acl", module)

    with pytest.raises(AclError, match="synchronize_stream failed with 507018") as failed, acl_device(0), acl_stream():
        pass

    assert "acl.rt.destroy_stream failed with 507000" in failed.value.__notes__[0]
    assert "acl.rt.reset_device failed with 507001" in failed.value.__notes__[1]
    assert module.calls[-1] == "finalize"


def test_ctrl_c_in_the_body_releases_everything() -> None:
    """A script that is interrupted while work is queued ends as Python ends it, with nothing open."""
    done = run_python(
        """
        import acl
        from aacl.compat_tools import acl_device, acl_memory, acl_stream, check
        from acl._handles import open_handles
        try:
            with acl_device(0), acl_memory(1 << 20) as pointer, acl_stream() as stream:
                for _ in range(20):
                    check(acl.rt.memset_async(pointer, 1 << 20, 1, 1 << 20, stream))
                signal.raise_signal(signal.SIGINT)
        finally:
            print(open_handles(), acl.rt.get_context()[1])
        """
    )

    assert done.output == "{} 100001"
    assert done.errors.endswith("KeyboardInterrupt")


def test_ctrl_c_in_the_wait_for_a_stream() -> None:
    """It drops what has not started, and the stream and the device are released."""
    done = run_python(
        """
        import acl
        from aacl.compat_tools import acl_device, acl_report_thread, acl_stream, check
        from acl._handles import open_handles

        waiting, aborted, ran = threading.Event(), threading.Event(), []
        wait, abort = acl.rt.synchronize_stream, acl.rt.stream_abort

        def hold(_):  # the stream, until what is behind it was dropped
            waiting.wait()
            signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)
            aborted.wait()

        def told(stream):
            waiting.set()
            return wait(stream)

        def drop(stream):
            code = abort(stream)
            aborted.set()
            return code

        with acl_device(0):
            reporting, stream = acl_report_thread(), acl_stream()
            handle, thread = stream.__enter__(), reporting.__enter__()
            check(acl.rt.subscribe_report(thread, handle))
            check(acl.rt.launch_callback(hold, None, 1, handle))
            check(acl.rt.launch_callback(ran.append, 1, 1, handle))
            acl.rt.synchronize_stream, acl.rt.stream_abort = told, drop
            try:
                stream.__exit__(None, None, None)
            except KeyboardInterrupt:
                print("interrupted", ran)
            reporting.__exit__(None, None, None)
        print(open_handles(), acl.rt.get_context()[1])
        """
    )

    assert done.output.splitlines() == ["interrupted []", "{} 100001"], done.errors
    assert done.status == 0


def test_a_forked_child_releases_nothing_of_its_parents() -> None:
    """Blocks that were entered before a fork end in the child without a call that fails, and the parent goes on."""
    done = run_python(
        """
        import acl
        from aacl.compat_tools import acl_device, acl_memory
        with acl_device(0), acl_memory(64) as pointer:
            child = os.fork()
            if not child:
                sys.exit(5)
            _, status = os.waitpid(child, 0)
            print(os.waitstatus_to_exitcode(status), acl.rt.memset(pointer, 64, 1, 64))
        print(acl.rt.get_context()[1])
        """,
        warnings="",
    )

    assert done.output == "5 0\n100001", done.errors
