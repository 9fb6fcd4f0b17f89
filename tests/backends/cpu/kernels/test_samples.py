"""What holds for every operator type, shown on its sample in every dtype."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from aacl.abc import Array
from aacl.backends.cpu.kernels import kernel_types
from aacl.dtypes import DataType
from aacl.errors import AclError
from aacl.ops._catalogue import schema_of
from aacl.ops._infer import infer_outputs, inferable_types
from aacl.ops._plan import _may_be
from aacl.tensors._desc import TensorDesc
from tests.helpers.samples import samples
from tests.helpers.samples._probe import Probe, probe, supported

TYPES = sorted(samples())
_EPSILONS = {np.dtype(np.float16): 2.0**-10, np.dtype(ml_dtypes.bfloat16): 2.0**-7}


def test_every_kernel_has_a_sample() -> None:
    """And every sample a kernel, and every kernel a rule of shape inference."""
    assert sorted(kernel_types()) == TYPES
    assert set(kernel_types()) <= set(inferable_types())


@pytest.mark.parametrize("op_type", TYPES)
def test_it_runs(op_type: str) -> None:
    """In one dtype at least; it writes its outputs and nothing else, the same each time, whenever it learns values."""
    _, sample = samples()[op_type]
    dtypes = list(supported(op_type, sample))

    assert dtypes
    for dtype in dtypes:
        found = probe(op_type, sample, dtype)
        assert found.is_intact
        for desc, output in zip(found.inferred, found.outputs, strict=True):
            assert _may_be(desc, TensorDesc.of(desc.dtype, output.shape, desc.format))
        if not sample.is_random:
            for again in (probe(op_type, sample, dtype), _late(op_type, dtype)):
                for output, same in zip(_results(found), _results(again), strict=True):
                    assert output.tobytes() == same.tobytes()


def _results(found: Probe) -> tuple[Array, ...]:
    return (*found.outputs, *found.updated)


def _late(op_type: str, dtype: DataType) -> Probe:
    """Run with contents that are read at the run; where that cannot be, it is said at preparation."""
    _, sample = samples()[op_type]
    try:
        return probe(op_type, sample, dtype, late=True)
    except AclError:
        return probe(op_type, sample, dtype)


@pytest.mark.parametrize("op_type", TYPES)
@pytest.mark.parametrize("half", [DataType.FLOAT16, DataType.BF16], ids=lambda half: half.name)
def test_half_precision_is_float32_rounded_once(op_type: str, half: DataType) -> None:
    """Results agree with those of float32 on the same numbers within two units of the half's precision."""
    _, sample = samples()[op_type]
    dtypes = set(supported(op_type, sample))
    if not {half, DataType.FLOAT} <= dtypes or sample.is_random:
        return
    rounded = sample.rounded(half.numpy_dtype)
    narrow, exact = probe(op_type, sample, half), probe(op_type, rounded, DataType.FLOAT)
    for found, wide in zip(_results(narrow), _results(exact), strict=True):
        if found.dtype in _EPSILONS and found.size:
            _assert_close(found.astype(np.float32), wide, 2 * sample.loose * _EPSILONS[found.dtype])


def _assert_close(found: Array, wide: Array, tolerance: float) -> None:
    finite = abs(wide[np.isfinite(wide)])
    floor = tolerance * (float(finite.max()) if finite.size else 0)
    np.testing.assert_allclose(found, wide, rtol=tolerance, atol=floor * 0.25)


@pytest.mark.parametrize("op_type", TYPES)
def test_less_known_never_contradicts(op_type: str) -> None:
    """With free dims, or an unknown rank, in an input the inferred outputs allow the real ones, or are refused."""
    _, sample = samples()[op_type]
    dtype = next(supported(op_type, sample))
    found = probe(op_type, sample, dtype)
    attributes = schema_of(op_type).complete(sample.attributes, len(found.descs))
    for index, desc in enumerate(found.descs):
        if desc is None:
            continue
        for shape in ((-1,) * len(desc.shape), (-2,)):
            freed = list(found.descs)
            freed[index] = TensorDesc.of(desc.dtype, shape, desc.format)
            try:
                bounds = infer_outputs(schema_of(op_type), freed, attributes)
            except AclError:
                continue
            for bound, output in zip(bounds, found.outputs, strict=True):
                exact = TensorDesc.of(bound.dtype, output.shape, bound.format)
                assert _may_be(bound, exact), f"{bound} for {freed}; it is {exact}"
