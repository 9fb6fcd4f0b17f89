"""Arguments for calls: what fits a parameter, and what does not.

A recipe is a source and a number, so that it means something in every state of the world. Addresses are
those of memory that is the runtime's or lies between guards, of memory that the runtime had and gave back, null,
misaligned, and ones that no process has: what else an address may hit, no runtime can know.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from tests.helpers.fuzz._call_world import World, kinds

__all__ = ("SOURCES", "argument", "fits")

SOURCES = ("good", "stale", "other", "number", "hostile", "hostile")
"""Where an argument comes from: it may well be right; it is dead; it is of another kind; any number; any object."""
_SMALL = (0, 1, 2, 3, 4, 5, 7, 8, 11, 16, 31, 32, 33, 63, 64, 65, 100, 255, 256, 1000, 4096, 1 << 16, 1 << 20, -1, -2)
_LARGE = (
    (1 << 31) - 1, 1 << 31, (1 << 32) - 1, 1 << 32, (1 << 63) - 1, 1 << 63, (1 << 64) - 1, 1 << 64, 1 << 200,
    -(1 << 31), -(1 << 63), -(1 << 63) - 1, -(1 << 200), -7,
)  # fmt: skip
_TEXTS = (
    "Add", "Cast", "MatMul", "x", "y", "axis", "", "\ud800", "a\0b", "\0", "é\U0001f600", "A" * 10_000, "%s%n{0}", "../..",
    "Ascend310P3", "precision_mode", "3", "-1", "[1,2]", "batch:2",
)  # fmt: skip
_FILES = ("add1.om", "text.om", "acl.json", "none.om", "", "made", "a\0b.om", "\udcff", "b" * 300, "c/" * 200)
_HANDLES = {  # parameters whose names do not say the kind
    "input": "dataset", "output": "dataset", "attr": "operator attribute", "handle": "operator handle",
    "allocator_desc": "allocator description", "config_handle": "model config", "exec_config": "exec config",
    "src_buffer": "data buffer", "dst_buffer": "data buffer", "src_desc": "tensor desc", "dst_desc": "tensor desc",
    "inputs": "data buffer", "outputs": "data buffer", "input_descs": "tensor desc", "output_descs": "tensor desc",
    "start_event": "event", "end_event": "event", "bundle_id": "model bundle", "range_id": "profiled range",
    "profiler_config": "profiling config", "subscribe_config": "subscription config",
}  # fmt: skip
_ADDRESS = re.compile(
    r"(^|_)(ptr|addr|address|src|dst|alpha|beta|[abcxy]|matrix|memory|op_info|bin_data|data|pointer)(_|$)"
)
_THREADS = ("thread_id",)
_TIMES = re.compile("timeout|time_out|interval")


def _raise(*_: object) -> None:
    raise RuntimeError("raised by the program's own function")


# What parameters are usually given, so that calls get further than their first check.
_USUAL: Mapping[str, tuple[Any, ...]] = {
    "size": (64, 16, 32, 100), "count": (16, 64, 32, 0), "dest_max": (64, 16, 100), "max_count": (64, 100),
    "kind": (1, 2, 3, 4, 0), "width": (4, 8, 16), "height": (2, 4, 1), "spitch": (16, 8), "dpitch": (16, 8),
    "device_id": (0, 0, 1), "peer_device_id": (1, 0), "index": (0, 0, 1), "type": (0, 1, 2), "data_type": (0, 1, 3, 9),
    "format": (2, 2, 0), "policy": (0, 1, 2), "flag": (0, 1, 8, 9), "flags": (0, 0, 1), "m": (2, 1), "n": (2, 1), "k": (2, 1),
    "lda": (-1, 2), "ldb": (-1, 2), "ldc": (-1, 2), "incx": (1,), "incy": (1,), "block_type": (1, 0), "priority": (0, 7),
    "dims": (1, 4, 2), "dims_range": (1, 4), "shape": (4, 1, 2), "npy_type": (11, 1, 2, 7), "op_type": ("Add", "Cast", "Relu"),
    "num_outputs": (1,), "mem_type": (0, 1), "dim_range_num": (2,), "batch_size": (1, 2), "level": (0,), "model_size": (64,),
    "device_info": (0, 1), "log_level": (0, 1), "message": ("text",), "thread_id": (), "value": (0, 1, 3), "values": (0, 1),
    "prop_dict": ({}, {"location": {"id": 0, "type": 1}}, {"memAttr": 4}), "option": (0, 1), "cfg": (None, [], 0),
    "offset": (0, 2 << 20), "alignment": (0,), "op_type_len": (64,), "op_name_len": (64,), "op_info_len": (4096, 64),
    "trans_a": (0, 1), "trans_b": (0, 1), "trans_c": (0, 1), "compute_type": (0, 1), "truncate": (0, 1), "attr_type": (1, 2, 3),
    "feature_count": (1, 2), "feature_len": (36, 4), "query_cnt": (1, 2), "topk": (1, 4), "search_type": (0, 1),
}  # fmt: skip
_FUNCTIONS: tuple[Callable[..., Any], ...] = (
    lambda *_: None, lambda *_: 0, _raise, lambda *_: "text", lambda: None, lambda *_: -1, lambda *_: [1.5],
)  # fmt: skip


def _hostile() -> list[Any]:
    cyclic: list[Any] = []
    cyclic.append(cyclic)
    objects = np.empty(2, object)
    return [
        None, 1.5, -0.0, float("nan"), float("inf"), True, b"bytes", bytearray(3), "text", "\ud800", "a\0b", 2j, object(),
        [], [1, 2], [[1], [2]], [None], cyclic, [0] * 100_000, (), (1,), {}, {"a": 1}, {1}, range(3), iter([1]),
        np.int64(3), np.uint8(255), np.int32(-1), np.uint64((1 << 64) - 1), np.float32(1.5), np.float64("nan"), np.bool_(True),
        np.array(3), np.array(2.5), np.zeros((0, 3)), np.arange(12.0).reshape(3, 4)[:, ::2], np.arange(6)[::-2], objects,
        np.array("text"), np.zeros(2, "i4,f8"), memoryview(b"view"), Exception, len, NotImplemented, ..., type,
        *_LARGE,
    ]  # fmt: skip


def argument(world: World, name: str, annotation: str, source: str, number: int) -> Any:
    """Return an argument for a parameter, as a recipe says."""
    if source == "hostile":
        values = _hostile()
        value = values[number % len(values)]
        # A wait that lasts as long as the program says is none that hangs.
        return 5 if _TIMES.search(name) and isinstance(value, _WHOLE) and value > 1000 else value
    if source == "good" and name in _USUAL and _USUAL[name] and not annotation.startswith(("Sequence", "list")):
        return _USUAL[name][number % len(_USUAL[name])]
    if annotation.startswith(("Sequence", "list", "tuple")):
        return _list(world, name, annotation, source, number)
    if annotation.startswith("str"):
        return _text(world, name, number)
    if annotation.startswith("Callable"):
        return _FUNCTIONS[number % len(_FUNCTIONS)]
    if annotation == "float":
        return (0.5, -1.0, 0, 3, 1e300, float("nan"), float("inf"), 65504.0)[number % 8]
    if annotation == "bytes":
        return (b"", b"a", b"\0" * 64, b"\xff" * 1000)[number % 4]
    if "Array" in annotation:
        return (np.zeros(4, np.float32), np.array(1), np.zeros((3, 4))[:, ::2], np.zeros(0))[number % 4]
    if annotation.startswith("Mapping"):
        return ({"name": "x", "dimCount": 2, "dims": [1, 4]}, {}, {"dims": None}, {"dimCount": -1, "dims": [1]})[
            number % 4
        ]
    return _whole(world, name, source, number)


def _text(world: World, name: str, number: int) -> str:
    if "path" in name or "dir" in name or "file" in name:
        text = _FILES[number % len(_FILES)]
        return str(world.folder / text) if text else ""
    return _TEXTS[number % len(_TEXTS)]


def _list(world: World, name: str, annotation: str, source: str, number: int) -> Any:
    inner = annotation.partition("[")[2][:-1] or "int"
    values = [
        argument(world, name, inner, source if source != "number" or name not in _HANDLES else "good", number + place)
        for place in range((2, 2, 1, 0, 3, 40)[number // 7 % 6])
    ]
    return (values, tuple(values), values)[number % 3]


def _whole(world: World, name: str, source: str, number: int) -> int:
    if name == "fd":
        return (world.file_descriptor, -1, 1 << 30, (1 << 64) + 5)[number % 4]
    if name in _THREADS:
        return (world.reporter, threading.get_ident(), 1, 0, -1, 1 << 70)[number % 6]
    if _TIMES.search(name):
        return (1, 2, 5, 0, -2, -(1 << 40))[number % 6]
    kind = _kind(name)
    if kind is None and _ADDRESS.search(name):
        return _address(world, source, number)
    if source == "number":
        values: Sequence[int] = (*_SMALL, *_LARGE)
    elif kind is None:
        values = (*_SMALL, *world.addresses()) if source == "other" else _SMALL
    elif source == "good":
        values = world.handles(kind)[-5:] or [0]
    else:
        values = (world.stale() if source == "stale" else world.any_handles()) or [0]
    return values[number % len(values)]


def _kind(name: str) -> str | None:
    """Return the kind of handle that a parameter takes, or None if it takes no handle."""
    if name in _HANDLES:
        return _HANDLES[name]
    words = set(name.split("_")) - {"id", "handle"}
    return next((kind for kind in kinds() if words == set(kind.split())), None)


def _address(world: World, source: str, number: int) -> int:
    if source == "number":
        return (0, 1, 8, 4095, -1, -4096, (1 << 63) - 64, 1 << 63, (1 << 64) - 1, 1 << 64, 1 << 200)[number % 11]
    values = (world.stale() if source == "stale" else world.addresses()) or [0]
    base = values[number % len(values)]
    return base + ((0, 0, 0, 1, 32, 64, 100, 4096)[number % 8] if source == "other" else 0)


_WHOLE, _REAL = (int, np.integer), (int, float, np.integer, np.floating)
_PLAIN: Mapping[str, Any] = {"int": _WHOLE, "float": _REAL, "str": str, "bytes": bytes, "str | None": (str, type(None))}


def fits(annotation: str, value: Any) -> bool:
    """Whether a value is of the type that a parameter states, beyond doubt."""
    if annotation in _PLAIN:
        return isinstance(value, _PLAIN[annotation])
    if annotation.startswith(("Sequence[", "list[")):
        inner = annotation.partition("[")[2][:-1]
        return isinstance(value, list) and all(fits(inner, item) for item in value)
    return annotation.startswith("Callable") and callable(value)
