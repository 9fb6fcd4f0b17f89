"""Tensor descriptions: interned, immutable values."""

from __future__ import annotations

import copy
import gc
import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from aacl import UNKNOWN_RANK, DataType, Format, InvalidArgument, TensorDesc, UnsupportedDataType

of = TensorDesc.of


@given(
    st.sampled_from([DataType.FLOAT, DataType.INT8, DataType.BOOL]),
    st.lists(st.integers(-1, 5), max_size=4),
    st.sampled_from(Format),
    st.sampled_from(["", "x"]),
)
def test_equal_parts_are_one_object(dtype: DataType, shape: list[int], layout: Format, name: str) -> None:
    """However the parts are spelt, and also through pickle and copy."""
    desc = of(dtype, shape, layout, name=name)

    assert of(dtype.numpy_dtype, tuple(np.array(shape, np.int64)), int(layout), name=name) is desc  # type: ignore[arg-type]
    assert pickle.loads(pickle.dumps(desc)) is desc
    assert copy.copy(desc) is copy.deepcopy(desc) is desc
    assert (desc.dtype, desc.shape, desc.format, desc.name) == (dtype, tuple(shape), layout, name)


@pytest.mark.parametrize(
    "other",
    [
        of("int8", (2, 3)),
        of("float32", (3, 2)),
        of("float32", (2, 3), Format.NCHW),
        of("float32", (2, 3), name="x"),
        of("float32", (2, 3), placement=1),
        of("float32", (2, 3), ranges=[(1, 2), (3, 3)]),
        of("float32", (2, 3), value=np.zeros((2, 3), np.float32)),
    ],
)
def test_any_other_part_makes_another(other: TensorDesc) -> None:
    """Dtype, shape, format, name, placement, ranges and contents all count."""
    assert of("float32", (2, 3)) is not other


def test_contents_count_bit_by_bit() -> None:
    """0.0 and -0.0 differ, equal NaNs do not."""
    zero, minus, nan = (np.array([value], np.float32) for value in (0.0, -0.0, np.nan))

    assert of("float32", (1,), value=zero) is not of("float32", (1,), value=minus)
    assert of("float32", (1,), value=nan) is of("float32", (1,), value=nan.copy())


def test_contents_are_a_read_only_copy() -> None:
    """What the program does to its array afterwards changes nothing."""
    array = np.arange(3, dtype=np.int32)
    desc = of(np.int32, (3,), value=array)
    array[:] = 9
    assert desc.value is not None
    with pytest.raises(ValueError, match="read-only"):
        desc.value[0] = 1

    assert desc.value.tolist() == [0, 1, 2]


def test_sizes() -> None:
    """Counts and bytes of known shapes; free dims and unknown ranks have none."""
    assert (of("float32", (2, 3)).nbytes, of("float32", (2, 3)).element_count) == (24, 6)
    assert (of("int64", ()).nbytes, of("int64", ()).element_count) == (8, 1)
    assert (of("int8", (4, 0)).nbytes, of("int8", (4, 0)).element_count) == (0, 0)
    for shape in ((2, -1), UNKNOWN_RANK):
        desc = of("float32", shape)
        assert (desc.is_static, desc.nbytes, desc.element_count) == (False, 0, -1)


@pytest.mark.parametrize(
    "parts",
    [
        {"shape": (-2, 3)},
        {"shape": (-3,)},
        {"shape": (2, -5)},
        {"shape": (2,), "ranges": [(1, 2), (3, 4)]},
        {"shape": (2,), "value": np.zeros(3, np.float32)},
        {"shape": (2,), "value": np.zeros(2, np.float64)},
        {"shape": ("a",)},
        {"shape": 5},
        {"shape": (1.5,)},
        {"shape": (), "format": 999},
        {"shape": (-1,), "ranges": [3]},
        {"shape": (-1,), "ranges": [(0, "x")]},
        {"shape": (-1,), "ranges": [(0, 1, 2)]},
        {"shape": (-1,), "ranges": [(5, 2)]},
        {"shape": (-1,), "ranges": [(-1, 4)]},
        {"shape": (-1,), "ranges": [(0, -2)]},
        {"shape": (1,) * 65},
        {"shape": (0, 1 << 62, 1 << 62)},
        {"shape": (2,), "value": [1.0, 2.0]},
        {"shape": (), "value": np.float32(1)},
        {"shape": (2,), "origin": 3},
        {"shape": (2,), "origin": (Format.NCHW,)},
    ],
)
def test_parts_that_do_not_fit_are_refused(parts: dict[str, Any]) -> None:
    """Bad dims, range counts, contents and formats, each with a text that shows them."""
    with pytest.raises(InvalidArgument):
        of("float32", **parts)


def test_unknown_dtypes_are_refused() -> None:
    """As everywhere."""
    with pytest.raises(UnsupportedDataType):
        of("U3", ())


def test_ranges_may_be_lists() -> None:
    """Pairs of whole numbers of any kind are the same ranges."""
    assert of("float32", (-1,), ranges=[[0, np.int64(5)]]) is of("float32", (-1,), ranges=((0, 5),))  # type: ignore[list-item] # lists


def test_descriptions_are_not_made_by_hand() -> None:
    """The constructor names the call."""
    with pytest.raises(TypeError, match=r"TensorDesc\.of"):
        TensorDesc()


def test_unused_descriptions_are_forgotten() -> None:
    """The table of known ones keeps none alive."""
    from aacl.tensors import _desc

    gc.collect()
    before = len(_desc._interned)
    made = [of("int8", (1000, number)) for number in range(50)]
    assert len(_desc._interned) == before + 50
    del made
    gc.collect()

    assert len(_desc._interned) == before


def test_the_repr_shows_the_parts() -> None:
    """Dtype, shape and format; ranges, name and contents where there are any."""
    assert repr(of("float32", (2, -1), Format.NCHW)) == "TensorDesc(FLOAT, [2, -1], NCHW)"
    text = repr(of("int8", (2,), ranges=[(1, 2)], name="x", value=np.array([1, 2], np.int8)))
    assert "[1, 2]" in text
    assert "'x'" in text


def test_origin() -> None:
    """What a framework sees is kept beside what lies in memory; where both are the same it makes no difference."""
    plain = of("float16", (1, 17, 4, 4), Format.NCHW)
    blocks = of("float16", (1, 2, 4, 4, 16), Format.NC1HWC0, origin=(Format.NCHW, [1, 17, 4, 4]))

    assert (plain.origin_format, plain.origin_shape) == (Format.NCHW, (1, 17, 4, 4))
    assert (blocks.origin_format, blocks.origin_shape) == (Format.NCHW, (1, 17, 4, 4))
    assert of("float16", (1, 17, 4, 4), Format.NCHW, origin=(Format.NCHW, (1, 17, 4, 4))) is plain
    assert of("float16", (1, 2, 4, 4, 16), Format.NC1HWC0) is not blocks
    assert pickle.loads(pickle.dumps(blocks)) is blocks
    assert repr(blocks) == "TensorDesc(FLOAT16, [1, 2, 4, 4, 16], NC1HWC0, origin=NCHW [1, 17, 4, 4])"
    with pytest.raises(InvalidArgument, match="origin"):
        of("float16", (1,), origin=(Format.NCHW, ["x"]))  # type: ignore[list-item]
