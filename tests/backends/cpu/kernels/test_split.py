"""Large work is cut into parts: the results are those of the whole, on every core count."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from aacl.abc import Array, KernelRequest, one_by_one
from aacl.backends.cpu._workers import Workers
from aacl.backends.cpu.kernels import _split, find
from aacl.backends.cpu.kernels._split import ranges
from aacl.ops._catalogue import schema_of
from aacl.ops._infer import infer_outputs
from aacl.tensors._desc import TensorDesc

N = 256
X = (np.arange(N * N, dtype=np.float32).reshape(N, N) % 1013 - 500) / 64
WHOLE = (np.arange(N * N, dtype=np.float32).reshape(4, N, -1) * 7 % 32) - 12
"""Small integers, whose sums are exact in whatever order."""


@pytest.fixture(autouse=True)
def _small_is_large(monkeypatch: pytest.MonkeyPatch) -> None:
    """Cut arrays of a quarter of a megabyte into parts, as those of many megabytes are."""
    monkeypatch.setattr(_split, "_LARGE", 3000)
    monkeypatch.setattr(_split, "_PART", 1000)


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
    "to integers, not all held": (
        "Cast",
        [X * 2**29],
        {"dst_type": "INT32"},
        np.clip(X.astype(np.float64) * 2**29, -(2**31), 2**31 - 1).astype(np.int32),
    ),
    "compared": ("Greater", [X, X[::-1].copy()], {}, X[::-1] < X),
    "to half precision": ("Cast", [X], {"dst_type": "FLOAT16"}, X.astype(np.float16)),
    "of two choices": ("Select", [X > 1, X, -X], {}, np.where(X > 1, X, -X)),
    "rows turned": ("TransposeD", [X], {"perm": [1, 0]}, X.T),
    "rows kept": ("TransposeD", [X.reshape(8, 32, N)], {"perm": [1, 0, 2]}, X.reshape(8, 32, N).swapaxes(0, 1)),
    "largest of rows": ("ReduceMaxD", [X], {"axes": [1]}, np.sort(X, 1)[:, -1]),
    "largest of columns": ("ReduceMaxD", [X], {"axes": [0], "keep_dims": True}, np.sort(X, 0)[-1:]),
    "largest of all": ("ReduceMaxD", [X], {"axes": [0, 1]}, np.sort(X, None)[-1]),
    "least of one row": ("ReduceMinD", [X.reshape(1, -1)], {"axes": [1]}, np.sort(X, None)[:1]),
    "largest of halves": ("ReduceMaxD", [X.astype(np.float16)], {"axes": [0]}, np.sort(X.astype(np.float16), 0)[-1]),
    "sums of planes": ("ReduceSumD", [WHOLE], {"axes": [0, 2]}, WHOLE.astype(np.int64).sum((0, 2))),
    "sum of all": (
        "ReduceSumD",
        [WHOLE],
        {"axes": [0, 1, 2], "keep_dims": True},
        WHOLE.astype(np.int64).sum(keepdims=True),
    ),
    "mean of halves": (
        "ReduceMeanD",
        [WHOLE.astype(np.float16)],
        {"axes": [0, 1, 2]},
        WHOLE.astype(np.int64).sum() / WHOLE.size,
    ),
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

    np.testing.assert_array_equal(found, expected.astype(found.dtype))
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
