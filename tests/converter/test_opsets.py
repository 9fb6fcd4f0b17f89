"""Models of every age and kind: old and new opsets, functions, quantised and sparse ones."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper

from aacl.converter import ModelUnreadable, Unconvertible, convert
from aacl.converter._support import newest_opset
from aacl.models._package import ModelPackage

F = TensorProto.FLOAT
Save = Callable[..., Path]
Read = Callable[[Path], ModelPackage]
Run = Callable[..., list[Any]]
X = np.random.default_rng(2).standard_normal((2, 6)).astype(np.float32)


@pytest.mark.parametrize("opset", range(1, newest_opset() + 1))
def test_every_opset_converts(save: Save, compute: Run, opset: int) -> None:
    """A small net of any opset converts and computes the same."""
    old: dict[str, Any] = {"consumed_inputs": [0]} if opset < 6 else {}
    nodes = [helper.make_node("MatMul", ["x", "w"], ["m"]), helper.make_node("Relu", ["m"], ["y"], **old)]
    weight = np.random.default_rng(4).standard_normal((6, 8)).astype(np.float32)
    source = save(nodes, [("x", F, ["n", 6])], [("y", F, ["n", 8])], {"w": weight}, opsets={"": opset}, ir_version=4)

    path = convert(source, source.with_name("o"), input_shape="-1,6")

    np.testing.assert_allclose(compute(path, X)[0], np.maximum(X @ weight, 0), rtol=1e-5, atol=1e-6)


def test_newer_file_format_converts(save: Save, compute: Run) -> None:
    """A file of a newer IR version than ONNX Runtime takes is converted: nothing that runs hangs on it."""
    source = save([helper.make_node("Neg", ["x"], ["y"])], [("x", F, [2, 6])], [("y", F, None)], ir_version=99)

    np.testing.assert_array_equal(compute(convert(source, source.with_name("o")), X)[0], -X)


def test_operator_that_the_standard_withdrew(save: Save, compute: Run) -> None:
    """Upsample of opset 10, which later opsets have as Resize, converts and computes the same."""
    source = save(
        [helper.make_node("Upsample", ["x", "s"], ["y"], mode="nearest")], [("x", F, [1, 1, 2, 3])], [("y", F, None)],
        {"s": np.array([1, 1, 2, 2], np.float32)}, opsets={"": 9}, ir_version=4,
    )  # fmt: skip
    x = X[0].reshape(1, 1, 2, 3)

    assert compute(convert(source, source.with_name("o")), x)[0].tolist() == x.repeat(2, 2).repeat(2, 3).tolist()


def test_opset_that_nobody_knows(save: Save) -> None:
    """A model of a future opset whose operator changed is refused with both numbers, or its operators by name."""
    source = save([helper.make_node("Neg", ["x"], ["y"])], [("x", F, [1])], [("y", F, [1])], opsets={"": 99})

    with pytest.raises(Unconvertible, match="99"):
        convert(source, source.with_name("o"))
    assert not source.with_name("o.om").exists()


def test_functions_of_the_model(save: Save, tmp_path: Path, compute: Run) -> None:
    """A function that the model defines is part of it."""
    model = onnx.load(
        save([helper.make_node("Twice", ["x"], ["y"], domain="mine")], [("x", F, [2, 6])], [("y", F, None)], opsets={"": 17, "mine": 1})
    )  # fmt: skip
    nodes = [helper.make_node("Add", ["a", "a"], ["r"])]
    model.functions.append(helper.make_function("mine", "Twice", ["a"], ["r"], nodes, [helper.make_opsetid("", 17)]))

    np.testing.assert_array_equal(compute(convert(model, tmp_path / "o"), X)[0], X + X)


def test_quantised_models(save: Save, compute: Run) -> None:
    """QuantizeLinear with DequantizeLinear, and ConvInteger, compute what ONNX Runtime computes, in half too."""
    nodes = [
        helper.make_node("QuantizeLinear", ["x", "s", "z"], ["q"]),
        helper.make_node("DequantizeLinear", ["q", "s", "z"], ["d"]),
        helper.make_node("Add", ["d", "d"], ["y"]),
        helper.make_node("ConvInteger", ["q", "w", "z"], ["c"]),
    ]
    constants = {
        "s": np.array(0.0123, np.float32),
        "z": np.array(12, np.uint8),
        "w": np.arange(9, dtype=np.uint8).reshape(1, 1, 3, 3),
    }
    source = save(nodes, [("x", F, [1, 1, 4, 4])], [("y", F, None), ("c", TensorProto.INT32, None)], constants)
    x = np.random.default_rng(8).random((1, 1, 4, 4)).astype(np.float16).astype(np.float32)  # the same in half

    wanted = onnxruntime.InferenceSession(str(source)).run(None, {"x": x})
    for mode, tolerance in ((None, 0), ("force_fp16", 1e-3)):
        found = compute(convert(source, source.with_name("o"), precision_mode=mode), x)
        np.testing.assert_allclose(found[0], wanted[0], rtol=tolerance)
    assert compute(convert(source, source.with_name("o")), x)[1].tolist() == wanted[1].tolist()


@pytest.mark.parametrize("is_flat", [True, False])
@pytest.mark.parametrize("size", [4, 64])
def test_sparse_constants(save: Save, tmp_path: Path, compute: Run, is_flat: bool, size: int) -> None:
    """A sparse initializer, its indices flat or by dims, is the dense tensor that it stands for."""
    dense = np.zeros((6, size), np.float32)
    dense[1, 2], dense[5, 0] = 3, -4
    indices = np.flatnonzero(dense) if is_flat else np.argwhere(dense)
    model = onnx.load(save([helper.make_node("MatMul", ["x", "w"], ["y"])], [("x", F, [2, 6])], [("y", F, None)]))
    _add_sparse(model, dense[dense != 0], indices.astype(np.int64), dense.shape)

    np.testing.assert_allclose(compute(convert(model, tmp_path / "o"), X)[0], X @ dense, rtol=1e-6)


@pytest.mark.parametrize(
    ("indices", "dims", "error", "words"),
    [
        ([0, 999], (6, 4), ModelUnreadable, "indices outside its dims"),
        ([-1, 0], (6, 4), ModelUnreadable, "indices outside its dims"),
        ([0], (6, 4), ModelUnreadable, "indices outside its dims"),
        ([[0, 0], [9, 9]], (6, 4), ModelUnreadable, "damaged"),
        ([0, 1], (-6, 4), ModelUnreadable, "damaged"),
        ([0, 1], (2**40, 2**20), Unconvertible, "too many"),
    ],
)
def test_damaged_sparse_constants(
    save: Save, tmp_path: Path, indices: Any, dims: tuple[int, ...], error: type[Exception], words: str
) -> None:
    """Indices outside the dims, too few of them, or dims that no memory holds are refused with the tensor's name."""
    model = onnx.load(save([helper.make_node("MatMul", ["x", "w"], ["y"])], [("x", F, [2, 6])], [("y", F, None)]))
    _add_sparse(model, np.array([3, 4], np.float32), np.array(indices, np.int64), dims)

    with pytest.raises(error, match=f"sparse constant 'w' .*{words}"):
        convert(model, tmp_path / "o")
    assert not (tmp_path / "o.om").exists()


def _add_sparse(model: onnx.ModelProto, values: Any, indices: Any, dims: tuple[int, ...]) -> None:
    sparse = model.graph.sparse_initializer.add(dims=dims)
    sparse.values.CopyFrom(numpy_helper.from_array(values, "w"))
    sparse.indices.CopyFrom(numpy_helper.from_array(indices, "places"))
