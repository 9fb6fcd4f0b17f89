"""Inputs that must hold one element, or a fixed number of them: refused when an operation is prepared."""

from __future__ import annotations

import re

import pytest

from aacl.errors import InvalidArgument
from aacl.ops._catalogue import schema_of
from aacl.ops._infer import infer_outputs
from aacl.tensors._desc import UNKNOWN_RANK, TensorDesc
from tests.helpers.samples import samples
from tests.helpers.samples._probe import supported


def _names(op_type: str) -> list[str]:
    return [parameter.name for parameter in schema_of(op_type).inputs]


_THRESHOLDS = ("iou_threshold", "overlap_threshold", "score_threshold", "soft_nms_sigma")
_SUPPRESSIONS = [f"NonMaxSuppression{version}" for version in ("V2", "V3", "V4", "V5", "V6", "V7", "WithOverlaps")]

ONES = [
    *((op_type, "value") for op_type in ("Fill", "FillD")),
    *((op_type, name) for op_type in ("OneHot", "OneHotD") for name in ("on_value", "off_value")),
    *((op_type, name) for op_type in ("LinSpace", "LinSpaceD") for name in ("start", "stop")),
    *(("Range", name) for name in ("start", "limit", "delta")),
    *(("MatrixBandPart", name) for name in ("num_lower", "num_upper")),
    *((f"MatrixDiag{kind}", "padding_value") for kind in ("V2", "V3", "PartV2", "PartV3")),
    *((op_type, "constant_values") for op_type in ("PadV2", "PadV2D")),
    *((op_type, name) for op_type in _SUPPRESSIONS for name in _THRESHOLDS if name in _names(op_type)),
    ("InplaceIndexAdd", "alpha"),
    ("MatrixSolveLs", "l2"),
    ("HistogramV2", "min"),
    ("HistogramV2", "max"),
    ("ConcatOffset", "concat_dim"),
    ("NLLLossGrad", "total_weight"),
    ("StatelessRandomNormalV2", "key"),
    ("StatelessRandomUniformV2", "alg"),
]

COUNTED = [
    ("StatelessMultinomial", "seed", (3,), "2 elements"),
    ("StatelessRandomPoisson", "seed", (0,), "2 elements"),
    ("StatelessRandomUniformInt", "seed", (1,), "2 elements"),
    ("StatelessRandomUniformIntV2", "counter", (0,), "1 to 2 elements"),
    ("StatelessRandperm", "seed", (0,), "1 or more elements"),
    ("StatelessBernoulli", "offset", (0,), "1 or more elements"),
    ("StatelessDropOutGenMask", "seed1", (0,), "1 or more elements"),
]


def _refused(op_type: str, name: str, shape: tuple[int, ...]) -> str:
    """Prepare a sample with another shape of one input; return the refusal."""
    with pytest.raises(InvalidArgument) as caught:
        _infer(op_type, name, shape)
    return str(caught.value)


def _infer(op_type: str, name: str, shape: tuple[int, ...]) -> None:
    sample, schema = samples()[op_type][1], schema_of(op_type)
    dtype = next(iter(supported(op_type, sample))).numpy_dtype
    names = [parameter.name for parameter in schema.assign(len(sample.inputs))]
    arrays = sample.arrays(dtype)
    descs = [
        None
        if array is None or operand is None
        else TensorDesc.of(array.dtype, shape)
        if names[place] == name
        else TensorDesc.of(array.dtype, array.shape, operand.format, value=array if operand.is_known else None)
        for place, (array, operand) in enumerate(zip(arrays, sample.inputs, strict=True))
    ]
    assert any(desc is not None and each == name for desc, each in zip(descs, names, strict=True))
    infer_outputs(schema, descs, schema.complete(sample.attributes, len(descs)))


@pytest.mark.parametrize("shape", [(0,), (5,), (1, 2)])
@pytest.mark.parametrize(("op_type", "name"), ONES)
def test_one_element(op_type: str, name: str, shape: tuple[int, ...]) -> None:
    """None or several are refused by a text that names operator, input, shape and what is wanted."""
    text = _refused(op_type, name, shape)

    wanted = rf"operator {op_type}: input {name} of shape {re.escape(str(shape))} must hold (one|1) element$"
    assert re.fullmatch(wanted, text), text


@pytest.mark.parametrize(("op_type", "name"), ONES)
@pytest.mark.parametrize("shape", [(), (1,), (1, 1), (-1,), UNKNOWN_RANK], ids=str)
def test_one_element_of_any_rank(op_type: str, name: str, shape: tuple[int, ...]) -> None:
    """One element is taken whatever its rank, and what may turn out to be one."""
    _infer(op_type, name, shape)


@pytest.mark.parametrize(("op_type", "name", "shape", "wanted"), COUNTED)
def test_counted_elements(op_type: str, name: str, shape: tuple[int, ...], wanted: str) -> None:
    """Seeds, keys and counters of another length are refused by a text that says how many are wanted."""
    text = _refused(op_type, name, shape)

    assert f"input {name} of shape {shape} must hold {wanted}" in text
