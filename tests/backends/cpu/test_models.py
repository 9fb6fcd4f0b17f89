"""The model engine: runs straight on the arrays bound, with every dtype, and clear errors."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import numpy.typing as npt
import onnx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from onnx import TensorProto, helper, numpy_helper

from aacl.backends.cpu import models
from aacl.backends.cpu._graph import Graph
from aacl.backends.cpu.models import load_model
from aacl.dtypes import DataType
from aacl.errors import ClosedResource, ModelDataError, ModelInputMismatch, ModelOutputMismatch, ModelRunError

NAMES = ["FLOAT", "FLOAT16", "DOUBLE", "BF16", "INT8", "INT16", "INT32", "INT64", "UINT8", "UINT16", "UINT32", "UINT64", "BOOL"]  # fmt: skip
Value = tuple[str, int, Sequence[int | str | None]]


@pytest.fixture(autouse=True, params=[0, 1 << 22], ids=["apart", "whole"])
def large(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Take every graph apart, and none."""
    monkeypatch.setattr("aacl.backends.cpu.models._LARGE", request.param)


def model_bytes(
    nodes: Sequence[onnx.NodeProto],
    inputs: Sequence[Value],
    outputs: Sequence[Value],
    constants: Sequence[onnx.TensorProto] = (),
) -> bytes:
    graph = helper.make_graph(
        list(nodes),
        "g",
        [helper.make_tensor_value_info(*value) for value in inputs],
        [helper.make_tensor_value_info(*value) for value in outputs],
        list(constants),
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    data: bytes = model.SerializeToString()
    return data


def add_one(dims: Sequence[int] = (2, 3)) -> bytes:
    return model_bytes(
        [helper.make_node("Add", ["x", "one"], ["y"], name="plus")],
        [("x", TensorProto.FLOAT, dims)],
        [("y", TensorProto.FLOAT, dims)],
        [numpy_helper.from_array(np.ones((), np.float32), "one")],
    )


def test_run_writes_into_the_bound_output() -> None:
    """A bound call reads and writes the arrays' own memory, each time anew."""
    engine = load_model(add_one())
    x, y = np.arange(6, dtype=np.float32).reshape(2, 3), np.zeros((2, 3), np.float32)
    run = engine.bind([x], [y])

    run()
    first = y.copy()
    x += 10
    run()

    np.testing.assert_array_equal(first, [[1, 2, 3], [4, 5, 6]])
    np.testing.assert_array_equal(y, first + 10)


def test_arrays_may_lie_anywhere_in_a_buffer() -> None:
    """Views at offsets of one buffer are bound by their true addresses, and nothing around them is written."""
    engine = load_model(add_one((2, 2)))
    arena = np.full(256, 0xEE, np.uint8)
    x, y = (np.ndarray((2, 2), np.float32, arena.data, offset) for offset in (4, 100))
    x[:] = 5

    engine.bind([x], [y])()

    np.testing.assert_array_equal(y, np.full((2, 2), 6, np.float32))
    assert set(arena[20:100]) | set(arena[116:]) == {0xEE}


def test_bound_call_keeps_its_arrays() -> None:
    """The call keeps the arrays alive; they go when it goes."""
    engine = load_model(add_one())
    x, y = np.ones((2, 3), np.float32), np.empty((2, 3), np.float32)
    alive = weakref.ref(x)
    run = engine.bind([x], [y])
    del x
    gc.collect()

    run()

    np.testing.assert_array_equal(y, np.full((2, 3), 2, np.float32))
    del run
    gc.collect()
    assert alive() is None


@pytest.mark.parametrize(
    "dtype",
    [d for d in DataType if d.name in NAMES],
    ids=lambda dtype: dtype.name,
)
def test_every_data_type_is_bound(dtype: DataType) -> None:
    """Inputs, outputs and large constants of each data type keep their bits, those that NumPy lacks too."""
    element = helper.np_dtype_to_tensor_dtype(dtype.numpy_dtype)
    values = (np.arange(1024) % 2 if dtype is DataType.BOOL else np.arange(1024) % 100).astype(dtype.numpy_dtype)
    constant = helper.make_tensor("c", element, [1024], values.tobytes(), raw=True)
    engine = load_model(
        model_bytes(
            [helper.make_node("Concat", ["x", "c"], ["y"], axis=0)],
            [("x", element, [3])],
            [("y", element, [1027])],
            [constant],
        )
        if dtype is not DataType.BF16  # ONNX Runtime's CPU has no Concat of it
        else model_bytes(
            [helper.make_node("Identity", ["x"], ["y"])], [("x", element, [1027])], [("y", element, [1027])]
        )
    )
    x = values[: 1027 if dtype is DataType.BF16 else 3]
    x = np.resize(x, 1027) if dtype is DataType.BF16 else x
    y = np.zeros(1027, dtype.numpy_dtype)

    engine.bind([x], [y])()

    wanted = x if dtype is DataType.BF16 else np.concatenate([x, values])
    assert y.tobytes() == wanted.tobytes()


@pytest.mark.parametrize("dims", [(), (0, 4), (3, 0), (1,)])
def test_scalars_and_empty_arrays_run(dims: tuple[int, ...]) -> None:
    """A scalar has no dims, and a dim of 0 is no fault."""
    engine = load_model(add_one(dims))
    x, y = np.full(dims, 4, np.float32), np.zeros(dims, np.float32)

    engine.bind([x], [y])()

    np.testing.assert_array_equal(y, np.full(dims, 5, np.float32))


@settings(max_examples=20, deadline=None)
@given(st.integers(1, 40), st.integers(1, 40), st.integers(0, 2**32 - 1))
def test_large_constants_are_taken_as_they_are(rows: int, columns: int, seed: int) -> None:
    """Taking large constants out of the model's bytes changes no result."""
    rng = np.random.default_rng(seed)
    weight = rng.standard_normal((rows, columns)).astype(np.float32)
    data = model_bytes(
        [helper.make_node("MatMul", ["x", "w"], ["y"])],
        [("x", TensorProto.FLOAT, [2, rows])],
        [("y", TensorProto.FLOAT, [2, columns])],
        [numpy_helper.from_array(weight, "w")],
    )
    x, y = rng.standard_normal((2, rows)).astype(np.float32), np.empty((2, columns), np.float32)

    load_model(data).bind([x], [y])()

    np.testing.assert_allclose(y, x @ weight, rtol=1e-4, atol=1e-4)
    assert list(Graph.split(memoryview(data)).constants) == (["w"] if weight.nbytes >= 1024 else [])


def test_skeleton_is_small_and_names_its_constants() -> None:
    """The skeleton of a model with a large constant is a sound ONNX message without the constant's bytes."""
    weight = np.ones((64, 64), np.float32)
    data = model_bytes(
        [helper.make_node("MatMul", ["x", "w"], ["y"])],
        [("x", TensorProto.FLOAT, [2, 64])],
        [("y", TensorProto.FLOAT, [2, 64])],
        [numpy_helper.from_array(weight, "w")],
    )

    graph = Graph.split(memoryview(data))
    tensor = onnx.ModelProto.FromString(graph.skeleton).graph.initializer[0]

    assert len(graph.skeleton) < 300
    assert (tensor.name, list(tensor.dims), tensor.data_location) == ("w", [64, 64], TensorProto.EXTERNAL)
    assert graph.constants["w"][0].tobytes() == weight.tobytes()


@pytest.mark.parametrize("data", [b"", b"\xff" * 40, b"\x3a\x7f short", b"not a model"])
def test_bytes_that_are_no_graph_are_refused(data: bytes) -> None:
    """Bytes that are no ONNX model raise ModelDataError."""
    with pytest.raises(ModelDataError):
        load_model(data)


def test_unsound_graph_is_refused() -> None:
    """A graph that ONNX Runtime refuses raises ModelDataError with its reason."""
    data = model_bytes(
        [helper.make_node("MatMul", ["x", "nothing"], ["y"])],
        [("x", TensorProto.FLOAT, [2, 3])],
        [("y", TensorProto.FLOAT, [2, 3])],
    )

    with pytest.raises(ModelDataError, match="nothing"):
        load_model(data)


def test_output_that_is_an_input_is_refused() -> None:
    """ONNX Runtime would leave such an output unwritten; it is refused, by name."""
    data = model_bytes(
        [helper.make_node("Neg", ["x"], ["y"])],
        [("x", TensorProto.FLOAT, [2])],
        [("y", TensorProto.FLOAT, [2]), ("x", TensorProto.FLOAT, [2])],
    )

    with pytest.raises(ModelDataError, match="'x'"):
        load_model(data)


def test_string_input_is_refused() -> None:
    """A string input is refused, by name."""
    data = model_bytes(
        [helper.make_node("Identity", ["words"], ["y"])],
        [("words", TensorProto.STRING, [2])],
        [("y", TensorProto.STRING, [2])],
    )

    with pytest.raises(ModelDataError, match=r"'words'.*tensor\(string\)"):
        load_model(data)


@pytest.mark.parametrize(
    ("inputs", "outputs", "kind", "words"),
    [
        ([], [((2, 3), "f4")], ModelInputMismatch, "1 inputs, and 0"),
        ([((2, 3), "f4")], [], ModelOutputMismatch, "1 outputs, and 0"),
        ([((3, 2), "f4")], [((2, 3), "f4")], ModelInputMismatch, r"'x'.*\[2, 3\].*\[3, 2\]"),
        ([((2, 3), "f8")], [((2, 3), "f4")], ModelInputMismatch, "'x'.*float32.*float64"),
        ([((2, 3), "f4")], [((2,), "f4")], ModelOutputMismatch, r"'y'.*\[2\]"),
    ],
)
def test_arrays_that_do_not_fit_are_refused(
    inputs: list[tuple[tuple[int, ...], str]],
    outputs: list[tuple[tuple[int, ...], str]],
    kind: type[Exception],
    words: str,
) -> None:
    """A wrong count, shape or dtype is refused with both sides named."""
    engine = load_model(add_one())

    with pytest.raises(kind, match=words):
        engine.bind([np.zeros(*array) for array in inputs], [np.zeros(*array) for array in outputs])


def test_strided_array_is_refused() -> None:
    """An array that is not C-contiguous would be read wrongly by address, and is refused."""
    engine = load_model(add_one())

    with pytest.raises(ModelInputMismatch, match="not C-contiguous"):
        engine.bind([np.zeros((3, 2), np.float32).T], [np.zeros((2, 3), np.float32)])


def test_failing_run_names_the_node_and_spoils_nothing(capfd: pytest.CaptureFixture[str]) -> None:
    """A run that fails raises ModelRunError with the node's name, prints nothing, and the next run works."""
    data = model_bytes(
        [helper.make_node("Gather", ["x", "i"], ["y"], name="pick")],
        [("x", TensorProto.FLOAT, [4]), ("i", TensorProto.INT64, [1])],
        [("y", TensorProto.FLOAT, [1])],
    )
    x, index, y = np.arange(4, dtype=np.float32), np.array([9]), np.zeros(1, np.float32)
    run = load_model(data).bind([x, index], [y])

    with pytest.raises(ModelRunError, match=r"pick.*idx=9"):
        run()
    index[0] = 2
    run()

    assert y[0] == 2
    assert capfd.readouterr() == ("", "")


def test_output_of_another_size_is_an_error_not_an_overrun() -> None:
    """Where the result's shape depends on values, an output of another shape raises and is not written past its end."""
    data = model_bytes(
        [helper.make_node("NonZero", ["x"], ["y"], name="nz")],
        [("x", TensorProto.FLOAT, [4])],
        [("y", TensorProto.INT64, [1, None])],
    )
    guarded = np.full(4, -1, np.int64)
    run = load_model(data).bind([np.ones(4, np.float32)], [guarded[:2].reshape(1, 2)])

    with pytest.raises(ModelRunError, match=r"nz.*\{1,4\}"):
        run()

    assert list(guarded[2:]) == [-1, -1]


def test_closed_engine_runs_nothing() -> None:
    """After close, neither bind nor a call bound before runs; closing again is harmless."""
    engine = load_model(add_one())
    x, y = np.ones((2, 3), np.float32), np.zeros((2, 3), np.float32)
    run = engine.bind([x], [y])

    engine.close()
    engine.close()

    with pytest.raises(ClosedResource):
        run()
    with pytest.raises(ClosedResource):
        engine.bind([x], [y])
    assert not y.any()
    assert "closed" in repr(engine)


def test_bound_calls_run_in_parallel() -> None:
    """Calls bound to different arrays may overlap on several threads."""
    engine = load_model(add_one((200, 200)))
    pairs = [(np.full((200, 200), n, np.float32), np.empty((200, 200), np.float32)) for n in range(4)]
    runs = [engine.bind([x], [y]) for x, y in pairs]

    def repeat(run: object) -> None:
        assert callable(run)
        for _ in range(50):
            run()

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(repeat, runs))

    checks: list[npt.NDArray[np.bool_]] = [y == x + 1 for x, y in pairs]
    assert all(check.all() for check in checks)


@pytest.mark.parametrize("beside", [False, True])
def test_runs_from_host_to_host(beside: bool) -> None:
    """Outputs are new arrays each time, of inputs wherever they lie; two runs need no turns."""
    engine = load_model(add_one())
    x = np.arange(12, dtype=np.float32).reshape(2, 6)[:, ::2]

    runs = [engine.on_hosts([x * number], beside=beside) for number in range(3)]
    found = [run()[0] for run in runs if run is not None]

    assert [array.tolist() for array in found] == [(x * number + 1).tolist() for number in range(3)]
    engine.close()
    assert engine.on_hosts([x], beside=beside) is None
    assert found[2].tolist() == (x * 2 + 1).tolist()  # it does not need the engine


def test_which_models_overlap(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those do that are small and there is a core more for; their dtypes are NumPy's own."""
    monkeypatch.setenv("AACL_CORES", "2")
    weight = numpy_helper.from_array(np.ones((64, 64), np.float32), "w")
    product = model_bytes(
        [helper.make_node("MatMul", ["x", "w"], ["y"])],
        [("x", TensorProto.FLOAT, [2, 64])], [("y", TensorProto.FLOAT, [2, 64])], [weight],
    )  # fmt: skip
    bfloat16 = model_bytes(
        [helper.make_node("Identity", ["x"], ["y"])],
        [("x", TensorProto.BFLOAT16, [2])],
        [("y", TensorProto.BFLOAT16, [2])],
    )
    small, apart = load_model(add_one()), load_model(product)

    assert small.overlaps
    assert apart.overlaps is (len(product) < models._LARGE)  # else its weights would be laid out twice
    assert not load_model(bfloat16).overlaps
    assert load_model(bfloat16).on_hosts([np.zeros(2, np.float32)]) is None
    monkeypatch.setenv("AACL_CORES", "1")
    assert not small.overlaps
    small.close()
    assert not small.overlaps


def test_constant_of_a_wrong_size_is_refused() -> None:
    """A large constant with fewer bytes than its dims say is refused; nothing is read past its end."""
    short = TensorProto(name="w", data_type=TensorProto.FLOAT, dims=[64, 64], raw_data=bytes(2048))
    data = model_bytes(
        [helper.make_node("MatMul", ["x", "w"], ["y"])],
        [("x", TensorProto.FLOAT, [2, 64])],
        [("y", TensorProto.FLOAT, [2, 64])],
        [short],
    )

    with pytest.raises(ModelDataError):
        load_model(data)
