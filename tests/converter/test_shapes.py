"""Free dims: -1 and ranges, by name and by order, in both options, and what the outputs are then."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from onnx import TensorProto, helper

from aacl.converter import InvalidOption, Unconvertible, convert, convert_operators
from aacl.converter._shapes import Span, normalized_shapes
from aacl.models._om import read_om
from aacl.models._package import ModelPackage

F = TensorProto.FLOAT
Save = Callable[..., Path]
Read = Callable[[Path], ModelPackage]
Run = Callable[..., list[Any]]

SPANS = st.one_of(
    st.integers(1, 2**40).map(lambda size: Span(size, size)),
    st.just(Span(0, -1)),
    st.tuples(st.integers(0, 100), st.integers(101, 2**40)).map(lambda pair: Span(*pair)),
    st.integers(1, 100).map(lambda low: Span(low, -1)),
)
SHAPES = st.lists(SPANS, max_size=5).map(tuple)
NAMES = st.text(st.characters(codec="ascii", exclude_characters=";"), min_size=1).filter(
    lambda name: name == name.strip()
)


@given(st.dictionaries(NAMES, SHAPES, min_size=1))
def test_what_is_written_is_what_is_read(shapes: dict[str, tuple[Span, ...]]) -> None:
    """Any dims under any names, colons included, come through the text of both options."""
    plain = ";".join(f"{name}:{','.join(map(str, dims))}" for name, dims in shapes.items())
    bracketed = ";".join(f"{name}:[{','.join(map(str, dims))}]" for name, dims in shapes.items())

    assert normalized_shapes(plain).named == shapes
    assert normalized_shapes(bracketed, "input_shape_range").named == shapes


@given(st.lists(SHAPES.filter(bool), min_size=1))
def test_shapes_without_names_are_in_order(shapes: list[tuple[Span, ...]]) -> None:
    """Without names, shapes are read in order, from either option."""
    assert list(normalized_shapes(";".join(",".join(map(str, dims)) for dims in shapes)).ordered) == shapes
    for separator in (",", ";"):
        text = separator.join(f"[{','.join(map(str, dims))}]" for dims in shapes)
        assert list(normalized_shapes(text, "input_shape_range").ordered) == shapes


def test_python_values_mean_the_same() -> None:
    """Numbers, pairs and words, by name or in order, mean what the text means."""
    wanted = (Span(1, 1), Span(0, -1), Span(8, 64), Span(8, 64))

    assert normalized_shapes({"x": (1, -1, (8, 64), "8~64")}).named == {"x": wanted}
    assert normalized_shapes([[np.int64(1), "-1", (8, 64), [8, 64]]]).ordered == (wanted,)


@pytest.mark.parametrize("dims", [(1.0, 4), (None, 4), ((1, 2.0), 4), (b"1", 4), ((1, 2, 3), 4), ((), 4), ((-1, 4), 4)])
def test_python_values_that_are_no_dims(two_inputs: Path, dims: Any) -> None:
    """Floats, None, bytes and pairs that are none are refused, not rounded."""
    with pytest.raises(InvalidOption, match="input 'a'") as caught:
        convert(two_inputs, two_inputs.with_name("o"), input_shape={"a": dims, "b": (2, 2)})
    assert caught.value.report.code == "E10002"


@pytest.mark.parametrize(
    "shape",
    ["image:1,3,8~64,-1", "1,3,8~64,-1", {"image": (1, 3, (8, 64), -1)}],
)
def test_free_dims_of_inputs_and_outputs(save: Save, read: Read, compute: Run, shape: Any) -> None:
    """Free dims are -1 with their ranges; an output has them where its dims are the input's, or nobody's."""
    source = save(
        [
            helper.make_node("Relu", ["image"], ["positive"]),
            helper.make_node("NonZero", ["positive"], ["where"]),
            helper.make_node("ReduceSum", ["positive"], ["total"], keepdims=0),
            helper.make_node("Concat", ["image", "image"], ["both"], axis=2),
        ],
        [("image", F, [1, 3, "h", "w"])],
        [("positive", F, [1, 3, "h", "w"]), ("where", TensorProto.INT64, [4, "n"]), ("total", F, []), ("both", F, None)],
    )  # fmt: skip

    path = convert(source, source.with_name("net"), input_shape=shape, soc_version="Ascend910B3")

    signature = read(path).signature
    assert (signature.inputs[0].shape, signature.inputs[0].ranges) == (
        (1, 3, -1, -1),
        ((1, 1), (3, 3), (8, 64), (0, -1)),
    )
    assert [(spec.shape, spec.ranges) for spec in signature.outputs] == [
        ((1, 3, -1, -1), ((1, 1), (3, 3), (8, 64), (0, -1))),
        ((4, -1), ((4, 4), (0, -1))),
        ((), ()),
        ((1, 3, -1, -1), ((1, 1), (3, 3), (0, -1), (0, -1))),
    ]
    assert (path.name, signature.gears) == ("net.om", None)
    assert read_om(path.read_bytes()).is_dynamic
    image = np.random.default_rng(1).standard_normal((1, 3, 9, 5)).astype(np.float32)
    found = compute(path, image)
    np.testing.assert_array_equal(found[1], np.array(np.nonzero(np.maximum(image, 0))))
    assert [out.shape for out in found[::3]] == [(1, 3, 9, 5), (1, 3, 18, 5)]


def test_free_dims_have_names_in_the_graph(save: Save, read: Read) -> None:
    """The model's own symbols stay, one that two inputs share stays one, and a dim without has a name of its own."""
    source = save(
        [helper.make_node("Add", ["a", "b"], ["y"]), helper.make_node("Neg", ["c"], ["z"])],
        [("a", F, ["n", 4]), ("b", F, ["n", 4]), ("c", F, [None, None, -1])],
        [("y", F, ["n", 4]), ("z", F, None)],
    )

    package = read(convert(source, source.with_name("o"), input_shape="a:1~8,4;b:2~-1,4;c:-1,2,-1"))

    graph = onnx.ModelProto.FromString(bytes(package.graph[0])).graph
    names = [[dim.dim_param or dim.dim_value for dim in value.type.tensor_type.shape.dim] for value in graph.input]
    assert names == [["n", 4], ["n", 4], ["c_dim0", 2, "c_dim2"]]
    assert package.signature.outputs[0].ranges == ((2, 8), (4, 4))
    assert package.signature.outputs[1].shape == (-1, 2, -1)


@pytest.mark.parametrize(
    ("shape", "code", "words"),
    [
        ("a:1,4;b:2,2", "E10048", r"\[low~high"),
        ("a:[1~8,4];b:[2~1,2]", "E10048", "range 2~1"),
        ("a:[1~8];b:[2,2]", "E10049", "1 dims.*states 2"),
        ("a:[1~8,1~8];b:[2,2]", "E10050", "fixes it at 4"),
        ("a:[1~8,4];a:[1,4]", "E10048", "twice"),
        ("c:[1~8,4]", "E10016", "--input_shape_range names 'c'"),
        ("a:[-1~8,4];b:[1,2]", "E10048", "range -1~8"),
    ],
)
def test_wrong_ranges_of_the_older_option(two_inputs: Path, shape: str, code: str, words: str) -> None:
    """The older option has its own codes for syntax, rank and dims that the model fixes."""
    with pytest.raises(InvalidOption, match=words) as caught:
        convert(two_inputs, two_inputs.with_name("o"), input_shape_range=shape)

    assert caught.value.report.code == code
    assert not two_inputs.with_name("o.om").exists()


@pytest.mark.parametrize("shape", ["a:[1~8,4];b:[-1,2]", "[1~8,4],[-1,2]"])
def test_older_option_gives_ranges(two_inputs: Path, read: Read, shape: str) -> None:
    """The older option gives the same ranges, with names or without."""
    signature = read(convert(two_inputs, two_inputs.with_name("o"), input_shape_range=shape)).signature

    assert [spec.ranges for spec in signature.inputs] == [((1, 8), (4, 4)), ((0, -1), (2, 2))]


def test_output_of_unknown_rank_is_found_by_trial(save: Save, read: Read) -> None:
    """A Loop's output, of which inference knows nothing, has the rank that trial runs show, all dims free."""
    body = helper.make_graph(
        [helper.make_node("Identity", ["go"], ["go2"]), helper.make_node("Concat", ["v", "v"], ["v2"], axis=0)],
        "body",
        [helper.make_tensor_value_info("i", TensorProto.INT64, []), helper.make_tensor_value_info("go", TensorProto.BOOL, []), helper.make_tensor_value_info("v", F, None)],
        [helper.make_tensor_value_info("go2", TensorProto.BOOL, []), helper.make_tensor_value_info("v2", F, None)],
    )  # fmt: skip
    source = save(
        [helper.make_node("Loop", ["count", "yes", "x"], ["y"], body=body)], [("x", F, ["n", 3])], [("y", F, None)],
        {"count": np.array(3), "yes": np.array(True)},
    )  # fmt: skip

    assert read(convert(source, source.with_name("o"), input_shape="-1,3")).signature.outputs[0].shape == (-1, -1)


class TestProducts:
    """Products that lack models with free dims."""

    def test_is_warned_of(self, two_inputs: Path) -> None:
        """For a product that is documented to lack ranges, one warning names the product, where convert is called."""
        with pytest.warns(RuntimeWarning, match=r"not supported on .*Ascend 310\)") as caught:
            convert(two_inputs, two_inputs.with_name("o"), input_shape="-1,4;2,2", soc_version="Ascend310")

        assert [warning.filename for warning in caught] == [__file__]
        assert two_inputs.with_name("o.om").exists()

    def test_is_refused_in_strict_mode(self, two_inputs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """With AACL_STRICT=1 it is refused, with the free inputs, and nothing is written."""
        monkeypatch.setenv("AACL_STRICT", "1")

        with pytest.raises(Unconvertible, match=r"Ascend310 is; free: a \[-1, 4\]"):
            convert(two_inputs, two_inputs.with_name("o"), input_shape="-1,4;2,2", soc_version="Ascend310")
        assert not two_inputs.with_name("o.om").exists()

    def test_unknown_name_is_warned_of(self, two_inputs: Path, tmp_path: Path) -> None:
        """A name that no product has converts with a warning on the line of the call, models and operators alike."""
        operators = tmp_path / "ops.json"
        desc = {"format": "ND", "shape": [2], "type": "float16"}
        operators.write_text(json.dumps([{"op": "Relu", "input_desc": [desc], "output_desc": [desc]}]))
        with pytest.warns(RuntimeWarning, match="'Unheard' is no SoC") as caught:
            convert(two_inputs, two_inputs.with_name("o"), input_shape="-1,4;2,2", soc_version="Unheard")
        with pytest.warns(RuntimeWarning, match="'Unheard' is no SoC") as later:
            convert_operators(operators, tmp_path / "made", soc_version="Unheard")

        assert [warning.filename for warning in (*caught, *later)] == [__file__, __file__]

    @pytest.mark.parametrize(
        ("soc", "options"),
        [("Ascend310P3", {}), ("Ascend310", {"dynamic_batch_size": "1,2"})],
    )
    def test_is_silent_elsewhere(
        self, two_inputs: Path, soc: str, options: dict[str, str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Other products, and gears on any product, convert silently."""
        monkeypatch.setenv("AACL_STRICT", "1")

        with warnings.catch_warnings():
            warnings.simplefilter("error")
            convert(two_inputs, two_inputs.with_name("o"), input_shape="-1,4;2,2", soc_version=soc, **options)  # type: ignore[arg-type]
