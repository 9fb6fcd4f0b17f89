"""Kernels in shared objects: what is loaded, what is refused and why."""

from __future__ import annotations

import gc
import os
import random
import shutil
from pathlib import Path
from typing import Any

import pytest

import aacl
from aacl import InvalidFile, KernelLoadError, SharedKernel
from aacl.ops._shared_object import _libraries
from tests.helpers import build_kernels, run_python

SOURCE = """
AACL_KERNEL(first) { ((int *)outputs[0])[0] = 1; }
AACL_KERNEL(second) { if (block == 0) AACL_FAIL(5); }
int helper(void);
int helper(void) { return 3; }
"""


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A shared object with two kernels."""
    return build_kernels(tmp_path_factory.mktemp("kernels"), SOURCE)


def _image(library: Path, *changes: tuple[int, bytes]) -> bytes:
    image = bytearray(library.read_bytes())
    for place, data in changes:
        image[place : place + len(data)] = data
    return bytes(image)


def _descriptors() -> int:
    return len(os.listdir("/proc/self/fd"))


def test_the_header_is_where_the_folder_says() -> None:
    """`kernel_include_dir` is for a compiler's -I."""
    assert (Path(aacl.kernel_include_dir()) / "aacl_kernel.h").is_file()


def test_a_path_or_bytes(library: Path) -> None:
    """Both give the kernel; the text says where it is from. Equal bytes are one library, whatever they came from."""
    by_path, by_bytes = SharedKernel(library, "first"), SharedKernel(memoryview(library.read_bytes()), "second")

    assert (by_path.symbol, by_bytes.symbol) == ("first", "second")
    assert str(library) in repr(by_path)
    assert len([each for each in _libraries.values() if each in (by_path._library, by_bytes._library)]) == 1
    assert SharedKernel(str(library), "first")._library is by_path._library


@pytest.mark.parametrize("standard", ["c99", "c17"])
def test_the_header_is_plain_c(tmp_path: Path, standard: str) -> None:
    """Hidden visibility hides no kernel, and no warning comes of the header or of unused names."""
    made = build_kernels(tmp_path, "AACL_KERNEL(empty) { }", f"-std={standard}", "-fvisibility=hidden")
    assert SharedKernel(made, "empty").symbol == "empty"


def test_the_header_is_cpp(tmp_path: Path) -> None:
    """Kernels of C++ have the same names."""
    source = "AACL_KERNEL(plus) { if (blocks > 4) AACL_FAIL(1); *static_cast<int *>(outputs[0]) = 1; }"
    assert SharedKernel(build_kernels(tmp_path, source, language="c++"), "plus").symbol == "plus"


def test_a_relocatable_object_is_refused_by_name(tmp_path: Path) -> None:
    """What was compiled and not linked says so."""
    with pytest.raises(KernelLoadError, match=r"\.o.*relocatable object.*link it with -shared"):
        SharedKernel(build_kernels(tmp_path, SOURCE, shared=False), "first")


def test_another_machine_is_refused_by_both_names(library: Path) -> None:
    """The file's machine and this one are named."""
    other, name = (b"\xb7\x00", "AArch64") if os.uname().machine == "x86_64" else (b"\x3e\x00", "x86-64")
    with pytest.raises(KernelLoadError, match=rf"for {name} .*this machine is"):
        SharedKernel(_image(library, (18, other)), "first")


def test_a_missing_kernel_is_told_with_those_there_are(library: Path) -> None:
    """Only kernels count: neither other functions, nor the function that tells the version."""
    for symbol in ("third", "helper", "abi", "aacl_kernel_first"):
        with pytest.raises(KernelLoadError, match=rf"has no kernel '{symbol}'; it has first, second$"):
            SharedKernel(library, symbol)


def test_a_library_without_the_header_is_refused(tmp_path: Path) -> None:
    """A function of the right name is not enough: its interface is not known."""
    source = "#undef AACL_KERNEL\nint aacl_kernel_x(void);\nint aacl_kernel_x(void) { return 0; }"
    made = build_kernels(tmp_path, source, "-Daacl_kernels_abi=unrelated")
    with pytest.raises(KernelLoadError, match=r"not made with aacl_kernel\.h"):
        SharedKernel(made, "x")


def test_another_version_of_the_interface_is_refused(tmp_path: Path) -> None:
    """Both versions are named."""
    source = "int aacl_kernels_abi(void) { return 2; }\nAACL_KERNEL(x) { }"
    made = build_kernels(tmp_path, source, "-DAACL_KERNEL_H", "-include", _old_header(tmp_path))
    with pytest.raises(KernelLoadError, match="for version 2 of the kernels' interface, this runtime has 1"):
        SharedKernel(made, "x")


def _old_header(folder: Path) -> str:
    """Write a header of another version: the same, but for the number."""
    text = (Path(aacl.kernel_include_dir()) / "aacl_kernel.h").read_text().replace("#ifndef AACL_KERNEL_H", "#if 1")
    path = folder / "other.h"
    path.write_text(
        text.replace("#define AACL_KERNEL_H", "").replace(
            "int aacl_kernels_abi(void) { return AACL_KERNEL_ABI; }", "int aacl_kernels_abi(void);"
        )
    )
    return str(path)


def test_an_undefined_symbol_is_told_by_the_loader(tmp_path: Path) -> None:
    """What the library needs and nobody has is named before anything runs."""
    made = build_kernels(tmp_path, "extern int nowhere(void);\nAACL_KERNEL(x) { if (nowhere()) AACL_FAIL(1); }")
    with pytest.raises(KernelLoadError, match=r"cannot be loaded.*nowhere"):
        SharedKernel(made, "x")


def test_a_library_that_crashes_when_loaded_ends_another_process(tmp_path: Path) -> None:
    """A constructor that fails is an error here."""
    made = build_kernels(tmp_path, "#include <stdlib.h>\n__attribute__((constructor)) static void go(void) { abort(); }\n"
                                   "AACL_KERNEL(x) { }")  # fmt: skip
    with pytest.raises(KernelLoadError, match="damaged: loading it ended a process with signal 6"):
        SharedKernel(made, "x")


@pytest.mark.parametrize("when", ["constructor", "destructor"])
def test_a_library_that_ends_the_process_that_loads_it(tmp_path: Path, when: str) -> None:
    """It is not loaded here, whatever status it ends with."""
    made = build_kernels(tmp_path, "#include <stdlib.h>\n"
                                   f"__attribute__(({when})) static void go(void) {{ _Exit(0); }}\n"
                                   "AACL_KERNEL(x) { }")  # fmt: skip
    with pytest.raises(KernelLoadError, match=r"ELF file .* cannot be loaded: that ended a process with status 0"):
        SharedKernel(made, "x")


def test_a_library_that_starts_a_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a constructor leaves running, with the trial's output open, is not waited for."""
    monkeypatch.setattr("aacl.ops._trial._PATIENCE", 10.0)
    source = f"""
    #include <unistd.h>
    __attribute__((constructor)) static void go(void) {{
        if (getpid() == {os.getpid()} || fork()) return;
        sleep(15);
        _exit(0);
    }}
    AACL_KERNEL(x) {{ }}
    """
    assert SharedKernel(build_kernels(tmp_path, source), "x").symbol == "x"


def test_loading_does_not_change_how_this_thread_computes(tmp_path: Path) -> None:
    """A library that sets another rounding when it is loaded sets it for nobody."""
    source = "#include <fenv.h>\n__attribute__((constructor)) static void go(void) { fesetround(FE_UPWARD); }\n"
    made = build_kernels(tmp_path, source + "AACL_KERNEL(x) { }", "-lm")
    third = 1.0 / float(len("one"))
    kernel = SharedKernel(made, "x")

    assert (kernel.symbol, 1.0 / float(len("one"))) == ("x", third)


@pytest.mark.parametrize(
    ("source", "symbol", "kind", "text"),
    [
        ("/nowhere/k.so", "x", InvalidFile, "cannot read the shared object '/nowhere/k.so'"),
        ("/", "x", InvalidFile, "cannot read"),
        (3, "x", KernelLoadError, "path or its bytes, not 3"),
        (None, "x", KernelLoadError, "path or its bytes, not None"),
        (b"", "x", KernelLoadError, "<0 bytes> is no ELF file"),
        (b"#!/bin/sh\n", "x", KernelLoadError, "no ELF file"),
        (b"", "", KernelLoadError, "symbol is a name"),
        (b"", 3, KernelLoadError, "symbol is a name"),
        (b"", "a\0b", KernelLoadError, "symbol is a name"),
    ],
)
def test_what_is_no_library(source: Any, symbol: Any, kind: type[Exception], text: str) -> None:
    """Paths and bytes that mean nothing, and names that are none."""
    with pytest.raises(kind, match=text):
        SharedKernel(source, symbol)


def test_every_cut_is_refused(library: Path) -> None:
    """A file that ends anywhere before its end is never loaded."""
    image = library.read_bytes()
    for length in [*range(0, 128, 7), *range(128, len(image), 997), len(image) - 1]:
        with pytest.raises(KernelLoadError, match="ELF"):
            SharedKernel(image[:length], "first")


def test_damage_never_ends_the_process(library: Path) -> None:
    """Bytes changed in headers, tables and the loader's data give a kernel or an error, and leave nothing open."""
    program = """
    import random
    from pathlib import Path
    image = Path(LIBRARY).read_bytes()
    choice = random.Random(7)
    for _ in range(60):
        damaged = bytearray(image)
        low, high = choice.choice([(0, 0x400), (0x200, 0x1000), (0x2d00, len(image))])
        for _ in range(choice.randint(1, 4)):
            damaged[choice.randrange(low, min(high, len(image)))] = choice.randrange(256)
        try:
            aacl.SharedKernel(damaged, "first")
        except aacl.KernelLoadError as error:
            assert "ELF" in str(error)
    print("alive")
    """.replace("LIBRARY", repr(str(library)))
    done = run_python(program, timeout=60.0)

    assert (done.status, done.output) == (0, "alive"), done.errors


def test_a_library_is_let_go_of_with_its_last_kernel(library: Path) -> None:
    """File and mapping are gone; loaded again it starts anew."""
    image = library.read_bytes() + b"\0"  # another library than that of the other tests
    gc.collect()
    before = _descriptors()
    first, second = SharedKernel(image, "first"), SharedKernel(image, "second")
    assert _descriptors() == before + 1
    del first
    gc.collect()
    assert _descriptors() == before + 1
    del second
    gc.collect()

    assert _descriptors() == before
    assert SharedKernel(image, "first").symbol == "first"


def test_what_becomes_of_the_file_does_not_matter(tmp_path: Path, library: Path) -> None:
    """The kernel is loaded from a copy: the file may be overwritten in place, and made anew."""
    path = tmp_path / "k.so"
    shutil.copy(library, path)
    kernel = SharedKernel(path, "first")
    path.write_bytes(b"")
    with pytest.raises(KernelLoadError):
        SharedKernel(path, "first")
    shutil.copy(build_kernels(tmp_path, "AACL_KERNEL(other) { }"), path)

    assert SharedKernel(path, "other").symbol == "other"
    assert kernel.symbol == "first"


def test_random_bytes_are_refused() -> None:
    """With the magic in front or without."""
    choice = random.Random(3)
    for length in (0, 1, 63, 64, 65, 500):
        data = choice.randbytes(length)
        for image in (data, b"\x7fELF" + data):
            with pytest.raises(KernelLoadError, match="ELF"):
                SharedKernel(image, "x")
