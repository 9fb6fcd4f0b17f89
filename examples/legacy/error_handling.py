"""Make the mistakes that programs make, and see how pyACL tells them.

Nothing raises: every call gives a code, 0 for success, and ``acl.get_recent_err_msg()`` says the latest failure in
words. What fails on the device is told late: by the next call that waits for the stream. The program goes on after
each, as one that serves others must. The exit status is 0 if every mistake was told by the code that stands for it, 1
if not.
"""

from __future__ import annotations

import contextlib
import io
import sys
import textwrap
from typing import TYPE_CHECKING

import acl

if TYPE_CHECKING:
    from collections.abc import Callable

ACL_SUCCESS = 0
ACL_ERROR_INVALID_PARAM = 100000
ACL_ERROR_UNINITIALIZE = 100001
ACL_ERROR_OP_NOT_FOUND = 100024
ACL_ERROR_RT_INVALID_DEVICEID = 107001
ACL_ERROR_RT_CONTEXT_NULL = 107002
ACL_ERROR_RT_MEMORY_ALLOCATION = 207001
ACL_ERROR_FAILURE = 500001
ACL_ERROR_GE_EXEC_MODEL_PATH_INVALID = 145002

ACL_FLOAT, ACL_FORMAT_ND = 0, 2
ACL_MEM_MALLOC_HUGE_FIRST = 0
ACL_CALLBACK_BLOCK = 1
NO_DEVICE = 4000
HUGE = 1 << 50
TIMEOUT_MS = 100


def check(ret: int) -> None:
    """End the program with the runtime's own words if a call has failed."""
    if ret:
        sys.exit(f"error {ret}: {acl.get_recent_err_msg()}")


def no_initialisation() -> int:
    """Ask for a device before ``acl.init``."""
    ret: int = acl.rt.set_device(0)
    return ret


def no_context() -> int:
    """Make a stream before any device was set in this thread."""
    _, ret = acl.rt.create_stream()
    return int(ret)


def no_such_device() -> int:
    """Set a device that the machine has not."""
    ret: int = acl.rt.set_device(NO_DEVICE)
    return ret


def too_much_memory() -> int:
    """Ask for more memory than a device has."""
    _, ret = acl.rt.malloc(HUGE, ACL_MEM_MALLOC_HUGE_FIRST)
    return int(ret)


def freed_twice() -> int:
    """Free memory that was freed before."""
    pointer, ret = acl.rt.malloc(64, ACL_MEM_MALLOC_HUGE_FIRST)
    check(ret)
    check(acl.rt.free(pointer))
    ret = acl.rt.free(pointer)
    return int(ret)


def no_model_file() -> int:
    """Load a model from a path that names none."""
    _, ret = acl.mdl.load_from_file("no_such_model.om")
    return int(ret)


def no_operator_model() -> int:
    """Run an operator that no loaded model serves."""
    desc = acl.create_tensor_desc(ACL_FLOAT, [4], ACL_FORMAT_ND)
    pointer, ret = acl.rt.malloc(16, ACL_MEM_MALLOC_HUGE_FIRST)
    check(ret)
    buffer = acl.create_data_buffer(pointer, 16)
    ret = acl.op.execute_v2("Abs", [desc], [buffer], [desc], [buffer], 0, 0)
    check(acl.destroy_data_buffer(buffer))
    check(acl.rt.free(pointer))
    acl.destroy_tensor_desc(desc)
    return int(ret)


class Reporter:
    """A thread that runs the callbacks of a stream."""

    def __init__(self, context: int, stream: int) -> None:
        self.stream, self._goes_on = stream, True
        self.thread, ret = acl.util.start_thread(self._run, [context])
        check(ret)
        check(acl.rt.subscribe_report(self.thread, stream))

    def _run(self, arguments: list[int]) -> None:
        check(acl.rt.set_context(arguments[0]))
        while self._goes_on:
            acl.rt.process_report(TIMEOUT_MS)

    def stop(self) -> None:
        """End the subscription, then the thread."""
        check(acl.rt.unsubscribe_report(self.thread, self.stream))
        self._goes_on = False
        check(acl.util.stop_thread(self.thread))


def late_failure() -> int:
    """Submit work that fails: submitting is fine, and the synchronise has the code; the one after it is fine again."""
    context, ret = acl.rt.get_context()
    check(ret)
    stream, ret = acl.rt.create_stream()
    check(ret)
    reporter = Reporter(context, stream)
    with contextlib.redirect_stderr(io.StringIO()):  # the traceback of the callback would stand in the table
        check(acl.rt.launch_callback(lambda _data: 1 // 0, [], ACL_CALLBACK_BLOCK, stream))
        ret = acl.rt.synchronize_stream(stream)
    check(acl.rt.synchronize_stream(stream))
    reporter.stop()
    check(acl.rt.destroy_stream(stream))
    return int(ret)


class Table:
    """The lines that are printed, and whether all codes were the right ones."""

    def __init__(self) -> None:
        self.right = True

    def add(self, mistake: Callable[[], int], expected: int) -> None:
        """Make a mistake, and print what the runtime says."""
        code = mistake()
        text = acl.get_recent_err_msg() or "(no text)"
        self.right = self.right and code == expected
        print(f"{code:>6}  {mistake.__name__.replace('_', ' ')}")
        print(textwrap.fill(text, 100, initial_indent=" " * 8, subsequent_indent=" " * 8))


def main() -> int:
    """Make all mistakes, and return the exit status."""
    table = Table()
    table.add(no_initialisation, ACL_ERROR_UNINITIALIZE)
    check(acl.init())
    try:
        table.add(no_context, ACL_ERROR_RT_CONTEXT_NULL)
        table.add(no_such_device, ACL_ERROR_RT_INVALID_DEVICEID)
        check(acl.rt.set_device(0))
        table.add(too_much_memory, ACL_ERROR_RT_MEMORY_ALLOCATION)
        table.add(freed_twice, ACL_ERROR_INVALID_PARAM)
        table.add(no_model_file, ACL_ERROR_GE_EXEC_MODEL_PATH_INVALID)
        table.add(no_operator_model, ACL_ERROR_OP_NOT_FOUND)
        table.add(late_failure, ACL_ERROR_FAILURE)
        check(acl.rt.reset_device(0))
    finally:
        check(acl.finalize())
    print("every mistake was told by its code" if table.right else "some codes are others than expected")
    return 0 if table.right else 1


if __name__ == "__main__":
    sys.exit(main())
