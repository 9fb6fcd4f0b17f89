"""Kinds of copies against what the addresses are."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import acl
from acl.rt import _direction
from tests.compat._programs import D2D, D2H, DEFAULT, H2D, H2H, get, good, ok, run_program

WAYS = {H2H: {0}, H2D: {1}, D2H: {2}, D2D: {3}, DEFAULT: {0, 1, 2, 3}, 5: {1}, 6: {3}, 7: {3}}


@pytest.fixture(autouse=True)
def unwarned(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let no warning have been given before."""
    monkeypatch.setattr(_direction, "_warned", set())


class Memories:
    """Two blocks of each memory, the sources filled with one pattern."""

    def __init__(self) -> None:
        self.data = np.arange(256, dtype=np.uint8)
        self.host, self.device = good(acl.rt.malloc_host(256)), good(acl.rt.malloc(256, 0))
        self.other_host, self.other_device = good(acl.rt.malloc_host(256)), good(acl.rt.malloc(256, 0))
        pointer = acl.util.numpy_to_ptr(self.data)
        ok(acl.rt.memcpy(self.host, 256, pointer, 256, H2H))
        ok(acl.rt.memcpy(self.device, 256, pointer, 256, H2D))

    def pair(self, way: int) -> tuple[int, int]:
        """Return target and source of a direction; the target is cleared."""
        target = self.other_device if way & 1 else self.other_host
        ok(acl.rt.memset(target, 256, 0, 256))
        return target, self.device if way & 2 else self.host


@pytest.mark.parametrize("kind", range(8))
@pytest.mark.parametrize("way", range(4))
def test_kinds_that_fit_are_silent_and_others_warn_once(device: int, kind: int, way: int) -> None:
    """C056: each kind copies between each two memories as the addresses say; what does not fit warns, once."""
    memories = Memories()
    for turn in range(2):
        target, source = memories.pair(way)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            ok(acl.rt.memcpy(target, 256, source, 256, kind))

        assert len(caught) == int(way not in WAYS[kind] and turn == 0)
        assert all(each.category is RuntimeWarning for each in caught)
        np.testing.assert_array_equal(get(target, memories.data), memories.data)


def test_the_warning_tells_what_the_program_did(device: int) -> None:
    """It names the kind, what the addresses are, the kind that fits, and the line of the program."""
    memories = Memories()
    with pytest.warns(
        RuntimeWarning, match=r"kind 2 is from device to host memory.* from host to device memory, kind 1"
    ) as told:
        ok(acl.rt.memcpy(*memories.pair(1)[:1], 256, memories.host, 256, D2H))

    assert told[0].filename == __file__


def test_asynchronous_copies_warn_too(stream: int) -> None:
    """A stream's copy with a kind that does not fit is submitted, with a warning; so are rows."""
    memories = Memories()
    target, source = memories.pair(1)
    with pytest.warns(RuntimeWarning, match="kind 2"):
        ok(acl.rt.memcpy_async(target, 256, source, 256, D2H, stream))
    ok(acl.rt.synchronize_stream(stream))
    np.testing.assert_array_equal(get(target, memories.data), memories.data)

    target, source = memories.pair(3)
    with pytest.warns(RuntimeWarning, match="kind 1"):
        ok(acl.rt.memcpy2d(target, 16, source, 16, 16, 4, H2D))
    np.testing.assert_array_equal(get(target, memories.data)[:64], memories.data[:64])


def test_a_board_programs_copies_in_one_memory(device: int) -> None:
    """C056: a program written for a board, where both are one, works with arrays in the place of device memory."""
    source, result, target = np.arange(256, dtype=np.uint8), np.zeros(256, np.uint8), good(acl.rt.malloc(256, 0))
    with pytest.warns(RuntimeWarning):
        ok(acl.rt.memcpy(target, 256, source.ctypes.data, 256, D2D))
    with pytest.warns(RuntimeWarning):
        ok(acl.rt.memcpy(result.ctypes.data, 256, target, 256, D2D))

    np.testing.assert_array_equal(result, source)


def test_a_strict_environment_refuses_and_changes_nothing() -> None:
    """AACL_STRICT=1: a kind that does not fit is 107000 before a byte is written, with a text; the right ones work."""
    out = run_program(
        """
        import acl
        acl.init(); acl.rt.set_device(0)
        device, _ = acl.rt.malloc(256, 0); host, _ = acl.rt.malloc_host(256)
        acl.rt.memset(device, 256, 1, 256); acl.rt.memset(host, 256, 2, 256)
        print(acl.rt.memcpy(device, 256, host, 256, 2), acl.get_recent_err_msg())
        print(acl.rt.memcpy_async(device, 256, host, 256, 3, 0), acl.rt.memcpy2d(device, 16, device, 16, 16, 2, 1))
        print(acl.util.ptr_to_bytes(device, 256) == bytes([1]) * 256)
        print([acl.rt.memcpy(device, 256, host, 256, kind) for kind in (1, 4, 5)], acl.rt.memcpy(host, 256, device, 256, 2))
        print(acl.finalize())
        """,
        AACL_STRICT="1",
    )

    lines = out.splitlines()
    assert lines[0].startswith("107000 acl.rt.memcpy failed with 107000: copy kind 2 is from device to host memory")
    assert lines[1:] == ["107000 107000", "True", "[0, 0, 0] 0", "0"]
