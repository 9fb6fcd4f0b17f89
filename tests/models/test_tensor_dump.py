"""Dumps of models: the tensors of the nodes are those that an independent evaluation gives."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

import aacl
from aacl.abc import NodeValue
from aacl.errors import InvalidArgument, ModelRunError
from aacl.models import Model, Profile, TensorDump, save_values, value_name

Build = Callable[..., Path]
X = np.array([[-2, -1, 3], [4, -5, 6]], np.float32)
WEIGHT = np.arange(600, dtype=np.float32).reshape(3, 200) / 100


def _names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@pytest.fixture(scope="module")
def network(build: Build) -> Path:
    """Y = relu(x · w) + 1, float32 [2, 3] → [2, 200]; w is large enough to lie beside the graph."""
    one = numpy_helper.from_array(np.ones((), np.float32), "one")
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["h"], name="block/product"),
        helper.make_node("Relu", ["h"], ["r"], name="rectify"),
        helper.make_node("Add", ["r", "one"], ["y"], name="plus"),
    ]
    weight = numpy_helper.from_array(WEIGHT, "w")
    takes, gives = [("x", TensorProto.FLOAT, [2, 3])], [("y", TensorProto.FLOAT, [2, 200])]
    return build("network", nodes, takes, gives, [weight, one])


async def test_all_outputs_of_each_run(network: Path, tmp_path: Path) -> None:
    """Each run has a folder with a file a node; results are those of a run without."""
    async with aacl.Device(0), aacl.Stream(), Model(network) as model:
        plain = await model.infer(X)
        async with TensorDump(model, tmp_path):
            dumped = await model.infer(X)
            await model.infer(-X)
        await model.infer(X)

    assert _names(tmp_path) == ["0", "1"]
    names = ["Add.plus.2.output.0.npy", "MatMul.block_product.0.output.0.npy", "Relu.rectify.1.output.0.npy"]
    for number, x in enumerate((X, -X)):
        folder = tmp_path / str(number)
        assert _names(folder) == names
        product = x @ WEIGHT
        expected = [np.maximum(product, 0) + 1, product, np.maximum(product, 0)]
        for name, value in zip(names, expected, strict=True):
            np.testing.assert_allclose(np.load(folder / name), value, rtol=1e-6)
    np.testing.assert_allclose(dumped, plain, rtol=1e-6)


async def test_inputs_of_named_nodes(network: Path, tmp_path: Path) -> None:
    """Only the named nodes are looked at; their inputs come with constants, large and small."""
    async with aacl.Device(0), aacl.Stream(), Model(network) as model:
        dump = TensorDump(model, tmp_path, nodes=["block/product", "plus"], inputs=True, outputs=False)
        async with dump:
            await model.infer(X)

    found = {path.name: np.load(path) for path in (tmp_path / "0").iterdir()}
    assert sorted(found) == [
        "Add.plus.2.input.0.npy",
        "Add.plus.2.input.1.npy",
        "MatMul.block_product.0.input.0.npy",
        "MatMul.block_product.0.input.1.npy",
    ]
    np.testing.assert_array_equal(found["MatMul.block_product.0.input.0.npy"], X)
    np.testing.assert_array_equal(found["MatMul.block_product.0.input.1.npy"], WEIGHT)
    np.testing.assert_array_equal(found["Add.plus.2.input.1.npy"], np.float32(1))


async def test_a_function_gets_the_tensors(network: Path) -> None:
    """Instead of a folder a function may take them, run by run; a profile may go on at the same time."""
    seen: list[tuple[int, list[str]]] = []

    def keep(number: int, values: Sequence[NodeValue]) -> None:
        seen.append((number, [value.name for value in values]))

    async with aacl.Device(0), aacl.Stream(), Model(network) as model:
        dump, profile = TensorDump(model, keep, nodes=["rectify"]), Profile(model)
        async with dump, profile:
            await model.infer(X)
            await model.infer(X)

    assert seen == [(0, ["r"]), (1, ["r"])]
    assert "Relu" in {node.op_type for node in profile.nodes}


async def test_two_dumps_get_their_own(network: Path) -> None:
    """Each dump gets the nodes that it named, and no others."""
    seen: dict[str, list[str]] = {"one": [], "other": []}
    async with aacl.Device(0), aacl.Stream(), Model(network) as model:
        one = TensorDump(model, lambda _number, values: seen["one"].extend(v.node for v in values), nodes=["plus"])
        other = TensorDump(model, lambda _number, values: seen["other"].extend(v.node for v in values))
        async with one, other:
            await model.infer(X)

    assert seen == {"one": ["plus"], "other": ["block/product", "rectify", "plus"]}


async def test_what_cannot_be_kept_fails_the_run(network: Path, tmp_path: Path) -> None:
    """A target that cannot be written is the run's error, with the reason; the model goes on."""
    (tmp_path / "file").write_text("")
    async with aacl.Device(0), aacl.Stream(), Model(network) as model:
        async with TensorDump(model, tmp_path / "file"):
            with pytest.raises(ModelRunError, match="could not be kept"):
                await model.infer(X)
        assert (await model.infer(X)).shape == (2, 200)


async def test_outputs_whose_shape_only_the_run_tells(build: Build, tmp_path: Path) -> None:
    """They are dumped with their exact shape, and the model's result is right."""
    nodes = [helper.make_node("NonZero", ["x"], ["where"]), helper.make_node("Cast", ["where"], ["y"], to=1)]
    path = build("late", nodes, [("x", TensorProto.FLOAT, [2, 3])], [("y", TensorProto.FLOAT, [2, "k"])])
    x = np.array([[0, 1, 0], [2, 0, 3]], np.float32)
    async with aacl.Device(0), aacl.Stream(), Model(path) as model, TensorDump(model, tmp_path):
        result = await model.infer(x)

    expected = np.array(np.nonzero(x))
    np.testing.assert_array_equal(result, expected.astype(np.float32))
    (where,) = (tmp_path / "0").glob("NonZero.*.output.0.npy")
    np.testing.assert_array_equal(np.load(where), expected)


def test_types_that_numpy_has_not(tmp_path: Path) -> None:
    """Bfloat16 is written as float32, four-bit integers as bytes, and names hold no separators."""
    import ml_dtypes

    values = [
        NodeValue("../a/b", "Cast", 0, False, 0, "y", np.array([1.5, -2], ml_dtypes.bfloat16)),
        NodeValue("c", "Cast", 1, False, 0, "z", np.array([-3, 7], ml_dtypes.int4)),
    ]
    paths = save_values(tmp_path / "made", values)

    assert [path.name for path in paths] == [f"{value_name(value)}.npy" for value in values]
    assert paths[0].name == "Cast.___a_b.0.output.0.npy"
    assert [np.load(path).tolist() for path in paths] == [[1.5, -2], [-3, 7]]
    assert [np.load(path).dtype for path in paths] == [np.float32, np.int8]


async def test_what_is_refused(network: Path, tmp_path: Path) -> None:
    """One string is no collection of names, and a dump of nothing is a mistake."""
    model: Any = Model(network)
    with pytest.raises(InvalidArgument, match="collection"):
        TensorDump(model, tmp_path, nodes="plus")
    with pytest.raises(InvalidArgument, match="neither"):
        TensorDump(model, tmp_path, outputs=False)
