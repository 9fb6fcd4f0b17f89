"""How a kernel is found, and how it stays silent."""

from __future__ import annotations

import threading
from collections.abc import Callable

import ml_dtypes
import numpy as np
import pytest

from aacl.abc import Array, Kernel, KernelRequest
from aacl.backends.cpu.kernels import find, kernel_types
from aacl.backends.cpu.kernels._quiet import quiet
from aacl.backends.cpu.kernels._registry import PREPARATIONS, kernel
from aacl.dtypes import DataType
from aacl.errors import OperatorNotFound, UnsupportedDataType
from aacl.ops._catalogue import operator_types
from aacl.ops._infer import inferable_types
from aacl.tensors._desc import TensorDesc

Run = Callable[..., list[Array]]
Close = Callable[..., None]
BF16 = np.dtype(ml_dtypes.bfloat16)
DTYPES = [np.dtype(np.float32), np.dtype(np.float16), BF16, np.dtype(np.int64), np.dtype(np.uint8), np.dtype(np.bool_)]


_NAMED = [
    "Add",
    "AddV2",
    "Sub",
    "Mul",
    "RealDiv",
    "Div",
    "FloorDiv",
    "TruncateDiv",
    "Mod",
    "FloorMod",
    "DivNoNan",
    "Maximum",
    "Minimum",
    "Pow",
    "SquaredDifference",
    "Adds",
    "Muls",
    "Axpy",
    "AddN",
    "Abs",
    "Neg",
    "Sign",
    "Floor",
    "Ceil",
    "Rint",
    "Round",
    "Sqrt",
    "Rsqrt",
    "Reciprocal",
    "Square",
    "Exp",
    "Log",
    "Sin",
    "Cos",
    "Erf",
    "Cast",
    "ClipByValue",
    "Equal",
    "NotEqual",
    "Greater",
    "GreaterEqual",
    "Less",
    "LessEqual",
    "LogicalAnd",
    "LogicalOr",
    "LogicalNot",
    "Select",
    "SelectV2",
    "Relu",
    "Relu6",
    "LeakyRelu",
    "Sigmoid",
    "Tanh",
    "Gelu",
    "GeluV2",
    "FastGelu",
    "Softplus",
    "Swish",
    "SoftmaxV2",
    "Softmax",
    "LogSoftmaxV2",
    "MatMul",
    "MatMulV2",
    "BatchMatMul",
    "BatchMatMulV2",
    "BiasAdd",
    "ReduceSum",
    "ReduceMean",
    "ReduceMax",
    "ReduceMin",
    "ReduceProd",
    "ReduceAll",
    "ReduceAny",
    "ReduceSumD",
    "ReduceMeanD",
    "ReduceMaxD",
    "ReduceMinD",
    "ReduceProdD",
    "ReduceAllD",
    "ReduceAnyD",
    "ArgMaxV2",
    "ArgMaxD",
    "ArgMin",
    "Transpose",
    "TransposeD",
    "Reshape",
    "ExpandDims",
    "Squeeze",
    "Unsqueeze",
    "Flatten",
    "Concat",
    "ConcatV2",
    "ConcatD",
    "Pack",
    "Split",
    "SplitD",
    "SplitV",
    "Slice",
    "SliceD",
    "StridedSlice",
    "Pad",
    "PadD",
    "PadV2",
    "PadV3",
    "Gather",
    "GatherV2",
    "GatherV2D",
    "Tile",
    "TileD",
    "BroadcastTo",
    "Fill",
    "ZerosLike",
    "OnesLike",
    "OneHot",
    "Range",
    "Identity",
    "LayerNorm",
    "NonZero",
]


def test_common_operators_have_kernels() -> None:
    """The types that programs call most; every kernel's type has a prototype and a shape rule."""
    assert set(_NAMED) <= set(kernel_types())
    assert set(kernel_types()) <= set(operator_types())
    assert set(kernel_types()) <= set(inferable_types())


def test_unknown_operator() -> None:
    """The text names the operator and close ones."""
    with pytest.raises(OperatorNotFound, match="the cpu device has no kernel for operator MatMull; it has MatMul"):
        find(KernelRequest("MatMull", (), (), {}))
    with pytest.raises(OperatorNotFound, match=r"no kernel for operator HcomAllReduce$"):
        find(KernelRequest("HcomAllReduce", (), (), {}))


def test_dtype_that_numpy_lacks() -> None:
    """A typed error before anything runs."""
    text = TensorDesc.of(DataType.STRING, (2,))
    with pytest.raises(UnsupportedDataType, match="STRING"):
        find(KernelRequest("Identity", (text,), (text,), {}))


def test_a_further_operator_is_one_function() -> None:
    """A decorated function is found at once; a second one of that name is refused."""

    @kernel("TestOnlyDouble")
    def _double(request: KernelRequest) -> Kernel:
        return Kernel(lambda x, out: np.add(x, x, out), 8)

    try:
        out = np.zeros(2)
        find(KernelRequest("TestOnlyDouble", (), (), {})).body(np.array([1.0, 2.0]), out)
        assert out.tolist() == [2, 4]
        kernel("TestOnlyDouble")(_double)  # an import that is done again registers again
        with pytest.raises(ValueError, match="operator TestOnlyDouble has two kernels"):
            kernel("TestOnlyDouble")(lambda request: _double(request))
    finally:
        del PREPARATIONS["TestOnlyDouble"]


@pytest.mark.parametrize("arity", [2, 3, 4])
def test_quiet_bodies_leave_the_state_alone(arity: int) -> None:
    """No warning inside, the caller's error state unchanged, also after a body that raises."""

    def body(*arrays: Array) -> None:
        np.divide(arrays[0], 0, arrays[-1])
        if not arrays[0][0]:
            raise ArithmeticError("as asked")

    run = quiet(body, arity)
    arrays = [np.array([value]) for value in (1.0, 2.0, 3.0)[: arity - 1]]
    with np.errstate(all="raise"):
        before = np.geterr()
        run(*arrays, np.zeros(1))
        with pytest.raises(ArithmeticError, match="as asked"):
            run(np.zeros(1), *arrays[1:], np.zeros(1))
        run(*arrays, np.zeros(1))
        assert np.geterr() == before
        with pytest.raises(FloatingPointError):
            np.divide(np.ones(1), 0)


def test_quiet_bodies_run_in_several_threads_and_inside_each_other() -> None:
    """Each run has a context of its own."""
    inner = quiet(lambda x, out: np.divide(x, 0, out), 2)
    barrier = threading.Barrier(4, timeout=10)

    def outer(x: Array, out: Array) -> None:
        barrier.wait()
        inner(x, out)

    run = quiet(outer, 2)
    results = [np.zeros(3) for _ in range(4)]
    errors: list[Exception] = []

    def work(index: int) -> None:
        try:
            run(np.ones(3), results[index])
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(index,)) for index in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert not errors
    assert all(np.isinf(result).all() for result in results)
