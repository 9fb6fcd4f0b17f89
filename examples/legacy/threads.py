"""Serve requests by several threads, each with a context, a stream and memory of its own on the same device.

A context belongs to a thread only as long as it is current there: every thread makes its own with
``acl.rt.create_context``, and the main thread hands out work by a queue. Each request is a block of numbers that goes
to the device, is doubled there by the operator Add, and comes back. The exit status is 0 if all answers are right, 1 if
not.
"""

from __future__ import annotations

import json
import queue
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

import acl

ACL_INT32 = 3
ACL_FORMAT_ND = 2
ACL_MEM_MALLOC_HUGE_FIRST = 0
ACL_MEMCPY_HOST_TO_DEVICE = 1
ACL_MEMCPY_DEVICE_TO_HOST = 2
THREADS = 4
REQUESTS = 40
NUMBERS = 256
SIZE = 4 * NUMBERS


def check(ret: int) -> None:
    """End the program with the runtime's own words if a call has failed."""
    if ret:
        sys.exit(f"error {ret}: {acl.get_recent_err_msg()}")


def atc(*options: str) -> None:
    """Run the converter: the one beside this interpreter, or else the one on PATH."""
    beside = Path(sys.executable).with_name("atc")
    command = [str(beside) if beside.exists() else "atc", *options]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(done.stdout + done.stderr)


def compile_add(folder: Path) -> None:
    """Make the model of the operator."""
    numbers = {"format": "ND", "type": "int32", "shape": [NUMBERS]}
    (folder / "add.json").write_text(
        json.dumps([{"op": "Add", "input_desc": [numbers, numbers], "output_desc": [numbers]}])
    )
    atc(f"--singleop={folder}/add.json", f"--output={folder}", "--soc_version=Ascend310P3")


class Doubler:
    """What one thread needs; made, used and destroyed in that thread."""

    def __init__(self) -> None:
        self.context, ret = acl.rt.create_context(0)  # it is this thread's current one from here on
        check(ret)
        self.stream, ret = acl.rt.create_stream()
        check(ret)
        self.host, ret = acl.rt.malloc_host(SIZE)
        check(ret)
        self.pointers, self.buffers = [], []
        for _ in range(2):
            pointer, ret = acl.rt.malloc(SIZE, ACL_MEM_MALLOC_HUGE_FIRST)
            check(ret)
            self.pointers.append(pointer)
            self.buffers.append(acl.create_data_buffer(pointer, SIZE))
        self.desc = acl.create_tensor_desc(ACL_INT32, [NUMBERS], ACL_FORMAT_ND)

    def double(self, data: bytes) -> bytes:
        """Return the numbers twice as large."""
        source, (x, y) = acl.util.bytes_to_ptr(data), self.pointers
        check(acl.rt.memcpy_async(x, SIZE, source, SIZE, ACL_MEMCPY_HOST_TO_DEVICE, self.stream))
        inputs, outputs = [self.buffers[0]] * 2, [self.buffers[1]]
        check(acl.op.execute_v2("Add", [self.desc] * 2, inputs, [self.desc], outputs, 0, self.stream))
        check(acl.rt.memcpy_async(self.host, SIZE, y, SIZE, ACL_MEMCPY_DEVICE_TO_HOST, self.stream))
        check(acl.rt.synchronize_stream(self.stream))
        return acl.util.ptr_to_bytes(self.host, SIZE)

    def destroy(self) -> None:
        """Give everything back."""
        acl.destroy_tensor_desc(self.desc)
        for buffer, pointer in zip(self.buffers, self.pointers, strict=True):
            check(acl.destroy_data_buffer(buffer))
            check(acl.rt.free(pointer))
        check(acl.rt.free_host(self.host))
        check(acl.rt.destroy_stream(self.stream))
        check(acl.rt.destroy_context(self.context))


class Server:
    """The threads and the queue between them."""

    def __init__(self) -> None:
        self.requests: queue.SimpleQueue[tuple[int, bytes] | None] = queue.SimpleQueue()
        self.answers: dict[int, bytes] = {}
        self.served = [0] * THREADS
        self.threads = []
        for number in range(THREADS):
            thread, ret = acl.util.start_thread(self._serve, [number])
            check(ret)
            self.threads.append(thread)

    def _serve(self, arguments: list[int]) -> None:
        doubler = Doubler()
        try:
            while (request := self.requests.get()) is not None:
                number, data = request
                self.answers[number] = doubler.double(data)
                self.served[arguments[0]] += 1
        finally:
            doubler.destroy()

    def stop(self) -> None:
        """Let the threads end behind the last request, and wait for them."""
        for _ in self.threads:
            self.requests.put(None)
        for thread in self.threads:
            check(acl.util.stop_thread(thread))


def main() -> int:
    """Run the example."""
    random = np.random.default_rng(9)
    requests = [random.integers(-1000, 1000, NUMBERS, np.int32) for _ in range(REQUESTS)]
    with tempfile.TemporaryDirectory() as folder:
        compile_add(Path(folder))
        check(acl.init())
        try:
            check(acl.rt.set_device(0))
            check(acl.op.set_model_dir(folder))
            server = Server()
            for number, request in enumerate(requests):
                server.requests.put((number, request.tobytes()))
            server.stop()
            check(acl.rt.reset_device(0))
        finally:
            check(acl.finalize())
    right = sum(server.answers[number] == (2 * request).tobytes() for number, request in enumerate(requests))
    print(f"{'thread':>6}{'requests':>10}")
    for number, served in enumerate(server.served):
        print(f"{number:>6}{served:>10}")
    print(f"{right} of {REQUESTS} answers are right")
    return 0 if right == REQUESTS else 1


if __name__ == "__main__":
    sys.exit(main())
