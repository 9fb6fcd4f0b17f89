"""Shared objects as bytes."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aacl import KernelLoadError
from aacl.ops._elf import ElfHeader, check_shared_object, exported_names, read_header

X86, ARM = 62, 183


NAMES, SYMBOLS, HASH, GNU_HASH, RELOCATIONS, DYNAMIC, LENGTH = 176, 200, 272, 296, 328, 352, 512
"""Where the parts of the object lie, in the file as in memory, and how long the part of it that is loaded is."""

TAGS = (5, 6, 10, 4, 0x6FFFFEF5, 7, 8, 12)
"""Of its dynamic section: strings, symbols, the strings' length, both tables of names, relocations, their length, and
the function to call at the start."""


def _object(machine: int = X86, kind: int = 3, *, bits: int = 64) -> bytes:
    """Return a small shared object: one loaded segment, the loader's tables in it, and one exported symbol."""
    names = b"\0aacl_kernel_add\0"
    symbols = bytes(24) + struct.pack("<IBBHQQ", 1, 0x12, 0, 0, 0, 0) + struct.pack("<IBBHQQ", 1, 0x12, 0, 1, 0x80, 4)
    hashes = struct.pack("<6I", 1, 3, 2, 0, 0, 0)
    gnu = struct.pack("<4IQ2I", 1, 2, 1, 6, 2**64 - 1, 2, 1)
    relocations = struct.pack("<QQq", LENGTH - 8, 1 << 32 | 6, 0)
    values = (NAMES, SYMBOLS, len(names), HASH, GNU_HASH, RELOCATIONS, len(relocations), 0x80)
    dynamic = b"".join([struct.pack("<QQ", *pair) for pair in zip(TAGS, values, strict=True)]) + bytes(16)
    programs = struct.pack("<IIQQQQQQ", 1, 7, 0, 0, 0, LENGTH, LENGTH, 4096)
    programs += struct.pack("<IIQQQQQQ", 2, 6, DYNAMIC, DYNAMIC, DYNAMIC, len(dynamic), len(dynamic), 8)
    sections = struct.pack("<IIQQQQIIQQ", 0, 11, 0, 0, SYMBOLS, len(symbols), 1, 0, 8, 24)
    sections += struct.pack("<IIQQQQIIQQ", 0, 3, 0, 0, NAMES, len(names), 0, 0, 1, 0)
    header = b"\x7fELF" + bytes([2 if bits == 64 else 1, 1, 1]) + bytes(9)
    header += struct.pack("<HHIQQQIHHHHHH", kind, machine, 1, 0, 64, LENGTH, 0, 64, 56, 2, 64, 2, 0)
    parts = {0: header + programs, NAMES: names, SYMBOLS: symbols, HASH: hashes, GNU_HASH: gnu,
             RELOCATIONS: relocations, DYNAMIC: dynamic, LENGTH: sections}  # fmt: skip
    image = bytearray(LENGTH + len(sections))
    for place, part in parts.items():
        image[place : place + len(part)] = part
    return bytes(image)


WHOLE = _object()
HOST = read_header(WHOLE, "host")


def test_a_whole_shared_object() -> None:
    """Its header is read, and the names that it defines (not those that it needs) are listed."""
    header = check_shared_object(WHOLE, HOST, "it")

    assert (header.bits, header.is_little, header.type, header.machine) == (64, True, 3, X86)
    assert exported_names(WHOLE, header) == ("aacl_kernel_add",)
    assert header.machine_name == "x86-64 (64-bit)"


@pytest.mark.parametrize(
    ("image", "text"),
    [
        (b"", "no ELF file: it begins with b''"),
        (b"MZ\x90\x00", "no ELF file"),
        (b"!<arch>\n", "no ELF file"),
        (WHOLE[:40], "cut short: an ELF header has 64 bytes, and there are 40"),
        (b"\x7fELF" + bytes(60), "damaged ELF file: its class is 0"),
        (_object(ARM), r"for AArch64 \(64-bit\); this machine is x86-64 \(64-bit\)"),
        (_object(0xFFFE), r"for machine 65534 \(64-bit\)"),
        (_object(bits=32), r"for x86-64 \(32-bit\)"),
        (WHOLE[:5] + b"\x02" + WHOLE[6:], "big-endian"),
        (_object(kind=1), r"relocatable object \(\.o\).*-shared"),
        (_object(kind=2), "a program, not a shared object"),
        (_object(kind=4), "a core dump"),
        (_object(kind=77), "of type 77"),
        (WHOLE[:200], "cut short or damaged"),
        (WHOLE[:-1], "section headers.*cut short or damaged"),
    ],
)
def test_what_is_refused_is_named(image: bytes, text: str) -> None:
    """No file of another kind or machine, and none that is cut short, gets as far as a loader."""
    with pytest.raises(KernelLoadError, match=text) as caught:
        check_shared_object(image, HOST, "it")

    assert "ELF" in str(caught.value)
    assert caught.value.code == 100025


def _with_program(index: int, place: int, value: int) -> bytes:
    """Return the object with one field of a program header changed."""
    image = bytearray(WHOLE)
    struct.pack_into("<Q", image, 64 + 56 * index + 8 * place, value)
    return bytes(image)


@pytest.mark.parametrize(
    "image",
    [
        _with_program(0, 4, 1 << 60),  # bytes in the file
        _with_program(0, 5, 16),  # fewer bytes in memory than in the file
        _with_program(0, 1, 4000),  # offset
        _with_program(0, 6, 3),  # no power of two
        _with_program(0, 2, 1 << 62),  # address
        _with_program(1, 2, 1 << 20),  # the dynamic part lies in no segment
        WHOLE[:64] + b"\0" * 112 + WHOLE[176:],  # nothing to load
    ],
)
def test_segments_that_cannot_be(image: bytes) -> None:
    """Offsets, lengths, addresses and alignments are checked against each other and the file."""
    with pytest.raises(KernelLoadError, match="ELF"):
        check_shared_object(image, HOST, "it")


def _with_word(place: int, layout: str, value: int) -> bytes:
    """Return the object with one number changed."""
    image = bytearray(WHOLE)
    struct.pack_into(layout, image, place, value)
    return bytes(image)


def _with_entry(tag: int, value: int) -> bytes:
    """Return the object with one value of its dynamic section changed."""
    return _with_word(DYNAMIC + 16 * TAGS.index(tag) + 8, "<Q", value)


@pytest.mark.parametrize(
    ("image", "text"),
    [
        (_with_entry(5, 1 << 40), "the strings, 17 bytes at address 0x10000000000, would lie outside of it"),
        (_with_entry(10, 5), "the strings have no end"),
        (_with_entry(10, 0), "the strings have no end"),
        (_with_entry(6, LENGTH - 8), "the symbols, 72 bytes"),
        (_with_entry(4, LENGTH), "the table of names, 8 bytes"),
        (_with_word(HASH + 8, "<I", 3), "leads outside the symbols"),
        (_with_word(HASH + 4, "<I", 1 << 31), "the table of names"),
        (_with_word(GNU_HASH, "<I", 0), "0 buckets"),
        (_with_word(GNU_HASH + 8, "<I", 4096), "the hash table of names, 4 bytes"),
        (_with_word(GNU_HASH + 8, "<I", 3), "a filter of 3 words"),
        (_with_word(GNU_HASH + 24, "<I", 1 << 30), "the hash table of names, 4 bytes"),
        (_with_word(GNU_HASH + 24, "<I", 0), "exports nothing"),
        (_with_word(SYMBOLS + 48, "<I", 17), "a name is at byte 17 of 17"),
        (_with_word(SYMBOLS + 56, "<Q", 1 << 33), "a symbol is at address 0x200000000"),
        (_with_word(RELOCATIONS, "<Q", LENGTH - 4), "a relocation, 8 bytes at address 0x1fc"),
        (_with_word(RELOCATIONS + 8, "<Q", 9 << 32 | 6), "a relocation is by symbol 9 of 3"),
        (_with_entry(8, 20), "no multiple of 24"),
        (_with_entry(12, 1 << 50), "a function or the table of addresses"),
        (_with_word(68, "<I", 5), "a relocation, 8 bytes"),  # the segment is read-only
    ],
)
def test_tables_that_lead_outside(image: bytes, text: str) -> None:
    """What a loader would follow out of the object is found: there it meets whatever lies beside it, or nothing."""
    with pytest.raises(KernelLoadError, match=f"ELF file that cannot be loaded: .*({text})"):
        check_shared_object(image, HOST, "it")


def _checked(image: bytes) -> tuple[ElfHeader | None, str]:
    """Return the header, or None and why not."""
    try:
        return check_shared_object(image, HOST, "it"), ""
    except KernelLoadError as error:
        return None, str(error)


@settings(deadline=None, max_examples=300)
@given(st.lists(st.tuples(st.integers(0, len(WHOLE) - 1), st.integers(0, 255)), max_size=6), st.integers(0, len(WHOLE)))
def test_damage_is_refused_or_harmless(changes: list[tuple[int, int]], length: int) -> None:
    """Whatever bytes are changed and wherever it ends, the answer is a header or one typed error."""
    image = bytearray(WHOLE)
    for place, value in changes:
        image[place] = value
    for damaged in (bytes(image), bytes(image[:length])):
        header, text = _checked(damaged)
        assert "ELF" in text if header is None else all(exported_names(damaged, header))


@given(st.binary(max_size=200))
@settings(deadline=None, max_examples=100)
def test_any_bytes_behind_the_magic(data: bytes) -> None:
    """Nothing but the typed error comes of arbitrary bytes."""
    with pytest.raises(KernelLoadError):
        check_shared_object(b"\x7fELF" + data, HOST, "it")
