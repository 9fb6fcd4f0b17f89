"""Large work is cut into parts: the results are those of the whole, on every core count."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from aacl.abc import Array, KernelRequest, one_by_one
from aacl.backends.cpu._workers import Workers
from aacl.backends.cpu.kernels import find
from aacl.backends.cpu.kernels._split import ranges
from aacl.ops._catalogue import schema_of
from aacl.ops._infer import infer_outputs
from aacl.tensors._desc import TensorDesc

N = 4096
X = (np.arange(N * N, dtype=np.float32).reshape(N, N) % 1013 - 500) / 64


def _found(op_type: str, inputs: list[Array], attributes: dict[str, object], parallel: Callable[..., None]) -> Array:
    descs = tuple(TensorDesc.of(array.dtype, array.shape) for array in inputs)
    complete = schema_of(op_type).complete(attributes, len(inputs))
    outputs = infer_outputs(schema_of(op_type), descs, complete)
    out: Array = np.empty(outputs[0].shape, outputs[0].dtype.numpy_dtype)
    find(KernelRequest(op_type, descs, outputs, complete, parallel)).body(*inputs, out)
    return out


CASES: dict[str, tuple[str, list[Array], dict[str, object], Array]] = {
    "one shape": ("Add", [X, X], {}, X + X),
    "a row for all": ("Mul", [X, X[0]], {}, X * X[0]),
    "a column for all": ("Sub", [X, X[:, :1].copy()], {}, X - X[:, :1]),
    "several steps": ("Relu", [X], {}, np.where(X > 0, X, 0)),
    "to integers": ("Cast", [X], {"dst_type": "INT32"}, np.trunc(X).astype(np.int32)),
    "to half precision": ("Cast", [X], {"dst_type": "FLOAT16"}, X.astype(np.float16)),
    "rows turned": ("TransposeD", [X], {"perm": [1, 0]}, X.T),
    "rows kept": ("TransposeD", [X.reshape(64, 64, N)], {"perm": [1, 0, 2]}, X.reshape(64, 64, N).swapaxes(0, 1)),
    "largest of rows": ("ReduceMaxD", [X], {"axes": [1]}, np.sort(X, 1)[:, -1]),
    "largest of columns": ("ReduceMaxD", [X], {"axes": [0], "keep_dims": True}, np.sort(X, 0)[-1:]),
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("cores", [1, 2, 5])
def test_parts_give_the_whole(case: str, cores: int) -> None:
    """Exactly, whoever computes which part."""
    op_type, inputs, attributes, expected = CASES[case]
    workers, counts = Workers(0, cores), list[int]()

    def parallel(run: Callable[[int], object], count: int) -> None:
        counts.append(count)
        workers.parallel(run, count)

    try:
        found = _found(op_type, inputs, attributes, parallel)
    finally:
        workers.close()

    np.testing.assert_array_equal(found, expected)
    assert counts == [count for count in counts if count > 1] != []


def test_parts_do_not_depend_on_the_cores() -> None:
    """A sum of floats is the same with one core and with many."""
    workers = Workers(0, 3)
    try:
        many = _found("ReduceSumD", [X], {"axes": [1]}, workers.parallel)
    finally:
        workers.close()

    assert many.tobytes() == _found("ReduceSumD", [X], {"axes": [1]}, one_by_one).tobytes()


@pytest.mark.parametrize(("length", "nbytes"), [(0, 0), (1, 1 << 30), (7, 1 << 30), (1000, 1 << 30), (1000, 8000)])
def test_ranges_cover_an_axis(length: int, nbytes: int) -> None:
    """Every place lies in exactly one part, and what is small is one part."""
    parts = ranges(length, nbytes)

    assert [place for part in parts for place in range(length)[part]] == list(range(length))
    assert len(parts) == 1 or nbytes > 1 << 20
