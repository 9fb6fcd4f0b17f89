"""A model run as pyACL programs run it."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

import acl
from aacl.abc import Array
from aacl.dtypes import DataType

__all__ = ("run_by_acl",)

_TO_DEVICE = 1
_ND = 2


def run_by_acl(path: str | os.PathLike[str], inputs: Mapping[str, Array]) -> list[Array]:
    """Load a model file, run it once on device memory of its own, unload it, and return its outputs.

    Shapes of free dims are said before the run; memory of outputs whose size is free comes from the runtime.

    Args:
        path: of the ``.om`` file.
        inputs: by name; those that the model has.

    Raises:
        AssertionError: a call failed; it holds the code and the runtime's text.
    """
    model, desc = _good(acl.mdl.load_from_file(os.fspath(path))), acl.mdl.create_desc()
    _ok(acl.mdl.get_desc(desc, model))
    given, wanted = acl.mdl.create_dataset(), acl.mdl.create_dataset()
    try:
        _give(given, desc, inputs)
        _want(wanted, desc)
        _ok(acl.mdl.execute(model, given, wanted))
        return [_read(wanted, desc, index) for index in range(acl.mdl.get_num_outputs(desc))]
    finally:
        for dataset in (given, wanted):
            _destroy(dataset)
        _ok(acl.mdl.destroy_desc(desc))
        _ok(acl.mdl.unload(model))


def _give(dataset: int, desc: int, inputs: Mapping[str, Array]) -> None:
    for index in range(acl.mdl.get_num_inputs(desc)):
        array = inputs[acl.mdl.get_input_name_by_index(desc, index)]
        _add(dataset, _put(array), array.nbytes)
        if -1 in _good(acl.mdl.get_input_dims(desc, index))["dims"]:
            _say(dataset, index, array)


def _say(dataset: int, index: int, array: Array) -> None:
    desc = acl.create_tensor_desc(int(DataType.of(array.dtype)), [*array.shape], _ND)
    _good(acl.mdl.set_dataset_tensor_desc(dataset, desc, index))
    acl.destroy_tensor_desc(desc)


def _want(dataset: int, desc: int) -> None:
    for index in range(acl.mdl.get_num_outputs(desc)):
        nbytes = acl.mdl.get_output_size_by_index(desc, index)
        _add(dataset, _good(acl.rt.malloc(nbytes, 0)) if nbytes else 0, nbytes)


def _read(dataset: int, desc: int, index: int) -> Array:
    dtype = DataType(acl.mdl.get_output_data_type(desc, index)).numpy_dtype
    shape = _shape(dataset, desc, index)
    buffer = acl.mdl.get_dataset_buffer(dataset, index)
    nbytes = int(np.prod(shape, dtype=np.int64)) * dtype.itemsize
    data = acl.util.ptr_to_bytes(acl.get_data_buffer_addr(buffer), nbytes) if nbytes else b""
    return np.frombuffer(data, dtype).reshape(shape)


def _shape(dataset: int, desc: int, index: int) -> Sequence[int]:
    """Return what the run told, and what the model says where that is fixed."""
    dims: list[int] = _good(acl.mdl.get_output_dims(desc, index))["dims"]
    if -1 not in dims:
        return dims
    told = acl.mdl.get_dataset_tensor_desc(dataset, index)
    return [_good(acl.get_tensor_desc_dim_v2(told, axis)) for axis in range(acl.get_tensor_desc_num_dims(told))]


def _put(array: Array) -> int:
    pointer: int = _good(acl.rt.malloc(max(1, array.nbytes), 0))
    if data := array.tobytes():
        _ok(acl.rt.memcpy(pointer, len(data), acl.util.bytes_to_ptr(data), len(data), _TO_DEVICE))
    return pointer


def _add(dataset: int, pointer: int, nbytes: int) -> None:
    _good(acl.mdl.add_dataset_buffer(dataset, acl.create_data_buffer(pointer, nbytes)))


def _destroy(dataset: int) -> None:
    for index in range(acl.mdl.get_dataset_num_buffers(dataset)):
        buffer = acl.mdl.get_dataset_buffer(dataset, index)
        if pointer := acl.get_data_buffer_addr(buffer):
            _ok(acl.rt.free(pointer))
        _ok(acl.destroy_data_buffer(buffer))
    _ok(acl.mdl.destroy_dataset(dataset))


def _ok(ret: int) -> None:
    assert ret == 0, (ret, acl.get_recent_err_msg())


def _good(answer: tuple[Any, int]) -> Any:
    value, ret = answer
    _ok(ret)
    return value
