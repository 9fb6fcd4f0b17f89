"""Copy a picture to the device and back: at once, on a stream, through a second place there, row by row.

Every way ends with the picture back on the host, where it is compared with the original. The exit status is 0 if all
agree, 1 if not.
"""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING

import numpy as np

import acl

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

ACL_MEM_MALLOC_HUGE_FIRST = 0
ACL_MEMCPY_HOST_TO_DEVICE = 1
ACL_MEMCPY_DEVICE_TO_HOST = 2
ACL_MEMCPY_DEVICE_TO_DEVICE = 3
HEIGHT, WIDTH, PITCH = 720, 1280, 1536  # bytes; rows on the device begin every PITCH bytes
SIZE = HEIGHT * WIDTH
GREY = 0x80


def check(ret: int) -> None:
    """End the program with the runtime's own words if a call has failed."""
    if ret:
        sys.exit(f"error {ret}: {acl.get_recent_err_msg()}")


class Copies:
    """Memory on the host and on the device, and the ways from one to the other; `release` gives it back."""

    def __init__(self, picture: NDArray[np.uint8]) -> None:
        self.picture = picture
        self.source = acl.util.numpy_to_ptr(picture)
        self.device: list[int] = []
        self.host, ret = acl.rt.malloc_host(SIZE)
        check(ret)
        for size in (SIZE, HEIGHT * PITCH):
            pointer, ret = acl.rt.malloc(size, ACL_MEM_MALLOC_HUGE_FIRST)
            check(ret)
            self.device.append(pointer)
        self.stream, ret = acl.rt.create_stream()
        check(ret)

    def synchronous(self) -> None:
        """Copy there and back; each call returns when the bytes are there."""
        check(acl.rt.memcpy(self.device[0], SIZE, self.source, SIZE, ACL_MEMCPY_HOST_TO_DEVICE))
        check(acl.rt.memcpy(self.host, SIZE, self.device[0], SIZE, ACL_MEMCPY_DEVICE_TO_HOST))

    def on_a_stream(self) -> None:
        """Queue both copies, and wait once."""
        check(acl.rt.memcpy_async(self.device[0], SIZE, self.source, SIZE, ACL_MEMCPY_HOST_TO_DEVICE, self.stream))
        check(acl.rt.memcpy_async(self.host, SIZE, self.device[0], SIZE, ACL_MEMCPY_DEVICE_TO_HOST, self.stream))
        check(acl.rt.synchronize_stream(self.stream))

    def within_the_device(self) -> None:
        """Go through a second place on the device."""
        first, second = self.device
        check(acl.rt.memcpy(first, SIZE, self.source, SIZE, ACL_MEMCPY_HOST_TO_DEVICE))
        check(acl.rt.memcpy(second, SIZE, first, SIZE, ACL_MEMCPY_DEVICE_TO_DEVICE))
        check(acl.rt.memcpy(self.host, SIZE, second, SIZE, ACL_MEMCPY_DEVICE_TO_HOST))

    def row_by_row(self) -> None:
        """Give every row the pitch that pictures have on a device, and take it away again."""
        padded = self.device[1]
        check(acl.rt.memcpy2d(padded, PITCH, self.source, WIDTH, WIDTH, HEIGHT, ACL_MEMCPY_HOST_TO_DEVICE))
        check(acl.rt.memcpy2d(self.host, WIDTH, padded, PITCH, WIDTH, HEIGHT, ACL_MEMCPY_DEVICE_TO_HOST))

    def clear(self) -> None:
        """Make the host's memory grey, so that nothing of the copy before is taken for this one's."""
        check(acl.rt.memset(self.host, SIZE, GREY, SIZE))

    def is_right(self) -> bool:
        """Whether the host's memory holds the picture."""
        return acl.util.ptr_to_bytes(self.host, SIZE) == self.picture.tobytes()

    def release(self) -> None:
        """Give everything back."""
        check(acl.rt.destroy_stream(self.stream))
        for pointer in self.device:
            check(acl.rt.free(pointer))
        check(acl.rt.free_host(self.host))


def measure(copies: Copies, way: Callable[[], None]) -> tuple[bool, float]:
    """Return whether a way brings the picture back, and the milliseconds it takes."""
    copies.clear()
    start = time.perf_counter()
    way()
    milliseconds = (time.perf_counter() - start) * 1000
    return copies.is_right(), milliseconds


def main() -> int:
    """Copy in every way, print a line each, and return the exit status."""
    picture = np.random.default_rng(1).integers(0, 256, (HEIGHT, WIDTH), np.uint8)
    check(acl.init())
    try:
        check(acl.rt.set_device(0))
        copies = Copies(picture)
        ways = (copies.synchronous, copies.on_a_stream, copies.within_the_device, copies.row_by_row)
        all_right = True
        print(f"{'way':<20}{'ms':>8}  picture")
        for way in ways:
            right, milliseconds = measure(copies, way)
            print(f"{way.__name__.replace('_', ' '):<20}{milliseconds:>8.2f}  {'as it was' if right else 'changed'}")
            all_right = all_right and right
        copies.release()
        check(acl.rt.reset_device(0))
    finally:
        check(acl.finalize())
    print(f"{SIZE} bytes came back {'the same' if all_right else 'changed'} in {len(ways)} ways")
    return 0 if all_right else 1


if __name__ == "__main__":
    sys.exit(main())
