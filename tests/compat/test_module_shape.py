"""The module as programs see it before they call anything."""

from __future__ import annotations

import importlib
import inspect
import pickle
from collections.abc import Callable
from types import ModuleType
from unittest import mock

import numpy as np
import pytest

import acl
from tests.compat._programs import good, ok, run_program, untyped

NAMESPACES = (acl, acl.rt, acl.mdl, acl.op, acl.blas, acl.fv, acl.util, acl.media, acl.himpi, acl.prof)


def functions() -> list[Callable[..., object]]:
    """Return every function of every namespace that takes arguments."""
    found = [getattr(module, name) for module in NAMESPACES for name in dir(module)]
    return [each for each in found if callable(each) and inspect.signature(each).parameters]


@pytest.mark.parametrize("module", NAMESPACES, ids=lambda module: module.__name__)
def test_dir_lists_exactly_what_is_there(module: ModuleType) -> None:
    """C013, C063: `dir` names the functions, all of them can be had, and nothing else is listed."""
    listed = dir(module)

    assert listed == sorted(module.__all__)
    assert all(inspect.isfunction(getattr(module, n)) or inspect.ismodule(getattr(module, n)) for n in listed)


def test_util_has_exactly_its_functions() -> None:
    """C063: feature detection by `dir(acl.util)` finds the functions of old and new pyACL."""
    assert dir(acl.util) == [
        "bytes_to_ptr",
        "numpy_contiguous_to_ptr",
        "numpy_to_ptr",
        "ptr_to_bytes",
        "ptr_to_numpy",
        "start_thread",
        "stop_thread",
    ]


@pytest.mark.parametrize(
    "name",
    ["util.numpy_to_bytes", "rt.copy", "rt.malloc_device", "mdl.load", "mdl.create_model", "op.compile_model",
     "tdt", "create_tensor", "rt.memcpy_sync"],
)  # fmt: skip
def test_names_that_do_not_exist_are_not_there(name: str) -> None:
    """C013: a name that pyACL has not raises AttributeError, so `hasattr` tells the truth."""
    space, _, last = name.rpartition(".")
    module = getattr(acl, space) if space else acl

    assert not hasattr(module, last)


def test_submodules_import_by_themselves() -> None:
    """`from acl.rt import memcpy` and `import acl.mdl as m` work first thing in a process."""
    out = run_program("from acl.rt import memcpy; import acl.mdl as m; print(memcpy.__name__, m.execute.__name__)")

    assert out == "memcpy execute\n"


def test_import_starts_nothing() -> None:
    """C156: importing starts no thread and opens no device, so forked children begin clean."""
    out = run_program("import acl, aacl, threading; print(threading.active_count(), aacl.open_resources())")

    assert out == "1 {}\n"


def test_functions_can_be_patched_and_put_back() -> None:
    """`mock.patch("acl.rt.malloc")` works, and leaves the function in place."""
    before = acl.rt.malloc

    with mock.patch("acl.rt.malloc", return_value=(7, 0)) as patched:
        assert acl.rt.malloc(1, 0) == (7, 0)
        assert importlib.import_module("acl.rt").malloc is patched

    assert acl.rt.malloc is before


def test_functions_belong_to_their_namespace() -> None:
    """A function says where programs find it, shows its arguments, and survives pickling by name."""
    assert acl.rt.malloc.__module__ == "acl.rt"
    assert acl.create_data_buffer.__module__ == "acl"
    assert list(inspect.signature(acl.rt.malloc).parameters) == ["size", "policy"]
    assert pickle.loads(pickle.dumps(acl.rt.malloc)) is acl.rt.malloc


@pytest.mark.parametrize("function", functions(), ids=lambda each: f"{each.__module__}.{each.__name__}")
def test_a_wrong_number_of_arguments_is_a_type_error(function: Callable[..., object]) -> None:
    """C012: what takes arguments checks their number, with the text that C extensions give."""
    parameters = inspect.signature(function).parameters.values()
    most, least = len(parameters), sum(each.default is each.empty for each in parameters)

    with pytest.raises(TypeError, match=r"^function takes (exactly|at most) \d+ arguments? \(\d+ given\)$"):
        function(*[0] * (most + 1))
    if least:
        with pytest.raises(TypeError, match=rf"^function takes exactly {most} arguments? \({most - 1} given\)$"):
            function(*[0] * (most - 1))


def test_what_takes_nothing_ignores_extra_arguments(device: int) -> None:
    """C012: every call without arguments takes and ignores some; working programs pass them."""
    context, ret = untyped.rt.get_context(0)
    ok(ret)

    assert untyped.rt.get_device(0) == (0, 0)
    assert untyped.rt.create_stream(context)[1] == 0
    assert untyped.rt.synchronize_device(0) == 0
    assert untyped.rt.get_run_mode(1, 2, 3) == (1, 0)
    assert untyped.mdl.create_dataset(None) > 0


def test_arguments_have_no_names(device: int) -> None:
    """Arguments go by position only, as in a C extension."""
    with pytest.raises(TypeError, match="keyword"):
        untyped.rt.malloc(size=64, policy=0)


def test_numpy_integers_are_integers(device: int) -> None:
    """Ids, sizes, addresses and handles may be NumPy integers; floats and texts may not."""
    ok(untyped.rt.set_device(np.int32(0)))
    pointer = good(untyped.rt.malloc(np.int64(64), np.uint8(0)))
    buffer = untyped.create_data_buffer(np.uint64(pointer), np.int32(64))

    assert untyped.get_data_buffer_addr(np.int64(buffer)) == pointer
    ok(untyped.rt.memset(np.uint64(pointer), np.int64(64), np.int8(7), np.int16(64)))
    assert untyped.util.ptr_to_bytes(np.uint64(pointer), np.int8(2)) == b"\7\7"
    for wrong in (64.0, "64", None):
        with pytest.raises(TypeError, match="cannot be interpreted as an integer"):
            untyped.rt.malloc(wrong, 0)
    ok(untyped.rt.free(np.uint64(pointer)))


def test_results_are_real_tuples(device: int) -> None:
    """Answers of several values are tuples."""
    assert type(acl.rt.malloc(64, 0)) is tuple
    assert type(acl.rt.get_mem_info(1)) is tuple
