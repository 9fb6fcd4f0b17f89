"""Bundles: several models in one file."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import acl
from aacl.models._om import om_pieces, read_om
from acl._handles import open_handles
from tests.compat._models import batch
from tests.compat._programs import Dataset, add1, good, ok, put, two_in, untyped

X = np.arange(4, dtype=np.float32).reshape(1, 4)


def bundle(folder: Path, *files: str) -> str:
    """Put the models of files into one file, as the container allows, and return its path."""
    models = [model for file in files for model in read_om(Path(file).read_bytes()).models]
    path = folder / "bundle.om"
    with path.open("wb") as out:
        out.writelines(om_pieces(models, name="bundle"))
    return str(path)


@pytest.fixture
def path(device: int, tmp_path: Path) -> str:
    """Y = x + 1, y = x + 2, and a model with gears."""
    return bundle(tmp_path, add1(tmp_path), add1(tmp_path, "add2", 2.0), batch(tmp_path))


def _models(handle: int) -> list[int]:
    return [good(acl.mdl.bundle_get_model_id(handle, i)) for i in range(good(acl.mdl.bundle_get_model_num(handle)))]


@pytest.mark.parametrize("where", ["file", "host", "device"])
def test_every_model_of_a_bundle(path: str, where: str) -> None:
    """Each model has an id of its own for the ordinary calls; the memory that it came from may go at once."""
    data = np.fromfile(path, np.uint8)
    if where == "file":
        handle = good(acl.mdl.bundle_load_from_file(path))
    else:
        pointer = put(data) if where == "device" else data.ctypes.data
        handle = good(acl.mdl.bundle_load_from_mem(pointer, data.nbytes))
        ok(acl.rt.memset(pointer, data.nbytes, 0, data.nbytes))
    models = _models(handle)
    assert len({handle, *models}) == 4
    given, wanted = Dataset(X), Dataset(np.zeros_like(X))

    for step, model in zip((1, 2), models, strict=False):
        ok(acl.mdl.execute(model, given.handle, wanted.handle))
        np.testing.assert_array_equal(wanted.read(), X + step)
    desc = acl.mdl.create_desc()
    ok(acl.mdl.get_desc(desc, models[2]))
    assert acl.mdl.get_dynamic_batch(desc)[0]["batch"] == [1, 2, 4]


def test_unloading(path: str) -> None:
    """A bundle takes its models along, also where one was unloaded before; its id is dead then."""
    handle = good(acl.mdl.bundle_load_from_file(path))
    models = _models(handle)
    ok(acl.mdl.unload(models[1]))
    ok(acl.mdl.bundle_unload(handle))

    assert [acl.mdl.unload(model) for model in models] == [145003] * 3
    assert acl.mdl.bundle_unload(handle) == 148053
    assert acl.mdl.bundle_get_model_num(handle) == (0, 148053)
    assert acl.mdl.bundle_get_model_id(handle, 0) == (0, 148053)
    assert "model" not in open_handles()


def test_ids_and_positions_that_are_none(path: str) -> None:
    """A position beyond the models is 100000; a model's id is no bundle, and the other way round."""
    handle = good(acl.mdl.bundle_load_from_file(path))
    model = _models(handle)[0]

    for index in (-1, 3):
        assert acl.mdl.bundle_get_model_id(handle, index) == (0, 100000)
    assert acl.mdl.bundle_get_model_num(0) == acl.mdl.bundle_get_model_num(model) == (0, 148053)
    assert acl.mdl.unload(handle) == 145003
    with pytest.raises(TypeError):
        untyped.mdl.bundle_get_model_id(handle, "0")


def test_a_bundle_in_place_of_a_model(path: str) -> None:
    """load_from_file, and what reads a file, refuse a bundle with 145006 and name the call that takes it."""
    assert acl.mdl.load_from_file(path) == (0, 145006)
    assert "bundle_load_from_file" in (acl.get_recent_err_msg() or "")
    assert acl.mdl.query_size(path) == (0, 0, 145006)
    assert acl.mdl.get_desc_from_file(acl.mdl.create_desc(), path) == 145006


def test_a_model_in_place_of_a_bundle(device: int, tmp_path: Path) -> None:
    """A file of one model is a bundle of one."""
    handle = good(acl.mdl.bundle_load_from_file(two_in(tmp_path)))

    assert acl.mdl.bundle_get_model_num(handle) == (1, 0)


def test_bundles_that_do_not_load(device: int, tmp_path: Path) -> None:
    """A bundle with a model that does not load is an error and leaves nothing; paths and bytes as for models."""
    whole = Path(bundle(tmp_path, add1(tmp_path), add1(tmp_path, "add2", 2.0))).read_bytes()
    place = whole.rindex(b"Add")
    (tmp_path / "bad.om").write_bytes(whole[:place] + b"Bad" + whole[place + 3 :])
    (tmp_path / "cut.om").write_bytes(whole[:-10])

    assert acl.mdl.bundle_load_from_file(str(tmp_path / "bad.om")) == (0, 145006)
    assert "model" not in open_handles()
    assert acl.mdl.bundle_load_from_file(str(tmp_path / "cut.om")) == (0, 145006)
    assert acl.mdl.bundle_load_from_file("missing.om") == (0, 145002)
    assert acl.mdl.bundle_load_from_mem(0, 5) == (0, 100000)
    good(acl.mdl.bundle_load_from_file(str(tmp_path / "bundle.om")))
