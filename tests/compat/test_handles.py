"""Handles: never 0, never used again, counted."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import acl
from acl._handles import Handles, open_handles
from acl._status import Refused
from tests.compat._programs import add1, good, ok

Maker = Callable[[], int]
Destroyer = Callable[[int], int | None]

MEMORY = np.zeros(32768, np.uint8)
ADDRESS: int = MEMORY.ctypes.data

KINDS: dict[str, tuple[Maker, Destroyer]] = {
    "stream": (lambda: good(acl.rt.create_stream()), acl.rt.destroy_stream),
    "event": (lambda: good(acl.rt.create_event()), acl.rt.destroy_event),
    "dataset": (acl.mdl.create_dataset, acl.mdl.destroy_dataset),
    "model desc": (acl.mdl.create_desc, acl.mdl.destroy_desc),
    "model config": (acl.mdl.create_config_handle, acl.mdl.destroy_config_handle),
    "data buffer": (lambda: acl.create_data_buffer(0, 0), acl.destroy_data_buffer),
    "tensor desc": (lambda: acl.create_tensor_desc(0, [1], 2), acl.destroy_tensor_desc),
    "operator attribute": (acl.op.create_attr, acl.op.destroy_attr),
    "device block": (lambda: good(acl.rt.malloc(64, 0)), acl.rt.free),
    "host block": (lambda: good(acl.rt.malloc_host(64)), acl.rt.free_host),
    "physical memory": (lambda: good(acl.rt.malloc_physical(2 << 20, {}, 0)), acl.rt.free_physical),
    "allocator description": (acl.rt.allocator_create_desc, acl.rt.allocator_destroy_desc),
    "kernel binary desc": (lambda: acl.rt.create_binary(ADDRESS, MEMORY.nbytes), acl.rt.destroy_binary),
    "group info": (acl.rt.create_group_info, acl.rt.destroy_group_info),
    "AIPP": (lambda: acl.mdl.create_aipp(1), acl.mdl.destroy_aipp),
    "exec config": (acl.mdl.create_exec_config_handle, acl.mdl.destroy_exec_config_handle),
    "profiling config": (lambda: acl.prof.create_config([0], 255, 0, 1), acl.prof.destroy_config),
    "subscription config": (lambda: acl.prof.create_subscribe_config(1, 255, 1), acl.prof.destroy_subscribe_config),
    "stamp": (acl.prof.create_stamp, acl.prof.destroy_stamp),
    "step": (acl.prof.create_step_info, acl.prof.destroy_step_info),
    "feature retrieval parameter set": (lambda: acl.fv.create_init_para(9), acl.fv.destroy_init_para),
    "feature info": (lambda: acl.fv.create_feature_info(0, 0, 0, 36, 1, ADDRESS, 36), acl.fv.destroy_feature_info),
    "repository range": (lambda: acl.fv.create_repo_range(0, 1, 0, 1), acl.fv.destroy_repo_range),
    "query table": (lambda: acl.fv.create_query_table(1, 32768, ADDRESS, 32768), acl.fv.destroy_query_table),
}
"""Of every kind that needs nothing else: how one is made, and destroyed."""


@pytest.mark.parametrize("kind", KINDS)
def test_destroying_twice_hits_nobody_else(device: int, kind: str) -> None:
    """C172: the second destroy is an error, and an object of any kind made in between survives it."""
    make, destroy = KINDS[kind]
    handle = make()
    destroy(handle)
    others = {name: maker() for name, (maker, _) in KINDS.items() if "block" not in name}
    acl.rt.get_last_error(0)

    assert destroy(handle) != 0
    assert acl.rt.get_last_error(0) != 0
    for name, other in others.items():
        assert KINDS[name][1](other) in (0, None)
        assert acl.rt.get_last_error(0) == 0


def test_open_handles_tell_what_was_forgotten(device: int, tmp_path: Path) -> None:
    """C171: each forgotten object is counted under its kind, memory with its bytes; destroying counts down."""
    assert open_handles() == {"device": 1}
    made = {kind: make() for kind, (make, _) in KINDS.items()}
    model = good(acl.mdl.load_from_file(add1(tmp_path)))
    context = good(acl.rt.create_context(0))

    counts = open_handles()

    assert counts == dict.fromkeys(KINDS, 1) | {
        "device": 1, "context": 1, "model": 1, "device block bytes": 96, "host block bytes": 64
    }  # fmt: skip
    ok(acl.rt.destroy_context(context))
    ok(acl.rt.set_device(0))
    ok(acl.mdl.unload(model))
    for kind, handle in made.items():
        KINDS[kind][1](handle)
    assert open_handles() == {"device": 1}


def test_destroying_a_container_leaves_what_is_in_it(device: int) -> None:
    """C171: destroy_dataset frees neither buffers nor memory: both are good afterwards."""
    pointer = good(acl.rt.malloc(64, 0))
    ok(acl.rt.memset(pointer, 64, 6, 64))
    buffer, dataset = acl.create_data_buffer(pointer, 64), acl.mdl.create_dataset()
    assert acl.mdl.add_dataset_buffer(dataset, buffer) == (dataset, 0)
    ok(acl.mdl.destroy_dataset(dataset))

    assert acl.util.ptr_to_bytes(pointer, 64) == b"\6" * 64
    assert acl.get_data_buffer_addr(buffer) == pointer
    ok(acl.destroy_data_buffer(buffer))
    assert acl.util.ptr_to_bytes(pointer, 64) == b"\6" * 64
    ok(acl.rt.free(pointer))


def test_errors_of_handles_tell_kinds_apart() -> None:
    """A handle of another kind is named as such; dead and null ones too."""
    pears: Handles[str] = Handles("pear", 4)
    apples: Handles[str] = Handles("apple", 5, null=6)
    pear = pears.add("williams")

    with pytest.raises(Refused, match="the handle of a pear, not of an apple") as wrong:
        apples.get(pear)
    assert wrong.value.code == 5
    with pytest.raises(Refused, match="null") as null:
        apples.get(0)
    assert null.value.code == 6
    assert pears.take(pear) == "williams"
    with pytest.raises(Refused, match="no live pear") as dead:
        pears.replace(pear, "conference")
    assert dead.value.code == 4
    assert pears.add("conference") != pear
    with pytest.raises(TypeError):
        pears.get("7")  # type: ignore[arg-type]
