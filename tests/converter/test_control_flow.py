"""Loops, branches and scans: right, or refused by name (C125)."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import pytest
from onnx import TensorProto, helper

from aacl.converter import convert
from aacl.models._package import ModelPackage

F, BOOL, INT64 = TensorProto.FLOAT, TensorProto.BOOL, TensorProto.INT64
Save = Callable[..., Path]
Read = Callable[[Path], ModelPackage]
Run = Callable[..., list[Any]]


@pytest.fixture
def loop(save: Save) -> Path:
    """Return a Loop over (count, go, x[2]): x is doubled, each step's x is a row of the scan output; it stops above 100."""
    body = helper.make_graph(
        [
            helper.make_node("Add", ["v", "v"], ["v2"]),
            helper.make_node("ReduceMax", ["v2"], ["top"], keepdims=0),
            helper.make_node("Less", ["top", "limit"], ["go2"]),
            helper.make_node("Identity", ["v2"], ["row"]),
        ],
        "body",
        [helper.make_tensor_value_info("i", INT64, []), helper.make_tensor_value_info("go", BOOL, []), helper.make_tensor_value_info("v", F, [2])],
        [helper.make_tensor_value_info("go2", BOOL, []), helper.make_tensor_value_info("v2", F, [2]), helper.make_tensor_value_info("row", F, [2])],
    )  # fmt: skip
    return save(
        [helper.make_node("Loop", ["count", "go", "x"], ["last", "rows"], body=body)],
        [("count", INT64, []), ("go", BOOL, []), ("x", F, [2])],
        [("last", F, None), ("rows", F, None)],
        {"limit": np.array(100, np.float32)},
    )


@pytest.mark.parametrize(
    ("count", "go", "steps"),
    [(0, True, 0), (3, False, 0), (3, True, 3), (99, True, 6)],
    ids=["no step", "condition false at once", "all steps", "stopped early"],
)
def test_loop(loop: Path, read: Read, compute: Run, count: int, go: bool, steps: int) -> None:
    """However often the body runs, both outputs are right; dims of both may be free."""
    path = convert(loop, loop.with_name("o"))

    x = np.array([1, 2], np.float32)
    last, rows = compute(path, np.array(count), np.array(go), x)
    assert [spec.shape for spec in read(path).signature.outputs] == [(-1,), (-1, 2)]  # a body may change a shape
    assert last.tolist() == (x * 2**steps).tolist()
    assert rows.tolist() == [(x * 2 ** (step + 1)).tolist() for step in range(steps)]


def test_branches_of_different_dims(save: Save, read: Read, compute: Run) -> None:
    """Branches of one rank and different dims make a free dim; either branch is right."""
    branches = {
        key: helper.make_graph([node], key, [], [helper.make_tensor_value_info(key, F, None)])
        for key, node in (
            ("then_branch", helper.make_node("Concat", ["x", "x"], ["then_branch"], axis=0)),
            ("else_branch", helper.make_node("Neg", ["x"], ["else_branch"])),
        )
    }
    source = save(
        [helper.make_node("If", ["c"], ["y"], **branches)], [("c", BOOL, []), ("x", F, [2])], [("y", F, None)]
    )

    path = convert(source, source.with_name("o"))

    x = np.array([1, 2], np.float32)
    assert read(path).signature.outputs[0].shape == (-1,)
    assert [compute(path, np.array(flag), x)[0].tolist() for flag in (True, False)] == [[1, 2, 1, 2], [-1, -2]]


@pytest.mark.parametrize("options", [{}, {"precision_mode": "force_fp16"}])
def test_scan(save: Save, read: Read, compute: Run, options: dict[str, str]) -> None:
    """A Scan's running sum is ONNX Runtime's, for a free length, in half floats too."""
    body = helper.make_graph(
        [helper.make_node("Add", ["s", "e"], ["s2"]), helper.make_node("Identity", ["s2"], ["o"])],
        "body",
        [helper.make_tensor_value_info(name, F, [2]) for name in ("s", "e")],
        [helper.make_tensor_value_info(name, F, [2]) for name in ("s2", "o")],
    )
    source = save(
        [helper.make_node("Scan", ["zero", "x"], ["sum", "sums"], body=body, num_scan_inputs=1)],
        [("x", F, ["n", 2])], [("sum", F, None), ("sums", F, None)], {"zero": np.zeros(2, np.float32)},
    )  # fmt: skip

    path = convert(source, source.with_name("o"), input_shape="-1,2", **options)  # type: ignore[arg-type]

    x = np.arange(10, dtype=np.float32).reshape(5, 2)
    assert [spec.shape for spec in read(path).signature.outputs] == [(2,), (-1, 2)]
    wanted = onnxruntime.InferenceSession(str(source)).run(None, {"x": x})
    for found, right in zip(compute(path, x), wanted, strict=True):
        np.testing.assert_array_equal(found, right)
