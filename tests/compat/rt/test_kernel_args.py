"""Arguments of kernel functions: their layout, place holders, memory of the program's own, updates."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import acl
from acl._handles import open_handles
from acl.rt._argument_list import _KEPT_MOST, KernelArgs, kernel_args
from tests.compat._kernels import BAD, NO_HANDLE, SOURCE, SPAN, append, arguments, host, longs, text
from tests.compat._programs import get, good, ok
from tests.helpers import build_kernels


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
def sums(binary: int) -> int:
    """A function that takes a list, a target and another list."""
    found: int = good(acl.rt.binary_get_function(binary, "sums"))
    return found


def launched(function: int, args: int, out: int) -> list[int]:
    """Launch with one block, and return the two numbers of the target."""
    ok(acl.rt.launch_kernel_with_config(function, 1, 0, [], args, 0))
    ok(acl.rt.synchronize_stream(0))
    numbers: list[int] = get(out, np.zeros(2, np.int64)).tolist()
    return numbers


def place(args: int, parameter: int, numbers: list[int]) -> int:
    """Write the data of a place holder; return where they went."""
    data = np.array(numbers).tobytes()
    address: int = good(acl.rt.kernel_args_get_place_holder_buffer(args, parameter, len(data)))
    ok(acl.rt.memcpy(address, len(data), host(data), len(data), 0))
    return address


def test_place_holders_point_to_their_data(sums: int) -> None:
    """Each launch takes the data as they are then; the buffer stays where it is."""
    args, out = good(acl.rt.kernel_args_init(sums)), longs(2)
    first = good(acl.rt.kernel_args_append_place_holder(args))
    append(args, out)
    second = good(acl.rt.kernel_args_append_place_holder(args))
    address = place(args, first, [3, 4])
    place(args, second, [11])
    ok(acl.rt.kernel_args_finalize(args))

    assert launched(sums, args, out) == [7, 11]
    assert place(args, first, [30, 40]) == address
    assert launched(sums, args, out) == [70, 11]


def test_buffers_of_place_holders_are_memory_of_their_own(binary: int, sums: int) -> None:
    """Nothing is written beyond their end, from the middle either; they end with the binary, or before."""
    args = good(acl.rt.kernel_args_init(sums))
    holders = [good(acl.rt.kernel_args_append_place_holder(args)) for _ in range(2)]
    first, second = [good(acl.rt.kernel_args_get_place_holder_buffer(args, each, 16)) for each in holders]
    data = host(bytes(64))

    assert acl.rt.memcpy(first, 64, data, 17, 0) == SPAN
    assert acl.rt.memcpy(first + 8, 64, data, 9, 0) == SPAN
    ok(acl.rt.memcpy(first + 8, 64, data, 8, 0))
    ok(acl.rt.free_host(second))
    assert open_handles()["host block"] == 1
    ok(acl.rt.binary_unload(binary))
    assert "host block" not in open_handles()


def test_values_are_copied_when_they_are_appended(binary: int) -> None:
    """What becomes of the program's memory afterwards does not matter, but an update does."""
    function, out = good(acl.rt.binary_get_function(binary, "blocks_of")), [longs(1), longs(1)]
    args, value = good(acl.rt.kernel_args_init(function)), good(acl.rt.malloc_host(8))
    ok(acl.rt.memcpy(value, 8, host(np.uint64(out[0]).tobytes()), 8, 0))
    parameter = good(acl.rt.kernel_args_append(args, value, 8))
    ok(acl.rt.memset(value, 8, 0xFF, 8))
    ok(acl.rt.kernel_args_finalize(args))
    ok(acl.rt.launch_kernel_with_config(function, 1, 0, [], args, 0))
    ok(acl.rt.kernel_args_para_update(args, parameter, host(np.uint64(out[1]).tobytes()), 8))
    ok(acl.rt.launch_kernel_with_config(function, 1, 0, [], args, 0))
    ok(acl.rt.synchronize_stream(0))

    assert [get(each, np.zeros(1, np.int64)).item() for each in out] == [100, 100]


def test_memory_of_the_program(sums: int) -> None:
    """The address of the one part is the handle; the data lie in the other part, and all has to fit there."""
    room, out = good(acl.rt.kernel_args_get_mem_size(sums, 24 + 16 + 8)), longs(2)
    handle = good(acl.rt.malloc_host(good(acl.rt.kernel_args_get_handle_mem_size(sums))))
    memory = good(acl.rt.malloc_host(room))
    for _ in range(2):  # begun again, the first arguments end
        ok(acl.rt.kernel_args_init_by_user_mem(sums, handle, memory, room))
        first = good(acl.rt.kernel_args_append_place_holder(handle))
        append(handle, out)
        second = good(acl.rt.kernel_args_append_place_holder(handle))
        for parameter, numbers in ((first, [5, 6]), (second, [8])):
            assert memory <= place(handle, parameter, numbers) <= memory + room - 8 * len(numbers)
    ok(acl.rt.kernel_args_finalize(handle))
    assert launched(sums, handle, out) == [11, 8]

    ok(acl.rt.kernel_args_init_by_user_mem(sums, handle, memory, 24))
    first = good(acl.rt.kernel_args_append_place_holder(handle))
    append(handle, out)
    assert acl.rt.kernel_args_get_place_holder_buffer(handle, first, 16) == (0, SPAN)
    assert "8 are left" in text()
    append(handle, 0)
    assert acl.rt.kernel_args_append(handle, host(bytes(8)), 8) == (0, SPAN)


def test_memory_that_is_no_good(sums: int) -> None:
    """A null address, memory that is not mapped or read-only, and no bytes."""
    memory = good(acl.rt.malloc_host(64))

    assert acl.rt.kernel_args_init_by_user_mem(sums, 0, memory, 64) == BAD
    assert acl.rt.kernel_args_init_by_user_mem(sums, memory, 0, 64) == BAD
    assert acl.rt.kernel_args_init_by_user_mem(sums, 4096, memory, 64) == SPAN
    assert acl.rt.kernel_args_init_by_user_mem(sums, memory, 4096, 64) == SPAN
    assert acl.rt.kernel_args_init_by_user_mem(sums, memory, memory, 0) == SPAN
    assert acl.rt.kernel_args_init_by_user_mem(sums, memory, memory, 65) == SPAN
    assert acl.rt.kernel_args_get_mem_size(sums, -1) == (0, SPAN)
    assert memory not in kernel_args.objects


def test_sizes_that_are_told(sums: int) -> None:
    """A multiple of 8, at least one argument."""
    assert [good(acl.rt.kernel_args_get_mem_size(sums, nbytes)) for nbytes in (0, 1, 8, 9)] == [8, 8, 8, 16]
    assert good(acl.rt.kernel_args_get_handle_mem_size(sums)) > 0


def test_memory_that_is_freed_later(sums: int) -> None:
    """Data whose memory is gone are an error of the launch."""
    handle, memory, out = good(acl.rt.malloc_host(64)), good(acl.rt.malloc_host(1 << 22)), longs(2)
    ok(acl.rt.kernel_args_init_by_user_mem(sums, handle, memory, 1 << 22))
    for parameter in [good(acl.rt.kernel_args_append_place_holder(handle)) for _ in range(3)]:
        good(acl.rt.kernel_args_get_place_holder_buffer(handle, parameter, 16))
    append(handle, out)
    ok(acl.rt.kernel_args_finalize(handle))
    ok(acl.rt.free_host(memory))

    assert acl.rt.launch_kernel_with_config(sums, 1, 0, [], handle, 0) == SPAN


def test_finalising(sums: int) -> None:
    """It takes enough bytes, and data for each place holder; nothing is added afterwards."""
    args = good(acl.rt.kernel_args_init(sums))
    assert acl.rt.kernel_args_finalize(args) == SPAN
    assert "takes 24 bytes of arguments, 8 or more each; there are 0" in text()
    holder = good(acl.rt.kernel_args_append_place_holder(args))
    append(args, 0)
    append(args, 0)
    assert acl.rt.kernel_args_finalize(args) == SPAN
    assert "argument 0 of function 'sums' is a place holder without data" in text()
    place(args, holder, [1, 2])
    ok(acl.rt.kernel_args_finalize(args))
    ok(acl.rt.kernel_args_finalize(args))

    assert acl.rt.kernel_args_append(args, host(bytes(8)), 8) == (0, SPAN)
    assert acl.rt.kernel_args_append_place_holder(args) == (0, SPAN)
    assert "were finalised" in text()


def test_parameters_that_do_not_fit(sums: int) -> None:
    """Another size, a place holder where a value belongs, a value where a place holder does, and others' parameters."""
    args, others = good(acl.rt.kernel_args_init(sums)), good(acl.rt.kernel_args_init(sums))
    value, holder = append(args, 1), good(acl.rt.kernel_args_append_place_holder(args))
    good(acl.rt.kernel_args_get_place_holder_buffer(args, holder, 8))

    assert acl.rt.kernel_args_para_update(args, value, host(bytes(4)), 4) == SPAN
    assert acl.rt.kernel_args_para_update(args, holder, host(bytes(8)), 8) == SPAN
    assert acl.rt.kernel_args_para_update(others, value, host(bytes(8)), 8) == SPAN
    assert acl.rt.kernel_args_para_update(args, 5, host(bytes(8)), 8) == NO_HANDLE
    assert acl.rt.kernel_args_get_place_holder_buffer(args, value, 8) == (0, SPAN)
    assert acl.rt.kernel_args_get_place_holder_buffer(args, holder, 16) == (0, SPAN)
    assert acl.rt.kernel_args_get_place_holder_buffer(others, holder, 8) == (0, SPAN)
    assert acl.rt.kernel_args_get_place_holder_buffer(args, holder, 0) == (0, SPAN)
    assert acl.rt.kernel_args_append(args, 0, 8) == (0, BAD)
    assert acl.rt.kernel_args_append(args, 4096, 8) == (0, SPAN)
    for nbytes in (0, -1, 1 << 40):
        assert acl.rt.kernel_args_append(args, host(bytes(8)), nbytes) == (0, SPAN)


def test_arguments_of_nothing(device: int) -> None:
    """Null and dead handles of functions and of arguments are told apart."""
    for handle, code in ((0, BAD), (77, NO_HANDLE)):
        assert acl.rt.kernel_args_init(handle) == (0, code)
        assert acl.rt.kernel_args_get_mem_size(handle, 8) == (0, code)
        assert acl.rt.kernel_args_get_handle_mem_size(handle) == (0, code)
        assert acl.rt.kernel_args_append(handle, host(bytes(8)), 8) == (0, code)
        assert acl.rt.kernel_args_append_place_holder(handle) == (0, code)
        assert acl.rt.kernel_args_finalize(handle) == code


@settings(deadline=None, max_examples=40)
@given(st.lists(st.binary(min_size=1, max_size=40), max_size=8))
def test_every_argument_lies_at_a_multiple_of_8(values: list[bytes]) -> None:
    """Behind a value come zeros."""
    from acl.rt._binary import Function

    function: Function = object.__new__(Function)
    args, offset = KernelArgs(function), 0
    for value in values:
        parameter = args.parameters[args.append(value)]
        assert (parameter.offset, parameter.nbytes) == (offset, len(value))
        offset += -(-len(value) // 8) * 8
    assert bytes(args._bytes) == b"".join(value + bytes(-len(value) % 8) for value in values)


def test_arguments_serve_any_number_of_launches(binary: int, stream: int) -> None:
    """On any stream."""
    function, out = good(acl.rt.binary_get_function(binary, "blocks_of")), longs(4)
    args = arguments(function, out)
    for blocks, where in ((1, 0), (4, stream), (2, stream)):
        ok(acl.rt.launch_kernel_with_config(function, blocks, where, [], args, 0))
        ok(acl.rt.synchronize_stream(where))
        assert get(out, np.zeros(blocks, np.int64)).tolist() == [100 * blocks + block for block in range(blocks)]


def test_arguments_that_are_never_launched_do_not_let_others_pile_up(binary: int) -> None:
    """A program that begins some and launches only others keeps as many as one that launches all."""
    function, out = good(acl.rt.binary_get_function(binary, "blocks_of")), longs(1)
    idle, before = arguments(function, out), len(kernel_args.objects)
    used = arguments(function, out)
    ok(acl.rt.launch_kernel_with_config(function, 1, 0, [], used, 0))
    for _ in range(_KEPT_MOST):
        used = arguments(function, out)
        ok(acl.rt.launch_kernel_with_config(function, 1, 0, [], used, 0))
    ok(acl.rt.synchronize_stream(0))
    assert len(kernel_args.objects) == before - 1 + _KEPT_MOST
    ok(acl.rt.launch_kernel_with_config(function, 1, 0, [], idle, 0))
    ok(acl.rt.synchronize_stream(0))


def test_arguments_for_every_launch_do_not_pile_up(binary: int) -> None:
    """A program that begins new ones each time keeps the newest; those that were not launched yet stay."""
    function, out = good(acl.rt.binary_get_function(binary, "blocks_of")), longs(1)
    waiting = arguments(function, out)
    ok(acl.rt.launch_kernel_with_config(function, 1, 0, [], waiting, 0))
    first = arguments(function, out)
    for _ in range(_KEPT_MOST):
        good(acl.rt.kernel_args_init(function))
    assert acl.rt.kernel_args_finalize(waiting) == NO_HANDLE
    ok(acl.rt.kernel_args_finalize(first))
    ok(acl.rt.launch_kernel_with_config(function, 1, 0, [], first, 0))
    good(acl.rt.kernel_args_init(function))
    assert acl.rt.kernel_args_finalize(first) == NO_HANDLE
    ok(acl.rt.synchronize_stream(0))
