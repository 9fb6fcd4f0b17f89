"""Functions that a program launches by itself: what a library has, how arguments lie, runs and failures."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import aacl
from aacl import (
    ClosedResource,
    Device,
    InvalidArgument,
    InvalidMemoryRange,
    KernelError,
    KernelLoadError,
    Stream,
    ops,
    register_operator,
)
from aacl.ops import KernelBinary, KernelFunction
from aacl.ops._kernel_call import packed
from tests.helpers import build_kernels

SOURCE = """
#include <string.h>
typedef struct {
    AACL_ARGUMENT const float *x;
    AACL_ARGUMENT float *y;
    AACL_ARGUMENT int count;
    AACL_ARGUMENT float factor;
} scale_t;
AACL_GLOBAL(scale, scale_t) {
    for (long i = block; i < args->count; i += blocks) args->y[i] = args->factor * args->x[i];
}
typedef struct { AACL_ARGUMENT long *out; } only_t;
AACL_GLOBAL(blocks_of, only_t) { args->out[block] = 100 * blocks + block; }
AACL_GLOBAL(fail, only_t) { if (block == 2) AACL_FAIL(9); }
typedef struct { AACL_ARGUMENT const long *list; AACL_ARGUMENT long *out; } inner_t;
AACL_GLOBAL(sum3, inner_t) { args->out[0] = args->list[0] + args->list[1] + args->list[2]; }
AACL_KERNEL(add) {
    const float *a = inputs[0], *b = inputs[1]; float *y = outputs[0];
    *y = *a + *b + *(const float *)tiling + *(float *)workspaces[0] * 0;
}
AACL_KERNEL_TAKES(add, 2, 1, 1, sizeof(float))
"""


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The functions above, compiled."""
    return build_kernels(tmp_path_factory.mktemp("functions"), SOURCE)


@pytest.fixture(scope="module")
def functions(library: Path) -> KernelBinary:
    """The functions above, loaded."""
    return KernelBinary(library)


@pytest.fixture
async def stream() -> AsyncIterator[Stream]:
    """A stream of device 0."""
    async with Device(0), Stream() as stream:
        yield stream


def test_a_library_tells_its_functions(library: Path, functions: KernelBinary) -> None:
    """By name, sorted, operators' kernels left out; path and bytes are the same library."""
    assert functions.functions == ("blocks_of", "fail", "scale", "sum3")
    assert repr(functions).endswith("with blocks_of, fail, scale, sum3>")
    assert KernelBinary(library.read_bytes())._library is functions._library


def test_a_function_tells_its_size(functions: KernelBinary) -> None:
    """Each argument takes 8 bytes; the code has an address."""
    scale = functions.function("scale")

    assert (scale.name, scale.nbytes, functions.function("fail").nbytes) == ("scale", 32, 8)
    assert scale.address > 0
    assert repr(scale) == "<KernelFunction scale taking 32 bytes>"


def test_the_macros_are_plain_c_and_cpp(tmp_path: Path) -> None:
    """No warning comes of them in either language."""
    for language, options in (("c", ["-std=c99"]), ("c++", [])):
        made = build_kernels(tmp_path, SOURCE, *options, language=language) if language == "c" else build_kernels(
            tmp_path, "typedef struct { AACL_ARGUMENT int *x; } t;\nAACL_GLOBAL(one, t) { *args->x = 1; }\n"
                      "AACL_KERNEL(k) { }\nAACL_KERNEL_TAKES(k, 1, 2, 3, 4)", language=language)  # fmt: skip
        assert KernelBinary(made).functions


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("nowhere", r"no function 'nowhere' to launch; it has blocks_of, fail, scale, sum3$"),
        ("add", "which only operators launch"),
        ("a b", "is a name such as"),
        (7, "is a name such as"),
    ],
)
def test_a_missing_function_is_told(functions: KernelBinary, name: str, told: str) -> None:
    """With those there are, and apart from operators' kernels."""
    with pytest.raises(KernelLoadError, match=told):
        functions.function(name)


def test_another_machine_is_marked(library: Path) -> None:
    """What was made for a device, say, can be told from what is damaged."""
    image = bytearray(library.read_bytes())
    image[18:20] = (4137).to_bytes(2, "little")
    with pytest.raises(KernelLoadError, match="for machine 4137") as foreign:
        KernelBinary(bytes(image))
    with pytest.raises(KernelLoadError, match="no ELF file") as damaged:
        KernelBinary(b"nothing")

    assert (foreign.value.is_foreign, damaged.value.is_foreign) == (True, False)


def test_a_library_without_the_header(tmp_path: Path) -> None:
    """It is refused when it is loaded, not when a function is looked for."""
    made = build_kernels(tmp_path, "int other(void);\nint other(void) { return 1; }", "-Daacl_kernels_abi=unrelated")
    with pytest.raises(KernelLoadError, match=r"not made with aacl_kernel\.h"):
        KernelBinary(made)


async def test_a_run_takes_tensors_and_numbers(functions: KernelBinary, stream: Stream) -> None:
    """Tensors by address, NumPy scalars in their own width, whole numbers as 64-bit ones; every block runs."""
    scale = functions.function("scale")
    x = await stream.to_device(np.arange(1000, dtype=np.float32))
    y = await stream.to_device(np.zeros(1000, np.float32))
    for blocks in (1, 7, 64):
        factor = np.float32(blocks / 2)
        await stream.execute(scale(x, y, 1000, factor, blocks=blocks))
        np.testing.assert_array_equal(await stream.to_host(y), np.arange(1000) * factor)


async def test_blocks_know_their_places(functions: KernelBinary, stream: Stream) -> None:
    """Each runs once, with its number and how many there are."""
    out = await stream.to_device(np.zeros(300, np.int64))
    await stream.execute(functions.function("blocks_of")(out, blocks=300))
    np.testing.assert_array_equal(await stream.to_host(out), 30000 + np.arange(300))


async def test_a_run_keeps_its_place(functions: KernelBinary, stream: Stream) -> None:
    """What is read afterwards, on another stream too, waits for it; it can be executed again."""
    scale = functions.function("scale")
    x, y, z = [await stream.to_device(np.full(4, number, np.float32)) for number in (3, 0, 0)]
    first, second = scale(x, y, 4, np.float32(2)), scale(y, z, 4, np.float32(5))
    stream.execute(first)
    stream.execute(second)
    async with Stream() as other:
        np.testing.assert_array_equal(await other.to_host(z), np.full(4, 30))
    await stream.execute(ops.Operation("Add", [x, x], out=x))
    stream.execute(first)
    await stream.execute(second)
    np.testing.assert_array_equal(await stream.to_host(z), np.full(4, 60))


async def test_a_failing_block(functions: KernelBinary, stream: Stream) -> None:
    """Its number and status are told, and what it was to write has no contents."""
    out = await stream.to_device(np.zeros(1, np.int64))
    done = stream.execute(functions.function("fail")(out, blocks=4))
    with pytest.raises(KernelError, match="block 2 of 4 of function 'fail' failed with status 9"):
        await done
    with pytest.raises(KernelError):
        await stream.to_host(out)


@pytest.mark.parametrize(
    ("arguments", "blocks", "told"),
    [
        ((1, 2, 3), 1, "takes 32 bytes of arguments; there are 24"),
        ((1, 2, 3, 0.5), 1, "a NumPy scalar such as numpy.float32.0.5., not 0.5"),
        ((1, 2, 3, 1 << 64), 1, "whole number of 64 bits"),
        ((1, 2, 3, None), 1, "not None"),
        ((1, 2, 3, 4), 0, "1 to 65535 blocks"),
        ((1, 2, 3, 4), 65536, "1 to 65535 blocks"),
    ],
)
def test_arguments_that_cannot_be(
    functions: KernelBinary, arguments: tuple[object, ...], blocks: int, told: str
) -> None:
    """Nothing is submitted then."""
    with pytest.raises(InvalidArgument, match=told):
        functions.function("scale")(*arguments, blocks=blocks)


async def test_freed_tensors_are_refused(functions: KernelBinary, stream: Stream) -> None:
    """When the arguments are put together, and when an older run is executed again."""
    function = functions.function("blocks_of")
    out = await stream.to_device(np.zeros(1, np.int64))
    call = function(out)
    await stream.execute(call)
    out.free()
    with pytest.raises(ClosedResource):
        function(out)
    with pytest.raises(ClosedResource):
        stream.execute(call)


async def test_bytes_with_inner_pointers(functions: KernelBinary, stream: Stream) -> None:
    """A pointer into the bytes themselves holds where they lie in the run."""
    function = functions.function("sum3")
    out = await stream.to_device(np.zeros(1, np.int64))
    data = bytes(8) + out.address.to_bytes(8, "little") + np.array([5, 6, 7]).tobytes()
    await stream.execute(function.with_bytes(data, inner={0: 16}))
    assert await stream.to_host(out) == 18
    for inner in ({-1: 0}, {33: 0}, {0: -1}, {0: 41}):
        with pytest.raises(InvalidArgument, match="not within 40 bytes"):
            function.with_bytes(data, inner=inner)


async def test_arguments_in_device_memory_are_read_in_turn(
    functions: KernelBinary, stream: Stream, device: Device
) -> None:
    """What a command before the run writes there counts; freed memory stays until then."""
    function = functions.function("blocks_of")
    out = await stream.to_device(np.zeros(1, np.int64))
    buffer = device.allocate(8)
    staged = aacl.HostBuffer(8)
    staged.array[:] = np.frombuffer(out.address.to_bytes(8, "little"), np.uint8)
    stream.copy_memory(buffer.address, staged.address, 8)
    done = stream.execute(function.with_memory(buffer.address, 8))
    buffer.free()
    await done
    assert await stream.to_host(out) == 100


async def test_arguments_that_are_no_device_memory(functions: KernelBinary, device: Device) -> None:
    """Host memory, freed memory, and more bytes than there are, are refused at once."""
    function = functions.function("blocks_of")
    host, buffer = aacl.HostBuffer(8), device.allocate(64)
    with pytest.raises(InvalidMemoryRange, match="no memory of a device"):
        function.with_memory(host.address, 8)
    with pytest.raises(InvalidMemoryRange):
        function.with_memory(buffer.address, 4096)
    with pytest.raises(InvalidArgument, match="takes 8 bytes"):
        function.with_memory(buffer.address, 4)
    buffer.free()
    with pytest.raises(InvalidMemoryRange):
        function.with_memory(buffer.address, 8)


@pytest.fixture
async def device(stream: Stream) -> Device:
    """The stream's device."""
    return aacl.current_device()


@settings(deadline=None, max_examples=50)
@given(st.lists(st.one_of(st.integers(-(1 << 63), (1 << 64) - 1), st.binary(max_size=20),
                          st.floats(width=32).map(np.float32), st.integers(-128, 127).map(np.int8))))  # fmt: skip
def test_each_argument_begins_at_a_multiple_of_8(arguments: list[object]) -> None:
    """The bytes are the argument's own, then zeros."""
    for each in arguments:
        data = packed(each)
        raw = each if isinstance(each, bytes) else each.tobytes() if isinstance(each, np.generic) else None
        assert len(data) % 8 == 0
        if raw is None:
            assert data == (int(str(each)) % (1 << 64)).to_bytes(8, "little")
        else:
            assert data == raw + bytes(-len(raw) % 8)


@pytest.mark.parametrize(
    ("inputs", "launch", "told"),
    [
        (1, aacl.Launch("add", tiling=bytes(4), workspaces=(4,)), "takes 2 inputs; there are 1"),
        (2, aacl.Launch("add", tiling=bytes(4)), "takes 1 workspaces; there are 0"),
        (2, aacl.Launch("add", tiling=bytes(3), workspaces=(4,)), "takes 4 bytes of tiling; there are 3"),
    ],
)
async def test_a_kernel_that_says_what_it_takes(
    library: Path, stream: Stream, inputs: int, launch: aacl.Launch, told: str
) -> None:
    """A launch with less is refused before it runs, where it would have read beyond what it got."""
    kernel = aacl.SharedKernel(library, "add")
    x = await stream.to_device(np.ones(1, np.float32))
    with (
        register_operator("Taking", selector=lambda *_: launch, kernels={"add": kernel}),
        pytest.raises(InvalidArgument, match=rf"kernel 'add' of operator Taking {told}"),
    ):
        await stream.execute(aacl.Operation("Taking", [x] * inputs, out=aacl.empty((1,), np.float32)))
    good = aacl.Launch("add", tiling=np.float32(5).tobytes(), workspaces=(4,))
    with register_operator("Taking", selector=lambda *_: good, kernels={"add": kernel}):
        y = await stream.execute(aacl.Operation("Taking", [x, x], out=aacl.empty((1,), np.float32)))
        assert await stream.to_host(y) == 7
    assert kernel.takes == (2, 1, 1, 4)


def test_functions_outlive_their_library(library: Path) -> None:
    """A function keeps the library loaded; with the last one it is let go of."""
    before = len(os.listdir("/proc/self/fd"))
    function: KernelFunction | None = KernelBinary(bytes(library.read_bytes()) + b"\0").function("scale")
    assert len(os.listdir("/proc/self/fd")) == before + 1
    assert function is not None
    assert function.nbytes == 32
    function = None
    assert len(os.listdir("/proc/self/fd")) == before
