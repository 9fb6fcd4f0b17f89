"""A file of what operators and kernel functions were run with, a line of JSON each.

A line is written before its operator is submitted, so the last one tells what a process that ends there ran.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable, Mapping, Sequence
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

import numpy as np

from aacl.errors import InvalidFile
from acl._state import at_finalize
from acl._status import DUMP_ALREADY_RUN, DUMP_NOT_RUN, Refused

if TYPE_CHECKING:
    import aacl
    from acl._streams import Stream

__all__ = ("args_dump",)

Spans = Sequence[tuple[int, int]]
_numbers = count(1)


class _ArgsDump:
    """The dump of this process.

    Attributes:
        is_on: whether there is one; hot paths look here before they call.
    """

    __slots__ = ("_error", "_file", "_lock", "is_on")

    def __init__(self) -> None:
        self.is_on = False
        self._file: TextIO | None = None
        self._error: OSError | None = None
        self._lock = threading.Lock()

    def start(self, folder: str) -> None:
        """Begin a file in a folder.

        Raises:
            Refused: a dump is on.
            InvalidFile: the folder is none that can be written to.
        """
        with self._lock:
            if self.is_on:
                raise Refused(DUMP_ALREADY_RUN, "arguments are dumped already; call acl.op.stop_dump_args first")
            path = Path(folder) / f"op_args_{os.getpid()}_{next(_numbers)}.jsonl"
            try:
                self._file = path.open("x", encoding="utf-8", buffering=1)
            except (OSError, ValueError) as error:
                raise InvalidFile(f"cannot dump arguments to a file in {folder!r}: {error}") from None
            self._error, self.is_on = None, True

    def stop(self) -> None:
        """End the file.

        Raises:
            Refused: no dump is on.
            InvalidFile: a line could not be written.
        """
        with self._lock:
            if not self.is_on:
                raise Refused(DUMP_NOT_RUN, "no arguments are dumped; call acl.op.start_dump_args first")
            error = self._end()
        if error is not None:
            raise InvalidFile(f"the dump of arguments is not complete: {error}")

    def clear(self) -> None:
        """End the file, if there is one."""
        with self._lock:
            self._end()

    def _end(self) -> OSError | None:
        file, error, self.is_on, self._file, self._error = self._file, self._error, False, None, None
        if file is not None:
            try:
                file.close()
            except OSError as failed:
                error = error or failed
        return error

    def add(self, line: Mapping[str, object], stream: Stream) -> None:
        """Write a line; an operator does not fail because that does."""
        import json  # few programs dump

        place = {"device": stream.context.device.index, "stream": stream.stream.number}
        text = json.dumps(dict(line) | place, default=_plain)
        with self._lock:
            if self._file is not None and self._error is None:
                try:
                    self._file.write(f"{text}\n")
                except OSError as error:
                    self._error = error

    def add_operator(
        self,
        request: tuple[str, Sequence[aacl.TensorDesc], Spans, Sequence[aacl.TensorDesc], Spans, Any],
        attributes: Mapping[str, object],
        stream: Stream,
    ) -> None:
        """Write what an operator is run with."""
        op_type, inputs, input_spans, outputs, output_spans, _ = request
        tensors = {"inputs": _tensors(inputs, input_spans), "outputs": _tensors(outputs, output_spans)}
        self.add({"op": op_type, **tensors, "attributes": dict(attributes)}, stream)

    def after_fork(self) -> None:
        """Leave the file to the parent."""
        self._lock = threading.Lock()
        self.is_on, self._file = False, None


def _tensors(descs: Iterable[aacl.TensorDesc], spans: Spans) -> list[dict[str, object]]:
    return [
        {
            "address": f"{address:#x}",
            "bytes": nbytes,
            "dtype": desc.dtype.name,
            "shape": desc.shape,
            "format": desc.format.name,
        }
        for desc, (address, nbytes) in zip(descs, spans, strict=False)
    ]


def _plain(value: Any) -> object:
    """Return what JSON takes for a value of an attribute."""
    return value.tolist() if isinstance(value, (np.ndarray, np.generic)) else str(value)


args_dump = _ArgsDump()
at_finalize(args_dump.clear)
os.register_at_fork(after_in_child=args_dump.after_fork)
