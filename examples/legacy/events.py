"""Let streams wait for each other by events, and see how long the device worked.

A producer's stream fills memory, a consumer's copies it to the host. Two events a round keep them in step: "full" lets
the consumer wait for the producer, "empty" the producer for the consumer. Events with times around the whole tell how
long it took on the device. Every round's bytes are looked at. The exit status is 0 if all are right, 1 if not.
"""

from __future__ import annotations

import sys

import acl

ACL_MEM_MALLOC_HUGE_FIRST = 0
ACL_MEMCPY_DEVICE_TO_HOST = 2
ACL_EVENT_SYNC = 0x1
ACL_EVENT_TIME_LINE = 0x8
ACL_EVENT_RECORDED_STATUS_COMPLETE = 1
SIZE = 1 << 20
ROUNDS = 8


def check(ret: int) -> None:
    """End the program with the runtime's own words if a call has failed."""
    if ret:
        sys.exit(f"error {ret}: {acl.get_recent_err_msg()}")


def events(count: int, flag: int) -> list[int]:
    """Make events."""
    made = []
    for _ in range(count):
        event, ret = acl.rt.create_event_with_flag(flag)
        check(ret)
        made.append(event)
    return made


class Rounds:
    """Two streams that pass one block of memory back and forth; `release` ends them."""

    def __init__(self) -> None:
        self.producer, ret = acl.rt.create_stream()
        check(ret)
        self.consumer, ret = acl.rt.create_stream()
        check(ret)
        self.full, self.empty = events(ROUNDS, ACL_EVENT_SYNC), events(ROUNDS, ACL_EVENT_SYNC)
        self.start, self.end = events(2, ACL_EVENT_TIME_LINE)
        self.block, ret = acl.rt.malloc(SIZE, ACL_MEM_MALLOC_HUGE_FIRST)
        check(ret)
        self.results = []
        for _ in range(ROUNDS):
            pointer, ret = acl.rt.malloc_host(SIZE)
            check(ret)
            self.results.append(pointer)

    def submit(self) -> None:
        """Queue all rounds on both streams; nothing waits on the host."""
        check(acl.rt.record_event(self.start, self.producer))
        for number in range(ROUNDS):
            if number:
                check(acl.rt.stream_wait_event(self.producer, self.empty[number - 1]))
            check(acl.rt.memset_async(self.block, SIZE, number + 1, SIZE, self.producer))
            check(acl.rt.record_event(self.full[number], self.producer))

            check(acl.rt.stream_wait_event(self.consumer, self.full[number]))
            target = self.results[number]
            check(acl.rt.memcpy_async(target, SIZE, self.block, SIZE, ACL_MEMCPY_DEVICE_TO_HOST, self.consumer))
            check(acl.rt.record_event(self.empty[number], self.consumer))
        check(acl.rt.record_event(self.end, self.consumer))

    def wait(self) -> float:
        """Wait for the last event, and return the milliseconds since the first one."""
        check(acl.rt.synchronize_event(self.end))
        status, ret = acl.rt.query_event_status(self.start)
        check(ret)
        assert status == ACL_EVENT_RECORDED_STATUS_COMPLETE
        milliseconds, ret = acl.rt.event_elapsed_time(self.start, self.end)
        check(ret)
        return float(milliseconds)

    def right_ones(self) -> int:
        """Return in how many rounds the consumer saw what the producer wrote in that round."""
        seen = [acl.util.ptr_to_bytes(pointer, SIZE) for pointer in self.results]
        return sum(data == bytes([number + 1]) * SIZE for number, data in enumerate(seen))

    def release(self) -> None:
        """Give everything back."""
        for event in (*self.full, *self.empty, self.start, self.end):
            check(acl.rt.destroy_event(event))
        for pointer in self.results:
            check(acl.rt.free_host(pointer))
        check(acl.rt.free(self.block))
        for stream in (self.producer, self.consumer):
            check(acl.rt.destroy_stream(stream))


def main() -> int:
    """Run the example."""
    check(acl.init())
    try:
        check(acl.rt.set_device(0))
        rounds = Rounds()
        rounds.submit()
        milliseconds = rounds.wait()
        right = rounds.right_ones()
        rounds.release()
        check(acl.rt.reset_device(0))
    finally:
        check(acl.finalize())
    print(f"{ROUNDS} rounds of {SIZE >> 10} KiB took {milliseconds:.2f} ms on the device")
    print(f"the consumer saw its own round's bytes in {right} of {ROUNDS} rounds")
    return 0 if right == ROUNDS else 1


if __name__ == "__main__":
    sys.exit(main())
