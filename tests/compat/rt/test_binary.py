"""Kernel binaries: loading, what is refused and why, functions and their names."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

import acl
from acl._handles import open_handles
from acl._status import Refused
from acl.rt import _binary
from tests.compat._kernels import BAD, NO_FUNCTION, NO_HANDLE, SOURCE, SPAN, TWICE, UNSUPPORTED, host, text
from tests.compat._programs import good, ok, untyped
from tests.helpers import build_kernels

NOT_LOADED, NO_FILE, NOT_INIT = 100025, 100003, 100001


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The functions, compiled."""
    return build_kernels(tmp_path_factory.mktemp("functions"), SOURCE)


@pytest.fixture
def binary(device: int, library: Path) -> int:
    """The functions, loaded."""
    loaded: int = good(acl.rt.binary_load_from_file(str(library), []))
    return loaded


def test_three_ways_to_load(device: int, library: Path) -> None:
    """From a file, from memory, and by a description, which may be destroyed at once; each gives a handle of its own."""
    image = library.read_bytes()
    desc = acl.rt.create_binary(host(image), len(image))
    loaded = [
        good(acl.rt.binary_load_from_file(str(library), [])),
        good(acl.rt.binary_load_from_data(host(image), len(image), [])),
        good(acl.rt.binary_load(desc)),
    ]
    ok(acl.rt.destroy_binary(desc))

    assert len(set(loaded)) == 3
    for each in loaded:
        assert good(acl.rt.binary_get_function(each, "scale"))
        ok(acl.rt.binary_unload(each))
    assert not [kind for kind in open_handles() if "kernel" in kind]


@pytest.mark.parametrize(
    "options",
    [
        [{"type": 1, "value": 1}],
        [{"type": 2, "value": 0x43554245}, {"type": 1, "value": 0}],
        [(2, 0x41415246)],
        [[3, 2]],
        (),
    ],
)
def test_options_that_there_are(device: int, library: Path, options: Any) -> None:
    """Dicts with the names of the C structure, or pairs."""
    ok(acl.rt.binary_unload(good(acl.rt.binary_load_from_file(str(library), options))))


@pytest.mark.parametrize(("options", "told"), [([(4, 0)], "option 4 of value 0"), ([(1, 2)], "option 1 of value 2"),
                                               ([{"type": 2, "value": 3}], "option 2 of value 3")])  # fmt: skip
def test_options_that_there_are_not(device: int, library: Path, options: Any, told: str) -> None:
    """The text names the option; nothing is loaded."""
    image = library.read_bytes()

    assert acl.rt.binary_load_from_file(str(library), options) == (0, SPAN)
    assert told in text()
    assert acl.rt.binary_load_from_data(host(image), len(image), options) == (0, SPAN)


@pytest.mark.parametrize(
    "options", [None, 1, "x", [1], [(1, 2, 3)], [{"type": 1}], [{"kind": 1, "value": 1}], [("a", 1)]]
)
def test_options_of_another_type(device: int, library: Path, options: Any) -> None:
    """They are a list of dicts or pairs of numbers."""
    with pytest.raises(TypeError):
        acl.rt.binary_load_from_file(str(library), options)


def test_a_binary_of_a_device(device: int, library: Path) -> None:
    """It is understood and cannot run here; the text says both machines. What is no binary at all is another code."""
    image = bytearray(library.read_bytes())
    image[18:20] = (4137).to_bytes(2, "little")

    assert acl.rt.binary_load_from_data(host(bytes(image)), len(image), []) == (0, UNSUPPORTED)
    assert re.search("this device runs code of this machine alone: .* for machine 4137", text())
    assert acl.rt.binary_load_from_data(host(b"no binary"), 9, []) == (0, NOT_LOADED)
    assert "no ELF file" in text()


def test_what_cannot_be_loaded(device: int, library: Path, tmp_path: Path) -> None:
    """A missing file, a null or unmapped address, no bytes, and a file of something else."""
    other = tmp_path / "kernel.json"
    other.write_text('{"binFileName": "kernel"}')

    assert acl.rt.binary_load_from_file(str(tmp_path / "none.so"), []) == (0, NO_FILE)
    assert acl.rt.binary_load_from_file("a\0b", []) == (0, NO_FILE)
    assert acl.rt.binary_load_from_file(str(other), []) == (0, NOT_LOADED)
    assert acl.rt.binary_load_from_data(0, 8, []) == (0, BAD)
    assert acl.rt.binary_load_from_data(host(b"12345678"), 0, []) == (0, BAD)
    assert acl.rt.binary_load_from_data(4096, 8, []) == (0, SPAN)
    assert acl.rt.create_binary(0, 8) == 0
    assert acl.rt.create_binary(4096, 8) == 0
    assert acl.rt.binary_load(0) == (0, SPAN)
    assert acl.rt.binary_load(12345) == (0, SPAN)
    assert acl.rt.destroy_binary(12345) == SPAN
    with pytest.raises(TypeError, match="argument 1 must be str, not bytes"):
        untyped.rt.binary_load_from_file(b"path", [])


def test_before_init(library: Path) -> None:
    """Nothing is loaded before ``acl.init``."""
    assert acl.rt.binary_load_from_file(str(library), []) == (0, NOT_INIT)
    assert acl.rt.binary_load_from_data(1, 1, []) == (0, NOT_INIT)
    assert acl.rt.binary_load(1) == (0, NOT_INIT)


def test_functions_by_name(binary: int) -> None:
    """The same name gives the same handle, with the name and an address of this process."""
    function = good(acl.rt.binary_get_function(binary, "scale"))
    address, vector, ret = acl.rt.get_function_addr(function)

    assert good(acl.rt.binary_get_function(binary, "scale")) == function
    assert (vector, ret) == (0, 0)
    assert address > 0
    assert acl.rt.get_function_name(function, 6) == ("scale", 0)
    assert acl.rt.get_function_name(function, 5) == ("", SPAN)
    assert "takes 6 bytes; there are 5" in text()


@pytest.mark.parametrize(("name", "told"), [("nothing", "it has blocks_of, fail, meet, scale, slow, sums"),
                                            ("add", "only operators launch"), ("", "is a name"), ("a\0b", "is a name")])  # fmt: skip
def test_functions_that_there_are_not(binary: int, name: str, told: str) -> None:
    """The text says what there is."""
    assert acl.rt.binary_get_function(binary, name) == (0, NO_FUNCTION)
    assert told in text()


def test_registered_names(binary: int) -> None:
    """A function gets another name, which stands for one function only."""
    function = good(acl.rt.register_cpu_func(binary, "scale", "Scale"))

    assert acl.rt.get_function_name(function, 100) == ("Scale", 0)
    assert good(acl.rt.binary_get_function(binary, "Scale")) == function
    assert good(acl.rt.register_cpu_func(binary, "scale", "Scale")) == function
    assert good(acl.rt.binary_get_function(binary, "scale")) != function
    assert acl.rt.register_cpu_func(binary, "fail", "Scale") == (0, TWICE)
    assert acl.rt.register_cpu_func(binary, "none", "None") == (0, NO_FUNCTION)


def test_handles_end_with_the_binary(binary: int) -> None:
    """Its functions and their arguments are dead then; so is another kind of handle, and null."""
    function = good(acl.rt.binary_get_function(binary, "scale"))
    args = good(acl.rt.kernel_args_init(function))
    good(acl.rt.kernel_args_append_place_holder(args))
    ok(acl.rt.binary_unload(binary))

    assert not [kind for kind in open_handles() if "kernel" in kind]
    assert acl.rt.binary_unload(binary) == NO_HANDLE
    assert acl.rt.binary_get_function(binary, "scale") == (0, NO_HANDLE)
    assert acl.rt.get_function_name(function, 9) == ("", NO_HANDLE)
    assert acl.rt.get_function_addr(function) == (0, 0, NO_HANDLE)
    assert acl.rt.kernel_args_finalize(args) == NO_HANDLE
    assert acl.rt.binary_unload(0) == BAD
    assert acl.rt.register_cpu_func(0, "scale", "scale") == (0, BAD)


def test_a_binary_that_another_thread_unloads(binary: int) -> None:
    """Who has it already gets no function of it, which nothing would end."""
    held = _binary._binaries.get(binary)
    good(acl.rt.binary_get_function(binary, "scale"))
    ok(acl.rt.binary_unload(binary))

    with pytest.raises(Refused, match="unloaded meanwhile") as refused:
        held.function("twice", "twice")
    assert refused.value.code == 107017
    assert not [kind for kind in open_handles() if "kernel" in kind]
