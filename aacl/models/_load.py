"""Loading: from a path or bytes to a model that is ready to run."""

from __future__ import annotations

import mmap
import os
import stat
import time
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from aacl.errors import ModelDataError, ModelPathError
from aacl.models._shared import FileIdentity, Loan, shares_of
from aacl.streams import _hosts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from io import RawIOBase

    from aacl.abc import DeviceBackend, ModelEngine
    from aacl.models._shared import Data
    from aacl.models._signature import ModelSignature

__all__ = ("load", "load_in_thread")

_LARGE = 4 << 20


def load(source: Path | bytes, backend: DeviceBackend) -> Loan:
    """Read, take apart and load a model, here and now; one that is loaded already is shared.

    Raises:
        ModelPathError: the path names no file with anything in it, or one that cannot be read.
        ModelDataError: the bytes are not a model of ours, or the device cannot run it.
    """
    shares, make = shares_of(backend), partial(_made, backend)
    if isinstance(source, bytes):
        return shares.of_bytes(source, None, make)
    found = shares.of_file(_identity(source))
    try:
        return found or shares.of_bytes(*_read(source), make)
    except ModelDataError as error:  # what reads bytes knows no files
        raise ModelDataError(f"{str(source)!r}: {error}") from error


def _made(backend: DeviceBackend, data: Data) -> tuple[ModelSignature, ModelEngine, int]:
    from aacl.models._package import OperatorPackage, read_package

    package = read_package(data)
    if isinstance(package, OperatorPackage):
        raise ModelDataError(
            f"this .om file holds the operator {package.operator.op_type} ({package.operator.name}), not a model; "
            "convert a model with atc --model, or run the operator with stream.execute(aacl.ops...)"
        )
    signature, graph = package.signature, package.graph[0]
    engine = backend.load_model(graph)
    if signature.aipp:
        from aacl.models._aipp_engine import AippEngine

        engine = AippEngine(engine, signature)
    return signature, engine, len(graph)


async def load_in_thread(source: Path | bytes, backend: DeviceBackend) -> Loan:
    """Do what `load` does, on a thread of its own; a load that nobody waits for any more is undone."""
    from asyncio import wrap_future

    job: Future[Loan] = Future()
    _hosts.host_pool.submit(partial(_perform, job, partial(load, source, backend)))
    try:
        return await wrap_future(job)
    except BaseException:
        job.add_done_callback(_undo)
        raise


def _perform(job: Future[Loan], task: Callable[[], Loan]) -> None:
    if not job.set_running_or_notify_cancel():
        return
    try:
        loaded = task()
    except BaseException as error:  # it reaches whoever waits; this thread has nobody to raise to
        job.set_exception(error)
    else:
        job.set_result(loaded)
    finally:
        del job, task  # an error's traceback holds this frame


def _undo(job: Future[Loan]) -> None:
    if not job.cancelled() and job.exception() is None:
        job.result().close()


def _identity(path: Path) -> FileIdentity:
    if not path.name:
        raise ModelPathError(f"{str(path)!r} names no model; give the path of an .om file made by atc")
    with _readable(path):
        status = path.stat()
    if stat.S_ISCHR(status.st_mode) or stat.S_ISBLK(status.st_mode):
        raise ModelPathError(
            f"{str(path)!r} is a device, which may never end; give the path of an .om file made by atc"
        )
    return FileIdentity.of(status)


def _read(path: Path) -> tuple[Data, FileIdentity | None]:
    """Return a file's contents, and its identity if the file, being written from now on, would have another one."""
    with _readable(path), path.open("rb", buffering=0) as file:
        before, now_ns = FileIdentity.of(os.fstat(file.fileno())), time.time_ns()
        data = file.readall() if before.nbytes < _LARGE else _read_large(file, before.nbytes)
        after = FileIdentity.of(os.fstat(file.fileno()))
    if not data:
        raise ModelPathError(f"the model file {str(path)!r} is empty; convert or copy it again")
    return data, before if before == after and before.nbytes == len(data) and before.is_settled(now_ns) else None


def _read_large(file: RawIOBase, nbytes: int) -> memoryview:
    """Read into large pages, where the system has them: with small ones most of the time goes into making pages.

    The file is not mapped itself: who shortens it meanwhile would end this process.
    """
    pages = mmap.mmap(-1, nbytes, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    with suppress(OSError):  # a kernel without large pages refuses
        pages.madvise(mmap.MADV_HUGEPAGE)
    view, end = memoryview(pages), 0
    while end < nbytes and (count := file.readinto(view[end:])):
        end += count
    return view[:end]


@contextmanager
def _readable(path: Path) -> Iterator[None]:
    """Say what is wrong with a path."""
    try:
        yield
    except FileNotFoundError:
        raise ModelPathError(
            f"there is no model file {str(path)!r}; give the path of an .om file made by atc"
        ) from None
    except (OSError, ValueError) as error:
        raise ModelPathError(f"cannot read the model file {str(path)!r}: {error}") from error
