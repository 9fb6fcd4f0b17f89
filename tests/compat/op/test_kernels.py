"""The dynamic-shape path: compile functions, kernels, and what serves a request then."""

from __future__ import annotations

import struct
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import aacl
import acl
from acl.op import _own
from tests.compat._programs import FLOAT, ND, Array, binary, compile_operators, get, good, ok, put, untyped
from tests.helpers import build_kernels

SOURCE = """
typedef struct { long count; double k; } tiling_t;
AACL_KERNEL(scaled_add) {
    const tiling_t *t = tiling;
    const float *a = inputs[0], *b = inputs[1];
    float *y = outputs[0];
    long share = (t->count + blocks - 1) / blocks, from = block * share, to = from + share;
    for (long i = from; i < to && i < t->count; ++i) y[i] = a[i] + (float)t->k * (b ? b[i] : 0);
}
AACL_KERNEL(zero) { *(float *)outputs[0] = 0; }
AACL_KERNEL(use) { ((char *)workspaces[0])[0] = 1; ((char *)workspaces[1])[63] = 1; *(float *)outputs[0] = 8; }
AACL_KERNEL(fail) { if (block == 2) AACL_FAIL(9); }
"""
X = np.arange(6, dtype=np.float32).reshape(2, 3)
BAD, RAISED, NO_FUNCTION, NO_KERNEL, TWICE, KERNEL_TWICE, NOT_LOADED, NOT_FOUND = (
    100000, 500001, 100028, 100029, 100030, 100031, 100025, 100024,
)  # fmt: skip


@pytest.fixture(scope="module")
def image(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """The kernels above, compiled."""
    return build_kernels(tmp_path_factory.mktemp("kernels"), SOURCE).read_bytes()


def create(image: bytes, name: str, op: str = "scaled", kernel_id: str = "", deallocator: int = 0) -> int:
    """Load a kernel from bytes."""
    pointer = acl.util.bytes_to_ptr(image)
    code: int = acl.op.create_kernel(op, kernel_id or name, name, pointer, len(image), 1, deallocator)
    return code


def text() -> str:
    """Return what the latest failure said."""
    return acl.get_recent_err_msg() or ""


class Chooser:
    """A compile function that chooses a kernel, and keeps what it was called with."""

    def __init__(
        self, kernel: str = "scaled_add", blocks: int = 3, workspaces: tuple[int, ...] = (), k: float = 2
    ) -> None:
        self.kernel, self.blocks, self.workspaces, self.k = kernel, blocks, workspaces, k
        self.calls: list[tuple[Any, ...]] = []

    def __call__(self, *arguments: Any) -> int:
        in_num, in_desc, out_num, _, _, kernel_desc = arguments
        count = acl.get_tensor_desc_element_count(in_desc[0])
        self.calls.append((in_num, out_num, count))
        self.last = arguments
        ok(acl.op.set_kernel_workspace_sizes(kernel_desc, len(self.workspaces), list(self.workspaces)))
        tiling = struct.pack("<qd", count, self.k)
        code: int = acl.op.set_kernel_args(
            kernel_desc, self.kernel, self.blocks, acl.util.bytes_to_ptr(tiling), len(tiling)
        )
        return code


class Request:
    """Two inputs and an output of one shape, on the device."""

    def __init__(self, array: Array = X, attr: int = 0) -> None:
        self.array, self.attr = array, attr
        self.pointers = [put(array), put(array), put(np.zeros_like(array))]
        self.descs = [acl.create_tensor_desc(FLOAT, list(array.shape), ND) for _ in range(3)]
        self.buffers = [acl.create_data_buffer(pointer, array.nbytes) for pointer in self.pointers]

    def update(self, op: str = "scaled") -> int:
        """Ask the compile function."""
        code: int = acl.op.update_params(op, self.descs[:2], self.descs[2:], self.attr)
        return code

    def run(self, op: str = "scaled", stream: int = 0) -> int:
        """Submit the operator."""
        code: int = acl.op.execute_v2(
            op, self.descs[:2], self.buffers[:2], self.descs[2:], self.buffers[2:], self.attr, stream
        )
        return code

    def result(self, stream: int = 0) -> Array:
        """Wait, and return what the output holds."""
        ok(acl.rt.synchronize_stream(stream))
        return get(self.pointers[2], self.array)


@pytest.fixture
def chooser(device: int, image: bytes) -> Chooser:
    """A compile function of operator "scaled", registered, with its kernels."""
    chooser = Chooser()
    ok(acl.op.register_compile_func("scaled", chooser))
    for name in ("scaled_add", "zero", "use", "fail"):
        ok(create(image, name))
    return chooser


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


def create_for_other() -> int:
    """Let operator "other" have the kernels of "scaled"."""
    for name, kernel in _own._kernels["scaled"].items():
        _own.add_kernel("other", name, partial(_itself, kernel))
    return 0


def _itself(kernel: aacl.SharedKernel) -> aacl.SharedKernel:
    return kernel


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


# -- what goes wrong --------------------------------------------------------------------------


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


def test_images_that_are_refused(device: int, image: bytes) -> None:
    """The text says what is wrong with the bytes; the id stays free."""
    for bad, name, said in (
        (b"\x7fELF" + bytes(60), "zero", "damaged ELF file"),
        (b"not a library, but long enough for a header of one, which has 64 bytes", "zero", "no ELF file"),
        (image[:1000], "zero", "ELF file that is cut short"),
        (image, "absent", "has no kernel 'absent'; it has fail, scaled_add, use, zero"),
    ):
        assert create(bad, name, kernel_id="id") == NOT_LOADED
        assert said in text()
    ok(create(image, "zero", kernel_id="id"))


def test_kernels_that_cannot_be_asked_for(device: int, image: bytes) -> None:
    """Null and unmapped addresses, sizes, empty names, unknown engines and deallocators."""
    pointer, size = acl.util.bytes_to_ptr(image), len(image)
    for arguments, code in (
        (("op", "id", "zero", 0, size, 1, 0), BAD),
        (("op", "id", "zero", pointer, 0, 1, 0), BAD),
        (("op", "id", "zero", pointer, -1, 1, 0), BAD),
        (("", "id", "zero", pointer, size, 1, 0), BAD),
        (("op", "", "zero", pointer, size, 1, 0), BAD),
        (("op", "id", "", pointer, size, 1, 0), BAD),
        (("op", "id", "zero", pointer, size, 3, 0), BAD),
        (("op", "id", "zero", pointer, size, 1, 2), BAD),
        (("op", "id", "zero", 4096, size, 1, 0), 107000),
    ):
        assert acl.op.create_kernel(*arguments) == code
    for wrong in ((3, "id", "zero"), ("op", 3, "zero"), ("op", "id", 3)):
        with pytest.raises(TypeError, match="must be str"):
            untyped.op.create_kernel(*wrong, pointer, size, 1, 0)
    with pytest.raises(TypeError, match="callable"):
        untyped.op.register_compile_func("op", 3)


def test_the_deallocator(device: int, image: bytes) -> None:
    """1 frees memory of ``malloc_host`` once the kernel is loaded, and only then; 0 leaves it to the program."""
    for deallocator, freed in ((0, 0), (1, BAD)):
        pointer = good(acl.rt.malloc_host(len(image)))
        ok(acl.rt.memcpy(pointer, len(image), acl.util.bytes_to_ptr(image), len(image), 0))
        bad = acl.op.create_kernel("op", f"bad{deallocator}", "absent", pointer, len(image), 1, deallocator)
        assert bad == NOT_LOADED
        ok(acl.op.create_kernel("op", f"id{deallocator}", "zero", pointer, len(image), 1, deallocator))
        assert acl.rt.free_host(pointer) == freed


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
