"""Nine real networks, as the `onnx` package carries them: their outputs are ONNX Runtime's own."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np
import onnx
import pytest

from aacl.abc import Array
from aacl.converter import convert
from tests.helpers.real_models import LIGHT, assert_same, light, onnx_outputs, picture, with_weights

# The largest makes 550 MB of weights each time that it is loaded.
pytestmark = pytest.mark.timeout(90)

RunBoth = Callable[[Path, Mapping[str, Array]], dict[str, Sequence[Array]]]


def _feeds(model: onnx.ModelProto) -> dict[str, Array]:
    constants = {tensor.name for tensor in model.graph.initializer}
    (name,) = [value.name for value in model.graph.input if value.name not in constants]
    return {name: picture()}


@pytest.mark.parametrize("name", LIGHT)
def test_architecture_gives_what_onnx_runtime_gives(tmp_path: Path, run_both: RunBoth, name: str) -> None:
    """Converted as it is, a network gives the same class scores through both faces."""
    feeds = _feeds(onnx.load(light(name)))
    expected = onnx_outputs(light(name), feeds)

    for found in run_both(convert(light(name), tmp_path / name), feeds).values():
        assert_same(found, expected)


@pytest.mark.parametrize("name", ["densenet121", "inception_v2", "resnet50", "shufflenet", "squeezenet"])
def test_architecture_with_random_weights(tmp_path: Path, run_both: RunBoth, name: str) -> None:
    """With weights that tell pictures apart the scores differ from each other, and are the same everywhere."""
    model = with_weights(light(name))
    feeds = _feeds(model)
    expected = onnx_outputs(model.SerializeToString(), feeds)
    assert np.ptp(expected[0]) > 1e-4

    for found in run_both(convert(model, tmp_path / name), feeds).values():
        assert_same(found, expected)
