"""Dumps: the tensors of operators, in files that NumPy reads."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import acl
from tests.compat._programs import Dataset, add1, good, ok, run_program, two_in

X = np.arange(4, dtype=np.float32).reshape(1, 4)


def _config(folder: Path, name: str = "dump.json", **section: Any) -> str:
    path = folder / name
    path.write_text(json.dumps({"dump": {"dump_path": str(folder), **section}}))
    return str(path)


def _run(model: int, times: int = 1) -> None:
    given, wanted = Dataset(X), Dataset(np.zeros_like(X))
    for _ in range(times):
        ok(acl.mdl.execute(model, given.handle, wanted.handle))
    np.testing.assert_array_equal(wanted.read(), X + 1)


def _files(folder: Path, name: str, model: int) -> list[str]:
    """Return what lies below a model's folder."""
    place = [*folder.glob(f"*/0/{name}/{model}")]
    return sorted(str(path.relative_to(place[0])) for path in place[0].rglob("*.*")) if place else []


def test_outputs_of_a_named_model(device: int, tmp_path: Path) -> None:
    """Models loaded after `set_dump` are dumped until `finalize_dump`, those of the list alone, run by run."""
    before = good(acl.mdl.load_from_file(add1(tmp_path, "net")))
    ok(acl.mdl.init_dump())
    ok(acl.mdl.set_dump(_config(tmp_path, dump_list=[{"model_name": "net"}])))
    net, other = (good(acl.mdl.load_from_file(add1(tmp_path, name))) for name in ("net", "other"))
    for model in (before, net, other):
        _run(model, 2)
    ok(acl.mdl.finalize_dump())
    _run(net)

    assert _files(tmp_path, "net", net) == ["0/Add.plus.0.output.0.npy", "1/Add.plus.0.output.0.npy"]
    assert _files(tmp_path, "net", before) == _files(tmp_path, "other", other) == []
    (path,) = tmp_path.glob(f"*/0/net/{net}/0/*.npy")
    np.testing.assert_array_equal(np.load(path), X + 1)


def test_inputs_steps_and_layers(device: int, tmp_path: Path) -> None:
    """Mode, steps and layers choose what is written."""
    ok(acl.mdl.init_dump())
    everything: list[dict[str, list[str]]] = [{"layer": []}]
    ok(acl.mdl.set_dump(_config(tmp_path, dump_list=everything, dump_mode="all", dump_step="1|3-4")))
    model = good(acl.mdl.load_from_file(add1(tmp_path, "net")))
    _run(model, 7)
    names = ["Add.plus.0.input.0.npy", "Add.plus.0.input.1.npy", "Add.plus.0.output.0.npy"]
    assert _files(tmp_path, "net", model) == [f"{step}/{name}" for step in (1, 3, 4) for name in names]
    (path,) = tmp_path.glob(f"*/0/net/{model}/1/Add.plus.0.input.0.npy")
    np.testing.assert_array_equal(np.load(path), X)

    ok(acl.mdl.set_dump(_config(tmp_path, dump_list=[{"model_name": "none_of_them", "layer": ["missing"]}])))
    silent = good(acl.mdl.load_from_file(add1(tmp_path, "silent")))
    _run(silent)
    assert _files(tmp_path, "silent", silent) == []
    ok(acl.mdl.finalize_dump())


def test_statistics(device: int, tmp_path: Path) -> None:
    """With ``dump_data`` stats each run has one table, with the numbers of an independent count."""
    ok(acl.mdl.init_dump())
    ok(acl.mdl.set_dump(_config(tmp_path, dump_list=[{}], dump_data="stats")))
    model = good(acl.mdl.load_from_file(two_in(tmp_path)))
    a, b = np.full((2, 3), -2, np.float32), np.arange(8, dtype=np.float32).reshape(2, 4)
    given, wanted = Dataset(a, b), Dataset(np.zeros_like(a), np.zeros_like(b))
    ok(acl.mdl.execute(model, given.handle, wanted.handle))
    ok(acl.mdl.finalize_dump())

    (path,) = tmp_path.glob(f"*/0/two_in/{model}/0/stats.csv")
    with path.open(newline="") as file:
        rows = [*csv.DictReader(file)]
    for row, array in zip(rows, (a * 2, b * 3), strict=True):
        assert (row["Op Type"], row["Input/Output"], row["Data Type"]) == ("Mul", "Output", "float32")
        assert row["Shape"] == "x".join(map(str, array.shape))
        found = [float(row[key]) for key in ("Max", "Min", "Avg", "L2Norm")]
        assert found == pytest.approx([array.max(), array.min(), array.mean(), np.linalg.norm(array)])


def test_the_order_of_calls(device: int, tmp_path: Path) -> None:
    """Calls out of order are 100044 and 100045; the end of the runtime ends a dump."""
    path = _config(tmp_path, dump_list=[])
    assert acl.mdl.set_dump(path) == acl.mdl.finalize_dump() == 100045
    ok(acl.mdl.init_dump())
    assert acl.mdl.init_dump() == 100044
    ok(acl.mdl.set_dump(path))
    ok(acl.finalize())
    assert acl.mdl.init_dump() == 100001
    ok(acl.init())
    assert acl.mdl.set_dump(path) == 100045


@pytest.mark.parametrize(
    "section",
    [
        {"dump_path": "missing/folder"},
        {"dump_path": ""},
        {"dump_path": 5},
        {"dump_list": {}},
        {"dump_list": [5]},
        {"dump_list": [{"model_name": 5}]},
        {"dump_list": [{"layer": "one"}]},
        {"dump_mode": "both"},
        {"dump_mode": []},
        {"dump_step": "5-3"},
        {"dump_step": "a"},
        {"dump_step": 5},
        {"dump_step": "1||2"},
        {"dump_data": "all"},
        {"dump_op_switch": "on"},
    ],
)
def test_sections_that_are_refused(device: int, tmp_path: Path, section: dict[str, Any]) -> None:
    """Each wrong value is 100009, with the key in the text, by `set_dump` and by `init`; nothing has begun then."""
    path = _config(tmp_path, **({"dump_list": [{}]} | section))
    ok(acl.mdl.init_dump())
    assert acl.mdl.set_dump(path) == 100009
    (key,) = section
    assert ("layer" if "layer" in str(section) else key) in (acl.get_recent_err_msg() or "")
    ok(acl.finalize())
    assert acl.init(path) == 100009
    assert acl.finalize() == 100037


def test_files_that_are_refused(device: int, tmp_path: Path) -> None:
    """A missing file, one that is no JSON, and one without the section."""
    ok(acl.mdl.init_dump())
    assert acl.mdl.set_dump(str(tmp_path / "missing")) == 100003
    (tmp_path / "broken").write_text("{")
    assert acl.mdl.set_dump(str(tmp_path / "broken")) == 100006
    (tmp_path / "empty").write_text("{}")
    assert acl.mdl.set_dump(str(tmp_path / "empty")) == 100009


def test_the_configuration_of_init(tmp_path: Path) -> None:
    """A dump named there holds for all loads of the process, and `init_dump` is refused."""
    config = _config(tmp_path, dump_list=[{}])
    source = f"""
        import numpy as np
        import acl
        from tests.compat._programs import Dataset, good, ok
        ok(acl.init({config!r}))
        ok(acl.rt.set_device(0))
        print(acl.mdl.init_dump())
        model = good(acl.mdl.load_from_file({add1(tmp_path)!r}))
        given, wanted = Dataset(np.ones((1, 4), np.float32)), Dataset(np.zeros((1, 4), np.float32))
        ok(acl.mdl.execute(model, given.handle, wanted.handle))
        ok(acl.finalize())
    """

    assert run_program(source).split() == ["100044"]
    (path,) = tmp_path.glob("*/0/add1/*/0/*.npy")
    np.testing.assert_array_equal(np.load(path), np.full((1, 4), 2, np.float32))
