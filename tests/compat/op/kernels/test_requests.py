"""The dynamic-shape path: what serves which request, and what a kernel is given then."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import acl
from tests.compat._kernels import text
from tests.compat._programs import FLOAT, ND, good, ok, untyped
from tests.compat.op.kernels._choices import BAD, NOT_FOUND, Chooser, Request, X, create_for_other


def test_a_compile_function_chooses_for_each_shape(chooser: Chooser, stream: int) -> None:
    """It is called once an update; what it chose serves every run with these descriptions, and no other."""
    for shape in ((2, 1), (11, 33), (1000,)):
        request = Request(np.random.default_rng(1).random(shape, np.float32))
        assert request.run(stream=stream) == NOT_FOUND
        assert "call acl.op.update_params with them first" in text()
        ok(request.update())
        for _ in range(3):
            ok(request.run(stream=stream))
        np.testing.assert_allclose(request.result(stream), 3 * request.array, rtol=1e-6)
        again = Request(request.array)  # other handles, other memory
        ok(again.run(stream=stream))
        np.testing.assert_allclose(again.result(stream), 3 * request.array, rtol=1e-6)
    assert chooser.calls == [(2, 1, 2), (2, 1, 363), (2, 1, 1000)]


def test_what_a_compile_function_is_given(chooser: Chooser) -> None:
    """Handles of the descriptions and attributes as they were passed; the kernel description dies with the call."""
    attr = acl.op.create_attr()
    ok(acl.op.set_attr_float(attr, "k", 0.5))
    request = Request(attr=attr)
    ok(request.update())

    assert chooser.last[:5] == (2, request.descs[:2], 1, request.descs[2:], attr)
    kernel_desc = chooser.last[5]
    for handle in (kernel_desc, 0, request.descs[0]):
        assert acl.op.set_kernel_args(handle, "zero", 1, 0, 0) == BAD
        assert "kernel desc" in text()
        assert acl.op.set_kernel_workspace_sizes(handle, 0, []) == BAD
        assert "kernel desc" in text()


def test_another_choice_for_the_same_descriptions(chooser: Chooser) -> None:
    """A later update serves the runs that follow it, though the request was prepared before."""
    request = Request()
    ok(request.update())
    ok(request.run())
    np.testing.assert_array_equal(request.result(), 3 * X)
    chooser.k = 10
    ok(request.run())
    np.testing.assert_array_equal(request.result(), 3 * X)
    ok(request.update())
    ok(request.run())
    np.testing.assert_array_equal(request.result(), 11 * X)


def test_attributes_tell_requests_apart(chooser: Chooser) -> None:
    """A run with other attributes than the update's finds nothing."""
    attr = acl.op.create_attr()
    ok(acl.op.set_attr_int(attr, "n", 1))
    request = Request()
    ok(request.update())
    request.attr = attr
    assert request.run() == NOT_FOUND
    ok(request.update())
    ok(request.run())
    np.testing.assert_array_equal(request.result(), 3 * X)


def test_handles_are_served_too(chooser: Chooser) -> None:
    """`create_handle` finds the choice, and `execute_with_handle` runs it, until the compile function is gone."""
    request = Request()
    assert acl.op.create_handle("scaled", request.descs[:2], request.descs[2:], 0) == (0, NOT_FOUND)
    ok(request.update())
    handle = good(acl.op.create_handle("scaled", request.descs[:2], request.descs[2:], 0))
    ok(acl.op.execute_with_handle(handle, request.buffers[:2], request.buffers[2:], 0))
    np.testing.assert_array_equal(request.result(), 3 * X)
    ok(acl.op.unregister_compile_func("scaled"))
    assert acl.op.execute_with_handle(handle, request.buffers[:2], request.buffers[2:], 0) == NOT_FOUND


def test_an_absent_and_a_constant_input(chooser: Chooser) -> None:
    """An absent input is NULL to the kernel; a constant one is its contents."""
    request = Request()
    request.descs[1] = acl.create_tensor_desc(-1, [], -1)
    request.buffers[1] = acl.create_data_buffer(0, 0)
    ok(request.update())
    ok(request.run())
    np.testing.assert_array_equal(request.result(), X)
    request.descs[1] = acl.create_tensor_desc(FLOAT, [2, 3], ND)
    data = np.full((2, 3), 5, np.float32).tobytes()
    ok(acl.set_tensor_const(request.descs[1], acl.util.bytes_to_ptr(data), len(data)))
    ok(request.update())
    ok(request.run())
    np.testing.assert_array_equal(request.result(), X + 10)


def test_workspaces(chooser: Chooser) -> None:
    """The launch gets as many as the compile function says, of these sizes; a later call without any takes them back."""
    chooser.kernel, chooser.workspaces, chooser.blocks = "use", (1, 64), 1
    request = Request()
    ok(request.update())
    ok(request.run())
    assert request.result()[0, 0] == 8


@pytest.mark.parametrize(
    ("number", "sizes"), [(1, [-1]), (2, [1]), (0, []), (0, 12345), (0, None)], ids=["negative", "few", "0", "0p", "0n"]
)
def test_workspace_sizes(chooser: Chooser, number: int, sizes: Any) -> None:
    """Sizes are not negative and as many as said; for none of them nothing is looked at."""

    def choose(*arguments: Any) -> int:
        code: int = untyped.op.set_kernel_workspace_sizes(arguments[5], number, sizes)
        return code or chooser(*arguments)

    ok(acl.op.register_compile_func("other", choose))
    ok(create_for_other())
    assert Request().update("other") == (0 if number == 0 else BAD)
