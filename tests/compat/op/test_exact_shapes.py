"""Outputs whose shape the run tells, and outputs that are described larger than they are."""

from __future__ import annotations

import threading
from pathlib import Path

import numpy as np
import pytest

import acl
from tests.compat._programs import (
    FLOAT,
    INT32,
    INT64,
    ND,
    Array,
    MakeGate,
    binary,
    compile_operators,
    get,
    good,
    ok,
    put,
    tensor,
)  # fmt: skip

X = np.array([0, 5, 0, 7, 9, 0], np.int32)


@pytest.fixture
def models(tmp_path: Path, device: int) -> str:
    """A folder with operator models that leave dims open, loaded."""
    rows: dict[str, object] = {"name": "transpose", "type": "bool", "value": False}
    folder = compile_operators(
        tmp_path,
        {"op": "NonZero", "input_desc": [tensor("int32", [-1])], "output_desc": [tensor("int64", [-1, -1])],
         "attr": [rows]},
        binary("Add", "float", [-1, 4]),
        {"op": "Relu", "input_desc": [tensor("float", [-2])], "output_desc": [tensor("float", [-2])]},
        {"op": "Gather", "input_desc": [tensor("float", [-1]), tensor("int64", [-1])],
         "output_desc": [tensor("float", [-1])]},
    )  # fmt: skip
    ok(acl.op.set_model_dir(str(folder)))
    return str(folder)


@pytest.fixture
def rows(device: int) -> int:
    """The attributes that let NonZero give a row for each element that is not zero."""
    attr: int = acl.op.create_attr()
    ok(acl.op.set_attr_bool(attr, "transpose", 0))
    return attr


def dims(desc: int) -> list[int]:
    """Return the dims that a description has now."""
    return [good(acl.get_tensor_desc_dim_v2(desc, index)) for index in range(acl.get_tensor_desc_num_dims(desc))]


class Search:
    """NonZero on some numbers, with an output for the largest result."""

    def __init__(self, x: Array, attr: int, shape: list[int] | None = None) -> None:
        self.attr = attr
        self.desc = acl.create_tensor_desc(INT32, [x.size], ND)
        self.out = acl.create_tensor_desc(INT64, [x.size, 1] if shape is None else shape, ND)
        self.source, self.target = put(x), put(np.zeros(x.size, np.int64))
        self.buffer = acl.create_data_buffer(self.source, x.nbytes)
        self.room = acl.create_data_buffer(self.target, 8 * x.size)

    def run(self, stream: int = 0) -> int:
        """Submit it."""
        code: int = acl.op.execute_v2("NonZero", [self.desc], [self.buffer], [self.out], [self.room], self.attr, stream)
        return code

    def found(self) -> list[int]:
        """Return the result as its description says."""
        return get(self.target, np.zeros(dims(self.out), np.int64)).ravel().tolist()


def test_the_exact_shape_is_written_back(models: str, rows: int) -> None:
    """C075: after the synchronise the output's description has the exact shape, and the buffer begins with the result."""
    search = Search(X, rows)
    ok(search.run())
    ok(acl.rt.synchronize_stream(0))

    assert dims(search.out) == [3, 1]
    assert acl.get_tensor_desc_size(search.out) == 24
    assert search.found() == [1, 3, 4]


def test_a_queued_run_writes_it_before_the_synchronise_is_over(models: str, rows: int, gate: MakeGate) -> None:
    """Nothing is written while the run is queued; what it finds then counts."""
    stream = good(acl.rt.create_stream())
    search = Search(X, rows)
    held = gate(stream)
    ok(acl.rt.memset_async(search.source, 8, 0, 8, stream))
    ok(search.run(stream))
    assert dims(search.out) == [6, 1]
    held.open()
    ok(acl.rt.synchronize_stream(stream))

    assert dims(search.out) == [2, 1]
    assert search.found() == [3, 4]


async def test_under_an_event_loop(models: str, rows: int, gate: MakeGate) -> None:
    """A program that calls from a loop's thread, and blocks the loop while it waits, has the shape as well."""
    stream = good(acl.rt.create_stream())
    search = Search(X, rows)
    held = gate(stream)
    ok(search.run(stream))
    opener = threading.Thread(target=held.open)
    opener.start()
    ok(acl.rt.synchronize_stream(stream))  # the loop gets no turn before the description is read

    assert dims(search.out) == [3, 1]
    opener.join()


def test_one_description_serves_run_after_run(models: str, rows: int) -> None:
    """A description with an exact shape in it still stands for the room that it had: later runs may find more."""
    search = Search(X, rows)
    for values, count in (([0, 0, 1, 0, 0, 0], 1), ([1] * 6, 6), ([0] * 6, 0), ([0, 2, 2, 2, 0, 0], 3)):
        data = np.array(values, np.int32).tobytes()
        ok(acl.rt.memcpy(search.source, 24, acl.util.bytes_to_ptr(data), 24, 1))
        ok(search.run())
        ok(acl.rt.synchronize_stream(0))
        assert dims(search.out) == [count, 1]
        assert search.found() == np.flatnonzero(values).tolist()
    assert good(acl.get_tensor_desc_dim_range(search.out, 0, 2)) == [3, 3]


def test_what_infer_shape_wrote_can_be_passed_on(models: str, rows: int) -> None:
    """C075: a description with free dims and their ranges is room for the largest of them."""
    search = Search(X, rows, [-1, -1])
    ok(acl.op.infer_shape("NonZero", [search.desc], [acl.create_data_buffer(0, 0)], 1, [search.out], rows))
    assert dims(search.out) == [-1, 1]
    ok(search.run())
    ok(acl.rt.synchronize_stream(0))

    assert dims(search.out) == [3, 1]
    assert search.found() == [1, 3, 4]


def test_output_that_is_too_small(models: str, rows: int) -> None:
    """Less room than the largest result needs is refused with both sizes, and nothing is written."""
    search = Search(X, rows, [2, 1])
    assert search.run() == 100000
    text = acl.get_recent_err_msg() or ""
    assert all(part in text for part in ("NonZero", "output 0", "48 bytes", "16"))

    small = acl.create_data_buffer(search.target, 40)
    whole = acl.create_tensor_desc(INT64, [6, 1], ND)
    assert acl.op.execute_v2("NonZero", [search.desc], [search.buffer], [whole], [small], rows, 0) == 100000
    text = acl.get_recent_err_msg() or ""
    assert all(part in text for part in ("NonZero", "output 0", "48 bytes", "40"))
    ok(acl.rt.synchronize_stream(0))
    assert get(search.target, np.zeros(6, np.int64)).tolist() == [0] * 6


def test_outputs_of_no_known_size(models: str, rows: int) -> None:
    """C069: free dims without ranges, or with one that has no end, are 145000, with operator and output."""
    search = Search(X, rows, [-1, 1])
    assert search.run() == 145000
    assert "operator NonZero: output 0" in (acl.get_recent_err_msg() or "")
    ok(acl.set_tensor_shape_range(search.out, [[0, -1], [1, 1]]))
    assert search.run() == 145000
    ok(acl.set_tensor_shape_range(search.out, [[0, 6], [1, 1]]))
    ok(search.run())
    ok(acl.rt.synchronize_stream(0))
    assert dims(search.out) == [3, 1]


def test_outputs_larger_than_needed(models: str) -> None:
    """Where the model leaves dims open, a larger output is good: the result is dense, its shape is written back."""
    x = np.arange(12, dtype=np.float32).reshape(3, 4)
    target = put(np.full((8, 4), -1, np.float32))
    desc, out = acl.create_tensor_desc(FLOAT, [3, 4], ND), acl.create_tensor_desc(FLOAT, [8, 4], ND)
    buffer, room = acl.create_data_buffer(put(x), 48), acl.create_data_buffer(target, 128)
    ok(acl.op.execute_v2("Add", [desc] * 2, [buffer] * 2, [out], [room], 0, 0))
    ok(acl.rt.synchronize_stream(0))
    assert dims(out) == [3, 4]
    written = get(target, np.zeros((8, 4), np.float32))
    np.testing.assert_array_equal(written[:3], x + x)
    np.testing.assert_array_equal(written[3:], -1)

    flat = acl.create_tensor_desc(FLOAT, [20], ND)
    ok(acl.op.execute_v2("Relu", [desc], [buffer], [flat], [room], 0, 0))
    ok(acl.rt.synchronize_stream(0))
    assert dims(flat) == [3, 4]

    short = acl.create_tensor_desc(FLOAT, [2, 4], ND)
    assert acl.op.execute_v2("Add", [desc] * 2, [buffer] * 2, [short], [room], 0, 0) == 100000
    text = acl.get_recent_err_msg() or ""
    assert all(part in text for part in ("Add: output 0", "48 bytes", "[3, 4]", "32 bytes", "[2, 4]"))


def test_the_older_form_leaves_descriptions_alone(models: str, rows: int) -> None:
    """Execute does not write the shape."""
    search = Search(X, rows)
    ok(acl.op.execute("NonZero", [search.desc], [search.buffer], [search.out], [search.room], rows, 0))
    ok(acl.rt.synchronize_stream(0))

    assert dims(search.out) == [6, 1]
    assert get(search.target, np.zeros(3, np.int64)).tolist() == [1, 3, 4]


def test_handles_run_it_too(models: str, rows: int) -> None:
    """execute_with_handle has no description to write into; the result is the same."""
    search = Search(X, rows)
    handle = good(acl.op.create_handle("NonZero", [search.desc], [search.out], rows))
    for _ in range(2):
        ok(acl.op.execute_with_handle(handle, [search.buffer], [search.room], 0))
        ok(acl.rt.synchronize_stream(0))
        assert get(search.target, np.zeros(3, np.int64)).tolist() == [1, 3, 4]


def test_descriptions_that_are_gone_or_changed(models: str, rows: int, gate: MakeGate) -> None:
    """One that the program destroys, or bounds anew, while the run is queued is left alone."""
    stream = good(acl.rt.create_stream())
    gone, changed = Search(X, rows), Search(X, rows)
    held = gate(stream)
    ok(gone.run(stream))
    ok(changed.run(stream))
    acl.destroy_tensor_desc(gone.out)
    ok(acl.set_tensor_shape_range(changed.out, [[0, 9], [1, 1]]))
    held.open()
    ok(acl.rt.synchronize_stream(stream))

    assert acl.get_tensor_desc_type(gone.out) == -1
    assert dims(changed.out) == [6, 1]


@pytest.mark.parametrize("is_queued", [False, True])
def test_a_run_that_fails_writes_nothing(models: str, rows: int, gate: MakeGate, is_queued: bool) -> None:
    """The failure is the synchronise's code, once; the description stays what it was, and the stream works."""
    stream = good(acl.rt.create_stream())
    held = gate(stream) if is_queued else None
    x, places = np.arange(4, dtype=np.float32), np.array([1, 77], np.int64)
    descs = [acl.create_tensor_desc(FLOAT, [4], ND), acl.create_tensor_desc(INT64, [2], ND)]
    buffers = [acl.create_data_buffer(put(x), 16), acl.create_data_buffer(put(places), 16)]
    out, room = acl.create_tensor_desc(FLOAT, [9], ND), acl.create_data_buffer(put(np.zeros(9, np.float32)), 36)
    ok(acl.op.execute_v2("Gather", descs, buffers, [out], [room], 0, stream))
    if held is not None:
        held.open()
    assert acl.rt.synchronize_stream(stream) == 507018
    assert acl.rt.synchronize_stream(stream) == 0
    assert dims(out) == [9]

    search = Search(X, rows)
    ok(search.run(stream))
    ok(acl.rt.synchronize_stream(stream))
    assert search.found() == [1, 3, 4]


def test_results_in_memory_of_the_host(models: str, rows: int) -> None:
    """An output may lie in NumPy's memory."""
    search, out = Search(X, rows), np.full(6, -1, np.int64)
    room = acl.create_data_buffer(acl.util.numpy_to_ptr(out), 48)
    ok(acl.op.execute_v2("NonZero", [search.desc], [search.buffer], [search.out], [room], rows, 0))
    ok(acl.rt.synchronize_stream(0))

    assert dims(search.out) == [3, 1]
    assert out.tolist() == [1, 3, 4, -1, -1, -1]
