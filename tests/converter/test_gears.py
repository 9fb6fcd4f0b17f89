"""Gears: batches, picture sizes and any dims, with every check (C120, C121)."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from onnx import TensorProto, helper

from aacl.converter import InvalidOption, Unconvertible, convert
from aacl.converter._gears import GearList, gear_list, gear_shapes
from aacl.converter._shapes import Span
from aacl.models import GearKind
from aacl.models._om import read_om
from aacl.models._package import ModelPackage, read_package

F = TensorProto.FLOAT
Save = Callable[..., Path]
Read = Callable[[Path], ModelPackage]
Run = Callable[..., list[Any]]


@pytest.mark.parametrize("gears", ["1,4,2", "1,4,2,", " 1 , 4 , 2 ;", [1, 4, 2], [(1,), (4,), (2,)]])
def test_batch_gears(conv_net: Save, read: Read, compute: Run, gears: Any) -> None:
    """Each gear has its shapes; inputs have -1 and the gears' range, outputs the largest gear's dims."""
    source = conv_net()

    path = convert(source, source.with_name("o"), input_shape="image:-1,3,8,8", dynamic_batch_size=gears)

    signature = read(path).signature
    assert (signature.inputs[0].shape, signature.inputs[0].ranges) == ((-1, 3, 8, 8), ((1, 4), (3, 3), (8, 8), (8, 8)))
    assert (signature.outputs[0].shape, signature.outputs[0].ranges) == ((4, 8), ())
    assert signature.gears is not None
    assert (signature.gears.kind, signature.gears.values) == (GearKind.BATCH, ((1,), (4,), (2,)))
    assert signature.gears.inputs == (((1, 3, 8, 8),), ((4, 3, 8, 8),), ((2, 3, 8, 8),))
    assert signature.gears.outputs == (((1, 8),), ((4, 8),), ((2, 8),))
    assert not read_om(path.read_bytes()).is_dynamic
    assert [compute(path, np.zeros((size, 3, 8, 8), np.float32))[0].shape for size in (2, 4)] == [(2, 8), (4, 8)]
    assert read_package(path.read_bytes()).signature == signature  # type: ignore[union-attr]


@pytest.mark.parametrize(("layout", "shape", "gear"), [("NCHW", "1,3,-1,-1", (1, 3, 6, 4)), ("NHWC", "1,-1,-1,3", (1, 6, 4, 3))])  # fmt: skip
def test_image_gears_are_height_and_width(
    save: Save, read: Read, layout: str, shape: str, gear: tuple[int, ...]
) -> None:
    """The pairs are height,width, and go where the layout has them (C105)."""
    source = save([helper.make_node("Neg", ["x"], ["y"])], [("x", F, ["a", "b", "c", "d"])], [("y", F, None)])

    path = convert(source, source.with_name("o"), input_shape=shape, dynamic_image_size="6,4;8,8;", input_format=layout)

    gears = read(path).signature.gears
    assert gears is not None
    assert (gears.kind, gears.values) == (GearKind.SIZE, ((6, 4), (8, 8)))
    assert gears.inputs[0] == gears.outputs[0] == (gear,)


def test_an_input_with_the_name_of_the_hidden_one_is_refused(save: Save) -> None:
    """With gears programs find the hidden input by its name; without them the name is as good as any."""
    name = "ascend_mbatch_shape_data"
    source = save([helper.make_node("Neg", [name], ["y"])], [(name, F, ["n", 4])], [("y", F, None)])

    with pytest.raises(InvalidOption, match="rename the model's input"):
        convert(source, source.with_name("o"), input_shape=f"{name}:-1,4", dynamic_batch_size="1,2")
    assert convert(source, source.with_name("o"), input_shape=f"{name}:2,4").exists()


def test_dims_gears_take_every_free_dim_in_order(save: Save, read: Read, compute: Run) -> None:
    """One number a -1, in the inputs' order; a scalar is listed without dims (C093, C121)."""
    source = save(
        [helper.make_node("MatMul", ["a", "b"], ["m"]), helper.make_node("Mul", ["m", "s"], ["y"])],
        [("a", F, ["n", 3]), ("s", F, []), ("b", F, [3, "k"])],
        [("y", F, None)],
    )

    path = convert(
        source, source.with_name("o"), input_shape="a:-1,3;s:;b:3,-1", dynamic_dims="4,5;1,2", input_format="ND"
    )

    signature = read(path).signature
    assert signature.gears is not None
    assert signature.gears.inputs == (((4, 3), (), (3, 5)), ((1, 3), (), (3, 2)))
    assert signature.gears.outputs == (((4, 5),), ((1, 2),))
    assert [spec.shape for spec in signature.inputs] == [(-1, 3), (), (3, -1)]
    two = np.full((), 2, np.float32)
    np.testing.assert_array_equal(
        compute(path, np.ones((1, 3), np.float32), two, np.ones((3, 2), np.float32))[0], [[6, 6]]
    )


def test_one_symbol_is_parted_where_gears_part_it(save: Save, read: Read) -> None:
    """Two dims of one name that the gears give different sizes have different names in the graph."""
    source = save(
        [helper.make_node("Neg", ["a"], ["p"]), helper.make_node("Neg", ["b"], ["q"])],
        [("a", F, ["n"]), ("b", F, ["n"])],
        [("p", F, ["n"]), ("q", F, ["n"])],
    )

    path = convert(source, source.with_name("o"), input_shape="-1;-1", dynamic_dims="1,2;3,4", input_format="ND")

    graph = onnx.ModelProto.FromString(bytes(read(path).graph[0])).graph
    assert [value.type.tensor_type.shape.dim[0].dim_param for value in graph.input] == ["n", "b_dim0"]


def test_shapes_that_inference_cannot_tell_are_tried_for_each_gear(save: Save, read: Read) -> None:
    """An output shape computed inside the graph is right for every gear."""
    nodes = [
        helper.make_node("Shape", ["x"], ["s"]),
        helper.make_node("ReduceProd", ["s"], ["count"], keepdims=1),
        helper.make_node("Reshape", ["x", "count"], ["y"]),
    ]
    source = save(nodes, [("x", F, ["n", 3])], [("y", F, None)])

    gears = read(convert(source, source.with_name("o"), input_shape="-1,3", dynamic_batch_size="2,5")).signature.gears

    assert gears is not None
    assert gears.outputs == (((6,),), ((15,),))


def test_gear_that_the_model_cannot_run_is_named(save: Save) -> None:
    """A batch fixed inside the graph is found: the gears that fail are named, and nothing is written."""
    source = save(
        [helper.make_node("Reshape", ["x", "shape"], ["y"])], [("x", F, ["n", 4])], [("y", F, [1, 4])],
        {"shape": np.array([1, 4])},
    )  # fmt: skip

    with pytest.raises(InvalidOption, match="does not run with the gears '2', '8', and does with others"):
        convert(source, source.with_name("o"), input_shape="-1,4", dynamic_batch_size="1,2,8")
    assert not source.with_name("o.om").exists()


def test_gears_too_large_to_try(save: Save, read: Read) -> None:
    """A gear of many gigabytes is not run while converting: inference gives its shapes, or it is refused."""
    nodes = [helper.make_node("Neg", ["x"], ["y"])]
    source = save(nodes, [("x", F, ["n", 1 << 20])], [("y", F, None)])
    options = {"input_shape": f"-1,{1 << 20}", "dynamic_batch_size": [1, 1 << 16]}

    gears = read(convert(source, source.with_name("o"), **options)).signature.gears  # type: ignore[arg-type]

    assert gears is not None
    assert gears.outputs == (((1, 1 << 20),), ((1 << 16, 1 << 20),))
    nodes += [
        helper.make_node("Shape", ["y"], ["s"]),
        helper.make_node("ReduceProd", ["s"], ["p"]),
        helper.make_node("Reshape", ["y", "p"], ["r"]),
    ]
    source = save(nodes, [("x", F, ["n", 1 << 20])], [("r", F, None)])
    with pytest.raises(Unconvertible, match=r"'r' can neither be inferred.*are not tried"):
        convert(source, source.with_name("o"), **options)  # type: ignore[arg-type]


def test_values_that_no_trial_can_make_up(save: Save, read: Read) -> None:
    """A model that runs on neither zeros nor ones has the shapes that inference gives."""
    source = save(
        [
            helper.make_node("Mod", ["i", "one"], ["zero"]),
            helper.make_node("Div", ["i", "zero"], ["y"]),
        ],
        [("i", TensorProto.INT32, ["n", 4])],
        [("y", TensorProto.INT32, None)],
        {"one": np.array(1, np.int32)},
    )

    gears = read(convert(source, source.with_name("o"), input_shape="-1,4", dynamic_batch_size="1,2")).signature.gears

    assert gears is not None
    assert gears.outputs == (((1, 4),), ((2, 4),))


def test_value_dependent_output_is_refused_with_gears(save: Save) -> None:
    """An output whose shape depends on values cannot be a gear's: refused by name, with the way out."""
    source = save([helper.make_node("NonZero", ["x"], ["where"])], [("x", F, ["n"])], [("where", TensorProto.INT64, None)])  # fmt: skip

    with pytest.raises(Unconvertible, match=r"depend on the values.*'where'") as caught:
        convert(source, source.with_name("o"), input_shape="-1", dynamic_batch_size="1,2")
    assert "Leave the gears out" in caught.value.report.solution


@pytest.mark.parametrize(
    ("options", "code", "words"),
    [
        ({"dynamic_batch_size": "4"}, "E10035", "1 gear"),
        ({"dynamic_batch_size": ",".join(map(str, range(1, 102)))}, "E10036", "101 gears"),
        ({"dynamic_batch_size": "1,0"}, "E10038", "'0'"),
        ({"dynamic_batch_size": "1,-2"}, "E10038", "'-2'"),
        ({"dynamic_batch_size": "1,2,1"}, "E10039", "'1' twice"),
        ({"dynamic_batch_size": "1,x"}, "E10014", "'x'"),
        ({"dynamic_batch_size": "1,2.0"}, "E10014", "'2.0'"),
        ({"dynamic_batch_size": "1,,2"}, "E10014", "''"),
        ({"dynamic_batch_size": "1,1_0"}, "E10014", "'1_0'"),
        ({"dynamic_batch_size": "1,2147483648"}, "E10013", "'2147483648'; 2147483647 is the largest"),
        ({"dynamic_batch_size": [1, 2.5]}, "E10014", "2.5"),
        ({"dynamic_batch_size": [1, None]}, "E10014", "None"),
        ({"input_shape": None}, "E10004", "needs --input_shape"),
        ({"input_shape": "x:2,3,8,8;y:2,3,8,8"}, "E10031", "gives none"),
        ({"input_shape": "x:-1,3,-1,8;y:2,3,8,8"}, "E10018", r"'x' \[-1, 3, -1, 8\]"),
        ({"input_shape": "x:2,3,8,-1;y:-1,3,8,8"}, "E10018", "input 'x'"),
        ({"input_shape": "x:1~4,3,8,8;y:-1,3,8,8"}, "E10001", "range 1~4"),
        ({"input_shape": "x:-1,3,8,8"}, "E10001", r"y \[n, c, h, w\]"),
        ({"dynamic_image_size": "8,8;16,16"}, "E10009", "dynamic_batch_size.*dynamic_image_size"),
        ({"dynamic_dims": "8;16"}, "E10009", "dynamic_batch_size.*dynamic_dims"),
    ],
)
def test_wrong_batch_gears(save: Save, options: dict[str, Any], code: str, words: str) -> None:
    """Each bad value of the batch gears, or of --input_shape beside them, is refused with its code."""
    _refused(save, {"input_shape": "x:-1,3,8,8;y:-1,3,8,8", "dynamic_batch_size": "1,2"} | options, code, words)


@pytest.mark.parametrize(
    ("options", "code", "words"),
    [
        ({"dynamic_image_size": "8,8"}, "E10035", "1 gear"),
        ({"dynamic_image_size": "8,8;16"}, "E10020", "'16'; a gear is height,width"),
        ({"dynamic_image_size": "8,8;1,2,3"}, "E10020", "'1,2,3'"),
        ({"dynamic_image_size": "8,8;8,8"}, "E10039", "'8,8' twice"),
        ({"dynamic_image_size": "8,8;8,0"}, "E10038", "'8,0'"),
        ({"input_shape": "x:2,3,8,8;y:2,3,8,8"}, "E10040", "gives none"),
        ({"input_shape": "x:2,3,-1,8;y:2,3,8,8"}, "E10019", r"dims 2 and 3 in NCHW"),
        ({"input_shape": "x:-1,3,-1,-1;y:2,3,8,8"}, "E10019", "input 'x'"),
        ({"input_format": "ND"}, "E10001", "needs --input_format NCHW or NHWC, and ND"),
        ({"input_format": "NHWC"}, "E10019", "dims 1 and 2 in NHWC"),
    ],
)
def test_wrong_image_gears(save: Save, options: dict[str, Any], code: str, words: str) -> None:
    """Each bad value of the picture gears, or of --input_shape beside them, is refused with its code."""
    _refused(save, {"input_shape": "x:2,3,-1,-1;y:2,3,8,8", "dynamic_image_size": "8,8;16,16"} | options, code, words)


@pytest.mark.parametrize(
    ("options", "code", "words"),
    [
        ({"dynamic_dims": "1,8"}, "E10035", "1 gear"),
        ({"dynamic_dims": "1,8;2"}, "E10037", "'1,8' has 2, '2' has 1"),
        ({"dynamic_dims": "1;2"}, "E10046", "1 sizes a gear.*2 dims of -1: x at 0, y at 3"),
        ({"dynamic_dims": "1,2,3;4,5,6"}, "E10045", "3 sizes a gear"),
        ({"dynamic_dims": "1,8;1,8"}, "E10039", "twice"),
        ({"dynamic_dims": "1,8;0,8"}, "E10038", "'0,8'"),
        ({"input_format": "NCHW"}, "E10001", "needs --input_format=ND, and NCHW"),
        ({"input_shape": "x:2,3,8,8;y:2,3,8,8"}, "E10040", "gives none"),
    ],
)
def test_wrong_dims_gears(save: Save, options: dict[str, Any], code: str, words: str) -> None:
    """Each bad value of the gears of any dims, or of --input_shape beside them, is refused with its code."""
    base = {"input_shape": "x:-1,3,8,8;y:2,3,8,-1", "dynamic_dims": "1,8;2,9", "input_format": "ND"}
    _refused(save, base | options, code, words)


def test_scalar_must_be_listed_beside_gears(save: Save) -> None:
    """A scalar input that --input_shape leaves out is refused by name (C121)."""
    source = save([helper.make_node("Mul", ["a", "s"], ["y"])], [("a", F, ["n"]), ("s", F, [])], [("y", F, None)])

    with pytest.raises(InvalidOption, match="list scalar inputs too: 's'"):
        convert(source, source.with_name("o"), input_shape="a:-1", dynamic_batch_size="1,2")


def _refused(save: Save, options: dict[str, Any], code: str, words: str) -> None:
    dims = ["n", "c", "h", "w"]
    source = save(
        [helper.make_node("Neg", ["x"], ["p"]), helper.make_node("Neg", ["y"], ["q"])],
        [("x", F, dims), ("y", F, dims)],
        [("p", F, dims), ("q", F, dims)],
    )

    with pytest.raises(InvalidOption, match=words) as caught:
        convert(source, source.with_name("o"), **options)
    assert caught.value.report.code == code
    assert not source.with_name("o.om").exists()


@given(st.lists(st.lists(st.integers(1, 9), min_size=3, max_size=3).map(tuple), min_size=2, unique=True, max_size=9))
def test_sizes_go_to_the_free_dims_and_nowhere_else(values: list[tuple[int, ...]]) -> None:
    """Every gear's sizes stand in the free dims, in order; fixed dims keep theirs."""
    gears = gear_list({GearKind.DIMS: ";".join(",".join(map(str, gear)) for gear in values)})

    assert gears == GearList(GearKind.DIMS, tuple(values))
    free, fixed = Span(0, -1), Span(7, 7)
    assert gear_shapes(gears, [(free, fixed), (), (fixed, free, free)]) == tuple(
        ((a, 7), (), (7, b, c)) for a, b, c in values
    )
