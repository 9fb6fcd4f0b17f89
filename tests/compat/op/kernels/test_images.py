"""Kernels loaded from bytes: what is refused, and who frees the bytes."""

from __future__ import annotations

import pytest

import acl
from tests.compat._kernels import text
from tests.compat._programs import good, ok, untyped
from tests.compat.op.kernels._choices import BAD, NOT_LOADED, create


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
