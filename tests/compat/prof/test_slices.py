"""Profiles in files while they go on: what is recorded is written from time to time."""

from __future__ import annotations

import csv
import json
import os
import shutil
import threading
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import acl
from aacl.models._observation import observation_of
from acl.mdl._models import Loaded, models
from acl.prof import _report, _session
from acl.prof._control import control
from tests.compat._meanwhile import Meanwhile
from tests.compat._programs import Dataset, add1, good, ok

X = np.arange(4, dtype=np.float32).reshape(1, 4)
TIMES, STAMPS = 2, 0x80


@pytest.fixture
def written(monkeypatch: pytest.MonkeyPatch) -> threading.Semaphore:
    """Counts how often operators were written; a profile writes as often as it can."""
    done = threading.Semaphore(0)
    add = _report.TimesFiles.add

    def add_and_tell(self: _report.TimesFiles, times: _report.ModelTimes) -> None:
        add(self, times)
        done.release()

    monkeypatch.setattr(_session, "_PAUSE", 0.02)
    monkeypatch.setattr(_session, "_SHARE", 0)
    monkeypatch.setattr(_report.TimesFiles, "add", add_and_tell)
    return done


def _start(folder: Path, data: int = TIMES | STAMPS) -> int:
    ok(acl.prof.init(str(folder)))
    config = acl.prof.create_config([0], 255, 0, data)
    ok(acl.prof.start(config))
    return config


def _load(folder: Path, name: str = "add1") -> int:
    model: int = good(acl.mdl.load_from_file(add1(folder, name)))
    return model


def _run(model: int, times: int = 1) -> None:
    given, wanted = Dataset(X), Dataset(np.zeros_like(X))
    for _ in range(times):
        ok(acl.mdl.execute(model, given.handle, wanted.handle))


def _rows(folder: Path, name: str) -> list[dict[str, str]]:
    (path,) = folder.glob(f"PROF_*/{name}")
    with path.open(newline="", encoding="utf-8") as file:
        return [*csv.DictReader(file)]


def test_parts_make_one_profile(device: int, tmp_path: Path, written: threading.Semaphore) -> None:
    """What was written in parts is as if it had been written at once: rows, sums and timeline have all runs, in order."""
    model = _load(tmp_path)
    config = _start(tmp_path)
    stamp = acl.prof.create_stamp()
    for times in (3, 1, 4):
        ok(acl.prof.mark(stamp))
        _run(model, times)
        assert written.acquire(timeout=10)
        assert _rows(tmp_path, "device_0/op_summary.csv")
    ok(acl.prof.stop(config))

    rows = _rows(tmp_path, "device_0/op_summary.csv")
    assert [(row["Run"], row["OP Type"]) for row in rows] == [(str(run), "Add") for run in range(8)]
    durations = [float(row["Task Duration(us)"]) for row in rows]
    (sums,) = _rows(tmp_path, "device_0/op_statistic.csv")
    assert (sums["Count"], sums["Ratio(%)"]) == ("8", "100.0")
    times_of = [float(sums[f"{name} Time(us)"]) for name in ("Total", "Min", "Max", "Avg")]
    assert times_of == pytest.approx([sum(durations), min(durations), max(durations), sum(durations) / 8], abs=0.01)
    (trace,) = tmp_path.glob("PROF_*/device_0/trace.json")
    assert [event["args"]["run"] for event in json.loads(trace.read_text())["traceEvents"]] == [*range(8)]
    assert len(_rows(tmp_path, "host/msprof_tx.csv")) == 3


def test_memory_keeps_nothing_that_was_written(device: int, tmp_path: Path, written: threading.Semaphore) -> None:
    """Neither times nor notes, nor models that were unloaded, stay in memory once they are on the disk."""
    config = _start(tmp_path)
    (session,) = control.sessions.values()
    for number in range(3):
        model = _load(tmp_path, f"net{number}")
        _run(model, 5)
        ok(acl.prof.mark(acl.prof.create_stamp()))
        ok(acl.mdl.unload(model))
        assert written.acquire(timeout=10)
    with session._lock:
        session._write()
        assert (len(session._entries), len(session.stamps)) == (0, 0)
    ok(acl.prof.stop(config))

    assert len(_rows(tmp_path, "device_0/op_summary.csv")) == 15


def test_a_folder_that_goes_away(device: int, tmp_path: Path, written: threading.Semaphore) -> None:
    """What cannot be written any more is 500005 at the end; the runs are good, and another profile is too."""
    out = tmp_path / "out"
    model = _load(tmp_path)
    config = _start(out)
    _run(model)
    assert written.acquire(timeout=10)
    shutil.rmtree(out)
    out.write_text("a file")
    _run(model, 2)

    assert acl.prof.stop(config) == 500005
    assert "cannot write the profile" in (acl.get_recent_err_msg() or "")
    ok(acl.prof.finalize())
    _start(tmp_path / "other")
    _run(model)
    ok(acl.prof.finalize())
    assert len(_rows(tmp_path / "other", "device_0/op_summary.csv")) == 1


def test_a_profile_that_begins_while_the_runtime_ends(
    device: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What begins in one thread while another ends everything does not go on behind it."""
    _load(tmp_path)
    ok(acl.prof.init(str(tmp_path)))
    meanwhile = Meanwhile(control.finish)
    look_at: Callable[[_session.Session, int, Loaded], None] = _session.Session.look_at

    def look_slowly(self: _session.Session, model_id: int, loaded: Loaded) -> None:
        meanwhile()
        look_at(self, model_id, loaded)

    monkeypatch.setattr(_session.Session, "look_at", look_slowly)
    config = acl.prof.create_config([0], 255, 0, TIMES)
    ok(acl.prof.start(config))
    meanwhile.finish()

    assert control.sessions == {}
    assert acl.prof.stop(config) == 100043
    assert [thread.name for thread in threading.enumerate() if thread.name == "acl-prof-files"] == []


@pytest.mark.parametrize("way", ["start", "model_subscribe"])
def test_a_profile_without_a_thread(device: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, way: str) -> None:
    """Where the system gives no thread that takes the records, none are made, and another profile can begin."""
    model = _load(tmp_path)
    observation = observation_of(models.get(model).model)
    reader, writer = os.pipe()
    subscription = acl.prof.create_subscribe_config(1, 0, writer)
    ok(acl.prof.init(str(tmp_path)) if way == "start" else 0)
    config = acl.prof.create_config([0], 255, 0, TIMES)

    def begin() -> int:
        code: int = acl.prof.start(config) if way == "start" else acl.prof.model_subscribe(model, subscription)
        return code

    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", _no_thread)
        with pytest.raises(RuntimeError, match="new thread"):
            begin()
    assert not observation._observers
    ok(begin())
    assert observation._observers
    ok(acl.prof.stop(config) if way == "start" else acl.prof.model_un_subscribe(model))
    os.close(reader)
    os.close(writer)


def _no_thread(_: threading.Thread) -> None:
    raise RuntimeError("can't start new thread")
