"""What our .om files hold, and how device-compiled ones are refused."""

from __future__ import annotations

import struct

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from aacl.dtypes import DataType, Format
from aacl.errors import ModelDataError
from aacl.models._om import Partition, PartitionType, om_pieces, read_om
from aacl.models._operator import OperatorModel
from aacl.models._package import ModelPackage, OperatorPackage, package_pieces, read_package
from aacl.models._signature import ModelSignature, TensorSpec
from aacl.tensors import TensorDesc

SIGNATURE = ModelSignature(
    name="net",
    inputs=(TensorSpec("data", DataType.FLOAT, (1, 3, 8, 8), Format.NCHW), TensorSpec("n", DataType.INT64, ())),
    outputs=(TensorSpec("Softmax_2:0:prob", DataType.BF16, (1, 10)),),
    soc_version="Ascend310P3",
    weight_nbytes=123,
)


def message(number: int, body: bytes) -> bytes:
    """Encode a length-delimited protobuf field."""
    assert len(body) < 128

    return bytes([number << 3 | 2, len(body)]) + body


def attribute(key: bytes, body: bytes) -> bytes:
    """Encode an entry of ge.proto.ModelDef's attribute map."""
    return message(11, message(1, key) + message(2, body))


def compiled(*attributes: bytes) -> bytes:
    """Lay out a file as the real converter does: a definition, weights, kernels and tasks."""
    definition = message(1, b"ge_default") + b"\x10\x01" + b"".join(attributes)
    kinds = [(0, definition), (1, b"w"), (3, b"kernels"), (2, b"tasks")]
    return b"".join(om_pieces([[Partition(kind, (body,)) for kind, body in kinds]]))


def file_of(package: ModelPackage | OperatorPackage) -> bytes:
    return b"".join(package_pieces(package))


def test_model_comes_back() -> None:
    """Signature, graph, options and producer come back as they were written."""
    package = ModelPackage(SIGNATURE, (b"graph ", b"bytes"), {"precision_mode": "force_fp32"}, "aacl 0.1.0")

    read = read_package(file_of(package))

    assert isinstance(read, ModelPackage)
    assert (read.signature, read.options, read.producer) == (SIGNATURE, package.options, package.producer)
    assert bytes(read.graph[0]) == b"graph bytes"


def test_graph_is_aligned_in_the_file() -> None:
    """The graph begins at a multiple of 16 bytes, so that its constants can be used where they lie."""
    data = file_of(ModelPackage(SIGNATURE, (b"GRAPHBYTES",)))

    assert data.index(b"GRAPHBYTES") % 16 == 0


def test_partition_number_spells_our_name() -> None:
    """Our partition's type is none of the real ones and reads AACL in the file."""
    data = file_of(ModelPackage(SIGNATURE, (b"graph",)))

    assert data[264:268] == b"AACL"
    assert [part.type for part in read_om(data).models[0]] == [PartitionType.AACL]


def test_sizes_are_products() -> None:
    """A tensor's bytes are its dims times its item size, without padding; 0 with a free dim."""
    assert [spec.nbytes for spec in (*SIGNATURE.inputs, *SIGNATURE.outputs)] == [768, 8, 20]
    assert TensorSpec("x", DataType.FLOAT, (-1, 4)).nbytes == 0
    assert TensorSpec("x", DataType.FLOAT, (0, 4)).nbytes == 0


@given(
    st.lists(st.tuples(st.text(), st.sampled_from([d for d in DataType if d >= 0]), st.lists(st.integers(-1, 9)))),
    st.text(),
)
def test_signature_survives_json(tensors: list[tuple[str, DataType, list[int]]], name: str) -> None:
    """Any names, dtypes and dims survive the JSON form, ranges where dims are free."""
    specs = tuple(
        TensorSpec(label, dtype, tuple(dims), Format.ND, tuple((1, -1) for _ in dims)) for label, dtype, dims in tensors
    )
    signature = ModelSignature(name, specs, specs[:1])

    assert ModelSignature.from_json(signature.to_json()) == signature


def test_operator_comes_back() -> None:
    """Descriptions (free dims, ranges, constants, absent inputs) and attributes come back."""
    axes = np.array([0, 2], np.int32)
    operator = OperatorModel(
        "0_ReduceSum",
        "ReduceSum",
        (
            TensorDesc.of(DataType.FLOAT16, (-1, 3, 4), ranges=((1, 8), (3, 3), (4, 4)), name="x"),
            TensorDesc.of(DataType.INT32, (2,), value=axes),
            None,
        ),
        (TensorDesc.of(DataType.FLOAT16, (-2,)),),
        {"keep_dims": True, "pads": [[0, 1], [2, 3]], "dst_type": DataType.INT8, "alpha": 0.1, "mode": "same"},
        "Ascend910B3",
    )

    read = read_package(file_of(OperatorPackage(operator, {"compile_flag": "1"})))

    assert isinstance(read, OperatorPackage)
    assert read.operator == operator
    assert read.options == {"compile_flag": "1"}


@pytest.mark.parametrize(
    ("wanted", "op_type", "inputs", "outputs", "attributes"),
    [
        (True, "Cast", [("FLOAT", (5, 4))], [("INT8", (5, 4))], {"dst_type": 2}),
        (True, "Cast", [("FLOAT", (-1, 4))], [("INT8", (1, 4))], {"dst_type": 2}),
        (False, "Add", [("FLOAT", (5, 4))], [("INT8", (5, 4))], {"dst_type": 2}),
        (False, "Cast", [("FLOAT", (5, 4))], [("INT8", (5, 4))], {"dst_type": 3}),
        (False, "Cast", [("FLOAT", (5, 4))], [("INT8", (5, 4))], {}),
        (False, "Cast", [("FLOAT", (9, 4))], [("INT8", (5, 4))], {"dst_type": 2}),
        (False, "Cast", [("FLOAT", (5, 5))], [("INT8", (5, 4))], {"dst_type": 2}),
        (False, "Cast", [("FLOAT", (5, 4, 1))], [("INT8", (5, 4))], {"dst_type": 2}),
        (False, "Cast", [("DOUBLE", (5, 4))], [("INT8", (5, 4))], {"dst_type": 2}),
        (False, "Cast", [("FLOAT", (5, 4))], [("INT16", (5, 4))], {"dst_type": 2}),
        (False, "Cast", [("FLOAT", (5, 4))] * 2, [("INT8", (5, 4))], {"dst_type": 2}),
    ],
)
def test_operator_serves_its_requests(
    wanted: bool,
    op_type: str,
    inputs: list[tuple[str, tuple[int, ...]]],
    outputs: list[tuple[str, tuple[int, ...]]],
    attributes: dict[str, int],
) -> None:
    """Type, counts, dtypes, dims within ranges and attributes decide whether an operator model serves a request."""
    model = OperatorModel(
        "cast",
        "Cast",
        (TensorDesc.of(DataType.FLOAT, (-1, 4), ranges=((1, 8), (4, 4))),),
        (TensorDesc.of(DataType.INT8, (-1, 4)),),
        {"dst_type": DataType.INT8},
    )
    given_in = [TensorDesc.of(DataType[dtype], shape) for dtype, shape in inputs]
    given_out = [TensorDesc.of(DataType[dtype], shape) for dtype, shape in outputs]

    assert model.serves(op_type, given_in, given_out, attributes) == wanted


def test_constant_and_absent_inputs_decide_too() -> None:
    """A constant must come with the same value, an absent input must be absent, a format must be equal."""
    axes = TensorDesc.of(DataType.INT32, (2,), value=np.array([0, 2], np.int32))
    other = TensorDesc.of(DataType.INT32, (2,), value=np.array([0, 1], np.int32))
    unknown = TensorDesc.of(DataType.INT32, (2,))
    absent = TensorDesc.of(DataType.UNDEFINED, ())
    picture, flat = (TensorDesc.of(DataType.FLOAT, (1, 2, 3, 4), form) for form in (Format.NCHW, Format.ND))
    model = OperatorModel("r", "R", (picture, axes, None), (flat,))

    def serves(*inputs: TensorDesc | None) -> bool:
        return model.serves("R", inputs, (flat,), {})

    assert serves(picture, axes, None)
    assert serves(picture, axes, absent)
    assert not serves(picture, other, None)
    assert not serves(picture, unknown, None)
    assert not serves(picture, axes, unknown)
    assert not serves(picture, None, None)
    assert not serves(flat, axes, None)


def test_unknown_rank_serves_any_shape() -> None:
    """A model compiled for an unknown rank serves every rank."""
    model = OperatorModel("n", "Neg", (TensorDesc.of("float32", (-2,)),), (TensorDesc.of("float32", (-2,)),))
    desc = TensorDesc.of("float32", (2, 3, 4))

    assert model.serves("Neg", [desc], [desc], {})


def test_device_compiled_file_names_its_soc() -> None:
    """A file of the real converter is refused with its SoC, its partitions and what to do."""
    data = compiled(attribute(b"soc_version", message(2, b"Ascend910B3")), attribute(b"stream_num", b"\x18\x01"))

    with pytest.raises(ModelDataError, match=r"compiled for Ascend910B3 .*TASK_INFO, TBE_KERNELS.*ONNX model.*atc"):
        read_package(data)


def test_compressed_attribute_names_are_read() -> None:
    """Newer writers store attribute names as base-127 indices into attr_name_enum."""
    names = [b"a", b"b"] + [b"x"] * 126 + [b"soc_version"]
    table = b"".join(bytes([2 << 3 | 2, len(name)]) + name for name in names)
    size = len(table)
    wide = bytes([1 << 3 | 2, size & 0x7F | 0x80, size >> 7]) + table
    entry = message(1, b"attr_name_enum")
    value = bytes([2 << 3 | 2, len(wide) & 0x7F | 0x80, len(wide) >> 7]) + wide
    entry += value
    big = bytes([11 << 3 | 2, len(entry) & 0x7F | 0x80, len(entry) >> 7]) + entry
    data = compiled(big, attribute(bytes([0, 128 % 127 + 1, 128 // 127 + 1]), message(2, b"Ascend310B1")))

    with pytest.raises(ModelDataError, match="compiled for Ascend310B1"):
        read_package(data)


@pytest.mark.parametrize("definition", [b"", b"\xff\xff\xff", b"\x0a\x7fshort"])
def test_unreadable_definition_is_still_refused(definition: bytes) -> None:
    """Without a readable MODEL_DEF the refusal stands, for an unnamed SoC."""
    data = b"".join(om_pieces([[Partition(0, (definition,)), Partition(99, (b"x",))]]))

    with pytest.raises(ModelDataError, match=r"an unnamed SoC.*99"):
        read_package(data)


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (b"", "too few"),
        (struct.pack("<II", 2, 0), "layout 2"),
        (struct.pack("<II", 1, 50) + b"{}", "states 50 bytes of 2"),
        (struct.pack("<II", 1, 2) + b"{]", "no JSON"),
        (struct.pack("<II", 1, 20000) + b"[" * 20000, "no JSON"),
        (struct.pack("<II", 1, 2) + b"[]", "damaged"),
        (struct.pack("<II", 1, 31) + b'{"options":{},"producer":"aacl"}'[:31], "no JSON"),
        (struct.pack("<II", 1, 32) + b'{"options":{},"producer":"aacl"}', "KeyError: 'kind'"),
        (struct.pack("<II", 1, 45) + b'{"options":{},"producer":"","kind":"ensemble"}'[:46], "no JSON"),
        (struct.pack("<II", 1, 46) + b'{"options":{},"producer":"","kind":"ensemble"}', "'ensemble'"),
    ],
)
def test_damaged_description_is_refused(body: bytes, words: str) -> None:
    """Our partition with a wrong length, layout or JSON is refused with what is wrong."""
    data = b"".join(om_pieces([[Partition(PartitionType.AACL, (body,))]]))

    with pytest.raises(ModelDataError, match=words.replace("(", r"\(")):
        read_package(data)
