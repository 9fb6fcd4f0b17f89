"""Models loaded and unloaded."""

from __future__ import annotations

import os
from contextlib import suppress
from operator import index
from pathlib import Path

import aacl
from aacl.errors import InvalidArgument, ModelDataError, ModelPathError
from acl import _blocks
from acl._devices import current
from acl._status import code_alone, with_code
from acl.mdl._models import Loaded, models, take_model
from acl.mdl._runs import Runs

__all__ = (
    "load_from_file",
    "load_from_file_with_mem",
    "load_from_mem",
    "load_from_mem_with_mem",
    "query_size",
    "query_size_from_mem",
    "unload",
)

_LEAST = 32  # bytes; programs allocate what query_size says, and 0 bytes cannot be allocated


@with_code(0)
def load_from_file(model_path: str) -> tuple[int, int]:
    """Load an ``.om`` file into this thread's context.

    Returns:
        (model id, 0); (0, code): 145002 if the path names no file, an empty one or a folder; 145006 if the file is no
        model that runs here, and the text says what it is; 107002 without a context.
    """
    return load_file(model_path), 0


@with_code(0)
def load_from_mem(model_ptr: int, model_size: int) -> tuple[int, int]:
    """Load a model from host or device memory, which may be freed at once.

    Returns:
        (model id, 0); (0, code): 145006 if the bytes are no model that runs here; 100000 for a null address or a size
        below 1; 107000 if the memory is not mapped; 107002 without a context.
    """
    return load_memory(model_ptr, model_size), 0


@with_code(0)
def load_from_file_with_mem(
    model_path: str, work_ptr: int, work_size: int, weight_ptr: int, weight_size: int
) -> tuple[int, int]:
    """Load an ``.om`` file; codes as `load_from_file`.

    Args:
        model_path: the file.
        work_ptr: memory for intermediate results, 0 for the runtime's own. The software device uses its own always.
        work_size: bytes there.
        weight_ptr: memory for the weights, 0 for the runtime's own. The software device uses its own always.
        weight_size: bytes there.
    """
    _check_spans(work_ptr, work_size, weight_ptr, weight_size)
    return load_file(model_path), 0


@with_code(0)
def load_from_mem_with_mem(
    model_ptr: int, model_size: int, work_ptr: int, work_size: int, weight_ptr: int, weight_size: int
) -> tuple[int, int]:
    """Load a model from memory; arguments as `load_from_file_with_mem`, codes as `load_from_mem`."""
    _check_spans(work_ptr, work_size, weight_ptr, weight_size)
    return load_memory(model_ptr, model_size), 0


def _check_spans(*numbers: int) -> None:
    if any(index(number) < 0 for number in numbers):
        raise InvalidArgument(f"addresses and sizes are not negative; {numbers} were given")


@code_alone
def unload(model_id: int) -> int:
    """Wait for a model's queued runs and let go of it; descriptions made from it stay good.

    Returns:
        0; 145003 if there is no such model (any more); 107004 if it was loaded in another context; 507004 in a
        callback that one of the runs comes after. With the last two the model stays.
    """
    loaded = take_model(model_id)
    loaded.runs.clear()
    with suppress(aacl.StreamError):  # a run's failure was the answer of its own call
        aacl.blocking.close(loaded.stream)
    aacl.blocking.close(loaded.model)
    return 0


@with_code(0, 0)
def query_size(file_name: str) -> tuple[int, int, int]:
    """Return (bytes for intermediate results, bytes of weights, 0) of an ``.om`` file, at least 32 each.

    Returns:
        (0, 0, code) as `load_from_file`.
    """
    return _sizes(read_signature(read_file(file_name)))


@with_code(0, 0)
def query_size_from_mem(model_ptr: int, model_size: int) -> tuple[int, int, int]:
    """Return what `query_size` does, of a model in memory; codes as `load_from_mem`."""
    return _sizes(read_signature(read_memory(model_ptr, model_size)))


def _sizes(signature: aacl.models.ModelSignature) -> tuple[int, int, int]:
    # The software device plans intermediate results itself, run by run.
    return _LEAST, max(_LEAST, signature.weight_nbytes), 0


def load_file(path: str) -> int:
    """Load a file into the current context and return the model's id."""
    context = current()
    return _load(aacl.Model(_checked(path), device=context.context))


def load_memory(address: int, nbytes: int) -> int:
    """Load a model from memory into the current context and return its id."""
    context = current()
    return _load(aacl.Model(read_memory(address, nbytes), device=context.context))


def _load(model: aacl.Model) -> int:
    context = current()
    aacl.blocking.open_resource(model)
    return models.add(Loaded(model, context, Runs(model)))


def _checked(path: str) -> str:
    if not isinstance(path, str):
        raise TypeError(f"argument 1 must be str, not {type(path).__name__}")
    if not path:
        raise ModelPathError("the path of the model is empty; give that of an .om file")
    return path


def read_file(path: str) -> bytes:
    """Return the bytes of a model's file.

    Raises:
        ModelPathError: the path names no file, or an empty one.
    """
    try:
        data = Path(os.fsdecode(_checked(path))).read_bytes()
    except (OSError, ValueError) as error:
        raise ModelPathError(f"cannot read the model {path!r}: {error}") from None
    if not data:
        raise ModelPathError(f"the model {path!r} is empty")
    return data


def read_memory(address: int, nbytes: int) -> bytes:
    """Return the bytes of a model in memory; raises `InvalidArgument` for a null address or size."""
    address, nbytes = index(address), index(nbytes)
    if not address or nbytes < 1:
        raise InvalidArgument(f"there is no model of {nbytes} bytes at {address:#x}")
    return _blocks.read(address, nbytes)


def read_signature(data: bytes) -> aacl.models.ModelSignature:
    """Return what a model takes and gives.

    Raises:
        ModelDataError: the bytes are no model.
    """
    package = aacl.models.read_package(data)
    if isinstance(package, aacl.models.OperatorPackage):
        raise ModelDataError("this .om file holds an operator, not a model; load it with acl.op.load")
    return package.signature
