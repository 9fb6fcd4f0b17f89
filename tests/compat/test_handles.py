"""Handles: never 0, never used again, counted."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import acl
from acl._handles import Handles, open_handles
from acl._status import Refused
from tests.compat._programs import add1, good, ok

Maker = Callable[[], int]
Destroyer = Callable[[int], int | None]

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
}


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

    with pytest.raises(Refused, match="the handle of a pear, not of a apple") as wrong:
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
