"""Precision modes: what is rounded to half floats, to the bit, and what keeps the model's types (C127, C131)."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper

from aacl.converter import InvalidOption, Unconvertible, convert
from aacl.converter._options import OPTIONS
from aacl.dtypes import DataType
from aacl.models._package import ModelPackage

F = TensorProto.FLOAT
Save = Callable[..., Path]
Read = Callable[[Path], ModelPackage]
Run = Callable[..., list[Any]]
RNG = np.random.default_rng(5)
X = RNG.standard_normal((3, 40)).astype(np.float32)
W = RNG.standard_normal((40, 40)).astype(np.float32)
B = RNG.standard_normal(40).astype(np.float32)


def half(array: Any) -> Any:
    return np.asarray(array, np.float32).astype(np.float16).astype(np.float32)


def bfloat(array: Any) -> Any:
    return np.asarray(array, np.float32).astype(ml_dtypes.bfloat16).astype(np.float32)


@pytest.fixture
def dense(save: Save) -> Path:
    """Return the path of y = x @ w + b; w stands apart, b lies inside the graph."""
    nodes = [helper.make_node("MatMul", ["x", "w"], ["m"]), helper.make_node("Add", ["m", "b"], ["y"])]
    return save(nodes, [("x", F, ["n", 40])], [("y", F, ["n", 40])], {"w": W, "b": B})


WANTED: dict[str, Callable[[], Any]] = {
    "half": lambda: half(half(half(X) @ half(W)) + half(B)),
    "mixed": lambda: half(half(X) @ half(W)) + B,
    "mixed bfloat16": lambda: bfloat(bfloat(X) @ bfloat(W)) + B,
    "cube": lambda: half(X) @ half(W) + B,
    "origin": lambda: X @ W + B,
}
MODES = {
    "force_fp16": "half", "force_fp32": "cube", "cube_fp16in_fp32out": "cube", "allow_fp32_to_fp16": "origin",
    "must_keep_origin_dtype": "origin", "must_keep_fp32": "origin", "allow_mix_precision": "mixed",
    "allow_mix_precision_fp16": "mixed", "allow_mix_precision_bf16": "mixed bfloat16", "allow_fp32_to_bf16": "origin",
}  # fmt: skip
MODES_V2 = {
    "fp16": "half", "origin": "origin", "cube_fp16in_fp32out": "cube", "mixed_float16": "mixed",
    "mixed_bfloat16": "mixed bfloat16",
}  # fmt: skip


@pytest.mark.parametrize(
    ("options", "wanted"),
    [
        ({}, "origin"),
        *(({"precision_mode": mode}, wanted) for mode, wanted in MODES.items()),
        *(({"options": {"precision_mode_v2": mode}}, wanted) for mode, wanted in MODES_V2.items()),
    ],
)
def test_modes_compute_in_their_types(
    dense: Path, compute: Run, read: Read, options: dict[str, Any], wanted: str
) -> None:
    """Each mode gives what NumPy gives with the same roundings; inputs and outputs stay FP32."""
    path = convert(dense, dense.with_name("o"), input_shape="x:-1,40", **options)

    found = compute(path, X)[0]

    # Sums run in another order: a result on the edge may round to the other side, one unit of the type away.
    tolerance = {"half": 2e-3, "mixed": 2e-3, "mixed bfloat16": 2e-2}.get(wanted, 1e-6)
    np.testing.assert_allclose(
        found, WANTED[wanted](), rtol=tolerance, atol=10 * tolerance if tolerance > 1e-6 else 1e-5
    )
    others = {name for name in WANTED if not np.allclose(found, WANTED[name](), rtol=1e-5, atol=1e-5)}
    assert wanted not in others or np.mean(found == WANTED[wanted]()) > 0.95
    assert len(others) >= 3
    assert {spec.dtype for spec in (*read(path).signature.inputs, *read(path).signature.outputs)} == {DataType.FLOAT}


def test_every_mode_of_the_table_is_known() -> None:
    """The modes tested are those that the options take, but for HIF8, which is refused by name."""
    assert set(OPTIONS["precision_mode"].choices) == set(MODES)
    assert set(OPTIONS["precision_mode_v2"].choices) == {*MODES_V2, "mixed_hif8", "cube_hif8"}


def test_types_that_no_cpu_code_has_are_refused(dense: Path) -> None:
    """HIF8 is refused by name."""
    with pytest.raises(Unconvertible, match="--precision_mode_v2=mixed_hif8"):
        convert(dense, dense.with_name("o"), input_shape="x:1,40", options={"precision_mode_v2": "mixed_hif8"})


@pytest.mark.parametrize(("mode", "wanted"), [("must_keep_origin_dtype", [300, 1e-5]), ("force_fp16", [np.inf, 0])])
def test_half_overflows_and_underflows(save: Save, compute: Run, mode: str, wanted: list[float]) -> None:
    """In half, 300 squared is infinity and 1e-5 squared is nothing, between operators too; else both are exact (C127)."""
    nodes = [helper.make_node("Mul", ["x", "x"], ["square"]), helper.make_node("Sqrt", ["square"], ["y"])]
    path = convert(source := save(nodes, [("x", F, [2])], [("y", F, [2])]), source.with_name("o"), precision_mode=mode)

    np.testing.assert_allclose(compute(path, np.array([300, 1e-5], np.float32))[0], wanted, rtol=1e-6)


@pytest.mark.parametrize(("clip", "wanted"), [("1", [65504, -65504, np.inf]), ("0", [np.inf, -np.inf, np.inf])])
def test_constants_beyond_half(save: Save, compute: Run, clip: str, wanted: list[float]) -> None:
    """Finite constants beyond half become its largest number, or infinity without the clip; infinity stays (C131)."""
    nodes = [helper.make_node("Constant", [], ["c"], value=numpy_helper.from_array(np.array([1e12, -7e4, np.inf], np.float32))),
             helper.make_node("Add", ["x", "c"], ["y"])]  # fmt: skip
    source = save(nodes, [("x", F, [3])], [("y", F, [3])])

    path = convert(source, source.with_name("o"), precision_mode="force_fp16", options={"is_weight_clip": clip})

    assert compute(path, np.zeros(3, np.float32))[0].tolist() == wanted


@pytest.mark.parametrize("mode", ["force_fp16", "must_keep_origin_dtype"])
@pytest.mark.parametrize("hidden", [-np.inf, -1e12])
def test_masked_softmax(save: Save, compute: Run, mode: str, hidden: float) -> None:
    """A row masked by huge numbers is even; by infinity it is what the reference gives; no other NaN comes up (C131)."""
    mask = np.where(np.eye(4, dtype=bool), 0, hidden).astype(np.float32)
    mask[3] = hidden
    nodes = [
        helper.make_node("Add", ["x", "mask"], ["masked"]),
        helper.make_node("Softmax", ["masked"], ["y"], axis=-1),
    ]
    source = save(nodes, [("x", F, [4, 4])], [("y", F, [4, 4])], {"mask": mask})
    x = RNG.standard_normal((4, 4)).astype(np.float32)

    found = compute(convert(source, source.with_name("o"), precision_mode=mode), x)[0]

    wanted = onnxruntime.InferenceSession(str(source)).run(None, {"x": x})[0]
    np.testing.assert_allclose(found[:3], np.eye(4)[:3], atol=1e-6)
    assert np.isnan(found[3]).tolist() == np.isnan(wanted[3]).tolist()
    if np.isfinite(hidden):
        np.testing.assert_allclose(found[3], np.full(4, 0.25), atol=0.2 if mode == "force_fp16" else 0.5)


def test_what_decides_shapes_keeps_its_value(save: Save, read: Read, compute: Run) -> None:
    """The scales of a Resize are not rounded: the output has the shape that it has in single precision."""
    node = helper.make_node("Resize", ["x", "", "scales"], ["y"], mode="nearest")
    source = save(
        [node], [("x", F, [1, 1, 2000, 3])], [("y", F, None)], {"scales": np.array([1, 1, 1.0014, 1], np.float32)}
    )

    path = convert(source, source.with_name("o"), precision_mode="force_fp16")

    assert read(path).signature.outputs[0].shape == (1, 1, 2002, 3)
    assert compute(path, np.zeros((1, 1, 2000, 3), np.float32))[0].shape == (1, 1, 2002, 3)


def test_branches_loops_and_functions_are_rounded(save: Save, tmp_path: Path, compute: Run) -> None:
    """What a branch, a loop's body and a function compute is rounded too."""
    body = helper.make_graph(
        [helper.make_node("Identity", ["go"], ["go2"]), helper.make_node("Mul", ["v", "v"], ["v2"])],
        "body",
        [helper.make_tensor_value_info("i", TensorProto.INT64, []), helper.make_tensor_value_info("go", TensorProto.BOOL, []), helper.make_tensor_value_info("v", F, [2])],
        [helper.make_tensor_value_info("go2", TensorProto.BOOL, []), helper.make_tensor_value_info("v2", F, [2])],
    )  # fmt: skip
    function = helper.make_function(
        "mine", "Root", ["a"], ["r"], [helper.make_node("Sqrt", ["a"], ["r"])], [helper.make_opsetid("", 17)]
    )
    nodes = [
        helper.make_node("Loop", ["two", "yes", "x"], ["l"], body=body),
        helper.make_node("Root", ["l"], ["q"], domain="mine"),
        helper.make_node("Root", ["q"], ["y"], domain="mine"),
    ]
    model = onnx.load(
        save(
            nodes,
            [("x", F, [2])],
            [("y", F, [2])],
            {"two": np.array(2), "yes": np.array(True)},
            opsets={"": 17, "mine": 1},
        )
    )
    model.functions.append(function)

    x = np.array([20, 0.01], np.float32)
    exact = compute(convert(model, tmp_path / "exact"), x)[0]
    rounded = compute(convert(model, tmp_path / "half", precision_mode="force_fp16"), x)[0]

    np.testing.assert_allclose(exact, x, rtol=1e-5)
    assert rounded.tolist() == [np.inf, 0]  # 20 to the fourth is 160000; 0.01 to the fourth 1e-8


def test_shared_weight_is_rounded_for_the_matrix_operator_alone(save: Save, compute: Run) -> None:
    """In a mixed mode a constant that another operator reads too keeps its value there."""
    nodes = [helper.make_node("MatMul", ["x", "w"], ["m"]), helper.make_node("Neg", ["w"], ["n"])]
    source = save(nodes, [("x", F, [3, 40])], [("m", F, [3, 40]), ("n", F, [40, 40])], {"w": W})

    m, n = compute(convert(source, source.with_name("o"), precision_mode="force_fp32"), X)

    np.testing.assert_allclose(m, half(X) @ half(W), rtol=1e-5, atol=1e-5)
    np.testing.assert_array_equal(n, -W)


def test_double_and_integer_arithmetic_stay(save: Save, compute: Run) -> None:
    """Only FP32 is lowered: doubles and integers keep their types and values."""
    nodes = [helper.make_node("Mul", ["d", "d"], ["p"]), helper.make_node("Mul", ["i", "i"], ["q"])]
    source = save(
        nodes, [("d", TensorProto.DOUBLE, [1]), ("i", TensorProto.INT32, [1])],
        [("p", TensorProto.DOUBLE, [1]), ("q", TensorProto.INT32, [1])],
    )  # fmt: skip

    found = compute(
        convert(source, source.with_name("o"), precision_mode="force_fp16"),
        np.array([1e9]),
        np.array([30000], np.int32),
    )

    assert [float(out[0]) for out in found] == [1e18, 9e8]


class TestKept:
    """Nodes that --keep_dtype lists."""

    @pytest.mark.parametrize(
        ("lines", "mode", "wanted"),
        [
            ("OpType::MatMul\n", "force_fp16", lambda: half(half(half(X) @ W) + half(B))),
            ("MatMul_0\n\nAdd_1", "force_fp16", lambda: half(X) @ W + B),
            ("OpType::Add", "force_fp16", lambda: half(half(X) @ half(W)) + B),
            ("OpType::MatMul", "force_fp32", lambda: X @ W + B),
        ],
    )
    def test_keep_their_types(
        self, dense: Path, compute: Run, lines: str, mode: str, wanted: Callable[[], Any]
    ) -> None:
        """A node listed by name or by type computes with its own constants and results; what others read is rounded."""
        (kept := dense.with_name("kept.txt")).write_text(lines)

        path = convert(
            dense, dense.with_name("o"), input_shape="-1,40", precision_mode=mode, options={"keep_dtype": str(kept)}
        )

        found = compute(path, X)[0]
        assert np.mean(np.isclose(found, wanted(), rtol=1e-5, atol=1e-5)) > 0.95
        np.testing.assert_allclose(found, wanted(), rtol=2e-3, atol=2e-2)

    @pytest.mark.parametrize(
        ("lines", "code", "words"),
        [("MatMul_0\nOpType::Conv\nnobody", "E10003", "'OpType::Conv', 'nobody'"), (None, "E10410", "does not exist")],
    )
    def test_unknown_ones_are_refused(self, dense: Path, lines: str | None, code: str, words: str) -> None:
        """What the model has not is refused, all at once, and so is a file that is not there."""
        kept = dense.with_name("kept.txt")
        if lines is not None:
            kept.write_text(lines)

        with pytest.raises(InvalidOption, match=words) as caught:
            convert(
                dense, dense.with_name("o"), input_shape="-1,40", precision_mode="force_fp16",
                options={"keep_dtype": str(kept)},
            )  # fmt: skip
        assert caught.value.report.code == code
        assert not dense.with_name("o.om").exists()
