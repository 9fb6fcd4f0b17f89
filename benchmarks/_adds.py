"""The 8 by 16 int32 Add that all of the small bars are about, as NumPy, ONNX Runtime and torch do it."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks import _peers
from benchmarks._harness import Side, Steps, timed

__all__ = ("LEFT", "RIGHT", "SUM", "bare", "model", "session", "session_run", "torch_add")

LEFT = np.arange(128, dtype=np.int32).reshape(8, 16)
RIGHT = LEFT[::-1].copy()
SUM = LEFT + RIGHT


def bare(count: int) -> Side:
    """Return ``np.add(a, b, out=c)``."""
    left, right, out = LEFT, RIGHT, np.empty_like(SUM)

    @timed(count)
    def run(steps: Steps) -> None:
        for _ in steps:
            np.add(left, right, out=out)

    return run


def torch_add(count: int) -> Side:
    """Return ``torch.add(a, b, out=c)``, eager.

    Raises:
        Absent: there is no torch.
    """
    torch = _peers.load("torch")
    left, right, out = map(torch.from_numpy, (LEFT, RIGHT, np.empty_like(SUM)))

    @timed(count)
    def run(steps: Steps) -> None:
        for _ in steps:
            torch.add(left, right, out=out)

    return run


def model() -> Any:
    """Return an ONNX model of the same Add; inputs a and b, output c."""
    from onnx import TensorProto, helper

    infos = [helper.make_tensor_value_info(name, TensorProto.INT32, LEFT.shape) for name in "abc"]
    graph = helper.make_graph([helper.make_node("Add", ["a", "b"], ["c"])], "add", infos[:2], infos[2:])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


def session() -> Any:
    """Return an ONNX Runtime session of that model, with its default options."""
    import onnxruntime

    return onnxruntime.InferenceSession(model().SerializeToString(), providers=["CPUExecutionProvider"])


def session_run(count: int) -> Side:
    """Return ``session.run`` of the Add."""
    run_session, feed = session().run, {"a": LEFT, "b": RIGHT}

    @timed(count)
    def run(steps: Steps) -> None:
        for _ in steps:
            run_session(None, feed)

    return run
