"""Compile functions: registered, replaced, gone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import acl
from tests.compat._kernels import text
from tests.compat._programs import binary, compile_operators, ok
from tests.compat.op.kernels._choices import KERNEL_TWICE, NO_FUNCTION, NOT_FOUND, TWICE, Chooser, Request, X, create


def test_registering_twice(chooser: Chooser) -> None:
    """The first stays; unregistered, the type may have another, with the kernels it had."""
    assert acl.op.register_compile_func("scaled", Chooser()) == TWICE
    assert "unregister_compile_func" in text()
    request = Request()
    ok(request.update())
    ok(request.run())
    ok(acl.op.unregister_compile_func("scaled"))
    assert acl.op.unregister_compile_func("scaled") == NO_FUNCTION
    assert request.update() == NO_FUNCTION
    assert request.run() == NOT_FOUND
    np.testing.assert_array_equal(request.result(), 3 * X)  # what was submitted before has run
    ok(acl.op.register_compile_func("scaled", Chooser(k=3)))
    assert request.run() == NOT_FOUND
    ok(request.update())
    ok(request.run())
    np.testing.assert_array_equal(request.result(), 4 * X)


def test_kernels_may_come_before_the_compile_function(device: int, image: bytes) -> None:
    """The order of the two calls does not matter; a second kernel of one id is refused."""
    ok(create(image, "zero", "early", "any"))
    assert create(image, "zero", "early", "any") == KERNEL_TWICE
    ok(acl.op.register_compile_func("early", Chooser("any")))
    ok(create(image, "fail", "early", "late"))
    assert create(image, "zero", "early", "late") == KERNEL_TWICE
    ok(Request().update("early"))


def test_a_type_of_the_catalogue(device: int, image: bytes, tmp_path: Path) -> None:
    """While it has a compile function the program's kernels serve it; then the operator models do again."""
    ok(acl.op.set_model_dir(str(compile_operators(tmp_path, binary("Add", "float", [2, 3])))))
    request = Request()
    ok(request.run("Add"))
    np.testing.assert_array_equal(request.result(), 2 * X)
    ok(acl.op.register_compile_func("Add", Chooser(k=6)))
    ok(create(image, "scaled_add", "Add"))
    ok(request.update("Add"))
    other = Request()
    ok(other.run("Add"))
    np.testing.assert_array_equal(other.result(), 7 * X)
    ok(acl.op.unregister_compile_func("Add"))
    another = Request()
    ok(another.run("Add"))
    np.testing.assert_array_equal(another.result(), 2 * X)


@pytest.mark.parametrize("registers_again", [False, True])
def test_a_compile_function_that_unregisters_itself(device: int, image: bytes, registers_again: bool) -> None:
    """What it chooses is lost with it: a code, and nothing serves; another one in its place chooses anew."""

    def function(*arguments: Any) -> int:
        ok(acl.op.unregister_compile_func("scaled"))
        if registers_again:
            ok(acl.op.register_compile_func("scaled", chooser))
        code: int = chooser(*arguments)
        return code

    chooser, request = Chooser(), Request()
    ok(acl.op.register_compile_func("scaled", function))
    ok(create(image, "scaled_add"))
    assert request.update() == NO_FUNCTION
    assert "compile function" in text()
    assert request.run() == NOT_FOUND
    if registers_again:
        ok(request.update())
        ok(request.run())
        np.testing.assert_array_equal(request.result(), 3 * X)


def test_nothing_is_left_by_finalize(chooser: Chooser, image: bytes) -> None:
    """Compile functions, kernels and choices end with the runtime; before ``init`` each call says so."""
    request = Request()
    ok(request.update())
    ok(acl.finalize())
    pointer = acl.util.bytes_to_ptr(image)
    assert acl.op.register_compile_func("scaled", chooser) == 100001
    assert acl.op.unregister_compile_func("scaled") == 100001
    assert acl.op.create_kernel("scaled", "zero", "zero", pointer, len(image), 1, 0) == 100001
    assert acl.op.update_params("scaled", [], [], 0) == 100001
    ok(acl.init())
    assert acl.op.unregister_compile_func("scaled") == NO_FUNCTION
    ok(create(image, "zero"))
    ok(acl.op.register_compile_func("scaled", chooser))
