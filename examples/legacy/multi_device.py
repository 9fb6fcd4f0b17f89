"""Use every device there is: each has a context and a stream of its own, and one thread submits to all of them.

A token goes round: each device gets it from the one before by a copy between devices, and adds its mark. How much
memory each has is told, too. The marks are looked at in the end. The exit status is 0 if all are there, 1 if not.
"""

from __future__ import annotations

import sys

import numpy as np

import acl

ACL_MEM_MALLOC_HUGE_FIRST = 0
ACL_MEMCPY_DEVICE_TO_HOST = 2
ACL_MEMCPY_DEVICE_TO_DEVICE = 3
ACL_HBM_MEM = 1
ROUNDS = 3
ROOM = 1024


def check(ret: int) -> None:
    """End the program with the runtime's own words if a call has failed."""
    if ret:
        sys.exit(f"error {ret}: {acl.get_recent_err_msg()}")


class Worker:
    """One device with its context, stream and memory; `release` gives it back."""

    def __init__(self, device: int) -> None:
        self.device = device
        check(acl.rt.set_device(device))
        self.context, ret = acl.rt.create_context(device)
        check(ret)
        self.stream, ret = acl.rt.create_stream()
        check(ret)
        self.token, ret = acl.rt.malloc(ROOM, ACL_MEM_MALLOC_HUGE_FIRST)
        check(ret)
        check(acl.rt.memset(self.token, ROOM, 0, ROOM))

    def take(self, token: int, length: int) -> None:
        """Copy the token from wherever it is, and add this device's mark."""
        check(acl.rt.set_context(self.context))
        if length:
            check(acl.rt.memcpy_async(self.token, ROOM, token, length, ACL_MEMCPY_DEVICE_TO_DEVICE, self.stream))
        check(acl.rt.memset_async(self.token + length, 1, ord("0") + self.device % 10, 1, self.stream))
        check(acl.rt.synchronize_stream(self.stream))

    def read(self, length: int) -> str:
        """Return what the token says."""
        check(acl.rt.set_context(self.context))
        text = np.empty(length, np.uint8)
        check(acl.rt.memcpy(acl.util.numpy_to_ptr(text), length, self.token, length, ACL_MEMCPY_DEVICE_TO_HOST))
        return text.tobytes().decode()

    def memory(self) -> tuple[int, int]:
        """Return how many MiB are free, and how many there are."""
        check(acl.rt.set_context(self.context))
        free, total, ret = acl.rt.get_mem_info(ACL_HBM_MEM)
        check(ret)
        return free >> 20, total >> 20

    def release(self) -> None:
        """Give everything back."""
        check(acl.rt.set_context(self.context))
        check(acl.rt.free(self.token))
        check(acl.rt.destroy_stream(self.stream))
        check(acl.rt.destroy_context(self.context))
        check(acl.rt.reset_device(self.device))


def pass_round(workers: list[Worker]) -> str:
    """Let the token go round, and return its marks."""
    token, length = 0, 0
    for worker in workers * ROUNDS:
        worker.take(token, length)
        token, length = worker.token, length + 1
    return workers[-1].read(length)


def main() -> int:
    """Run the example."""
    check(acl.init())
    try:
        count, ret = acl.rt.get_device_count()
        check(ret)
        workers = [Worker(device) for device in range(count)]
        print(f"{'device':>6}{'free MiB':>10}{'MiB':>8}")
        for worker in workers:
            free, total = worker.memory()
            print(f"{worker.device:>6}{free:>10}{total:>8}")
        marks = pass_round(workers)
        for worker in workers:
            worker.release()
    finally:
        check(acl.finalize())
    expected = "".join(str(device % 10) for device in range(count)) * ROUNDS
    print(f"the token was at {' '.join(marks)}")
    return 0 if marks == expected else 1


if __name__ == "__main__":
    sys.exit(main())
