"""Devices: counted use, threads, bad numbers."""

from __future__ import annotations

import threading

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import acl
from tests.compat._programs import MakeGate, Reporter, good, in_thread, ok, untyped


def test_set_and_reset_are_counted(device: int) -> None:
    """C021: memory is there until the last reset; one more reset is an error."""
    ok(acl.rt.set_device(0))
    ok(acl.rt.reset_device(0))
    assert good(acl.rt.malloc(64, 0))
    ok(acl.rt.reset_device(0))

    assert acl.rt.malloc(64, 0) == (0, 107002)
    assert acl.rt.reset_device(0) == 107002
    assert acl.rt.get_device() == (0, 107002)


def test_reset_force_ends_the_device_whatever_the_count(device: int) -> None:
    """C021: a forced reset releases at once; a later reset of either kind is an error."""
    ok(acl.rt.set_device(0))
    ok(acl.rt.reset_device_force(0))

    assert acl.rt.malloc(64, 0) == (0, 107002)
    assert acl.rt.reset_device(0) == 107002
    assert in_thread(lambda: acl.rt.reset_device_force(0)) == 107002


def test_threads_count_together(device: int) -> None:
    """C021: a reset in one thread gives one use back; the other thread's goes on."""
    assert in_thread(lambda: acl.rt.set_device(0)) == 0
    ok(acl.rt.reset_device(0))

    assert acl.rt.malloc(64, 0)[1] == 0
    assert in_thread(lambda: acl.rt.reset_device(0)) == 0
    assert acl.rt.malloc(64, 0) == (0, 107002)


@settings(deadline=None, max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(st.sampled_from(["set", "reset", "force", "context"]), st.integers(0, 1)), max_size=12))
def test_any_order_of_sets_and_resets(steps: list[tuple[str, int]]) -> None:
    """Whatever is set, reset and reset by force on two devices, the codes and what is active follow the counts."""
    ok(acl.init())
    uses: dict[int, int] = {}
    for step, number in steps:
        if step == "set":
            ok(acl.rt.set_device(number))
            uses[number] = uses.get(number, 0) + 1
        elif step == "context":
            good(acl.rt.create_context(number))
            uses.setdefault(number, 0)
        else:
            code = acl.rt.reset_device(number) if step == "reset" else acl.rt.reset_device_force(number)
            assert code == (0 if number in uses else 107002)
            left = uses.pop(number, 0) - 1
            if step == "reset" and left > 0:
                uses[number] = left
        assert [acl.rt.get_primary_ctx_state(each)[1] for each in (0, 1)] == [each in uses for each in (0, 1)]
    ok(acl.finalize())
    assert acl.rt.get_primary_ctx_state(0) == acl.rt.get_primary_ctx_state(1) == (0, 0, 0)


def test_a_new_thread_has_no_device(device: int) -> None:
    """C015: get_device in a fresh thread is 107002, never a silent 0, with a text; set_device there cures it."""

    def work() -> list[object]:
        seen: list[object] = [acl.rt.get_device(), acl.get_recent_err_msg()]
        return [*seen, acl.rt.set_device(0), acl.rt.get_device()]

    before, text, ret, after = in_thread(work)

    assert (before, ret, after) == ((0, 107002), 0, (0, 0))
    assert "set_device" in text


def test_two_threads_share_the_default_context(device: int) -> None:
    """C016: a stream made in one thread is good in another that set the same device; the context is the same."""
    stream, context = good(acl.rt.create_stream()), good(acl.rt.get_context())

    def work() -> tuple[int, int, int]:
        return acl.rt.set_device(0), acl.rt.synchronize_stream(stream), good(acl.rt.get_context())

    assert in_thread(work) == (0, 0, context)


@pytest.mark.parametrize("number", [-1, 2, 2**31 - 1, 2**70])
def test_numbers_that_are_no_device(number: int) -> None:
    """C023: a number out of range is 107001 in every call that names a device, and changes nothing."""
    ok(acl.init())

    assert acl.rt.set_device(number) == 107001
    assert acl.rt.create_context(number) == (0, 107001)
    assert acl.rt.reset_device(number) == 107001
    assert acl.rt.query_device_status(number) == (0, 107001)
    assert acl.rt.get_primary_ctx_state(number) == (0, 0, 107001)
    assert acl.rt.get_device() == (0, 107002)


@pytest.mark.parametrize("thing", ["0", None, 0.0, [0]])
def test_things_that_are_no_number(thing: object) -> None:
    """C023: a device that is no whole number is a TypeError."""
    ok(acl.init())
    with pytest.raises(TypeError):
        untyped.rt.set_device(thing)
    with pytest.raises(TypeError):
        untyped.rt.create_context(thing)


def test_devices_are_apart(device: int) -> None:
    """Two devices have two contexts and two memories; resetting one leaves the other."""
    here = good(acl.rt.malloc(64, 0))
    ok(acl.rt.set_device(1))
    there = good(acl.rt.malloc(64, 0))
    assert acl.rt.get_device() == (1, 0)

    ok(acl.rt.reset_device(1))

    assert acl.rt.free(there) == 100000
    ok(acl.rt.set_device(0))
    ok(acl.rt.memset(here, 64, 1, 64))
    ok(acl.rt.free(here))


def test_the_last_reset_frees_the_devices_memory(device: int) -> None:
    """Memory that a program forgot is free again after the last reset."""
    free, total, _ = acl.rt.get_mem_info(1)
    assert free == total
    good(acl.rt.malloc(1 << 20, 0)), good(acl.media.dvpp_malloc(100))
    assert acl.rt.get_mem_info(1)[0] < total
    ok(acl.rt.reset_device(0))
    ok(acl.rt.set_device(0))

    assert acl.rt.get_mem_info(1) == (total, total, 0)


def test_a_device_opened_by_a_context_alone_can_be_reset() -> None:
    """A program that makes contexts and never sets a device may reset it all the same."""
    ok(acl.init())
    context = good(acl.rt.create_context(0))
    ok(acl.rt.destroy_context(context))

    assert acl.rt.reset_device(0) == 0
    assert acl.rt.reset_device(0) == 107002


def test_synchronize_device_covers_all_contexts(device: int, gate: MakeGate) -> None:
    """synchronize_device waits for the streams of every context of the device."""
    stream = good(acl.rt.create_stream())
    held = gate(stream)
    good(acl.rt.create_context(0))

    assert acl.rt.synchronize_device_with_timeout(20) == 507046
    held.open()
    assert acl.rt.synchronize_device() == 0
    assert acl.rt.synchronize_device_with_timeout(-2) == 107000


def test_facts_about_devices(device: int) -> None:
    """Number, status and default context of devices."""
    assert acl.rt.get_device_count() == (2, 0)
    assert acl.rt.query_device_status(1) == (0, 0)
    good(acl.rt.malloc(acl.rt.get_mem_info(1)[1] // 4, 0))
    rates = good(acl.rt.get_device_utilization_rate(0))
    assert (rates["memory_utilization"], rates["cube_utilization"]) == (25, -1)
    assert good(acl.rt.get_device_utilization_rate(1))["memory_utilization"] == 0
    assert acl.rt.get_device_utilization_rate(2) == ({}, 107001)
    assert acl.rt.get_primary_ctx_state(0) == (0, 1, 0)
    assert acl.rt.get_primary_ctx_state(1) == (0, 0, 0)


def test_reset_while_another_thread_waits(device: int, reporter: Reporter, gate: MakeGate) -> None:
    """C174: a reset with work pending waits for it; whoever waits in another thread gets an answer."""
    stream = good(acl.rt.create_stream())
    held = gate(stream)
    codes: list[int] = []

    def wait() -> None:
        acl.rt.set_device(0)
        codes.append(acl.rt.synchronize_stream(stream))

    waiter = threading.Thread(target=wait)
    waiter.start()
    held.reached.wait(5)
    resetter = threading.Thread(target=lambda: codes.append(acl.rt.reset_device_force(0)))
    resetter.start()
    held.open()
    waiter.join(5)
    resetter.join(5)

    assert [thread.is_alive() for thread in (waiter, resetter)] == [False, False]
    assert set(codes) <= {0, 107002, 107003, 107017}
    assert acl.rt.malloc(64, 0) == (0, 107002)
