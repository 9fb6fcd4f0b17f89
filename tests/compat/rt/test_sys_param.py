"""System parameters."""

from __future__ import annotations

import pytest

import acl
from tests.compat._programs import good, in_thread, ok

DETERMINISTIC, DEBUG_KERNEL, STRONG_CONSISTENCY = 0, 1, 2


@pytest.mark.parametrize("opt", [DETERMINISTIC, STRONG_CONSISTENCY])
def test_a_context_has_its_own(device: int, opt: int) -> None:
    """A parameter is off, is set for one context in whatever thread, and ends with it."""
    default = good(acl.rt.get_context())
    assert acl.rt.ctx_get_sys_param_opt(opt) == (0, 0)
    context = good(acl.rt.create_context(0))
    ok(acl.rt.ctx_set_sys_param_opt(opt, 1))

    assert in_thread(lambda: (acl.rt.set_context(context), acl.rt.ctx_get_sys_param_opt(opt))) == (0, (1, 0))
    ok(acl.rt.set_context(default))
    assert acl.rt.ctx_get_sys_param_opt(opt) == (0, 0)


def test_the_process_is_behind_its_contexts(device: int) -> None:
    """A context without a value of its own has the process's; finalize forgets both."""
    ok(acl.rt.set_sys_param_opt(DETERMINISTIC, 1))
    assert acl.rt.get_sys_param_opt(DETERMINISTIC) == acl.rt.ctx_get_sys_param_opt(DETERMINISTIC) == (1, 0)
    ok(acl.rt.ctx_set_sys_param_opt(DETERMINISTIC, 0))
    assert acl.rt.ctx_get_sys_param_opt(DETERMINISTIC) == (0, 0)
    assert acl.rt.get_sys_param_opt(DETERMINISTIC) == (1, 0)
    assert acl.rt.get_sys_param_opt(STRONG_CONSISTENCY) == (0, 0)

    ok(acl.finalize())
    ok(acl.init())
    assert acl.rt.get_sys_param_opt(DETERMINISTIC) == (0, 0)


@pytest.mark.parametrize(("environment", "code"), [("", 207000), ("0", 207000), ("1", 0)])
def test_kernels_are_checked_as_the_environment_says(
    device: int, environment: str, code: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Checking kernels can be asked for where AACL_CHECK_KERNELS does it, and is refused elsewhere; off is always good."""
    monkeypatch.setenv("AACL_CHECK_KERNELS", environment)

    assert acl.rt.ctx_set_sys_param_opt(DEBUG_KERNEL, 1) == acl.rt.set_sys_param_opt(DEBUG_KERNEL, 1) == code
    assert acl.rt.ctx_get_sys_param_opt(DEBUG_KERNEL) == (int(not code), 0)
    assert "AACL_CHECK_KERNELS=1" in (acl.get_recent_err_msg() or "") or not code
    ok(acl.rt.ctx_set_sys_param_opt(DEBUG_KERNEL, 0))


def test_what_is_refused(device: int) -> None:
    """Unknown parameters and values change nothing."""
    for opt in (-1, 3, 2**70):
        assert acl.rt.ctx_set_sys_param_opt(opt, 1) == acl.rt.set_sys_param_opt(opt, 1) == 100000
        assert acl.rt.ctx_get_sys_param_opt(opt) == acl.rt.get_sys_param_opt(opt) == (0, 100000)
    for value in (-1, 2):
        assert acl.rt.ctx_set_sys_param_opt(0, value) == acl.rt.set_sys_param_opt(0, value) == 100000
    assert acl.rt.ctx_get_sys_param_opt(0) == (0, 0)


def test_before_init_and_without_context() -> None:
    """The process's need the runtime, a context's a context."""
    assert acl.rt.set_sys_param_opt(0, 1) == 100001
    assert acl.rt.get_sys_param_opt(0) == (0, 100001)
    ok(acl.init())
    assert acl.rt.ctx_set_sys_param_opt(0, 1) == 107002
    assert acl.rt.ctx_get_sys_param_opt(0) == (0, 107002)
