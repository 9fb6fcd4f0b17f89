"""Hand finished work over by callbacks: a thread of the program's runs a function when its place in the stream comes.

Lines of text go through the device one after the other. Behind the copies of each stands a callback, which takes the
result away; the main thread only submits, and never waits in between. What arrives is compared with what was sent. The
exit status is 0 if all agree, 1 if not.
"""

from __future__ import annotations

import sys
import threading

import acl

ACL_MEM_MALLOC_HUGE_FIRST = 0
ACL_MEMCPY_HOST_TO_DEVICE = 1
ACL_MEMCPY_DEVICE_TO_HOST = 2
ACL_CALLBACK_NO_BLOCK = 0
ACL_CALLBACK_BLOCK = 1
TIMEOUT_MS = 100
ROOM = 64
LINES = ("The first line", "goes ahead,", "the others follow", "in the order", "in which they came.")


def check(ret: int) -> None:
    """End the program with the runtime's own words if a call has failed."""
    if ret:
        sys.exit(f"error {ret}: {acl.get_recent_err_msg()}")


class Reporter:
    """A thread that runs the callbacks of a stream."""

    def __init__(self, context: int, stream: int) -> None:
        self.stream = stream
        self._goes_on = True
        self.thread, ret = acl.util.start_thread(self._run, [context])
        check(ret)
        check(acl.rt.subscribe_report(self.thread, stream))

    def _run(self, arguments: list[int]) -> None:
        check(acl.rt.set_context(arguments[0]))
        while self._goes_on:
            acl.rt.process_report(TIMEOUT_MS)  # a code that says "none came in time" is no failure

    def stop(self) -> None:
        """End the subscription, then the thread."""
        check(acl.rt.unsubscribe_report(self.thread, self.stream))
        self._goes_on = False
        check(acl.util.stop_thread(self.thread))


class Line:
    """One line of text on its way."""

    def __init__(self, number: int, text: str) -> None:
        self.number, self.data = number, text.encode().ljust(ROOM)
        self.device, ret = acl.rt.malloc(ROOM, ACL_MEM_MALLOC_HUGE_FIRST)
        check(ret)
        self.host, ret = acl.rt.malloc_host(ROOM)
        check(ret)

    def submit(self, stream: int) -> None:
        """Queue the way to the device and back."""
        source = acl.util.bytes_to_ptr(self.data)  # self.data stays alive until the copy is over
        check(acl.rt.memcpy_async(self.device, ROOM, source, ROOM, ACL_MEMCPY_HOST_TO_DEVICE, stream))
        check(acl.rt.memcpy_async(self.host, ROOM, self.device, ROOM, ACL_MEMCPY_DEVICE_TO_HOST, stream))

    def release(self) -> None:
        """Give the memory back."""
        check(acl.rt.free(self.device))
        check(acl.rt.free_host(self.host))


class Inbox:
    """What has come back, and which thread brought it."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self.threads: set[int] = set()
        self.told: list[int] = []

    def take(self, data: list[Line]) -> None:
        """Keep a line that is through; the stream waits for this."""
        line = data[0]
        self.texts.append(acl.util.ptr_to_bytes(line.host, ROOM).decode().rstrip())
        self.threads.add(threading.get_ident())
        line.release()

    def tell(self, data: list[int]) -> None:
        """Note that a line was taken; the stream does not wait for this."""
        self.told.append(data[0])


def send(stream: int, inbox: Inbox) -> None:
    """Submit all lines, each with its callbacks."""
    for number, text in enumerate(LINES):
        line = Line(number, text)
        line.submit(stream)
        check(acl.rt.launch_callback(inbox.take, [line], ACL_CALLBACK_BLOCK, stream))
        check(acl.rt.launch_callback(inbox.tell, [number], ACL_CALLBACK_NO_BLOCK, stream))


def main() -> int:
    """Run the example."""
    inbox = Inbox()
    check(acl.init())
    try:
        check(acl.rt.set_device(0))
        context, ret = acl.rt.get_context()
        check(ret)
        stream, ret = acl.rt.create_stream()
        check(ret)
        reporter = Reporter(context, stream)
        send(stream, inbox)
        check(acl.rt.synchronize_stream(stream))
        for number, text in enumerate(inbox.texts):
            print(f"{number}  {text}")
        own_thread = inbox.threads == {reporter.thread}
        reporter.stop()
        check(acl.rt.destroy_stream(stream))
        check(acl.rt.reset_device(0))
    finally:
        check(acl.finalize())
    agrees = own_thread and inbox.texts == [*LINES] and sorted(inbox.told) == [*range(len(LINES))]
    print("all lines came in order, by the reporting thread" if agrees else "lines are missing, or came otherwise")
    return 0 if agrees else 1


if __name__ == "__main__":
    sys.exit(main())
