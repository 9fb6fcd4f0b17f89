"""Blocks that nobody uses are found again, by many threads at once."""

from __future__ import annotations

import sys
import threading

import aacl


def test_threads_that_allocate_and_free_never_share_a_block() -> None:
    """Allocations of several threads are apart, at true addresses, whatever is swept in between."""
    wrong: list[str] = []
    interval = sys.getswitchinterval()
    with aacl.blocking.Device(0) as device:

        def work(number: int) -> None:
            for step in range(1500):
                buffers = [device.allocate(size) for size in (64, 4096, 100 + step % 40)]
                if not all(buffer.address for buffer in buffers):
                    wrong.append(f"thread {number}: a buffer at address 0")
                for buffer in buffers:
                    buffer.view((8,), "uint8")[:] = number
                if any(buffer.view((8,), "uint8").tolist() != [number] * 8 for buffer in buffers):
                    wrong.append(f"thread {number}: somebody else wrote into its buffer")

        sys.setswitchinterval(1e-5)
        try:
            threads = [threading.Thread(target=work, args=(number,)) for number in range(1, 7)]
            for each in threads:
                each.start()
            for each in threads:
                each.join()
        finally:
            sys.setswitchinterval(interval)

        assert wrong == []
        assert device.memory().used == 0
