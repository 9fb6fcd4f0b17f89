"""External allocators, as programs describe and register them."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import acl
from tests.compat._models import nonzero, ranged
from tests.compat._programs import D2H, FLOAT, Array, MakeGate, add1, get, good, in_thread, ok, put, untyped

X = np.array([[1, 0, 3, 0], [0, 5, 0, 7]], np.float32)
ROOM = 4096


class Pool:
    """A program's allocator: it hands out numbers, and counts."""

    def __init__(self) -> None:
        self.live: dict[int, int] = {}
        self.given = self.freed = 0
        self.once: list[Callable[[int], object]] = []

    def alloc(self, nbytes: int) -> Any:
        if self.once:
            return self.once.pop()(nbytes)
        return self.block(nbytes)

    def block(self, nbytes: int, shift: int = 0) -> int:
        pointer = good(acl.rt.malloc(nbytes, 0))
        self.given += 1
        self.live[self.given] = pointer + shift
        return self.given

    def free(self, block: int) -> None:
        self.freed += 1
        ok(acl.rt.free(self.live.pop(block) & -64))


def describe(pool: Pool, *, without: str = "", **other: Callable[..., Any]) -> int:
    """Describe an allocator, but for one part."""
    functions: dict[str, Callable[..., Any]] = {
        "alloc": Pool.alloc,
        "free": Pool.free,
        "get_addr_from_block": lambda block: pool.live[block],
        **other,
    }
    desc: int = acl.rt.allocator_create_desc()
    assert desc
    if without != "obj":
        ok(acl.rt.allocator_set_obj_to_desc(desc, pool))
    for name, function in functions.items():
        if name != without:
            ok(getattr(acl.rt, f"allocator_set_{name}_func_to_desc")(desc, function))
    return desc


def register(stream: int, pool: Pool, **other: Any) -> None:
    """Register an allocator and destroy its description."""
    desc = describe(pool, **other)
    ok(acl.rt.allocator_register(stream, desc))
    ok(acl.rt.allocator_destroy_desc(desc))


class Run:
    """A model of one input, and as many outputs as it has, on memory of the program's."""

    def __init__(self, file: str, *, null: bool = False) -> None:
        self.model: int = good(acl.mdl.load_from_file(file))
        desc = acl.mdl.create_desc()
        ok(acl.mdl.get_desc(desc, self.model))
        self.inputs, self.outputs = acl.mdl.create_dataset(), acl.mdl.create_dataset()
        self.given = put(np.zeros(ROOM, np.uint8))
        self.made = [put(np.zeros(ROOM, np.uint8)) for _ in range(acl.mdl.get_num_outputs(desc))]
        _, ret = acl.mdl.add_dataset_buffer(self.inputs, acl.create_data_buffer(self.given, ROOM))
        ok(ret)
        for pointer in self.made:
            span = (0, 0) if null else (pointer, ROOM)
            _, ret = acl.mdl.add_dataset_buffer(self.outputs, acl.create_data_buffer(*span))
            ok(ret)

    def start(self, x: Array, stream: int) -> int:
        """Say the shape, fill the input and submit."""
        tensor = acl.create_tensor_desc(FLOAT, list(x.shape), 2)
        _, ret = acl.mdl.set_dataset_tensor_desc(self.inputs, tensor, 0)
        ok(ret)
        ok(acl.rt.memcpy(self.given, ROOM, put(x), x.nbytes, 3))
        code: int = acl.mdl.execute_async(self.model, self.inputs, self.outputs, stream)
        return code

    def check(self, x: Array) -> None:
        """Check both outputs: x + 1, and where x is not 0."""
        where = np.array(np.nonzero(x))
        np.testing.assert_array_equal(get(self.made[0], x), x + 1)
        np.testing.assert_array_equal(get(self.made[1], where), where)


@pytest.fixture
def run(stream: int, tmp_path: Path) -> Run:
    """A model with an output whose size values decide."""
    return Run(nonzero(tmp_path))


@pytest.mark.parametrize("part", ["obj", "alloc", "free", "get_addr_from_block"])
def test_register_needs_every_part(stream: int, part: str) -> None:
    """C106: without object, alloc, free or get_addr_from_block it is 100000, and the text names the call."""
    desc = describe(Pool(), without=part)

    assert acl.rt.allocator_register(stream, desc) == 100000
    assert f"allocator_set_{part}" in (acl.get_recent_err_msg() or "")
    assert acl.rt.allocator_get_by_stream(stream) == (0, 0, 0, 0, 0, 0, 100000)


def test_register_errors(stream: int) -> None:
    """C106: the default stream cannot have an allocator; handles that are none, and unregistering none, are errors."""
    pool = Pool()
    desc = describe(pool)
    default = good(acl.rt.ctx_get_current_default_stream())

    for wrong, code in ((0, 100000), (default, 100000), (12345, 107017), (desc, 107017)):
        assert acl.rt.allocator_register(wrong, desc) == code
        assert acl.rt.allocator_unregister(wrong) == code
        assert acl.rt.allocator_get_by_stream(wrong)[-1] == code
    for wrong, code in ((0, 100000), (12345, 107017), (stream, 107017)):
        assert acl.rt.allocator_register(stream, wrong) == code
        assert acl.rt.allocator_destroy_desc(wrong) == code
        assert acl.rt.allocator_set_obj_to_desc(wrong, pool) == code
        assert acl.rt.allocator_set_alloc_func_to_desc(wrong, print) == code
    assert acl.rt.allocator_unregister(stream) == 100000
    assert acl.rt.allocator_set_obj_to_desc(desc, None) == acl.rt.allocator_set_obj_to_desc(desc, 0) == 100000
    for name in ("alloc", "free", "alloc_advise", "get_addr_from_block"):
        with pytest.raises(TypeError, match="callable"):
            getattr(untyped.rt, f"allocator_set_{name}_func_to_desc")(desc, 7)
    ok(acl.rt.allocator_destroy_desc(desc))
    assert acl.rt.allocator_register(stream, desc) == 107017


def test_what_is_registered_is_told(stream: int) -> None:
    """C106: get_by_stream gives back the very parts, 0 for an advise function that was not set; the last one counts."""
    first, second = Pool(), Pool()
    register(stream, first)
    desc = describe(second, alloc_advise=lambda pool, nbytes, _address: pool.alloc(nbytes))
    assert acl.rt.allocator_get_by_stream(stream)[1:5:2] == (first, Pool.free)
    assert acl.rt.allocator_get_by_stream(stream)[4] == 0

    ok(acl.rt.allocator_register(stream, desc))
    ok(acl.rt.allocator_set_obj_to_desc(desc, first))  # too late: it counts as it was
    found = acl.rt.allocator_get_by_stream(stream)

    assert (found[:4], callable(found[4]), callable(found[5]), found[6]) == (
        (desc, second, Pool.alloc, Pool.free), True, True, 0)  # fmt: skip
    ok(acl.rt.allocator_unregister(stream))
    assert acl.rt.allocator_get_by_stream(stream)[-1] == 100000
    ok(acl.rt.allocator_destroy_desc(desc))


def test_description_destroyed_after_register(stream: int, run: Run) -> None:
    """C107: what was registered stays, also when nothing else refers to it; as many blocks are freed as were given."""
    pool = Pool()
    functions = {"alloc": lambda pool, nbytes: pool.alloc(nbytes), "free": lambda pool, block: pool.free(block)}
    gone = weakref.ref(functions["alloc"])
    register(stream, pool, **functions)
    del functions
    gc.collect()
    for _ in range(10):
        ok(run.start(X, stream))
    ok(acl.rt.allocator_unregister(stream))

    assert (pool.given, pool.freed, pool.live) == (10, 10, {})
    ok(acl.rt.synchronize_stream(stream))
    run.check(X)
    gc.collect()
    assert gone() is None


def failing(_nbytes: int) -> object:
    raise RuntimeError("the pool is exhausted")


@pytest.mark.parametrize(
    ("once", "code", "text"),
    [
        (failing, 207001, "the pool is exhausted"),
        (lambda _: 0, 207001, "gave no block"),
        (lambda _: None, 207001, "gave no block"),
        ("small", 107000, "bytes are left"),
        ("crooked", 107008, "multiple of 32"),
        ("unknown", 500001, "did not say where a block is"),
    ],
)
def test_failing_alloc_fails_one_run(
    stream: int, run: Run, capsys: pytest.CaptureFixture[str], once: Any, code: int, text: str
) -> None:
    """C108: alloc that raises, gives nothing or a bad block fails that run with a code; later ones are fine, none leaks."""
    pool = Pool()
    ways: dict[Any, Any] = {
        "small": lambda _: pool.block(1),
        "crooked": lambda nbytes: pool.block(nbytes + 64, 8),
        "unknown": lambda _: -1,
    }
    free = lambda pool, block: pool.free(block) if block in pool.live else None  # noqa: E731 - -1 is none of its own
    register(stream, pool, free=free)
    pool.once.append(ways.get(once, once))

    x = np.ones((40, 4), np.float32)
    ok(run.start(x, stream))
    assert acl.rt.synchronize_stream(stream) == code
    assert text in (acl.get_recent_err_msg() or "")
    for each in (X, x):
        ok(run.start(each, stream))
        ok(acl.rt.synchronize_stream(stream))
        run.check(each)

    ok(acl.rt.allocator_unregister(stream))
    assert (pool.live, pool.given) == ({}, pool.freed)
    assert ("Traceback" in capsys.readouterr().err) == (once in (failing, "unknown"))


def test_free_that_fails(stream: int, run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    """C108: a free function that raises fails its run with 500001, once; later runs are fine."""
    pool, failures = Pool(), [RuntimeError("not mine")]

    def free(pool: Pool, block: int) -> None:
        pool.free(block)
        if failures:
            raise failures.pop()

    register(stream, pool, free=free)
    ok(run.start(X, stream))
    assert acl.rt.synchronize_stream(stream) == 500001
    assert "not mine" in (acl.get_recent_err_msg() or "")
    ok(run.start(X, stream))
    ok(acl.rt.synchronize_stream(stream))
    run.check(X)

    ok(acl.rt.allocator_unregister(stream))
    assert pool.live == {}
    assert "not mine" in capsys.readouterr().err


def test_other_streams_do_not_ask(stream: int, run: Run, tmp_path: Path) -> None:
    """C109: only runs on the stream itself ask; execute, other streams, stream 0 and models of fixed shapes do not."""
    pool, other = Pool(), good(acl.rt.create_stream())
    register(stream, pool)
    for each in (other, 0):
        ok(run.start(X, each))
        ok(acl.rt.synchronize_stream(each))
    ok(acl.mdl.execute(run.model, run.inputs, run.outputs))
    run.check(X)
    fixed = Run(add1(tmp_path))
    ok(acl.mdl.execute_async(fixed.model, fixed.inputs, fixed.outputs, stream))
    ok(acl.rt.synchronize_stream(stream))
    assert pool.given == 0

    ok(run.start(X, stream))
    ok(acl.rt.synchronize_stream(stream))
    assert pool.given == 1


def test_unregister_after_the_stream(stream: int, run: Run) -> None:
    """C109: a stream may be destroyed with its allocator; all blocks are back then, and unregistering is an error."""
    pool = Pool()
    register(stream, pool)
    for _ in range(3):
        ok(run.start(X, stream))
    ok(acl.rt.destroy_stream(stream))

    assert (pool.given, pool.live) == (3, {})
    assert acl.rt.allocator_unregister(stream) == acl.rt.allocator_register(stream, describe(pool)) == 107017
    run.check(X)


def test_unregister_waits_for_queued_runs(stream: int, gate: MakeGate, run: Run) -> None:
    """Runs that were submitted while the allocator was registered use it; unregister returns when they are over."""
    pool = Pool()
    register(stream, pool)
    held = gate(stream)
    ok(run.start(X, stream))
    assert held.reached.wait(10)
    assert pool.given == 0

    def unregister() -> int:
        ok(acl.rt.set_device(0))
        held.open()
        code: int = acl.rt.allocator_unregister(stream)
        return code

    ok(in_thread(unregister))
    assert (pool.given, pool.live) == (1, {})
    ok(run.start(X, stream))
    ok(acl.rt.synchronize_stream(stream))
    assert pool.given == 1


def test_callbacks_use_the_runtime(stream: int, run: Run) -> None:
    """Inside a callback the stream's context is current, copies work, and what would wait for the stream is refused."""
    codes: list[int] = []
    pool = Pool()

    def alloc(pool: Pool, nbytes: int) -> int:
        assert good(acl.rt.get_context()) == context
        ok(acl.rt.memcpy(run.made[0], 16, put(np.ones(4, np.float32)), 16, D2H + 1))
        codes.extend([acl.rt.synchronize_stream(stream), acl.rt.allocator_unregister(stream)])
        codes.append(acl.rt.destroy_stream(stream))
        ok(acl.mdl.execute(run.model, run.inputs, run.outputs))
        return pool.block(nbytes)

    context = good(acl.rt.get_context())
    register(stream, pool, alloc=alloc)
    ok(run.start(X, stream))
    ok(acl.rt.synchronize_stream(stream))

    assert codes == [507004, 507004, 507004]
    run.check(X)
    assert (pool.given, pool.live) == (1, {})


def test_advice(stream: int, tmp_path: Path) -> None:
    """The function for advised addresses hears where the block before was; a model that only has free dims asks too."""
    pool, advised, model = Pool(), [], Run(ranged(tmp_path))

    def advise(pool: Pool, nbytes: int, address: int) -> int:
        advised.append(address)
        return pool.block(nbytes)

    register(stream, pool, alloc_advise=advise)
    for _ in range(3):
        ok(model.start(X, stream))
        ok(acl.rt.synchronize_stream(stream))
        np.testing.assert_array_equal(get(model.made[0], X), X + 1)

    assert (len(advised), pool.given, pool.live) == (2, 3, {})
    assert all(advised)


def test_outputs_that_the_run_allocates_are_the_programs(stream: int, tmp_path: Path) -> None:
    """Memory for a (0, 0) output is no block of the allocator's: unregister leaves it, and acl.rt.free ends it."""
    pool, model = Pool(), Run(nonzero(tmp_path), null=True)
    register(stream, pool)
    ok(model.start(X, stream))
    ok(acl.rt.synchronize_stream(stream))
    ok(acl.rt.allocator_unregister(stream))
    buffers = [acl.mdl.get_dataset_buffer(model.outputs, index) for index in (0, 1)]
    model.made = [acl.get_data_buffer_addr(buffer) for buffer in buffers]

    model.check(X)
    assert (pool.given, pool.live) == (1, {})
    for pointer in model.made:
        ok(acl.rt.free(pointer))
