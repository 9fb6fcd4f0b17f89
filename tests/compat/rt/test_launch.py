"""Launches of kernel functions: three ways to pass arguments, attributes, order, failures, bad input."""

from __future__ import annotations

import gc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import aacl
import acl
from tests.compat._kernels import (
    BAD,
    FAILED,
    NO_HANDLE,
    SOURCE,
    SPAN,
    TOO_LONG,
    UNSUPPORTED,
    arguments,
    host,
    longs,
    text,
)
from tests.compat._programs import MakeGate, get, good, in_thread, ok, put
from tests.helpers import build_kernels

Find = Callable[[str], int]
COUNT = 1000
X = np.arange(COUNT, dtype=np.float32)


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The functions, compiled."""
    return build_kernels(tmp_path_factory.mktemp("functions"), SOURCE)


@pytest.fixture
def binary(device: int, library: Path) -> int:
    """The functions, loaded."""
    loaded: int = good(acl.rt.binary_load_from_file(str(library), []))
    return loaded


@pytest.fixture
def find(binary: int) -> Find:
    """Return a function by name."""
    return lambda name: good(acl.rt.binary_get_function(binary, name))


def scale_bytes(x: int, y: int, factor: float) -> bytes:
    """Return the arguments of function "scale" as they lie in memory."""
    return np.array([x, y, COUNT], np.uint64).tobytes() + np.float32(factor).tobytes() + bytes(4)


def numbers(pointer: int, count: int) -> list[int]:
    """Return what device memory holds."""
    found: list[int] = get(pointer, np.zeros(count, np.int64)).tolist()
    return found


def own(find: Find, name: str, out: int, blocks: int, cfg: Any = (), stream: int = 0) -> int:
    """Launch a function whose one argument is an address."""
    function = find(name)
    code: int = acl.rt.launch_kernel_with_config(function, blocks, stream, cfg, arguments(function, out), 0)
    return code


@pytest.mark.parametrize("blocks", [1, 3, 200])
def test_three_ways_to_pass_arguments(find: Find, stream: int, blocks: int) -> None:
    """Put together one by one, in host memory, in device memory: each block does its part."""
    scale, x, outs = find("scale"), put(X), [put(np.zeros_like(X)) for _ in range(4)]
    args = arguments(scale, x, outs[0], np.int32(COUNT), np.float32(2))
    data = [scale_bytes(x, out, 2) for out in outs]
    held = put(np.frombuffer(data[2], np.uint8))
    ok(acl.rt.launch_kernel_with_config(scale, blocks, stream, [], args, 0))
    ok(acl.rt.launch_kernel_with_host_args(scale, blocks, stream, [], host(data[1]), 32, [], 0))
    ok(acl.rt.launch_kernel(scale, blocks, held, 32, stream))
    ok(acl.rt.launch_kernel(scale, blocks, host(data[3]), 32, stream))
    ok(acl.rt.synchronize_stream(stream))

    for out in outs:
        np.testing.assert_array_equal(get(out, X), 2 * X)


def test_a_list_of_arguments(find: Find) -> None:
    """One program passes addresses in a list."""
    out = longs(5)
    ok(acl.rt.launch_kernel(find("blocks_of"), 5, [out], 8, 0))
    ok(acl.rt.synchronize_stream(0))

    assert numbers(out, 5) == [500, 501, 502, 503, 504]
    assert acl.rt.launch_kernel(find("blocks_of"), 1, [out], 16, 0) == SPAN
    assert acl.rt.launch_kernel(find("blocks_of"), 1, [], 8, 0) == SPAN


def test_place_holders_in_host_arguments(find: Find) -> None:
    """Each points to data behind the arguments, as they were at the launch; those that do not count stay as they are."""
    function, out, more = find("sums"), longs(2), longs(1)
    data = bytearray(np.array([0, out, more, 40, 2], np.int64).tobytes())
    where = good(acl.rt.malloc_host(len(data)))
    ok(acl.rt.memcpy(where, len(data), host(bytes(data)), len(data), 0))
    holders = [{"addrOffset": 0, "dataOffset": 24}, (16, 32)]
    ok(acl.rt.launch_kernel_with_host_args(function, 1, 0, [], where, len(data), holders, 2))
    ok(acl.rt.memset(where, len(data), 0, len(data)))
    ok(acl.rt.synchronize_stream(0))
    assert numbers(out, 2) == [42, 2]

    ok(acl.rt.memcpy(where, len(data), host(bytes(data)), len(data), 0))
    ok(acl.rt.launch_kernel_with_host_args(function, 1, 0, [], where, len(data), holders, 1))
    ok(acl.rt.synchronize_stream(0))
    assert numbers(out, 2) == [42, 0]


@pytest.mark.parametrize(
    ("holders", "count"),
    [([(40, 0)], 1), ([(33, 0)], 1), ([(0, 40)], 1), ([(-1, 0)], 1), ([(0, -1)], 1), ([], 1), ([], -1)],
)
def test_place_holders_outside_the_arguments(find: Find, holders: Any, count: int) -> None:
    """Nothing is launched."""
    data = bytes(40)

    assert acl.rt.launch_kernel_with_host_args(find("sums"), 1, 0, [], host(data), 40, holders, count) == SPAN


def test_a_launch_is_asynchronous_and_in_order(find: Find, stream: int, gate: MakeGate) -> None:
    """It takes its place: arguments in device memory are read then, all others when it was submitted."""
    scale, x, y = find("scale"), put(X), put(np.zeros_like(X))
    held = put(np.zeros(32, np.uint8))
    args, shut = arguments(scale, x, y, np.int32(COUNT), np.float32(3)), gate(stream)
    data = np.frombuffer(scale_bytes(y, x, 2), np.uint8)
    ok(acl.rt.memcpy_async(held, 32, acl.util.numpy_to_ptr(data), 32, 1, stream))
    ok(acl.rt.launch_kernel_with_config(scale, 4, stream, [], args, 0))
    ok(acl.rt.launch_kernel(scale, 4, held, 32, stream))
    assert get(y, X).max() == 0
    shut.open()
    ok(acl.rt.synchronize_stream(stream))

    np.testing.assert_array_equal(get(y, X), 3 * X)
    np.testing.assert_array_equal(get(x, X), 6 * X)


def test_launches_outlive_their_binary(binary: int, find: Find, stream: int, gate: MakeGate) -> None:
    """What is queued runs, though binary, function, arguments and memory of the arguments are gone."""
    out, shut, function = longs(3), gate(stream), find("blocks_of")
    held = put(np.array([out]))
    ok(own(find, "blocks_of", out, 3, stream=stream))
    ok(acl.rt.launch_kernel(function, 2, held, 8, stream))
    ok(acl.rt.free(held))
    ok(acl.rt.binary_unload(binary))
    shut.open()
    ok(acl.rt.synchronize_stream(stream))

    assert numbers(out, 3) == [200, 201, 302]


def test_a_block_that_fails(find: Find, stream: int) -> None:
    """Its number and status are in the text at the next synchronise; the stream goes on."""
    out, codes = longs(4), list[int]()
    ok(acl.rt.set_exception_info_callback(lambda info: codes.append(acl.rt.get_error_code_from_exception_info(info))))
    ok(own(find, "fail", out, 4, stream=stream))
    ok(own(find, "blocks_of", out, 1, stream=stream))
    assert acl.rt.synchronize_stream(stream) == FAILED

    assert "block 2 of 4 of function 'fail' failed with status 9" in text()
    assert codes == [FAILED]
    assert numbers(out, 1) == [100]
    ok(acl.rt.synchronize_stream(stream))


def test_launches_from_many_threads(find: Find) -> None:
    """A function and its arguments serve all of them, each on a stream of its own."""
    function, out = find("blocks_of"), longs(2)
    args, context = arguments(function, out), good(acl.rt.get_context())

    def launch() -> list[int]:
        ok(acl.rt.set_context(context))
        stream = good(acl.rt.create_stream())
        for _ in range(20):
            ok(acl.rt.launch_kernel_with_config(function, 2, stream, [], args, 0))
        ok(acl.rt.synchronize_stream(stream))
        return numbers(out, 2)

    assert [in_thread(launch) for _ in range(4)] == [[200, 201]] * 4


def test_blocks_that_meet(find: Find) -> None:
    """In batch mode they all run at the same time; with more blocks than cores that is refused."""
    with aacl.blocking.Device(0) as native:
        cores = native.properties.cores
    out = longs(cores)
    ok(own(find, "meet", out, cores, [(1, 1)]))
    ok(acl.rt.synchronize_stream(0))

    assert numbers(out, cores)[0] == cores
    assert own(find, "meet", out, cores + 1, [{"id": 1, "value": 1}]) == SPAN
    assert "at the same time" in text()


@pytest.mark.parametrize(("attribute", "code"), [((8, 1), TOO_LONG), ((7, 60), 0), ((8, 0), 0)])
def test_a_launch_that_takes_too_long(find: Find, attribute: tuple[int, int], code: int) -> None:
    """It is over, and fails; 0 is no bound."""
    out = longs(1)
    ok(own(find, "slow", out, 1, [attribute]))
    assert acl.rt.synchronize_stream(0) == code
    assert ("its launch allows 1e-06 s" in text()) == bool(code)
    assert numbers(out, 1) == [7]


@pytest.mark.parametrize(
    ("cfg", "code"),
    [
        ([(1, 0), (3, 1), (4, 0), (5, 1), (6, 0)], 0),
        ([(4, 8)], UNSUPPORTED),
        ([(2, 0)], SPAN),
        ([(1, 3)], SPAN),
        ([(3, 2)], SPAN),
        ([(7, -1)], SPAN),
        ([(99, 0)], SPAN),
    ],
)
def test_attributes(find: Find, cfg: Any, code: int) -> None:
    """Those that mean nothing on the host are taken; unknown ones and values are not."""
    assert own(find, "blocks_of", longs(1), 1, cfg) == code
    ok(acl.rt.synchronize_stream(0))
    with pytest.raises(TypeError):
        own(find, "blocks_of", longs(1), 1, {"id": 1})


def test_launches_that_cannot_be(find: Find, stream: int) -> None:
    """Each is told at once, whatever is wrong; nothing runs."""
    function, out = find("blocks_of"), longs(1)
    args, others, unfinished = (
        arguments(function, out),
        arguments(find("fail"), out),
        good(acl.rt.kernel_args_init(function)),
    )
    data = host(bytes(8))
    with_config, with_host, plain = (
        acl.rt.launch_kernel_with_config, acl.rt.launch_kernel_with_host_args, acl.rt.launch_kernel,
    )  # fmt: skip
    for blocks in (0, -1, 65536, 1 << 70):
        assert with_config(function, blocks, 0, [], args, 0) == SPAN
        assert with_host(function, blocks, 0, [], data, 8, [], 0) == SPAN
        assert plain(function, blocks, data, 8, 0) == SPAN
    for handle, code in ((0, BAD), (5, NO_HANDLE), (args, NO_HANDLE)):
        assert with_config(handle, 1, 0, [], args, 0) == code
        assert with_host(handle, 1, 0, [], data, 8, [], 0) == code
        assert plain(handle, 1, data, 8, 0) == code
    assert with_config(function, 1, 0, [], 0, 0) == BAD
    assert with_config(function, 1, 0, [], function, 0) == NO_HANDLE
    assert with_config(function, 1, 0, [], others, 0) == SPAN
    assert with_config(function, 1, 0, [], unfinished, 0) == SPAN
    assert with_config(function, 1, 0, [], args, 1) == SPAN
    assert with_config(function, 1, 0, [], args, None) == 0
    assert with_config(function, 1, 99, [], args, 0) == NO_HANDLE
    ok(acl.rt.synchronize_stream(0))
    assert numbers(out, 1) == [100]


def test_arguments_that_are_too_few_or_elsewhere(find: Find) -> None:
    """A function never sees fewer bytes than it takes, nor memory that is not there."""
    function, held, freed = find("scale"), put(np.zeros(64, np.uint8)), put(np.zeros(64, np.uint8))
    ok(acl.rt.free(freed))
    assert acl.rt.launch_kernel(function, 1, held, 31, 0) == SPAN
    assert "takes 32 bytes of arguments, not 31" in text()
    assert acl.rt.launch_kernel_with_host_args(function, 1, 0, [], host(bytes(64)), 31, [], 0) == SPAN
    for address, code in ((0, BAD), (4096, SPAN), (freed, SPAN), (held + 4096, SPAN)):
        assert acl.rt.launch_kernel(function, 1, address, 32, 0) == code
    assert acl.rt.launch_kernel(function, 1, held, 1 << 40, 0) == SPAN
    assert acl.rt.launch_kernel_with_host_args(function, 1, 0, [], 4096, 32, [], 0) == SPAN
    assert acl.rt.launch_kernel_with_host_args(function, 1, 0, [], 0, 32, [], 0) == BAD


@settings(deadline=None, max_examples=40)
@given(st.lists(st.one_of(st.none(), st.text(max_size=3), st.floats(), st.integers(-9, 1 << 70), st.lists(st.integers(), max_size=3)),
                min_size=8, max_size=8))  # fmt: skip
def test_any_arguments(given_: list[Any]) -> None:
    """Wrong types raise `TypeError`; all else is a code."""
    for function, count in ((acl.rt.launch_kernel_with_config, 6), (acl.rt.launch_kernel_with_host_args, 8), (acl.rt.launch_kernel, 5),
                            (acl.rt.kernel_args_append, 3), (acl.rt.reduce_async, 7), (acl.rt.binary_load_from_data, 3),
                            (acl.rt.kernel_args_init_by_user_mem, 4), (acl.rt.create_binary, 2)):  # fmt: skip
        try:
            answer: Any = function(*given_[:count])
        except TypeError:
            continue
        assert isinstance(answer, (int, tuple))


def test_memory_of_arguments_is_free_at_once(find: Find, stream: int) -> None:
    """A launch that is over holds nothing, with the garbage collector off too."""
    function, out = find("blocks_of"), longs(1)
    held, before = put(np.array([out], np.int64)), good(acl.rt.get_mem_info(1)[::2])
    gc.collect()
    gc.disable()
    try:
        ok(acl.rt.launch_kernel(function, 1, held, 8, stream))
        ok(acl.rt.synchronize_stream(stream))
        ok(acl.rt.free(held))

        assert good(acl.rt.get_mem_info(1)[::2]) > before
    finally:
        gc.enable()
