"""Samples of TransData."""

from __future__ import annotations

from aacl.dtypes import Format
from tests.helpers.samples import Sample, data

SAMPLES = {
    "TransData": Sample([data(1, 3, 2, 2, format=Format.NCHW)], {"src_format": "NCHW", "dst_format": "NC1HWC0"}),
}
