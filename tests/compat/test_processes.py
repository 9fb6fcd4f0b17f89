"""Several processes, and how a process ends."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.compat._programs import add1, run_program, slow


def test_children_forked_before_init_are_clean(tmp_path: Path) -> None:
    """C156: a parent that only imports; three forked children run a whole cycle in parallel, and all exit 0."""
    add1(tmp_path)

    out = run_program(
        """
        import multiprocessing, acl, numpy as np
        def work():
            x = np.arange(4, dtype=np.float32)
            assert (acl.init(), acl.rt.set_device(0)) == (0, 0)
            model, ret = acl.mdl.load_from_file("add1.om")
            assert ret == 0
            sets = []
            for _ in range(2):
                pointer, ret = acl.rt.malloc(16, 0)
                sets.append(acl.mdl.create_dataset())
                acl.mdl.add_dataset_buffer(sets[-1], acl.create_data_buffer(pointer, 16))
            given = acl.get_data_buffer_addr(acl.mdl.get_dataset_buffer(sets[0], 0))
            assert acl.rt.memcpy(given, 16, acl.util.numpy_to_ptr(x), 16, 1) == 0
            assert acl.mdl.execute_async(model, *sets, 0) == 0
            assert acl.rt.synchronize_stream(0) == 0
            assert acl.util.ptr_to_bytes(pointer, 16) == (x + 1).tobytes()
            assert acl.finalize() == 0
        fork = multiprocessing.get_context("fork")
        children = [fork.Process(target=work, daemon=True) for _ in range(3)]
        for child in children: child.start()
        for child in children: child.join(10)
        print([child.exitcode for child in children])
        """,
        folder=tmp_path,
    )

    assert out == "[0, 0, 0]\n"


def test_children_forked_after_init_are_told_so() -> None:
    """C158: in a child of an initialised process every call is one code with advice, at once; the parent goes on."""
    out = run_program(
        """
        import os, acl
        acl.init(); acl.rt.set_device(0)
        stream, _ = acl.rt.create_stream()
        pointer, _ = acl.rt.malloc(64, 0)
        if os.fork() == 0:
            codes = [acl.rt.malloc(64, 0)[1], acl.rt.synchronize_stream(stream), acl.rt.memset(pointer, 64, 0, 64),
                     acl.rt.free(pointer), acl.rt.set_device(0), acl.init(), acl.finalize()]
            print(codes, "spawn" in acl.get_recent_err_msg(), acl.rt.get_last_error(0), flush=True)
            os._exit(0)
        os.wait()
        print(acl.rt.memset(pointer, 64, 3, 64), acl.rt.synchronize_stream(stream), acl.finalize())
        """
    )

    assert out.splitlines() == [f"{[200006] * 7} True 200006", "0 0 0"]


def test_every_call_fails_in_a_forked_child() -> None:
    """All functions of all namespaces, loaded before or after the fork: the code or null, the text, and no wait."""
    out = run_program(
        """
        import faulthandler, inspect, os, acl
        acl.init(); acl.rt.set_device(0); acl.mdl
        child = os.fork()
        if child:
            raise SystemExit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
        faulthandler.dump_traceback_later(5, exit=True)
        telling = {"acl.get_recent_err_msg", "acl.rt.get_last_error", "acl.rt.peek_at_last_error"}
        spaces = [acl, *(getattr(acl, name) for name in dir(acl) if inspect.ismodule(getattr(acl, name)))]
        found = {f"{space.__name__}.{name}": getattr(space, name) for space in spaces for name in dir(space)}
        refused = 0
        for name, function in found.items():
            if inspect.isfunction(function) and name not in telling:
                answer = function(*[0] * len(inspect.signature(function).parameters))
                code = answer[-1] if type(answer) is tuple else answer
                assert code in (200006, 0, None, -1, "", b"", 0xFFFFFFFF) or answer == (0, None), (name, answer)
                assert acl.rt.get_last_error(0) == 200006, name
                assert "spawn" in (acl.get_recent_err_msg() or ""), name
                refused += 1
        assert refused >= 300, refused
        """
    )

    assert out == ""


@pytest.mark.parametrize("ending", ["sys.exit(3)", "del acl; gc.collect(); sys.exit(3)"])
def test_a_forked_child_of_a_process_with_a_model_ends(tmp_path: Path, ending: str) -> None:
    """The child has sessions of ONNX Runtime and none of their threads; it ends at once, with its own status."""
    slow(tmp_path, steps=2, size=256)

    out = run_program(
        f"""
        import gc, os, sys, acl
        acl.init(); acl.rt.set_device(0)
        model, ret = acl.mdl.load_from_file("slow.om")
        assert ret == 0
        size, sets = 256 * 256 * 4, [acl.mdl.create_dataset() for _ in range(2)]
        for each in sets:
            acl.mdl.add_dataset_buffer(each, acl.create_data_buffer(acl.rt.malloc(size, 0)[0], size))
        assert acl.mdl.execute(model, *sets) == 0
        child = os.fork()
        if not child:
            print("flushed")
            {ending}
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), acl.mdl.execute(model, *sets), acl.finalize())
        """,
        folder=tmp_path,
    )

    assert out.splitlines() == ["flushed", "3 0 0"]


def test_a_forked_child_of_a_process_that_unloaded_its_models_ends(tmp_path: Path) -> None:
    """ONNX Runtime has threads from its import on; a child that began anew by itself ends like any other."""
    add1(tmp_path)

    out = run_program(
        """
        import os, sys, acl
        def use():
            acl.init(); acl.rt.set_device(0)
            model, ret = acl.mdl.load_from_file("add1.om")
            return ret or acl.mdl.unload(model) or acl.finalize()
        assert use() == 0
        child = os.fork()
        if not child:
            sys.exit(use() or 6)
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
        """,
        folder=tmp_path,
    )

    assert out == "6\n"


def test_children_forked_while_a_thread_allocates_host_memory() -> None:
    """A child begins anew although a thread of the parent held a lock of the table of host memory when it was forked."""
    out = run_program(
        """
        import faulthandler, os, threading, acl
        from acl import _blocks
        held, forked = threading.Event(), threading.Event()
        def hold():
            with _blocks._host_lock:
                held.set(); forked.wait(5)
        thread = threading.Thread(target=hold); thread.start(); held.wait(5)
        child = os.fork()
        if child == 0:
            faulthandler.dump_traceback_later(5, exit=True)
            acl.init(); acl.rt.set_device(0)
            pointer, _ = acl.rt.malloc_host(64)
            print(acl.rt.free_host(pointer), acl.rt.free_host(pointer), acl.finalize(), flush=True)
            os._exit(0)
        forked.set(); thread.join()
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
        """
    )

    assert out.splitlines() == ["0 100000 0", "0"]


def test_servers_that_fork_workers_before_they_initialise(tmp_path: Path) -> None:
    """C158: four children of a parent that only imports, each initialising by itself, all work."""
    out = run_program(
        """
        import os, acl
        import acl.mdl, acl.op, acl.prof
        children = []
        for _ in range(4):
            child = os.fork()
            if not child:
                code = acl.init() or acl.rt.set_device(0) or acl.rt.malloc(64, 0)[1] or acl.finalize()
                os._exit(code)
            children.append(child)
        print([os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children])
        """
    )

    assert out == "[0, 0, 0, 0]\n"


_WORK = """\
import acl, numpy as np

def work(number):
    codes = [acl.init(), acl.rt.set_device(0)]
    here, there = np.full(100, number, np.int32), np.zeros(100, np.int32)
    stream, code = acl.rt.create_stream()
    pointer, more = acl.rt.malloc(400, 0)
    codes += [code, more, acl.rt.memcpy_async(pointer, 400, acl.util.numpy_to_ptr(here), 400, 1, stream),
              acl.rt.memcpy_async(acl.util.numpy_to_ptr(there), 400, pointer, 400, 2, stream),
              acl.rt.synchronize_stream(stream), acl.rt.free(pointer), acl.rt.destroy_stream(stream), acl.rt.reset_device(0)]
    return there.sum() == 100 * number, [code for code in codes if code not in (0, 100002)]
"""


@pytest.mark.parametrize(("method", "parent_uses_it"), [("spawn", True), ("forkserver", False), ("forkserver", True)])
def test_workers_of_multiprocessing(tmp_path: Path, method: str, parent_uses_it: bool) -> None:
    """Pools of multiprocessing and concurrent.futures, also beside a parent that has work under way itself."""
    (tmp_path / "work.py").write_text(_WORK)
    (tmp_path / "main.py").write_text(
        f"""\
import multiprocessing
from concurrent.futures import ProcessPoolExecutor

if __name__ == "__main__":
    import acl
    from work import work
    if {parent_uses_it}:
        acl.init(); acl.rt.set_device(0); stream = acl.rt.create_stream()[0]
        pointer = acl.rt.malloc(1 << 20, 0)[0]
        for _ in range(20):
            acl.rt.memset_async(pointer, 1 << 20, 1, 1 << 20, stream)
    context = multiprocessing.get_context({method!r})
    with context.Pool(2) as pool:
        found = pool.map(work, range(4))
    with ProcessPoolExecutor(1, mp_context=context) as executor:
        found += executor.map(work, range(2))
    print(all(right and not codes for right, codes in found), len(found))
    if {parent_uses_it}:
        print(acl.rt.synchronize_stream(stream), acl.finalize())
"""
    )

    out = run_program(
        "import runpy; runpy.run_path('main.py', run_name='__main__')", folder=tmp_path, PYTHONPATH=str(tmp_path)
    )

    assert out.splitlines() == ["True 6", *["0 0"] * parent_uses_it]


def test_children_forked_after_finalize_may_begin() -> None:
    """A parent that has ended its own use forks children that work."""
    out = run_program(
        """
        import os, acl
        acl.init(); acl.rt.set_device(0); acl.finalize()
        if os.fork() == 0:
            print(acl.init(), acl.rt.set_device(0), acl.rt.malloc(64, 0)[1], acl.finalize(), flush=True)
            os._exit(0)
        os.wait()
        """
    )

    assert out == "0 0 0 0\n"


def test_handles_of_another_process_are_refused(tmp_path: Path) -> None:
    """C159: a parent's model id, stream and description mean nothing in a spawned child."""
    add1(tmp_path)
    (tmp_path / "child.py").write_text(
        "import sys, acl\n"
        "acl.init(); acl.rt.set_device(0)\n"
        "model, stream, desc = map(int, sys.argv[1:])\n"
        "print(acl.mdl.unload(model), acl.rt.synchronize_stream(stream), acl.get_tensor_desc_type(desc))\n"
    )

    out = run_program(
        """
        import subprocess, sys, acl
        acl.init(); acl.rt.set_device(0)
        handles = acl.mdl.load_from_file("add1.om")[0], acl.rt.create_stream()[0], acl.create_tensor_desc(0, [1], 2)
        print(subprocess.run([sys.executable, "child.py", *map(str, handles)], capture_output=True, text=True).stdout)
        acl.finalize()
        """,
        folder=tmp_path,
    )

    assert out.split() == ["145003", "107017", "-1"]


def test_a_process_ends_whatever_is_open() -> None:
    """A script that ends with a reporting thread, a pending stream and open memory exits 0, quickly and silently."""
    out = run_program(
        """
        import time, acl
        acl.init(); acl.rt.set_device(0)
        stream, _ = acl.rt.create_stream()
        context, _ = acl.rt.get_context()
        def loop(_):
            acl.rt.set_context(context)
            while True:
                acl.rt.process_report(100)
        thread, _ = acl.util.start_thread(loop, [])
        acl.rt.subscribe_report(thread, stream)
        acl.rt.launch_callback(lambda _: time.sleep(60), None, 1, stream)
        acl.rt.malloc(100, 0)
        print("over")
        """
    )

    assert out == "over\n"
