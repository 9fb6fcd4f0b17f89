"""Live objects of the drop-in for calls to take, and others beside them that no call may change."""

from __future__ import annotations

import ctypes
import mmap
import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import acl
from acl import _blocks, _devices, _handles
from acl._state import state

__all__ = ("ENDS", "World", "make_files", "start_reporter")

ENDS = {"acl.finalize", "acl.finalize_reference", "acl.rt.reset_device", "acl.rt.reset_device_force"}
"""Calls after which the device may be gone."""
_PATTERN = bytes(range(7, 71))
_SEEN_MOST = 400
_libc = ctypes.CDLL(None, use_errno=True)


class World:
    """A device in use, with something of each kind.

    Of every two objects one is a neighbour: no call is given its handle or address, so none may change it.
    Memory of the host that calls get lies between pages that cannot be touched.
    """

    def __init__(self, folder: Path, reporter: int = 0) -> None:
        """Prepare.

        Args:
            folder: with the files that calls may load.
            reporter: a thread that reports.
        """
        self.folder, self.reporter = folder, reporter
        self.seen: list[int] = []
        self.region, self._guarded = _guarded_memory()
        self._pipe = os.pipe()
        os.set_blocking(self._pipe[0], False)
        os.set_blocking(self._pipe[1], False)

    def begin(self) -> None:
        """End what is left from before, and make everything anew."""
        acl.init()
        acl.finalize()
        self.check_ok(acl.init(), acl.rt.set_device(0))
        self.context, self.device = acl.rt.get_context()[0], _devices.devices[0]
        self._canaries: list[tuple[int, Any]] = []
        self._kept: set[int] = set()
        self._states: list[tuple[Callable[[], object], object]] = []
        for _ in range(3):
            self._add_canary(acl.rt.malloc(len(_PATTERN), 0)[0], self._device_view)
            self._add_canary(acl.rt.malloc_host(len(_PATTERN))[0], self._host_view)
            acl.rt.malloc(100, 0), acl.rt.malloc_host(100)
        self._populate()
        kept = self._populate()
        self._kept |= set(kept)
        self._watch_neighbours(kept)

    @staticmethod
    def check_ok(*codes: int) -> None:
        """Raise unless all went well."""
        assert not any(codes), (codes, acl.get_recent_err_msg())

    def _device_view(self, address: int) -> Any:
        return acl.util.ptr_to_numpy(address, (len(_PATTERN),), 2)

    def _host_view(self, address: int) -> Any:
        return _blocks.host_blocks[address].array[: len(_PATTERN)]

    def _add_canary(self, address: int, view: Callable[[int], Any]) -> None:
        array = view(address)
        array[:] = list(_PATTERN)
        self._canaries.append((address, array))

    def _populate(self) -> list[int]:
        """Make something of each kind; return the handles."""
        desc = acl.create_tensor_desc(0, [1, 4], 2)
        pointer = acl.rt.malloc(64, 0)[0]
        buffers = [acl.create_data_buffer(pointer, 64) for _ in range(2)]
        datasets = [acl.mdl.create_dataset() for _ in buffers]
        for dataset, buffer in zip(datasets, buffers, strict=True):
            acl.mdl.add_dataset_buffer(dataset, buffer)
        model = acl.mdl.load_from_file(str(self.folder / "add1.om"))[0]
        described = acl.mdl.create_desc()
        acl.mdl.get_desc(described, model)
        attr = acl.op.create_attr()
        acl.op.set_attr_int(attr, "axis", 3)
        stream, event = acl.rt.create_stream()[0], acl.rt.create_event()[0]
        acl.rt.record_event(event, stream)
        others = [acl.mdl.create_aipp(1), acl.mdl.create_config_handle(), acl.mdl.create_exec_config_handle()]
        others += [acl.prof.create_subscribe_config(1, 0, self._pipe[1])]
        made = [desc, *buffers, *datasets, model, described, attr, stream, event, *others, pointer]
        assert all(made), (made, acl.get_recent_err_msg())
        return made

    def _watch_neighbours(self, kept: list[int]) -> None:
        desc, buffer, _, dataset, _, model, described, attr, stream, event = kept[:10]
        del model
        for look in (
            lambda: (acl.get_tensor_desc_type(desc), acl.get_tensor_desc_size(desc), acl.get_tensor_desc_name(desc)),
            lambda: (acl.get_data_buffer_addr(buffer), acl.get_data_buffer_size_v2(buffer)),
            lambda: (acl.mdl.get_dataset_num_buffers(dataset), acl.mdl.get_dataset_buffer(dataset, 0)),
            lambda: (acl.mdl.get_num_inputs(described), acl.mdl.get_input_size_by_index(described, 0)),
            lambda: attr in _objects("operator attribute"),
            lambda: stream in _objects("stream"),
            lambda: event in _objects("event"),
        ):
            self._states.append((look, look()))

    @property
    def ended(self) -> bool:
        """Whether the device was reset, or the runtime finalised."""
        return not state.references or _devices.devices.get(0) is not self.device

    def changed(self) -> str:
        """Return what was changed that no call was given; empty where nothing was."""
        for address, array in self._canaries:
            if array.tobytes() != _PATTERN:
                return f"memory at {address:#x} beside what the call was given: {array.tobytes()!r}"
        if any(page != _PATTERN for page in self._guarded()):
            return "memory of the host beside what the call was given"
        if self.ended:
            return ""
        for number, (look, before) in enumerate(self._states):
            if (after := look()) != before:
                return f"neighbour {number}: it was {before}, and is {after}"
        return ""

    def make_current(self) -> None:
        """Let the thread have its context again, whatever calls made of that."""
        acl.rt.set_context(self.context)

    # -- what calls are given ---------------------------------------------------------------------------------------

    def handles(self, kind: str) -> list[int]:
        """Return the live handles of a kind that calls may have."""
        return [handle for handle in [*_objects(kind)] if handle not in self._kept]

    def any_handles(self) -> list[int]:
        """Return live handles of all kinds."""
        return [handle for kind in kinds() for handle in self.handles(kind)]

    def addresses(self) -> list[int]:
        """Return the first addresses of memory that calls may have."""
        mine = {address for address, _ in self._canaries} | self._kept
        blocks = [*self.device.blocks, *_blocks.host_blocks, self.region, self.region + mmap.PAGESIZE]
        return [address for address in blocks if address not in mine]

    def stale(self) -> list[int]:
        """Return numbers that were handles or addresses of ours, and are not now."""
        live = {handle for kind in kinds() for handle in _objects(kind)}
        live |= {*self.device.blocks, *_blocks.host_blocks}
        return [number for number in self.seen if number not in live]

    def remember(self) -> None:
        """Note what is live now, for later, when it is not."""
        self.seen += [*self.any_handles(), *self.addresses()]
        self.seen = [*dict.fromkeys(self.seen)][-_SEEN_MOST:]

    @property
    def file_descriptor(self) -> int:
        """Return the end of a pipe that may be written to."""
        return self._pipe[1]

    def drain_pipe(self) -> None:
        """Empty the pipe."""
        try:
            while os.read(self._pipe[0], 1 << 16):
                pass
        except BlockingIOError:
            return


def kinds() -> list[str]:
    """Return the kinds of handles there are."""
    return [table.kind for table in _handles._tables]


def _objects(kind: str) -> dict[int, Any]:
    return next(table.objects for table in _handles._tables if table.kind == kind)


def _guarded_memory() -> tuple[int, Callable[[], list[bytes]]]:
    """Return the address of two pages, and what returns the beginnings of the two pages beside their guards."""
    size = 7 * mmap.PAGESIZE
    memory = mmap.mmap(-1, size)
    start = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    for page in (1, 4):
        assert _libc.mprotect(ctypes.c_void_p(start + page * mmap.PAGESIZE), mmap.PAGESIZE, 0) == 0
    places = (0, 5 * mmap.PAGESIZE)
    for place in places:
        memory[place : place + len(_PATTERN)] = _PATTERN
    return start + 2 * mmap.PAGESIZE, lambda: [memory[place : place + len(_PATTERN)] for place in places]


def make_files(folder: Path) -> None:
    """Write the files that calls may load."""
    from tests.compat._programs import add1

    add1(folder)
    (folder / "text.om").write_bytes(b"this is no model")
    (folder / "acl.json").write_text("{}")


def start_reporter() -> int:
    """Start a thread that reports for ever; return its identifier."""

    def report() -> None:
        while True:
            acl.rt.process_report(20)

    thread = threading.Thread(target=report, daemon=True)
    thread.start()
    assert thread.ident is not None
    return thread.ident
