"""The dynamic-shape path: choices and runs that fail, and what is told of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import acl
from tests.compat._kernels import text
from tests.compat._programs import FLOAT, ND, ok
from tests.compat.op.kernels._choices import (
    BAD,
    NO_FUNCTION,
    NO_KERNEL,
    NOT_FOUND,
    RAISED,
    Chooser,
    Request,
    X,
    create_for_other,
)


def fail_with(error: Exception) -> Callable[..., int]:
    """Return a compile function that raises."""

    def choose(*_: Any) -> int:
        raise error

    return choose


@pytest.mark.parametrize(
    ("function", "code", "said"),
    [
        (fail_with(ValueError("no kernel")), RAISED, "raised ValueError: no kernel at "),
        (fail_with(KeyError("shape")), RAISED, "raised KeyError: 'shape'"),
        (lambda *_: 145000, 145000, "returned 145000"),
        (lambda *_: 7, 7, "returned 7"),
        (lambda *_: 0, BAD, "chose no kernel; it is to call acl.op.set_kernel_args"),
        (lambda *_: None, BAD, "returned None; it returns 0"),
        (lambda *_: True, BAD, "returned True"),
        (
            lambda *a: acl.op.set_kernel_args(a[5], "missing", 1, 0, 0),
            NO_KERNEL,
            "chose kernel 'missing'; there is fail, ",
        ),
        (lambda *a: acl.op.set_kernel_args(a[5], "zero", 0, 0, 0), BAD, "returned 100000"),
        (lambda *a: acl.op.set_kernel_args(a[5], "zero", 65536, 0, 0), BAD, "returned 100000"),
        (lambda *a: acl.op.set_kernel_args(a[5], "zero", 1, 0, 8), BAD, "returned 100000"),
        (lambda *a: acl.op.set_kernel_args(a[5], "zero", 1, 8, -1), BAD, "returned 100000"),
        (lambda *a: acl.op.set_kernel_args(a[5], "zero", 1, 8, 8), 107000, "returned 107000"),
        (lambda *a: acl.op.set_kernel_args(a[5], "", 1, 0, 0), BAD, "returned 100000"),
    ],
)
def test_a_compile_function_that_chooses_nothing(
    chooser: Chooser, function: Callable[..., int], code: int, said: str
) -> None:
    """One code and a text that names the operator; nothing is chosen, and what was chosen before stays."""
    ok(acl.op.register_compile_func("other", function))
    ok(create_for_other())
    request = Request()
    assert request.update("other") == code
    assert f"of operator other {said}" in text()
    assert request.run("other") == NOT_FOUND
    ok(request.update())
    ok(request.run())
    np.testing.assert_array_equal(request.result(), 3 * X)


def test_a_failed_update_keeps_the_choice(chooser: Chooser) -> None:
    """The program's runs go on with what was chosen last."""
    request = Request()
    ok(request.update())
    chooser.kernel = "missing"
    assert request.update() == NO_KERNEL
    ok(request.run())
    np.testing.assert_array_equal(request.result(), 3 * X)


def test_an_update_needs_every_dim(chooser: Chooser) -> None:
    """Free dims, what is no description and unknown attributes are refused before the compile function is called."""
    request = Request()
    free = acl.create_tensor_desc(FLOAT, [-1, 3], ND)
    for inputs, outputs, attr, code in (
        ([free], request.descs[2:], 0, 145000),
        (request.descs[:2], [free], 0, 145000),
        ([1], request.descs[2:], 0, BAD),
        (request.descs[:2], request.descs[2:], 5, BAD),
    ):
        assert acl.op.update_params("scaled", inputs, outputs, attr) == code
    assert acl.op.update_params("unknown", request.descs[:2], request.descs[2:], 0) == NO_FUNCTION
    assert chooser.calls == []


def test_a_block_that_fails(chooser: Chooser, stream: int) -> None:
    """The run fails with the code of a kernel, the text names block and status, and the stream goes on."""
    chooser.kernel, chooser.blocks = "fail", 4
    request = Request()
    ok(request.update())
    ok(request.run(stream=stream))
    assert acl.rt.synchronize_stream(stream) == 507018
    assert "block 2 of 4 of kernel 'fail', operator scaled (own kernel) failed with status 9" in text()
    chooser.kernel = "scaled_add"
    ok(request.update())
    ok(request.run(stream=stream))
    np.testing.assert_array_equal(request.result(stream), 3 * X)


def test_guard_bytes(chooser: Chooser, image: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    """With checks on, a write outside the output is told with the code of AscendCL's write overflow."""
    monkeypatch.setenv("AACL_CHECK_KERNELS", "1")
    chooser.workspaces = (1, 32)  # "use" writes byte 63 of the second
    chooser.kernel = "use"
    request = Request()
    ok(request.update())
    ok(request.run())
    assert acl.rt.synchronize_stream(0) == 507043
    assert "up to 32 bytes behind the end of workspace 1 (32 bytes)" in text()
