"""Numbers at the edges, through the calls that programs make: 16-bit floats, nothing at all, scalars, wide integers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import aacl
import acl
from tests.compat._programs import ND, Array, get, ok, put

BF16 = np.dtype(ml_dtypes.bfloat16)
SETTERS = {bool: "bool", int: "int", float: "float", str: "string", list: "list_int"}


def submit(op: str, inputs: Sequence[Array], output: Array, attributes: Mapping[str, Any]) -> tuple[int, int]:
    """Compile and execute an operator; return the code and the address of its output."""
    arrays = [np.asarray(array) for array in (*inputs, output)]
    descs = [acl.create_tensor_desc(int(aacl.DataType.of(a.dtype)), list(a.shape), ND) for a in arrays]
    pointers = [put(array) for array in arrays]
    buffers = [acl.create_data_buffer(*pair) for pair in zip(pointers, [a.nbytes for a in arrays], strict=True)]
    attr = acl.op.create_attr()
    for name, value in attributes.items():
        ok(getattr(acl.op, f"set_attr_{SETTERS[type(value)]}")(attr, name, value))
    code = acl.op.compile_and_execute(
        op, descs[:-1], buffers[:-1], descs[-1:], buffers[-1:], attr, 0, 0, None, 0
    )  # fmt: skip
    return code or acl.rt.synchronize_stream(0), pointers[-1]


def run(op: str, inputs: Sequence[Array], output: Array, **attributes: Any) -> Array:
    """Return what an operator gives, in the shape and dtype of an array."""
    code, pointer = submit(op, inputs, output, attributes)
    ok(code)
    return get(pointer, output)


def nearest_even(values: Any) -> Any:
    """Return the upper 16 bits of float32 numbers, rounded to nearest even by hand; no NaN is among them."""
    bits = values.view(np.uint32).astype(np.uint64)
    half, odd = np.uint64(0x7FFF), (bits >> np.uint64(16)) & np.uint64(1)
    return ((bits + half + odd) >> np.uint64(16)).astype(np.uint16)


def test_bfloat16(device: int) -> None:
    """C161: data type 27 has 2 bytes; a sum is rounded to nearest even, to the bit; NaN stays NaN."""
    random = np.random.default_rng(0)
    a, b = (random.standard_normal(512).astype(np.float32).astype(BF16) for _ in range(2))
    exact = a.astype(np.float32) + b.astype(np.float32)
    assert acl.data_type_size(27) == 2

    found = run("Add", [a, b], np.zeros_like(a))
    np.testing.assert_array_equal(found.view(np.uint16), nearest_even(exact))

    special = np.array([np.nan, np.inf, -np.inf, -0.0], np.float32).astype(BF16)
    found = run("Add", [special, np.zeros_like(special)], np.zeros_like(special)).astype(np.float32)
    assert np.isnan(found[0])
    assert found[1:].tolist() == [np.inf, -np.inf, 0.0]


@pytest.mark.parametrize(
    ("op", "shapes", "out", "attributes"),
    [
        ("Add", [(0, 4), (0, 4)], (0, 4), {}),
        ("MatMul", [(0, 3), (3, 4)], (0, 4), {}),
        ("MatMul", [(2, 0), (0, 4)], (2, 4), {}),
        ("ConcatD", [(0, 4), (2, 4)], (2, 4), {"concat_dim": 0}),
        ("ReduceSumD", [(2, 0)], (2,), {"axes": [1], "keep_dims": False}),
        ("Relu", [(3, 0)], (3, 0), {}),
    ],
)
def test_nothing_at_all(
    device: int, op: str, shapes: Sequence[tuple[int, ...]], out: tuple[int, ...], attributes: dict[str, Any]
) -> None:
    """C162: operators on tensors without elements run; sums over nothing are zero."""
    inputs = [np.ones(shape, np.float32) for shape in shapes]
    found = run(op, inputs, np.full(out, 7, np.float32), **attributes)

    expected = np.ones(out) if op == "ConcatD" else np.zeros(out)
    np.testing.assert_array_equal(found, expected)


_FLAT = {"strides": [1, 1, 1, 1], "pads": [0, 0, 0, 0], "data_format": "NCHW"}


def _ones(*shape: int) -> Array:
    return np.ones(shape, np.float32)


@pytest.mark.parametrize(
    ("op", "inputs", "expected", "attributes"),
    [
        ("Conv2D", [_ones(0, 2, 4, 4), _ones(3, 2, 2, 2)], _ones(0, 3, 3, 3), _FLAT),
        ("Conv2D", [_ones(1, 2, 4, 4), _ones(0, 2, 2, 2)], _ones(1, 0, 3, 3), _FLAT),
        ("Conv2D", [_ones(1, 2, 0, 4), _ones(3, 2, 2, 2), np.full(3, 2, np.float32)], np.full((1, 3, 1, 3), 2.0),
         _FLAT | {"pads": [1, 1, 0, 0]}),
        ("Concat", [np.array(0, np.int32), _ones(0, 3), _ones(2, 3)], _ones(2, 3), {"N": 2}),
        ("Concat", [np.array(1, np.int32), _ones(0, 1), _ones(0, 2)], _ones(0, 3), {"N": 2}),
        ("ResizeBilinearV2", [_ones(0, 4, 4, 3), np.array([2, 8], np.int32)], _ones(0, 2, 8, 3), {}),
        ("ResizeBilinearV2", [_ones(2, 4, 4, 0), np.array([2, 8], np.int32)], _ones(2, 2, 8, 0), {}),
        ("GEMM", [_ones(0, 3), _ones(3, 4), _ones(0, 4), _ones(1), _ones(1)], _ones(0, 4), {}),
        ("GEMM", [_ones(2, 3), _ones(3, 0), _ones(2, 0), _ones(1), _ones(1)], _ones(2, 0), {}),
        ("GEMM", [_ones(2, 0), _ones(0, 4), _ones(2, 4), _ones(1), np.full(1, 3, np.float32)], np.full((2, 4), 3.0), {}),
        ("ReduceSum", [_ones(2, 0), np.array([1])], np.zeros(2), {}),
        ("ReduceSum", [_ones(2, 0), np.array([0])], np.zeros(0), {}),
        ("ReduceSum", [_ones(0, 3), np.array([0, 1])], np.zeros(()), {}),
        ("ReduceMax", [_ones(0, 3), np.array([1])], np.zeros(0), {}),
        ("ReduceMax", [_ones(0, 3), np.array([0])], np.full(3, -np.inf), {}),
    ],
)  # fmt: skip
def test_a_dim_of_nothing(
    device: int, op: str, inputs: Sequence[Array], expected: Array, attributes: dict[str, Any]
) -> None:
    """C162: an empty batch, channel or axis: no division by zero, no allocation of nothing; the result is exact."""
    found = run(op, inputs, np.full(expected.shape, 7, np.float32), **attributes)

    np.testing.assert_array_equal(found, expected)
    assert run("Neg", [np.array([3], np.float32)], np.zeros(1, np.float32)).tolist() == [-3]


def test_the_largest_of_nothing(device: int) -> None:
    """C162: the maximum over nothing is the least number there is, as ONNX defines it; its place is an error by name."""
    nothing, two = np.zeros((2, 0), np.float32), np.zeros(2, np.float32)
    assert run("ReduceMaxD", [nothing], two, axes=[1]).tolist() == [-np.inf, -np.inf]
    code, _ = submit("ArgMaxD", [nothing], two.astype(np.int32), {"dimension": 1})
    assert code == 100000
    assert "ArgMaxD" in (acl.get_recent_err_msg() or "")
    assert run("Neg", [np.array([3], np.float32)], np.zeros(1, np.float32)).tolist() == [-3]


def test_scalars(device: int) -> None:
    """C163: a sum over every axis has no dims and one element; ptr_to_numpy with () sees it."""
    out = acl.create_tensor_desc(0, [], ND)
    assert (acl.get_tensor_desc_num_dims(out), acl.get_tensor_desc_size(out)) == (0, 4)
    code, pointer = submit(
        "ReduceSumD", [np.full((2, 3), 2, np.float32)], np.zeros((), np.float32), {"axes": [0, 1], "keep_dims": False}
    )
    ok(code)
    view = acl.util.ptr_to_numpy(pointer, (), 11)

    assert view.shape == ()
    assert float(view) == 12
    one = np.ones((), np.float32)
    assert run("Add", [one, one + one], np.zeros((), np.float32)) == 3


def test_wide_integers(device: int) -> None:
    """C165: int64 stays int64: values beyond 32 bits survive arithmetic and casts."""
    large = np.array([1 << 40, -(1 << 40), (1 << 62) + 1])
    assert run("Add", [large, np.ones(3, np.int64)], np.zeros(3, np.int64)).tolist() == (large + 1).tolist()
    floats = np.array([2.0**40, -(2.0**40)], np.float32)
    assert run("Cast", [floats], np.zeros(2, np.int64), dst_type=9).tolist() == [1 << 40, -(1 << 40)]


def test_masks(device: int) -> None:
    """C166: a comparison gives type 12, one byte an element, 0 or 1; uint8 stays what it is."""
    a, b = np.array([1, 2, 3, np.nan], np.float32), np.array([2, 2, 2, 2], np.float32)
    assert acl.data_type_size(12) == 1
    found = run("Greater", [a, b], np.zeros(4, np.bool_)).view(np.uint8)
    assert found.tolist() == [0, 0, 1, 0]
    small = np.array([250, 3], np.uint8)
    assert run("Add", [small, small], np.zeros(2, np.uint8)).tolist() == [244, 6]  # it wraps around


def test_half_precision(device: int) -> None:
    """C169: products of halves are summed in float32 and rounded once: within half a unit of float64's result.

    What is beyond 65504 is infinity, not NaN.
    """
    random = np.random.default_rng(1)
    a, b = random.standard_normal((1, 4096)).astype(np.float16), random.standard_normal((4096, 1)).astype(np.float16)
    exact = (a.astype(np.float64) @ b.astype(np.float64)).item()
    found = run("MatMul", [a, b], np.zeros((1, 1), np.float16)).item()
    assert abs(found - exact) <= 0.51 * float(np.spacing(np.float16(abs(exact)))) + 1e-4

    tall = np.full((4096, 1), 16, np.float16)
    assert run("MatMul", [np.ones((1, 4096), np.float16), tall], np.zeros((1, 1), np.float16)).item() == np.inf
    edge = np.array([65504, -65504], np.float16)
    assert run("Add", [edge, 0 * edge], np.zeros(2, np.float16)).tolist() == [65504, -65504]
    assert run("Add", [edge, edge], np.zeros(2, np.float16)).tolist() == [np.inf, -np.inf]


def test_what_the_prototype_lists_runs(device: int) -> None:
    """C071: every data type that Add's prototype lists and NumPy has runs right; every other one is 100026 by name."""
    listed = aacl.ops.schema_of("Add").inputs[0].dtypes
    ran = set()
    for kind in aacl.DataType:
        try:
            dtype = kind.numpy_dtype
        except aacl.UnsupportedDataType:
            continue
        x = np.array([1, 0, 1]).astype(dtype)
        code, pointer = submit("Add", [x, x], x, {})
        if kind in listed and not code:
            np.testing.assert_array_equal(get(pointer, x), x + x)
            ran.add(kind)
        else:
            assert code == 100026, kind
            text = acl.get_recent_err_msg() or ""
            assert "Add" in text
            assert kind.name in text

    assert {"FLOAT", "FLOAT16", "BF16", "INT8", "UINT8", "INT32", "INT64", "DOUBLE"} <= {kind.name for kind in ran}
