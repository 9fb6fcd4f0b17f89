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
