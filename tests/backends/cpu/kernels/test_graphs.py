"""Kernels that are ONNX Runtime graphs: how they are bound to arrays, shared and refused."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import ml_dtypes
import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

from aacl.abc import Array, KernelRequest
from aacl.backends.cpu.kernels._graphs import _session, graph_body, node
from aacl.backends.cpu.kernels._onnx import Constant, Node, Port, model_bytes
from aacl.errors import InvalidArgument, UnsupportedDataType
from aacl.tensors._desc import TensorDesc


def _request(inputs: list[Array | None], outputs: list[Array]) -> KernelRequest:
    descs = tuple(None if array is None else TensorDesc.of(array.dtype, array.shape) for array in inputs)
    return KernelRequest("Probe", descs, tuple(TensorDesc.of(array.dtype, array.shape) for array in outputs), {})


def test_arrays_are_read_and_written_where_they_are() -> None:
    """The same body serves any arrays, those of the last run and others; absent inputs keep their places."""
    out, other = np.empty((2, 3), np.float32), np.empty((2, 3), np.float32)
    x, y = np.ones((2, 3), np.float32), np.full((2, 3), 2, np.float32)
    body = graph_body(_request([x, None, y], [out]), [node("Sub", "x2 x0", "y0")])
    for left, right, target, wanted in ((x, y, out, 1), (x, y, out, 1), (y, x, other, -1), (y, y, out, 0)):
        body(left, None, right, target)
        assert (target == wanted).all()
    x[...] = 5
    body(x, None, y, out)
    assert (out == -3).all()


def test_arrays_with_gaps() -> None:
    """Strided views are copied in and out; what lies between their elements stays."""
    wide, target = np.arange(12, dtype=np.float32).reshape(2, 6), np.full((2, 6), 9, np.float32)
    x, out = wide[:, ::2], target[:, ::2]
    graph_body(_request([x], [out]), [node("Neg", "x0", "y0")])(x, out)
    np.testing.assert_array_equal(out, -x)
    assert (target[:, 1::2] == 9).all()


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16])
def test_half_precision_is_rounded_once(dtype: Any) -> None:
    """A sum of three that each step would round to nothing."""
    x = np.array([1, 2**-9, 2**-9, 2**-9, 2**-9], np.float32).astype(dtype)
    small = np.array([1, 2**-12, 2**-12, 2**-12, 2**-12], np.float32).astype(np.float16)
    x = small if dtype is np.float16 else x
    out = np.empty(1, dtype)
    body = graph_body(_request([x], [out]), [node("ReduceSum", "x0", "y0", keepdims=1)])
    body(x, out)
    assert out[0] == x.astype(np.float64).sum().astype(dtype)
    assert out[0] > 1


def test_shapes_and_constants_of_the_graph() -> None:
    """The nodes may see a tensor in another shape, and have constants of their own."""
    x, out = np.arange(6, dtype=np.float32), np.empty(6, np.float32)
    body = graph_body(
        _request([x], [out]),
        [node("Mul", "x0 factor", "y0")],
        shapes={"x0": (2, 3), "y0": (2, 3)},
        constants={"factor": np.array([[1], [10]], np.float32)},
    )
    body(x, out)
    assert out.tolist() == [0, 1, 2, 30, 40, 50]


def test_nothing_to_write() -> None:
    """A graph that ONNX Runtime would refuse is not even made where the output has no elements."""
    x, out = np.empty((0, 3), np.float32), np.empty((0, 3), np.float32)
    graph_body(_request([x], [out]), [node("NoSuch", "x0", "y0")])(x, out)


def test_sessions_are_shared() -> None:
    """Equal graphs have one session, others have their own."""
    x, out = np.ones((3, 7), np.float32), np.empty((3, 7), np.float32)
    before = _session.cache_info()
    for alpha in (0.25, 0.25, 0.5):
        graph_body(_request([x], [out]), [node("Elu", "x0", "y0", alpha=alpha)])
    after = _session.cache_info()
    assert (after.hits - before.hits, after.misses - before.misses) == (1, 2)


def test_runs_may_overlap() -> None:
    """Threads that run one body on arrays of their own do not see each other's."""
    shape = (64, 64)
    arrays = [np.full(shape, number, np.float32) for number in range(8)]
    body = graph_body(_request([arrays[0]], [arrays[0]]), [node("MatMul", "x0 x0", "y0")])

    def work(x: Array) -> bool:
        out, good = np.empty(shape, np.float32), True
        for _ in range(20):
            body(x, out)
            good = good and bool((out == x[0, 0] ** 2 * 64).all())
        return good

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(work, arrays))


def test_refusals() -> None:
    """What ONNX Runtime refuses is an InvalidArgument that names the operator; a dtype that ONNX lacks is named."""
    x, out = np.ones((2, 3), np.float32), np.ones((2, 5), np.float32)
    with pytest.raises(InvalidArgument, match="operator Probe"):
        graph_body(_request([x], [out]), [node("Transpose", "x0", "y0", perm=(1, 0, 2))])
    complex_ = np.ones(2, np.complex64)
    with pytest.raises(UnsupportedDataType, match="COMPLEX64"):
        graph_body(_request([complex_], [complex_]), [node("Neg", "x0", "y0")])


def test_models_are_onnx() -> None:
    """The onnx package reads the same from the bytes as its own helpers make."""
    nodes = [
        Node("Clip", ("a", "", "most"), ("b",)),
        Node("Probe", ("b",), ("c", "d"), (("f", -0.5), ("i", -3), ("n", ()), ("s", "text"), ("t", (1, 2**40, -1)),
                                           ("u", (0.5, 2.0)), ("v", ("x", "y"))), "own.domain"),
    ]  # fmt: skip
    ports = [Port("a", 1, (2, 300)), Port("c", 10, ()), Port("d", 7, (0, 1))]
    value = np.arange(200, dtype=np.int64)
    found = onnx.load_model_from_string(
        model_bytes(
            nodes, ports[:1], ports[1:], [Constant("most", 7, (200,), value.tobytes())], {"": 17, "own.domain": 1}
        )
    )
    made = [
        helper.make_node(each.op_type, each.inputs, each.outputs, domain=each.domain,
                         **{name: value for name, value in each.attributes if value != ()}) for each in nodes
    ]  # fmt: skip
    made[1].attribute.insert(2, helper.make_attribute("n", [], attr_type=onnx.AttributeProto.INTS))
    described = [helper.make_tensor_value_info(*port) for port in ports]
    graph = helper.make_graph(made, "operator", described[:1], described[1:], [numpy_helper.from_array(value, "most")])
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("own.domain", 1)]
    assert found == helper.make_model(graph, opset_imports=opsets, ir_version=8)
