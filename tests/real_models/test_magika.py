"""magika's model, whose batch is free: fixed, in gears, and in a range."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import aacl
from aacl.abc import Array
from aacl.converter import convert
from tests.helpers.onnx_models import run_by_acl
from tests.helpers.real_models import assert_same, magika_file, onnx_outputs

RunBoth = Callable[[Path, Mapping[str, Array]], dict[str, Sequence[Array]]]
WIDTH = 2048


def _features(batch: int) -> Array:
    """Return made-up bytes of files, with the padding token 256 at the end of each third."""
    rows = np.random.default_rng(batch).integers(0, 257, (batch, WIDTH)).astype(np.int32)
    rows[::3, WIDTH // 2 :] = 256
    return rows


@pytest.mark.parametrize("batch", [1, 8])
def test_fixed_batch(tmp_path: Path, run_both: RunBoth, batch: int) -> None:
    """A batch that the converter fixed gives ONNX Runtime's scores through both faces."""
    feeds = {"bytes": _features(batch)}
    path = convert(magika_file(), tmp_path / "magika", input_shape=f"bytes:{batch},{WIDTH}")

    for found in run_both(path, feeds).values():
        assert_same(found, onnx_outputs(magika_file(), feeds))


async def test_gears(tmp_path: Path) -> None:
    """Each gear runs at its own size, and a batch that is none is refused by name."""
    path = convert(magika_file(), tmp_path / "magika", input_shape=f"bytes:-1,{WIDTH}", dynamic_batch_size="1,4,8")
    async with aacl.Device(0), aacl.Stream(), aacl.Model(path) as model:
        for batch in (8, 1, 4):
            rows = _features(batch)
            assert_same([await model.infer(rows)], onnx_outputs(magika_file(), {"bytes": rows}))
        with pytest.raises(aacl.ModelInputMismatch, match="'bytes'"):
            await model.infer(_features(3))


async def test_range(tmp_path: Path, runtime: None) -> None:
    """With a free batch any number of rows runs, in any order, through both faces."""
    path = convert(magika_file(), tmp_path / "magika", input_shape=f"bytes:-1,{WIDTH}")
    async with aacl.Device(0), aacl.Stream(), aacl.Model(path) as model:
        for batch in (3, 1, 17, 3):
            feeds: dict[str, Any] = {"bytes": _features(batch)}
            expected = onnx_outputs(magika_file(), feeds)

            assert_same([await model.infer(**feeds)], expected)
            assert_same(run_by_acl(path, feeds), expected)
