"""One ONNX operator by the onnx package's own reference implementation, which is plain NumPy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from onnx import helper
from onnx.reference import ReferenceEvaluator

from aacl.abc import Array

__all__ = ("onnx_reference",)


def onnx_reference(
    op_type: str, inputs: Sequence[Array | None], *, outputs: int = 1, opset: int = 20, **attributes: Any
) -> list[Array]:
    """Return what an ONNX operator gives.

    Args:
        op_type: the ONNX operator.
        inputs: arrays, None where an optional one is absent.
        outputs: how many of its outputs are asked for.
        opset: the version of the operator set.
        **attributes: of the operator.
    """
    names = ["" if array is None else f"i{place}" for place, array in enumerate(inputs)]
    results = [f"o{place}" for place in range(outputs)]
    node = helper.make_node(op_type, names, results, **attributes)
    kinds = [
        helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape)
        for name, array in zip(names, inputs, strict=True)
        if array is not None
    ]
    wanted = [helper.make_tensor_value_info(name, 1, None) for name in results]
    graph = helper.make_graph([node], "one", kinds, wanted)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)])
    feeds = {name: array for name, array in zip(names, inputs, strict=True) if array is not None}
    return [np.asarray(array) for array in ReferenceEvaluator(model).run(None, feeds)]
