"""What a sample gives in a dtype, found out the way a device runs it."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import attrs
import numpy as np

from aacl.abc import Array, KernelRequest
from aacl.backends.cpu.kernels import find
from aacl.dtypes import DataType
from aacl.errors import NotSupported, UnsupportedDataType
from aacl.ops._catalogue import schema_of
from aacl.ops._infer import infer_outputs
from aacl.tensors._desc import TensorDesc
from tests.helpers.samples._sample import Sample

__all__ = ("Probe", "dtypes_of", "probe", "supported")

_GUARD = 64


@attrs.frozen(eq=False)
class Probe:
    """A run of a sample.

    Attributes:
        descs: of the inputs.
        inferred: what was known of the outputs before the run.
        outputs: the results.
        updated: the inputs that the operator also writes, as they are after the run.
        is_intact: whether the other inputs, and the memory around the outputs, are what they were.
    """

    descs: tuple[TensorDesc | None, ...]
    inferred: tuple[TensorDesc, ...]
    outputs: tuple[Array, ...]
    updated: tuple[Array, ...]
    is_intact: bool


def dtypes_of(op_type: str, sample: Sample) -> list[DataType]:
    """Return the dtypes that the schema lists for the sample's first input that takes any, and NumPy holds."""
    places = schema_of(op_type).assign(len(sample.inputs))
    for place, each in zip(places, sample.inputs, strict=True):
        if each is not None and each.follows:
            return [dtype for dtype in sorted(place.dtypes) if _is_held(dtype)]
    return [DataType.FLOAT]


def supported(op_type: str, sample: Sample) -> Iterator[DataType]:
    """Return the dtypes that the sample runs in; the others are refused."""
    for dtype in dtypes_of(op_type, sample):
        try:
            probe(op_type, sample, dtype)
        except (UnsupportedDataType, NotSupported):
            continue
        yield dtype


def probe(op_type: str, sample: Sample, dtype: DataType, *, late: bool = False) -> Probe:
    """Run a sample once, every warning an error.

    Args:
        op_type: the operator.
        sample: its sample.
        dtype: of the inputs that follow it.
        late: tell the kernel nothing of known contents, so that it reads them at the run.
    """
    arrays = sample.arrays(dtype.numpy_dtype)
    schema = schema_of(op_type)
    attributes = schema.complete(sample.attributes, len(arrays))
    descs = _descs(sample, arrays)
    inferred = infer_outputs(schema, descs, attributes)
    largest = tuple(each if each.is_static else _largest(each) for each in inferred)
    guarded = [_Guarded(desc) for desc in largest]
    told = tuple(None if desc is None else _without_value(desc) for desc in descs) if late else descs
    kernel = find(KernelRequest(op_type, told, largest, attributes))
    before, arrays = arrays, [None if array is None else array.copy() for array in arrays]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        shapes: Any = kernel.body(*arrays, *(each.array for each in guarded))
    if not kernel.returns_shapes:
        shapes = [desc.shape for desc in largest]
    is_intact = all(each.is_intact for each in guarded) and all(
        a is None or b is None or a.tobytes() == b.tobytes() or index in kernel.updates
        for index, (a, b) in enumerate(zip(arrays, before, strict=True))
    )
    updated = tuple(array for array in (arrays[place] for place in kernel.updates) if array is not None)
    outputs = tuple(each.leading(shape) for each, shape in zip(guarded, shapes, strict=True))
    return Probe(descs, inferred, outputs, updated, is_intact)


def _is_held(dtype: DataType) -> bool:
    try:
        return dtype.numpy_dtype is not None
    except UnsupportedDataType:
        return False


def _descs(sample: Sample, arrays: list[Array | None]) -> tuple[TensorDesc | None, ...]:
    return tuple(
        None
        if array is None or each is None
        else TensorDesc.of(array.dtype, array.shape, each.format, value=array if each.is_known else None)
        for each, array in zip(sample.inputs, arrays, strict=True)
    )


def _without_value(desc: TensorDesc) -> TensorDesc:
    return TensorDesc.of(desc.dtype, desc.shape, desc.format)


def _largest(desc: TensorDesc) -> TensorDesc:
    assert desc.ranges, f"nothing bounds {desc}"
    return TensorDesc.of(desc.dtype, [most for _, most in desc.ranges], desc.format)


class _Guarded:
    """An output's memory between two zones that must stay as they are."""

    def __init__(self, desc: TensorDesc) -> None:
        self._bytes = np.full(desc.nbytes + 2 * _GUARD, 0xA5, np.uint8)
        inside = self._bytes[_GUARD : _GUARD + desc.nbytes]
        self.array: Array = np.ndarray(desc.shape, desc.dtype.numpy_dtype, inside.data)

    @property
    def is_intact(self) -> bool:
        return bool((self._bytes[:_GUARD] == 0xA5).all() and (self._bytes[-_GUARD:] == 0xA5).all())

    def leading(self, shape: tuple[int, ...]) -> Array:
        return self.array.reshape(-1)[: int(np.prod(shape))].reshape(shape)
