"""Memory: sizes, addresses, and frees that do not fit."""

from __future__ import annotations

import threading

import pytest

import acl
from tests.compat._programs import good, in_thread, ok, run_program, untyped


def test_zero_sizes_and_null_frees(device: int) -> None:
    """C045: nothing can be allocated (100000), null cannot be freed (100000), nothing can be copied and set (0)."""
    assert acl.rt.malloc(0, 0) == (0, 100000)
    assert acl.rt.malloc_host(0) == (0, 100000)
    assert acl.media.dvpp_malloc(0) == (0, 100000)
    assert acl.himpi.dvpp_malloc(0, 0) == (0, 100000)
    assert (acl.rt.free(0), acl.rt.free_host(0)) == (100000, 100000)
    assert (acl.media.dvpp_free(0), acl.himpi.dvpp_free(0)) == (100000, 100000)
    assert acl.rt.memcpy(0, 0, 0, 0, 0) == 0
    assert acl.rt.memset(0, 0, 1, 0) == 0


def test_mismatched_frees_in_a_process_of_their_own() -> None:
    """C053: every wrong way to free is a code, nothing crashes, and the right one works afterwards."""
    out = run_program(
        """
        import acl, numpy as np
        acl.init(); acl.rt.set_device(0)
        device, _ = acl.rt.malloc(4096, 0)
        host, _ = acl.rt.malloc_host(4096)
        media, _ = acl.media.dvpp_malloc(4096)
        second, _ = acl.himpi.dvpp_malloc(0, 4096)
        array = np.zeros(64)
        wrong = [
            acl.rt.free(device + 64), acl.rt.free(host), acl.rt.free(media), acl.rt.free(second),
            acl.rt.free(array.ctypes.data), acl.rt.free(-1), acl.rt.free(1 << 70),
            acl.rt.free_host(device), acl.rt.free_host(host + 64), acl.rt.free_host(media),
            acl.media.dvpp_free(device), acl.media.dvpp_free(second), acl.media.dvpp_free(host),
            acl.himpi.dvpp_free(media), acl.himpi.dvpp_free(device),
        ]
        print(set(wrong))
        print([acl.rt.memset(p, 4096, 7, 4096) for p in (device, host, media, second)])
        print(acl.rt.free(device), acl.rt.free_host(host), acl.media.dvpp_free(media), acl.himpi.dvpp_free(second))
        print(acl.rt.free(device), acl.rt.free_host(host), acl.media.dvpp_free(media), acl.himpi.dvpp_free(second))
        print(acl.finalize())
        """
    )

    assert out.splitlines() == ["{100000}", "[0, 0, 0, 0]", "0 0 0 0", "100000 100000 100000 100000", "0"]


def test_texts_of_wrong_frees_say_what_to_do(device: int) -> None:
    """A refused free names what the address is, and the call that frees it."""
    pointer, host, media = good(acl.rt.malloc(64, 0)), good(acl.rt.malloc_host(64)), good(acl.media.dvpp_malloc(64))

    for free, address, words in (
        (acl.rt.free, pointer + 8, "inside"),
        (acl.rt.free, host, "acl.rt.free_host"),
        (acl.rt.free, media, "acl.media.dvpp_malloc"),
        (acl.rt.free_host, pointer, "acl.rt.free"),
        (acl.rt.free, 4096, "freed before"),
    ):
        assert free(address) == 100000
        assert words in (acl.get_recent_err_msg() or "")


@pytest.mark.parametrize("policy", [0, 1, 2, 3, 6, 2 | 0x1000, 77])
def test_addresses_are_aligned_whatever_the_policy(device: int, policy: int) -> None:
    """C054: device memory of any size and policy begins at a multiple of 64."""
    pointers = [good(acl.rt.malloc(size, policy)) for size in range(1, 200, 13)]

    assert [pointer % 64 for pointer in pointers] == [0] * len(pointers)
    for pointer in pointers:
        ok(acl.rt.free(pointer))


def test_data_stays_until_freed(device: int) -> None:
    """C054: what was written is there until the free, whatever is allocated and freed around it."""
    kept = good(acl.rt.malloc(1000, 0))
    ok(acl.rt.memset(kept, 1000, 0xA5, 1000))
    for size in range(1, 3000, 97):
        other = good(acl.rt.malloc(size, 0))
        ok(acl.rt.memset(other, size, 0, size))
        ok(acl.rt.free(other))

    assert acl.util.ptr_to_bytes(kept, 1000) == b"\xa5" * 1000


@pytest.mark.parametrize(("size", "code"), [(1 << 50, 207001), (1 << 70, 207001), (-1, 100000), (-(1 << 70), 100000)])
def test_absurd_sizes_are_codes(device: int, size: int, code: int) -> None:
    """C055: sizes beyond the device are 207001, negative ones 100000, with a text; nothing is allocated."""
    free = acl.rt.get_mem_info(1)[0]

    assert acl.rt.malloc(size, 0) == (0, code)
    assert "acl.rt.malloc failed" in (acl.get_recent_err_msg() or "")
    assert acl.rt.malloc_align32(size, 0) == acl.rt.malloc_cached(size, 0) == (0, code)
    assert acl.media.dvpp_malloc(size) == (0, code)
    assert acl.rt.get_mem_info(1)[0] == free


def test_out_of_memory_says_how_much_there_is(device: int) -> None:
    """The text of 207001 tells used, free and the largest free block."""
    _, total, _ = acl.rt.get_mem_info(1)
    assert acl.rt.malloc(total + 1, 0) == (0, 207001)

    text = acl.get_recent_err_msg() or ""
    assert all(word in text for word in ("used", "free", "largest"))


def test_media_memory_comes_in_pages(device: int) -> None:
    """One vendor test copies 1,640,448 bytes into dvpp_malloc(565,248): the page of 2 MiB has room for it."""
    before = acl.rt.get_mem_info(1)[0]
    pointer = good(acl.media.dvpp_malloc(565_248))

    assert pointer % 128 == 0
    assert before - acl.rt.get_mem_info(1)[0] == 2 << 20
    data = bytes(1_640_448)
    assert acl.rt.memcpy(pointer, len(data), acl.util.bytes_to_ptr(data), len(data), 1) == 0
    assert acl.himpi.dvpp_malloc(5, 64) == (0, 100000)


def test_memory_information(device: int) -> None:
    """The device has one memory, told for every kind; other numbers are 100000."""
    assert len({acl.rt.get_mem_info(kind) for kind in range(18)}) == 1
    assert acl.rt.get_mem_info(18) == acl.rt.get_mem_info(-1) == (0, 0, 100000)


CONFIGS: list[object] = [
    0,
    None,
    [],
    {},
    {"attrs": [{"attr": 1, "value": 33}], "numAttrs": 1},
    [{"attr": 2, "value": 0}, (3, 1), (0, 5)],
]


@pytest.mark.parametrize("cfg", CONFIGS)
def test_memory_with_a_configuration(device: int, cfg: object) -> None:
    """Attributes that change nothing here, or none at all, give memory as malloc and malloc_host do."""
    for pointer in (
        good(acl.rt.malloc_with_cfg(100, 0, cfg)),
        good(acl.rt.malloc_for_task_scheduler(100, 0, cfg)),
    ):
        assert pointer % 64 == 0
        ok(acl.rt.memset(pointer, 128, 3, 128))
        ok(acl.rt.free(pointer))
    host = good(acl.rt.malloc_host_with_cfg(100, cfg))
    ok(acl.rt.memset(host, 100, 3, 100))
    ok(acl.rt.free_host(host))


def test_a_configuration_names_the_device(device: int) -> None:
    """Attribute 2 allocates on another device in use; one not in use is 107002, one that is none 107001."""
    assert acl.rt.malloc_with_cfg(64, 0, [(2, 1)]) == (0, 107002)
    assert acl.rt.malloc_with_cfg(64, 0, [(2, 99)]) == (0, 107001)
    ok(acl.rt.set_device(1))
    ok(acl.rt.set_device(0))
    pointer = good(acl.rt.malloc_with_cfg(64, 0, [(2, 1)]))

    assert good(acl.rt.pointer_get_attributes(pointer))["location"] == {"id": 1, "type": 1}
    assert acl.rt.get_mem_info(1)[0] == acl.rt.get_mem_info(1)[1]  # of device 0
    ok(acl.rt.free(pointer))
    ok(acl.rt.reset_device(1))


def test_configurations_that_are_none(device: int) -> None:
    """Unknown attributes, values and counts are 100000; what is no configuration is a TypeError; nothing is allocated."""
    free = acl.rt.get_mem_info(1)[0]
    for wrong in ([(9, 0)], [(1, 1 << 16)], [(3, 2)], [(2, -1)], {"attrs": [(1, 2)], "numAttrs": 2}):
        assert acl.rt.malloc_with_cfg(64, 0, wrong) == (0, 100000)
        assert acl.rt.malloc_host_with_cfg(64, wrong) == (0, 100000)
    for strange in (1, "x", [3], [{"attr": 1}], [("1", 2)], {"attrs": 3}):
        with pytest.raises(TypeError):
            untyped.rt.malloc_with_cfg(64, 0, strange)
    assert acl.rt.malloc_with_cfg(0, 0, 0) == acl.rt.malloc_for_task_scheduler(-1, 0, 0) == (0, 100000)
    assert acl.rt.malloc_host_with_cfg(0, 0) == (0, 100000)

    assert acl.rt.get_mem_info(1)[0] == free


def test_freeing_from_a_thread_without_context(device: int) -> None:
    """A finalizer may free on any thread."""
    pointer, host = good(acl.rt.malloc(64, 0)), good(acl.rt.malloc_host(64))

    assert in_thread(lambda: (acl.rt.free(pointer), acl.rt.free_host(host))) == (0, 0)


def test_threads_allocate_at_the_same_time(device: int) -> None:
    """Blocks that eight threads allocate and free at once never overlap."""
    failures: list[object] = []

    def work(number: int) -> None:
        ok(acl.rt.set_device(0))
        for turn in range(150):
            size = 64 + (number * 37 + turn * 11) % 900
            pointer = good(acl.rt.malloc(size, 0))
            ok(acl.rt.memset(pointer, size, number, size))
            if acl.util.ptr_to_bytes(pointer, size) != bytes([number]) * size:
                failures.append((number, turn))
            ok(acl.rt.free(pointer))
        ok(acl.rt.reset_device(0))

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert failures == []
    assert acl.rt.get_mem_info(1)[0] == acl.rt.get_mem_info(1)[1]
