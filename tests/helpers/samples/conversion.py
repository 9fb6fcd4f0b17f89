"""Samples of conversions."""

from __future__ import annotations

from aacl.dtypes import DataType
from tests.helpers.samples import Sample, data, fixed

SAMPLES = {
    "Cast": Sample([data(2, 3, low=-3, high=9)], {"dst_type": DataType.INT32}),
    "CastLike": Sample([data(2, 3, low=-3, high=9), fixed([1], "int32")]),
}
