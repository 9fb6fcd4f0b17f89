"""TransData, index by index against the documented layouts, there and back."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aacl.abc import Array, KernelRequest
from aacl.backends.cpu.kernels import find
from aacl.dtypes import Format
from aacl.errors import InvalidArgument
from aacl.ops._catalogue import schema_of
from aacl.ops._infer import infer_outputs
from aacl.tensors._desc import TensorDesc
from tests.helpers.samples._record import note

BF16 = np.dtype(ml_dtypes.bfloat16)
DTYPES = [np.dtype(np.float16), np.dtype(np.float32), np.dtype(np.int8), np.dtype(np.int64), BF16]
SCHEMA = schema_of("TransData")
ROWS = 16

Index = tuple[int, ...]


def infer(shape: tuple[int, ...], dtype: Any, source: str, target: str, groups: int = 1, **more: Any) -> TensorDesc:
    """Return the description of TransData's output."""
    attributes = SCHEMA.complete({"src_format": source, "dst_format": target, "groups": groups})
    return infer_outputs(SCHEMA, [TensorDesc.of(dtype, shape, **more)], attributes)[0]


def transformed(x: Array, source: str, target: str, groups: int = 1, shape: tuple[int, ...] | None = None) -> Array:
    """Run TransData; a shape is what the caller would bring to be written, and must be one that was inferred."""
    note("TransData")
    bounds = infer(x.shape, x.dtype, source, target, groups)
    wanted = bounds if shape is None else TensorDesc.of(x.dtype, shape, bounds.format)
    assert _allows(bounds, wanted.shape)
    out = np.empty(wanted.shape, x.dtype)
    out.reshape(-1).view(np.uint8)[...] = 0x5A
    attributes = SCHEMA.complete({"src_format": source, "dst_format": target, "groups": groups})
    kernel = find(KernelRequest("TransData", (TensorDesc.of(x.dtype, x.shape),), (wanted,), attributes))
    kept = x.tobytes()
    kernel.body(x, out)
    assert x.tobytes() == kept
    return out


def _allows(bounds: TensorDesc, shape: tuple[int, ...]) -> bool:
    if bounds.shape == (-2,):
        return True
    ranges = bounds.ranges or ((0, -1),) * len(shape)
    return len(bounds.shape) == len(shape) and all(
        size == known if known >= 0 else least <= size and (most < 0 or size <= most)
        for size, known, (least, most) in zip(shape, bounds.shape, ranges, strict=True)
    )


def _width(dtype: np.dtype[Any]) -> int:
    return 32 if dtype.itemsize == 1 else 16


def _places(layout: str, sizes: dict[str, int], width: int, groups: int = 1) -> Iterator[tuple[dict[str, int], Index]]:
    """Yield each element's dims by letter, and its place in the blocks, by the formulas of the documentation."""
    n_count, c_count = sizes["N"], sizes["C"]
    filters = n_count // groups
    together = min(next(e for e in range(1, 10_000) if e * c_count % width == 0 and e * filters % ROWS == 0), groups)
    deep = math.ceil(together * c_count / width) if layout.startswith("FRACTAL") else math.ceil(c_count / width)
    for values in np.ndindex(*sizes.values()):
        at = dict(zip(sizes, values, strict=True))
        n, c, h, w, d = at["N"], at["C"], at["H"], at["W"], at.get("D", 0)
        if layout == "NC1HWC0":
            yield at, (n, c // width, h, w, c % width)
        elif layout == "NDC1HWC0":
            yield at, (n, d, c // width, h, w, c % width)
        else:
            part, place = divmod(n // filters, together)
            row, channel = place * filters + n % filters, place * c_count + c
            depth = sizes.get("D", 1)
            outer = (((part * depth + d) * deep + channel // width) * sizes["H"] + h) * sizes["W"] + w
            yield at, (outer, row // ROWS, row % ROWS, channel % width)


def _numbered(shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
    """Return numbers that are not 0 and, where they can be, all different."""
    return (np.arange(math.prod(shape)) % 100 + 1).reshape(shape).astype(dtype)


_PAIRS = [("NCHW", "NC1HWC0"), ("NHWC", "NC1HWC0"), ("HWCN", "NC1HWC0"), ("ND", "NC1HWC0"), ("NCDHW", "NDC1HWC0"),
          ("NDHWC", "NDC1HWC0"), ("NCHW", "FRACTAL_Z"), ("HWCN", "FRACTAL_Z"), ("NHWC", "FRACTAL_Z"),
          ("NCDHW", "FRACTAL_Z_3D"), ("NDHWC", "FRACTAL_Z_3D")]  # fmt: skip


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize(("plain", "blocks"), _PAIRS)
@given(n=st.sampled_from([1, 2, 16, 19]), c=st.sampled_from([1, 5, 16, 33]), rest=st.tuples(*[st.integers(1, 3)] * 3))
@settings(max_examples=4, deadline=None)
def test_channels(plain: str, blocks: str, dtype: np.dtype[Any], n: int, c: int, rest: tuple[int, int, int]) -> None:
    """Every element lies where the formula says, all else is 0, and the way back gives the same bytes."""
    letters = "NCHW" if plain == "ND" else plain
    known = {"N": n, "C": c, "H": rest[0], "W": rest[1], "D": rest[2]}
    sizes = {letter: known[letter] for letter in letters}
    x = _numbered(tuple(sizes.values()), dtype)
    found = transformed(x, plain, blocks)
    expected = np.zeros_like(found)
    for at, place in _places(blocks, sizes, _width(dtype)):
        expected[place] = x[tuple(at.values())]

    assert found.tobytes() == expected.tobytes()
    assert transformed(found, blocks, plain, shape=x.shape).tobytes() == x.tobytes()


@pytest.mark.parametrize("dtype", [np.dtype(np.float16), np.dtype(np.int8)], ids=str)
@given(groups=st.integers(1, 6), filters=st.sampled_from([1, 3, 8, 16]), c=st.sampled_from([1, 4, 8, 16, 20]))
@settings(max_examples=12, deadline=None)
def test_groups(dtype: np.dtype[Any], groups: int, filters: int, c: int) -> None:
    """Groups lie on the diagonal of a larger filter."""
    for plain, blocks in (("NCHW", "FRACTAL_Z"), ("NCDHW", "FRACTAL_Z_3D")):
        sizes = {"N": groups * filters, "C": c, **({"D": 2} if len(plain) == 5 else {}), "H": 2, "W": 1}
        x = _numbered(tuple(sizes.values()), dtype)
        found = transformed(x, plain, blocks, groups)
        expected = np.zeros_like(found)
        for at, place in _places(blocks, sizes, _width(dtype), groups):
            expected[place] = x[tuple(at.values())]

        assert found.tobytes() == expected.tobytes()
        assert transformed(found, blocks, plain, groups, x.shape).tobytes() == x.tobytes()


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@given(shape=st.lists(st.sampled_from([1, 3, 16, 17, 40]), min_size=1, max_size=3).map(tuple))
@settings(max_examples=8, deadline=None)
def test_matrices(dtype: np.dtype[Any], shape: tuple[int, ...]) -> None:
    """FRACTAL_NZ: rows and columns in blocks, columns outermost; one dim is a row."""
    x = _numbered(shape, dtype)
    found = transformed(x, "ND", "FRACTAL_NZ")
    width, whole = _width(dtype), shape if len(shape) > 1 else (1, *shape)
    expected = np.zeros_like(found)
    for place in np.ndindex(*whole):
        *batch, row, column = place
        expected[(*batch, column // width, row // ROWS, row % ROWS, column % width)] = x.reshape(whole)[place]

    assert found.shape[-2:] == (ROWS, width)
    assert found.tobytes() == expected.tobytes()
    assert transformed(found, "FRACTAL_NZ", "ND", shape=whole).tobytes() == x.tobytes()


@pytest.mark.parametrize(("name", "width"), [("FRACTAL_NZ_C0_8", 8), ("FRACTAL_NZ_C0_32", 32), ("NC1HWC0_C04", 4)])
def test_named_widths(name: str, width: int) -> None:
    """The name of the format may say how long a block is."""
    x = _numbered((1, 3, 2, 20), np.dtype(np.float32))
    found = transformed(x, "NCHW", name)

    assert found.shape[-1] == width
    assert transformed(found, name, "NCHW", shape=x.shape).tobytes() == x.tobytes()


@pytest.mark.parametrize(
    ("source", "target"), [("NCHW", "NHWC"), ("NHWC", "HWCN"), ("NDHWC", "NCDHW"), ("HWCN", "NCHW")]
)
def test_plain_layouts(source: str, target: str) -> None:
    """One plain layout becomes another by moving the dims by letter; ND is whatever it is said to be."""
    sizes = dict(zip("NCDHW", (2, 3, 4, 5, 6), strict=True))
    x = _numbered(tuple(sizes[letter] for letter in source), np.dtype(np.float32))
    found = transformed(x, source, target)

    assert found.shape == tuple(sizes[letter] for letter in target)
    for place in np.ndindex(*x.shape):
        at = dict(zip(source, place, strict=True))
        assert found[tuple(at[letter] for letter in target)] == x[place]
    assert transformed(x, source, "ND").tobytes() == x.tobytes()
    assert transformed(x, source, source).tobytes() == x.tobytes()


@pytest.mark.parametrize("shape", [(0, 3, 2, 2), (2, 0, 2, 2), (2, 3, 0, 2)])
def test_empty(shape: tuple[int, ...]) -> None:
    """A dim of 0 gives no blocks, and comes back."""
    x = np.empty(shape, np.float16)
    for blocks in ("NC1HWC0", "FRACTAL_Z", "FRACTAL_NZ"):
        found = transformed(x, "NCHW", blocks)
        assert found.size == 0 or not found.any()
        assert transformed(found, blocks, "NCHW", shape=shape).shape == shape


def test_what_blocks_tell() -> None:
    """Where nothing says how much is padding the dims are bounded: by the last block, or not at all."""
    back = infer((2, 3, 4, 5, 16), np.float16, "NC1HWC0", "NHWC")
    assert (back.shape, back.ranges) == ((2, 4, 5, -1), ((2, 2), (4, 4), (5, 5), (33, 48)))
    assert back.format is Format.NHWC
    matrix = infer((2, 1, 16, 32), np.int8, "FRACTAL_NZ", "ND")
    assert (matrix.shape, matrix.ranges) == ((-1, -1), ((1, 16), (33, 64)))
    assert infer((12, 2, 16, 16), np.float16, "FRACTAL_Z", "NCHW").ranges == ((17, 32), (0, -1), (0, -1), (0, -1))
    assert infer((-2,), np.float16, "NC1HWC0", "NCHW").shape == (-1,) * 4
    assert infer((-2,), np.float16, "FRACTAL_NZ", "ND").shape == (-2,)
    free = infer((1, -1, 2, 2), np.float16, "NCHW", "NC1HWC0", ranges=((1, 1), (1, 40), (2, 2), (2, 2)))
    assert (free.shape, free.ranges[1]) == ((1, -1, 2, 2, 16), (1, 3))
    assert infer((-1, 3, -1, 2), np.float16, "NCHW", "FRACTAL_Z").shape == (-1, -1, 16, 16)
    assert infer((-1, 3, 2, 2), np.float16, "NCHW", "FRACTAL_Z", 2).shape == (-1, -1, 16, 16)


def test_the_callers_shape_must_fit_the_blocks() -> None:
    """A shape whose blocks are others is refused when the kernel is prepared."""
    x = np.zeros((12, 1, 16, 16), np.float16)
    with pytest.raises(InvalidArgument, match=r"shape \(2, 3, 5, 5\) has blocks of shape \(25, 1, 16, 16\)"):
        transformed(x, "FRACTAL_Z", "NCHW", shape=(2, 3, 5, 5))


@pytest.mark.parametrize(
    ("shape", "source", "target", "groups", "text"),
    [
        ((1, 2, 3, 4), "NCHW", "NC1HWCO", 1, "dst_format is 'NC1HWCO'; it is one of"),
        ((1, 2, 3), "NCHW", "NC1HWC0", 1, "3 dims, is no NCHW"),
        ((1, 2, 3, 4), "NCHW", "NDC1HWC0", 1, "is no NCHW that fits here; NCDHW or NDHWC has 5"),
        ((1, 1, 3, 4, 16), "NC1HWC0", "FRACTAL_Z", 1, "in one step; go by way of ND, NCHW or NHWC"),
        ((1, 1, 3, 4, 8), "NC1HWC0", "NCHW", 1, "is no NC1HWC0 of FLOAT16: that has 5 dims, and ends with 16"),
        ((1, 1, 3, 16), "FRACTAL_NZ", "ND", 1, "ends with 16, 16"),
        ((1, 1, 16, 16), "FRACTAL_NZ", "NCHW", 1, "holds 2 dims, and NCHW has 4"),
        ((1, 1, 3, 4, 16), "NC1HWC0", "NCDHW", 1, "holds NCHW, and NCDHW has other dims"),
        ((5, 2, 1, 1), "NCHW", "FRACTAL_Z", 2, "5 filters, which 2 groups do not share"),
        ((4, 2, 1, 1), "NCHW", "NC1HWC0", 2, "groups is 2; it is 1, or more for FRACTAL_Z"),
        ((4, 2, 1, 1), "NCHW", "FRACTAL_Z", 0, "groups is 0"),
        ((), "ND", "FRACTAL_NZ", 1, "a scalar has no FRACTAL_NZ"),
        ((4, 2, 1), "ND", "NCHW", 1, "has not the 4 dims of NCHW"),
    ],
)
def test_bad_input(shape: tuple[int, ...], source: str, target: str, groups: int, text: str) -> None:
    """Names, ranks and groups that do not fit are refused, each with what would."""
    with pytest.raises(InvalidArgument, match=text):
        infer(shape, np.float16, source, target, groups)


def test_the_description_must_agree_with_the_attribute() -> None:
    """A description that says more than ND names the same layout."""
    with pytest.raises(InvalidArgument, match="src_format is NCHW, and the input is described as NHWC"):
        infer((1, 2, 3, 4), np.float16, "NCHW", "NC1HWC0", format=Format.NHWC)
    assert infer((1, 2, 3, 4), np.float16, "NHWC", "NC1HWC0", format=Format.NHWC).shape == (1, 1, 2, 3, 16)
