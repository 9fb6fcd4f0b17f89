"""Profiles in files, by `start` and `stop` and by the configuration of ``acl.init``."""

from __future__ import annotations

import csv
import json
import threading
from pathlib import Path

import numpy as np
import pytest

import acl
from tests.compat._programs import Dataset, add1, good, in_thread, ok

X = np.arange(4, dtype=np.float32).reshape(1, 4)
TIMES, STAMPS = 2, 0x80


def _load(folder: Path, name: str = "add1") -> int:
    model: int = good(acl.mdl.load_from_file(add1(folder, name)))
    return model


def _run(model: int, times: int = 1) -> None:
    given, wanted = Dataset(X), Dataset(np.zeros_like(X))
    for _ in range(times):
        ok(acl.mdl.execute(model, given.handle, wanted.handle))
    np.testing.assert_array_equal(wanted.read(), X + 1)


def _rows(folder: Path, name: str) -> list[dict[str, str]]:
    (path,) = folder.glob(f"PROF_*/{name}")
    with path.open(newline="", encoding="utf-8") as file:
        return [*csv.DictReader(file)]


def test_operators_between_start_and_stop(device: int, tmp_path: Path) -> None:
    """Runs of models loaded before and meanwhile are in the files; those before and behind are not."""
    out = tmp_path / "made" / "here"
    early = _load(tmp_path, "early")
    ok(acl.prof.init(str(out)))
    config = acl.prof.create_config([0], 1, 0, TIMES | 1)
    _run(early)
    ok(acl.prof.start(config))
    late = _load(tmp_path, "late")
    _run(early, 2)
    _run(late, 3)
    ok(acl.mdl.unload(late))
    ok(acl.prof.stop(config))
    _run(early)
    ok(acl.prof.destroy_config(config))
    ok(acl.prof.finalize())

    rows = _rows(out, "device_0/op_summary.csv")
    assert [(row["Model Name"], row["Run"], row["OP Type"]) for row in rows] == [
        ("early", "0", "Add"),
        ("early", "1", "Add"),
        ("late", "0", "Add"),
        ("late", "1", "Add"),
        ("late", "2", "Add"),
    ]
    assert {row["Model ID"] for row in rows} == {str(early), str(late)}
    statistics = _rows(out, "device_0/op_statistic.csv")
    assert [(row["Model Name"], row["Count"], row["Ratio(%)"]) for row in statistics] == [
        ("early", "2", "100.0"),
        ("late", "3", "100.0"),
    ]
    for row in statistics:
        of_model = [float(each["Task Duration(us)"]) for each in rows if each["Model ID"] == row["Model ID"]]
        assert float(row["Total Time(us)"]) == pytest.approx(sum(of_model))
    (trace,) = out.glob("PROF_*/device_0/trace.json")
    events = json.loads(trace.read_text())["traceEvents"]
    assert len(events) == 5
    assert all(event["ph"] == "X" and event["cat"] == "Add" for event in events)


def test_only_the_devices_that_are_named(tmp_path: Path) -> None:
    """Device 1's runs are in device 1's folder, and device 0 has none."""
    ok(acl.init())
    ok(acl.rt.set_device(1))
    other = _load(tmp_path, "other")
    _run(other)
    ok(acl.rt.set_device(0))
    first = _load(tmp_path, "first")
    ok(acl.prof.init(str(tmp_path)))
    config = acl.prof.create_config([1], 255, 0, TIMES)
    ok(acl.prof.start(config))
    _run(first)
    ok(acl.rt.set_device(1))
    _run(other)
    ok(acl.prof.stop(config))
    ok(acl.prof.finalize())

    assert [row["Model Name"] for row in _rows(tmp_path, "device_1/op_summary.csv")] == ["other"]
    assert [*tmp_path.glob("PROF_*/device_0")] == []


def test_the_runtime_ends_before_the_profile(device: int, tmp_path: Path) -> None:
    """`acl.finalize` writes what a program has not stopped."""
    model = _load(tmp_path)
    ok(acl.prof.init(str(tmp_path)))
    ok(acl.prof.start(acl.prof.create_config([0], 1, 0, TIMES)))
    _run(model, 2)
    ok(acl.finalize())

    assert len(_rows(tmp_path, "device_0/op_summary.csv")) == 2


def test_profiles_of_the_whole_program(tmp_path: Path) -> None:
    """With the section ``profiler`` everything from `init` to `finalize` is there; other ways are refused."""
    config = tmp_path / "acl.json"
    config.write_text(json.dumps({"profiler": {"switch": "on", "output": str(tmp_path), "aic_metrics": "x"}}))
    # A configuration holds for the life of a process.
    from tests.compat._programs import run_program

    source = f"""
        import numpy as np
        import acl
        from tests.compat._programs import Dataset, good, ok
        ok(acl.init({str(config)!r}))
        ok(acl.rt.set_device(0))
        model = good(acl.mdl.load_from_file({add1(tmp_path)!r}))
        given, wanted = Dataset(np.ones((1, 4), np.float32)), Dataset(np.zeros((1, 4), np.float32))
        for _ in range(3):
            ok(acl.mdl.execute(model, given.handle, wanted.handle))
        print(acl.prof.init({str(tmp_path)!r}))
        print(acl.prof.model_subscribe(model, acl.prof.create_subscribe_config(1, 1, 1)))
        ok(acl.finalize())
    """
    assert run_program(source).split() == ["148047", "148047"]
    assert [row["OP Type"] for row in _rows(tmp_path, "device_0/op_summary.csv")] == ["Add"] * 3


def test_the_program_s_own_notes(device: int, stream: int, tmp_path: Path) -> None:
    """Spans, ranges, marks and steps are in the host's files, with texts, threads and times in order."""
    ok(acl.prof.init(str(tmp_path)))
    config = acl.prof.create_config([0], 255, 0, STAMPS)
    ok(acl.prof.start(config))
    stamp = acl.prof.create_stamp()
    ok(acl.prof.set_stamp_trace_message(stamp, "outer and more", 5))
    ok(acl.prof.push(stamp))
    ok(acl.prof.set_stamp_trace_message(stamp, "inner", 5))
    ok(acl.prof.push(stamp))
    ok(acl.prof.pop(stamp))
    ok(acl.prof.pop())
    number = good(acl.prof.range_start(stamp))
    assert in_thread(lambda: acl.prof.range_stop(number)) == 0
    ok(acl.prof.mark(stamp))
    ok(acl.prof.mark_ex("queued", stream))
    step = acl.prof.create_step_info()
    ok(acl.prof.get_step_timestamp(step, 0, stream))
    ok(acl.prof.get_step_timestamp(step, 1, stream))
    ok(acl.rt.synchronize_stream(stream))
    assert acl.prof.destroy_stamp(stamp) is None
    assert acl.prof.destroy_step_info(step) is None
    ok(acl.prof.stop(config))

    rows = _rows(tmp_path, "host/msprof_tx.csv")
    assert [(row["event_type"], row["Message"]) for row in rows] == [
        ("push_pop", "inner"),
        ("push_pop", "outer"),
        ("start_stop", "inner"),
        ("marker", "inner"),
        ("marker_ex", "queued"),
    ]
    assert {row["tid"] for row in rows} == {str(threading.get_native_id())}
    inner, outer = ((float(row["Start_time(us)"]), float(row["End_time(us)"])) for row in rows[:2])
    assert outer[0] <= inner[0] <= inner[1] <= outer[1]
    steps = _rows(tmp_path, "host/step_trace.csv")
    assert [(row["Tag"], row["Stream ID"]) for row in steps] == [("start", str(stream)), ("end", str(stream))]
    assert len({row["Step ID"] for row in steps}) == 1
    assert float(steps[0]["Time(us)"]) <= float(steps[1]["Time(us)"])


def test_notes_without_a_profile(device: int, stream: int) -> None:
    """They are taken and leave nothing; a step says that nothing is profiled."""
    stamp = acl.prof.create_stamp()
    ok(acl.prof.push(stamp))
    ok(acl.prof.pop())
    ok(acl.prof.mark(stamp))
    ok(acl.prof.mark_ex("text", stream))
    assert acl.prof.get_step_timestamp(acl.prof.create_step_info(), 0, stream) == 100043


def test_notes_that_are_refused(device: int, stream: int) -> None:
    """Dead handles, wrong lengths, more pops than pushes and unknown tags are 100000."""
    stamp = acl.prof.create_stamp()
    assert acl.prof.pop() == 100000
    assert acl.prof.push(0) == acl.prof.mark(12345) == 100000
    assert acl.prof.range_start(0) == (0, 100000)
    number = good(acl.prof.range_start(stamp))
    ok(acl.prof.range_stop(number))
    assert acl.prof.range_stop(number) == 100000
    for length in (0, 5, -1, 129):
        assert acl.prof.set_stamp_trace_message(stamp, "text", length) == 100000
    assert acl.prof.mark_ex("", stream) == 100000
    assert acl.prof.mark_ex("x" * 129, stream) == 100000
    assert acl.prof.get_step_timestamp(acl.prof.create_step_info(), 2, stream) == 100000
    assert acl.prof.get_step_timestamp(stamp, 0, stream) == 100000


def test_the_order_of_calls(device: int, tmp_path: Path) -> None:
    """Calls out of order are 100042 and 100043, another way meanwhile is 148047, and wrong numbers make no configuration."""
    config, same = acl.prof.create_config([0], 1, 0, TIMES), acl.prof.create_config([0, 1], 1, 0, TIMES)
    assert config
    for devices, metrics, data in (
        ([], 1, 2),
        ([0, 0], 1, 2),
        ([999], 1, 2),
        ([0], 77, 2),
        ([0], 1, 0),
        ([0], 1, 1 << 40),
    ):
        assert acl.prof.create_config(devices, metrics, 0, data) == 0
    assert acl.prof.start(config) == acl.prof.stop(config) == acl.prof.finalize() == 100043
    assert acl.prof.init("") == 100000
    (tmp_path / "file").write_text("")
    assert acl.prof.init(str(tmp_path / "file")) == 500005
    ok(acl.prof.init(str(tmp_path)))
    assert acl.prof.init(str(tmp_path)) == 100042
    ok(acl.prof.start(config))
    assert acl.prof.start(config) == acl.prof.start(same) == 100042
    assert acl.prof.destroy_config(config) == 100000
    model = _load(tmp_path)
    subscription = acl.prof.create_subscribe_config(1, 1, 1)
    assert acl.prof.model_subscribe(model, subscription) == 148047
    ok(acl.prof.stop(config))
    assert acl.prof.stop(config) == 100043
    ok(acl.prof.destroy_config(config))
    assert acl.prof.start(config) == 100000
    ok(acl.prof.finalize())
    assert acl.prof.set_config(1, "200MB") == 200007
    assert acl.prof.set_config(0, "") == acl.prof.set_config(99, "") == 100000


def test_before_init() -> None:
    """Nothing begins before ``acl.init``."""
    assert acl.prof.init("somewhere") == 100001
    assert acl.prof.create_stamp() == 0
