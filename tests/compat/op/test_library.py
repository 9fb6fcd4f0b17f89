"""Operator models: where they are found."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

import acl
from tests.compat._programs import INT32, ND, add1, binary, compile_operators, good, ok, untyped


def _has(op: str, shape: list[int]) -> bool:
    desc = acl.create_tensor_desc(INT32, shape, ND)
    handle, ret = acl.op.create_handle(op, [desc, desc], [desc], 0)
    assert ret in (0, 100024)
    assert bool(handle) == (ret == 0)
    return bool(handle)


@pytest.fixture
def add(tmp_path: Path) -> Path:
    """The file of an operator model for Add, int32 [2, 2]."""
    return next(compile_operators(tmp_path, binary("Add", "int32", [2, 2])).glob("*.om"))


def test_folders_are_searched_three_levels_deep(device: int, add: Path, tmp_path: Path) -> None:
    """set_model_dir looks into sub-folders and leaves models, other files and deeper folders alone."""
    root = tmp_path / "root"
    deep = root / "a" / "b"
    deep.mkdir(parents=True)
    shutil.copy(add, deep / "anything.om")
    shutil.copy(add1(tmp_path), root / "model.om")
    (root / "notes.txt").write_text("no model")
    assert not _has("Add", [2, 2])

    assert acl.op.set_model_dir(str(root)) == 0
    assert _has("Add", [2, 2])
    ok(acl.finalize())
    ok(acl.init())
    ok(acl.rt.set_device(0))
    assert not _has("Add", [2, 2])  # a new runtime has none
    (deep / "c").mkdir()
    (deep / "anything.om").rename(deep / "c" / "anything.om")
    assert acl.op.set_model_dir(str(root)) == 0
    assert not _has("Add", [2, 2])


def test_bad_folders(device: int, tmp_path: Path) -> None:
    """No folder is 100003; a damaged file in it is 145006 with its name, and nothing is loaded."""
    assert acl.op.set_model_dir(str(tmp_path / "missing")) == 100003
    folder = compile_operators(tmp_path, binary("Add", "int32", [2, 2]))
    (folder / "zz_cut.om").write_bytes(next(folder.glob("*.om")).read_bytes()[:300])

    assert acl.op.set_model_dir(str(folder)) == 145006
    assert "zz_cut.om" in (acl.get_recent_err_msg() or "")
    assert not _has("Add", [2, 2])
    with pytest.raises(TypeError):
        untyped.op.set_model_dir(None)


def test_loading_from_memory(device: int, add: Path, tmp_path: Path) -> None:
    """Load takes host and device memory, which may be freed at once; other bytes are codes."""
    data = add.read_bytes()
    pointer = good(acl.rt.malloc(len(data), 0))
    ok(acl.rt.memcpy(pointer, len(data), acl.util.bytes_to_ptr(data), len(data), 1))
    assert acl.op.load(pointer, len(data)) == 0
    ok(acl.rt.memset(pointer, len(data), 0, len(data)))
    ok(acl.rt.free(pointer))
    assert _has("Add", [2, 2])

    model = Path(add1(tmp_path)).read_bytes()
    assert acl.op.load(acl.util.bytes_to_ptr(model), len(model)) == 145006
    assert "acl.mdl" in (acl.get_recent_err_msg() or "")
    junk = np.zeros(512, np.uint8)
    assert acl.op.load(acl.util.numpy_to_ptr(junk), 512) == 145006
    assert acl.op.load(0, 10) == acl.op.load(acl.util.bytes_to_ptr(data), 0) == 100000
    assert acl.op.load(8, 300) == 107000


def test_one_folder_a_runtime(device: int, add: Path, tmp_path: Path) -> None:
    """A second set_model_dir is 100002 and names the first; after a failed one, or a new acl.init, it works."""
    assert acl.op.set_model_dir(str(tmp_path / "missing")) == 100003
    ok(acl.op.set_model_dir(str(add.parent)))
    other = tmp_path / "other"
    other.mkdir()

    assert acl.op.set_model_dir(str(other)) == 100002
    assert str(add.parent) in (acl.get_recent_err_msg() or "")
    assert _has("Add", [2, 2])
    data = add.read_bytes()
    ok(acl.op.load(acl.util.bytes_to_ptr(data), len(data)))  # single files may come at any time
    ok(acl.finalize())
    ok(acl.init())
    ok(acl.op.set_model_dir(str(other)))


def _compile(op: str, shape: list[int]) -> None:
    desc = acl.create_tensor_desc(INT32, shape, ND)
    ok(acl.op.compile(op, [desc, desc], [desc], 0, 0, 0, None))


def test_what_was_unused_longest_goes_first(device: int) -> None:
    """A full queue of compiled operators drops the one that was neither compiled nor found for longest."""
    ok(acl.op.set_max_op_queue_num(3))
    for size in (1, 2, 3):
        _compile("Add", [size])
    assert _has("Add", [1])
    _compile("Add", [4])

    assert [_has("Add", [size]) for size in (1, 2, 3, 4)] == [True, False, True, True]
    _compile("Add", [3])  # compiled again is used
    ok(acl.op.set_max_op_queue_num(1))
    assert [_has("Add", [size]) for size in (1, 3, 4)] == [False, True, False]


def test_a_run_counts_as_a_use(device: int) -> None:
    """Runs of a request that is prepared keep its operator; when it goes, the prepared request goes with it."""
    ok(acl.op.set_max_op_queue_num(2))
    desc = acl.create_tensor_desc(INT32, [1], ND)
    pointer = good(acl.rt.malloc(32, 0))
    buffer = acl.create_data_buffer(pointer, 4)

    def run() -> int:
        code: int = acl.op.execute_v2("Add", [desc, desc], [buffer, buffer], [desc], [buffer], 0, 0)
        return code

    _compile("Add", [1])
    ok(run())
    _compile("Add", [2])
    ok(run())
    _compile("Add", [3])
    assert not _has("Add", [2])
    ok(run())
    for size in (4, 5):
        _compile("Add", [size])
    assert run() == 100024
    ok(acl.rt.synchronize_stream(0))


def test_fixed_and_free_shapes_have_a_queue_each(device: int) -> None:
    """Operators for one shape and those for many do not drop each other."""
    ok(acl.op.set_max_op_queue_num(2))
    for op in ("Add", "Sub"):
        _compile(op, [-1])
    for size in range(1, 6):
        _compile("Mul", [size])

    assert [_has(op, [7]) for op in ("Add", "Sub")] == [True, True]
    assert [_has("Mul", [size]) for size in range(1, 6)] == [False, False, False, True, True]
    _compile("Mul", [-1])
    assert [_has(op, [7]) for op in ("Add", "Sub", "Mul")] == [False, True, True]
    assert _has("Mul", [5])


def test_loaded_operator_models_are_never_dropped(device: int, add: Path) -> None:
    """What set_model_dir and load bring stays, however short the queue is."""
    ok(acl.op.set_model_dir(str(add.parent)))
    ok(acl.op.set_max_op_queue_num(1))
    for size in range(1, 9):
        _compile("Mul", [size])

    assert _has("Add", [2, 2])


def test_the_configuration_bounds_the_queue(tmp_path: Path) -> None:
    """max_opqueue_num of acl.init's file is the bound until set_max_op_queue_num says otherwise."""
    config = tmp_path / "acl.json"
    config.write_text('{"max_opqueue_num": "2"}')
    ok(acl.init(str(config)))
    ok(acl.rt.set_device(0))
    for size in range(1, 4):
        _compile("Add", [size])

    assert [_has("Add", [size]) for size in range(1, 4)] == [False, True, True]
