"""Loading and unloading models."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import acl
from aacl.errors import ModelDataError
from acl._handles import open_handles
from acl.mdl import _load
from tests.compat._programs import (
    INT32,
    Array,
    Dataset,
    add1,
    binary,
    compile_operators,
    good,
    in_thread,
    ok,
    put,
    run_program,
    untyped,
)  # fmt: skip

X = np.arange(4, dtype=np.float32).reshape(1, 4)


def _run(model: int) -> Array:
    given, wanted = Dataset(X), Dataset(np.zeros_like(X))
    ok(acl.mdl.execute(model, given.handle, wanted.handle))
    result = wanted.read()
    given.destroy()
    wanted.destroy()
    return result


def test_bad_files(device: int, tmp_path: Path) -> None:
    """C076: missing, empty and unreadable paths are 145002, other bytes 145006; a good load afterwards is 0."""
    good_path = add1(tmp_path)
    data = Path(good_path).read_bytes()
    cases = {
        "empty.om": (b"", 145002),
        "garbage.om": (b"\x01\x02garbage" * 100, 145006),
        "cut.om": (data[: len(data) // 2], 145006),
        "header.om": (data[:200], 145006),
        "longer.om": (data + b"more", 145006),
        "net.onnx.om": (b"\x08\x09\x12\x07example" + bytes(100), 145006),
    }
    for name, (content, code) in cases.items():
        (tmp_path / name).write_bytes(content)
        assert acl.mdl.load_from_file(str(tmp_path / name)) == (0, code), name
        assert acl.get_recent_err_msg(), name
        model = good(acl.mdl.load_from_file(good_path))
        ok(acl.mdl.unload(model))
    for path in (str(tmp_path / "missing.om"), "", str(tmp_path)):
        assert acl.mdl.load_from_file(path) == (0, 145002)
    for thing in (None, 5, b"net.om"):
        with pytest.raises(TypeError):
            untyped.mdl.load_from_file(thing)


def test_an_onnx_file_gets_a_hint(device: int, tmp_path: Path) -> None:
    """C076: an ONNX file in the place of an .om is 145006, and the text says to run atc; an operator model too."""
    import onnx
    from onnx import TensorProto, helper

    value = helper.make_tensor_value_info("x", TensorProto.FLOAT, [1])
    graph = helper.make_graph([helper.make_node("Identity", ["x"], ["y"])], "g", [value],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1])])  # fmt: skip
    onnx.save(helper.make_model(graph), tmp_path / "net.om")
    assert acl.mdl.load_from_file(str(tmp_path / "net.om")) == (0, 145006)
    assert "atc" in (acl.get_recent_err_msg() or "")

    operator = next(compile_operators(tmp_path, binary("Add", "int32", [2])).glob("*.om"))
    assert acl.mdl.load_from_file(str(operator)) == (0, 145006)
    assert "operator" in (acl.get_recent_err_msg() or "").lower()
    assert acl.mdl.query_size(str(operator)) == (0, 0, 145006)
    assert INT32 == 3


def test_failed_loads_poison_nothing(device: int, tmp_path: Path) -> None:
    """C084: an id of a failed load runs nothing, and the valid cycle after it is well."""
    (tmp_path / "bad.om").write_bytes(b"x" * 1000)
    model, ret = acl.mdl.load_from_file(str(tmp_path / "bad.om"))
    assert (model, ret) == (0, 145006)
    given, wanted = Dataset(X), Dataset(np.zeros_like(X))
    assert acl.mdl.execute(model, given.handle, wanted.handle) == 145003
    assert acl.mdl.get_desc(acl.mdl.create_desc(), model) == 145003

    np.testing.assert_array_equal(_run(good(acl.mdl.load_from_file(add1(tmp_path)))), X + 1)


@pytest.mark.parametrize("load", ["load_from_file", "bundle_load_from_file", "query_size"])
def test_pipes_and_devices_are_no_models(device: int, tmp_path: Path, load: str) -> None:
    """A pipe without another end, and a device without an end, are refused at once and not read."""
    os.mkfifo(tmp_path / "pipe")

    for path in (str(tmp_path / "pipe"), "/dev/zero"):
        assert getattr(acl.mdl, load)(path)[-1] == 145002
        assert "no regular file" in (acl.get_recent_err_msg() or "")


def test_loading_from_memory_that_is_freed_at_once(device: int, tmp_path: Path) -> None:
    """load_from_mem takes host and device addresses, and needs the memory no more when it returns."""
    data = np.frombuffer(Path(add1(tmp_path)).read_bytes(), np.uint8)
    pointer, host = put(data), good(acl.rt.malloc_host(data.nbytes))
    ok(acl.rt.memcpy(host, data.nbytes, pointer, data.nbytes, 2))
    models = [good(acl.mdl.load_from_mem(address, data.nbytes)) for address in (pointer, host)]
    models.append(good(acl.mdl.load_from_mem_with_mem(pointer, data.nbytes, 0, 0, 0, 0)))
    for address in (pointer, host):
        ok(acl.rt.memset(address, data.nbytes, 0, data.nbytes))
    ok(acl.rt.free(pointer))
    ok(acl.rt.free_host(host))

    for model in models:
        np.testing.assert_array_equal(_run(model), X + 1)
    assert acl.mdl.load_from_mem(0, 100) == (0, 100000)
    assert acl.mdl.load_from_mem(acl.util.numpy_to_ptr(data), 0) == (0, 100000)
    assert acl.mdl.load_from_mem(acl.util.numpy_to_ptr(data), data.nbytes - 5) == (0, 145006)
    assert acl.mdl.load_from_mem(8, 100) == (0, 107000)


def test_sizes_before_loading(device: int, tmp_path: Path) -> None:
    """query_size gives numbers that can be allocated, and load_from_file_with_mem takes that memory."""
    path = add1(tmp_path)
    work, weight, ret = acl.mdl.query_size(path)
    ok(ret)
    memory = [good(acl.rt.malloc(size, 0)) for size in (work, weight)]
    model = good(acl.mdl.load_from_file_with_mem(path, memory[0], work, memory[1], weight))
    np.testing.assert_array_equal(_run(model), X + 1)

    data = Path(path).read_bytes()
    assert acl.mdl.query_size_from_mem(acl.util.bytes_to_ptr(data), len(data)) == (work, weight, 0)
    assert acl.mdl.query_size("missing.om") == (0, 0, 145002)
    assert acl.mdl.load_from_file_with_mem(path, -1, 0, 0, 0) == (0, 100000)


@pytest.mark.parametrize("kind", ["path", "path address", "memory"])
def test_loading_by_a_configuration(device: int, tmp_path: Path, kind: str) -> None:
    """set_config_opt takes numbers, addresses and texts; load_with_config loads what they name."""
    path = add1(tmp_path)
    data, text = Path(path).read_bytes(), path.encode() + b"\0"
    config = acl.mdl.create_config_handle()
    assert acl.mdl.load_with_config(config) == (0, 100000)
    kinds: dict[str, dict[int, Any]] = {
        "path": {1: 1, 2: path},
        "path address": {1: 2, 2: acl.util.bytes_to_ptr(text), 7: 0, 8: 0},
        "memory": {1: np.int64(3), 3: acl.util.bytes_to_ptr(data), 4: len(data)},
    }
    for attr, value in kinds[kind].items():
        ok(acl.mdl.set_config_opt(config, attr, value))
    model = good(acl.mdl.load_with_config(config))

    np.testing.assert_array_equal(_run(model), X + 1)
    assert (acl.mdl.destroy_config_handle(config), acl.mdl.destroy_config_handle(config)) == (0, 100000)


def test_configurations_that_are_refused(device: int) -> None:
    """Unknown options, missing ones and queues are codes."""
    config = acl.mdl.create_config_handle()
    assert acl.mdl.set_config_opt(config, 99, 1) == 100000
    assert acl.mdl.set_config_opt(0, 1, 1) == 100000
    with pytest.raises(TypeError):
        untyped.mdl.set_config_opt(config, 1, 1.5)
    for kind, code in ((1, 100000), (3, 100000), (5, 200006), (9, 100000)):
        ok(acl.mdl.set_config_opt(config, 1, kind))
        assert acl.mdl.load_with_config(config) == (0, code)


def test_use_after_unload(device: int, tmp_path: Path) -> None:
    """C078: a stale id is 145003 everywhere, never another model's; a filled description stays readable."""
    path = add1(tmp_path)
    model, desc = good(acl.mdl.load_from_file(path)), acl.mdl.create_desc()
    ok(acl.mdl.get_desc(desc, model))
    given, wanted = Dataset(X), Dataset(np.zeros_like(X))
    ok(acl.mdl.unload(model))
    later = [good(acl.mdl.load_from_file(path)) for _ in range(3)]

    assert model not in later
    assert all(later)
    assert acl.mdl.execute(model, given.handle, wanted.handle) == 145003
    assert acl.mdl.execute_async(model, given.handle, wanted.handle, 0) == 145003
    assert acl.mdl.get_desc(desc, model) == 145003
    assert acl.mdl.unload(model) == 145003
    assert acl.mdl.get_num_inputs(desc) == 1
    assert acl.mdl.get_input_dims(desc, 0) == ({"name": "x", "dimCount": 2, "dims": [1, 4]}, 0)


def test_the_same_file_loaded_twice(device: int, tmp_path: Path) -> None:
    """C086: two loads are independent: unloading one leaves the other as it was."""
    path = add1(tmp_path)
    first, second = good(acl.mdl.load_from_file(path)), good(acl.mdl.load_from_file(path))
    assert first != second
    ok(acl.mdl.unload(first))
    desc = acl.mdl.create_desc()
    ok(acl.mdl.get_desc(desc, second))

    assert acl.mdl.get_output_name_by_index(desc, 0).split(":")[-1] == "y"
    np.testing.assert_array_equal(_run(second), X + 1)


def test_models_belong_to_their_context(device: int, tmp_path: Path) -> None:
    """C024: executing and unloading in another context is 107004, and the model is still good in its own."""
    first = good(acl.rt.create_context(0))
    model = good(acl.mdl.load_from_file(add1(tmp_path)))
    second = good(acl.rt.create_context(0))
    given, wanted = Dataset(X), Dataset(np.zeros_like(X))

    def elsewhere() -> list[int]:
        ok(acl.rt.set_context(second))
        return [
            acl.mdl.execute(model, given.handle, wanted.handle),
            acl.mdl.execute_async(model, given.handle, wanted.handle, 0),
            acl.mdl.unload(model),
        ]

    assert in_thread(elsewhere) == [107004] * 3
    assert in_thread(lambda: acl.mdl.execute(model, given.handle, wanted.handle)) == 107002
    ok(acl.rt.set_context(first))
    ok(acl.mdl.execute(model, given.handle, wanted.handle))
    np.testing.assert_array_equal(wanted.read(), X + 1)
    assert acl.mdl.unload(model) == 0


def test_a_whole_life_cycle_for_every_request(tmp_path: Path) -> None:
    """C025: 200 rounds of two alternating models give the same results, and memory stays flat after round 20."""
    add1(tmp_path, "one", 1.0), add1(tmp_path, "two", 2.0)

    out = run_program(
        """
        import acl, resource, numpy as np
        def rss():
            return int(open("/proc/self/statm").read().split()[1]) * 4096
        x = np.arange(4, dtype=np.float32)
        acl.init()
        codes, wrong, base = set(), 0, 0
        for turn in range(200):
            name, step = (("one.om", 1), ("two.om", 2))[turn % 2]
            codes.add(acl.rt.set_device(0))
            model, ret = acl.mdl.load_from_file(name); codes.add(ret)
            sets, pointers = [], []
            for _ in range(2):
                pointer, ret = acl.rt.malloc(16, 0); codes.add(ret)
                sets.append(acl.mdl.create_dataset()); pointers.append(pointer)
                codes.add(acl.mdl.add_dataset_buffer(sets[-1], acl.create_data_buffer(pointer, 16))[1])
            codes.add(acl.rt.memcpy(pointers[0], 16, acl.util.numpy_to_ptr(x), 16, 1))
            codes.add(acl.mdl.execute(model, *sets))
            wrong += acl.util.ptr_to_bytes(pointers[1], 16) != (x + step).tobytes()
            for one, pointer in zip(sets, pointers):
                codes |= {acl.destroy_data_buffer(acl.mdl.get_dataset_buffer(one, 0)), acl.mdl.destroy_dataset(one),
                          acl.rt.free(pointer)}
            codes |= {acl.mdl.unload(model), acl.rt.reset_device(0)}
            if turn == 20: base = rss()
        print(codes, wrong, (rss() - base) < 5 << 20)
        """,
        folder=tmp_path,
    )

    assert out == "{0} 0 True\n"


def test_models_end_with_their_context(device: int, tmp_path: Path) -> None:
    """A destroyed context takes its models along: their ids are dead, and nothing is left open."""
    path = add1(tmp_path)
    kept = good(acl.mdl.load_from_file(path))
    good(acl.rt.create_context(0))
    model = good(acl.mdl.load_from_file(path))
    ok(acl.rt.destroy_context(good(acl.rt.get_context())))
    ok(acl.rt.set_device(0))

    assert acl.mdl.unload(model) == 145003
    np.testing.assert_array_equal(_run(kept), X + 1)
    assert open_handles()["model"] == 1


@pytest.mark.parametrize("way", ["call", "configuration"])
def test_memory_that_a_program_brings(device: int, tmp_path: Path, way: str) -> None:
    """Work and weight memory below what query_size says is 100000 with both sizes; unmapped memory is 107000."""
    path = add1(tmp_path)
    work, weight, ret = acl.mdl.query_size(path)
    ok(ret)
    block = good(acl.rt.malloc(work + weight, 0))

    def load(*memory: int) -> tuple[int, int]:
        if way == "call":
            return acl.mdl.load_from_file_with_mem(path, *memory)
        config = acl.mdl.create_config_handle()
        for attr, value in {1: 2, 2: path, **dict(zip((7, 8, 5, 6), memory, strict=True))}.items():
            ok(untyped.mdl.set_config_opt(config, attr, value))
        return acl.mdl.load_with_config(config)

    assert load(block, work - 1, 0, 0) == (0, 100000)
    text = acl.get_recent_err_msg() or ""
    assert str(work) in text
    assert str(work - 1) in text
    assert load(0, 0, block, weight - 1) == (0, 100000)
    assert load(8, work, 0, 0) == (0, 107000)
    assert "model" not in open_handles()
    model = good(load(block, work, block + work, weight))
    ok(acl.rt.free(block))
    np.testing.assert_array_equal(_run(model), X + 1)


def test_memory_that_a_load_type_does_not_take(device: int, tmp_path: Path) -> None:
    """Load types 1 and 3 leave memory options alone, as the runtime manages that itself."""
    config = acl.mdl.create_config_handle()
    for attr, value in {1: 1, 2: add1(tmp_path), 7: 8, 8: 1}.items():
        ok(untyped.mdl.set_config_opt(config, attr, value))

    np.testing.assert_array_equal(_run(good(acl.mdl.load_with_config(config))), X + 1)


def test_models_that_queues_feed(device: int, tmp_path: Path) -> None:
    """The calls for queues are there, and are 200006."""
    path = add1(tmp_path)
    assert acl.mdl.load_from_file_with_q(path, [1], [2]) == (0, 200006)
    assert acl.mdl.load_from_mem_with_q(8, 8, [1], [2]) == (0, 200006)


def test_a_load_that_a_watcher_refuses(device: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those that were told of the model before, such as a profile, hear of its end."""
    told: list[tuple[str, int]] = []

    class Noting:
        def loaded(self, model_id: int, _: object, /) -> None:
            told.append(("loaded", model_id))

        def unloading(self, model_id: int, /) -> None:
            told.append(("unloading", model_id))

    class Refusing(Noting):
        def loaded(self, *_: object) -> None:
            raise ModelDataError("it cannot be observed")

    monkeypatch.setattr(_load, "watchers", [Noting(), Refusing()])
    assert acl.mdl.load_from_file(add1(tmp_path)) == (0, 145006)
    assert [kind for kind, _ in told] == ["loaded", "unloading", "unloading"]
    assert len({model for _, model in told}) == 1
    assert "model" not in open_handles()
