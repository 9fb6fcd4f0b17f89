"""The compat face: small calls beside the bare work, how soon waits end, and an operator by handles beside ONNX Runtime.

Both sides of the memory rows are a few microseconds of Python, on which noise only adds: the first
deciles of short rounds are compared.
"""

from __future__ import annotations

import asyncio
import ctypes
import json
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

import acl
from aacl.converter import convert_operators
from benchmarks import _adds, _calls, _wakes
from benchmarks._harness import Side, Steps, alternate, timed
from benchmarks._result import Result, at_most

__all__ = ("measure",)

MEMORY_ROUNDS = 2000
ROUNDS = 400
COUNT = 100
RUNS = 40
BLOCK = 4096
BLOCKS = 20_000
H2D, D2H = 1, 2
INT32, ND = 3, 2


def measure() -> list[Result]:
    """Measure malloc and free, memcpy, other small calls, wake-ups, and execute_v2 with synchronize_stream."""
    with tempfile.TemporaryDirectory() as folder, _device(Path(folder)):
        results = asyncio.run(_memory(""))
        blocks = [_malloc() for _ in range(BLOCKS)]
        results += asyncio.run(_memory(f", {BLOCKS:,} live blocks"))
        for block in blocks:
            _check(acl.rt.free(block))
        results += asyncio.run(_calls.measure())
        results += asyncio.run(_wakes.measure())
        return [*results, *asyncio.run(_operator())]


@contextmanager
def _device(folder: Path) -> Iterator[None]:
    """Take device 0, with the operator model of the Add found."""
    tensor = {"format": "ND", "shape": list(_adds.SUM.shape), "type": "int32"}
    file = folder / "add.json"
    file.write_text(json.dumps([{"op": "Add", "input_desc": [tensor, tensor], "output_desc": [tensor]}]))
    convert_operators(file, folder / "operators", soc_version="Ascend310P3")
    _check(acl.init())
    _check(acl.rt.set_device(0))
    _check(acl.op.set_model_dir(str(folder / "operators")))
    yield
    _check(acl.rt.reset_device(0))
    _check(acl.finalize())


async def _memory(suffix: str) -> list[Result]:
    samples = await alternate({**_allocation(), **_copies()}, MEMORY_ROUNDS)
    return [
        _calls.above_bare(samples, f"malloc + free{suffix}", "malloc + free", "C malloc + free"),
        _calls.above_bare(samples, f"memcpy of 4 KiB to the device{suffix}", "to the device", "memmove"),
        _calls.above_bare(samples, f"memcpy of 4 KiB from the device{suffix}", "from the device", "memmove"),
    ]


def _allocation() -> dict[str, Side]:
    library = ctypes.CDLL(None)
    allocate, release = library.malloc, library.free
    allocate.restype, allocate.argtypes, release.argtypes = ctypes.c_void_p, [ctypes.c_size_t], [ctypes.c_void_p]
    release.restype = None

    @timed(COUNT)
    def ours(steps: Steps) -> None:
        for _ in steps:
            address, _ret = acl.rt.malloc(BLOCK, 0)
            acl.rt.free(address)

    @timed(COUNT)
    def bare(steps: Steps) -> None:
        for _ in steps:
            release(allocate(BLOCK))

    return {"malloc + free": ours, "C malloc + free": bare}


def _copies() -> dict[str, Side]:
    device, host = _malloc(), acl.util.bytes_to_ptr(_HOST)
    copy = ctypes.memmove

    @timed(COUNT)
    def to_device(steps: Steps) -> None:
        for _ in steps:
            acl.rt.memcpy(device, BLOCK, host, BLOCK, H2D)

    @timed(COUNT)
    def from_device(steps: Steps) -> None:
        for _ in steps:
            acl.rt.memcpy(host, BLOCK, device, BLOCK, D2H)

    @timed(COUNT)
    def bare(steps: Steps) -> None:
        for _ in steps:
            copy(device, host, BLOCK)

    return {"to the device": to_device, "from the device": from_device, "memmove": bare}


_HOST = bytes(bytearray(BLOCK))


async def _operator() -> list[Result]:
    stream, ret = acl.rt.create_stream()
    _check(ret)
    pointers = [_malloc(_adds.SUM.nbytes) for _ in range(3)]
    for pointer, array in zip(pointers, (_adds.LEFT, _adds.RIGHT), strict=False):
        data = array.tobytes()
        _check(acl.rt.memcpy(pointer, len(data), acl.util.bytes_to_ptr(data), len(data), H2D))
    sides = {"reused handles": _reused(stream, pointers), "new handles": _renewed(stream, pointers)}
    for side in sides.values():
        _check(acl.rt.memset(pointers[2], _adds.SUM.nbytes, 0xFF, _adds.SUM.nbytes))
        side()
        np.testing.assert_array_equal(_contents(pointers[2]), _adds.SUM)
    samples = await alternate({**sides, "onnxruntime run": _adds.session_run(RUNS)}, ROUNDS)
    _check(acl.rt.destroy_stream(stream))
    return [
        at_most(f"execute_v2 + synchronize_stream, {side} / onnxruntime run", samples.ratio(side, "onnxruntime run"),
                limit, detail=", ".join(f"{each} {samples.median(each) * 1e6:.1f} µs"
                                        for each in (side, "onnxruntime run")))
        for side, limit in (("reused handles", 1.0), ("new handles", 2.2))
    ]  # fmt: skip


def _reused(stream: int, pointers: list[int]) -> Side:
    descs, buffers, attr = _handles(pointers)
    inputs, data = descs[:2], buffers[:2]
    output, result = descs[2:], buffers[2:]

    @timed(RUNS)
    def run(steps: Steps) -> None:
        for _ in steps:
            _check(acl.op.execute_v2("Add", inputs, data, output, result, attr, stream))
            _check(acl.rt.synchronize_stream(stream))

    return run


def _renewed(stream: int, pointers: list[int]) -> Side:
    @timed(RUNS)
    def run(steps: Steps) -> None:
        for _ in steps:
            descs, buffers, attr = _handles(pointers)
            _check(acl.op.execute_v2("Add", descs[:2], buffers[:2], descs[2:], buffers[2:], attr, stream))
            _check(acl.rt.synchronize_stream(stream))
            for desc in descs:
                acl.destroy_tensor_desc(desc)
            for buffer in buffers:
                acl.destroy_data_buffer(buffer)
            acl.op.destroy_attr(attr)

    return run


def _handles(pointers: list[int]) -> tuple[list[int], list[int], int]:
    descs = [acl.create_tensor_desc(INT32, [8, 16], ND) for _ in pointers]
    buffers = [acl.create_data_buffer(pointer, 512) for pointer in pointers]
    return descs, buffers, acl.op.create_attr()


def _contents(pointer: int) -> np.ndarray[tuple[int, ...], np.dtype[np.int32]]:
    data = acl.util.ptr_to_bytes(pointer, _adds.SUM.nbytes)
    return np.frombuffer(data, np.int32).reshape(_adds.SUM.shape)


def _malloc(nbytes: int = BLOCK) -> int:
    address, ret = acl.rt.malloc(nbytes, 0)
    _check(ret)
    return int(address)


def _check(ret: int) -> None:
    if ret:
        raise RuntimeError(f"{ret}: {acl.get_recent_err_msg()}")
