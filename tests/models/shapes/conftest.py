"""Models of several shapes."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

from aacl.dtypes import DataType
from aacl.models import GearKind, Gears, TensorSpec
from tests.helpers.nets import value

Pack = Callable[..., bytes]
FLOAT = TensorProto.FLOAT


@pytest.fixture(scope="session")
def gears(pack: Pack) -> bytes:
    """Y = 2 a + b row by row for batches of 1, 4 and 8; b has one element a row."""
    three = Gears(
        GearKind.BATCH,
        ((1,), (4,), (8,)),
        tuple((((n, 3), (n, 1))) for n in (1, 4, 8)),
        tuple(((n, 3),) for n in (1, 4, 8)),
    )
    return pack(
        [helper.make_node("Add", ["a", "a"], ["twice"]), helper.make_node("Add", ["twice", "b"], ["y"])],
        [value("a", FLOAT, ["n", 3]), value("b", FLOAT, ["n", 1])],
        [value("y", FLOAT, ["n", 3])],
        [
            TensorSpec("a", DataType.FLOAT, (-1, 3), ranges=((1, 8), (3, 3))),
            TensorSpec("b", DataType.FLOAT, (-1, 1), ranges=((1, 8), (1, 1))),
        ],
        [TensorSpec("plus:0:y", DataType.FLOAT, (8, 3))],
        gears=three,
    )


@pytest.fixture(scope="session")
def doubled(pack: Pack) -> bytes:
    """Y = x + x for x of [2..6, any]."""
    ranges = ((2, 6), (0, -1))
    return pack(
        [helper.make_node("Add", ["x", "x"], ["y"])],
        [value("x", FLOAT, ["rows", "columns"])],
        [value("y", FLOAT, ["rows", "columns"])],
        [TensorSpec("x", DataType.FLOAT, (-1, -1), ranges=ranges)],
        [TensorSpec("add:0:y", DataType.FLOAT, (-1, -1), ranges=ranges)],
        name="doubled",
    )


@pytest.fixture(scope="session")
def nonzero(pack: Pack) -> bytes:
    """Where x of [any, any] is not zero, and x with the negative ones as 0; the first shape only the run tells."""
    free = ((0, -1), (0, -1))
    return pack(
        [helper.make_node("Relu", ["x"], ["positive"]), helper.make_node("NonZero", ["positive"], ["where"])],
        [value("x", FLOAT, ["rows", "columns"])],
        [value("where", TensorProto.INT64, [2, "found"]), value("positive", FLOAT, ["rows", "columns"])],
        [TensorSpec("x", DataType.FLOAT, (-1, -1), ranges=free)],
        [
            TensorSpec("nonzero:0:where", DataType.INT64, (2, -1), ranges=((2, 2), (0, -1))),
            TensorSpec("relu:0:positive", DataType.FLOAT, (-1, -1), ranges=free),
        ],
        name="nonzero",
    )


@pytest.fixture(scope="session")
def compress(pack: Pack) -> bytes:
    """The positive elements of a fixed x of [6]."""
    zero = numpy_helper.from_array(np.zeros((), np.float32), "zero")
    return pack(
        [helper.make_node("Greater", ["x", "zero"], ["c"]), helper.make_node("Compress", ["x", "c"], ["y"], axis=0)],
        [value("x", FLOAT, [6])],
        [value("y", FLOAT, ["n"])],
        [TensorSpec("x", DataType.FLOAT, (6,))],
        [TensorSpec("compress:0:y", DataType.FLOAT, (-1,), ranges=((0, 6),))],
        constants=[zero],
        name="compress",
    )


@pytest.fixture(scope="session")
def squared(pack: Pack) -> bytes:
    """Y = x * x for x of one dim, up to 100 elements."""
    return pack(
        [helper.make_node("Mul", ["x", "x"], ["y"])],
        [value("x", FLOAT, ["n"])],
        [value("y", FLOAT, ["n"])],
        [TensorSpec("x", DataType.FLOAT, (-1,), ranges=((0, 100),))],
        [TensorSpec("mul:0:y", DataType.FLOAT, (-1,), ranges=((0, 100),))],
        name="squared",
    )
