"""Samples with one thing changed, mostly into what an operator cannot take."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias

import attrs
import numpy as np

from aacl.abc import KernelRequest
from aacl.backends.cpu.kernels import find
from aacl.dtypes import DataType, Format
from aacl.ops._catalogue import schema_of
from aacl.ops._infer import infer_outputs
from aacl.tensors._desc import TensorDesc
from tests.helpers.samples._probe import supported
from tests.helpers.samples._sample import Sample

__all__ = ("Mutation", "mutations", "prepare")

Descs: TypeAlias = "tuple[TensorDesc | None, ...]"

_SHAPES = ((), (0,), (3,), (2, 0), (2, 3, 4, 4), (1, 2, 3, 4, 5), (-1, 3, -1, -1), (-2,))
_FORMATS = (Format.ND, Format.NCHW, Format.NDHWC)
_SCALARS: dict[str, tuple[Any, ...]] = {
    "Int": (0, -1, 7, 2**31, -(2**62)),
    "Float": (0.0, -1.0, float("nan"), float("inf")),
    "String": ("", "NHWC"),
}
_NUMBERS = ((), (0,), (-1,), (5, 5), (0, 0, 0, 0), (1, 2, 3, 4, 5, 6), (2**40,) * 4, (2**62,))
_LARGEST = 1 << 28
"""Bytes of an output for which a kernel is still prepared."""


@attrs.frozen
class Mutation:
    """A request that differs from a sample in one place.

    Attributes:
        what: the change, for texts.
        descs: of the inputs.
        attributes: those that are not left to their defaults.
    """

    what: str
    descs: Descs
    attributes: Mapping[str, Any]


def mutations(op_type: str, sample: Sample) -> Iterator[Mutation]:
    """Give a sample with one input of another shape and format, of other known contents, or with another attribute."""
    dtype = next(iter(supported(op_type, sample)))
    arrays = sample.arrays(dtype.numpy_dtype)
    descs = tuple(
        None
        if array is None or each is None
        else TensorDesc.of(array.dtype, array.shape, each.format, value=array if each.is_known else None)
        for each, array in zip(sample.inputs, arrays, strict=True)
    )
    for place, desc in enumerate(descs):
        if desc is not None:
            for other in (*_shapes(desc), *_values(desc)):
                yield Mutation(
                    f"input {place} is {other}", (*descs[:place], other, *descs[place + 1 :]), sample.attributes
                )
    for attribute in schema_of(op_type).attributes:
        for value in _others(attribute.kind, sample.attributes.get(attribute.name, attribute.default)):
            changed = {**sample.attributes, attribute.name: value}
            yield Mutation(f"{attribute.name} is {value!r}", descs, changed)


def prepare(op_type: str, mutation: Mutation) -> None:
    """Infer the outputs of a request and, where they are known and not huge, choose its kernel; nothing is run."""
    attributes = schema_of(op_type).complete(mutation.attributes, len(mutation.descs))
    outputs = infer_outputs(schema_of(op_type), mutation.descs, attributes)
    is_known = all(desc is None or desc.is_static for desc in (*mutation.descs, *outputs))
    if is_known and all(desc.nbytes < _LARGEST for desc in outputs):
        find(KernelRequest(op_type, mutation.descs, outputs, attributes))


def _shapes(desc: TensorDesc) -> Iterator[TensorDesc]:
    for shape in _SHAPES:
        for layout in _FORMATS:
            yield TensorDesc.of(desc.dtype, shape, layout)


def _values(desc: TensorDesc) -> Iterator[TensorDesc]:
    if desc.value is None:
        return
    count, most = desc.element_count, 2**62 if desc.dtype is DataType.INT64 else 2**31 - 1
    for array in (
        np.zeros(0),
        -np.ones(count),
        np.full(count, most),
        np.ones(count + 1),
        -desc.value,
        np.zeros((2, 2)),
    ):
        with np.errstate(all="ignore"):
            value = np.asarray(array).astype(desc.dtype.numpy_dtype)
        yield TensorDesc.of(desc.dtype, value.shape, desc.format, value=value)


def _others(kind: str, given: Any) -> tuple[Any, ...]:
    if kind == "ListInt":
        own = tuple(given or ())
        return (*_NUMBERS, (*own, 1), own[:-1], tuple(-number for number in own), (0,) * len(own))
    if kind == "ListFloat":
        count = len(given or ())
        return ((), (0.0,), (0.0,) * count, (-1.0,) * count, (float("nan"),) * count)
    if kind == "ListListInt":
        return ((), ((),), ((-1,),), ((0, 0), (0, 0)))
    return _SCALARS.get(kind, ())
