"""Good files of each kind that is read."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

__all__ = ("KINDS", "corpus", "model")

_TENSOR = {"format": "ND", "shape": [2, 3], "type": "float"}
_OPERATORS = [
    {"op": "Add", "input_desc": [_TENSOR, _TENSOR], "output_desc": [_TENSOR]},
    {"op": "Cast", "input_desc": [_TENSOR], "output_desc": [_TENSOR | {"type": "int32"}],
     "attr": [{"name": "dst_type", "type": "int", "value": 3}]},
    {"op": "Add", "input_desc": [_TENSOR | {"shape": [-1, 3], "shape_range": [[1, 9]]}] * 2,
     "output_desc": [_TENSOR | {"shape": [-1, 3], "shape_range": [[1, 9]]}]},
]  # fmt: skip
_CONFIGURATION = {
    "dump": {"dump_path": "out", "dump_list": [{"model_name": "net", "layer": ["a", "b"]}], "dump_mode": "all"},
    "profiler": {"switch": "on", "output": "out", "aic_metrics": ""},
    "defaultDevice": {"default_device": "0"},
    "max_opqueue_num": "10000",
}
_AIPP = (
    (
        b"aipp_op {\n  related_input_rank: 0\n  aipp_mode: static\n  input_format: YUV420SP_U8\n  csc_switch: true\n"
        b"  rbuv_swap_switch: false\n  src_image_size_w: 8\n  src_image_size_h: 8\n  crop: true\n  load_start_pos_w: 0\n"
        b"  crop_size_w: 8\n  crop_size_h: 8\n  matrix_r0c0: 298\n  matrix_r0c1: 516\n  mean_chn_0: 104\n"
        b"  min_chn_0: 1.5\n  var_reci_chn_0: 0.0039\n}\n"
    ),
    b"aipp_op { aipp_mode: dynamic max_src_image_size: 4096 } # a remark",
    b'aipp_op { related_input_name: "image" aipp_mode: static input_format: RGB888_U8 src_image_size_w: 8 src_image_size_h: 8 }',
)


def corpus(kind: str) -> list[bytes]:
    """Return the seeds of a kind, which are the same ones each time."""
    return KINDS[kind]()


def _oms() -> list[bytes]:
    from aacl.converter import convert, convert_operators

    options: tuple[dict[str, Any], ...] = (
        {"input_shape": "image:1,3,8,8"},
        {"input_shape": "image:-1,3,8,8", "dynamic_batch_size": "1,2"},
        {"input_shape": "image:1,3,4~8,-1"},
    )
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "aipp.cfg").write_bytes(_AIPP[2])
        (folder / "operators.json").write_text(json.dumps(_OPERATORS[:1]))
        convert_operators(folder / "operators.json", folder / "operators")
        with_aipp = {"input_shape": "image:1,3,8,8", "insert_op_conf": folder / "aipp.cfg"}
        paths = [convert(model(n != 1), folder / f"{n}", **given) for n, given in enumerate((*options, with_aipp))]
        hidden = bytes(folder), b"f" * len(bytes(folder))  # files hold their options, and those this folder's name
        return [path.read_bytes().replace(*hidden) for path in (*paths, *sorted((folder / "operators").glob("*.om")))]


def model(branches_too: bool = True) -> Any:
    """Return image [n, 3, h, w] -> Conv, Relu, If(a sum is positive) -> y, with names, constants and a subgraph."""
    from onnx import TensorProto, helper, numpy_helper

    weight = np.random.default_rng(0).standard_normal((8, 3, 4, 4)).astype(np.float32)
    branches = {
        f"{name}_branch": helper.make_graph(
            [helper.make_node(op, ["r"], [f"{name}_y"])], name, [],
            [helper.make_tensor_value_info(f"{name}_y", TensorProto.FLOAT, None)])
        for name, op in (("then", "Abs"), ("else", "Neg"))
    }  # fmt: skip
    nodes = [
        helper.make_node("Conv", ["image", "w"], ["c"], pads=[1, 1, 1, 1], name="conv"),
        helper.make_node("Relu", ["c"], ["r"], name="relu"),
        helper.make_node("ReduceSum", ["r"], ["sum"], keepdims=0),
        helper.make_node("Greater", ["sum", "zero"], ["flag"]),
        helper.make_node("If", ["flag"], ["y"], name="if", **branches),
    ]
    if not branches_too:  # gears want outputs whose shape no value decides
        nodes[2:] = [helper.make_node("Abs", ["r"], ["y"])]
    constants = [numpy_helper.from_array(weight, "w"), numpy_helper.from_array(np.array(0, np.float32), "zero")]
    infos = [
        helper.make_tensor_value_info("image", TensorProto.FLOAT, ["n", 3, "h", "w_"]),
        helper.make_tensor_value_info("y", TensorProto.FLOAT, ["n", 8, "h1", "w1"]),
    ]
    graph = helper.make_graph(nodes, "net", infos[:1], infos[1:], constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


def _onnx() -> list[bytes]:
    """Return the model, and one whose weights lie in a file beside it, which is not there."""
    whole = model()
    inside = whole.SerializeToString()
    tensor = whole.graph.initializer[0]
    tensor.ClearField("raw_data")
    for key, value in (("location", "weights.bin"), ("offset", "0"), ("length", "1536")):
        tensor.external_data.add(key=key, value=value)
    tensor.data_location = 1
    return [inside, inside, whole.SerializeToString()]


def _aipp() -> list[bytes]:
    return list(_AIPP)


def _operators() -> list[bytes]:
    return [json.dumps(_OPERATORS[:count], indent=count).encode() for count in (1, 2, 3)]


def _configurations() -> list[bytes]:
    return [json.dumps(_CONFIGURATION).encode(), json.dumps(_CONFIGURATION, indent=2).encode(), b"{}"]


KINDS: dict[str, Callable[[], list[bytes]]] = {
    "om": _oms,
    "onnx": _onnx,
    "aipp": _aipp,
    "operators": _operators,
    "configuration": _configurations,
}
"""What makes the seeds of each kind."""
