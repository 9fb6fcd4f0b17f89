"""Models loaded and unloaded."""

from __future__ import annotations

import os
from contextlib import ExitStack, suppress
from operator import index
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import aacl
from aacl.errors import InvalidArgument, ModelDataError, ModelPathError, NotSupported, StreamError
from acl import _blocks
from acl._arguments import check_text
from acl._devices import current
from acl._products import require_feature
from acl._status import API_NOT_SUPPORTED, code_alone, refused, with_code
from acl.mdl._models import Loaded, models, take_model
from acl.mdl._runs import Runs
from acl.mdl._watchers import watchers

if TYPE_CHECKING:
    from collections.abc import Sequence

    from acl._contexts import Context

__all__ = (
    "Memory",
    "load_bytes",
    "load_file",
    "load_from_file",
    "load_from_file_with_mem",
    "load_from_file_with_q",
    "load_from_mem",
    "load_from_mem_with_mem",
    "load_from_mem_with_q",
    "load_memory",
    "query_size",
    "query_size_from_mem",
    "read_file",
    "read_memory",
    "read_signature",
    "unload",
    "unload_model",
)

_LEAST = 32  # bytes; programs allocate what query_size says, and 0 bytes cannot be allocated


@with_code(0)
def load_from_file(model_path: str, /) -> tuple[int, int]:
    """Load an ``.om`` file into this thread's context.

    Args:
        model_path: the ``.om`` file.

    Returns:
        (model id, 0); (0, code): 145002 if the path names no file, an empty one or a folder; 145006 if the file is no
        model that runs here, and the text says what it is; 107002 without a context.

    Source: aclmdlLoadFromFile.
    """
    return load_file(model_path), 0


@with_code(0)
def load_from_mem(model_ptr: int, model_size: int, /) -> tuple[int, int]:
    """Load a model from host or device memory, which may be freed at once.

    Args:
        model_ptr: address of the model in memory of the host or the device.
        model_size: bytes there.

    Returns:
        (model id, 0); (0, code): 145006 if the bytes are no model that runs here; 100000 for a null address or a size
        below 1; 107000 if the memory is not mapped; 107002 without a context.

    Source: aclmdlLoadFromMem.
    """
    return load_memory(model_ptr, model_size), 0


@with_code(0)
def load_from_file_with_mem(
    model_path: str, work_ptr: int, work_size: int, weight_ptr: int, weight_size: int, /
) -> tuple[int, int]:
    """Load an ``.om`` file; codes as `load_from_file`.

    Args:
        model_path: the file.
        work_ptr: memory for intermediate results, 0 for the runtime's own. The software device uses its own always.
        work_size: bytes there, at least what `query_size` says.
        weight_ptr: memory for the weights, 0 for the runtime's own. The software device uses its own always.
        weight_size: bytes there, at least what `query_size` says.

    Returns:
        As `load_from_file`; (0, 100000) also for too small a size, with both in the text; (0, 107000) for memory that
        is not mapped.

    Source: aclmdlLoadFromFileWithMem.
    """
    return load_file(model_path, Memory.of(work_ptr, work_size, weight_ptr, weight_size)), 0


@with_code(0)
def load_from_mem_with_mem(
    model_ptr: int, model_size: int, work_ptr: int, work_size: int, weight_ptr: int, weight_size: int, /
) -> tuple[int, int]:
    """Load a model from memory, with memory of the program for what it needs.

    Args:
        model_ptr: address of the model in memory of the host or the device.
        model_size: bytes there.
        work_ptr: as for `load_from_file_with_mem`.
        work_size: as for `load_from_file_with_mem`.
        weight_ptr: as for `load_from_file_with_mem`.
        weight_size: as for `load_from_file_with_mem`.

    Returns:
        (model id, 0); (0, code): 100000 for too small a size; other codes as `load_from_mem`.

    Source: aclmdlLoadFromMemWithMem.
    """
    return load_memory(model_ptr, model_size, Memory.of(work_ptr, work_size, weight_ptr, weight_size)), 0


_NO_QUEUES = "models that queues feed are not for this device, which has no queues; load it with load_from_file"


@with_code(0)
@refused(_NO_QUEUES, NotSupported.code)
def load_from_file_with_q(
    model_path: str, input_q_list: Sequence[int], output_q_list: Sequence[int], /
) -> tuple[int, int]:
    """Refuse to load a model that queues feed, which this device has not.

    Args:
        model_path: the ``.om`` file.
        input_q_list: queues that feed the inputs.
        output_q_list: queues that take the outputs.

    Returns:
        (0, 200006).

    Source: aclmdlLoadFromFileWithQ.
    """
    return 0, 0


@with_code(0)
@refused(_NO_QUEUES, NotSupported.code)
def load_from_mem_with_q(
    model_ptr: int, model_size: int, input_q_list: Sequence[int], output_q_list: Sequence[int], /
) -> tuple[int, int]:
    """Refuse to load a model that queues feed, which this device has not.

    Args:
        model_ptr: address of the model in memory of the host or the device.
        model_size: bytes there.
        input_q_list: queues that feed the inputs.
        output_q_list: queues that take the outputs.

    Returns:
        (0, 200006).

    Source: aclmdlLoadFromMemWithQ.
    """
    return 0, 0


@code_alone
def unload(model_id: int, /) -> int:
    """Wait for a model's queued runs and let go of it; descriptions made from it stay good.

    Args:
        model_id: the model.

    Returns:
        0; 145003 if there is no such model (any more); 107004 if it was loaded in another context; 507004 in a callback
        that one of the runs comes after. With the last two the model stays.

    Source: aclmdlUnload.
    """
    unload_model(model_id)
    return 0


def unload_model(model_id: int) -> None:
    """Wait for a model's runs and let go of it; raises what `unload` returns the codes of."""
    loaded = take_model(model_id)
    with (
        ExitStack() as ends
    ):  # its number is dead: whatever fails, the rest is let go of too, from the last to the first
        ends.callback(aacl.blocking.close, loaded.model)
        ends.callback(_close_stream, loaded.stream)
        ends.callback(loaded.runs.clear)
        for watcher in watchers:
            ends.callback(watcher.unloading, index(model_id))


def _close_stream(stream: aacl.Stream) -> None:
    with suppress(StreamError):  # a run's failure was the answer of its own call
        aacl.blocking.close(stream)


@with_code(0, 0)
def query_size(file_name: str, /) -> tuple[int, int, int]:
    """Return how much memory a model of an ``.om`` file needs.

    Args:
        file_name: the ``.om`` file.

    Returns:
        (bytes for intermediate results, bytes of weights, 0), at least 32 each; (0, 0, code) as `load_from_file`.

    Source: aclmdlQuerySize.
    """
    return *_sizes(read_signature(read_file(file_name))), 0


@with_code(0, 0)
def query_size_from_mem(model_ptr: int, model_size: int, /) -> tuple[int, int, int]:
    """Return how much memory a model needs.

    Args:
        model_ptr: address of the model in memory of the host or the device.
        model_size: bytes there.

    Returns:
        (bytes for intermediate results, bytes of weights, 0), at least 32 each; (0, 0, code) as `load_from_mem`.

    Source: aclmdlQuerySizeFromMem.
    """
    return *_sizes(read_signature(read_memory(model_ptr, model_size))), 0


def _sizes(signature: aacl.models.ModelSignature) -> tuple[int, int]:
    # The software device plans intermediate results itself, run by run.
    return _LEAST, max(_LEAST, signature.weight_nbytes)


class Memory(NamedTuple):
    """Memory that a program brings for a model: addresses, 0 for none, and bytes.

    It is checked and not used: a program may free it at any time, and weights are used where the file's bytes lie.
    """

    work: int = 0
    work_nbytes: int = 0
    weights: int = 0
    weight_nbytes: int = 0

    @classmethod
    def of(cls, *numbers: int) -> Memory:
        memory = cls(*[index(number) for number in numbers])
        if min(memory) < 0:
            raise InvalidArgument(f"addresses and sizes are not negative; {[*memory]} were given")
        for address, nbytes in (memory[:2], memory[2:]):
            if address and nbytes and _blocks.device_buffer(address) is None:
                _blocks.other_memory(address, nbytes)
        return memory

    def check(self, signature: aacl.models.ModelSignature) -> None:
        """Raise `InvalidArgument` if there is too little of it."""
        for what, address, nbytes, least in zip(
            ("intermediate results", "weights"), self[::2], self[1::2], _sizes(signature), strict=True
        ):
            if address and nbytes < least:
                raise InvalidArgument(
                    f"the memory for {what} at {address:#x} has {nbytes} bytes; model {signature.name!r} takes {least}"
                )


_SYSTEM = Memory()


def load_file(path: str, memory: Memory = _SYSTEM) -> int:
    """Load a file into the current context and return the model's id."""
    context = current()
    return _load(aacl.Model(_checked(path), device=context.context, overlaps=False), context, memory)


def load_memory(address: int, nbytes: int, memory: Memory = _SYSTEM) -> int:
    """Load a model from memory into the current context and return its id."""
    current()
    return load_bytes(read_memory(address, nbytes), memory)


def load_bytes(data: bytes, memory: Memory = _SYSTEM) -> int:
    """Load the bytes of a file into the current context and return the model's id."""
    context = current()
    return _load(aacl.Model(data, device=context.context, overlaps=False), context, memory)


def _load(model: aacl.Model, context: Context, memory: Memory) -> int:
    aacl.blocking.open_resource(model)
    try:
        memory.check(model.signature)
        if model.gears is None and not model.signature.is_static:
            require_feature(context, aacl.products.Feature.SHAPE_RANGES, f"model {model.name!r}", API_NOT_SUPPORTED)
        return _announced(Loaded(model, context, Runs(model, context)))
    except BaseException:
        aacl.blocking.close(model)
        raise


def _announced(loaded: Loaded) -> int:
    """Give a model its id, and tell those who look at models."""
    model_id = models.add(loaded)
    try:
        for watcher in watchers:
            watcher.loaded(model_id, loaded)
    except BaseException:
        models.take(model_id)
        for watcher in watchers:
            watcher.unloading(model_id)
        raise
    return model_id


def _checked(path: str) -> str:
    check_text(path, 1)
    if not path:
        raise ModelPathError("the path of the model is empty; give that of an .om file")
    if os.path.exists(path) and not (os.path.isfile(path) or os.path.isdir(path)):
        # Who opens a pipe waits for its other end, and a device may never end.
        raise ModelPathError(f"the model {path!r} is no regular file but a pipe or a device; give that of an .om file")
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
