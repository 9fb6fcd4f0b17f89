"""Loading: from a path or bytes to a model that is ready to run."""

from __future__ import annotations

from concurrent.futures import Future
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from aacl.errors import ModelDataError, ModelPathError, NotSupported
from aacl.streams import _hosts

if TYPE_CHECKING:
    from collections.abc import Callable

    from aacl.abc import DeviceBackend, ModelEngine
    from aacl.models._signature import ModelSignature

__all__ = ("LoadedModel", "load", "load_in_thread")


class LoadedModel(NamedTuple):
    """A model on a device."""

    signature: ModelSignature
    engine: ModelEngine
    graph_nbytes: int


def load(source: Path | bytes, backend: DeviceBackend) -> LoadedModel:
    """Read, take apart and load a model, here and now.

    Raises:
        ModelPathError: the path names no file with anything in it, or one that cannot be read.
        ModelDataError: the bytes are not a model of ours, or the device cannot run it.
        NotSupported: the model has free dims.
    """
    from aacl.models._package import OperatorPackage, read_package

    package = read_package(source if isinstance(source, bytes) else _read(source))
    if isinstance(package, OperatorPackage):
        raise ModelDataError(
            f"this .om file holds the operator {package.operator.op_type} ({package.operator.name}), not a model; "
            "convert a model with atc --model, or run the operator with stream.execute(aacl.ops...)"
        )
    _check_static(package.signature)
    graph = package.graph[0]
    return LoadedModel(package.signature, backend.load_model(graph), len(graph))


async def load_in_thread(source: Path | bytes, backend: DeviceBackend) -> LoadedModel:
    """Do what `load` does, on a thread of its own; a load that nobody waits for any more is undone."""
    from asyncio import wrap_future

    job: Future[LoadedModel] = Future()
    _hosts.host_pool.submit(partial(_perform, job, partial(load, source, backend)))
    try:
        return await wrap_future(job)
    except BaseException:
        job.add_done_callback(_undo)
        raise


def _perform(job: Future[LoadedModel], task: Callable[[], LoadedModel]) -> None:
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


def _undo(job: Future[LoadedModel]) -> None:
    if not job.cancelled() and job.exception() is None:
        job.result().engine.close()


def _check_static(signature: ModelSignature) -> None:
    free = [spec for spec in (*signature.inputs, *signature.outputs) if not spec.is_static]
    if free:
        listed = ", ".join(f"{spec.name} {list(spec.shape)}" for spec in free)
        raise NotSupported(
            f"model {signature.name!r} has free dims ({listed}), which are not run yet; convert it with fixed dims"
        )


def _read(path: Path) -> bytes:
    if not path.name:
        raise ModelPathError(f"{str(path)!r} names no model; give the path of an .om file made by atc")
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        raise ModelPathError(
            f"there is no model file {str(path)!r}; give the path of an .om file made by atc"
        ) from None
    except (OSError, ValueError) as error:
        raise ModelPathError(f"cannot read the model file {str(path)!r}: {error}") from error
    if not data:
        raise ModelPathError(f"the model file {str(path)!r} is empty; convert or copy it again")
    return data
