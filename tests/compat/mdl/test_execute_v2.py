"""Runs with a configuration: time limits, and the queue of a stream."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import acl
from tests.compat._models import nonzero
from tests.compat._programs import FLOAT, ND, Dataset, MakeGate, Reporter, add1, gather, good, ok, slow, untyped

X = np.arange(4, dtype=np.float32).reshape(1, 4)


@pytest.fixture
def model(device: int, tmp_path: Path) -> int:
    """Y = x + 1, float32 [1, 4]."""
    handle: int = good(acl.mdl.load_from_file(add1(tmp_path)))
    return handle


@pytest.fixture
def config() -> int:
    """A configuration without options."""
    handle: int = acl.mdl.create_exec_config_handle()
    return handle


def test_options(config: int) -> None:
    """Every documented option is taken; unknown ones are 100000, times below -1 are 107000, others TypeErrors."""
    assert config
    for attr in range(8):
        ok(untyped.mdl.set_exec_config_opt(config, attr, np.int64(100)))
    for attr in (0, 1):
        ok(acl.mdl.set_exec_config_opt(config, attr, -1))
        assert acl.mdl.set_exec_config_opt(config, attr, -2) == 107000
    assert acl.mdl.set_exec_config_opt(config, 8, 1) == 100000
    assert acl.mdl.set_exec_config_opt(config, -1, 1) == 100000
    assert acl.mdl.set_exec_config_opt(0, 0, 1) == 100000
    with pytest.raises(TypeError):
        untyped.mdl.set_exec_config_opt(config, 0, 1.5)
    assert (acl.mdl.destroy_exec_config_handle(config), acl.mdl.destroy_exec_config_handle(config)) == (0, 100000)


@pytest.mark.parametrize("own", [True, False])
def test_a_run_that_is_waited_for(model: int, config: int, own: bool) -> None:
    """execute_v2 is over when it returns, on a stream of the program's and on the default one."""
    stream = good(acl.rt.create_stream()) if own else 0
    given, wanted = Dataset(X), Dataset(np.zeros_like(X))
    ok(acl.mdl.execute_v2(model, given.handle, wanted.handle, stream, config))

    np.testing.assert_array_equal(wanted.read(), X + 1)


def test_a_run_that_is_submitted(model: int, config: int) -> None:
    """execute_async_v2 takes its place in the stream."""
    stream, given, wanted = good(acl.rt.create_stream()), Dataset(X), Dataset(np.zeros_like(X))
    ok(acl.mdl.execute_async_v2(model, given.handle, wanted.handle, stream, config))
    ok(acl.rt.synchronize_stream(stream))

    np.testing.assert_array_equal(wanted.read(), X + 1)


def test_what_is_no_configuration(model: int, config: int) -> None:
    """A destroyed configuration, 0 and other handles are 100000, and nothing runs."""
    given, wanted = Dataset(X), Dataset(np.zeros_like(X))
    ok(acl.mdl.destroy_exec_config_handle(config))
    for handle in (config, 0, given.handle):
        assert acl.mdl.execute_v2(model, given.handle, wanted.handle, 0, handle) == 100000
        assert acl.mdl.execute_async_v2(model, given.handle, wanted.handle, 0, handle) == 100000
    ok(acl.rt.synchronize_stream(0))
    assert not wanted.read().any()


def test_a_run_behind_what_is_held_up(model: int, config: int, gate: MakeGate) -> None:
    """C039: a time limit that passes is 507046; the run goes on once its turn comes, and the stream is well."""
    stream, given, wanted = good(acl.rt.create_stream()), Dataset(X), Dataset(np.zeros_like(X))
    held = gate(stream)
    ok(acl.mdl.set_exec_config_opt(config, 0, 1))
    assert acl.mdl.execute_v2(model, given.handle, wanted.handle, stream, config) == 507046
    assert not wanted.read().any()
    held.open()

    ok(acl.rt.synchronize_stream(stream))
    np.testing.assert_array_equal(wanted.read(), X + 1)


def test_a_run_that_takes_longer_than_its_limit(device: int, config: int, tmp_path: Path) -> None:
    """A limit of 1 ms on a long run is 507046; without a limit the same call waits for the result."""
    x = np.eye(512, dtype=np.float32)
    model = good(acl.mdl.load_from_file(slow(tmp_path)))
    stream, given, wanted = good(acl.rt.create_stream()), Dataset(x), Dataset(np.zeros_like(x))
    ok(acl.mdl.set_exec_config_opt(config, 0, 1))
    assert acl.mdl.execute_v2(model, given.handle, wanted.handle, stream, config) == 507046
    ok(acl.mdl.set_exec_config_opt(config, 0, -1))
    ok(acl.mdl.execute_v2(model, given.handle, wanted.handle, stream, config))

    np.testing.assert_allclose(wanted.read(), x, rtol=1e-4)


def test_a_run_that_fails(device: int, config: int, tmp_path: Path) -> None:
    """A failure is execute_v2's own answer, and not the next synchronise's too."""
    model = good(acl.mdl.load_from_file(gather(tmp_path)))
    stream, wanted = good(acl.rt.create_stream()), Dataset(np.zeros(1, np.float32))
    bad = Dataset(np.arange(4, dtype=np.float32), np.array([9]))

    assert acl.mdl.execute_v2(model, bad.handle, wanted.handle, stream, config) == 507011
    assert "picks" in (acl.get_recent_err_msg() or "")
    assert acl.rt.synchronize_stream(stream) == 0


def test_waiting_in_a_callback_of_the_stream(model: int, config: int, reporter: Reporter) -> None:
    """execute_v2 in a blocking callback of its own stream would wait for itself: 507004."""
    stream, context = good(acl.rt.create_stream()), good(acl.rt.get_context())
    given, wanted = Dataset(X), Dataset(np.zeros_like(X))
    codes: list[int] = []

    def run(_data: object) -> None:
        ok(acl.rt.set_context(context))
        codes.append(acl.mdl.execute_v2(model, given.handle, wanted.handle, stream, config))

    ok(acl.rt.subscribe_report(reporter.thread, stream))
    ok(acl.rt.launch_callback(run, None, 1, stream))
    ok(acl.rt.synchronize_stream(stream))

    assert codes == [507004]


def test_shapes_told_by_a_run_that_is_waited_for(device: int, config: int, tmp_path: Path) -> None:
    """When execute_v2 returns, the output dataset has the shapes that values decided."""
    model = good(acl.mdl.load_from_file(nonzero(tmp_path)))
    given, wanted = Dataset(X), Dataset(np.zeros_like(X), np.zeros(8, np.int64))
    desc = acl.create_tensor_desc(FLOAT, [1, 4], ND)
    assert acl.mdl.set_dataset_tensor_desc(given.handle, desc, 0)[1] == 0
    for _ in range(50):
        ok(acl.mdl.execute_v2(model, given.handle, wanted.handle, 0, config))
        told = acl.mdl.get_dataset_tensor_desc(wanted.handle, 1)
        assert [acl.get_tensor_desc_dim_v2(told, i)[0] for i in range(2)] == [2, 3]
        assert acl.mdl.set_dataset_tensor_desc(wanted.handle, 0, 1) == (wanted.handle, 0)
