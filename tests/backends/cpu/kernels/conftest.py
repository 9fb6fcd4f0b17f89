"""Run one operator the way a device does: infer its outputs, find its kernel, call the body on arrays."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Mapping, Sequence
from itertools import repeat
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from aacl.abc import Array, KernelRequest
from aacl.backends.cpu.kernels import find
from aacl.dtypes import Format
from aacl.ops._catalogue import schema_of
from aacl.ops._infer import infer_outputs
from aacl.tensors._desc import TensorDesc
from tests.helpers.samples._record import note


def _run(
    op_type: str,
    inputs: Sequence[Any],
    attributes: Mapping[str, object] | None = None,
    *,
    known: Sequence[int] = (),
    late: bool = False,
    into: int | None = None,
    formats: Mapping[int, Format] | None = None,
) -> list[Array]:
    """Return the outputs, and then the inputs that the operator updates.

    Every shape and dtype of an output is checked against what was inferred, and that no other input was written.

    Args:
        op_type: the operator.
        inputs: arrays, or what NumPy makes arrays of; None where absent.
        attributes: those that are not left to their defaults.
        known: the inputs whose contents are known beforehand.
        late: tell the kernel nothing of those contents, so that it reads them at the run.
        into: the input that is also the output.
        formats: of the inputs whose format is not ND.
    """
    note(op_type)
    arrays = [None if item is None else np.array(item) for item in inputs]
    schema = schema_of(op_type)
    complete = schema.complete(attributes or {})
    layouts = [(formats or {}).get(index, Format.ND) for index in range(len(arrays))]
    descs = [_described(array, array if index in known else None, layouts[index]) for index, array in enumerate(arrays)]
    expected = infer_outputs(schema, descs, complete)
    told = tuple(map(_described, arrays, repeat(None), layouts)) if late else tuple(descs)
    largest = tuple(desc if desc.is_static else _largest(desc) for desc in expected)
    outputs = [_garbage(desc) for desc in largest]
    if into is not None:
        target = arrays[into]
        assert target is not None
        outputs[0] = target
    found = find(KernelRequest(op_type, told, largest, complete))
    kept = [None if array is None else array.copy() for array in arrays]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        shapes: Any = found.body(*arrays, *outputs)
    for index, (array, before) in enumerate(zip(arrays, kept, strict=True)):
        if array is not None and before is not None and index != into and index not in found.updates:
            assert array.tobytes() == before.tobytes(), f"input {index} of {op_type} was written to"
    updated = [array for array in (arrays[place] for place in found.updates) if array is not None]
    assert found.nbytes >= sum(array.nbytes for array in (*outputs, *updated))
    assert found.operations >= 0
    return (
        [_first(output, shape) for output, shape in zip(outputs, shapes, strict=True)]
        if found.returns_shapes
        else [*outputs, *updated]
    )


def _described(array: Array | None, value: Array | None, layout: Format) -> TensorDesc | None:
    return None if array is None else TensorDesc.of(array.dtype, array.shape, layout, value=value)


def _largest(desc: TensorDesc) -> TensorDesc:
    assert desc.ranges, f"nothing bounds {desc}"
    return TensorDesc.of(desc.dtype, [most for _, most in desc.ranges], desc.format)


def _first(output: Array, shape: tuple[int, ...]) -> Array:
    """Return a result that lies at the start of its output; what lies behind it must be untouched."""
    count = math.prod(shape)
    rest = output.reshape(-1)[count:]
    assert (rest.view(np.uint8) == (0x5A if rest.dtype != np.bool_ else 1)).all()
    return output.reshape(-1)[:count].reshape(shape)


def _garbage(desc: TensorDesc) -> Array:
    assert desc.is_static, f"{desc} is not fully known"
    out = np.empty(desc.shape, desc.dtype.numpy_dtype)
    out.reshape(-1).view(np.uint8)[...] = 0x5A if out.dtype != np.bool_ else 1
    return out


@pytest.fixture(scope="session")
def run() -> Callable[..., list[Array]]:
    """Return the function that runs one operator."""
    return _run


def _close(actual: Array, expected: Any, units: float = 2.0, floor: float = 0.0) -> None:
    """Compare with a reference in float64, to some units in the last place of the actual dtype.

    Args:
        actual: what the kernel wrote.
        expected: the exact values; NaN matches NaN, and what the dtype cannot hold matches infinity.
        units: units in the last place, relative to each value.
        floor: the size below which values count as this large.
    """
    expected = np.asarray(expected)
    assert actual.shape == expected.shape
    if actual.dtype.kind in "iub":
        np.testing.assert_array_equal(actual, expected)
        return
    limits = ml_dtypes.finfo(actual.dtype)  # type: ignore[no-untyped-call]
    real = expected.astype(np.complex128 if actual.dtype.kind == "c" else np.float64)
    found = actual.astype(real.dtype)
    with np.errstate(all="ignore"):
        real = np.where(
            np.abs(real) > float(limits.max) * (1 + float(limits.eps) / 4), np.copysign(np.inf, real.real), real
        )
        allowed = units * float(limits.eps) * np.maximum(np.abs(real), floor) + float(limits.smallest_subnormal)
        same = (found == real) | (np.isnan(found) & np.isnan(real)) | (np.abs(found - real) <= allowed)
    assert same.all(), f"got {found[~same][:5]}, expected {real[~same][:5]}"


@pytest.fixture(scope="session")
def close() -> Callable[..., None]:
    """Return the comparison with exact values."""
    return _close
