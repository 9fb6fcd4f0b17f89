"""Several processes, and how a process ends."""

from __future__ import annotations

from pathlib import Path

from tests.compat._programs import add1, run_program


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
    """C158: in a child of an initialised process every call is a code with advice, at once; the parent goes on."""
    out = run_program(
        """
        import os, acl
        acl.init(); acl.rt.set_device(0)
        stream, _ = acl.rt.create_stream()
        pointer, _ = acl.rt.malloc(64, 0)
        if os.fork() == 0:
            codes = [acl.rt.malloc(64, 0)[1], acl.rt.synchronize_stream(stream), acl.rt.memset(pointer, 64, 0, 64),
                     acl.rt.set_device(0), acl.init(), acl.finalize()]
            print(codes, "spawn" in str(acl.init() and acl.get_recent_err_msg()), flush=True)
            os._exit(0)
        os.wait()
        print(acl.rt.memset(pointer, 64, 3, 64), acl.rt.synchronize_stream(stream), acl.finalize())
        """
    )

    assert out.splitlines() == ["[100001, 100001, 100001, 100001, 200006, 100037] True", "0 0 0"]


def test_children_forked_while_a_thread_allocates_host_memory() -> None:
    """A child may free host memory although a thread of the parent held the lock of the table when it was forked."""
    out = run_program(
        """
        import faulthandler, os, threading, acl
        from acl import _blocks
        acl.init(); acl.rt.set_device(0)
        pointer, _ = acl.rt.malloc_host(64)
        held, forked = threading.Event(), threading.Event()
        def hold():
            with _blocks._host_lock:
                held.set(); forked.wait(5)
        thread = threading.Thread(target=hold); thread.start(); held.wait(5)
        child = os.fork()
        if child == 0:
            faulthandler.dump_traceback_later(5, exit=True)
            print(acl.rt.free_host(pointer), acl.rt.free_host(pointer), flush=True)
            os._exit(0)
        forked.set(); thread.join()
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), acl.rt.free_host(pointer), acl.finalize())
        """
    )

    assert out.splitlines() == ["0 100000", "0 0 0"]


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
