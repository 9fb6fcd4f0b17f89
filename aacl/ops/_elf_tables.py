"""What a loader reads of a shared object's tables: whether all of it lies within the object. Pure.

A loader trusts these tables. One damaged number makes it read or write whatever lies beside the object in memory,
which differs from process to process: what a trial in another process survives may end this one.

Source: the System V ABI's chapters on dynamic linking and relocation; GNU's hash table and symbol versions as the
Linux Standard Base and the tools' documentation describe them.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator, Sequence

__all__ = ("Segment", "Tables")

Segment = tuple[int, ...]
"""A program header: type, flags, offset, address, physical address, bytes in the file and in memory, alignment."""

_NEEDED, _STRTAB, _SYMTAB, _STRSZ, _SONAME, _RPATH, _RUNPATH = 1, 5, 6, 10, 14, 15, 29
_HASH, _GNU_HASH = 4, 0x6FFFFEF5
_INIT, _FINI, _PLTGOT = 12, 13, 3
_ARRAYS = ((25, 27), (26, 28), (32, 33))  # functions to call at the start and at the end: address and bytes
_RELOCATIONS = ((7, 8, 24), (17, 18, 16), (36, 35, 8))  # address, bytes, and bytes of each: RELA, REL, RELR
_JMPREL, _PLTRELSZ, _PLTREL, _RELA = 23, 2, 20, 7
_TEXTREL, _FLAGS, _FLAG_TEXTREL = 22, 30, 4
_VERSYM, _VERNEED, _VERDEF = 0x6FFFFFF0, 0x6FFFFFFE, 0x6FFFFFFC
_WRITE = 2
_S390 = 22  # whose hash tables have wider words
_SYMBOL, _WORD = 24, 8
_PLACELESS = (0, 0xFFF1, 0xFFF2)  # sections of symbols that are undefined, absolute or common
_THREAD_LOCAL = 6


class Tables:
    """The tables that the dynamic section names."""

    def __init__(self, image: bytes, order: str, machine: int, loads: Sequence[Segment], dynamic: Segment) -> None:
        """Read the dynamic section.

        Args:
            image: the file.
            order: its byte order, as `struct` writes it.
            machine: its machine's number.
            loads: the segments that are mapped, which were checked.
            dynamic: the dynamic section's segment.

        Raises:
            ValueError: the section lies outside the object.
        """
        self._image, self._order, self._machine, self._loads = image, order, machine, loads
        self._found: dict[int, int] = {}
        self._names: list[int] = []  # where in the strings the names of the section itself are
        start, nbytes = self._in_file(dynamic[3], dynamic[5], "the dynamic section"), dynamic[5] & ~15
        for tag, value in struct.iter_unpack(order + "QQ", image[start : start + nbytes]):
            if not tag:
                break
            self._found[tag] = value
            if tag in (_NEEDED, _SONAME, _RPATH, _RUNPATH):
                self._names.append(value)

    def check(self) -> None:
        """Check all of them.

        Raises:
            ValueError: something lies outside the object; the text says what.
        """
        found = self._found
        length = found.setdefault(_STRSZ, 0)
        strings = self._in_file(found.get(_STRTAB, 0), length, "the strings")
        if not length or self._image[strings + length - 1]:
            raise ValueError("the strings have no end")
        count = self._symbol_count()
        self._check_names(self._names)
        self._check_symbols(count)
        self._check_versions(count)
        self._check_relocations(count)
        for tag in (_INIT, _FINI, _PLTGOT):
            if tag in found:
                self._in_memory(found[tag], 1, "a function or the table of addresses")
        for start, size in _ARRAYS:
            if found.get(size, 0):
                self._in_memory(found.get(start, 0), found[size], "an array of functions")

    def _in_file(self, address: int, nbytes: int, what: str) -> int:
        """Return where in the file the bytes for an address range are."""
        for _, _, offset, start, _, in_file, *_ in self._loads:
            if start <= address and address + nbytes <= start + in_file:
                return offset + address - start
        raise ValueError(f"{what}, {nbytes} bytes at address {address:#x}, would lie outside of it")

    def _in_memory(self, address: int, nbytes: int, what: str, flags: int = 0) -> None:
        for _, has, _, start, _, _, in_memory, *_ in self._loads:
            if start <= address and address + nbytes <= start + in_memory and has & flags == flags:
                return
        raise ValueError(f"{what}, {nbytes} bytes at address {address:#x}, would lie outside of it")

    def _words(self, address: int, count: int, letter: str, what: str) -> tuple[int, ...]:
        layout = f"{self._order}{count}{letter}"
        return struct.unpack_from(layout, self._image, self._in_file(address, struct.calcsize(layout), what))

    def _check_names(self, places: Iterable[int]) -> None:
        length = self._found[_STRSZ]
        for place in places:
            if place >= length:
                raise ValueError(f"a name is at byte {place} of {length}")

    def _symbol_count(self) -> int:
        """Check the tables by which names are looked up; return how many symbols there are."""
        count = 0
        if _HASH in self._found and self._machine != _S390:
            count = self._hashed(self._found[_HASH])
        if _GNU_HASH in self._found:
            count = max(count, self._gnu_hashed(self._found[_GNU_HASH]))
        if not count:
            raise ValueError("it has no table of names")
        return count

    def _hashed(self, address: int) -> int:
        buckets, count = self._words(address, 2, "I", "the table of names")
        entries = self._words(address + 8, buckets + count, "I", "the table of names")
        if not buckets or any(entry >= count for entry in entries):
            raise ValueError("the table of names leads outside the symbols")
        return count

    def _gnu_hashed(self, address: int) -> int:
        what = "the hash table of names"
        buckets, first, blooms, _ = self._words(address, 4, "I", what)
        if not buckets or not blooms or blooms & (blooms - 1):
            raise ValueError(f"{what} has {buckets} buckets and a filter of {blooms} words")
        start = address + 16 + _WORD * blooms
        last = max(self._words(start, buckets, "I", what))
        if last < first:
            raise ValueError("it exports nothing")
        chains = start + 4 * buckets - 4 * first
        while not self._words(chains + 4 * last, 1, "I", what)[0] & 1:
            last += 1
        return last + 1

    def _check_symbols(self, count: int) -> None:
        start = self._in_file(self._found.get(_SYMTAB, 0), _SYMBOL * count, "the symbols")
        names, end = [], max(load[3] + load[6] for load in self._loads)
        layout = self._order + "IBBHQQ"
        for name, info, _, section, value, _ in struct.iter_unpack(
            layout, self._image[start : start + _SYMBOL * count]
        ):
            names.append(name)
            if section not in _PLACELESS and info & 15 != _THREAD_LOCAL and value > end:
                raise ValueError(f"a symbol is at address {value:#x}, outside of it")
        self._check_names(names)

    def _check_versions(self, count: int) -> None:
        if _VERSYM not in self._found:
            return
        known = [1]
        for tag, layout, place, part, name in ((_VERNEED, "HHIII", 3, "IHHII", 3), (_VERDEF, "HHHHIII", 5, "II", 0)):
            for address, entry in self._chain(self._found.get(tag), layout):
                parts = list(self._chain(address + entry[place], part))
                self._check_names(each[name] for _, each in parts)
                known += [entry[2] & 0x7FFF] if tag == _VERDEF else [each[2] & 0x7FFF for _, each in parts]
        used = self._words(self._found[_VERSYM], count, "H", "the symbols' versions")
        if max(used, key=lambda each: each & 0x7FFF) & 0x7FFF > max(known):
            raise ValueError("a symbol has a version that there is not")

    def _chain(self, address: int | None, layout: str) -> Iterator[tuple[int, tuple[int, ...]]]:
        """Return the entries of a list, each of which ends with the distance of the next one, and their addresses."""
        full = self._order + layout
        while address is not None:
            place = self._in_file(address, struct.calcsize(full), "a list of versions")
            entry = struct.unpack_from(full, self._image, place)
            yield address, entry
            address = address + entry[-1] if entry[-1] else None

    def _check_relocations(self, count: int) -> None:
        found = self._found
        flags = 0 if _TEXTREL in found or found.get(_FLAGS, 0) & _FLAG_TEXTREL else _WRITE
        plt = (_JMPREL, _PLTRELSZ, 24 if found.get(_PLTREL) == _RELA else 16)
        for start, size, each in (*_RELOCATIONS, plt):
            nbytes = found.get(size, 0)
            if not nbytes or start not in found:
                continue
            place = self._in_file(found[start], nbytes, "the relocations")
            if nbytes % each:
                raise ValueError(f"relocations have {nbytes} bytes, which is no multiple of {each}")
            table = self._image[place : place + nbytes]
            for address in self._packed(table) if each == _WORD else self._places(table, each, count):
                self._in_memory(address, _WORD, "a relocation", flags)

    def _places(self, table: bytes, each: int, count: int) -> Iterator[int]:
        for address, info, *_ in struct.iter_unpack(self._order + ("QQq" if each == 24 else "QQ"), table):
            if info >> 32 >= count:
                raise ValueError(f"a relocation is by symbol {info >> 32} of {count}")
            if info & 0xFFFFFFFF:  # not one that does nothing
                yield address

    def _packed(self, table: bytes) -> Iterator[int]:
        where = 0
        for (entry,) in struct.iter_unpack(self._order + "Q", table):
            if entry & 1:
                yield from (where + _WORD * bit for bit in range(63) if entry >> bit + 1 & 1)
                where += 63 * _WORD
            else:
                yield entry
                where = entry + _WORD
