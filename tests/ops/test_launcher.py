"""Runs of a program's own kernels: blocks, workspaces, failures, guard bytes."""

from __future__ import annotations

import asyncio
import gc
import struct
import threading
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import aacl
from aacl import (
    Block,
    Device,
    InvalidArgument,
    KernelError,
    KernelOverflow,
    Launch,
    Operation,
    OutOfMemory,
    SharedKernel,
    Stream,
    TensorDesc,
    WouldBlock,
    blocking,
    ops,
    register_operator,
)
from aacl.ops._guard import FENCE
from aacl.ops._launcher import LaunchCost
from aacl.streams._budget import LONG
from tests.helpers import Boom, build_kernels, wait_until_idle

SOURCE = """
#include <stdint.h>
#include <string.h>
#include <time.h>
typedef struct { long count; double k; } tiling_t;
AACL_KERNEL(axpy) {
    const tiling_t *t = tiling;
    const double *x = inputs[0], *y = inputs[1];
    double *out = outputs[0];
    long share = (t->count + blocks - 1) / blocks, from = block * share, to = from + share;
    for (long i = from; i < to && i < t->count; ++i) out[i] = t->k * x[i] + (y ? y[i] : 0.0);
}
AACL_KERNEL(fail_from) {
    const long *first = tiling;
    if (block >= *first) AACL_FAIL(40 + (int)block);
}
AACL_KERNEL(meet) {  /* every block waits for all the others */
    static volatile long here;
    time_t end = time(0) + 10;
    __atomic_add_fetch(&here, 1, __ATOMIC_SEQ_CST);
    while (here < blocks) if (time(0) > end) AACL_FAIL(1);
    ((long *)outputs[0])[block] = here;
}
AACL_KERNEL(facts) {
    int64_t *out = outputs[0];
    out[0] = inputs[0] == 0; out[1] = (intptr_t)tiling % 64; out[2] = (intptr_t)workspaces[0] % 64;
    out[3] = workspaces[0] != workspaces[1]; out[4] = block; out[5] = blocks;
    memset(workspaces[0], 1, 100); memset(workspaces[1], 2, 200);
}
AACL_KERNEL(stray) {  /* writes a byte at an offset from an output, workspace or input */
    const struct { long what, offset; } *t = tiling;
    char *start = t->what == 0 ? outputs[0] : t->what == 1 ? workspaces[0] : (char *)(uintptr_t)inputs[0];
    memset(outputs[0], 0, 32);
    start[t->offset] ^= 0x55;
}
AACL_KERNEL(nothing) { }
"""


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The kernels above, compiled."""
    return build_kernels(tmp_path_factory.mktemp("kernels"), SOURCE)


@pytest.fixture
async def stream(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Stream]:
    """A stream of a device with two cores, both current."""
    monkeypatch.setenv("AACL_CORES", "2")
    async with Device(0), Stream() as opened:
        yield opened


class Own:
    """An operator of one kernel, with what its launches are like."""

    def __init__(self, kernel: Any, outputs: Sequence[Any] = (((4,), np.float64),), **launch: Any) -> None:
        descs = [TensorDesc.of(dtype, shape) for shape, dtype in outputs]
        self._registration = register_operator(
            "Own",
            selector=lambda *_: Launch("kernel", **launch),
            kernels={"kernel": kernel},
            infer=lambda *_: descs,
        )

    def __enter__(self) -> Callable[..., Operation]:
        return lambda *inputs, **options: Operation("Own", inputs, **options)

    def __exit__(self, *_: object) -> None:
        self._registration.close()


# -- blocks -----------------------------------------------------------------------------------


async def test_every_block_runs_once(stream: Stream) -> None:
    """Each call has its own index and the same count; all see the same tiling."""
    seen: list[tuple[Block, bytes]] = []

    def note(block: Block, _inputs: Any, _outputs: Any, _workspaces: Any, tiling: bytes) -> None:
        seen.append((block, tiling))

    for blocks in (1, 2, 7):
        seen.clear()
        with Own(note, blocks=blocks, tiling=b"tile") as own:
            await stream.execute(own())
        assert sorted(block.index for block, _ in seen) == [*range(blocks)]
        assert {(block.count, tiling) for block, tiling in seen} == {(blocks, b"tile")}


async def test_python_blocks_run_at_the_same_time(stream: Stream) -> None:
    """Two blocks that wait for each other both get through, off the loop's thread."""
    meeting, threads = threading.Barrier(2), set()

    def meet(*_: Any) -> None:
        meeting.wait(10)
        threads.add(threading.get_ident())

    with Own(meet, blocks=2) as own:
        await stream.execute(own())
    assert len(threads) == 2
    assert threading.get_ident() not in threads


async def test_shared_blocks_run_at_the_same_time(stream: Stream, library: Path) -> None:
    """Kernels of a shared object run without the interpreter's lock."""
    with Own(SharedKernel(library, "meet"), [((2,), np.int64)], blocks=2) as own:
        assert (await stream.to_host(await stream.execute(own()))).tolist() == [2, 2]


@settings(deadline=None, max_examples=25)
@given(
    st.lists(st.integers(0, 7), max_size=3).map(tuple),
    st.integers(1, 9),
    st.floats(-4, 4),
    st.booleans(),
    st.integers(0, 2**32 - 1),
)
def test_python_and_shared_kernels_agree_with_numpy(
    library: Path, shape: tuple[int, ...], blocks: int, k: float, has_second: bool, seed: int
) -> None:
    """Whatever the shape, the number of blocks and the absent input: both faces give the same, to the bit."""
    random = np.random.default_rng(seed)
    x, y = random.standard_normal(shape), random.standard_normal(shape)
    count = x.size
    expected = [k * a + (b if has_second else 0.0) for a, b in zip(x.ravel().tolist(), y.ravel().tolist(), strict=True)]

    def axpy(block: Block, inputs: Any, outputs: Any, _workspaces: Any, tiling: bytes) -> None:
        number, factor = struct.unpack("<qd", tiling)
        share = -(-number // block.count)
        part = slice(block.index * share, (block.index + 1) * share)
        added = 0.0 if inputs[1] is None else inputs[1].reshape(-1)[part]
        np.add(factor * inputs[0].reshape(-1)[part], added, out=outputs[0].reshape(-1)[part])

    for kernel in (axpy, SharedKernel(library, "axpy")):
        with (
            Own(kernel, [(shape, np.float64)], blocks=blocks, tiling=struct.pack("<qd", count, k)) as own,
            blocking.Device(0),
            blocking.Stream() as stream,
        ):
            a, b = stream.to_device(x), stream.to_device(y)
            result = stream.to_host(stream.execute(own(a, b if has_second else None)))
            assert result.shape == shape
            np.testing.assert_allclose(result.ravel().tolist(), expected, rtol=1e-15, atol=1e-15)


# -- what a kernel is given -------------------------------------------------------------------


async def test_what_python_kernels_are_given(stream: Stream) -> None:
    """Inputs read-only, outputs and workspaces on device memory, writable; absent inputs None."""
    facts: list[Any] = []

    def look(_block: Any, inputs: Any, outputs: Any, workspaces: Any, tiling: Any) -> None:
        facts.append([each if each is None else (each.flags.writeable, each.dtype, each.shape) for each in inputs])
        facts.append([(each.flags.writeable, each.dtype, each.shape) for each in outputs])
        facts.append([(each.flags.writeable, each.dtype, each.shape) for each in workspaces])
        facts.append([aacl.memory.is_device_address(each.ctypes.data) for each in (*outputs, workspaces[0])])
        facts.append([each.ctypes.data % 64 for each in workspaces])
        facts.append(tiling)
        with pytest.raises(ValueError, match="read-only"):
            inputs[0][0] = 1
        outputs[0].shape = (4, 1)  # a kernel's own view

    with Own(look, [((2, 2), "bfloat16"), ((), np.bool_)], workspaces=[10, 0], tiling=b"t") as own:
        results = await stream.execute(own(await stream.to_device(np.zeros(3, np.int8)), None))
    f64 = TensorDesc.of("bfloat16", ()).dtype.numpy_dtype
    assert facts == [
        [(False, np.dtype(np.int8), (3,)), None],
        [(True, f64, (2, 2)), (True, np.dtype(np.bool_), ())],
        [(True, np.dtype(np.uint8), (10,)), (True, np.dtype(np.uint8), (0,))],
        [True, True, True],
        [0, 0],
        b"t",
    ]
    assert results[0].shape == (2, 2)
    assert (await stream.to_host(results[0])).shape == (2, 2)


async def test_what_shared_kernels_are_given(stream: Stream, library: Path) -> None:
    """NULL for an absent input, aligned tiling and workspaces, the block and the number of blocks."""
    for tiling in (b"", b"x", bytes(100)):
        launch = {"workspaces": [100, 200], "tiling": tiling}
        with Own(SharedKernel(library, "facts"), [((6,), np.int64)], **launch) as own:
            assert (await stream.to_host(await stream.execute(own(None)))).tolist() == [1, 0, 0, 1, 0, 1]


async def test_workspaces_are_shared_by_blocks_and_given_back(stream: Stream) -> None:
    """One set a launch, of device memory, in use only while it runs."""
    used: list[int] = []
    spaces: list[Any] = []
    device = aacl.current_device()

    def fill(block: Block, _inputs: Any, outputs: Any, workspaces: Any, _tiling: Any) -> None:
        spaces.append(workspaces[0].ctypes.data)
        used.append(device.memory().used)
        workspaces[0][block.index] = block.index + 1

    with Own(fill, blocks=4, workspaces=[1 << 20]) as own:
        operation = own(out=await stream.to_device(np.zeros(4)))
        await stream.execute(ops.Relu(await stream.to_device(np.zeros(4))))
        before = device.memory().used
        await stream.execute(operation)
        await stream.synchronize()
        gc.collect()
        assert min(used) >= before + (1 << 20)
        assert len(set(spaces)) == 1
        assert device.memory().used <= before + 4096


async def test_no_room_for_workspaces(monkeypatch: pytest.MonkeyPatch) -> None:
    """The launch fails as any allocation does, its block is not run, and the stream goes on."""
    monkeypatch.setenv("AACL_DEVICE_MEMORY", "8M")

    def never(*_: Any) -> None:
        raise AssertionError("it ran")

    async with Device(0), Stream() as stream:
        x = await stream.to_device(np.ones(4))
        with (
            Own(never, workspaces=[5 << 20, 5 << 20]) as own,
            pytest.raises(OutOfMemory, match="top owners: workspace"),
        ):
            await stream.execute(own(x))
        assert (await stream.to_host(await stream.execute(ops.Add(x, x)))).tolist() == [2] * 4


# -- failures ---------------------------------------------------------------------------------


@pytest.mark.parametrize("blocks", [1, 5])
async def test_a_python_kernel_that_raises(stream: Stream, blocks: int) -> None:
    """Its exception keeps its type, with notes of block, kernel, operator and the submission's line; nothing is lost."""

    def fail(block: Block, *_: Any) -> None:
        if block.index == block.count - 1:
            raise Boom("no")

    x = await stream.to_device(np.ones(4))
    with Own(fail, blocks=blocks) as own:
        completion = stream.execute(own(x))
        with pytest.raises(Boom) as caught:
            await completion
        assert str(caught.value) == "no"
        where, submitted = caught.value.__notes__
        assert where == f"in block {blocks - 1} of {blocks} of kernel 'kernel', operator Own"
        assert f"{__file__}:" in submitted
        assert "completion = stream.execute(own(x))" in submitted
        with pytest.raises(Boom):  # its output has no contents
            await stream.execute(ops.Relu(completion))
    assert (await stream.to_host(await stream.execute(ops.Add(x, x)))).tolist() == [2] * 4


async def test_the_lowest_failing_block_is_told(stream: Stream, library: Path) -> None:
    """Of several failures that of the lowest index, whichever came first."""
    both = threading.Barrier(2)

    def fail(block: Block, *_: Any) -> None:
        both.wait(10)
        raise Boom(f"block {block.index}")

    with Own(fail, blocks=2) as own, pytest.raises(Boom, match="block 0"):
        await stream.execute(own())


@pytest.mark.parametrize(("first", "blocks"), [(0, 1), (2, 3), (1, 2)])
async def test_a_shared_kernel_that_fails(stream: Stream, library: Path, first: int, blocks: int) -> None:
    """The error names block, kernel, operator and status."""
    with Own(SharedKernel(library, "fail_from"), blocks=blocks, tiling=struct.pack("<q", first)) as own:
        text = rf"block {first} of {blocks} of kernel 'kernel', operator Own failed with status {40 + first}"
        with pytest.raises(KernelError, match=text) as caught:
            await stream.execute(own())
        assert caught.value.code == 507018


async def test_a_kernel_whose_exception_takes_no_notes(stream: Stream) -> None:
    """It is the exception that comes, without the notes."""

    @dataclass(frozen=True)
    class Frozen(Exception):
        code: int

    def fail(*_: Any) -> None:
        raise Frozen(3)

    with Own(fail, blocks=2) as own, pytest.raises(Frozen):
        await stream.execute(own())


async def test_a_kernel_waits_for_no_stream(stream: Stream) -> None:
    """It would wait for itself, or for its thread: any such wait is refused, and so is closing what it runs on."""
    x = await stream.to_device(np.ones(4))

    async def synchronize() -> None:
        await stream.synchronize()

    acts: list[Callable[[], object]] = [
        lambda: stream.execute(ops.Add(x, x)).wait(),
        lambda: np.asarray(stream.execute(ops.Add(x, x)).output),
        lambda: asyncio.run(synchronize()),
        lambda: asyncio.run(stream.aclose()),
    ]
    for act in acts:
        with Own(lambda *_, act=act: act()) as own, pytest.raises(WouldBlock, match="a kernel"):
            await stream.execute(own())
    assert (await stream.to_host(await stream.execute(ops.Add(x, x)))).tolist() == [2] * 4


async def test_an_error_of_the_runtime_inside_a_kernel(stream: Stream) -> None:
    """An AclError stays what it is; it has the note too."""

    def refuse(*_: Any) -> None:
        raise aacl.NotSupported("not here")

    with Own(refuse) as own, pytest.raises(aacl.NotSupported, match="not here") as caught:
        await stream.execute(own())
    assert caught.value.__notes__[0] == "in block 0 of 1 of kernel 'kernel', operator Own"


async def test_what_nobody_received_surfaces(stream: Stream) -> None:
    """At the next synchronise, with its cause."""

    def fail(*_: Any) -> None:
        raise Boom("no")

    with Own(fail) as own:
        stream.execute(own())
    with pytest.raises(aacl.StreamError) as caught:
        await stream.synchronize()
    assert isinstance(caught.value.__cause__, Boom)


# -- cost -------------------------------------------------------------------------------------


async def test_nothing_of_unknown_cost_runs_on_the_loops_thread(stream: Stream) -> None:
    """The first runs are the workers'; what proved to be short then runs where it is submitted."""
    threads: list[int] = []

    def note(*_: Any) -> None:
        threads.append(threading.get_ident())

    with Own(note) as own:
        await stream.execute(own())
        assert threads[0] != threading.get_ident()
        for _ in range(40):
            await stream.execute(own())
            wait_until_idle(stream)
            await asyncio.sleep(0)
    assert threads[-1] == threading.get_ident()


async def test_short_runs_stay_on_one_thread(stream: Stream) -> None:
    """More blocks than cores are spread until the run is known to be short: to wake a thread would take longer."""
    threads: list[int] = []

    def note(*_: Any) -> None:
        threads.append(threading.get_ident())

    with Own(note, blocks=6) as own:
        for _ in range(12):
            await stream.execute(own())
        threads.clear()
        await stream.execute(own())
    assert len(threads) == 6
    assert len(set(threads)) == 1


async def test_blocks_that_have_a_core_each_may_wait_for_each_other(stream: Stream) -> None:
    """However short such runs are known to be, no block stands behind another one on its thread."""
    meeting = threading.Barrier(2)
    with Own(lambda *_: meeting.wait(10), blocks=2) as own:
        for _ in range(40):
            await stream.execute(own())


def test_blocks_are_counted_together() -> None:
    """A launch is as long as its blocks one after the other, since that is what it is on one thread."""
    cost = LaunchCost()
    for _ in range(9):
        cost.busy = 3 * LONG
        cost.learn(LONG // 2)
    assert cost.estimate == 3 * LONG
    for _ in range(9):
        cost.busy = 100
        cost.learn(500)
    assert cost.estimate == 500


# -- guard bytes ------------------------------------------------------------------------------


def _stray(library: Path, what: int, offset: int, *, workspace: int = 50) -> Own:
    tiling = struct.pack("<qq", what, offset)
    return Own(SharedKernel(library, "stray"), workspaces=[workspace], tiling=tiling)


@pytest.mark.parametrize(
    ("what", "offset", "text"),
    [
        (0, 32, r"up to 1 bytes behind the end of output 0 \(32 bytes\)"),
        (0, 100, r"up to 69 bytes behind the end of output 0 \(32 bytes\)"),
        (0, -1, r"up to 1 bytes before the start of output 0"),
        (0, -FENCE, rf"up to {FENCE} bytes before the start of output 0"),
        (0, 31 + FENCE, rf"up to {FENCE} bytes behind the end of output 0"),
        (1, 50, r"up to 1 bytes behind the end of workspace 0 \(50 bytes\)"),
        (1, -8, r"up to 8 bytes before the start of workspace 0"),
        (2, 3, r"input 0, from byte 3 to byte 3"),
        (2, 24, r"up to 1 bytes behind the end of input 0 \(24 bytes\)"),
    ],
)
async def test_writes_outside_are_found(
    monkeypatch: pytest.MonkeyPatch, stream: Stream, library: Path, what: int, offset: int, text: str
) -> None:
    """With checks on the error names kernel, operator, tensor and how far; the input itself is unharmed."""
    monkeypatch.setenv("AACL_CHECK_KERNELS", "1")
    x = await stream.to_device(np.arange(3.0))
    with _stray(library, what, offset) as own:
        with pytest.raises(
            KernelOverflow, match=f"kernel 'kernel' of operator Own wrote where it may not: {text}"
        ) as e:
            await stream.execute(own(x))
        assert e.value.code == 507043
    assert (await stream.to_host(x)).tolist() == [0, 1, 2]
    assert (await stream.to_host(await stream.execute(ops.Add(x, x)))).tolist() == [0, 2, 4]


async def test_good_kernels_pass_the_checks(monkeypatch: pytest.MonkeyPatch, stream: Stream, library: Path) -> None:
    """Results are the same with checks and without, for arrays of every size, and what an output held is seen."""

    def add_to(_block: Any, inputs: Any, outputs: Any, workspaces: Any, _tiling: Any) -> None:
        workspaces[0][:] = 7
        outputs[0][...] += inputs[0]

    for checked in ("0", "1"):
        monkeypatch.setenv("AACL_CHECK_KERNELS", checked)
        for shape in ((), (0, 3), (5,), (64, 33)):
            with Own(add_to, [(shape, np.float32)], workspaces=[33]) as own:
                x = await stream.to_device(np.ones(shape, np.float32))
                out = await stream.to_device(np.full(shape, 2.0, np.float32))
                await stream.execute(own(x, None, out=out))
                assert (np.asarray(await stream.to_host(out)) == 3).all()
        with _stray(library, 0, 5) as own:
            expected = np.zeros(32, np.uint8)
            expected[5] = 0x55
            y = await stream.to_host(await stream.execute(own(await stream.to_device(np.arange(3.0)))))
            np.testing.assert_array_equal(y.view(np.uint8), expected)


async def test_a_python_kernel_that_gets_around_read_only(monkeypatch: pytest.MonkeyPatch, stream: Stream) -> None:
    """An input made writable and written is found too."""
    monkeypatch.setenv("AACL_CHECK_KERNELS", "1")

    def write(_block: Any, inputs: Any, _outputs: Any, _workspaces: Any, _tiling: Any) -> None:
        inputs[0].flags.writeable = True
        inputs[0][1:] = 9

    x = await stream.to_device(np.zeros(4, np.uint8))
    with Own(write) as own, pytest.raises(KernelOverflow, match="input 0, from byte 1 to byte 3"):
        await stream.execute(own(x))
    assert not (await stream.to_host(x)).any()


async def test_the_setting_is_0_or_1(monkeypatch: pytest.MonkeyPatch, stream: Stream) -> None:
    """Something else is refused when a launch is prepared."""
    monkeypatch.setenv("AACL_CHECK_KERNELS", "yes")
    with Own(lambda *_: None) as own, pytest.raises(InvalidArgument, match="AACL_CHECK_KERNELS is 'yes'"):
        stream.execute(own())


# -- lifetimes --------------------------------------------------------------------------------


async def test_a_library_lives_as_long_as_a_queued_run(stream: Stream, library: Path) -> None:
    """Nobody but a queued command knows the kernel any more, and it runs."""
    gate = threading.Event()
    with Own(SharedKernel(library, "axpy"), tiling=struct.pack("<qd", 4, 2.0)) as own:
        held = stream.call(gate.wait, 10)
        run = stream.execute(own(await stream.to_device(np.ones(4)), None))
    del own
    gc.collect()
    gate.set()
    await held
    assert (await stream.to_host(await run)).tolist() == [2] * 4
