"""Run one operator the way a device does: infer its outputs, find its kernel, call the body on arrays."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pytest

from aacl.abc import Array, KernelRequest
from aacl.backends.cpu.kernels import find
from aacl.ops._catalogue import schema_of
from aacl.ops._desc import TensorDesc
from aacl.ops._infer import infer_outputs


def _run(
    op_type: str,
    inputs: Sequence[Any],
    attributes: Mapping[str, object] | None = None,
    *,
    known: Sequence[int] = (),
    late: bool = False,
    into: int | None = None,
) -> list[Array]:
    """Return the outputs; every shape and dtype is checked against what was inferred.

    Args:
        op_type: the operator.
        inputs: arrays, or what NumPy makes arrays of; None where absent.
        attributes: those that are not left to their defaults.
        known: the inputs whose contents are known beforehand.
        late: tell the kernel nothing of those contents, so that it reads them at the run.
        into: the input that is also the output.
    """
    arrays = [None if item is None else np.array(item) for item in inputs]
    schema = schema_of(op_type)
    complete = schema.complete(attributes or {})
    descs = [_described(array, array if index in known else None) for index, array in enumerate(arrays)]
    expected = infer_outputs(schema, descs, complete)
    told = tuple(_described(array, None) for array in arrays) if late else tuple(descs)
    outputs = [_garbage(desc) for desc in expected]
    if into is not None:
        target = arrays[into]
        assert target is not None
        outputs[0] = target
    found = find(KernelRequest(op_type, told, expected, complete))
    kept = [None if array is None else array.copy() for array in arrays]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found.body(*arrays, *outputs)
    for index, (array, before) in enumerate(zip(arrays, kept, strict=True)):
        if array is not None and before is not None and index != into:
            assert array.tobytes() == before.tobytes(), f"input {index} of {op_type} was written to"
    assert found.nbytes >= sum(output.nbytes for output in outputs)
    assert found.operations >= 0
    return outputs


def _described(array: Array | None, value: Array | None) -> TensorDesc | None:
    return None if array is None else TensorDesc.of(array.dtype, array.shape, value=value)


def _garbage(desc: TensorDesc) -> Array:
    assert desc.is_static, f"{desc} is not fully known"
    out = np.empty(desc.shape, desc.dtype.numpy_dtype)
    out.view(np.uint8).reshape(-1)[...] = 0x5A if out.dtype != np.bool_ else 1
    return out


@pytest.fixture(scope="session")
def run() -> Callable[..., list[Array]]:
    """Return the function that runs one operator."""
    return _run
