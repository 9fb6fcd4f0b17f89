"""Physical memory, and what its dictionary may say."""

from __future__ import annotations

from typing import Any

import pytest

import acl
from tests.compat._programs import good, in_thread, ok, untyped

PAGE = 2 << 20
HUGE = {"handleType": 0, "allocationType": 0, "memAttr": 4, "location": {"id": 0, "type": 1}, "reserve": 0}


def test_it_counts_as_used_memory(device: int) -> None:
    """What is allocated is used, of the device that the dictionary names, until it is freed."""
    ok(acl.rt.set_device(1))
    total = acl.rt.get_mem_info(1)[1]
    one = good(acl.rt.malloc_physical(2 * PAGE, {**HUGE, "location": {"id": 1, "type": 1}}, 0))
    two = good(acl.rt.malloc_physical(PAGE, HUGE, 0))

    assert acl.rt.get_mem_info(1) == (total - 2 * PAGE, total, 0)
    ok(acl.rt.set_device(0))
    assert acl.rt.get_mem_info(1) == (total - PAGE, total, 0)
    ok(acl.rt.free_physical(one))
    ok(acl.rt.free_physical(two))
    assert acl.rt.get_mem_info(1) == (total, total, 0)
    ok(acl.rt.reset_device(1))


@pytest.mark.parametrize(
    "properties",
    [{}, HUGE, {"memAttr": 5}, {"mem_attr": 4, "handle_type": 0, "location": {"type": 1}}, {"location": {"id": 0}}],
)
def test_dictionaries(device: int, properties: dict[str, Any]) -> None:
    """Keys may be left out, and written either way."""
    assert acl.rt.mem_get_allocation_granularity(properties, 0) == (PAGE, 0)
    assert acl.rt.mem_get_allocation_granularity(properties, 1) == (PAGE, 0)
    ok(acl.rt.free_physical(good(acl.rt.malloc_physical(PAGE, properties, 0))))


@pytest.mark.parametrize(
    ("properties", "code"),
    [
        ({"memAttr": 18}, 100000),
        ({"memAttr": -1}, 100000),
        ({"pages": 3}, 100000),
        ({"location": {"id": 0, "kind": 1}}, 100000),
        ({"location": {"id": 0, "type": 2}}, 100000),
        ({"location": {"id": 0, "type": 0}}, 207000),
        ({"handleType": 1}, 207000),
        ({"allocationType": 1}, 207000),
        ({"location": {"id": 99, "type": 1}}, 107001),
        ({"location": {"id": 1, "type": 1}}, 107002),
    ],
)
def test_dictionaries_that_are_refused(device: int, properties: dict[str, Any], code: int) -> None:
    """Both calls refuse them alike, with a text, and nothing is allocated."""
    assert acl.rt.malloc_physical(PAGE, properties, 0) == (0, code)
    assert acl.get_recent_err_msg()
    assert acl.rt.mem_get_allocation_granularity(properties, 0) == (0, code)
    assert acl.rt.get_mem_info(1)[0] == acl.rt.get_mem_info(1)[1]


def test_wrong_types_are_type_errors(device: int) -> None:
    """What is no dictionary, and what is no number in it."""
    wrong: Any
    for wrong in (None, 4, [], {"memAttr": "4"}, {"location": 0}, {"location": {"id": None}}):
        with pytest.raises(TypeError):
            untyped.rt.malloc_physical(PAGE, wrong, 0)


def test_sizes(device: int) -> None:
    """No bytes are 100000, parts of a page 107000, more than there is 207001, other flags and options 107000."""
    total = acl.rt.get_mem_info(1)[1]

    assert acl.rt.malloc_physical(0, HUGE, 0) == acl.rt.malloc_physical(-PAGE, HUGE, 0) == (0, 100000)
    assert acl.rt.malloc_physical(PAGE + 1, HUGE, 0) == (0, 107000)
    assert "granularity" in (acl.get_recent_err_msg() or "")
    assert acl.rt.malloc_physical(total + PAGE, HUGE, 0) == (0, 207001)
    assert acl.rt.malloc_physical(1 << 80, HUGE, 0) == (0, 207001)
    assert acl.rt.malloc_physical(PAGE, HUGE, 1) == (0, 107000)
    assert acl.rt.mem_get_allocation_granularity(HUGE, 2) == (0, 107000)
    assert acl.rt.get_mem_info(1)[0] == total


def test_pages_of_a_gigabyte(device: int) -> None:
    """Attributes of such pages have that granularity."""
    large = {**HUGE, "memAttr": 10}

    assert acl.rt.mem_get_allocation_granularity(large, 0) == (1 << 30, 0)
    assert acl.rt.malloc_physical(PAGE, large, 0) == (0, 107000)
    ok(acl.rt.free_physical(good(acl.rt.malloc_physical(1 << 30, large, 0))))


def test_handles(device: int) -> None:
    """A handle is good once: null is 100000, freed and foreign handles 107017; no context is 107002."""
    handle = good(acl.rt.malloc_physical(PAGE, HUGE, 0))

    assert in_thread(lambda: acl.rt.malloc_physical(PAGE, HUGE, 0)) == (0, 107002)
    ok(acl.rt.free_physical(handle))
    assert acl.rt.free_physical(handle) == 107017
    assert acl.rt.free_physical(0) == 100000
    assert acl.rt.free_physical(good(acl.rt.get_context())) == 107017


def test_the_end_of_the_device_frees_it(device: int) -> None:
    """reset_device frees what a program left; its handle is dead then."""
    handle = good(acl.rt.malloc_physical(PAGE, HUGE, 0))
    ok(acl.rt.reset_device(0))
    ok(acl.rt.set_device(0))

    assert acl.rt.free_physical(handle) == 107017
    assert acl.rt.get_mem_info(1)[0] == acl.rt.get_mem_info(1)[1]
