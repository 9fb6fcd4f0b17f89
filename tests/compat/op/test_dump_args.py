"""Dumps of arguments: what is written of operators and of launches, and when."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import acl
from acl._args_dump import args_dump
from tests.compat._kernels import SOURCE, arguments, longs
from tests.compat._programs import FLOAT, ND, binary, compile_operators, good, ok, put, run_program, untyped
from tests.helpers import build_kernels

BAD, NO_FILE, ON, OFF, NOT_INIT = 100000, 100003, 100044, 100045, 100001


def lines(folder: Path) -> list[dict[str, Any]]:
    """Return what the one file in a folder says."""
    (file,) = folder.iterdir()
    return [json.loads(line) for line in file.read_text().splitlines()]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """An empty folder."""
    made = tmp_path / "dump"
    made.mkdir()
    return made


def test_operators_and_launches(device: int, tmp_path: Path, folder: Path, stream: int) -> None:
    """Each run between start and stop is a line, by its own arguments and in the order of the calls."""
    ok(acl.op.set_model_dir(str(compile_operators(tmp_path, binary("Add", "float32", [2, 3])))))
    library = build_kernels(tmp_path, SOURCE)
    loaded = good(acl.rt.binary_load_from_file(str(library), []))
    function, out = good(acl.rt.binary_get_function(loaded, "blocks_of")), longs(8)
    args, held = arguments(function, out), put(np.array([out]))
    x = np.zeros((2, 3), np.float32)
    pointers = [put(x) for _ in range(3)]
    descs, buffers = (
        [acl.create_tensor_desc(FLOAT, [2, 3], ND) for _ in range(3)],
        [acl.create_data_buffer(each, 24) for each in pointers],
    )

    def run() -> None:
        ok(acl.op.execute_v2("Add", descs[:2], buffers[:2], descs[2:], buffers[2:], 0, stream))

    run()
    ok(acl.op.start_dump_args(1, str(folder)))
    run()
    ok(acl.rt.launch_kernel_with_config(function, 3, 0, [], args, 0))
    ok(acl.rt.launch_kernel_with_config(function, 4, 0, [(6, 0)], args, 0))
    ok(acl.rt.launch_kernel(function, 5, held, 8, stream))
    assert len(lines(folder)) == 3  # they are there at once
    ok(acl.op.stop_dump_args(1))
    run()
    ok(acl.rt.synchronize_device())

    tensors = [
        {"address": f"{pointer:#x}", "bytes": 24, "dtype": "FLOAT", "shape": [2, 3], "format": "ND"}
        for pointer in pointers
    ]
    number, default = good(acl.rt.stream_get_id(stream)), good(acl.rt.stream_get_id(0))
    assert lines(folder) == [
        {"op": "Add", "inputs": tensors[:2], "outputs": tensors[2:], "attributes": {}, "device": 0, "stream": number},
        {
            "function": "blocks_of",
            "blocks": 3,
            "arguments": np.uint64(out).tobytes().hex(),
            "device": 0,
            "stream": default,
        },
        {"function": "blocks_of", "blocks": 5, "arguments": None, "device": 0, "stream": number},
    ]


def test_order_of_the_calls(device: int, folder: Path) -> None:
    """One dump at a time; each has a file of its own, and the end of the runtime ends it."""
    assert acl.op.stop_dump_args(1) == OFF
    ok(acl.op.start_dump_args(1, str(folder)))
    assert acl.op.start_dump_args(1, str(folder)) == ON
    ok(acl.op.stop_dump_args(1))
    assert acl.op.stop_dump_args(1) == OFF
    ok(acl.op.start_dump_args(1, str(folder)))
    assert len(list(folder.iterdir())) == 2
    acl.finalize()
    assert not args_dump.is_on


def test_what_cannot_be_started(device: int, tmp_path: Path, folder: Path) -> None:
    """Another type, a folder that is not there, or is a file; nothing is on then."""
    file = tmp_path / "file"
    file.touch()
    for path in (tmp_path / "none", file, "a\0b"):
        assert acl.op.start_dump_args(1, str(path)) == NO_FILE
    for kind in (0, 2, -1):
        assert acl.op.start_dump_args(kind, str(folder)) == BAD
        assert acl.op.stop_dump_args(kind) == BAD
    assert not args_dump.is_on
    with pytest.raises(TypeError):
        untyped.op.start_dump_args(1, folder)
    acl.finalize()
    assert (acl.op.start_dump_args(1, str(folder)), acl.op.stop_dump_args(1)) == (NOT_INIT, NOT_INIT)


def test_a_full_disk_is_told_at_the_end(
    device: int, tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Operators run all the same."""
    loaded = good(acl.rt.binary_load_from_file(str(build_kernels(tmp_path, SOURCE)), []))
    function, out = good(acl.rt.binary_get_function(loaded, "blocks_of")), longs(1)
    ok(acl.op.start_dump_args(1, str(folder)))
    full = open("/dev/full", "w", buffering=1)  # noqa: SIM115 - the dump closes it
    monkeypatch.setattr(args_dump, "_file", full)
    ok(acl.rt.launch_kernel(function, 1, [out], 8, 0))
    ok(acl.rt.synchronize_stream(0))
    assert acl.op.stop_dump_args(1) == NO_FILE
    assert "not complete" in (acl.get_recent_err_msg() or "")


def test_a_process_that_ends_leaves_its_last_line(folder: Path, tmp_path: Path) -> None:
    """The line is there though nothing was stopped."""
    run_program(
        """
        import os, sys, numpy, acl
        acl.init(), acl.rt.set_device(0)
        binary, _ = acl.rt.binary_load_from_file(sys.argv[1], [])
        function, _ = acl.rt.binary_get_function(binary, "blocks_of")
        acl.op.start_dump_args(1, sys.argv[2])
        acl.rt.launch_kernel(function, 1, [acl.rt.malloc(8, 0)[0]], 8, 0)
        os._exit(3)
        """,
        str(build_kernels(tmp_path, SOURCE)),
        str(folder),
        status=3,
    )
    assert [each["function"] for each in lines(folder)] == ["blocks_of"]
