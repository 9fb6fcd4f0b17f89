"""The end of the process, in any state: quick, with the right status, and silent."""

from __future__ import annotations

import time

import pytest

from tests.helpers import run_python

LIMIT = 5.0

ENDS = {
    "live stream": (
        "device = blocking.open_resource(aacl.Device(0)); stream = blocking.open_resource(aacl.Stream(device))",
        0,
    ),
    "used stream": (
        """
        device = blocking.open_resource(aacl.Device(0))
        stream = blocking.open_resource(aacl.Stream(device))
        stream.call(int).wait()
        a = stream.to_device(np.ones(4)).result()
        stream.execute(ops.Add(a, a)).wait()
        """,
        0,
    ),
    "running host call": (
        """
        device = blocking.open_resource(aacl.Device(0))
        stream = blocking.open_resource(aacl.Stream(device))
        started = threading.Event()
        stream.call(lambda: (started.set(), threading.Event().wait()))
        started.wait()
        stream.call(int)
        """,
        0,
    ),
    "running device work": (
        """
        from tests.helpers import PythonWork
        device = blocking.open_resource(aacl.Device(0))
        stream = blocking.open_resource(aacl.Stream(device))
        started = threading.Event()
        stream.execute(PythonWork(lambda: (started.set(), threading.Event().wait())))
        started.wait()
        """,
        0,
    ),
    "busy device work": (
        """
        device = blocking.open_resource(aacl.Device(0))
        stream = blocking.open_resource(aacl.Stream(device))
        a = stream.to_device(np.ones((600, 600), np.float32)).result()
        for _ in range(200):
            stream.execute(ops.MatMul(a, a))
        """,
        0,
    ),
    "parked stream": (
        """
        device = blocking.open_resource(aacl.Device(0))
        one, two = [blocking.open_resource(aacl.Stream(device)) for _ in range(2)]
        started = threading.Event()
        one.call(lambda: (started.set(), threading.Event().wait()))
        started.wait()
        two.wait_event(one.record_event())
        two.call(int)
        """,
        0,
    ),
    "unreceived failure": (
        """
        device = blocking.open_resource(aacl.Device(0))
        stream = blocking.open_resource(aacl.Stream(device))
        stream.call(lambda: 1 / 0)
        stream.barrier().wait()
        """,
        0,
    ),
    "sys.exit in a block": (
        """
        async def main():
            async with aacl.Device(0), aacl.Stream() as stream:
                stream.call(int)
                sys.exit(7)
        asyncio.run(main())
        """,
        7,
    ),
    "sys.exit in a with block": (
        """
        with blocking.Device(0), blocking.Stream() as stream:
            stream.stream.call(int)
            sys.exit(8)
        """,
        8,
    ),
    "sys.exit in a host call": (
        """
        with blocking.Device(0), blocking.Stream() as stream:
            stream.call(sys.exit, 9)
        """,
        9,
    ),
    "os._exit": ("device = blocking.open_resource(aacl.Device(0)); os._exit(3)", 3),
    "views left": (
        """
        with blocking.Device(0) as device:
            view = device.allocate(1000).view((1000,), np.uint8)
        """,
        0,
    ),
    "a cycle with everything": (
        """
        class Everything: pass
        everything = Everything()
        everything.itself = everything
        everything.device = blocking.open_resource(aacl.Device(0))
        everything.stream = blocking.open_resource(aacl.Stream(everything.device))
        everything.tensor = everything.stream.to_device(np.ones(9)).result()
        everything.completion = everything.stream.execute(ops.Add(everything.tensor, everything.tensor))
        """,
        0,
    ),
    "a loop closed with a stream open": (
        """
        async def main():
            device = await aacl.Device(0).open()
            stream = await aacl.Stream(device).open()
            stream.call(threading.Event().wait)
        asyncio.run(main())
        """,
        0,
    ),
    "a program's own exit handler": (
        """
        import atexit
        device = blocking.open_resource(aacl.Device(0))
        stream = blocking.open_resource(aacl.Stream(device))
        atexit.register(blocking.close, device)
        stream.call(int)
        """,
        0,
    ),
}


@pytest.mark.parametrize("state", ENDS)
def test_a_process_ends_in_any_state(state: str) -> None:
    """Within seconds, with its own status, and without a word."""
    program, status = ENDS[state]
    began = time.monotonic()
    done = run_python(program, warnings="")

    assert (done.status, done.output, done.errors) == (status, "", "")
    assert time.monotonic() - began < LIMIT


@pytest.mark.parametrize("state", ["live stream", "running host call", "a cycle with everything"])
def test_what_was_left_open_is_said_to_who_asks(state: str) -> None:
    """With warnings shown, one ResourceWarning names each device that nobody closed."""
    done = run_python(ENDS[state][0], warnings="default")

    assert (done.status, done.errors.count("ResourceWarning: unclosed device")) == (0, 1), done


def test_nothing_is_said_of_what_was_closed() -> None:
    """A program that closed its devices, in whatever way, is not warned."""
    done = run_python(
        """
        with blocking.Device(0), blocking.Stream() as stream:
            stream.call(int)
        device = blocking.open_resource(aacl.Device(0))
        blocking.open_resource(aacl.Stream(device))
        blocking.close(device)
        """,
        warnings="default",
    )

    assert (done.status, done.errors) == (0, ""), done


def test_an_exception_shows_its_own_traceback_only() -> None:
    """A program that dies of an error in a block shows that error, once."""
    done = run_python(
        """
        async def main():
            async with aacl.Device(0), aacl.Stream() as stream:
                stream.call(int)
                raise LookupError("the program's own")
        asyncio.run(main())
        """
    )

    assert done.status == 1
    assert done.errors.count("Traceback") == 1
    assert done.errors.endswith("LookupError: the program's own")


def test_sigterm_kills() -> None:
    """The default action is not touched, whatever runs."""
    done = run_python(
        """
        device = blocking.open_resource(aacl.Device(0))
        stream = blocking.open_resource(aacl.Stream(device))
        stream.call(threading.Event().wait)
        os.kill(os.getpid(), signal.SIGTERM)
        threading.Event().wait()
        """
    )

    assert done.status == -15


def test_a_fork_after_the_import() -> None:
    """The child opens devices of its own, with threads of its own, also when the parent had used some before."""
    done = run_python(
        """
        def use():
            with blocking.Device(0) as device, blocking.Stream() as stream:
                a = stream.to_device(np.arange(4))
                wide = stream.to_device(np.ones(1 << 20))
                stream.execute(ops.Add(wide, wide))
                assert stream.to_host(stream.execute(ops.Add(a, a))).tolist() == [0, 2, 4, 6]
                assert stream.call(lambda: "called") == "called"
                return device.memory().used
        for before in (False, True):
            if before:
                use()
            child = os.fork()
            if not child:
                use()
                os._exit(5)
            _, status = os.waitpid(child, 0)
            print(os.waitstatus_to_exitcode(status))
        use()
        """
    )

    assert (done.status, done.output) == (0, "5\n5"), done


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_multiprocessing(method: str) -> None:
    """Workers of multiprocessing run operators, each on its own device memory."""
    done = run_python(
        f"""
        import multiprocessing, warnings
        warnings.simplefilter("ignore", DeprecationWarning)
        from tests.helpers._remote import double
        with multiprocessing.get_context({method!r}).Pool(2) as pool:
            print(pool.map(double, range(6)))
        """,
        timeout=18,
    )

    assert (done.status, done.output) == (0, "[0, 2, 4, 6, 8, 10]"), done


def test_importing_starts_nothing() -> None:
    """No thread, no event loop and no device before the first use."""
    done = run_python("print(threading.active_count(), aacl.open_resources())")

    assert (done.status, done.output) == (0, "1 {}")
