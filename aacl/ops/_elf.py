"""Shared objects of Linux, as bytes: what they are, whether they are whole, what they export. Pure.

Source: the System V ABI's chapter on object files, and the supplements' machine numbers. Only what a loader
would trip over is looked at; all offsets are checked against the length before anything is read.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import NamedTuple

from aacl.errors import KernelLoadError
from aacl.ops._elf_tables import Segment, Tables

__all__ = ("ElfHeader", "check_shared_object", "exported_names", "read_header")


class ElfHeader(NamedTuple):
    """The part of an ELF file's header that says what it is and where its tables are."""

    bits: int
    is_little: bool
    type: int
    machine: int
    programs: tuple[int, int, int]
    """Offset, bytes each and number of the program headers."""
    sections: tuple[int, int, int]
    """The same of the section headers."""

    @property
    def machine_name(self) -> str:
        """Return the machine's usual name, or its number."""
        order = "" if self.is_little else ", big-endian"
        return f"{_MACHINES.get(self.machine, f'machine {self.machine}')} ({self.bits}-bit{order})"


_MAGIC = b"\x7fELF"
_HEADER = "HHIQQQIHHHHHH"  # of a 64-bit file, behind the 16 bytes of its identification
_SIZE = 64
_SHARED, _RELOCATABLE = 3, 1
_TYPES = {0: "nothing", 1: "a relocatable object", 2: "a program", 4: "a core dump"}
_MACHINES = {3: "x86", 8: "MIPS", 20: "PowerPC", 21: "PowerPC64", 22: "s390", 40: "ARM", 62: "x86-64", 183: "AArch64",
             190: "CUDA", 224: "AMD GPU", 243: "RISC-V", 247: "BPF", 258: "LoongArch"}  # fmt: skip
_LOAD, _DYNAMIC = 1, 2
_NOTE, _THREAD_LOCAL, _READ_ONLY_LATER, _PROPERTY = 4, 7, 0x6474E552, 0x6474E553
_READ = (_LOAD, _DYNAMIC, _NOTE, _THREAD_LOCAL, _READ_ONLY_LATER, _PROPERTY)
_PAGE_MOST = 1 << 16
_SPAN_MOST = 1 << 40
_DYNSYM = 11
_SYMBOL_BYTES = 24
_NAME_MOST = 4096


def read_header(image: bytes, what: str) -> ElfHeader:
    """Read a file's header.

    Raises:
        KernelLoadError: it is no ELF file, or is cut short within the header.
    """
    if image[:4] != _MAGIC:
        raise KernelLoadError(f"{what} is no ELF file: it begins with {image[:8]!r}; give a shared object (.so)")
    if len(image) < _SIZE:
        raise KernelLoadError(f"{what} is cut short: an ELF header has {_SIZE} bytes, and there are {len(image)}")
    bits, order = {1: 32, 2: 64}.get(image[4]), {1: "<", 2: ">"}.get(image[5])
    if bits is None or order is None:
        raise KernelLoadError(f"{what} is a damaged ELF file: its class is {image[4]}, its byte order {image[5]}")
    kind, machine = struct.unpack_from(order + "HH", image, 16)
    if bits != 64:  # its tables do not matter: no such file is loaded
        return ElfHeader(bits, order == "<", kind, machine, (0, 0, 0), (0, 0, 0))
    fields = struct.unpack_from(order + _HEADER, image, 16)
    programs, sections = (fields[4], fields[8], fields[9]), (fields[5], fields[10], fields[11])
    return ElfHeader(bits, order == "<", kind, machine, programs, sections)


def check_shared_object(image: bytes, host: ElfHeader, what: str) -> ElfHeader:
    """Check that bytes are a whole shared object for the machine whose header is given.

    Raises:
        KernelLoadError: they are for another machine, something else than a shared object, or damaged.
    """
    header = read_header(image, what)
    if (header.machine, header.bits, header.is_little) != (host.machine, host.bits, host.is_little):
        error = KernelLoadError(
            f"{what} is an ELF file for {header.machine_name}; this machine is {host.machine_name}: compile it here"
        )
        error.is_foreign = True
        raise error
    if header.type == _RELOCATABLE:
        raise KernelLoadError(f"{what} is an ELF relocatable object (.o), not a shared one; link it with -shared")
    if header.type != _SHARED:
        kind = _TYPES.get(header.type, f"of type {header.type}")
        raise KernelLoadError(f"{what} is an ELF file, but {kind}, not a shared object; link it with -shared")
    _check_programs(image, header, what)
    _table(image, header, header.sections, 64, f"the section headers of {what}")
    return header


def _table(
    image: bytes, header: ElfHeader, place: tuple[int, int, int], size: int, what: str
) -> Iterator[tuple[int, ...]]:
    """Return the entries of a table of headers; they are checked at once."""
    offset, each, count = place
    if count and (each != size or offset + each * count > len(image)):
        raise KernelLoadError(
            f"{what}, an ELF file, should be {count} times {size} bytes at {offset}; each has {each}, and the file "
            f"{len(image)} bytes: it is cut short or damaged"
        )
    order = "<" if header.is_little else ">"
    layout = struct.Struct(order + ("IIQQQQQQ" if size == 56 else "IIQQQQIIQQ"))
    return (layout.unpack_from(image, offset + each * index) for index in range(count))


def _check_programs(image: bytes, header: ElfHeader, what: str) -> None:
    """Check the segments that a loader maps or reads, and the tables in them."""
    programs = list(_table(image, header, header.programs, 56, f"the program headers of {what}"))
    loads = [program for program in programs if program[0] == _LOAD]
    dynamic = [program for program in programs if program[0] == _DYNAMIC]
    end = -1
    for program in programs:
        kind, _, offset, address, _, in_file, in_memory, _ = program
        if kind == _LOAD:
            is_odd, end = _is_unmappable(program, end), address + in_memory
        else:
            is_odd = kind in _READ and not any(_holds(load, program) for load in loads)
        if is_odd or (kind in _READ and (in_file > in_memory or offset + in_file > len(image))):
            raise KernelLoadError(
                f"{what} is an ELF file that is cut short or damaged: a segment of {in_file} bytes at {offset} of "
                f"{len(image)}, for {in_memory} bytes at address {address:#x}, cannot be loaded"
            )
    if not loads or not dynamic:
        raise KernelLoadError(f"{what} is an ELF file with nothing to load; link it with -shared")
    try:
        Tables(image, "<" if header.is_little else ">", header.machine, loads, dynamic[-1]).check()
    except ValueError as error:
        raise KernelLoadError(f"{what} is an ELF file that cannot be loaded: {error}") from None


def _is_unmappable(load: Segment, end: int) -> bool:
    _, _, offset, address, _, _, in_memory, alignment = load
    is_odd = alignment & (alignment - 1) or (address - offset) % max(alignment, 1)
    return bool(is_odd) or address < end or address + in_memory > _SPAN_MOST


def _holds(load: Segment, other: Segment) -> bool:
    """Return whether a mapped segment has another one in it."""
    kind, _, _, address, _, in_file, in_memory, _ = other
    start = load[3]
    if kind == _READ_ONLY_LATER:  # whose end some linkers round up to a page
        return start <= address and address + in_memory <= start + load[6] + _PAGE_MOST
    return not in_file or (start <= address and address + in_file <= start + load[5])


def exported_names(image: bytes, header: ElfHeader) -> tuple[str, ...]:
    """Return the names that a shared object defines for others; none where its section headers were stripped."""
    sections = list(_table(image, header, header.sections, 64, "the section headers"))
    order = "<" if header.is_little else ">"
    found: list[str] = []
    for _, kind, _, _, offset, size, link, *_ in sections:
        if kind != _DYNSYM or link >= len(sections) or offset + size > len(image):
            continue
        start, length = sections[link][4:6]
        names = image[start : start + length]
        for place in range(offset, offset + size - _SYMBOL_BYTES + 1, _SYMBOL_BYTES):
            name, _, _, section = struct.unpack_from(order + "IBBH", image, place)
            if section:
                found.append(names[name : name + _NAME_MOST].partition(b"\0")[0].decode(errors="replace"))
    return tuple(sorted(filter(None, found)))
